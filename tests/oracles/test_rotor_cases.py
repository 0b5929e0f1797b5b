"""Reference cases of the complete model, computed without any Newton-Euler recursion (see support/cases.py)."""

import numpy as np
import pytest

import flexjoint as fj
from support.cases import case_names, load_case
from support.errors import relative_error
from support.evaluate import Symbolic, evaluate
from support.rotors import rotor_case

COMPLETE, MIXED = map(case_names, ("complete001", "mixed003"))


@pytest.mark.parametrize("name", COMPLETE)
def test_inverse_dynamics(name):
    case = load_case(name)
    robot = rotor_case(case)
    D, eta = case["D"], robot.gear_ratios
    assert fj.dynamics.derivative_orders(robot).motion == len(D) - 1
    f = Symbolic(fj.motor_motion, robot, *D[:, 0])
    found = [f(*D[:, b]) for b in range(D.shape[1])]
    for field, key in (("theta", "theta"), ("theta_v", "theta_d"), ("theta_a", "theta_dd"), ("tau", "tau_linkside")):
        assert relative_error([getattr(x, field) for x in found], case[key]) < min(case["tol_rel"], 1e-12), key
    assert relative_error([x.tau / eta for x in found], case["tau_motorside"]) < min(case["tol_rel"], 1e-12)


def test_couplings_matter():
    """The model of Spong is far from the complete one: the test above can fail."""
    case = load_case("complete001_strong_N3")
    robot = rotor_case(case).with_fidelity("spong")
    found = [evaluate(fj.inverse_dynamics, robot, *case["D"][:5, b]) for b in range(2)]
    assert relative_error(found, case["tau_linkside"][:2]) > 0.05


def behind_springs(case, motors, links):
    """θ of the elastic joints among those of all; what stands at rigid joints must not matter."""
    full = np.full_like(links, np.nan)
    full[:, case["elastic"]] = motors
    full[:, ~case["elastic"]] = 7.0
    return full


@pytest.mark.parametrize("name", MIXED)
def test_mixed_robots(name):
    case = load_case(name)
    robot = rotor_case(case)
    elastic = case["elastic"]
    assert tuple(elastic) == robot.compliant
    assert 0 < sum(robot.compliant) < robot.n
    q, v, a, w = case["q"], case["qd"], case["qdd"], case["w_on_EE_world"]
    theta, theta_v, theta_a = (behind_springs(case, case[x], q) for x in ("th", "thd", "thdd"))
    A = Symbolic(fj.mass_matrix, robot, q[0], motors=True)
    inverse = Symbolic(
        fj.dynamics.generalized_forces,
        robot,
        q[0],
        v[0],
        theta[0],
        theta_v[0],
        a[0],
        theta_a[0],
        wrenches={"tool": [w[0]]},
    )
    forward = Symbolic(fj.forward_dynamics, robot, q[0], v[0], theta[0], theta_v[0], q[0], wrenches={"tool": [w[0]]})
    for b in range(len(q)):
        wrench = {"wrenches": {"tool": [w[b]]}}
        assert relative_error(A(q[b]), case["A"][b]) < 1e-14
        forces = inverse(q[b], v[b], theta[b], theta_v[b], a[b], theta_a[b], **wrench)
        assert relative_error(forces.tau_e, case["inv_load"][b]) < min(case["tol_rel"], 1e-12)
        assert relative_error(forces.tau, case["inv_tau"][b]) < min(case["tol_rel"], 1e-12)
        found = forward(q[b], v[b], theta[b], theta_v[b], case["fwd_tau_in"][b], **wrench)
        assert relative_error(found.a, case["fwd_qdd"][b]) < min(case["tol_rel"], 1e-12)
        assert relative_error(found.theta_a[elastic], case["fwd_thdd"][b]) < min(case["tol_rel"], 1e-12)
        assert np.array_equal(found.theta_a[~elastic], found.a[~elastic])
