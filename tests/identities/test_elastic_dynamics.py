"""Forward dynamics with motors and feedback linearization, on random chains and trees with every mix of drives.

The model they are held against is Lagrange's, from 4×4 poses, with springs, dampers and friction written here; higher
derivatives of the motion come from differentiating that model along its own vector field with CasADi.
"""

from functools import partial

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from support.errors import recorded, relative_error
from support.evaluate import evaluate
from support.lagrange import lagrange, rate, smooth_friction
from support.motors import forward

KINDS = ["cubic", "damped", "rigid", "none", "spring"]


def with_drives(robot, kinds, seed=0):
    """Drives of the given kinds in turn, all motors and half of the joints with both kinds of friction."""
    rng = np.random.default_rng(seed)

    def motor():
        inertia, viscous, coulomb = (float(x) for x in rng.uniform(0.2, 2.0, 3))
        return fj.Motor(inertia, viscous, coulomb, coulomb_velocity=0.5)

    def drive(kind):
        stiffness, damping = float(rng.uniform(50.0, 500.0)), float(rng.uniform(1.0, 5.0))
        return {
            "spring": lambda: fj.ElasticDrive(stiffness, motor()),
            "damped": lambda: fj.ElasticDrive(stiffness, motor(), damping=damping),
            "rigid": lambda: fj.RigidDrive(motor()),
            "cubic": lambda: fj.ElasticDrive(fj.springs.CubicSpring(stiffness, 300.0), motor()),
            "damped cubic": lambda: fj.ElasticDrive(fj.springs.CubicSpring(stiffness, 300.0), motor(), damping=damping),
            "none": lambda: None,
        }[kind]()

    return robot.with_drives([drive(kinds[i % len(kinds)]) for i in range(robot.n)])


CHAIN = fj.random_robot(3, 11, prismatic=0.4, friction=True)
TREE = fj.random_robot(5, 12, prismatic=0.3, tree=True, fixed=0.4, friction=True)
ROBOTS = {
    "springs": with_drives(CHAIN, ["spring"]),
    "springs in a tree": with_drives(TREE, ["spring"]),
    "springs of two laws": with_drives(CHAIN, ["spring", "cubic"]),
    "damped": with_drives(CHAIN, ["damped", "damped cubic"]),
    "damped, rigid": with_drives(CHAIN, ["damped", "rigid"]),
    "rigid": with_drives(CHAIN, ["rigid", "none"]),
    "springs, rigid": with_drives(CHAIN, ["rigid", "spring"]),
    "every kind in a tree": with_drives(TREE, KINDS),
}
each = pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS.keys())


def spring_torques(robot, q, theta, v, theta_v):
    """K φ + K_c φ³ + D φ' of each joint, zero at rigid ones."""
    torques = []
    for i, joint in enumerate(robot.joints):
        law, phi = getattr(joint.drive, "stiffness", 0.0), theta[i] - q[i]
        K, cubic = (law.stiffness, law.cubic) if isinstance(law, fj.springs.CubicSpring) else (law, 0.0)
        torques.append(K * phi + cubic * phi**3 + getattr(joint.drive, "damping", 0.0) * (theta_v[i] - v[i]))
    return torques


def model(robot, q, v, theta, theta_v, tau):
    """q'' and θ'' from M q'' + c + g + friction = τ_e, B θ'' + friction + τ_e = τ; θ'' = 0 at rigid joints."""
    a = ca.SX.sym("a", robot.n)
    asked = lagrange(robot, q, v, a)
    springs = spring_torques(robot, q, theta, v, theta_v)
    driving = ca.vertcat(*[springs[i] if elastic else tau[i] for i, elastic in enumerate(robot.compliant)])
    found = ca.solve(ca.jacobian(asked, a), driving - ca.substitute(asked, a, 0 * a))
    motors = [joint.drive.motor if elastic else None for joint, elastic in zip(robot.joints, robot.compliant)]
    rest = [tau[i] - springs[i] - smooth_friction(motor, theta_v[i]) for i, motor in enumerate(motors)]
    return found, ca.vertcat(*[x / motor.inertia if motor else 0 for x, motor in zip(rest, motors)])


def symbols(robot, names):
    return [ca.SX.sym(name, robot.n) for name in names.split()]


def state(robot, count, seed=0):
    return list(np.random.default_rng(seed).normal(size=(count, robot.n)))


def value(expressions, symbols, numbers):
    found = ca.Function("f", symbols, [ca.densify(x) for x in expressions]).call([ca.DM(x) for x in numbers])
    return [np.array(x)[:, 0] for x in found]


# Forward dynamics -------------------------------------------------------------------------------------------------


