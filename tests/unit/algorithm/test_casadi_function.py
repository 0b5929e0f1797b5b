"""Algorithms as CasADi Functions: values and derivatives of kernels, names, shapes, and roots that are searched for."""

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.algorithm.algorithm import ALGORITHMS
from flexjoint.algorithm.casadi_function import casadi_function, casadi_search, identifiers
from flexjoint.compiler.ir.reference import evaluate as interpreted
from support.errors import relative_error
from support.marks import some_long
from support.public import ALGORITHMS as PUBLIC
from support.rotors import with_random_rotors

TOLERANCE = 1e-12
RIGID = fj.random_robot(3, 1, prismatic=0.4, tree=True, friction=True, name="tree")
ELASTIC = fj.random_robot(3, 2, prismatic=0.4, elastic=1.0, friction=True, name="elastic")
DAMPED = ELASTIC.with_drives([replace(joint.drive, damping=2.0) for joint in ELASTIC.joints])
ROTORS = with_random_rotors(fj.random_robot(2, 13, prismatic=0.0), 2, elastic=1.0)
VSA = fj.load("vsa_3r")
RNG = np.random.default_rng(0)


def column(x):
    return np.asarray(x).reshape(-1)


def in_shape(x, array):
    """A result of CasADi in the shape of a kernel's."""
    return np.array(x).reshape(array.shape)


# Every algorithm --------------------------------------------------------------------------------------------------

BASE = {"angular_velocity": 2, "acceleration": 1}
TRACKING = {"reference": 5, "gains": 4}
BOTH = {**TRACKING, "stiffness": 3, "stiffness_gains": 2}
CASES = {
    "inverse_dynamics": [(RIGID, {"wrenches": {"link2": 1}, "base": BASE}), (ELASTIC, {})],
    "motor_motion": [(ELASTIC, {}), (VSA, {"stiffness": 3})],
    "inverse_dynamics_step": [(DAMPED, {})],
    "extension_state": [(ROTORS, {})],
    "integrated_motor_motion": [(VSA, {"stiffness": 3})],
    "forward_dynamics": [(RIGID, {}), (ELASTIC, {"wrenches": {"link3": 1}}), (DAMPED, {}), (VSA, {}), (ROTORS, {})],
    "torque_derivatives": [(RIGID, {"order": 1})],
    "feedback_linearization": [(ELASTIC, {}), (DAMPED, {}), (ROTORS, {})],
    "spring_torques": [(ELASTIC, {})],
    "link_state": [(ELASTIC, {})],
    "linearizing_control": [(ELASTIC, {"tracking": TRACKING})],
    "mixed_torque": [(ELASTIC, {"tracking": TRACKING})],
    "adaptive_mixed_torque": [(ELASTIC, {"tracking": TRACKING})],
    "adaptive_mixed_torque_from_positions": [(ELASTIC, {"tracking": TRACKING})],
    "mixed_lyapunov": [(ELASTIC, {"tracking": TRACKING})],
    "motion_and_stiffness_control": [(VSA, {"tracking": BOTH})],
}  # of the others, without keywords, the rigid robot
SIZES = {"h": 0.01, "stiffness[0]": 3e3, "tracking.stiffness[0]": 3e3, "sigma": 3e3, "deflection": 0.1}


