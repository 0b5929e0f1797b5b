"""Elastic joints with friction on both sides, wrenches and springs of every kind, on chains and trees.

The reference is Lagrange's: torques from positions, time derivatives by CasADi, springs inverted by other formulas.
"""

import dataclasses
import warnings

import casadi as ca
import mpmath
import numpy as np
import pytest

import flexjoint as fj
from support.errors import relative_error
from support.evaluate import evaluate
from support.lagrange import kinetic, potential, rate, smooth_friction, transmitted

TOLERANCE = 1e-12
CUBIC = (200.0, 3000.0)


def driven(robot, seed=0, friction=True):
    """No drive, rigid, elastic and cubic drives in turn; friction of both kinds at joints and motors."""
    rng = np.random.default_rng(seed)
    links, i = [], 0
    for link in robot.links:
        joint = link.joint
        if joint.moves:
            rub = rng.uniform(0.2, 1.0, 2) if friction else np.zeros(2)
            motor = fj.Motor(float(rng.uniform(0.1, 1.0)), *map(float, rub), 0.7)
            springs = (None, fj.RigidDrive(motor), fj.ElasticDrive(150.0, motor), fj.ElasticDrive(CUBIC_LAW, motor))
            rubbing = {"viscous_friction": 0.3, "coulomb_friction": 0.5, "coulomb_velocity": 1.5} if friction else {}
            joint = dataclasses.replace(joint, drive=springs[(i + seed) % 4], **rubbing)
            i += 1
        links.append(dataclasses.replace(link, joint=joint))
    return robot.replace(links=links)


CUBIC_LAW = fj.springs.CubicSpring(*CUBIC)
BARE = [
    fj.random_robot(4, 21, prismatic=0.0),
    fj.random_robot(4, 22, prismatic=0.5),
    fj.random_robot(5, 23, prismatic=0.4, tree=True, fixed=0.4),
]
ROBOTS = [driven(robot, seed) for seed, robot in enumerate(BARE)]


def each(robots=ROBOTS):
    return pytest.mark.parametrize("robot", robots, ids=[robot.name for robot in robots])


def symbols(robot, count=5):
    return [ca.SX.sym(f"q{k}", robot.n) for k in range(count)]


def numbers(expressions, given, seed=0):
    rng = np.random.default_rng(seed)
    state = [ca.DM(rng.normal(size=x.shape)) for x in given]
    return [np.array(x) for x in ca.Function("f", given, [ca.densify(ca.SX(x)) for x in expressions]).call(state)]


def other_cubic_root(tau):
    """K x + K_c x³ = τ by the hyperbolic form of Cardano's formula."""
    K, Kc = CUBIC
    c = np.sqrt(K / (3 * Kc))
    return 2 * c * ca.sinh(ca.asinh(3 * tau / (2 * K * c)) / 3)


def test_robots_are_various():
    assert {joint.kind.name for robot in ROBOTS for joint in robot.joints} == {"revolute", "prismatic"}
    kinds = {type(j.drive and getattr(j.drive, "stiffness", j.drive)) for robot in ROBOTS for j in robot.joints}
    assert kinds == {type(None), fj.RigidDrive, float, fj.springs.CubicSpring}
    assert any(len(set(robot.parents)) < len(robot.links) - 1 for robot in ROBOTS)


@each()
def test_motor_motion_is_lagranges(robot):
    """θ = q + φ(τ_e) differentiated twice, τ = B θ'' + friction + τ_e; wrenches on the tool and on the first link."""
    stack = symbols(robot)
    places = dict.fromkeys([robot.tool, robot.links[0].name])
    wrenches = {name: [ca.SX.sym(f"w{k}{name}", 6) for k in range(3)] for name in places}
    tau_e = transmitted(robot, *stack[:3], {name: w[0] for name, w in wrenches.items()})
    phi = ca.SX.zeros(robot.n)
    for i, joint in enumerate(robot.joints):
        if isinstance(joint.drive, fj.ElasticDrive):
            phi[i] = other_cubic_root(tau_e[i]) if joint.drive.stiffness is CUBIC_LAW else tau_e[i] / 150.0
    theta = stack[0] + phi
    theta_v = rate(theta, stack, *wrenches.values())
    theta_a = rate(theta_v, stack, *wrenches.values())
    motors = [joint.drive and joint.drive.motor for joint in robot.joints]
    pushed = [smooth_friction(m, theta_v[i]) + (m.inertia * theta_a[i] if m else 0) for i, m in enumerate(motors)]
    phi_v = rate(phi, stack, *wrenches.values())
    tau = tau_e + ca.vertcat(*pushed)
    joints = ca.vertcat(*[(tau_e if elastic else tau)[i] for i, elastic in enumerate(robot.compliant)])
    expected = fj.dynamics.MotorMotion(theta, theta_v, theta_a, phi, phi_v, tau_e, joints, tau)

    found = fj.motor_motion(robot, *stack, wrenches=wrenches)
    torque = fj.inverse_dynamics(robot, *stack, wrenches=wrenches)
    given = [*stack, *(x for w in wrenches.values() for x in w)]
    for name, x, y in zip(fj.dynamics.MotorMotion._fields, found, expected):
        ours, reference = numbers([x, y], given)
        assert relative_error(ours, reference) < TOLERANCE, name
    ours, reference = numbers([torque, expected.tau], given)
    assert relative_error(ours, reference) < TOLERANCE


