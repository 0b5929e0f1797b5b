"""Residual vibration: closed forms of one and two masses, arms under motor PD, and bad input."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import expm

import flexjoint as fj

LENGTH, MASS, STIFFNESS, MOTOR = 0.5, 2.0, 200.0, 0.3


def arm(damping=0.0, joints=1):
    """A chain of point-like links in the horizontal plane, each behind a spring."""
    drive = fj.drives.ElasticDrive(STIFFNESS, fj.drives.Motor(MOTOR), damping=damping)
    links = [
        fj.robot.Link(
            f"link{i + 1}",
            parent=f"link{i}" if i else "base",
            joint=fj.robot.Joint(f"joint{i + 1}", "revolute", position=[LENGTH * (i > 0), 0, 0], drive=drive),
            mass=MASS,
            com=[LENGTH, 0, 0],
            inertia=np.zeros((3, 3)),
        )
        for i in range(joints)
    ]
    return fj.Robot("arm", links, gravity=[0, 0, 0], allow_unphysical=True)


def recorded(t, q, robot=None):
    return SimpleNamespace(robot=robot or arm(), t=t, q=q)


def test_held_modes_in_closed_form():
    """One mass: ω² = K/(m l²), ζ = D/(2 √(K m l²)).  Two: the eigenvalues of the matrices written by hand."""
    inertia = MASS * LENGTH**2
    (mode,) = fj.dynamics.held_modes(arm(damping=0.4), [0.3])
    assert mode.frequency == pytest.approx(np.sqrt(STIFFNESS / inertia) / (2 * np.pi), rel=1e-7)
    assert mode.damping == pytest.approx(0.4 / (2 * np.sqrt(STIFFNESS * inertia)), rel=1e-6)
    bend = 0.7
    m12 = inertia * (1 + np.cos(bend))
    M = np.array([[inertia * (3 + 2 * np.cos(bend)), m12], [m12, inertia]])
    wanted = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(M, STIFFNESS * np.eye(2))).real)) / (2 * np.pi)
    assert [x.frequency for x in fj.dynamics.held_modes(arm(joints=2), [0.2, bend])] == pytest.approx(wanted, rel=1e-6)


def test_gravity_changes_the_modes():
    """A hanging pendulum is stiffer, an upright one softer: K ± m g l."""
    hanging = arm().replace(gravity=[9.81, 0, 0])
    weight = MASS * 9.81 * LENGTH
    for q, sign in ((0.0, 1), (np.pi, -1)):
        (mode,) = fj.dynamics.held_modes(hanging, [q])
        wanted = np.sqrt((STIFFNESS + sign * weight) / (MASS * LENGTH**2)) / (2 * np.pi)
        assert mode.frequency == pytest.approx(wanted, rel=1e-6)
    weak = arm().replace(gravity=[300.0, 0, 0])
    with pytest.raises(fj.InputError, match="gravity is stronger than the springs"):
        fj.dynamics.held_modes(weak, [np.pi])


@pytest.mark.parametrize("noise", [0.0, 1e-5])
def test_two_decaying_sines_are_measured(noise):
    t = np.arange(0.0, 3.0, 2e-3)
    q = np.column_stack(
        [
            0.3 + 0.01 * np.exp(-0.02 * 2 * np.pi * 2 * t) * np.cos(2 * np.pi * 2 * np.sqrt(1 - 4e-4) * t + 0.4),
            0.1 - 0.004 * np.exp(-0.05 * 2 * np.pi * 6 * t) * np.sin(2 * np.pi * 6 * np.sqrt(1 - 0.0025) * t),
        ]
    )
    q = q + noise * np.random.default_rng(0).normal(size=q.shape)
    found = fj.analysis.residual_vibration(recorded(t, q, arm(joints=2)), start=0.0, tolerance=0.005)
    slow, fast = found.modes
    accuracy = 1e-6 if not noise else 0.01
    assert (slow.frequency, fast.frequency) == pytest.approx((2.0, 6.0), rel=accuracy)
    assert (slow.damping, fast.damping) == pytest.approx((0.02, 0.05), rel=10 * accuracy)
    assert slow.amplitude == pytest.approx([0.01, 0.0], abs=accuracy * 0.1)
    assert fast.amplitude == pytest.approx([0.0, 0.004], abs=accuracy * 0.1)
    after = np.flatnonzero(np.any(np.abs(q - [0.3, 0.1]) > 0.005, axis=1))[-1]
    assert found.settling == pytest.approx(t[after + 1], abs=0.02 if noise else 1e-9)
    assert found.largest[0] == pytest.approx(np.abs(q[:, 0] - 0.3).max(), rel=0.01)


def test_two_masses_and_a_spring_by_their_matrix_exponential():
    """Link and motor under PD, released: the measured mode is the eigenvalue of the matrix written by hand."""
    inertia, K_P, K_D = MASS * LENGTH**2, 900.0, 25.0
    A = np.zeros((4, 4))  # q, θ, q', θ'
    A[0, 2] = A[1, 3] = 1.0
    A[2, :2] = [-STIFFNESS / inertia, STIFFNESS / inertia]
    A[3] = np.array([STIFFNESS, -STIFFNESS - K_P, 0.0, -K_D]) / MOTOR
    t = np.arange(0.0, 1.5, 1e-3)
    step, x = expm(A * 1e-3), np.empty((t.size, 4))
    x[0] = [0.1, 0.05, 0.0, 0.0]
    for k in range(1, t.size):
        x[k] = step @ x[k - 1]
    found = fj.analysis.residual_vibration(recorded(t, x[:, :1]), start=0.0)
    poles = np.linalg.eigvals(A)
    (pole,) = poles[(poles.imag > 0) & (np.abs(poles) < 25)]
    assert found.modes[0].frequency == pytest.approx(abs(pole) / (2 * np.pi), rel=1e-6)
    assert found.modes[0].damping == pytest.approx(-pole.real / abs(pole), rel=1e-6)
    assert found.misfit < 1e-6
    modes = fj.analysis.vibration_modes(arm(), [0.3], fj.control.MotorPD(arm(), [K_P, K_D]))
    assert modes[0][:2] == pytest.approx((abs(pole) / (2 * np.pi), -pole.real / abs(pole)), rel=1e-6)


def test_the_tool_in_metres():
    """The frame of link 2 lies at the end of link 1: its amplitude is the length times that of joint 1."""
    t = np.arange(0.0, 2.0, 2e-3)
    q = np.column_stack([0.4 + 1e-3 * np.cos(2 * np.pi * 3 * t), np.full(t.size, 0.2)])
    found = fj.analysis.residual_vibration(recorded(t, q, arm(joints=2)), start=0.0)
    assert found.modes[0].tool == pytest.approx(LENGTH * 1e-3, rel=1e-3)
    assert found.tool == pytest.approx(LENGTH * 1e-3, rel=1e-2)


@pytest.fixture(scope="module")
def runs():
    """One elastic joint under motor PD: as it is, shaped, and shaped at a frequency 10 % too high."""
    robot = arm()
    law = fj.control.MotorPD(robot, [2000.0, 60.0])
    (mode, *_) = fj.analysis.vibration_modes(robot, [1.0], law)
    motion = fj.trajectory.RestToRest([0.0], [1.0], 0.25)
    start = fj.simulation.at_rest(robot, [0.0])

    def run(reference):
        return fj.simulate(robot, law, reference, reference.duration + 1.0, period=1e-4, start=start, hold=False)

    modes = {"zv": (mode.frequency, mode.damping), "detuned": (1.1 * mode.frequency, mode.damping)}
    found = {"raw": run(motion)}
    shapers = {name: fj.trajectory.impulse_shaper("zv", [x]) for name, x in modes.items()}
    return found | {name: run(fj.trajectory.Shaped(motion, x)) for name, x in shapers.items()}, mode, shapers


def test_shaping_an_arm_under_motor_pd(runs):
    """The loop is linear: its mode is measured, ZV removes it, and a detuned one leaves what the formula says."""
    found, mode, shapers = runs
    raw, zv, detuned = (fj.analysis.residual_vibration(found[name]) for name in ("raw", "zv", "detuned"))
    assert raw.modes[0].frequency == pytest.approx(mode.frequency, rel=1e-4)
    assert raw.modes[0].damping == pytest.approx(mode.damping, rel=1e-3)
    size = raw.modes[0].amplitude[0]
    assert size > 0.5 and zv.modes[0].amplitude[0] < 1e-7 * size  # 0.63 rad to 7e-10 rad
    assert zv.largest[0] < 3e-3 * size  # motors under PD creep to the goal
    share = detuned.modes[0].amplitude[0] / size
    assert share == pytest.approx(float(shapers["detuned"].residual(mode.frequency, mode.damping)), rel=0.01)
    assert 0.1 < share < 0.2


def test_modes_of_a_loop_tend_to_those_of_held_motors():
    robot = arm(joints=2)
    held = [x.frequency for x in fj.dynamics.held_modes(robot, [0.1, 0.5])]
    loop = fj.analysis.vibration_modes(robot, [0.1, 0.5], fj.control.MotorPD(robot, [1e6, 1e5]))
    slow = [x.frequency for x in loop][:2]
    assert slow == pytest.approx(held, rel=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fj.analysis.residual_vibration(3.0), "run is 3.0; give a result of simulate or read_log"),
        (
            lambda: fj.analysis.residual_vibration(recorded(np.arange(9.0), np.zeros((9, 1))), 0.0),
            "9 samples after the",
        ),
        (lambda: fj.analysis.residual_vibration(recorded(np.arange(90.0), np.zeros((90, 1)))), "give start"),
        (lambda: fj.analysis.residual_vibration(recorded(np.arange(90.0), np.zeros((2, 90, 1)))), "a batch"),
        (
            lambda: fj.analysis.residual_vibration(recorded(np.arange(90.0), np.full((90, 1), np.nan)), 0.0),
            "not finite",
        ),
        (lambda: fj.analysis.residual_vibration(SimpleNamespace(robot=arm(), t=np.arange(9.0), q=None)), "no link pos"),
        (lambda: fj.dynamics.held_modes(fj.load("vsa_3r"), [0.0] * 3), "give their stiffness"),
        (lambda: fj.dynamics.held_modes(arm(), [0.0, 1.0]), "q has shape"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(fj.InputError, match=message):
        make()


def test_rest_has_no_modes():
    found = fj.analysis.residual_vibration(recorded(np.arange(90.0), np.full((90, 1), 0.3)), 0.0)
    assert found.modes == () and found.settling == 0.0 and found.largest[0] < 1e-15
