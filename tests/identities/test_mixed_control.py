"""Lyapunov functions of the laws for mixed robots along simulations: what they lose is what the laws say.

The loss is integrated with the motion, by SciPy; mass matrix and forward dynamics share nothing with the laws.
"""

import dataclasses

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, solve_ivp

import flexjoint as fj
from support.errors import relative_error
from support.evaluate import evaluate
from support.friction import law
from support.lagrange import stored
from support.marks import some_long
from support.mimics import with_followers
from support.motors import forward
from support.rotors import lbr, with_random_rotors

DURATION = 0.5


def made_rigid(robot, joints):
    """With motors that turn with their joints at some of them."""
    drives = [fj.RigidDrive(x.drive.motor) if i in joints else x.drive for i, x in enumerate(robot.joints)]
    return robot.with_drives(drives)


def direct(robot):
    """Without motors at rigid joints."""
    return robot.with_drives([x.drive if springy else None for x, springy in zip(robot.joints, robot.compliant)])


CHAIN = with_random_rotors(fj.random_robot(4, 2, prismatic=0.0, friction=True, name="tip"), 3, elastic=1.0)
TREE = with_random_rotors(fj.random_robot(5, 4, prismatic=0.2, tree=True, fixed=0.5, name="leaves"), 4, elastic=1.0)
INNER = {TREE.coordinates[k] for k in TREE.parents if k >= 0}
SLIDING = with_random_rotors(fj.random_robot(3, 8, prismatic=0.4, friction=True, name="springs"), 1, elastic=1.0)
FOLLOWERS = with_followers(fj.random_robot(5, 8, prismatic=0.4, friction=True, name="coupled"), 1, motors=True)
FOLLOWERS = FOLLOWERS.without_friction().with_drives([SLIDING.joints[0].drive, fj.RigidDrive(fj.Motor(0.3, 0.2))])
LOADED = fj.drives.Friction(0.2, 0.3, 0.5, load=0.3, load_scale=1.0, backward=fj.drives.Friction(0.4, 0.1, load=0.2))
RUBBING = fj.random_robot(2, 8, prismatic=0.5, name="bearings").with_drives([fj.ElasticDrive(150.0, fj.Motor(0.3))] * 2)
RUBBING = RUBBING.replace(
    links=[dataclasses.replace(x, joint=dataclasses.replace(x.joint, friction=LOADED)) for x in RUBBING.links]
)
ROBOTS = [
    fj.load("hua_3r").with_fidelity("complete"),
    made_rigid(CHAIN, {0, 1, 2}),
    made_rigid(TREE, INNER),
    SLIDING.with_fidelity("spong"),
    FOLLOWERS,
    RUBBING,
]


def each(robots=ROBOTS, *long):
    return pytest.mark.parametrize("robot", some_long(robots, *long))


def gains(robot):
    rng = np.random.default_rng(robot.n)
    return [rng.uniform(low, 2 * low, robot.n) for low in (30.0, 10.0, 60.0, 6.0)]  # K_P, K_D and of the motors


def reference(t, n):
    """q_d and four derivatives."""
    return time_derivatives(0.3 * ca.sin(2 * t + np.arange(n)), t, 4)


def time_derivatives(x, t, order):
    """[x, x', ...] of an expression in t."""
    stack = [x]
    for _ in range(order):
        stack.append(ca.jacobian(stack[-1], t))
    return stack


def numbers(robot):
    """Of each joint whether it is elastic, K, B, and friction on q' and on θ'; zero where there is none."""
    elastic = np.array(robot.compliant, dtype=float)
    drives = [joint.drive for joint in robot.joints]
    K = np.array([drive.stiffness if isinstance(drive, fj.ElasticDrive) else 0.0 for drive in drives])
    motors = [drive.motor if drive else fj.Motor(0.0) for drive in drives]
    B, D_m = (np.array([getattr(motor, name) for motor in motors]) for name in ("inertia", "viscous_friction"))
    D = np.array([joint.viscous_friction for joint in robot.joints])
    return elastic, K, B, D + (1 - elastic) * D_m, elastic * D_m


