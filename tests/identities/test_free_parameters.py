"""Free parameters: whatever numbers they are given, the result is that of a robot built with these numbers."""

import dataclasses

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.compiler.ir.reference import evaluate as interpret
from support.errors import relative_error
from support.evaluate import evaluate
from support.marks import some_long
from support.parameters import scrambled
from support.programs import same_bits

TOLERANCE = 1e-13
LWR = fj.load("kuka_lwr")
TREE = fj.random_robot(4, 3, prismatic=0.5, elastic=0.5, tree=True, fixed=0.5, friction=True, name="tree")
CHAIN = fj.random_robot(3, 5, prismatic=0.4, fixed=0.5, name="chain").with_drives([fj.RigidDrive(), None, None])
ROBOTS = [TREE, CHAIN, TREE.rigid(), LWR]
ALGORITHMS = {
    "inverse_dynamics": (fj.inverse_dynamics, {}),
    "torque_derivatives": (fj.torque_derivatives, {"order": 1}),
    "forward_dynamics": (fj.forward_dynamics, {}),
    "joint_wrenches": (fj.joint_wrenches, {}),
    "bias_torque": (fj.bias_torque, {}),
    "gravity_torque": (fj.gravity_torque, {}),
    "mass_matrix": (fj.mass_matrix, {}),
    "generalized_momentum": (fj.generalized_momentum, {}),
    "kinetic_energy": (fj.kinetic_energy, {}),
    "gravity_energy": (fj.gravity_energy, {}),
    "momentum": (fj.spatial_momentum, {}),
    "forward_kinematics": (fj.forward_kinematics, {}),
    "jacobian": (fj.jacobian, {}),
}


def each(robots, *long):
    names = [x.name + " rigid" * (not any(x.compliant)) for x in robots]
    return pytest.mark.parametrize("robot", some_long(dict(zip(names, robots)), *long))


