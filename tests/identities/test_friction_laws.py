"""Stribeck, load-dependent and asymmetric friction against its formula and Lagrange's equations."""

import dataclasses

import casadi as ca
import mpmath
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.drives import Friction
from flexjoint.dynamics.drivetrain.friction import (
    coulomb_command,
    friction as friction_of,
    joint_friction,
    link_friction,
    steepness,
)
from flexjoint.dynamics.forward import accelerations
from flexjoint.dynamics.inverse import needed_order
from flexjoint.spatial import time_derivative
from support.errors import relative_error
from support.evaluate import evaluate
from support.friction import law, random_friction, supplied, with_friction
from support.lagrange import lagrange, rate, smooth_friction, transmitted
from support.motors import forward
from support.rotors import lbr, with_random_rotors

TOLERANCE = 1e-12
SEEDS = range(6)


def driven(robot, seed=0, damping=0.0):
    """No drive, rigid and elastic drives in turn, and friction everywhere."""
    rng = np.random.default_rng(seed)
    kinds = [
        None,
        fj.RigidDrive(fj.Motor(0.4)),
        fj.ElasticDrive(float(rng.uniform(50, 500)), fj.Motor(0.3)),
        fj.ElasticDrive(fj.springs.CubicSpring(200.0, 500.0), fj.Motor(0.6), damping=damping),
    ]
    return with_friction(robot.with_drives([kinds[(i + 2) % 4] for i in range(robot.n)]), seed)


ONE = driven(fj.random_robot(1, 3, prismatic=0.0))
TREE = driven(fj.random_robot(6, 4, prismatic=0.4, tree=True, fixed=0.3), 1)
SLIDING = driven(fj.random_robot(1, 3, prismatic=1.0), 3)
ROBOTS = {"one": ONE, "sliding": SLIDING, "tree": TREE}
each = pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS.keys())


def numbers(expressions, symbols, seed=0):
    state = [ca.DM(np.random.default_rng(seed + k).normal(size=x.shape)) for k, x in enumerate(symbols)]
    found = ca.Function("f", symbols, [ca.densify(ca.SX(x)) for x in expressions]).call(state)
    return [np.array(x)[:, 0] for x in found]


def motor_of(joint, compliant=True):
    """The motor of a joint if it is behind a spring, or if it is not."""
    return joint.drive.motor if joint.drive and isinstance(joint.drive, fj.ElasticDrive) == compliant else None


# The law ----------------------------------------------------------------------------------------------------------


def expression(friction):
    """Our expression of the law, as a function of velocity and load."""
    v, load = ca.SX.sym("v"), ca.SX.sym("tau")
    return ca.Function("f", [v, load], [friction_of([fj.Motor(1.0, friction=friction)], [v], 0, [load])[0]])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_law_is_the_formula(seed):
    """Against 50 digits, with the load far below, at and far above its scale."""
    rng = np.random.default_rng(seed)
    friction = random_friction(rng, load=True)
    ours = expression(friction)
    with mpmath.workdps(50):
        for v in (*rng.normal(size=4), 1e-9, 30.0):
            for load in (1e-9, 0.3, -2.0, 500.0):
                exact = law(friction, mpmath.mpf(v), mpmath.mpf(load), mpmath)
                assert abs(float(ours(v, load)) - exact) <= 2e-15 * abs(exact)