def lyapunov(robot, M, q, v, theta, theta_v, wanted, theta_d, theta_d_v):
    """V₂ and V₂' of [Hua (51), (52)], with friction."""
    K_P, K_D, motor_K_P, motor_K_D = gains(robot)
    elastic, K, B, D, D_m = numbers(robot)
    e, e_v = wanted[0] - q, wanted[1] - v
    s = e_v + K_P / K_D * e
    e_m, e_m_v = theta_d - theta, theta_d_v - theta_v
    s_m = elastic * (e_m_v + motor_K_P / motor_K_D * e_m + s)
    V = (s.T @ M @ s) / 2 + (e.T @ (K_P * e)) + (s_m.T @ (B * s_m)) / 2 + (e_m.T @ (K * e_m)) / 2
    loss = e_v.T @ (K_D * e_v) + e.T @ (K_P**2 / K_D * e) + s_m.T @ (motor_K_D * s_m)
    loss += e_m.T @ (K * motor_K_P / motor_K_D * e_m) + s.T @ (D * s) + s_m.T @ (D_m * s_m)
    for i, joint in enumerate(robot.joints):
        if joint.friction:
            load = K[i] * (theta[i] - q[i])
            loss += s[i] * (law(joint.friction, v[i] + s[i], load) - law(joint.friction, v[i], load))
    return V, -loss


def beginning(robot, seed=0):
    """q, q', θ, θ' away from the reference."""
    x = 0.2 * np.random.default_rng(seed).normal(size=(4, robot.n))
    elastic = np.array(robot.compliant)
    x[2:] = np.where(elastic, x[2:] + x[:2], x[:2])
    return x.ravel()


def integrated(t, x, rates, x0, observed):
    """The observed expressions at 51 times of the motion x' = rates, (51, observed)."""
    rhs, times = ca.Function("rhs", [t, x], [rates]), np.linspace(0.0, DURATION, 51)
    span = (0.0, DURATION)
    done = solve_ivp(lambda t, x: np.array(rhs(t, x))[:, 0], span, x0, "DOP853", times, rtol=1e-11, atol=1e-11)
    assert done.success
    f = ca.Function("f", [t, x], observed)
    return np.array([[float(y) for y in f(*now)] for now in zip(times, done.y.T)])


def symbols(robot, more=0):
    n = robot.n
    t, x = ca.SX.sym("t"), ca.SX.sym("x", 4 * n + more)
    return t, x, [x[k * n : (k + 1) * n] for k in range(4)], reference(t, n)


def lost_and_promised(robot, known=None, acting=None, **options):
    """V₂(T) − V₂(0), the integral of V₂', and V₂(0); wrenches are functions of time by link."""
    t, x, (q, v, theta, theta_v), wanted = symbols(robot, 1)
    tracking = {"reference": wanted, "gains": [ca.SX(x) for x in gains(robot)]}
    given = known and {link: time_derivatives(w(t), t, 2) for link, w in known.items()}
    tau, theta_d, theta_d_v = fj.control.laws.mixed_torque(
        robot, q, v, theta, theta_v, tracking=tracking, wrenches=given, **options
    )
    acts = acting and {link: [w(t)] for link, w in acting.items()}
    a, theta_a = forward(robot, q, v, theta, theta_v, tau, wrenches=acts)
    V, rate = lyapunov(robot, fj.mass_matrix(robot, q), q, v, theta, theta_v, wanted, theta_d, theta_d_v)
    rates = ca.vertcat(v, a, theta_v, theta_a, rate)
    V, promised = integrated(t, x, rates, np.append(beginning(robot), 0.0), [V, x[-1]]).T
    return V - V[0], promised, V[0]


@each(ROBOTS, "bearings", "leaves")
def test_lyapunov_function(robot):
    lost, promised, start = lost_and_promised(robot)
    assert np.all(np.diff(lost) < 0)
    assert promised[-1] < -0.5 * start
    assert np.max(np.abs(lost - promised)) < 1e-9 * start
    assert fj.control.MixedInverseDynamics(robot, gains(robot)).exact


def test_the_lyapunov_function_knows_loaded_friction():
    """The algorithm against V₂ and V₂' of this file, far from the reference."""
    t, x, state, wanted = symbols(RUBBING)
    tracking = {"reference": wanted, "gains": [ca.SX(y) for y in gains(RUBBING)]}
    _, *followed = fj.control.laws.mixed_torque(RUBBING, *state, tracking=tracking)
    expected = lyapunov(RUBBING, fj.mass_matrix(RUBBING, state[0]), *state, wanted, *followed)
    found = fj.control.laws.mixed_lyapunov(RUBBING, *state, tracking=tracking)
    x, y = (np.ravel(ca.Function("f", [t, x], [ca.vertcat(*z)])(0.3, beginning(RUBBING))) for z in (found, expected))
    assert relative_error(x, y) < 1e-12


def wrenches(robot):
    """On two links, changing all the time."""
    links = [link.name for link in robot.links]
    return {
        links[-1]: lambda t: 6 * ca.sin(3 * t + np.arange(6)),
        links[0]: lambda t: 4 * ca.cos(5 * t * np.arange(1, 7) / 6),
    }


def agree(lost, promised, start):
    return np.max(np.abs(lost - promised)) < 1e-9 * start


