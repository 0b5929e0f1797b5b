"""Derivative kernels against Pinocchio's analytical ones, differences in 200-bit arithmetic, and formulas by hand."""

import numpy as np
import pinocchio as pin
import pytest

import flexjoint as fj
from flexjoint.compiler.ir.reference import MpmathArithmetic, evaluate as interpreted, interpret
from flexjoint.robot.parameters import select
from support.errors import relative_error
from support.pinocchio_model import pinocchio_model, pinocchio_order

TOLERANCE = 1e-12
LWR = fj.load("kuka_lwr")
MIXED = fj.random_robot(4, 6, prismatic=0.4, elastic=0.6, fixed=0.5, friction=True, name="mixed")
TREE = fj.random_robot(4, 5, prismatic=0.3, tree=True, fixed=0.5, friction=True, name="tree")
RIGID = [
    LWR.rigid(),
    fj.random_robot(5, 1, prismatic=0.4, friction=True, name="chain_5"),
    fj.random_robot(6, 6, prismatic=0.3, tree=True, fixed=0.4, friction=True, name="tree_6"),
]


def each(robots):
    return pytest.mark.parametrize("robot", robots, ids=[robot.name for robot in robots])


def derivatives(algorithm, robot, pairs, *arrays, **keywords):
    """By the interpreter: these robots are not worth compiling."""
    structure = algorithm.structure(robot, derivatives=pairs, **keywords)
    return interpreted(algorithm.trace(robot, structure)[0], *arrays)


# Pinocchio --------------------------------------------------------------------------------------------------------


class Oracle:
    """Pinocchio's derivatives, rows and columns in our order."""

    def __init__(self, robot):
        self.model, self.order = pinocchio_model(robot, motors=True), pinocchio_order(robot)
        self.data = self.model.createData()
        self.friction = np.diag([joint.viscous_friction for joint in robot.joints])

    def back(self, x):
        found = np.empty_like(x)
        found[np.ix_(self.order, self.order)] = x
        return found

    def inverse(self, q, v, a):
        o = self.order
        found = pin.computeRNEADerivatives(self.model, self.data, q[o], v[o], a[o])
        dq, dv, da = (self.back(np.array(x)) for x in found)
        return dq, dv + self.friction, da

    def forward(self, q, v, tau):
        o = self.order
        found = pin.computeABADerivatives(self.model, self.data, q[o], v[o], (tau - self.friction @ v)[o])
        dq, dv, dtau = (self.back(np.array(x)) for x in found)
        return dq, dv - dtau @ self.friction, dtau


@each(RIGID)
def test_inverse_dynamics(robot):
    state = np.random.default_rng(1).normal(size=(3, robot.n))
    pairs = [("tau", "q"), ("tau", "v"), ("tau", "a")]
    for found, expected in zip(derivatives(fj.inverse_dynamics, robot, pairs, *state), Oracle(robot).inverse(*state)):
        assert relative_error(found, expected) < TOLERANCE


@each(RIGID)
def test_forward_dynamics(robot):
    state = np.random.default_rng(2).normal(size=(3, robot.n))
    pairs = [("a", "q"), ("a", "v"), ("a", "tau")]
    found = derivatives(fj.forward_dynamics, robot, pairs, *state)
    scale = np.linalg.cond(fj.mass_matrix(robot, state[0]))
    for x, expected in zip(found, Oracle(robot).forward(*state)):
        assert relative_error(x, expected) < 1e-15 * max(scale, 1000)


# Differences in multiple precision --------------------------------------------------------------------------------

