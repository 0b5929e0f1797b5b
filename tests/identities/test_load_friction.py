"""Load-dependent friction on the link side of springs: the implicit torque, its derivatives, laws that invert it."""

import dataclasses

import casadi as ca
import mpmath
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.drives import CoupledTransmission, Friction
from flexjoint.dynamics.drivetrain.load_friction import load_friction, load_slope, remaining_torque, supplied_torque
from flexjoint.dynamics.inverse import needed_order
from support.errors import relative_error
from support.evaluate import evaluate
from support.friction import law, random_friction, supplied, with_friction
from support.lagrange import rate
from support.motors import forward

ORDER = 8
T = np.array([[1.0, 0.4], [1.2, -0.9]])


def one(friction):
    joint = fj.Joint("hip", drive=fj.ElasticDrive(300.0, fj.Motor(0.3)), friction=friction)
    return fj.Robot("leg", (fj.Link("leg", joint, mass=1.0, com=(0.1, 0, 0), inertia=0.1 * np.eye(3)),))


def load_part(friction):
    """The law without what does not depend on the load."""
    back = friction.backward and Friction(load=friction.backward.load)
    return Friction(velocity=friction.velocity, load=friction.load, load_scale=friction.load_scale, backward=back)


def exact(friction):
    """The law with numbers of any precision."""
    numbers = {x: mpmath.mpf(getattr(friction, x)) for x in ("velocity", "load", "load_scale")}
    back = friction.backward and dataclasses.replace(friction.backward, load=mpmath.mpf(friction.backward.load))
    return dataclasses.replace(friction, **numbers, backward=back)


def values(robot, function, *stacks):
    """Numbers of jets that are computed from numbers."""
    given = [[ca.SX(ca.DM(float(x))) for x in stack] for stack in stacks]
    return [float(ca.DM(x)) for x in function(robot, *given)]


@pytest.mark.parametrize("seed", range(4))
def test_the_torque_is_the_root_of_the_implicit_equation(seed):
    """Against 50 digits, to the last bits, for torques far below, at and far above τ_0, with and against the motion."""
    rng = np.random.default_rng(seed)
    friction = load_part(random_friction(rng, load=True, backward=seed % 2 == 1))
    friction = dataclasses.replace(friction, load=0.93 if seed == 3 else friction.load)
    robot = one(friction)
    with mpmath.workdps(50):
        for v in (*rng.normal(size=3), 1e-9, -30.0):
            for u in (1e-12, -1e-3, 0.3, -2.0, 700.0, -1e6):
                (tau,) = values(robot, supplied_torque, [v], [u])
                root = supplied(exact(friction), mpmath.mpf(v), mpmath.mpf(u), mpmath)
                assert abs(root - law(exact(friction), mpmath.mpf(v), root, mpmath) - u) <= 1e-30 * abs(u)
                assert abs(tau - root) <= 1e-15 / (1 - 0.93**2) * abs(root)
                (left,) = values(robot, remaining_torque, [v], [tau])
                rest = tau - law(exact(friction), mpmath.mpf(v), mpmath.mpf(tau), mpmath)
                assert abs(left - rest) <= 1e-15 * abs(tau)


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_of_the_torque(seed):
    """To order 8, as in the complete model of rotors, against derivatives of the root in 60 digits."""
    rng = np.random.default_rng(seed)
    friction = load_part(random_friction(rng, load=True, backward=seed != 1))
    v, u = rng.normal(size=(2, ORDER + 1)) * [[1.0], [3.0]]
    v[0] *= 0.3  # where friction changes: beyond, 1 − tanh² loses digits, of what no longer matters
    robot = one(friction)
    found = values(robot, supplied_torque, v, u)
    with mpmath.workdps(60):
        series = [[mpmath.mpf(x) / mpmath.factorial(k) for k, x in enumerate(jet)][::-1] for jet in (v, u)]
        expected = mpmath.diffs(
            lambda t: supplied(exact(friction), *(mpmath.polyval(x, t) for x in series), mpmath), 0, ORDER
        )
        expected = np.array([float(x) for x in expected])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(values(robot, remaining_torque, v, found), u, rtol=0, atol=1e-13 * np.abs(found).max())
    known = values(robot, lambda robot, *x: supplied_torque(robot, *x, known=x[-1][:3]), v, [*found[:3], *u[3:]])
    np.testing.assert_allclose(known, expected, rtol=1e-12)  # those that are known are taken as they are