def inputs_of(program):
    """Arbitrary numbers, such that joints of variable stiffness have deflections."""
    found = []
    for array in program.inputs:
        size = SIZES.get(array.name)
        found.append(RNG.normal(size=array.shape) if size is None else np.full(array.shape, size))
        if array.name == "deflection":
            found[-1][len(found[-1]) // 2 :] *= -1  # springs that pull against each other
    return found


def test_the_list_of_algorithms_holds_the_public_ones():
    assert {x.__name__ for x in PUBLIC.values()} == {*ALGORITHMS}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm(name):
    algorithm = ALGORITHMS[name]
    for robot, keywords in CASES.get(name, [(RIGID, {})]):
        program, _ = algorithm.trace(robot, algorithm.structure(robot, **keywords))
        function = casadi_function(algorithm, robot, **keywords)
        assert function.is_a("SXFunction")
        arrays = inputs_of(program)
        assert function.n_in() == len(arrays) and function.n_out() == len(program.outputs)
        found = function.call(arrays)
        for x, expected, array in zip(found, interpreted(program, *arrays), program.outputs, strict=True):
            assert np.all(np.isfinite(expected)), f"{array.name} of {robot.name}"
            error = relative_error if np.any(expected) else lambda *both: np.max(np.abs(both[0] - both[1]))
            assert error(in_shape(x, array), expected) < TOLERANCE
        for x, array in zip(found, program.outputs):
            if len(array.shape) == 2:
                assert x.shape == array.shape
            elif len(array.shape) < 2:
                assert x.shape == (*array.shape, 1, 1)[:2] and x.is_dense()


# Names, shapes and callers ----------------------------------------------------------------------------------------


def test_names():
    function = casadi_function(
        fj.inverse_dynamics, ELASTIC, wrenches={"link3": 3}, free=("link2.mass", "*.drive.stiffness", "gravity")
    )
    motion = ["q", "v", "a", "q3", "q4"]
    wrench = [f"wrenches_link3_{k}" for k in range(3)]
    assert function.name_in() == [*motion, *wrench, "link2_mass", "drive_stiffness", "gravity"]
    assert function.name_out() == ["tau"]
    assert [function.size_in(k) for k in (5, 8, 9)] == [(6, 1), (1, 1), (3, 1)]
    assert casadi_function(fj.torque_derivatives, RIGID, order=1).name_out() == ["tau_0", "tau_1"]
    assert "tau_e_out" in casadi_function(fj.inverse_dynamics_step, DAMPED).name_out()  # tau_e is an input too


def test_identifiers_are_unique():
    assert identifiers(["a.b", "a_b", "*.mass", "7", "é"]) == ["a_b", "a_b_2", "mass", "x_7", "x"]


def test_free_parameters():
    free = ("link2.mass", "*.drive.stiffness", "gravity")
    structure = fj.inverse_dynamics.structure(ELASTIC, free=free)
    program, _ = fj.inverse_dynamics.trace(ELASTIC, structure)
    arrays = [*RNG.normal(size=(5, 3)), np.array(3.0), RNG.uniform(50, 90, 3), RNG.normal(size=3)]
    function = casadi_function(fj.inverse_dynamics, ELASTIC, free=free)
    assert relative_error(column(function(*arrays)), interpreted(program, *arrays)[0]) < TOLERANCE


def test_callers_with_sx_and_mx():
    function = casadi_function(fj.forward_dynamics, ELASTIC)
    numbers = RNG.normal(size=(5, 3))
    expected = ca.vertcat(*function.call([*numbers]))
    for kind in (ca.SX, ca.MX):
        symbols = [kind.sym(name, 3) for name in function.name_in()]
        called = function(**dict(zip(function.name_in(), symbols)))
        own = ca.Function("own", symbols, [ca.vertcat(called["a"], called["theta_a"])])
        assert relative_error(own(*numbers), expected) < 1e-15


def test_jacobians_are_those_of_derivative_kernels():
    pairs = [(of, by) for of in ("a", "theta_a") for by in ("q", "theta_v", "tau")]
    structure = fj.forward_dynamics.structure(ELASTIC, derivatives=pairs)
    program, _ = fj.forward_dynamics.trace(ELASTIC, structure)
    arrays = [*RNG.normal(size=(5, 3))]
    function = casadi_function(fj.forward_dynamics, ELASTIC)
    slopes = function.factory("slopes", function.name_in(), [f"jac:{of}:{by}" for of, by in pairs])
    for found, expected in zip(slopes.call(arrays), interpreted(program, *arrays), strict=True):
        if np.any(expected):
            assert relative_error(np.array(found), expected) < TOLERANCE
        else:
            assert not np.any(np.array(found))


def test_thirty_joints():
    """Accelerations against the torques that they take."""
    robot = fj.random_robot(30, 4, prismatic=0.3, tree=True)
    forward, inverse = casadi_function(fj.forward_dynamics, robot), casadi_function(fj.inverse_dynamics, robot)
    q, v, tau = RNG.normal(size=(3, 30))
    assert relative_error(column(inverse(q, v, forward(q, v, tau))), tau) < 1e-9


# Roots that are searched for --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QuinticSpring(fj.springs.Spring):
    """Torque k (φ + 40 φ⁵), without a closed inverse."""

    k: float

    def torque(self, phi):
        return self.k * (phi + 40 * phi**5)


MOTOR = fj.Motor(0.3)
QUINTIC = ELASTIC.with_drives([fj.ElasticDrive(QuinticSpring(60.0), MOTOR)] * 2 + [ELASTIC.joints[2].drive])
PAIR = fj.drives.AntagonisticDrive(QuinticSpring(60.0), QuinticSpring(50.0), MOTOR, MOTOR)
ROD = fj.Link("rod", fj.Joint("hinge", drive=PAIR), mass=1.0, com=[0.2, 0.0, 0.0], inertia=0.02 * np.eye(3))
NESTED = fj.Robot("pendulum", (ROD,), gravity=[0.0, -9.81, 0.0])
SEARCHED = {  # robot, keywords, size of the motion, stiffness
    "quintic": (QUINTIC, {}, 1.0, []),
    "qbmove": (fj.load("qbmove_arm"), {"stiffness": 3}, 0.01, [0.5, 0.5, 0.5]),
    "nested": (NESTED, {"stiffness": 3}, 0.1, [400.0]),  # a search in every step of a search
}


def searched(name):
    """Robot, keywords, arrays; torque and its derivative by q from kernels."""
    robot, keywords, size, stiffness = SEARCHED[name]
    rng = np.random.default_rng(5)
    arrays = [*(size * rng.normal(size=(5, robot.n)))]
    if keywords:
        arrays += [np.array(stiffness), *(0.1 * rng.normal(size=(2, robot.n)))]
    found = []
    for extra in ({}, {"derivatives": [("tau", "q")]}):
        structure = fj.inverse_dynamics.structure(robot, **keywords, **extra)
        found += interpreted(fj.inverse_dynamics.trace(robot, structure)[0], *arrays)
    assert np.all(np.isfinite(found[0]))
    return robot, keywords, arrays, *found


@pytest.mark.parametrize("name", some_long([*SEARCHED], "nested"))
def test_searched_deflections(name):
    robot, keywords, arrays, value, slope = searched(name)
    for searches in ("unrolled", "rootfinder") if name != "nested" else ("rootfinder",):
        function = casadi_function(fj.inverse_dynamics, robot, searches=searches, **keywords)
        assert function.is_a("SXFunction" if searches == "unrolled" else "MXFunction")
        assert relative_error(column(function(*arrays)), value) < TOLERANCE
        jacobian = function.factory("jacobian", function.name_in(), ["jac:tau:q"])
        assert relative_error(jacobian(*arrays).full(), slope) < TOLERANCE


@pytest.mark.parametrize("name", ["quintic", "qbmove"])
def test_deflections_as_unknowns(name):
    """Values, residuals and, by the implicit function theorem, derivatives: τ_q − τ_z r_z⁻¹ r_q."""
    robot, keywords, arrays, value, slope = searched(name)
    function = casadi_function(fj.inverse_dynamics, robot, searches="unknowns", **keywords)
    search = casadi_search(fj.inverse_dynamics, robot, **keywords)
    assert function.is_a("SXFunction")
    assert function.name_in()[-1] == "unknowns" and function.name_out()[-1] == "residuals"
    z = search(*arrays)
    tau, missed = function(*arrays, z)
    assert np.max(np.abs(missed.full())) < 1e-11
    assert relative_error(column(tau), value) < TOLERANCE
    parts = [f"jac:{of}:{by}" for of in ("tau", "residuals") for by in ("q", "unknowns")]
    tau_q, tau_z, r_q, r_z = (x.full() for x in function.factory("parts", function.name_in(), parts).call([*arrays, z]))
    assert relative_error(tau_q - tau_z @ np.linalg.solve(r_z, r_q), slope) < TOLERANCE
    assert np.all(np.isfinite(column(function(*arrays, 1.01 * z)[0])))  # a solver may pass where nothing is met yet
    assert np.max(np.abs(column(function(*arrays, 1.01 * z)[1]))) > 1e-6


def test_searches_in_damped_springs_and_with_free_numbers_of_a_law():
    damped = QUINTIC.with_drives([replace(joint.drive, damping=2.0) for joint in QUINTIC.joints])
    rng = np.random.default_rng(7)
    for algorithm, robot, free in ((fj.inverse_dynamics_step, damped, ()), (fj.inverse_dynamics, QUINTIC, ("*.k",))):
        program, _ = algorithm.trace(robot, algorithm.structure(robot, free=free))
        numbers = {"h": np.array(1e-3), "*.k": np.array([50.0, 80.0])}
        arrays = [numbers.get(array.name, rng.normal(size=array.shape)) for array in program.inputs]
        found = casadi_function(algorithm, robot, free=free, searches="rootfinder").call(arrays)
        for x, expected in zip(found, interpreted(program, *arrays), strict=True):
            assert relative_error(column(x), expected) < TOLERANCE


def test_second_derivatives_of_the_two_ways_agree():
    arrays = [*np.random.default_rng(6).normal(size=(5, 3))]
    found = []
    for searches in ("unrolled", "rootfinder"):
        function = casadi_function(fj.inverse_dynamics, QUINTIC, searches=searches)
        symbols = [ca.MX.sym(name, 3) for name in function.name_in()]
        hessian, _ = ca.hessian(ca.sum1(function(*symbols)), symbols[0])
        found.append(ca.Function("second", symbols, [hessian])(*arrays).full())
    assert relative_error(found[1], found[0]) < TOLERANCE


def test_out_of_reach_is_nan():
    """As for kernels: the quintic spring has a reach of 1 rad."""
    arrays = [np.zeros(3), np.zeros(3), np.full(3, 1e6), np.zeros(3), np.zeros(3)]
    for searches in ("unrolled", "rootfinder"):
        found = casadi_function(fj.inverse_dynamics, QUINTIC, searches=searches)(*arrays)
        assert np.any(np.isnan(found.full()))


def test_without_searches_all_ways_are_one():
    for searches in ("unrolled", "rootfinder", "unknowns"):
        function = casadi_function(fj.inverse_dynamics, ELASTIC, searches=searches)
        assert function.is_a("SXFunction") and function.n_in() == 5 and function.n_out() == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: casadi_function(fj.inverse_dynamics, RIGID, searches="newton"), "unrolled, rootfinder, unknowns"),
        (lambda: casadi_function(np.sin, RIGID), "takes an algorithm such as fj.inverse_dynamics"),
        (lambda: casadi_function(fj.inverse_dynamics, RIGID, derivatives=[("tau", "q")]), "function.jacobian()"),
        (lambda: casadi_function(fj.inverse_dynamics, RIGID, order=2), "has no keyword order"),
        (lambda: casadi_function(fj.inverse_dynamics, DAMPED), "damp"),
    ],
)
def test_refused(call, message):
    with pytest.raises(fj.InputError) as caught:
        call()
    assert message in str(caught.value)
