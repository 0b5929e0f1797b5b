"""Input shaping: impulses against closed forms, an oscillator solved by SciPy, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from flexjoint.dynamics import VibrationMode
from support.marks import some_long

MOTION = fj.trajectory.RestToRest([0.2], [1.0], 0.3)


def remaining(motion, frequency, damping=0.0):
    """Amplitude √(x² + (x'/ω)²) of x'' + 2ζω x' + ω² x = −q'' after a motion q of the base, by SciPy."""
    omega = 2 * np.pi * frequency
    solution = solve_ivp(
        lambda t, x: [x[1], -2 * damping * omega * x[1] - omega**2 * x[0] - motion(t, 2)[2, 0]],
        (0.0, motion.duration),
        [0.0, 0.0],
        method="DOP853",
        rtol=1e-10,
        atol=1e-13,
        max_step=0.02,
    )
    x, v = solution.y[:, -1]
    root = np.sqrt(1 - damping**2)
    return float(np.hypot(x, (v / omega + damping * x) / root))


@pytest.mark.parametrize("kind", ["zv", "zvd"])
@pytest.mark.parametrize("damping", [0.0, 0.05, 0.3])
def test_nothing_remains_at_the_mode(kind, damping):
    shaped = fj.trajectory.Shaped(MOTION, fj.trajectory.impulse_shaper(kind, [(2.0, damping)]))
    assert remaining(MOTION, 2.0, damping) > 0.05
    assert remaining(shaped, 2.0, damping) < 1e-9


@pytest.mark.parametrize("kind", ["zv", "zvd", "ei"])
@pytest.mark.parametrize("ratio", some_long([0.8, 0.95, 1.0, 1.1], "0.95", "1.1"))
def test_what_remains_beside_the_mode(kind, ratio):
    """Undamped the formula is exact, whatever the motion; and that of ZV is |cos(π/2 f/f₀)|, of ZVD its square."""
    shaper = fj.trajectory.impulse_shaper(kind, [(2.0, 0.0)])
    share = remaining(fj.trajectory.Shaped(MOTION, shaper), 2.0 * ratio) / remaining(MOTION, 2.0 * ratio)
    assert share == pytest.approx(float(shaper.residual(2.0 * ratio)), abs=1e-8)
    closed = abs(np.cos(np.pi / 2 * ratio))
    wanted = {"zv": closed, "zvd": closed**2, "ei": abs(closed**2 - 0.05 * np.sin(np.pi / 2 * ratio) ** 2)}
    assert share == pytest.approx(wanted[kind], abs=1e-8)


def test_robustness_in_closed_form():
    """|cos(π/2 x)| ≤ 0.05 for ZV, its square for ZVD; EI is the widest [Singhose]: 0.06, 0.29 and 0.40 of f."""
    for kind, half in (
        ("zv", np.arcsin(0.05)),
        ("zvd", np.arcsin(np.sqrt(0.05))),
        ("ei", np.arcsin(np.sqrt(0.1 / 1.05))),
    ):
        low, high = fj.trajectory.impulse_shaper(kind, [(3.0, 0.0)]).insensitivity(3.0)
        assert (low / 3, high / 3) == pytest.approx((1 - half * 2 / np.pi, 1 + half * 2 / np.pi), abs=2e-3)
    with pytest.raises(fj.InputError, match=r"0.0?5 of the vibration at 3 Hz remains, more than 0.01"):
        fj.trajectory.impulse_shaper("ei", [(3.0, 0.0)]).insensitivity(3.0, 0.01)


def test_several_modes_are_convolved():
    both = fj.trajectory.impulse_shaper("zv", [VibrationMode(2.0, 0.02), VibrationMode(5.3, 0.1)])
    assert both.delays.size == 4 and both.delay == pytest.approx(0.25 / np.sqrt(1 - 4e-4) + 0.5 / 5.3 / np.sqrt(0.99))
    shaped = fj.trajectory.Shaped(MOTION, both)
    for frequency, damping in ((2.0, 0.02), (5.3, 0.1)):
        assert remaining(shaped, frequency, damping) < 1e-9
    assert fj.trajectory.impulse_shaper("zv", [(2.0, 0.0)] * 2).weights.tolist() == [0.25, 0.5, 0.25]  # that is ZVD


def test_ends_smoothness_and_duration():
    motion = fj.trajectory.RestToRest([0.1, 0.0], [0.7, -0.3], 0.5, smoothness=4)
    shaped = fj.trajectory.Shaped(motion, fj.trajectory.impulse_shaper("zvd", [(2.0, 0.05), (7.0, 0.0)]))
    assert shaped.smoothness == 4 and shaped.duration == motion.duration + shaped.shaper.delay
    assert shaped([-1.0, 0.0], 0)[0].tolist() == [[0.1, 0.0]] * 2
    assert shaped([shaped.duration, 9.0], 0)[0].tolist() == [[0.7, -0.3]] * 2
    t = np.linspace(0.05, shaped.duration - 0.05, 7)
    for k in range(3):
        difference = (shaped(t + 1e-4, k)[k] - shaped(t - 1e-4, k)[k]) / 2e-4
        assert np.allclose(difference, shaped(t, k + 1)[k + 1], rtol=1e-4, atol=1e-4 * 30**k)
    rough = fj.trajectory.Spline([[0.0], [1.0]], 1.0, smoothness=1)
    assert fj.trajectory.Shaped(rough, shaped.shaper).smoothness == 1


def test_modes_of_a_robot_and_files():
    robot = fj.load("kuka_lwr")
    goal = [0.3, 0.8, -0.2, -1.0, 0.3, 0.5, 0.2]
    motion = fj.trajectory.RestToRest([0.0] * 7, goal, 0.6)
    modes = fj.dynamics.held_modes(robot, goal)
    shaped = fj.trajectory.shape_motion(motion, robot, "zvd", modes=2)
    assert shaped.shaper.delay == pytest.approx(1 / modes[0].frequency + 1 / modes[1].frequency)
    text = f'motion = {{kind = "rest_to_rest", goal = {goal}, duration = 0.6}}, shaper = "zvd"'
    t = np.linspace(0.0, 1.5, 7)
    loaded = fj.trajectory.load_trajectory(f'{{kind = "shaped", {text}, modes = 2}}', robot)
    assert np.array_equal(loaded(t), shaped(t))
    given = fj.trajectory.load_trajectory(f'{{kind = "shaped", {text}, frequency = [2, 3], damping = 0.1}}', robot)
    assert given.shaper.delay == pytest.approx((1 / 2 + 1 / 3) / np.sqrt(0.99))
    start = fj.trajectory.load_trajectory(f'{{kind = "shaped", {text}, modes = 1, at = "start"}}', robot)
    assert start.shaper.delay == pytest.approx(1 / fj.dynamics.held_modes(robot, [0.0] * 7)[0].frequency)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fj.trajectory.impulse_shaper("zzz", [(1.0, 0.0)]), "kind is 'zzz'; it must be one of zv, zvd, ei"),
        (lambda: fj.trajectory.impulse_shaper("zv", []), "there is no mode"),
        (
            lambda: fj.trajectory.impulse_shaper("zv", [(1.0, 1.0)]),
            "damping is 1 at 1 Hz; it must be from 0 to below 1",
        ),
        (lambda: fj.trajectory.impulse_shaper("zv", [(np.nan, 0.0)]), "frequency is nan"),
        (lambda: fj.trajectory.impulse_shaper("zv", [2.0]), "a mode is 2.0; give"),
        (lambda: fj.trajectory.ImpulseShaper([0.0, 1.0], [0.5, 0.6]), "positive ones with the sum 1"),
        (lambda: fj.trajectory.ImpulseShaper([1.0, 0.0], [0.5, 0.5]), "must increase from 0"),
        (lambda: fj.trajectory.Shaped(MOTION, "zv"), "shaper is 'zv'; give"),
        (
            lambda: fj.trajectory.Shaped(
                fj.trajectory.Sinusoid([1.0], 1.0), fj.trajectory.impulse_shaper("zv", [(1.0, 0.0)])
            ),
            "does not start and end at rest; give it a time law",
        ),
        (lambda: fj.trajectory.shape_motion(MOTION, fj.load("hua_3r")), "moves 1 joints; hua_3r has 3"),
        (
            lambda: fj.trajectory.shape_motion(
                fj.trajectory.RestToRest([0.0] * 3, [1.0] * 3, 1.0), fj.load("hua_3r").rigid()
            ),
            "no joint of hua_3r is elastic, so nothing vibrates while its motors are held",
        ),
        (
            lambda: fj.trajectory.shape_motion(MOTION, fj.load("hua_3r"), modes=[(600.0, 0.0)], period=1e-3),
            "the mode at 600 Hz is above 500 Hz, half the rate of the controller",
        ),
        (lambda: fj.trajectory.shape_motion(MOTION, fj.load("hua_3r"), modes=0), "modes is 0"),
        (lambda: fj.trajectory.shape_motion(MOTION, fj.load("hua_3r"), at="middle"), "at is 'middle'"),
        (
            lambda: fj.trajectory.load_trajectory(
                '{kind = "shaped", motion = {kind = "rest_to_rest", goal = 1, duration = 1}, modes = 1, frequency = 2}',
                fj.load("hua_3r"),
            ),
            "modes.*frequency",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(fj.InputError, match=message):
        make()