def test_slope_and_friction():
    friction = random_friction(np.random.default_rng(2), load=True, backward=True)
    v, tau = ca.SX.sym("v"), ca.SX.sym("tau")
    robot, F = one(friction), law(friction, v, tau)
    found = load_friction(robot, [v], [tau])[0], load_slope(robot, v, tau)
    for x, y in zip(found, (F - law(friction, v, 0.0), ca.gradient(F, tau))):
        at = ca.Function("f", [v, tau], [x - y, y])(0.3, -0.8)
        assert abs(float(at[0])) < 1e-15 < abs(float(at[1]))


def test_nothing_is_added_without_it():
    """Joints whose friction does not depend on the load get no operation."""
    robot = fj.random_robot(3, 2, elastic=1.0, friction=True)
    stack = [ca.SX.sym(f"x{k}", 3) for k in range(3)]
    for function in (supplied_torque, remaining_torque):
        assert all(x is y for x, y in zip(function(robot, stack, stack), stack))
    assert load_friction(robot, stack, stack)[2].is_zero()


# Robots -----------------------------------------------------------------------------------------------------------


def coupled(springs):
    robot = fj.random_robot(3, 5, prismatic=0.0).with_drives([fj.ElasticDrive(300.0, fj.Motor(0.3))] * 3)
    group = CoupledTransmission([joint.name for joint in robot.joints[1:]], T, springs=springs)
    return with_friction(robot.replace(transmissions=[group]), 3)


SPRING = fj.ElasticDrive(300.0, fj.Motor(0.3))
HARD = fj.ElasticDrive(fj.springs.CubicSpring(200.0, 500.0), fj.Motor(0.6))
SERIAL = with_friction(fj.random_robot(2, 5, prismatic=0.5, tree=True).with_drives([SPRING, HARD]), 3)
DAMPED = with_friction(
    fj.random_robot(2, 5, prismatic=0.5).with_drives([dataclasses.replace(x, damping=2.0) for x in (SPRING, HARD)]), 4
)
LINEARIZED = {"tree": SERIAL, "damped": DAMPED, "motor": coupled("motor"), "joint": coupled("joint")}


@pytest.mark.parametrize("name", LINEARIZED)
def test_feedback_linearization_gives_the_command(name):
    """q'''', behind damped springs q''', by differentiating forward dynamics along the closed loop, off any motion."""
    robot = LINEARIZED[name]
    q, v, theta, theta_v, tau, command = (ca.SX.sym(x, robot.n) for x in ("q", "v", "t", "w", "tau", "u"))
    a, theta_a = forward(robot, q, v, theta, theta_v, tau)
    top = a
    for _ in range(1 if name == "damped" else 2):
        top = rate(top, [q, v, a], [theta, theta_v, theta_a])
    law = fj.feedback_linearization(robot, q, v, theta, theta_v, command)
    given = np.random.default_rng(0).normal(size=(5, robot.n)) * np.array([[1.0], [0.5], [1.0], [0.5], [20.0]])
    given[2] = given[0] + 0.02 * given[2]
    if name in ("motor", "joint"):
        given[2, 1:] = T @ given[0, 1:] + 0.02
    state = [q, v, theta, theta_v, command]
    torque = ca.Function("law", state, [law])(*given)
    found = ca.Function("top", [*state[:4], tau], [top])(*given[:4], torque)
    assert relative_error(np.array(found)[:, 0], given[4]) < 1e-9