@each([ROBOTS[0], ROBOTS[2]], "leaves")
def test_known_wrenches(robot):
    """The law that knows a wrench with its derivatives keeps (52); without them, or without the wrench, it does not."""
    acting = wrenches(robot)
    assert agree(*lost_and_promised(robot, acting, acting))
    frozen = {link: lambda t, w=w: w(ca.SX(0.0)) for link, w in acting.items()}
    assert not agree(*lost_and_promised(robot, frozen, acting))
    assert not agree(*lost_and_promised(robot, None, acting))


def test_known_payload():
    """The law for the robot with its payload keeps (52) on it."""
    loaded = ROBOTS[0].with_payload(1.5, com=(0.05, 0.02, 0.1), inertia=np.diag([0.01, 0.02, 0.015]))
    assert agree(*lost_and_promised(loaded))


@each()
def test_lyapunov_algorithm(robot):
    """V₂ and its rate as they are written out above; with a wrench, which moves θ_d."""
    rng = np.random.default_rng(3)
    q, v, theta, theta_v = beginning(robot, 3).reshape(4, -1)
    wanted, w = rng.normal(size=(5, robot.n)), rng.normal(size=(3, 6))
    around = {"tracking": {"reference": list(wanted), "gains": gains(robot)}, "wrenches": {robot.tool: list(w)}}
    state = (q, v, theta, theta_v)
    _, theta_d, theta_d_v = evaluate(fj.control.laws.mixed_torque, robot, *state, **around)
    M = evaluate(fj.mass_matrix, robot, q)
    expected = lyapunov(robot, M, *state, wanted, theta_d, theta_d_v)
    found = evaluate(fj.control.laws.mixed_lyapunov, robot, *state, **around)
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-12)


def test_rotors_matter():
    """The promise above holds for the couplings of the complete model, which are not small here."""
    robot = ROBOTS[1]
    assert np.max(np.abs(evaluate(fj.dynamics.rotor_coupling, robot, np.zeros(robot.n))[:3, 3])) > 0.01


@pytest.mark.long
def test_without_a_proof():
    """Where couplings are neglected the controller says so, and (52) holds no more; it still tracks."""
    robot = lbr(3)
    lost, promised, start = lost_and_promised(robot, couplings="neglected")
    law = fj.control.MixedInverseDynamics(robot, [40.0, 10.0, 80.0, 8.0], couplings="neglected")
    assert not law.exact
    assert 1e-3 < np.max(np.abs(lost - promised)) / start < 1e-2
    motion = fj.trajectory.Sinusoid([0.3] * 3, 0.5, duration=4.0)
    run = fj.simulate(robot, law, motion, period=1e-3)
    error = np.abs(run.q - motion(run.t, order=0)[0])
    assert error.max() > 0.03
    assert error[-1000:].max() < 5e-4


@each(ROBOTS[:1])
def test_along_simulate(robot):
    """The same through compiled loops, V₂' integrated by Simpson's rule."""
    law = fj.control.MixedInverseDynamics(robot, gains(robot))
    motion = fj.trajectory.Sinusoid([0.3] * robot.n, 1 / np.pi, phase=np.arange(robot.n), duration=DURATION)
    q, v, theta, theta_v = beginning(robot).reshape(4, -1)
    run = fj.simulate(robot, law, motion, start=fj.JointState(q, v, theta, theta_v), hold=False, period=5e-4)
    wanted = motion(run.t, order=4)
    tracking = {"reference": list(wanted), "gains": list(law.gains)}
    found = fj.control.laws.mixed_torque(robot, run.q, run.v, run.theta, run.theta_v, tracking=tracking)
    assert relative_error(found.tau, run.tau) < 1e-12
    rows = zip(fj.mass_matrix(robot, run.q), run.q, run.v, run.theta, run.theta_v, wanted[0], wanted[1], *found[1:])
    V, rate = np.array([lyapunov(robot, *row[:5], row[5:7], *row[7:]) for row in rows]).T
    promised = cumulative_simpson(rate, x=run.t, initial=0.0)
    assert np.all(np.diff(V) < 0)
    assert np.max(np.abs(V - V[0] - promised)) < 1e-6 * V[0]


def test_rigid_robots_get_the_passivity_law():
    robot = fj.random_robot(4, 8, prismatic=0.4, friction=True).with_drives([fj.RigidDrive(fj.Motor(0.1))] * 4)
    q, v, q_d, v_d, a_d = np.random.default_rng(0).normal(size=(5, 4))
    K_P, K_D, *rest = gains(robot)
    tracking = {"reference": [q_d, v_d, a_d], "gains": [K_P, K_D, *rest]}
    found = evaluate(fj.control.laws.mixed_torque, robot, q, v, q, v, tracking=tracking).tau
    assert (
        relative_error(
            found, evaluate(fj.control.laws.passivity_torque, robot, q, v, q_d, v_d, a_d, K_P / K_D, K_P, K_D)
        )
        < 1e-13
    )