STEP = 2.0**-60  # the error of central differences is its square
FREE = ("link2.*", "link3_joint.position", "gravity", "link?_joint.viscous_friction")
BASE = {"angular_velocity": 2, "acceleration": 1}
CASES = {
    "elastic": (fj.inverse_dynamics, MIXED, (*FREE, "*.drive.*"), {"wrenches": {"link3": 3}}),
    "stack": (fj.torque_derivatives, TREE, FREE, {"order": 1, "wrenches": {"link2": 2}}),
    "forward": (fj.forward_dynamics, TREE, FREE, {"wrenches": {"link3": 1}, "base": BASE}),
    "mass_matrix": (fj.mass_matrix, TREE, FREE, {}),
    "energy": (fj.kinetic_energy, MIXED, FREE, {}),
    "momentum": (fj.spatial_momentum, TREE, FREE, {}),
    "kinematics": (fj.forward_kinematics, MIXED, FREE, {}),
    "jacobian": (fj.jacobian, MIXED, FREE, {}),
    "joint_wrenches": (fj.joint_wrenches, TREE, FREE, {}),
}


def by_differences(program, arrays):
    """∂y/∂x of all outputs by all inputs, (*y, *x) each, by central differences in 200 bits."""
    m = MpmathArithmetic(200)
    flat = [[m.const(float(value)) for value in np.ravel(x)] for x in arrays]
    found = {}
    for k, (x, array) in enumerate(zip(flat, program.inputs)):
        columns = []
        for e in range(len(x)):
            ends = []
            for step in (STEP, -STEP):
                moved = [*x[:e], x[e] + step, *x[e + 1 :]]
                ends.append(interpret(program, [*flat[:k], moved, *flat[k + 1 :]], m))
            columns.append([[float((b - a) / (2 * STEP)) for b, a in zip(*rows)] for rows in zip(*ends)])
        for j, y in enumerate(program.outputs):
            jacobian = np.array([column[j] for column in columns]).T
            found.setdefault((y.name, array.name), []).append(jacobian.reshape(*y.shape, *array.shape))
    return found


@pytest.mark.parametrize("case", CASES)
def test_every_output_by_every_input(case):
    function, robot, free, options = CASES[case]
    program, _ = function.trace(robot, function.structure(robot, free=free, **options))
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=array.shape) for array in program.inputs[: -len(free)]]
    arrays += [select(robot, pattern).value * rng.uniform(0.8, 1.2) for pattern in free]
    expected = by_differences(program, arrays)
    assert len(expected) == len(program.inputs) * len({array.name for array in program.outputs})
    found = iter(derivatives(function, robot, list(expected), *arrays, free=free, **options))
    nonzero = 0
    for layers in expected.values():
        reference, x = np.array(layers), np.array([next(found) for _ in layers])
        assert x.shape == reference.shape
        nonzero += bool(reference.any())
        assert relative_error(x, reference) < TOLERANCE if reference.any() else not x.any()
    assert nonzero > 1
    assert next(found, None) is None


# By hand ----------------------------------------------------------------------------------------------------------


def test_stiffness_of_an_elastic_pendulum():
    """τ = τ_e + B q'' + B τ_e''/K with τ_e = (I + m l²) q'' + m g l sin q."""
    m, l, I, g, B, K = 2.0, 0.4, 0.03, 9.81, 0.7, 300.0
    joint = fj.Joint("hinge", drive=fj.ElasticDrive(K, fj.Motor(B)))
    link = fj.Link("rod", joint, mass=m, com=[0.0, -l, 0.0], inertia=np.diag([I, I, I]))
    robot = fj.Robot("pendulum", (link,), gravity=[0.0, -g, 0.0])
    q, v, a, _, snap = state = np.random.default_rng(4).normal(size=(5, 1))
    pairs = [("tau", f"hinge.drive.{x}") for x in ("stiffness", "motor.inertia")] + [("tau", "rod.mass"), ("tau", "a")]
    kernel = fj.compile(fj.inverse_dynamics, robot, derivatives=pairs)
    rate2 = (I + m * l**2) * snap + m * g * l * (np.cos(q) * a - np.sin(q) * v**2)
    by_K, by_B, by_m, by_a = kernel(*state)
    assert by_K == pytest.approx(-B * rate2 / K**2, rel=1e-13)
    assert by_B == pytest.approx(a + rate2 / K, rel=1e-13)
    by_mass = l**2 * a + g * l * np.sin(q) + B / K * (l**2 * snap + g * l * (np.cos(q) * a - np.sin(q) * v**2))
    assert by_m == pytest.approx(by_mass, rel=1e-13)
    assert by_a[0] == pytest.approx(I + m * l**2 + B + B / K * m * g * l * np.cos(q), rel=1e-13)


