"""Robots with symbols in place of numbers: with numbers for the symbols, every algorithm gives what the robot gives."""

import dataclasses

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.algorithm.algorithm import ALGORITHMS
from support.errors import relative_error
from support.evaluate import evaluate
from support.parameters import scrambled
from support.rotors import lbr, with_random_rotors

CUBIC = fj.springs.CubicSpring(100.0, 5e3)
RUBBED = fj.Motor(0.1, viscous_friction=0.2, coulomb_friction=0.3, coulomb_velocity=0.2)


def two_joints(name, *drives):
    return fj.random_robot(2, 5, name=name).with_drives(drives)


TREE = fj.random_robot(4, 3, prismatic=0.5, elastic=0.5, tree=True, fixed=0.5, friction=True, name="tree")
ELASTIC = fj.random_robot(3, 8, prismatic=0.4, elastic=1.0, tree=True, name="elastic")
VARIABLE = two_joints(
    "variable", *[fj.drives.AntagonisticDrive(CUBIC, CUBIC, fj.Motor(0.1), fj.Motor(0.2))] * 2
).with_gravity([0.0, 3.0, -9.0])
STIFFNESS = {"stiffness": [np.full(2, 1500.0), np.full(2, 0.5), np.full(2, -0.3)]}
NONLINEAR = two_joints("nonlinear", fj.ElasticDrive(CUBIC, fj.Motor(0.1)), fj.ElasticDrive(80.0, RUBBED))
DAMPED = two_joints("damped", fj.ElasticDrive(90.0, fj.Motor(0.1), damping=1.5), fj.RigidDrive(RUBBED))
COMPLETE = with_random_rotors(fj.random_robot(3, 4, prismatic=0.0, name="complete"), 1)

EVERYWHERE = [
    "torque_derivatives",
    "joint_wrenches",
    "gravity_torque",
    "coriolis_torque",
    "forward_kinematics",
    "jacobian",
    "kinetic_energy",
    "gravity_energy",
    "spatial_momentum",
    "mass_matrix",
    "mass_matrix_rate",
    "coriolis_matrix",
    "modified_newton_euler",
    "coriolis_transpose_product",
    "forward_dynamics",
    "regressor",
]
CASES = [
    *((TREE, name) for name in (*EVERYWHERE, "inverse_dynamics", "motor_motion", "generalized_forces")),
    *((TREE.rigid(), name) for name in ("inverse_dynamics", "forward_dynamics", "passivity_torque")),
    *((ELASTIC, name) for name in ("feedback_linearization", "link_motion", "link_state", "spring_torques")),
    *((VARIABLE, name) for name in ("inverse_dynamics", "forward_dynamics")),
]


def stacked(value):
    """Any result as one vector."""
    parts = value if isinstance(value, tuple | list) else [value]
    return np.concatenate([np.ravel(np.asarray(x)) for x in parts])


def motion_of(function, robot, seed=3):
    """Random numbers for the positional arrays of an algorithm."""
    rng, names = np.random.default_rng(seed), STIFFNESS if needs_stiffness(function, robot) else {}
    structure = function.structure(robot, **{key: len(x) for key, x in names.items()})
    arrays = function._described(robot, structure)[: structure.arrays]
    return [np.abs(rng.normal(size=x.shape)) * 0.3 for x in arrays], names


def needs_stiffness(function, robot):
    return any(robot.variable_stiffness) and function is fj.inverse_dynamics


def with_values(robot, function, values, arrays, keywords):
    """The algorithm on the robot with symbols at these paths, evaluated at these values and arrays."""
    symbols = fj.robot.symbols(robot, values)
    parametrized = robot.with_symbols(symbols)

    def composed(_, *inputs, **named):
        return function(parametrized, *inputs[: len(arrays)], **named)

    places = [ca.SX.sym("x", *np.shape(x)) for x in arrays]
    named = {key: [ca.SX.sym("s", len(x)) for x in stack] for key, stack in keywords.items()}
    value = composed(None, *places, **named)
    layers = value if isinstance(value, list | tuple) else [value]
    inputs = [*places, *(x for stack in named.values() for x in stack), *symbols.values()]
    numbers = [*arrays, *(x for stack in keywords.values() for x in stack), *values.values()]
    found = ca.Function("f", inputs, [ca.densify(x) for x in layers]).call([ca.DM(np.asarray(x)) for x in numbers])
    return np.concatenate([np.ravel(np.array(x)) for x in found])


@pytest.mark.parametrize(("robot", "name"), CASES, ids=[f"{x.name} {name}" for x, name in CASES])
def test_numbers_for_all_symbols_give_what_a_robot_with_them_gives(robot, name):
    """Every number of the robot a symbol, then another robot's numbers for the symbols."""
    function = ALGORITHMS[name]
    other, values = scrambled(robot)
    arrays, keywords = motion_of(function, robot)
    found = with_values(robot, function, values, arrays, keywords)
    expected = evaluate(function, other, *arrays, **keywords)
    assert relative_error(found, stacked(expected)) < 1e-10


