"""Reference cases computed without any Newton-Euler recursion (see support/cases.py)."""

import numpy as np
import pytest

import flexjoint as fj
from support.cases import case_names, load_case, robot_of_case
from support.errors import relative_error
from support.evaluate import Symbolic
from support.motors import paired_linearization, paired_motion, pairs

TOLERANCE = 1e-12
ELASTIC, LINEARIZED, ANTAGONISTIC, RIGID = map(case_names, ("ejnea", "fblin", "vsa", "modne004"))


def wrenches_of(case, state):
    if "W_on_EE_world" not in case:
        return {}
    return {"wrenches": {"tool": [w[state] for w in case["W_on_EE_world"]]}}


def states(case):
    return range(case["D"].shape[1])


@pytest.mark.parametrize("name", ELASTIC)
def test_torque_derivatives(name):
    case = load_case(name)
    robot = robot_of_case(case)
    assert all(robot.compliant)
    f = Symbolic(fj.torque_derivatives, robot, *case["D"][:, 0], order=2, **wrenches_of(case, 0))
    for b in states(case):
        found = f(*case["D"][:, b], **wrenches_of(case, b))
        for tau, key in zip(found, ("tau_e", "tau_e_d", "tau_e_dd"), strict=True):
            assert relative_error(tau, case[key][b]) < TOLERANCE, key


@pytest.mark.parametrize("name", ELASTIC)
def test_elastic_inverse_dynamics(name):
    case = load_case(name)
    robot = robot_of_case(case)
    f = Symbolic(fj.inverse_dynamics, robot, *case["D"][:, 0], **wrenches_of(case, 0))
    for b in states(case):
        found = f(*case["D"][:, b], **wrenches_of(case, b))
        assert relative_error(found, case["tau"][b]) < TOLERANCE
        assert relative_error(found, case["tau_e"][b]) > 1e-3, "the motor's share is missing or too small to be seen"


@pytest.mark.parametrize("name", ELASTIC)
def test_motor_motion(name):
    case = load_case(name)
    robot = robot_of_case(case)
    f = Symbolic(fj.motor_motion, robot, *case["D"][:, 0], **wrenches_of(case, 0))
    for b in states(case):
        found = f(*case["D"][:, b], **wrenches_of(case, b))
        for key in ("theta", "tau_e", "tau"):
            assert relative_error(getattr(found, key), case[key][b]) < TOLERANCE, key
        assert relative_error(found.theta_v, case["theta_d"][b]) < TOLERANCE
        assert relative_error(found.theta_a, case["theta_dd"][b]) < TOLERANCE
        assert relative_error(found.deflection, case["tau_e"][b] / case["robot"]["K"]) < TOLERANCE


def test_elastic_inverse_dynamics_compiled():
    """All states as one batch, through the kernel."""
    case = load_case("ejnea_lwr")
    found = fj.inverse_dynamics(robot_of_case(case), *case["D"])
    assert relative_error(found, case["tau"]) < TOLERANCE


def test_wrench_of_a_case_matters():
    """Without the derivatives of the wrench the torques are far off: the test above can fail."""
    case = load_case("ejnea_wrench_randRP3")
    robot = robot_of_case(case)
    w = [case["W_on_EE_world"][0][0], np.zeros(6), np.zeros(6)]
    f = Symbolic(fj.torque_derivatives, robot, *case["D"][:, 0], order=2, wrenches={"tool": w})
    found = f(*case["D"][:, 0], wrenches={"tool": w})
    assert relative_error(found[0], case["tau_e"][0]) < TOLERANCE
    assert relative_error(found[1], case["tau_e_d"][0]) > 1e-2


@pytest.mark.parametrize("name", LINEARIZED)
def test_mass_matrix_of_the_feedback_linearization_case(name):
    case = load_case(name)
    robot = robot_of_case(case)
    f = Symbolic(fj.mass_matrix, robot, case["q"][0])
    for q, M in zip(case["q"], case["M"], strict=True):
        assert relative_error(f(q), M) < TOLERANCE


@pytest.mark.parametrize("name", LINEARIZED)
def test_accelerations_of_the_feedback_linearization_case(name):
    """q'' from the elastic torque; M is ill conditioned, so the case's own tolerance is the measure."""
    case = load_case(name)
    robot = robot_of_case(case).without_drives()
    f = Symbolic(fj.forward_dynamics, robot, case["q"][0], case["qd"][0], case["tau_e_in"][0])
    for q, v, tau, a in zip(case["q"], case["qd"], case["tau_e_in"], case["q2"], strict=True):
        assert relative_error(f(q, v, tau), a) < case["tol_rel"]