def test_torques_are_affine_in_masses_and_inertias():
    """τ(x) = τ(x₀) + ∂τ/∂x (x − x₀) for any step, with a ∂τ/∂x that does not depend on x."""
    free = ("*.mass", "link?.inertia")  # not the motors' inertia, which multiplies the links'
    kernel = fj.compile(fj.inverse_dynamics, LWR, free=free)
    pairs = [("tau", x) for x in free]
    state = np.random.default_rng(5).normal(size=(5, 7))
    steps = [x.max() * np.random.default_rng(6).normal(size=x.shape) for x in kernel.nominal]
    there = [x + step for x, step in zip(kernel.nominal, steps)]
    J = derivatives(fj.inverse_dynamics, LWR, pairs, *state, *kernel.nominal, free=free)
    for x, y in zip(J, derivatives(fj.inverse_dynamics, LWR, pairs, *state, *there, free=free)):
        assert np.array_equal(x, y)
    change = kernel(*state, *there) - kernel(*state, *kernel.nominal)
    assert relative_error(change, sum(x @ step for x, step in zip(J, steps))) < 1e-13
    assert relative_error(kernel(*state, *kernel.nominal), fj.inverse_dynamics(LWR, *state)) < 1e-13


# Kernels ----------------------------------------------------------------------------------------------------------


def test_a_parameter_that_is_not_free_counts_at_its_value():
    pairs = [("tau", "link7.mass"), ("tau", "*.drive.stiffness"), ("tau", "q4")]
    held = fj.compile(fj.inverse_dynamics, LWR, derivatives=pairs)
    free = fj.compile(fj.inverse_dynamics, LWR, free=("*.mass", "*.drive.stiffness"), derivatives=pairs)
    assert len(held.inputs) == 5 and len(free.inputs) == 7
    state = np.random.default_rng(7).normal(size=(5, 7))
    for x, y in zip(held(*state), free(*state, *free.nominal)):
        assert relative_error(x, y) < 1e-13


def test_batches_and_descriptions_of_a_derivative():
    kernel = fj.compile(fj.mass_matrix, MIXED, derivatives=[("mass_matrix", "q")])
    q = np.random.default_rng(8).normal(size=(2, 40, 4))
    rows = kernel(q)
    assert rows.shape == (2, 40, 4, 4, 4)
    assert np.array_equal(rows[1, 7], kernel(q[1, 7]))
    assert kernel.name == "dmass_matrix/dq of mass_matrix of mixed"
    (output,) = kernel.outputs
    assert (output.name, output.shape, output.unit) == ("dmass_matrix/dq", (4, 4, 4), "(kg m² | kg) / (rad | m)")
    tau = fj.compile(fj.gravity_torque, MIXED, derivatives=[("tau", "link2.mass"), ("tau", "q")]).outputs
    assert tau[0].name == "dtau/dlink2.mass" and tau[0].unit == "(Nm | N) / kg"
    assert tau[0].labels[2] == "link3_joint / link2.mass"
    assert tau[1].labels[1] == "link1_joint / link2_joint"


def test_a_stack_of_derivatives():
    kernel = fj.compile(fj.torque_derivatives, MIXED, order=2, derivatives=[("tau", "q4")])
    state = np.random.default_rng(9).normal(size=(5, 6, 4))
    found = kernel(*state)
    assert found.shape == (3, 6, 4, 4)
    assert not found[:2].any()  # only τ'' depends on q''''
    assert relative_error(found[2], fj.mass_matrix(MIXED, state[0])) < TOLERANCE