@pytest.mark.filterwarnings("ignore:.*falls from static")
@pytest.mark.parametrize("seed", range(60))
def test_friction_takes_energy(seed):
    """F v ≥ 0 and F(0) = 0, whatever the numbers: also where the directions differ by orders of magnitude."""
    rng = np.random.default_rng(seed)

    def one_way(**more):
        D, F, ratio, v_s, mu = rng.choice([0.0, 1.0], 5, p=[0.3, 0.7]) * 10 ** rng.uniform(-3, 3, 5)
        return Friction(D, F, static=F * (1 + ratio), stribeck_velocity=v_s + 1e-3, load=min(mu, 0.99), **more)

    scales = 10 ** rng.uniform(-3, 1, 2)
    friction = one_way(velocity=scales[0], load_scale=scales[1], backward=one_way() if seed % 2 else None)
    motor = fj.Motor(0.5, friction=friction)
    drive = fj.ElasticDrive(100.0, motor)
    fj.Robot("one", (fj.Link("a", fj.Joint("j", drive=drive), mass=1.0, inertia=0.1 * np.eye(3)),))  # is accepted
    v = np.concatenate([-np.logspace(-12, 3, 200), [0.0], np.logspace(-12, 3, 200)])
    for load in (0.0, -3.0, 1e4):
        F = np.array(expression(friction)(v.reshape(1, -1), load))[0]
        assert np.all(np.isfinite(F))
        assert np.all(F * v >= 0) and F[200] == 0.0


@each
def test_jets_are_derivatives(robot):
    """Orders 0 to 5 of what acts on q', by automatic differentiation of the formula."""
    rates = [ca.SX.sym(f"v{k}", robot.n) for k in range(6)]
    v = rates[0]
    at_joint = ca.vertcat(*[smooth_friction(joint, v[i]) for i, joint in enumerate(robot.joints)])
    at_motor = ca.vertcat(*[smooth_friction(motor_of(joint, False), v[i]) for i, joint in enumerate(robot.joints)])
    for found, expected in (
        (joint_friction(robot, rates, 5), at_joint),
        (link_friction(robot, rates, 5), at_joint + at_motor),
    ):
        for k in range(6):
            x, y = numbers([found[k], expected], rates)
            assert relative_error(x, y) < TOLERANCE, f"order {k}"
            expected = time_derivative(expected, rates)


