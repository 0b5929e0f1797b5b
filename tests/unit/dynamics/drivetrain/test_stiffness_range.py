"""Ranges of stiffness and torque, against closed forms and by walking along motions."""

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from support.lagrange import transmitted

K, KC = 400.0, 2000.0
MOTOR = fj.Motor(1.0)
VSA = fj.load("vsa_3r")  # with these springs


class Searched(fj.drives.LeverDrive):
    """A lever whose closed form is not known."""

    deflections = fj.drives.VariableStiffnessDrive.deflections


def arm(*drives, kind="revolute"):
    links, parent = [], "base"
    for k, drive in enumerate(drives):
        joint = fj.Joint(f"joint{k + 1}", kind, [0.3, 0.0, 0.0], drive=drive)
        links.append(fj.Link(f"link{k + 1}", joint, parent, mass=1.0, com=[0.1, 0.0, 0.0], inertia=0.1 * np.eye(3)))
        parent = f"link{k + 1}"
    return fj.Robot("arm", tuple(links), gravity=(0.0, -9.81, 0.0))


def lever(kind=fj.drives.LeverDrive, **options):
    return kind(7e4, 0.1, 0.02, 0.2, MOTOR, MOTOR, **options)


def test_torques_at_a_stiffness_are_those_of_the_paper():
    """The bound after (31), as corrected, up to σ = 4K: 52.716 Nm at 850 Nm/rad."""
    for sigma in (801.0, 850.0, 1275.0, 1599.0):
        R, rho = np.sqrt((sigma - 2 * K) / (3 * KC)), (sigma - 2 * K) / (3 * K)
        bound = np.sqrt(2) * K * R * (1 + rho / 2)
        lower, upper = fj.dynamics.feasible_torque(VSA, np.full(3, sigma))
        assert np.allclose(upper, bound, rtol=1e-6) and np.allclose(lower, -bound, rtol=1e-6)
    assert fj.dynamics.feasible_torque(VSA, np.full(3, 850.0)).upper[0] == pytest.approx(52.716, abs=1e-3)
    above = fj.dynamics.feasible_torque(VSA, np.full(3, 2400.0)).upper  # beyond 4K the fold decides: (σ/3)^(3/2)/√K_c
    assert np.allclose(above, np.sqrt((2400.0 / 3) ** 3 / KC), rtol=1e-6)
    assert np.all(np.isnan(fj.dynamics.feasible_torque(VSA, np.full((2, 3), 799.0)).lower))


def test_ranges_of_stiffness():
    greatest = 2 * K + 6 * KC  # both springs at their reach, 1 rad
    lower, upper = fj.dynamics.stiffness_range(VSA)
    assert np.allclose(lower, 2 * K, rtol=1e-6) and np.allclose(upper, greatest, rtol=1e-6)
    mixed = arm(lever(), None, lever(greatest_stiffness=500.0))
    lower, upper = fj.dynamics.stiffness_range(mixed)
    assert np.isnan(lower[1]) and np.isnan(upper[1])
    assert lower[0] < 0.1 and upper[0] == pytest.approx(7e4 * 0.2**2, rel=1e-6) and upper[2] == 500.0


@pytest.mark.parametrize("kind", [fj.drives.LeverDrive, Searched])
def test_levers_have_closed_forms(kind):
    """k r² = √(σ² + 4τ²): bands of stiffness and torque, and solutions, whether the form is known or not."""
    robot = arm(lever(kind))
    tau = np.array([[0.0], [5.0], [-13.9], [300.0], [1300.0]])
    lower, upper = fj.dynamics.feasible_stiffness(robot, tau)
    assert np.allclose(upper, np.sqrt((7e4 * 0.04) ** 2 - 4 * tau**2), rtol=1e-6)
    least = np.sqrt(np.maximum((7e4 * 0.0004) ** 2 - 4 * tau**2, 0.0))
    assert np.allclose(lower, least, rtol=1e-6, atol=0.5)
    assert np.isnan(fj.dynamics.feasible_stiffness(robot, [1401.0]).lower)
    sigma = np.array([900.0])
    assert fj.dynamics.feasible_torque(robot, sigma).upper == pytest.approx(
        np.sqrt((7e4 * 0.04) ** 2 - 900.0**2) / 2, rel=1e-6
    )
    rng = np.random.default_rng(0)
    stack, rates = rng.normal(size=(5, 200, 1)), rng.normal(size=(2, 200, 1))
    sigma = rng.uniform(100.0, 2000.0, (200, 1))
    found = fj.motor_motion(robot, *stack, stiffness=[sigma, *rates])
    phi_1, phi_2 = found.deflection[:, :1], found.deflection[:, 1:]
    assert np.allclose(phi_1, np.arctan2(2 * found.tau_e, sigma) / 2, rtol=1e-12)
    assert np.allclose(0.1 + phi_2, np.sqrt(np.hypot(sigma, 2 * found.tau_e) / 7e4), rtol=1e-12)