@each()
def test_power_of_the_motors(robot):
    """Σ τ θ' = d/dt (T + V + ½ B θ'²) + Σ τ_e φ' + what friction takes, and the last is positive."""
    stack = symbols(robot)
    q, v, _ = stack[:3]
    m = fj.motor_motion(robot, *stack)
    energy = kinetic(robot, q, v) + potential(robot, q)
    motors = [joint.drive and joint.drive.motor for joint in robot.joints]
    stored, lost = rate(energy, stack), 0
    for i, motor in enumerate(motors):
        stored += m.spring_torque[i] * rate(m.deflection, stack)[i]
        if motor:
            stored += motor.inertia * m.theta_v[i] * rate(m.theta_v, stack)[i]
        lost += smooth_friction(robot.joints[i], v[i]) * v[i] + smooth_friction(motor, m.theta_v[i]) * m.theta_v[i]
    power, balance, loss = numbers([ca.dot(m.tau, m.theta_v), stored + lost, lost], stack)
    assert relative_error(power, balance) < TOLERANCE
    assert loss > 0


@each([driven(robot, seed, friction=False) for seed, robot in enumerate(BARE)])
def test_reversing_time_without_friction(robot):
    """The film run backwards: odd derivatives change their sign, torques do not."""
    stack = np.random.default_rng(0).normal(size=(5, robot.n))
    mirrored = stack * (-1.0) ** np.arange(5)[:, None]
    forward, backward = (evaluate(fj.motor_motion, robot, *x) for x in (stack, mirrored))
    assert relative_error(backward.tau, forward.tau) < TOLERANCE
    assert relative_error(backward.theta, forward.theta) < TOLERANCE
    assert relative_error(-backward.theta_v, forward.theta_v) < TOLERANCE


def test_friction_has_a_direction():
    robot = ROBOTS[0]
    stack = np.random.default_rng(0).normal(size=(5, robot.n))
    mirrored = stack * (-1.0) ** np.arange(5)[:, None]
    forward, backward = (evaluate(fj.inverse_dynamics, robot, *x) for x in (stack, mirrored))
    assert relative_error(backward, forward) > 1e-3


def test_stiff_springs_tend_to_rigid_joints_with_friction():
    """The distance to the rigid robot, whose motors keep their friction, falls as 1/K."""
    robot = BARE[2]
    motor = fj.Motor(0.4, 0.3, 0.6, 0.8)
    stack = np.random.default_rng(3).normal(size=(5, robot.n))

    def torque(drive):
        return evaluate(fj.inverse_dynamics, robot.with_drives([drive] * robot.n), *stack)

    gaps = [torque(fj.ElasticDrive(K, motor)) - torque(fj.RigidDrive(motor)) for K in (1e5, 1e6, 1e7)]
    for near, far in zip(gaps[1:], gaps):
        assert np.allclose(near, far / 10, rtol=1e-3)


@pytest.mark.parametrize(
    ("spring", "torque"),
    [
        (fj.springs.HardeningSpring(80.0, 0.3), lambda x: 80 * 0.6 / mpmath.pi * mpmath.tan(x * mpmath.pi / 0.6)),
        (CUBIC_LAW, lambda x: CUBIC[0] * x + CUBIC[1] * x**3),
        (
            fj.springs.PiecewiseSpring([0.0, 0.05, 0.2], [100.0, 60.0, 300.0]),
            lambda x: mpmath.sign(x) * two_parabolas(abs(x)),
        ),
    ],
    ids=["hardening", "cubic", "piecewise"],
)
def test_one_link_on_a_spring_in_forty_digits(spring, torque):
    """A pendulum swings as q = sin t; θ(t) is a root found in 40 digits, θ' and θ'' its numerical derivatives."""
    J, w, B, D, F, v_c = 0.155, 4.905, 0.5, 0.3, 0.8, 0.6
    motor = fj.Motor(B, D, F, v_c)
    up = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    body = {"mass": 2.0, "com": (0.25, 0.0, 0.0), "inertia": np.diag([0.02, 0.02, 0.03])}
    joint = fj.Joint("hip", rotation=up, drive=fj.ElasticDrive(spring, motor))
    robot = fj.Robot("pendulum", (fj.Link("leg", joint, **body),), gravity=(0.0, 0.0, -9.81))
    with mpmath.workdps(40):
        J, w = mpmath.mpf("0.155"), mpmath.mpf("4.905")

        def tau_e(t):
            return -J * mpmath.sin(t) + w * mpmath.cos(mpmath.sin(t))

        def theta(t):
            goal = tau_e(t)
            return mpmath.sin(t) + mpmath.findroot(lambda x: torque(x) - goal, (0.01, 0.03))

        for t in (0.3, 1.1, 2.5):
            theta_v, theta_a = mpmath.diff(theta, t), mpmath.diff(theta, t, 2)
            tau = tau_e(t) + B * theta_a + D * theta_v + F * mpmath.tanh(theta_v / v_c)
            stack = [[np.sin(t + k * np.pi / 2)] for k in range(5)]
            found = evaluate(fj.motor_motion, robot, *map(np.array, stack))
            phi, phi_v = theta(t) - mpmath.sin(t), theta_v - mpmath.cos(t)
            for x, y in zip(found, (theta(t), theta_v, theta_a, phi, phi_v, tau_e(t), tau_e(t), tau)):
                assert float(x[0, 0]) == pytest.approx(float(y), rel=1e-12)