@pytest.mark.parametrize("springs", ["motor", "joint"])
def test_coupled_joints_rub_under_the_torque_that_arrives(springs):
    """The load is T_aᵀτ_e at each joint, so one joint at a time is solved."""
    robot = coupled(springs)
    stack = 0.4 * np.random.default_rng(4).normal(size=(5, robot.n))
    moved = evaluate(fj.motor_motion, robot, *stack)
    links = evaluate(fj.inverse_dynamics, robot.without_drives().without_friction(), *stack[:3])
    assert relative_error(moved.tau_e, moved.spring_torque) < 1e-12
    arrived = np.concatenate([moved.tau_e[:1], T.T @ moved.tau_e[1:]]) if springs == "motor" else moved.tau_e
    rubbed = [law(joint.friction, *given, m=np) for joint, *given in zip(robot.joints, stack[1], arrived)]
    assert relative_error(arrived - rubbed, links) < 1e-12
    found = evaluate(fj.forward_dynamics, robot, *stack[:2], moved.theta, moved.theta_v, moved.tau)
    assert relative_error(found.a, stack[2]) < 1e-9


def test_verbs_agree_on_the_torque():
    """Torques of a motion from each verb that has them, and the motion back from its torques and rates."""
    stack = 0.5 * np.random.default_rng(1).normal(size=(needed_order(SERIAL) + 1, 2))
    moved = evaluate(fj.motor_motion, SERIAL, *stack)
    tau, tau_v = np.split(np.ravel(evaluate(fj.torque_derivatives, SERIAL, *stack[:4], order=1)), 2)
    for x in (
        tau,
        evaluate(fj.dynamics.modified_newton_euler, SERIAL, *stack[[0, 1, 1, 2]]),
        evaluate(fj.dynamics.generalized_forces, SERIAL, *stack[:2], *moved[:2], stack[2], moved.theta_a).tau_e,
    ):
        assert relative_error(np.ravel(x), moved.tau_e) < 1e-12
    found = evaluate(fj.dynamics.link_motion, SERIAL, *stack[:2], tau, tau_v)
    assert relative_error(np.ravel(found), np.ravel(stack[2:4])) < 1e-10


@pytest.mark.parametrize("measured", ["q tau_e", "theta tau_e"])
def test_feedback_linearization_from_torque_sensors(measured):
    """On a motion, with sensors of τ_e and its rate: the torque of inverse dynamics."""
    robot = SERIAL.with_drives([SPRING] * 2)
    stack = 0.5 * np.random.default_rng(2).normal(size=(5, 2))
    moved = evaluate(fj.motor_motion, robot, *stack)
    sensed = np.split(np.ravel(evaluate(fj.torque_derivatives, robot, *stack[:4], order=1)), 2)
    seen = stack[:2] if measured == "q tau_e" else moved[:2]
    tau = evaluate(fj.feedback_linearization, robot, *seen, *sensed, stack[4], measured=measured)
    assert relative_error(np.ravel(tau), moved.tau) < 1e-10


def test_torques_that_the_controller_holds():
    """A rigid joint beside loaded ones: τ and the rates of what the controller integrates are those of the motion."""
    drives = [fj.RigidDrive(fj.Motor(0.2)), SPRING, HARD]
    robot = with_friction(fj.random_robot(3, 6, prismatic=0.0).with_drives(drives), 6)
    stack = 0.5 * np.random.default_rng(2).normal(size=(5, 3))
    moved = evaluate(fj.motor_motion, robot, *stack)
    torques = np.reshape(np.ravel(evaluate(fj.torque_derivatives, robot, *stack, order=2)), (3, 3))
    goal = {"reference": [*stack], "gains": [np.ones(3)] * 4}
    state = (*stack[:2], moved.theta, moved.theta_v, *torques[:2])
    found = evaluate(fj.control.laws.linearizing_control, robot, *state, tracking=goal)
    assert relative_error(np.ravel(found.tau), moved.tau) < 1e-10
    assert relative_error(np.ravel(found.tau_e_top), torques[2]) < 1e-10


