"""The tracking law of motion and stiffness: what it commands is brought about, errors decay with the poles chosen."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import companion, expm

import flexjoint as fj
from identities.test_variable_stiffness import SPRINGS, brought_about, random_state
from support.evaluate import evaluate
from support.marks import some_long
from support.motors import from_deflections, motors, pairs

VSA = fj.load("vsa_3r")
each = pytest.mark.parametrize("robot", some_long(SPRINGS, "cubic", "three laws", "with springs in a tree"))


def random_tracking(n, seed=3):
    rng = np.random.default_rng(seed)
    return {
        "reference": list(rng.normal(size=(5, n))),
        "gains": list(rng.uniform(10.0, 50.0, (4, n))),
        "stiffness": list(rng.uniform(500.0, 900.0, (3, n))),
        "stiffness_gains": list(rng.uniform(5.0, 20.0, (2, n))),
        "integrals": list(rng.normal(size=(2, n))),
        "integral_gains": list(rng.uniform(10.0, 50.0, (2, n))),
    }


class PairedControl(NamedTuple):
    tau_1: object
    tau_2: object
    error: object
    stiffness_error: object


def paired_control(robot, *state, tracking):
    """The law from deflections; limits of the first and of the second motors."""
    if "limits" in tracking:
        tracking = {**tracking, "limits": [motors(robot, *tracking["limits"])]}
    found = fj.control.laws.motion_and_stiffness_control(robot, *from_deflections(robot, *state), tracking=tracking)
    return PairedControl(*pairs(robot, found.tau), found.error, found.stiffness_error)


def commands(tracking, motion, sigma):
    """v_q and v_σ of (32) from [q, ... q'''] and [σ, σ'], the integrals added."""
    found = []
    pairs = (("reference", "gains", motion), ("stiffness", "stiffness_gains", sigma))
    for (reference, gains, state), K, integral in zip(pairs, tracking["integral_gains"], tracking["integrals"]):
        *low, top = tracking[reference]
        errors = [L * (d - x) for L, d, x in zip(tracking[gains], low, state, strict=True)]
        found.append(top + sum(errors) + K * integral)
    return found


def close(found, wanted):
    return np.all(abs(found - wanted) <= 1e-9 * max(np.max(abs(wanted)), 1e3))


@each
def test_the_law_brings_about_its_commands(robot):
    """q'''' = v_q and σ'' = v_σ of the nonlinear model to 1e-9 max(|v|, 10³)."""
    state, tracking = random_state(robot), random_tracking(robot.n)
    found = evaluate(paired_control, robot, *state, tracking=tracking)
    a, jerk, snap, sigma, sigma_v, sigma_a = brought_about(robot, state, found[:2])
    v_q, v_s = commands(tracking, [*state[:2], a, jerk], [sigma, sigma_v])
    chosen = np.array(robot.variable_stiffness)
    assert close(snap, v_q) and close(sigma_a[chosen], v_s[chosen])
    assert np.array_equal(found.error, tracking["reference"][0] - state[0])
    assert np.allclose(found.stiffness_error, np.where(chosen, tracking["stiffness"][0] - sigma, 0.0), rtol=1e-12)


@each
def test_at_a_limit_the_stiffness_gives_way_and_the_motion_goes_on(robot):
    state, tracking = random_state(robot), random_tracking(robot.n)
    free = evaluate(paired_control, robot, *state, tracking=tracking)
    chosen = np.array(robot.variable_stiffness)
    limits = [np.full(robot.n, 1e9), np.where(chosen, 0.9 * abs(free.tau_2), 1e9)]
    found = evaluate(paired_control, robot, *state, tracking={**tracking, "limits": limits})
    assert np.array_equal(abs(found.tau_2[chosen]), limits[1][chosen])
    a, jerk, snap, sigma, sigma_v, sigma_a = brought_about(robot, state, found[:2])
    v_q, v_s = commands(tracking, [*state[:2], a, jerk], [sigma, sigma_v])
    assert close(snap, v_q)
    assert not any(close(x, y) for x, y in zip(sigma_a[chosen], v_s[chosen]))
    assert np.array_equal(found.error, free.error) and not np.any(found.stiffness_error)


@each
def test_torques_that_no_stiffness_can_keep_within_limits_are_cut_off(robot):
    """... and so is the integral of the motion."""
    state, tracking = random_state(robot), random_tracking(robot.n)
    limits = np.full((2, robot.n), 1e-3)
    free = evaluate(paired_control, robot, *state, tracking=tracking)
    found = evaluate(paired_control, robot, *state, tracking={**tracking, "limits": list(limits)})
    for tau, there in ((found.tau_1, np.ones(robot.n)), (found.tau_2, robot.variable_stiffness)):
        assert np.all(abs(tau) <= 1e-3) and np.allclose(abs(tau), 1e-3 * np.array(there), rtol=1e-9)
    assert np.any(free.error) and not np.any(found.error) and not np.any(found.stiffness_error)
    wide = {**tracking, "limits": list(limits + 1e9)}
    assert all(map(np.array_equal, evaluate(paired_control, robot, *state, tracking=wide), free))


def test_a_motor_that_the_stiffness_cannot_relieve_is_cut_off_alone():
    """A lever that is not deflected: v_σ moves its second motor only."""
    lever = fj.drives.LeverDrive(7e4, 0.1, 0.02, 0.2, fj.Motor(0.5), fj.Motor(2.0))
    robot = fj.random_robot(1, 4, prismatic=0.0).with_drives([lever])
    tracking, state = random_tracking(1), [np.array([x]) for x in (0.3, 0.2, 0.0, 0.01, 0.5, 0.1)]
    free = evaluate(paired_control, robot, *state, tracking=tracking)
    limits = [0.5 * abs(free.tau_1), 2 * abs(free.tau_2)]
    found = evaluate(paired_control, robot, *state, tracking={**tracking, "limits": limits})
    assert abs(found.tau_1) == limits[0] and found.tau_2 == free.tau_2
    assert found.error == 0 and found.stiffness_error == 0
    wide = evaluate(paired_control, robot, *state, tracking={**tracking, "limits": [4 * x for x in limits]})
    assert all(map(np.array_equal, wide, free))


def test_a_stiffness_beyond_the_band_is_replaced_by_its_end():
    state, tracking = random_state(VSA), random_tracking(3)
    band = [np.array([600.0, 850.0, 850.0]), np.array([700.0, 1200.0, 1200.0])]
    tracking["stiffness"] = [np.array([750.0, 1000.0, 800.0]), np.full(3, 30.0), np.full(3, 70.0)]
    kept = [np.array([700.0, 1000.0, 850.0]), np.array([0.0, 30.0, 0.0]), np.array([0.0, 70.0, 0.0])]
    found = evaluate(paired_control, VSA, *state, tracking={**tracking, "band": band})
    wanted = evaluate(paired_control, VSA, *state, tracking={**tracking, "stiffness": kept})
    assert all(map(np.array_equal, found, wanted))


# Decay ----------------------------------------------------------------------------------------------------------------


def decayed(gains, errors, t):
    """[∫e, e, e', ...] after t, joint by joint: e⁽ʳ⁾ + Σ K_k e⁽ᵏ⁾ = 0."""
    K = np.asarray(gains)[::-1]
    return expm(companion([1.0, *K])[::-1, ::-1] * t) @ errors


def started(robot, q, sigma):
    """A state (q, q', θ, θ') with this motion [q, ... q'''] and stiffness [σ, σ']."""
    rest = np.zeros(robot.n)
    found = fj.motor_motion(robot, *q, rest, stiffness=[*sigma, rest])
    return [q[0], q[1], found.theta, found.theta_v]


MIXED = fj.random_robot(2, 21, prismatic=0.0, friction=True).with_drives(
    [
        fj.ElasticDrive(300.0, fj.Motor(0.5, 0.3)),
        fj.drives.AntagonisticDrive(
            fj.springs.ExponentialSpring(200.0, 4.0),
            fj.springs.ExponentialSpring(150.0, -5.0),
            fj.Motor(0.4, 0.1),
            fj.Motor(0.7),
        ),
    ]
)


RIGID = MIXED.with_drives([fj.RigidDrive(fj.Motor(0.5, 0.3)), MIXED.joints[1].drive])


@pytest.mark.parametrize(
    ("robot", "poles", "stiffness_poles", "sigma"),
    [
        (VSA, [-8, -9, -10 + 3j, -10 - 3j], [-6.0, -7.0], 1000.0),
        (VSA, [-7, -8, -9, -10 + 3j, -10 - 3j], [-6.0, -7.0, -8.0], 1000.0),
        pytest.param(MIXED, [-4, -5, -6, -7], [-5 + 2j, -5 - 2j], 600.0, marks=pytest.mark.long),
        (RIGID, [-4, -5, -6, -7], [-5 + 2j, -5 - 2j], 600.0),
    ],
    ids=["vsa_3r", "with integrals", "beside a spring", "beside a rigid joint"],
)
def test_errors_decay_with_the_poles(robot, poles, stiffness_poles, sigma):
    """The nonlinear robot and the law in continuous time, by SciPy, against the linear error equations."""
    n, end, rng = robot.n, 0.3, np.random.default_rng(2)
    chosen = np.array(robot.variable_stiffness)
    K, L = (fj.control.gains_from_poles(x)[:, None] * np.ones(n) for x in (poles, stiffness_poles))
    integral = len(poles) - 4
    motion = fj.trajectory.RestToRest(np.zeros(n), np.linspace(0.5, -0.7, n), 1.0)
    stiffness = fj.trajectory.RestToRest(np.full(n, sigma), np.full(n, 1.2 * sigma), 1.0, 2)
    shape = {"reference": 5, "gains": 4, "stiffness": 3, "stiffness_gains": 2}
    if integral:
        shape |= {"integrals": 2, "integral_gains": 2}
    law = fj.compile(fj.control.laws.motion_and_stiffness_control, robot, tracking=shape)
    plant = fj.compile(fj.forward_dynamics, robot)
    holds = robot is RIGID  # the torque of the rigid joint and its rate
    cuts = np.cumsum([n, n, robot.motor_count, robot.motor_count, n, n, *[n] * holds])

    def flow(t, x):
        q, v, theta, theta_v, *rest = np.split(x, cuts)
        integrals, held = rest[:2], rest[2 : 2 + 2 * holds]
        extra = [*integrals, K[0], L[0]] if integral else []
        goal = [*motion(t), *K[integral:], *stiffness(t, order=2), *L[integral:], *extra]
        tau, *errors = law(q, v, theta, theta_v, *held, *goal)
        a, theta_a = plant(q, v, theta, theta_v, tau)
        return np.concatenate([v, a, theta_v, theta_a, *errors[:2], *held[1:], *errors[2:]])

    off = rng.uniform(-1.0, 1.0, (4, n)) * np.array([[0.02], [0.1], [0.5], [2.0]])
    off_sigma = rng.uniform(-1.0, 1.0, (2, n)) * np.array([[30.0], [100.0]])
    start = started(robot, motion(0.0)[:4] + off, stiffness(0.0, order=1) + off_sigma)
    held = fj.torque_derivatives(robot, *(motion(0.0)[:4] + off), order=1) if holds else []
    first = np.concatenate([*start, *np.zeros((2, n)), *held])
    x = solve_ivp(flow, (0.0, end), first, method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    q, v, theta, *_ = np.split(x, cuts)
    theta_1, theta_2 = pairs(robot, theta)
    error = [motion(end, order=1)[k] - y for k, y in enumerate((q, v))]
    expected = decayed_all(K, -off, integral, end)
    assert np.max(abs(expected[0])) > 1e-3
    assert np.max(abs(error[0] - expected[0])) < 1e-8 and np.max(abs(error[1] - expected[1])) < 1e-6
    found = np.array([by_hand(joint.drive, *x) for joint, *x in zip(robot.joints, theta_1 - q, theta_2 - q)])
    expected = decayed_all(L, -off_sigma, integral, end)[0][chosen]
    assert np.max(abs(expected)) > 0.1
    assert np.max(abs(stiffness(end, order=0)[0][chosen] - found[chosen] - expected)) < 1e-6


def decayed_all(gains, errors, integral, t):
    """Error and its rate of all joints, which begin with an integral of 0."""
    stacks = [[*np.zeros(integral), *e] for e in errors.T]
    return np.array([decayed(K, e, t)[integral : integral + 2] for K, e in zip(gains.T, stacks)]).T


def by_hand(drive, phi_1, phi_2):
    if not isinstance(drive, fj.drives.AntagonisticDrive):
        return 0.0
    one, two = drive.springs
    if isinstance(one, fj.springs.CubicSpring):
        return one.stiffness + two.stiffness + 3 * (one.cubic * phi_1**2 + two.cubic * phi_2**2)
    return one.stiffness * np.exp(one.rate * phi_1) + two.stiffness * np.exp(two.rate * phi_2)


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reference": [np.zeros(3)] * 4}, "5 arrays in 'reference', 4 were given"),
        ({"stiffness": [np.zeros(3)] * 2}, "3 arrays in 'stiffness', 2 were given"),
        ({"integrals": [np.zeros(3)] * 2}, "2 arrays in 'integral_gains', 0 were given"),
        ({"limit": [np.zeros(3)] * 2}, "no 'limit'"),
    ],
)
def test_tracking_is_checked(change, words):
    tracking = random_tracking(3)
    del tracking["integrals"], tracking["integral_gains"]
    with pytest.raises(fj.InputError, match=words):
        paired_control(VSA, *random_state(VSA), tracking={**tracking, **change})


def test_rigid_joints_need_torques_held():
    rigid = VSA.with_drives([fj.RigidDrive(fj.Motor(1.0)), *(joint.drive for joint in VSA.joints[1:])])
    with pytest.raises(fj.InputError, match=r"needs q, v, theta, theta_v, tau_e, tau_e_v.*the law holds of 'joint1'"):
        paired_control(rigid, *random_state(VSA), tracking=random_tracking(3))