def two_parabolas(x):
    """The integral of a stiffness that is linear through (0, 100), (0.05, 60), (0.2, 300)."""
    d = x - mpmath.mpf("0.05")
    return 100 * x - 400 * x**2 if d < 0 else 4 + 60 * d + 800 * d**2


# Calls ------------------------------------------------------------------------------------------------------------


def test_rigid_joints_move_with_their_motors():
    robot = ROBOTS[2].rigid()
    stack = np.random.default_rng(0).normal(size=(3, robot.n))
    m = fj.motor_motion(robot, *stack)
    assert np.array_equal([m.theta, m.theta_v, m.theta_a], stack)
    assert not np.any(m.deflection)
    assert np.array_equal(m.tau, fj.inverse_dynamics(robot, *stack))
    bare = evaluate(fj.inverse_dynamics, robot.without_drives(), *stack)
    assert relative_error(m.spring_torque, bare) < TOLERANCE
    assert np.array_equal(m.tau_e, m.tau)


def test_compiled_batches():
    """Every law in a kernel, scalar and in vector registers; the numbers are CasADi's own."""
    robot = BARE[1]
    motor = fj.Motor(0.4, 0.3, 0.6, 0.8)
    laws = [
        90.0,
        CUBIC_LAW,
        fj.springs.HardeningSpring(80.0, 0.3),
        fj.springs.PiecewiseSpring([0.0, 0.05, 0.2], [100.0, 60.0, 300.0]),
    ]
    robot = robot.with_drives([fj.ElasticDrive(law, motor) for law in laws])
    stack = np.random.default_rng(1).normal(size=(5, 70, robot.n))
    found = fj.motor_motion(robot, *stack)
    for row in (0, 37, 69):
        single = fj.motor_motion(robot, *stack[:, row])
        reference = evaluate(fj.motor_motion, robot, *stack[:, row])
        for x, y, z in zip(found, single, reference):
            assert np.array_equal(x[row], y)
            assert relative_error(y, z) < TOLERANCE


def test_units_of_the_results():
    units = {x.name: x.unit for x in fj.compile(fj.motor_motion, ROBOTS[0]).outputs}
    assert list(units) == list(fj.dynamics.MotorMotion._fields)
    assert (units["tau_e"], units["deflection"], units["theta_a"]) == ("Nm | N", "rad | m", "rad/s² | m/s²")


def test_too_few_derivatives():
    motor = fj.Motor(1.0)
    soft, damped = fj.ElasticDrive(100.0, motor), fj.ElasticDrive(100.0, motor, 2.0)
    robot = BARE[0].with_drives([None, soft, fj.RigidDrive(motor), soft])
    a, b = robot.joints[1].name, robot.joints[3].name
    for algorithm in (fj.inverse_dynamics, fj.motor_motion):
        with pytest.raises(
            fj.InputError,
            match=rf"{algorithm.__name__}: joints '{a}', '{b}' are elastic and need q and its first 4 derivatives, 3 ",
        ):
            algorithm(robot, *np.zeros((4, 4)))
    mixed = BARE[0].with_drives([None, soft, damped, None])
    with pytest.raises(fj.InputError, match=rf"joint '{a}' is elastic and needs .* first 4 derivatives, 3 deriv"):
        fj.inverse_dynamics_step(mixed, *np.zeros((3, 4)), 0.0, *np.zeros((4, 4)))


def test_not_a_number_is_named():
    robot = ROBOTS[1]
    stack = np.zeros((5, robot.n))
    stack[4, 2] = np.nan
    with pytest.raises(fj.NonFiniteError, match=robot.joints[2].name):
        fj.inverse_dynamics(robot, *stack)


def test_costly_friction_is_announced():
    def robot(**friction):
        joint = fj.Joint("hip", drive=fj.ElasticDrive(1000.0, fj.Motor(3.2)), **friction)
        return fj.Robot("leg", (fj.Link("leg", joint, mass=1.0, inertia=0.1 * np.eye(3)),))

    stack = [ca.SX.sym("q", 1)] * 5
    costly = robot(coulomb_friction=5.0, coulomb_velocity=0.01)
    with pytest.warns(UserWarning, match=r"leg: .* joint 'hip' .* 5 Nm .* up to 123 Nm .* 1 rad/s²"):
        fj.inverse_dynamics(costly, *stack)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fj.inverse_dynamics(robot(coulomb_friction=5.0, coulomb_velocity=0.1), *stack)
        fj.inverse_dynamics(costly.rigid(), *stack)