def test_variable_stiffness():
    """Motion and stiffness linearized: on a motion both motors get the torques of inverse dynamics."""
    spring = fj.springs.CubicSpring(200.0, 700.0)
    pair = fj.drives.AntagonisticDrive(spring, spring, fj.Motor(0.4), fj.Motor(0.5))
    robot = with_friction(fj.random_robot(2, 4, prismatic=0.0).with_drives([pair, SPRING]), 7)
    stack = 0.3 * np.random.default_rng(2).normal(size=(5, 2))
    sigma = [np.full(2, 500.0), np.full(2, 5.0), np.full(2, 20.0)]
    moved = evaluate(fj.motor_motion, robot, *stack, stiffness=sigma)
    given = (*stack[:2], moved.theta, moved.theta_v, stack[4])
    tau = evaluate(fj.feedback_linearization, robot, *given, stiffness_command=sigma[2])
    assert relative_error(np.ravel(tau), moved.tau) < 1e-9


def test_compensation_at_the_measured_load():
    """What links and motors lose, F(q', τ_e) and F(θ', τ_e), is what the wrapper adds."""
    inner = fj.control.MotorPD(SERIAL, [200.0, 20.0])
    compensated = fj.control.FrictionCompensation(inner, "measured")
    q, v, theta, theta_v = state = fj.JointState(*0.3 * np.random.default_rng(0).normal(size=(4, 2)))
    added = compensated((), [q], state)[1] - inner((), [q], state)[1]
    loads = [float(ca.DM(x.drive.spring.torque(ca.SX(y)))) for x, y in zip(SERIAL.joints, theta - q)]
    lost = [
        law(x.friction, *link, m=np) + law(x.drive.motor.friction, *motor, m=np)
        for x, link, motor in zip(SERIAL.joints, zip(v, loads), zip(theta_v, loads))
    ]
    np.testing.assert_allclose(added, lost, rtol=1e-12)


def test_the_linear_model_has_the_slope_under_load():
    """∂q''/∂q' at rest is −(D + (F_s + μ m(τ))/v_c)/M, τ what holds the link."""
    friction = Friction(0.3, 0.5, 0.2, static=0.8, stribeck_velocity=0.4, load=0.2, load_scale=0.5)
    robot = one(friction).replace(gravity=(0.0, -9.81, 0.0))
    model = fj.analysis.linearize(robot, [0.4])
    tau, inertia = fj.gravity_torque(robot, [0.4])[0], fj.mass_matrix(robot, [0.4])[0, 0]
    slope = 0.3 + (0.8 + 0.2 * (np.hypot(tau, 0.5) - 0.5)) / 0.2
    assert abs(tau) > 0.5
    assert model.A[2, 2] == pytest.approx(-slope / inertia, rel=1e-12)


def test_implicit_steps_bear_a_steep_slope_under_load():
    """A link that creeps under its load: steps 80 times those that friction allows Runge and Kutta, of order 2."""
    robot = one(Friction(velocity=1e-4, load=0.3, load_scale=0.1)).replace(gravity=(0.0, -9.81, 0.0))
    torque, start = fj.gravity_torque(robot, [0.1]) + 0.1, fj.simulation.at_rest(robot, [0.1])

    def end(integrator, steps):
        options = {"period": 0.1, "substeps": steps, "integrator": integrator, "start": start, "check": False}
        run = fj.simulate(robot, fj.control.OpenLoop(robot), torque, 0.1, **options)
        return np.ravel([run.q[-1], run.v[-1]])

    exact = end("runge_kutta", 20000)
    assert 1e-6 < exact[0] - 0.1 < 1e-5 and 5e-5 < exact[1] < 1e-4
    coarse, fine = (np.abs(end("midpoint", steps) - exact) for steps in (10, 20))
    assert coarse[1] < 1e-3 * exact[1]
    assert coarse[0] / fine[0] == pytest.approx(4.0, rel=0.1)