@pytest.mark.parametrize("name", LINEARIZED)
def test_feedback_linearization(name):
    """The whole law through its kernel, all states as one batch, and acceleration and jerk on the way."""
    case = load_case(name)
    robot = robot_of_case(case)
    state = [case[key] for key in ("q", "qd", "tau_e_in", "tau_e_d_in")]
    found = fj.feedback_linearization(robot, *state, case["v"], measured="q tau_e")
    motion = fj.dynamics.link_motion(robot, *state)
    for b, tau in enumerate(found):
        assert relative_error(tau, case["tau"][b]) < case["tol_rel"]
        assert relative_error(motion.a[b], case["q2"][b]) < case["tol_rel"]
        assert relative_error(motion.jerk[b], case["q3"][b]) < case["tol_rel"]
        assert relative_error(tau, case["tau_e_in"][b]) > 1e-3, "the motor's share is missing or too small to be seen"


NAMES_OF = {
    "phi_1": "phi1",
    "phi_2": "phi2",
    "phi_1_v": "phi1_d",
    "phi_2_v": "phi2_d",
    "theta_1_a": "th1_dd",
    "theta_2_a": "th2_dd",
    "tau_e_1": "tau_e1",
    "tau_e_2": "tau_e2",
    "tau_e": "tau_e",
    "tau_e_v": "tau_e_d",
    "tau_e_a": "tau_e_dd",
    "tau_1": "tau1",
    "tau_2": "tau2",
}


@pytest.mark.parametrize("name", ANTAGONISTIC)
def test_variable_stiffness(name):
    """All states as one batch, through the kernels; every quantity on the way."""
    case = load_case(name)
    robot = robot_of_case(case)
    assert all(robot.variable_stiffness)
    found = paired_motion(robot, *case["D"], *case["S"])
    for ours, theirs in NAMES_OF.items():
        assert relative_error(getattr(found, ours), case[theirs]) < TOLERANCE, ours
    torques = pairs(robot, fj.inverse_dynamics(robot, *case["D"], stiffness=list(case["S"])))
    for ours, theirs, springs in zip(torques, (case["tau1"], case["tau2"]), (case["tau_e1"], case["tau_e2"])):
        assert relative_error(ours, theirs) < TOLERANCE
        assert relative_error(ours, springs) > 1e-3, "the motor's share is missing or too small to be seen"


@pytest.mark.parametrize("name", ANTAGONISTIC)
def test_variable_stiffness_as_feedback_linearization(name):
    """The torques of the motion from its state alone, with its snap and stiffness acceleration as commands."""
    case = load_case(name)
    state = [*case["D"][:2], case["phi1"], case["phi2"], case["phi1_d"], case["phi2_d"]]
    found = paired_linearization(robot_of_case(case), *state, case["D"][4], case["S"][2])
    assert relative_error(found.tau_1, case["tau1"]) < case["tol_rel"]
    assert relative_error(found.tau_2, case["tau2"]) < case["tol_rel"]


@pytest.mark.parametrize("name", RIGID)
def test_rigid_quantities(name):
    case = load_case(name)
    robot = robot_of_case(case).without_drives()
    q0, v0 = case["q"][0], case["qd"][0]
    M, g = Symbolic(fj.mass_matrix, robot, q0), Symbolic(fj.gravity_torque, robot, q0)
    c, p = Symbolic(fj.coriolis_torque, robot, q0, v0), Symbolic(fj.generalized_momentum, robot, q0, v0)
    for b, (q, v) in enumerate(zip(case["q"], case["qd"], strict=True)):
        assert relative_error(M(q), case["M"][b]) < TOLERANCE
        assert relative_error(g(q), case["g"][b]) < TOLERANCE
        assert relative_error(c(q, v), case["c"][b]) < TOLERANCE
        assert relative_error(p(q, v), case["p"][b]) < TOLERANCE


@pytest.mark.parametrize("name", RIGID)
def test_coriolis_factorizations(name):
    """C in three variants, C(q, v) v_r, the passivity law without PD, Ṁ and Cᵀv  [DeLuca (4), (19), (25), (28)]."""
    case = load_case(name)
    robot = robot_of_case(case).without_drives()
    states = list(zip(*(case[key] for key in ("q", "qd", "qr_d", "qr_dd")), strict=True))
    rate, transposed = (
        Symbolic(f, robot, *states[0][:2]) for f in (fj.mass_matrix_rate, fj.coriolis_transpose_product)
    )
    for b, (q, v, _, _) in enumerate(states):
        assert relative_error(rate(q, v), case["Mdot"][b]) < TOLERANCE
        assert relative_error(transposed(q, v), case["CTqd"][b]) < TOLERANCE
    for variant in ("0001", "1110", "christoffel"):
        C = Symbolic(fj.coriolis_matrix, robot, *states[0][:2], variant=variant)
        product = Symbolic(fj.coriolis_product, robot, *states[0][:3], variant=variant)
        law = Symbolic(fj.dynamics.modified_newton_euler, robot, *states[0], variant=variant)
        for b, (q, v, v_r, a_r) in enumerate(states):
            expected = case[f"C_{variant}"][b]
            assert relative_error(C(q, v), expected) < TOLERANCE
            assert relative_error(product(q, v, v_r), expected @ v_r) < TOLERANCE
            assert relative_error(law(q, v, v_r, a_r), case[f"passivity_{variant}"][b]) < TOLERANCE