# Adaptive -----------------------------------------------------------------------------------------------------------

HUA = fj.load("hua_3r")
UNKNOWN = [HUA, direct(ROBOTS[1]), SLIDING.with_fidelity("spong")]


def heavier(robot, factor=1.3):
    links = [dataclasses.replace(x, mass=factor * x.mass, inertia=factor * x.inertia) for x in robot.links]
    return robot.replace(links=links)


def adapting(robot, Gamma):
    """Symbols, rates and V of the adaptive law that knows the links' true acceleration and jerk."""
    pi = fj.base_parameters(robot).of(robot)
    t, x, (q, v, theta, theta_v), wanted = symbols(robot, len(pi) + 1)
    estimate = x[4 * robot.n : -1]
    K_P, K_D, *_ = gains(robot)
    elastic, K, B, D, _ = numbers(robot)
    e, e_v = wanted[0] - q, wanted[1] - v
    v_r, a_r, s = wanted[1] + K_P / K_D * e, wanted[2] + K_P / K_D * e_v, e_v + K_P / K_D * e
    Y, zero = fj.base_regressor(robot, q, v, v_r, a_r), ca.SX.zeros(robot.n)
    given = Y @ estimate + (1 - elastic) * B * a_r + D * v_r + K_D * s  # at rigid joints, without S θ'' + C_1 θ'
    given += ca.gradient(stored(robot, q), q)
    driving = elastic * K * (theta - q) + (1 - elastic) * given
    asked = fj.dynamics.generalized_forces(robot, q, v, theta, zero, zero, zero).tau_e
    a = ca.solve(fj.mass_matrix(robot, q), driving - asked)
    known = ca.vertcat(v, a, theta_v, zero, Gamma * (Y.T @ s), 0)
    jerk = ca.jtimes(a, x, known) + ca.jacobian(a, t)
    tracking = {"reference": wanted, "gains": [ca.SX(x) for x in gains(robot)]}
    law = (q, v, a, jerk, theta, theta_v, estimate, ca.SX(Gamma))
    tau, theta_d, theta_d_v, rate = fj.control.laws.adaptive_mixed_torque(robot, *law, tracking=tracking)
    accelerations = forward(robot, q, v, theta, theta_v, tau)
    V, loss = lyapunov(robot, fj.mass_matrix(robot, q), q, v, theta, theta_v, wanted, theta_d, theta_d_v)
    V += ca.dot(pi - estimate, (pi - estimate) / Gamma) / 2
    return t, x, ca.vertcat(v, accelerations.a, theta_v, accelerations.theta_a, rate, loss), V


@each(UNKNOWN, "tip")
def test_adaptive_law(robot):
    """V₂ + ½ (π − π̂)ᵀΓ⁻¹(π − π̂) falls as V₂ does, from wrong masses."""
    Gamma = np.random.default_rng(1).uniform(0.1, 0.3, len(fj.base_parameters(robot).names))
    t, x, rates, V = adapting(robot, Gamma)
    x0 = np.concatenate([beginning(robot), fj.base_parameters(robot).of(heavier(robot)), [0.0]])
    V, promised = integrated(t, x, rates, x0, [V, x[-1]]).T
    assert np.all(np.diff(V) < 0)
    assert promised[-1] < -0.1 * V[0]
    assert np.max(np.abs(V - V[0] - promised)) < 1e-9 * V[0]


def test_adaptive_control_learns():
    """Without measured accelerations, from masses 30 % too large: at the end as good as with the right ones."""
    robot = HUA.with_fidelity("complete")
    motion = fj.trajectory.Sinusoid([[0.4] * 3, [0.2] * 3], [[0.5, 0.6, 0.7], [1.1, 1.0, 0.9]], duration=100.0)
    gain, period = [200.0, 30.0, 200.0, 30.0], 1e-3
    learning = fj.control.AdaptiveMixedControl(heavier(robot), gain, 0.6, period)
    start = fj.JointState(*motion(0.0)[[0, 1, 0, 1]])
    runs = [
        fj.simulate(robot, law, motion, start=start, period=period)
        for law in (learning, fj.control.MixedInverseDynamics(robot, gain))
    ]
    learnt, right = (np.abs(run.q - motion(run.t, order=0)[0]).max(axis=1) for run in runs)
    assert learnt[-10000:].max() < 1.1 * right[-10000:].max()  # which is what holding torques for a period leaves
    assert learnt[-10000:].max() < 0.1 * learnt[:10000].max()
