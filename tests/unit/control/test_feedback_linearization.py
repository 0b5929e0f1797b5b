"""The tracking law on the nonlinear robot: errors decay with the poles chosen."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import companion, expm

import flexjoint as fj
from flexjoint.control.sampling import linear_loop
from support.marks import long, some_long
from support.motors import forward

LWR = fj.load("kuka_lwr")
RNG = np.random.default_rng(0)
MOTOR = fj.Motor(0.5, 0.3)


def mixed(*drives):
    return fj.random_robot(len(drives), 21, prismatic=0.3, friction=True).with_drives(drives)


MIXED = {
    "springs and a rigid joint": mixed(
        fj.ElasticDrive(300.0, MOTOR), fj.RigidDrive(MOTOR), fj.ElasticDrive(200.0, MOTOR)
    ),
    "damped springs": mixed(fj.ElasticDrive(300.0, MOTOR, damping=2.0), fj.ElasticDrive(200.0, MOTOR, damping=5.0)),
    "damped and rigid": mixed(fj.RigidDrive(MOTOR), fj.ElasticDrive(200.0, MOTOR, damping=5.0)),
    "all kinds": mixed(fj.RigidDrive(MOTOR), fj.ElasticDrive(300.0, MOTOR, damping=4.0), fj.ElasticDrive(200.0, MOTOR)),
    "rigid": mixed(fj.RigidDrive(MOTOR), None),
}


def expected_errors(gains, errors, t):
    """[e, e', ...] at t, of each joint: e⁽ʳ⁾ + Σ K_k e⁽ᵏ⁾ = 0."""
    return np.stack(
        [(expm(companion([1.0, *K[::-1]])[::-1, ::-1] * t) @ e) for K, e in zip(gains.T, errors.T, strict=True)],
        axis=-1,
    )


def chain(robot, q, v, theta, theta_v, held, held_v):
    """[q, q', ... q⁽ʳ⁻¹⁾] of robot and controller, from forward dynamics and differences of it."""
    stretch = np.array(
        [d.stiffness if isinstance(d, fj.ElasticDrive) else 0.0 for d in (j.drive for j in robot.joints)]
    )
    damping = np.array([getattr(j.drive, "damping", 0.0) for j in robot.joints])
    degrees = np.array(fj.dynamics.relative_degree(robot))
    tau = np.where(robot.compliant, stretch * (theta - q) + damping * (theta_v - v), held)
    tau_v = np.where(degrees == 4, stretch * (theta_v - v), held_v)
    return np.array([q, v, *fj.dynamics.link_motion(robot, q, v, tau, tau_v)])[: fj.dynamics.chain_length(robot)]


def simulate(robot, gains, trajectory, start, held, duration):
    """Robot and law in continuous time: the torque is computed anew in every stage of the integrator."""
    n, length = robot.n, fj.dynamics.chain_length(robot)
    law = fj.compile(fj.control.laws.linearizing_control, robot, tracking={"reference": length + 1, "gains": length})

    def flow(t, x):
        q, theta, v, theta_v, tau_e, tau_e_v = x.reshape(6, n)
        tau, top = law(q, v, theta, theta_v, tau_e, tau_e_v, *trajectory(t, order=length), *gains)
        a, theta_a = forward(robot, q, v, theta, theta_v, tau)
        integrators = [tau_e_v, top] if length == 4 else [top, 0 * top]
        return np.concatenate([v, theta_v, a, theta_a, *integrators])

    found = solve_ivp(flow, (0.0, duration), np.concatenate([*start, *held]), method="DOP853", rtol=1e-10, atol=1e-12)
    assert found.success
    return found.y[:, -1].reshape(6, n)


def test_the_lwr_follows_with_its_poles():
    gains = np.broadcast_to(fj.control.gains_from_poles([-8, -9, -10 + 3j, -10 - 3j])[:, None], (4, 7))
    trajectory = fj.trajectory.RestToRest(np.zeros(7), np.array([0.5, -0.7, 0.3, 0.9, -0.4, 0.6, 0.8]), 1.0)
    motion = trajectory(0.0)[:4] + RNG.uniform(-1.0, 1.0, (4, 7)) * np.array([[0.02], [0.1], [0.5], [2.0]])
    tau_e, tau_e_v = fj.torque_derivatives(LWR, *motion, order=1)
    K = np.array([joint.drive.stiffness for joint in LWR.joints])
    start = [motion[0], motion[0] + tau_e / K, motion[1], motion[1] + tau_e_v / K]
    end = simulate(LWR, gains, trajectory, start, np.zeros((2, 7)), 0.2)
    errors = end[[0, 2]] - trajectory(0.2)[:2]
    expected = expected_errors(gains, motion - trajectory(0.0)[:4], 0.2)
    assert np.max(np.abs(expected[0])) > 1e-3
    assert np.max(np.abs(errors[0] - expected[0])) < 1e-8
    assert np.max(np.abs(errors[1] - expected[1])) < 1e-6


@pytest.mark.parametrize("name", some_long([*MIXED], "springs and a rigid joint"))
def test_every_mix_follows_with_its_poles(name):
    robot = MIXED[name]
    length = fj.dynamics.chain_length(robot)
    poles = -4.0 - np.arange(length * robot.n).reshape(robot.n, length) / 4
    gains = fj.control.gains_from_poles(poles)
    trajectory = fj.trajectory.RestToRest(np.zeros(robot.n), np.linspace(0.5, -0.7, robot.n), 1.5)
    theta = RNG.uniform(-0.2, 0.2, robot.n)
    start = [np.zeros(robot.n), theta, *RNG.uniform(-0.1, 0.1, (2, robot.n))]
    held = RNG.uniform(-5.0, 5.0, (2, robot.n))
    first = chain(robot, start[0], start[2], start[1], start[3], *held) - trajectory(0.0, order=length)[:length]
    end = simulate(robot, gains, trajectory, start, held, 0.4)
    expected = expected_errors(gains, first, 0.4)
    errors = end[[0, 2]] - trajectory(0.4)[:2]
    scale = np.max(np.abs(expected), axis=1)[:2]
    assert np.max(np.abs(errors - expected[:2]) / scale[:, None]) < 1e-7


# The controller -----------------------------------------------------------------------------------------------------


def one_period(controller, state, x, reference):
    """State of controller and robot (q, θ, q', θ') a period later: held torque, the robot by SciPy."""
    n = controller.robot.n
    q, theta, v, theta_v = x.reshape(4, n)
    state, tau = controller(state, reference, fj.JointState(q, v, theta, theta_v))

    def flow(_, x):
        q, theta, v, theta_v = x.reshape(4, n)
        return np.concatenate([v, theta_v, *forward(controller.robot, q, v, theta, theta_v, tau)])

    found = solve_ivp(flow, (0.0, controller.period), x, method="DOP853", rtol=1e-12, atol=1e-14)
    return state, found.y[:, -1]


def at_rest(robot, q):
    tau = fj.gravity_torque(robot, q)
    K = np.array([d.stiffness if isinstance(d, fj.ElasticDrive) else np.inf for d in (j.drive for j in robot.joints)])
    return np.concatenate([q, q + tau / K, np.zeros(2 * robot.n)])


def modes_of_a_period(controller, q):
    """The eigenvalues of one period of the nonlinear loop at rest, by central differences."""
    robot = controller.robot
    n, length = robot.n, fj.dynamics.chain_length(robot)
    degrees = np.array(fj.dynamics.relative_degree(robot))
    reference = [q, *np.zeros((length, n))]
    rest = np.concatenate([at_rest(robot, q), *controller.start(reference)])
    held = [degrees <= 2 + k if 2 + k < length else np.full(n, False) for k in range(2)]
    coordinates = np.flatnonzero(
        np.concatenate([np.tile([True], n), robot.compliant, np.tile([True], n), robot.compliant, *held])
    )

    def ahead(x):
        state, y = one_period(controller, fj.control.ControllerState(*x[4 * n :].reshape(2, n)), x[: 4 * n], reference)
        return np.concatenate([y, *state])[coordinates]

    assert np.max(np.abs(ahead(rest) - rest[coordinates])) < 1e-9, "rest is no equilibrium"
    steps = 1e-5 * np.eye(len(rest))[coordinates]
    jacobian = np.array([(ahead(rest + d) - ahead(rest - d)) / 2e-5 for d in steps]).T
    assert len(jacobian) == length * n + np.count_nonzero(degrees == 3)  # a damped spring keeps a state for itself
    return np.linalg.eigvals(jacobian)


def growth(controller, q):
    return np.max(np.abs(modes_of_a_period(controller, q)))


@pytest.mark.parametrize("name", some_long([*MIXED], "springs and a rigid joint"))
def test_the_sampled_controller_is_stable_up_to_its_limit(name):
    """... and not beyond: the loop itself, not its linear model, on both sides of the limit."""
    robot = MIXED[name]
    gains = fj.control.gains_from_poles(-6.0 - np.arange(fj.dynamics.chain_length(robot)))
    q = np.linspace(0.3, -0.4, robot.n)
    limit = fj.control.sampling_period_limit(robot, q, gains)
    assert growth(fj.control.FeedbackLinearization(robot, gains, 0.99 * limit), q) < 1 - 1e-5
    assert growth(fj.control.FeedbackLinearization(robot, gains, 1.01 * limit), q) > 1 + 1e-5


@pytest.mark.parametrize("name", [long("springs and a rigid joint"), "damped and rigid", "all kinds"])
def test_the_linear_loop_has_the_modes_of_the_loop(name):
    robot = MIXED[name]
    length = fj.dynamics.chain_length(robot)
    gains = fj.control.gains_from_poles(-4.0 - np.arange(length * robot.n).reshape(robot.n, length) / 2)
    q = np.linspace(0.3, -0.4, robot.n)
    h = 0.7 * fj.control.sampling_period_limit(robot, q, gains)
    expected = 1 + h * np.linalg.eigvals(linear_loop(robot, q, gains)(h))
    found = modes_of_a_period(fj.control.FeedbackLinearization(robot, gains, h), q)
    assert len(found) == len(expected)
    away = np.abs(found[:, None] - expected)
    assert max(np.max(np.min(away, axis=0)), np.max(np.min(away, axis=1))) < 1e-5


def test_integrators_between_samples():
    """Exact for a top derivative held over the period, of the rigid joint and of the damped spring."""
    robot, h = MIXED["all kinds"], 0.1
    gains = fj.control.gains_from_poles([-5] * 4)
    state, stack, measurement = RNG.normal(size=(2, 3)), RNG.normal(size=(5, 3)), RNG.normal(size=(4, 3))
    tracking = {"reference": list(stack), "gains": list(np.broadcast_to(gains[:, None], (4, 3)))}
    q, v, theta, theta_v = measurement
    _, top = fj.control.laws.linearizing_control(robot, q, v, theta, theta_v, *state, tracking=tracking)
    ahead, _ = fj.control.FeedbackLinearization(robot, gains, h)(
        fj.control.ControllerState(*state), stack, fj.JointState(q, v, theta, theta_v)
    )
    assert np.allclose(ahead.tau_e, [state[0, 0] + h * state[1, 0] + h * h / 2 * top[0], 0.0, 0.0], rtol=1e-12)
    assert np.allclose(ahead.tau_e_v, [state[1, 0] + h * top[0], state[1, 1] + h * top[1], 0.0], rtol=1e-12)


def test_the_state_starts_with_the_torques_of_the_motion():
    robot = MIXED["springs and a rigid joint"]
    controller = fj.control.FeedbackLinearization(robot, fj.control.gains_from_poles([-5] * 4), 1e-3)
    stack = RNG.normal(size=(5, 3))
    state = controller.start(stack)
    tau = fj.torque_derivatives(robot, *stack, order=1)
    assert np.allclose(state.tau_e[1], tau[0, 1])
    assert np.allclose(state.tau_e_v[1], tau[1, 1])
    nextstate, torque = controller(state, stack, fj.JointState(*RNG.normal(size=(4, 3))))
    assert torque[1] == state.tau_e[1]
    assert np.array_equal(np.flatnonzero(nextstate.tau_e), [1])


@pytest.mark.parametrize(
    ("gains", "period", "message"),
    [
        ([1.0, 2.0], 1e-3, "chains of 4"),
        ([1e4, 4e3, 600.0, 300.0], 1e-3, "not stable"),
        ([1e4, 4e3, 600.0, 40.0], 0.0, "period is 0.0"),
        ([1e4, 4e3, 600.0, 40.0], "fast", "period is 'fast'"),
    ],
)
def test_bad_parameters(gains, period, message):
    with pytest.raises(fj.InputError, match=message):
        fj.control.FeedbackLinearization(LWR, gains, period)


def test_a_short_reference_is_refused():
    controller = fj.control.FeedbackLinearization(LWR, [1e4, 4e3, 600.0, 40.0], 1e-4)
    with pytest.raises(fj.InputError, match="3 derivatives, the law needs 4"):
        controller.start(np.zeros((4, 7)))


def test_tracking_has_no_other_names():
    robot, x = fj.load("hua_3r"), np.zeros(3)
    with pytest.raises(fj.InputError, match="tracking has no 'refrence'; it knows reference and gains"):
        fj.control.laws.linearizing_control(robot, *[x] * 6, tracking={"refrence": [x] * 5, "gains": [x] * 4})