@each
def test_accelerations_are_those_of_lagrange(robot):
    x = symbols(robot, "q v theta theta_v tau")
    numbers = state(robot, 5)
    a, theta_a = value(model(robot, *x), x, numbers)
    found = evaluate(forward, robot, *numbers)
    assert relative_error(found.a, a) < 1e-11
    theta_a = np.where(robot.compliant, theta_a, a)
    assert relative_error(found.theta_a, theta_a) < 1e-11


def test_a_motor_position_is_ignored_at_rigid_joints():
    robot = ROBOTS["springs, rigid"]
    q, v, theta, theta_v, tau = state(robot, 5)
    first = evaluate(fj.forward_dynamics, robot, q, v, theta, theta_v, tau)
    other = np.where(robot.compliant, theta, 7.0)
    second = evaluate(fj.forward_dynamics, robot, q, v, other, np.where(robot.compliant, theta_v, -3.0), tau)
    assert np.array_equal(first.a, second.a)
    assert np.array_equal(first.theta_a, second.theta_a)


@pytest.mark.parametrize("robot", [ROBOTS["springs in a tree"], ROBOTS["every kind in a tree"]], ids=["springs", "all"])
def test_wrenches_and_base_motion(robot):
    """The torques that belong to the motion found are the torques given."""
    rng = np.random.default_rng(1)
    q, v, tau_e, tau_e_v = state(robot, 4)
    extras = {
        "wrenches": {robot.tool: list(rng.normal(size=(2, 6)))},
        "base": fj.BaseMotion(list(rng.normal(size=(3, 3))), list(rng.normal(size=(2, 3)))),
    }
    a, jerk = evaluate(fj.dynamics.link_motion, robot, q, v, tau_e, tau_e_v, **extras)
    found = evaluate(lambda *x, **y: fj.torque_derivatives(*x, order=1, **y), robot, q, v, a, jerk, **extras)
    assert relative_error(found, [tau_e, tau_e_v]) < 1e-11
    theta, theta_v, tau = state(robot, 3, seed=5)
    a, _ = evaluate(fj.forward_dynamics, robot, q, v, theta, theta_v, tau, **extras)
    tau_e = np.where(robot.compliant, spring_torques(robot, q, theta, v, theta_v), tau)
    found = evaluate(fj.torque_derivatives, robot, q, v, a, **extras)
    assert relative_error(found, tau_e) < 1e-11


@each
def test_link_motion_is_the_derivative_of_the_acceleration(robot):
    """q''' by differentiating Lagrange's q'' with the torque on the links as a function of time."""
    bare = robot.with_drives([None if elastic else j.drive for j, elastic in zip(robot.joints, robot.compliant)])
    q, v, tau, tau_rate = x = symbols(robot, "q v tau tau_rate")
    a, _ = model(bare, q, v, q, v, tau)
    jerk = rate(a, [q, v, a], [tau, tau_rate])
    numbers = state(robot, 4)
    expected = value([a, jerk], x, numbers)
    found = evaluate(fj.dynamics.link_motion, robot, *numbers)
    assert relative_error(found.a, expected[0]) < 1e-11
    assert relative_error(found.jerk, expected[1]) < 1e-10


def test_long_chains_take_articulated_bodies():
    """... and the torques that belong to the motion found are the torques given."""
    robot = fj.random_robot(18, 3, prismatic=0.2, friction=True)
    q, v, tau_e, tau_e_v = state(robot, 4)
    a, jerk = evaluate(fj.dynamics.link_motion, robot, q, v, tau_e, tau_e_v)
    found = evaluate(lambda *x: fj.torque_derivatives(*x, order=1), robot, q, v, a, jerk)
    terms = np.max(np.abs(evaluate(fj.mass_matrix, robot, q)) @ np.abs([a, jerk]).T)
    assert recorded(np.max(np.abs(found - [tau_e, tau_e_v])) / terms) < 1e-12


# Feedback linearization -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["springs", "springs in a tree", "springs of two laws", "damped"])
def test_the_command_is_what_the_model_does(name):
    """q'''' (q''' with damped springs) of Lagrange's model under the torque is the command."""
    robot = ROBOTS[name]
    order = fj.dynamics.chain_length(robot)
    assert order == (3 if name == "damped" else 4)
    q, v, theta, theta_v, _ = x = symbols(robot, "q v theta theta_v tau")
    a, theta_a = model(robot, *x)
    motion = [q, v, a]
    while len(motion) <= order:
        motion.append(rate(motion[-1], [q, v, a], [theta, theta_v, theta_a]))
    numbers = state(robot, 4)
    command = 1e4 * np.random.default_rng(3).normal(size=robot.n)
    torque = evaluate(fj.feedback_linearization, robot, *numbers, command)
    (found,) = value([motion[order]], x, [*numbers, torque])
    assert relative_error(found, command) < 1e-9