def test_the_greatest_stiffness_is_respected():
    drive = VSA.joints[0].drive
    robot = arm(fj.drives.AntagonisticDrive(*drive.springs, MOTOR, MOTOR, greatest_stiffness=1000.0))
    assert fj.dynamics.feasible_stiffness(robot, [0.0]).upper == 1000.0
    rest = np.zeros((5, 1))
    fj.inverse_dynamics(robot, *rest, stiffness=[[1000.0], [0.0], [0.0]])
    with pytest.raises(fj.NonFiniteError, match=r"1000.5 Nm/rad.*to 1000; that is 0.5 above"):
        fj.inverse_dynamics(robot, *rest, stiffness=[[1000.5], [0.0], [0.0]])
    with pytest.raises(fj.RobotError, match="greatest stiffness of joint 'joint1' is -1"):
        arm(fj.drives.AntagonisticDrive(*drive.springs, MOTOR, MOTOR, greatest_stiffness=-1.0))


# Along a motion -------------------------------------------------------------------------------------------------------

MOTION = fj.trajectory.RestToRest([0.0, 0.5, -0.5], [1.0, -0.5, 0.5], 2.0)
TIMES = np.linspace(0.0, 2.0, 41)


def test_bands_along_a_motion_are_those_of_its_torques():
    q = [ca.SX.sym("q", 3) for _ in range(3)]
    model = ca.Function("f", q, [transmitted(VSA, *q)])
    torques = np.array([np.array(model(*(x for x in MOTION(t)[:3])))[:, 0] for t in TIMES])
    expected = fj.dynamics.feasible_stiffness(VSA, torques)
    found = fj.dynamics.feasible_stiffness_along(VSA, MOTION, TIMES)
    assert found.lower.shape == (41, 3)
    assert np.allclose(found.lower, expected.lower, rtol=1e-9) and np.allclose(found.upper, expected.upper, rtol=1e-9)
    with pytest.raises(fj.InputError, match=r"the stiffness has shape \(2,\), not \(..., 3\)"):
        fj.dynamics.require_feasible_stiffness(VSA, MOTION, [900.0, 900.0], TIMES)
    checked = fj.dynamics.require_feasible_stiffness(VSA, MOTION, np.full(3, 900.0), TIMES)
    assert np.array_equal(checked.lower, found.lower)


def test_an_error_says_when_which_joint_and_how_far():
    band = fj.dynamics.feasible_stiffness_along(VSA, MOTION, TIMES)
    asked = (band.lower[0, 1] + band.lower[:, 1].max()) / 2 if band.lower[0, 1] < band.lower[:, 1].max() else 0.0
    if asked == 0.0:
        asked = band.lower[0, 1] - 1.0
    first = np.flatnonzero(band.lower[:, 1] >= asked)[0]
    with pytest.raises(fj.InputError) as error:
        fj.dynamics.require_feasible_stiffness(VSA, MOTION, np.array([1000.0, asked, 1000.0]), TIMES)
    text = str(error.value)
    short = band.lower[first, 1] - asked
    for words in (
        f"at t = {TIMES[first]:g} s",
        "'joint2'",
        "it reaches from",
        f"that is {short:.3g} below",
        "singular",
    ):
        assert words in text
    growing = fj.trajectory.RestToRest(np.full(3, 900.0), np.full(3, 2e4), 2.0)
    with pytest.raises(fj.InputError, match=r"at t = 1\.\d+ s joint 'joint.' .* above"):
        fj.dynamics.require_feasible_stiffness(VSA, MOTION, growing, TIMES)
    with pytest.raises(fj.InputError, match=r"sigma has shape \(2,\)"):
        fj.dynamics.feasible_torque(VSA, [900.0, 900.0])