def test_both_forms_are_one_law():
    """A Friction with three numbers gives the graph of the short form, and none gives no operation."""
    short = fj.random_robot(4, 2, elastic=0.5, friction=True)
    joints = {link.joint.name: Friction(link.joint.viscous_friction, 1.5, 0.2) for link in short.links}

    def changed(**fields):
        return short.replace(
            links=[
                dataclasses.replace(x, joint=dataclasses.replace(x.joint, **{k: f(x.joint) for k, f in fields.items()}))
                for x in short.links
            ]
        )

    three = changed(coulomb_friction=lambda _: 1.5, coulomb_velocity=lambda _: 0.2)
    record = changed(viscous_friction=lambda _: 0.0, friction=lambda joint: joints[joint.name])
    programs = [fj.inverse_dynamics.trace(x, fj.inverse_dynamics.structure(x))[0] for x in (three, record)]
    assert programs[0] == programs[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_coulomb_command_is_an_upper_bound(seed):
    """Of B F''/K over all velocities, F'' by automatic differentiation; within a factor of four."""
    friction = random_friction(np.random.default_rng(seed), load=False, backward=seed % 2 == 1)
    joint = fj.Joint("hip", drive=fj.ElasticDrive(1000.0, fj.Motor(3.2)), friction=friction)
    robot = fj.Robot("leg", (fj.Link("leg", joint, mass=1.0, inertia=0.1 * np.eye(3)),))
    v = ca.SX.sym("v")
    D = np.mean([side.viscous for side in friction.sides])
    f = law(friction, v) - D * v
    slope, bend = ca.gradient(f, v), ca.hessian(f, v)[0]
    grid = np.linspace(-8.0, 8.0, 20001).reshape(1, -1)
    slope, bend = (np.abs(np.array(ca.Function("f", [v], [x])(grid))) for x in (slope, bend))
    assert slope.max() <= steepness(friction)[0] < 4 * slope.max()
    assert bend.max() <= steepness(friction)[1] < 4 * bend.max()
    for q2, q3 in ((1.0, 0.0), (0.5, 2.0), (0.0, 1.0)):
        cost = 3.2 / 1000.0 * np.max(bend * q2**2 + slope * q3)
        assert cost <= coulomb_command(robot, q2, q3)[0] < 8 * cost


# Robots -----------------------------------------------------------------------------------------------------------


@each
def test_motor_motion_is_lagranges(robot):
    """θ = q + φ(τ_e) differentiated twice, τ = B θ'' + F(θ', τ_e) + τ_e."""
    stack = [ca.SX.sym(f"q{k}", robot.n) for k in range(5)]
    tau_e = transmitted(robot, *stack[:3])
    phi = ca.SX.zeros(robot.n)
    for i, joint in enumerate(robot.joints):
        if isinstance(joint.drive, fj.ElasticDrive):
            K, c = joint.drive.stiffness, 0.0
            if not isinstance(K, float):
                K, c = K.stiffness, np.sqrt(K.stiffness / (3 * K.cubic))
            phi[i] = 2 * c * ca.sinh(ca.asinh(3 * tau_e[i] / (2 * K * c)) / 3) if c else tau_e[i] / K
    theta_v = rate(stack[0] + phi, stack)
    theta_a = rate(theta_v, stack)
    tau = tau_e
    for i, joint in enumerate(robot.joints):
        if joint.drive:
            tau[i] += joint.drive.motor.inertia * theta_a[i] + smooth_friction(joint.drive.motor, theta_v[i], tau_e[i])
    x, y = numbers([fj.inverse_dynamics(robot, *stack), tau], stack)
    assert relative_error(x, y) < TOLERANCE


@each
def test_accelerations_are_those_of_lagrange(robot):
    q, v, theta, theta_v, tau, a = symbols = [ca.SX.sym(x, robot.n) for x in ["q", "v", "theta", "theta_v", "tau", "a"]]
    springs = ca.SX.zeros(robot.n)
    for i, joint in enumerate(robot.joints):
        K = getattr(joint.drive, "stiffness", 0.0)
        phi = theta[i] - q[i]
        springs[i] = K * phi if isinstance(K, float) else K.stiffness * phi + K.cubic * phi**3
    asked = lagrange(robot, q, v, a, loads=springs)
    driving = ca.vertcat(*[springs[i] if elastic else tau[i] for i, elastic in enumerate(robot.compliant)])
    expected = ca.solve(ca.jacobian(asked, a), driving - ca.substitute(asked, a, 0 * a))
    found = forward(robot, q, v, theta, theta_v, tau)
    turning = ca.vertcat(
        *[
            (tau[i] - springs[i] - smooth_friction(motor, theta_v[i], springs[i])) / motor.inertia
            if (motor := motor_of(joint))
            else expected[i]
            for i, joint in enumerate(robot.joints)
        ]
    )
    for x, y in ((found.a, expected), (found.theta_a, turning)):
        assert relative_error(*numbers([x, y], symbols[:5])) < 1e-11


def complete(seed):
    """Complete rotors in general position, and coaxial ones, with friction."""
    if seed:
        return with_friction(with_random_rotors(fj.random_robot(3, 3, prismatic=0.3), 3, elastic=0.7), seed)
    return with_friction(lbr(4), 2)


LARGE = {
    "spong": driven(fj.random_robot(30, 1, prismatic=0.2, tree=True), 5),
    "coaxial rotors": complete(0),
    "general rotors": complete(1),
}


@pytest.mark.parametrize("name", LARGE)
def test_friction_is_torque_on_links_and_motors(name):
    """Forward dynamics is that of the robot without friction, pushed by the formula."""
    robot = LARGE[name]
    rng = np.random.default_rng(0)
    q, v, theta_v, tau = rng.normal(size=(4, robot.n))
    theta = q + 0.02 * rng.normal(size=robot.n)
    loads = [
        float(ca.DM(joint.drive.spring.torque(ca.SX(phi)))) if isinstance(joint.drive, fj.ElasticDrive) else 0.0
        for joint, phi in zip(robot.joints, theta - q)
    ]
    on_links = np.array([float(law(j.friction, x, y, m=np)) for j, x, y in zip(robot.joints, v, loads)]) + np.array(
        [float(ca.DM(smooth_friction(motor_of(j, False), x))) for j, x in zip(robot.joints, v)]
    )
    on_motors = np.array(
        [float(ca.DM(smooth_friction(motor_of(j), x, y))) for j, x, y in zip(robot.joints, theta_v, loads)]
    )
    found = evaluate(fj.forward_dynamics, robot, q, v, theta, theta_v, tau)
    smooth = robot.without_friction()
    state = [ca.SX(ca.DM(x)) for x in (q, v, theta, theta_v, tau - on_motors)]
    expected = accelerations(smooth, *state, push=ca.SX(ca.DM(-on_links)))
    for x, y in zip(found, expected):
        assert relative_error(x, np.array(ca.DM(y))[:, 0]) < 1e-11


@pytest.mark.parametrize("name", LARGE)
def test_forward_after_inverse_dynamics(name):
    robot = LARGE[name]
    stack = 0.5 * np.random.default_rng(1).normal(size=(needed_order(robot) + 1, robot.n))
    moved = evaluate(fj.motor_motion, robot, *stack)
    found = evaluate(fj.forward_dynamics, robot, *stack[:2], moved.theta, moved.theta_v, moved.tau)
    assert relative_error(found.a, stack[2]) < 1e-8
    assert relative_error(found.theta_a, moved.theta_a) < 1e-8


# Drivetrains ------------------------------------------------------------------------------------------------------

PAIR = fj.drives.AntagonisticDrive(
    fj.springs.CubicSpring(200.0, 700.0), fj.springs.CubicSpring(200.0, 700.0), fj.Motor(0.4), fj.Motor(0.5)
)
LEVER = fj.drives.LeverDrive(6e4, 0.1, 0.02, 0.3, fj.Motor(0.4), fj.Motor(2.0))


@pytest.mark.parametrize("drives", [[PAIR] * 3, [PAIR, LEVER, fj.RigidDrive(fj.Motor(0.3))]], ids=["packed", "mixed"])
def test_each_motor_of_variable_stiffness_has_its_own_load(drives):
    """τ_k = spring torque + B θ'' + F(θ', spring torque); forward dynamics gives the motion back."""
    robot = with_friction(fj.random_robot(3, 4, prismatic=0.0).with_drives(drives), 7)
    rng = np.random.default_rng(2)
    stack = [0.3 * rng.normal(size=3) for _ in range(5)]
    sigma = [np.array([500.0, 700.0 if drives[1] is LEVER else 500.0, 500.0]), np.full(3, 5.0), np.full(3, 20.0)]
    moved = evaluate(fj.motor_motion, robot, *stack, stiffness=sigma)
    motors = [robot.joints[i].drive.motors[k >= robot.n] for k, i in enumerate(robot.motor_joints)]
    tau = [
        load + motor.inertia * a + law(motor.friction, v, load, np)
        for motor, load, a, v in zip(motors, moved.spring_torque, moved.theta_a, moved.theta_v)
    ]
    assert relative_error(moved.tau, np.array(tau)) < TOLERANCE
    links = evaluate(fj.inverse_dynamics, robot.without_drives().without_friction(), *stack[:3])
    needed = [supplied(joint.friction, v, u, np) for joint, v, u in zip(robot.joints, stack[1], links)]
    at_joints = np.where(robot.compliant, needed, moved.tau[:3])
    assert relative_error(moved.tau_e, at_joints) < TOLERANCE
    found = evaluate(fj.forward_dynamics, robot, *stack[:2], moved.theta, moved.theta_v, moved.tau)
    assert relative_error(found.a, stack[2]) < 1e-9
    assert relative_error(found.theta_a, moved.theta_a) < 1e-9


def test_damped_springs_load_the_motor_with_their_dampers():
    robot = driven(fj.random_robot(4, 4, prismatic=0.3), 2, damping=3.0)
    assert any(robot.damped) and not all(robot.damped)
    stack, h = 0.4 * np.random.default_rng(0).normal(size=(5, robot.n)), np.array(0.0)
    moved = evaluate(fj.inverse_dynamics_step, robot, *np.zeros((3, robot.n)), h, *stack)
    for i, joint in enumerate(robot.joints):
        tau = moved.spring_torque[i]
        if joint.drive:
            friction = law(joint.drive.motor.friction, moved.theta_v[i], tau, np)
            tau = tau + joint.drive.motor.inertia * moved.theta_a[i] + friction
        assert moved.tau[i] == pytest.approx(tau, rel=TOLERANCE)
    found = evaluate(fj.forward_dynamics, robot, *stack[:2], moved.theta, moved.theta_v, moved.tau)
    assert relative_error(found.a, stack[2]) < 1e-9


@pytest.mark.parametrize("name", ["elastic", "complete"])
def test_feedback_linearization_knows_friction(name):
    """On a motion, the torque for its own command is that of inverse dynamics."""
    robot = fj.random_robot(3, 5, prismatic=0.3).with_drives(
        [fj.ElasticDrive(300.0, fj.Motor(0.3, gear_ratio=50.0))] * 3
    )
    robot = with_friction(robot if name == "elastic" else lbr(2), 3)
    stack = 0.5 * np.random.default_rng(1).normal(size=(needed_order(robot) + 1, robot.n))
    moved = evaluate(fj.motor_motion, robot, *stack)
    state = [*stack[:2], moved.theta, moved.theta_v]
    if needed_order(robot) == 4:
        tau = evaluate(fj.feedback_linearization, robot, *state, stack[4])
        assert relative_error(tau, moved.tau) < 1e-10
    else:
        held = evaluate(fj.dynamics.extension_state, robot, *stack[:-1])
        tau = evaluate(fj.feedback_linearization, robot, *state, stack[-1], held).tau
        assert relative_error(tau, moved.tau) < 1e-8


@each
def test_energy_is_lost_by_friction_alone(robot):
    """d/dt (T + V + U_e) = τᵀθ' − Σ F v along forward dynamics."""
    q, v, theta, theta_v, tau = symbols = [ca.SX.sym(x, robot.n) for x in ("q", "v", "theta", "theta_v", "tau")]
    a, theta_a = forward(robot, q, v, theta, theta_v, tau)
    energy = fj.kinetic_energy(robot, q, v, theta_v, motors=True) + fj.gravity_energy(robot, q)
    grows = rate(energy + fj.dynamics.spring_energy(robot, q, theta), [q, v, a], [theta, theta_v, theta_a])
    power = lost = 0
    for i, joint in enumerate(robot.joints):
        speed, phi = (theta_v if robot.compliant[i] else v)[i], theta[i] - q[i]
        load = joint.drive.spring.torque(phi) if robot.compliant[i] else 0
        lost += smooth_friction(joint, v[i], load) * v[i]
        lost += smooth_friction(joint.drive and joint.drive.motor, speed, load) * speed
        power += tau[i] * speed
    x, y, z = numbers([grows, power - lost, lost], symbols)
    assert x == pytest.approx(y, rel=1e-11, abs=1e-11)
    assert z > 0


@pytest.mark.long
def test_the_plant_replays_the_torques():
    """Under the torques of inverse dynamics alone the plant moves as asked, but for the error of its integrator."""
    drive = fj.ElasticDrive(300.0, fj.Motor(0.3))
    robot = with_friction(fj.random_robot(2, 5, prismatic=0.0).with_drives([drive] * 2), 4)
    wide = [dataclasses.replace(joint.friction, load_scale=5.0) for joint in robot.joints]  # of loads up to 24 Nm
    links = [dataclasses.replace(x, joint=dataclasses.replace(x.joint, friction=y)) for x, y in zip(robot.links, wide)]
    robot = robot.replace(links=links)
    motion = fj.trajectory.RestToRest([0.2, -0.1], [0.5, 0.4], 0.4)
    law, errors = fj.control.FeedforwardPD(robot, np.zeros(2)), []
    for steps in (200, 400):
        run = fj.simulate(robot, law, motion, period=0.4 / steps, hold=False, check=False)
        errors.append(np.max(np.abs(run.q - motion(run.t)[0])))
    assert np.log2(errors[0] / errors[1]) > 3.8
    assert errors[1] < 2e-8


def test_implicit_steps_know_slope_and_load():
    """The midpoint rule is of order 2, also where friction falls with the speed and grows with the load."""
    steep = Friction(0.1, 1.0, 0.05, static=2.0, stribeck_velocity=0.2, load=0.2, load_scale=0.5)
    robot = fj.random_robot(1, 5, prismatic=0.0).with_drives([fj.ElasticDrive(300.0, fj.Motor(0.3, friction=steep))])
    joint = dataclasses.replace(robot.joints[0], friction=steep)
    robot = robot.replace(links=[dataclasses.replace(robot.links[0], joint=joint)])
    start = fj.JointState(*(np.array([x]) for x in (0.1, 0.2, 0.15, -0.1)))

    def end(integrator, steps):
        options = {"period": 0.1, "substeps": steps, "integrator": integrator, "start": start, "check": False}
        return fj.simulate(robot, fj.control.OpenLoop(robot), [8.0], 0.1, **options).theta[-1]

    exact = end("runge_kutta", 2000)
    errors = [abs(end("midpoint", steps) - exact).item() for steps in (50, 100)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("springs", ["motor", "joint"])
def test_motors_of_coupled_joints_carry_what_they_feel(springs):
    """T_b⁻ᵀτ_e: the springs' torques where these are at the motors, T⁻ᵀτ_e where they are at the joints."""
    T = np.array([[1.0, 0.4], [1.2, -0.9]])
    robot = fj.random_robot(2, 5, prismatic=0.0).with_drives([fj.ElasticDrive(300.0, fj.Motor(0.3))] * 2)
    names = [joint.name for joint in robot.joints]
    wrist = robot.replace(transmissions=[fj.drives.CoupledTransmission(names, T, springs=springs)])
    smooth, robot = wrist, with_friction(wrist, 3)
    smooth = robot.with_drives([joint.drive for joint in smooth.joints])  # the same links, motors without friction
    stack = 0.4 * np.random.default_rng(4).normal(size=(5, 2))
    moved, without = (evaluate(fj.motor_motion, x, *stack) for x in (robot, smooth))
    loads = moved.spring_torque if springs == "motor" else np.linalg.solve(T.T, moved.spring_torque)
    frictions = [joint.drive.motor.friction for joint in robot.joints]
    lost = [law(friction, v, load, np) for friction, v, load in zip(frictions, moved.theta_v, loads)]
    assert relative_error(moved.tau - without.tau, np.array(lost)) < TOLERANCE
    found = evaluate(fj.forward_dynamics, robot, *stack[:2], moved.theta, moved.theta_v, moved.tau)
    assert relative_error(found.theta_a, moved.theta_a) < 1e-9


def test_laws_that_differ_in_numbers_share_registers():
    """Four joints of variable stiffness in one pack: as by CasADi, and bit-identical in a batch."""

    def motor(k):
        back = Friction(0.2 + k, 0.5, load=0.1 + 0.01 * k)
        ahead = {"static": 2.0 + k, "stribeck_velocity": 0.3 + k, "load": 0.05, "load_scale": 1.0 + k}
        return fj.Motor(0.4, friction=Friction(0.5 + k, 1.0 + k, 0.1, **ahead, backward=back))

    drives = [dataclasses.replace(PAIR, motor_1=motor(0.1 * k), motor_2=motor(0.2 * k)) for k in range(4)]
    robot, rng = fj.random_robot(4, 4, prismatic=0.0).with_drives(drives), np.random.default_rng(0)
    stack, sigma = 0.3 * rng.normal(size=(5, 4)), [np.full(4, 500.0), np.full(4, 5.0), np.full(4, 20.0)]
    alone = fj.motor_motion(robot, *stack, stiffness=sigma)
    rows = fj.motor_motion(robot, *(np.tile(x, (33, 1)) for x in stack), stiffness=[np.tile(x, (33, 1)) for x in sigma])
    for x, y, z in zip(alone, rows, evaluate(fj.motor_motion, robot, *stack, stiffness=sigma)):
        assert np.array_equal(x, y[17])
        assert relative_error(x, z) < TOLERANCE
