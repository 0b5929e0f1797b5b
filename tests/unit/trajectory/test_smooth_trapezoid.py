"""Smooth trapezoids: limits are met by the closed forms, and the velocity is constant between the ramps."""

import mpmath as mp
import numpy as np
import pytest

import flexjoint as fj

Trapezoid = fj.trajectory.SmoothTrapezoid


@pytest.mark.parametrize("smoothness", [1, 3, 6])
def test_limits_are_reached_and_kept(smoothness):
    motion = Trapezoid.limited([0.0, 1.0], [2.0, 0.5], speed=[0.7, 9.0], acceleration=[3.0, 1.0], smoothness=smoothness)
    assert motion.smoothness == smoothness
    stack = motion(np.linspace(0.0, motion.duration, 20001), order=2)
    v, a = np.abs(stack[1]).max(axis=0), np.abs(stack[2]).max(axis=0)
    assert v[0] == pytest.approx(0.7, rel=1e-12) and v[1] < 9.0
    assert a[1] == pytest.approx(0.75, rel=1e-6) or a[0] == pytest.approx(3.0, rel=1e-6)
    assert np.allclose(v, motion.peak_velocity) and np.allclose(a, motion.peak_acceleration, rtol=1e-6)


def test_a_short_way_is_limited_by_its_acceleration():
    motion = Trapezoid.limited([0.0], [0.01], speed=1.0, acceleration=2.0)
    assert motion.ramp == 0.5
    assert motion.peak_acceleration[0] == pytest.approx(2.0) and motion.peak_velocity[0] < 0.2


def test_against_the_integral_of_the_velocity():
    """The velocity rises as ∫ (u (1 − u))² du, in multiprecision."""
    motion = Trapezoid([0.2], [1.4], duration=3.0, ramp=0.2, smoothness=3)

    def rise(y):
        return 30 * mp.quad(lambda u: (u * (1 - u)) ** 2, [0, y])

    speed = mp.mpf("1.2") / (mp.mpf(3) * (1 - mp.mpf("0.2")))
    with mp.workdps(25):
        for t in (0.1, 0.35, 0.6):
            assert motion(t)[1, 0] == pytest.approx(float(speed * rise(mp.mpf(t) / mp.mpf("0.6"))), rel=1e-13)
            way = speed * mp.quad(lambda x: rise(x / mp.mpf("0.6")), [0, mp.mpf(t)])
            assert motion(t)[0, 0] == pytest.approx(float(mp.mpf("0.2") + way), rel=1e-13)
            assert motion(3.0 - t)[0, 0] == pytest.approx(float(mp.mpf("1.4") - way), rel=1e-13)
    assert np.all(motion(np.array([0.61, 1.5, 2.39]))[2:] == 0.0)
    assert motion(0.0)[0, 0] == 0.2 and motion(3.0)[0, 0] == 1.4 and motion(9.0)[0, 0] == 1.4


def test_a_table_in_a_file():
    robot = fj.load("kuka_lwr")
    motion = fj.trajectory.load_trajectory('{kind = "trapezoid", goal_deg = 45, duration = 2, ramp = 0.1}', robot)
    assert np.allclose(motion.peak_velocity, np.pi / 4 / 1.8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Trapezoid([0.0], [1.0], 2.0, ramp=0.6), "ramp is 0.6; it must lie between"),
        (lambda: Trapezoid([0.0], [1.0], 2.0, smoothness=0), "smoothness is 0"),
        (lambda: Trapezoid([0.0], [np.nan], 2.0), "goal is"),
        (lambda: Trapezoid.limited([0.0], [0.0], 1.0, 1.0), "start and goal are equal"),
        (lambda: Trapezoid.limited([0.0], [1.0], 0.0, 1.0), "speed is 0.0"),
        (lambda: Trapezoid.limited([0.0], [1.0], 1.0, np.inf), "acceleration must be finite"),
    ],
)
def test_what_is_wrong_is_named(make, message):
    with pytest.raises(fj.InputError, match=message):
        make()