@pytest.mark.parametrize(
    ("robot", "names"),
    [
        (COMPLETE, "inverse_dynamics forward_dynamics rotor_coupling rotor_torque carrier_torque generalized_forces"),
        pytest.param(lbr(3), "inverse_dynamics motor_motion mass_matrix forward_dynamics", marks=pytest.mark.long),
        (NONLINEAR, "inverse_dynamics forward_dynamics feedback_linearization"),
        (DAMPED, "inverse_dynamics_step forward_dynamics"),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_own_numbers_for_all_symbols_give_what_the_robot_gives(robot, names):
    values = {path: x.value for path, x in fj.robot.robot_parameters(robot).items()}
    for name in names.split():
        arrays, keywords = motion_of(ALGORITHMS[name], robot)
        found = with_values(robot, ALGORITHMS[name], values, arrays, keywords)
        assert relative_error(found, stacked(evaluate(ALGORITHMS[name], robot, *arrays))) < 1e-9, name


# Derivatives ------------------------------------------------------------------------------------------------------


def changed(robot, path, factor):
    """The robot with one number times a factor, written out field by field."""
    joint_name, _, field = path.partition(".drive.motor.")
    links = []
    for link in robot.links:
        joint = link.joint
        if path == f"{link.name}.mass":
            link = dataclasses.replace(link, mass=link.mass * factor)
        if path == f"{joint.name}.drive.stiffness":
            joint = dataclasses.replace(
                joint, drive=dataclasses.replace(joint.drive, stiffness=joint.drive.stiffness * factor)
            )
        if field and joint.name == joint_name:
            motor = dataclasses.replace(joint.drive.motor, **{field: getattr(joint.drive.motor, field) * factor})
            joint = dataclasses.replace(joint, drive=dataclasses.replace(joint.drive, motor=motor))
        links.append(dataclasses.replace(link, joint=joint))
    return robot.replace(links=links)


@pytest.mark.parametrize("what", ["mass", "drive.stiffness", "drive.motor.inertia", "drive.motor.gear_ratio"])
def test_derivatives_are_those_of_changed_robots(what):
    robot = lbr(3, stiffness=50.0)
    path = f"{robot.links[2].name if what == 'mass' else robot.joints[2].name}.{what}"
    arrays, _ = motion_of(fj.inverse_dynamics, robot)
    symbols = fj.robot.symbols(robot, path)
    tau = fj.inverse_dynamics(robot.with_symbols(symbols), *map(ca.SX, arrays))
    slope = ca.Function("slope", [symbols[path]], [ca.jacobian(tau, symbols[path])])
    nominal, step = float(fj.robot.robot_parameters(robot)[path].value), 1e-4
    ends = [evaluate(fj.inverse_dynamics, changed(robot, path, 1 + x), *arrays) for x in (step, -step)]
    expected = (ends[0] - ends[1]) / (2 * step * nominal)
    assert np.max(np.abs(expected)) > 0
    assert relative_error(np.array(slope(nominal))[:, 0], expected) < 1e-6


def test_an_elastic_pendulum_in_closed_form():
    """τ = B θ'' + τ_e, τ_e = (I + m l²) q'' + m g l sin q, θ = q + τ_e/K, with m, l, I, K and B as symbols."""
    joint = fj.Joint("hinge", drive=fj.ElasticDrive(50.0, fj.Motor(0.2)))
    arm = fj.Link("arm", joint, mass=2.0, com=[0.3, 0.0, 0.0], inertia=0.1 * np.eye(3))
    m, l, I, K, B = (ca.SX.sym(x) for x in "mlIKB")
    robot = fj.Robot("pendulum", (arm,), gravity=[9.81, 0.0, 0.0]).with_symbols(
        {
            "arm.mass": m,
            "arm.com.x": l,
            "arm.inertia.zz": I,
            "hinge.drive.stiffness": K,
            "hinge.drive.motor.inertia": B,
        }
    )
    q = [ca.SX.sym(f"q{k}") for k in range(5)]
    tau = fj.inverse_dynamics(robot, *q)
    s, c = ca.sin(q[0]), ca.cos(q[0])
    turning, weight = I + m * l**2, m * 9.81 * l
    load = turning * q[2] + weight * s
    rate = turning * q[4] + weight * (c * q[2] - s * q[1] ** 2)
    expected = B * (q[2] + rate / K) + load
    numbers = [1.7, 0.4, 0.05, 80.0, 0.3, 0.6, -0.4, 1.2, 0.3, 2.0]
    both = ca.Function(
        "both", [m, l, I, K, B, *q], [tau - expected, ca.jacobian(tau, K) + B * rate / K**2, ca.jacobian(tau, m)]
    )
    difference, by_stiffness, by_mass = map(float, both(*numbers))
    assert abs(difference) < 1e-13 and abs(by_stiffness) < 1e-13
    by_hand = float(ca.Function("by_hand", [m, l, I, K, B, *q], [ca.jacobian(expected, m)])(*numbers))
    assert by_mass == pytest.approx(by_hand, rel=1e-12)


# What is refused --------------------------------------------------------------------------------------------------


def test_base_parameters_need_the_lengths_in_numbers():
    zeros = [ca.SX.zeros(4)] * 4
    with pytest.raises(fj.InputError, match="gravity and the positions of joints decide which base parameters"):
        fj.base_regressor(TREE.with_symbols(fj.robot.symbols(TREE, "gravity")), *zeros)
    fj.base_regressor(TREE.with_symbols(fj.robot.symbols(TREE, "*.mass")), *zeros)


def test_a_mass_as_a_symbol_is_never_a_structural_zero():
    links = [fj.Link("arm", fj.Joint("hinge")), fj.Link("tip", fj.Joint("end", "fixed", [0.5, 0.0, 0.0]), "arm")]
    robot = fj.Robot("rod", links, allow_unphysical=True)
    m, one = ca.SX.sym("m"), ca.SX(1)
    with pytest.raises(fj.RobotError, match="moves no inertia"):
        fj.forward_dynamics(robot, one, one, one)
    a = fj.forward_dynamics(robot.with_symbols({"tip.mass": m}), 0 * one, 0 * one, one)
    assert float(ca.substitute(a, m, 2.0)) == pytest.approx(1.0 / (2.0 * 0.5**2), rel=1e-15)