def inputs_of(program, count, seed=1):
    """Numbers for the arrays before the free parameters."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=array.shape) for array in program.inputs[: len(program.inputs) - count]]


def stacked(value):
    """Any result as one vector."""
    parts = value if isinstance(value, tuple | list) else [value]
    return np.concatenate([np.ravel(np.asarray(x)) for x in parts])


@each(ROBOTS, "kuka_lwr")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_new_values_give_what_a_new_robot_gives(robot, algorithm):
    """All numbers free at once and changed, zeros among them, against the robot rebuilt with the new ones."""
    function, options = ALGORITHMS[algorithm]
    if function is fj.forward_dynamics and any(robot.compliant):
        robot = robot.rigid()
    other, values = scrambled(robot)
    program, _ = function.trace(robot, function.structure(robot, free=tuple(values), **options))
    arrays = inputs_of(program, len(values))
    found = interpret(program, *arrays, *values.values())
    expected = evaluate(function.function, other, *arrays, **options)
    assert relative_error(stacked(found), stacked(expected)) < TOLERANCE


@each(ROBOTS)
def test_nominal_values_give_what_the_robot_gives(robot):
    values = scrambled(robot)[1]
    structure = fj.inverse_dynamics.structure(robot, free=tuple(values))
    program, _ = fj.inverse_dynamics.trace(robot, structure)
    arrays = inputs_of(program, len(values))
    (found,) = interpret(program, *arrays, *(fj.robot.robot_parameters(robot)[path].value for path in values))
    assert relative_error(found, fj.inverse_dynamics(robot, *arrays)) < TOLERANCE


@pytest.mark.parametrize("free", [("*.drive.stiffness",), ("link7.mass", "link7.com"), ("gravity.z", "tool.*")])
def test_kernels_compute_the_bits_of_the_interpreter(free):
    kernel = fj.compile(fj.inverse_dynamics, LWR, free=free)
    assert [x.name for x in kernel.inputs] == ["q", "v", "a", "q3", "q4", *free]
    rng = np.random.default_rng(2)
    stack = rng.normal(size=(5, 70, 7))
    batched = [value * rng.uniform(0.5, 1.5, (70, *value.shape)) for value in kernel.nominal]
    rows = kernel(*stack, *batched)
    for k in range(0, 70, 10):
        arrays = [*stack[:, k], *(value[k] for value in batched)]
        (expected,) = interpret(kernel.program, *arrays)
        assert same_bits(kernel(*arrays), expected) and same_bits(rows[k], expected)
    assert relative_error(kernel(*stack, *kernel.nominal), fj.inverse_dynamics(LWR, *stack)) < TOLERANCE


def test_a_parameter_alone_is_a_batch():
    kernel = fj.compile(fj.gravity_torque, LWR, free="tool.mass")
    q = np.linspace(-1.0, 1.0, 7)
    masses = np.linspace(0.0, 14.0, 5)
    found = kernel(q, masses)
    assert found.shape == (5, 7)
    for mass, row in zip(masses, found):
        assert relative_error(row, fj.gravity_torque(LWR.with_payload(mass), q)) < TOLERANCE


def test_a_free_number_is_never_a_structural_zero():
    """Nothing here moves any inertia until the free mass is not 0."""
    links = [fj.Link("arm", fj.Joint("hinge")), fj.Link("tip", fj.Joint("end", "fixed", [0.5, 0.0, 0.0]), "arm")]
    robot = fj.Robot("rod", links, allow_unphysical=True)
    with pytest.raises(fj.RobotError, match="'hinge' moves no inertia"):
        fj.compile(fj.forward_dynamics, robot)
    kernel = fj.compile(fj.forward_dynamics, robot, free=("tip.mass",))
    assert kernel([0.0], [0.0], [1.0], 2.0) == pytest.approx([1.0 / (2.0 * 0.5**2)], rel=1e-15)
    with pytest.raises(fj.NonFiniteError):
        kernel([0.0], [0.0], [1.0], *kernel.nominal)


@each([TREE, CHAIN])
def test_lengths_may_be_free_in_kinematics(robot):
    tip = robot.links[-1]
    kernel = fj.compile(fj.forward_kinematics, robot, free=(f"{tip.joint.name}.position.x",))
    q, x = np.full(robot.n, 0.3), 0.7
    joint = dataclasses.replace(tip.joint, position=[x, *tip.joint.position[1:]])
    longer = robot.replace(links=[*robot.links[:-1], dataclasses.replace(tip, joint=joint)])
    assert relative_error(kernel(q, x).position, fj.forward_kinematics(longer, q).position) < TOLERANCE


# Laws -------------------------------------------------------------------------------------------------------------


def with_joints_of(robot, other):
    """The other robot with the positions of joints and the gravity of this one."""
    pairs = [(x, dataclasses.replace(x.joint, position=y.joint.position)) for x, y in zip(other.links, robot.links)]
    return other.replace(links=[dataclasses.replace(x, joint=joint) for x, joint in pairs], gravity=robot.gravity)


LAWS = {
    "mixed_torque": (fj.control.laws.mixed_torque, TREE, {"reference": 5, "gains": 4}),
    "base_regressor": (fj.base_regressor, TREE, {}),
    "adaptive_torque": (fj.control.laws.adaptive_torque, CHAIN, {}),
    "adaptive_mixed_torque": (fj.control.laws.adaptive_mixed_torque, TREE, {"reference": 5, "gains": 4}),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws(name):
    """Where base parameters are known, which ones there are depends on lengths and gravity: these stay as they are."""
    function, robot, stacks = LAWS[name]
    other, values = scrambled(robot)
    other = with_joints_of(robot, other)
    free = tuple(x for x in values if x != "gravity" and not x.endswith("position"))
    groups = {"tracking": stacks} if stacks else {}
    program, _ = function.trace(robot, function.structure(robot, free=free, **groups))
    arrays = [abs(x) + 0.1 for x in inputs_of(program, len(free))]
    found = interpret(program, *arrays, *(values[x] for x in free))
    given = iter(arrays[len(arrays) - sum(stacks.values()) :])
    tracking = {key: [next(given) for _ in range(count)] for key, count in stacks.items()}
    arrays = arrays[: len(arrays) - sum(stacks.values())]
    expected = evaluate(function.function, other, *arrays, **({"tracking": tracking} if stacks else {}))
    assert relative_error(stacked(found), stacked(expected)) < 1e-11


@pytest.mark.parametrize("path", ["gravity", "link2_joint.position"])
def test_what_decides_the_base_parameters_is_not_free(path):
    with pytest.raises(fj.InputError, match="gravity and the positions of joints decide which base parameters"):
        fj.compile(fj.control.laws.adaptive_torque, CHAIN, free=path)


@pytest.mark.long
def test_long_chains_are_linearized_with_free_masses():
    """Beyond 16 joints by articulated bodies, without gravity."""
    robot = fj.random_robot(17, 2, elastic=1.0, prismatic=0.2)
    program, _ = fj.dynamics.link_motion.trace(
        robot, fj.dynamics.link_motion.structure(robot, free=("link9.mass", "gravity.x"))
    )
    arrays = inputs_of(program, 2)
    found = interpret(program, *arrays, 3.0, 4.0)
    links = [dataclasses.replace(x, mass=3.0) if x.name == "link9" else x for x in robot.links]
    other = robot.replace(links=links, gravity=[4.0, *robot.gravity[1:]])
    assert relative_error(stacked(found), stacked(evaluate(fj.dynamics.link_motion, other, *arrays))) < 1e-10


def test_coulomb_friction_of_a_rigid_joint_may_be_free():
    joint = fj.Joint("hinge", coulomb_friction=1.0, coulomb_velocity=0.1)
    disc = fj.Robot("disc", (fj.Link("disc", joint, mass=1.0, inertia=0.1 * np.eye(3)),))
    kernel = fj.compile(fj.inverse_dynamics, disc, free="hinge.coulomb_friction")
    assert kernel([0.0], [0.2], [3.0], 5.0) == pytest.approx([0.1 * 3.0 + 5.0 * np.tanh(2.0)], rel=1e-15)


def test_free_damping_is_refused_as_damping_is():
    damped = CHAIN.with_drives([fj.ElasticDrive(100.0, fj.Motor(0.1), damping=2.0)] * 3)
    with pytest.raises(fj.InputError, match=r"is damped \(D = free\).*use inverse_dynamics_along"):
        fj.compile(fj.inverse_dynamics, damped, free="*.drive.damping")