def test_states_from_different_sensors_give_one_torque():
    robot = ROBOTS["springs in a tree"]
    q, v, theta, theta_v, command = state(robot, 5)
    tau_e, tau_e_v = evaluate(fj.dynamics.spring_torques, robot, q, v, theta, theta_v)
    K = np.array([joint.drive.stiffness for joint in robot.joints])
    assert relative_error(tau_e, K * (theta - q)) < 1e-15
    assert relative_error(tau_e_v, K * (theta_v - v)) < 1e-15
    found = evaluate(fj.dynamics.link_state, robot, theta, theta_v, tau_e, tau_e_v)
    assert relative_error(found, [q, v]) < 1e-14
    torque = evaluate(fj.feedback_linearization, robot, q, v, tau_e, tau_e_v, command, measured="q tau_e")
    both = evaluate(fj.feedback_linearization, robot, q, v, theta, theta_v, command)
    sensed = evaluate(fj.feedback_linearization, robot, theta, theta_v, tau_e, tau_e_v, command, measured="theta tau_e")
    assert relative_error(both, torque) < 1e-12
    assert relative_error(sensed, torque) < 1e-12


def test_linearization_under_wrenches_and_base_motion():
    """The torque is that of inverse dynamics for the motion found, with all derivatives of wrench and base."""
    robot = ROBOTS["springs of two laws"]
    rng = np.random.default_rng(2)
    wrench, omega, acceleration = rng.normal(size=(3, 6)), rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    extras = {"wrenches": {robot.tool: list(wrench)}, "base": fj.BaseMotion(list(omega), list(acceleration))}
    q, v, tau_e, tau_e_v, command = state(robot, 5)
    a, jerk = evaluate(fj.dynamics.link_motion, robot, q, v, tau_e, tau_e_v, **extras)
    law = partial(fj.feedback_linearization, measured="q tau_e")
    found = evaluate(law, robot, q, v, tau_e, tau_e_v, command, **extras)
    expected = evaluate(fj.inverse_dynamics, robot, q, v, a, jerk, command, **extras)
    assert relative_error(found, expected) < 1e-11
    without = evaluate(law, robot, q, v, tau_e, tau_e_v, command)
    assert relative_error(without, expected) > 1e-3, "the wrench and the base are too weak to be seen"


@each
def test_every_mix_becomes_chains_of_integrators(robot):
    """Robot and controller as one system: its r-th derivative of q is the tracking law, exactly."""
    length = fj.dynamics.chain_length(robot)
    assert length == max(fj.dynamics.relative_degree(robot))
    q, v, theta, theta_v, held, held_rate = x = symbols(robot, "q v theta theta_v tau_e tau_e_v")
    stacks = {name: symbols(robot, "r " * count) for name, count in (("reference", length + 1), ("gains", length))}
    tau, top = fj.control.laws.linearizing_control.function(
        robot, q, v, theta, theta_v, held, held_rate, tracking=stacks
    )
    a, theta_a = model(robot, q, v, theta, theta_v, tau)
    # the controller integrates the top derivative: τ_r'' = top in chains of 4, τ_r' = top in chains of 3
    extension = [held, held_rate, top] if length == 4 else [held, top]
    motion = [q, v, a]
    while len(motion) <= length:
        motion.append(rate(motion[-1], [q, v, a], [theta, theta_v, theta_a], extension))
    law = stacks["reference"][length]
    for K, d, y in zip(stacks["gains"], stacks["reference"], motion):
        law += K * (d - y)
    every = [*x, *stacks["reference"], *stacks["gains"]]
    found, expected = value([motion[length], law], every, state(robot, len(every)))
    assert relative_error(found, expected) < 1e-8


def test_the_lwr_obeys_its_command():
    """q'''' recovered from state and torque, on the robot of the paper: rounding times K/(M B) allows no less."""
    robot = fj.load("kuka_lwr")
    q, v, theta, theta_v, _ = x = symbols(robot, "q v theta theta_v tau")
    a, theta_a = fj.forward_dynamics.function(robot, *x)
    flow = ([q, v, a], [theta, theta_v, theta_a])
    snap = rate(rate(a, *flow), *flow)
    f = ca.Function("snap", x, [snap])
    rng = np.random.default_rng(0)
    K = np.array([joint.drive.stiffness for joint in robot.joints])
    for scale in (0.0, 1.0, 1e3, 1e5):  # of the command
        q, v, a, jerk, command = rng.uniform(-1.0, 1.0, (5, 7)) * np.array([[2.0], [2.0], [10.0], [100.0], [scale]])
        tau_e, tau_e_v = fj.torque_derivatives(robot, q, v, a, jerk, order=1)
        theta, theta_v = q + tau_e / K, v + tau_e_v / K
        torque = fj.feedback_linearization(robot, q, v, theta, theta_v, command)
        found = np.array(f(q, v, theta, theta_v, torque))[:, 0]
        assert recorded(np.max(np.abs(found - command)) / max(np.max(np.abs(command)), 1e3)) < 1e-9


# Bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measured", "name", "message"),
    [
        ("q tau_e", "springs, rigid", "is rigid.*linearizing_control"),
        ("q tau_e", "damped", "damped spring"),
        ("q theta", "damped, rigid", "is rigid"),
        ("q theta", "rigid", "is rigid"),
        ("theta tau_e", "every kind in a tree", "'link2_joint' is elastic with a damped spring"),
        ("q", "springs", "measured is 'q'; choose one of 'q theta', 'q tau_e', 'theta tau_e'"),
    ],
)
def test_joints_that_do_not_fit_are_named(measured, name, message):
    robot = ROBOTS[name]
    with pytest.raises(fj.InputError, match=message):
        fj.feedback_linearization(robot, *state(robot, 5), measured=measured)


@pytest.mark.parametrize("algorithm", [fj.dynamics.spring_torques, fj.dynamics.link_state])
def test_a_damped_spring_has_no_torque_rate_in_its_state(algorithm):
    robot = ROBOTS["damped"]
    with pytest.raises(fj.InputError, match=r"'link1_joint' is damped.*theta_v"):
        algorithm(robot, *state(robot, 4))


@pytest.mark.parametrize(
    ("tracking", "message"),
    [
        (None, "5 arrays in 'reference'"),
        ({"reference": 4, "gains": 4}, "5 arrays in 'reference' for chains of 4 integrators, 4 were given"),
        ({"reference": 5, "gains": 3}, "4 arrays in 'gains'"),
        ({"reference": 5}, "4 arrays in 'gains' .*, 0 were given"),
    ],
)
def test_the_tracking_law_needs_its_reference_and_gains(tracking, message):
    robot = ROBOTS["springs"]
    stacks = tracking and {name: state(robot, count) for name, count in tracking.items()}
    with pytest.raises(fj.InputError, match=message):
        fj.control.laws.linearizing_control(robot, *state(robot, 6), tracking=stacks)


def test_what_is_not_finite_is_named():
    robot = fj.load("kuka_lwr")
    x = state(robot, 5)
    x[3][2] = np.nan
    with pytest.raises(fj.NonFiniteError, match="tau_e_v"):
        fj.feedback_linearization(robot, *x, measured="q tau_e")
    with pytest.raises(fj.NonFiniteError, match="theta_v"):
        fj.feedback_linearization(robot, *x)


def test_steep_friction_on_a_link_is_warned_of():
    robot = fj.from_dh(
        "bar",
        [0.0],
        [0.5],
        [0.0],
        mass=[1.0],
        com=[[-0.2, 0.0, 0.0]],
        inertia=[0.1 * np.eye(3)],
        coulomb_friction=5.0,
        coulomb_velocity=0.01,
        drives=[fj.ElasticDrive(1000.0, fj.Motor(3.2))],
    )
    with pytest.warns(UserWarning, match="differentiated twice"):
        evaluate(fj.feedback_linearization, robot, *state(robot, 5))


def test_a_wrench_needs_its_derivatives():
    robot = ROBOTS["springs"]
    with pytest.raises(fj.InputError, match="first 2 derivatives"):
        fj.feedback_linearization(robot, *state(robot, 5), wrenches={robot.tool: [np.zeros(6)]})


def test_a_link_without_inertia_is_refused():
    links = [
        fj.Link(
            "arm",
            fj.Joint("first", drive=fj.ElasticDrive(100.0, fj.Motor(1.0))),
            mass=1.0,
            com=[0.1, 0.0, 0.0],
            inertia=0.1 * np.eye(3),
        ),
        fj.Link("ghost", fj.Joint("second", drive=fj.ElasticDrive(100.0, fj.Motor(1.0))), "arm"),
    ]
    robot = fj.Robot("ghostly", tuple(links))
    for algorithm in (fj.feedback_linearization, fj.forward_dynamics):
        with pytest.raises(fj.RobotError, match="'second' moves no inertia"):
            algorithm(robot, *np.zeros((5, 2)))
