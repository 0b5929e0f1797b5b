"""The factorizations of [Hoepler] by spatial operators: against Pinocchio and our own recursions.

Trees, sliding joints and rotors on any link; the paper has chains of turning joints with motors on the link before.
"""

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

import flexjoint as fj
from flexjoint.dynamics import spatial_cross, spatial_operators
from support.errors import relative_error
from support.evaluate import evaluate
from support.pinocchio_model import pinocchio_mass_matrix, pinocchio_model, pinocchio_order, pinocchio_rnea
from support.rotors import lbr, with_random_rotors

TOLERANCE = 1e-12
CHAIN = fj.random_robot(4, 7, prismatic=0.0, name="chain")
TREE = fj.random_robot(6, 3, prismatic=0.4, tree=True, fixed=0.5, name="tree")
PENDULUM = fj.random_robot(1, 2, prismatic=0.0, name="pendulum")
RIGID = [CHAIN, TREE, PENDULUM]
ROTORS = [
    lbr(4),
    with_random_rotors(fj.random_robot(3, 4, prismatic=0.0, name="rotors"), 1, elastic=1.0),
    with_random_rotors(fj.random_robot(5, 8, prismatic=0.3, tree=True, name="tree with rotors"), 2, elastic=1.0),
    with_random_rotors(fj.random_robot(4, 6, tree=True, name="any carrier"), 3, elastic=1.0, carriers="any"),
]
named = pytest.mark.parametrize("robot", RIGID, ids=lambda x: x.name)
geared = pytest.mark.parametrize("robot", ROTORS, ids=lambda x: x.name)


def state(robot, seed=0):
    """q, v, a and θ', θ''."""
    return np.random.default_rng(seed).normal(size=(5, robot.n))


def operators(robot, q, v):
    """The operators in numbers, with V = Φ H q' and the cross products of Δ, V and Ω."""
    x = spatial_operators_at(robot, q)
    Delta = x.H @ v
    V = x.Phi @ Delta
    Omega = V * np.tile([1, 1, 1, 0, 0, 0], robot.n)
    return SimpleNamespace(
        **x._asdict(), V=V, Delta_=spatial_cross(Delta), V_=spatial_cross(V), Omega_=spatial_cross(Omega)
    )


def spatial_operators_at(robot, q):
    """Through CasADi; 1×1 and (k, 1) results keep their shape."""
    symbols = ca.SX.sym("q", robot.n)
    found = spatial_operators(robot, symbols)
    values = ca.Function("f", [symbols], [ca.densify(x) for x in found]).call([ca.DM(q)])
    return type(found)(*(np.array(x)[:, 0] if name == "I" else np.array(x) for name, x in zip(found._fields, values)))


# Kinematics -------------------------------------------------------------------------------------------------------


@named
def test_phi_is_the_inverse_of_one_minus_E(robot):
    """(9), (10), (11); Φ is zero where one body is not an ancestor of the other."""
    x = spatial_operators_at(robot, state(robot)[0])
    one = np.eye(6 * robot.n)
    assert relative_error(x.Phi @ (one - x.E), one) < TOLERANCE
    moving = [i for i, link in enumerate(robot.links) if link.joint.moves]
    for i, link in enumerate(moving):
        for j, other in enumerate(moving):
            block = x.Phi[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
            assert np.any(block) == (other in robot.path(link))


@named
def test_rates_of_the_operators(robot):
    """(19), (20): component-wise derivatives, by automatic differentiation of the operators themselves."""
    q, v, *_ = state(robot)
    x, symbols = operators(robot, q, v), ca.SX.sym("q", robot.n)
    found = spatial_operators(robot, symbols)
    for operator, expected in ((found.E, -x.Delta_ @ x.E), (found.Phi, -x.Phi @ x.Delta_ @ x.E @ x.Phi)):
        rate = ca.jtimes(ca.vec(ca.densify(operator)), symbols, ca.DM(v))
        value = np.array(ca.Function("f", [symbols], [ca.densify(rate)])(q))[:, 0].reshape(6 * robot.n, -1, order="F")
        assert np.max(np.abs(value - expected)) < TOLERANCE * (1 + np.max(np.abs(expected)))
    for constant in (found.H, found.H_r, found.M, found.I):
        assert not ca.depends_on(ca.densify(constant), symbols)


@named
def test_velocities_and_accelerations_are_those_of_pinocchio(robot):
    """(12), (13): V = Φ H q', V° = Φ (H q'' − Δ̃ V)."""
    q, v, a, *_ = state(robot)
    x = operators(robot, q, v)
    model, order = pinocchio_model(robot), pinocchio_order(robot)
    data = model.createData()
    pin.forwardKinematics(model, data, q[order], v[order], a[order])
    rate = x.Phi @ (x.H @ a - x.Delta_ @ x.V)
    for k, i in enumerate(order):
        rows = slice(6 * i, 6 * i + 6)
        motion, change = data.v[k + 1], data.a[k + 1]
        assert relative_error(x.V[rows], np.concatenate([motion.angular, motion.linear])) < TOLERANCE
        assert relative_error(rate[rows], np.concatenate([change.angular, change.linear])) < TOLERANCE


# Dynamics ---------------------------------------------------------------------------------------------------------


@named
def test_mass_matrix_and_coriolis_torque_are_those_of_pinocchio(robot):
    """(26), (27)."""
    q, v, *_ = state(robot)
    x = operators(robot, q, v)
    M = x.H.T @ x.Phi.T @ x.M @ x.Phi @ x.H
    assert relative_error(M, pinocchio_mass_matrix(robot, q)) < TOLERANCE
    C = -x.H.T @ x.Phi.T @ (x.M @ x.Phi @ x.Delta_ + x.V_.T @ x.M) @ x.V
    expected = pinocchio_rnea(robot.with_gravity([0.0, 0.0, 0.0]), q, v, np.zeros(robot.n))
    assert np.max(np.abs(C - expected)) < TOLERANCE * np.max(np.abs(M))


@named
def test_torques_with_gravity_are_those_of_pinocchio(robot):
    """(14), (15) with the base accelerated upwards, V°[0] = (0, −g)."""
    q, v, a, *_ = state(robot)
    x = operators(robot, q, v)
    fall = x.base @ np.concatenate([np.zeros(3), -robot.gravity])
    rate = x.Phi @ (x.H @ a - x.Delta_ @ x.V + fall)
    u = x.H.T @ x.Phi.T @ (x.M @ rate - x.V_.T @ x.M @ x.V)
    assert relative_error(u, pinocchio_rnea(robot, q, v, a)) < TOLERANCE


@geared
def test_rotors(robot):
    """(26)-(30), (33) against the recursions, which are tested against explicit rotor bodies."""
    q, v, a, theta_v, theta_a = state(robot)
    x = operators(robot, q, v)
    up = x.H.T @ x.Phi.T
    assert relative_error(up @ x.M @ x.Phi @ x.H, evaluate(fj.mass_matrix, robot, q)) < TOLERANCE
    S = up @ x.H_r @ np.diag(x.I)
    assert np.any(S) and relative_error(S, evaluate(fj.dynamics.rotor_coupling, robot, q)) < TOLERANCE
    rotor = up @ x.Omega_ @ x.H_r @ (x.I * theta_v)
    carrier = -x.I * (x.H_r.T @ x.Phi @ x.Delta_ @ x.V)
    scale = TOLERANCE * np.max(np.abs(x.I))
    assert np.max(np.abs(rotor - evaluate(fj.dynamics.rotor_torque, robot, q, v, theta_v))) < 10 * scale
    assert np.max(np.abs(carrier - evaluate(fj.dynamics.carrier_torque, robot, q, v))) < 10 * scale
    # the whole link equation (2) with (28), and the rotors' own (32): generalized forces of the same motion
    rate = x.Phi @ (x.H @ a - x.Delta_ @ x.V + x.base @ np.concatenate([np.zeros(3), -robot.gravity]))
    u = up @ (x.M @ rate - x.V_.T @ x.M @ x.V + x.H_r @ (x.I * theta_a)) + rotor
    forces = evaluate(fj.dynamics.generalized_forces, robot, q, v, q, theta_v, a, theta_a)
    friction = np.array([joint.viscous_friction for joint in robot.joints])
    assert relative_error(u + friction * v, forces.tau_e) < TOLERANCE


@geared
def test_energy_of_the_rotors_by_hand(robot):
    """q'ᵀ S θ' is Σ η I ω_carrier·axis θ': the carriers' velocities by Pinocchio, the axes from the data."""
    q, v, _, theta_v, _ = state(robot)
    x = operators(robot, q, v)
    S = x.H.T @ x.Phi.T @ x.H_r @ np.diag(x.I)
    model, order = pinocchio_model(robot), pinocchio_order(robot)
    data = model.createData()
    pin.forwardKinematics(model, data, q[order], v[order])
    energy = 0.0
    for link in robot.links:
        if not link.joint.moves:
            continue
        motor, k = link.joint.drive.motors[0], robot.coordinates[robot.link_index(link.name)]
        carrier = link.parent if motor.carrier is None else motor.carrier
        axis = link.joint.rotation[:, 2] if motor.axis is None else np.array(motor.axis)
        if carrier != "base":
            frame = pin.getFrameVelocity(model, data, model.getFrameId(carrier), pin.ReferenceFrame.LOCAL)
            energy += motor.inertia / motor.gear_ratio * theta_v[k] * float(axis @ frame.angular)
    assert v @ S @ theta_v == pytest.approx(energy, rel=1e-11)


def test_structure_of_the_coupling():
    """(6), (31): S strictly upper triangular, S_ij a function of q_{i+1} ... q_{j−1} alone."""
    robot, q = lbr(4), ca.SX.sym("q", 4)
    x = spatial_operators(robot, q)
    S = ca.simplify(x.H.T @ x.Phi.T @ x.H_r @ ca.diag(x.I))
    value = ca.Function("S", [q], [ca.densify(S), ca.densify(ca.jacobian(ca.vec(ca.densify(S)), q))])
    numbers, slope = (np.array(y) for y in value([0.3, -0.5, 0.8, 1.1]))
    slope = slope.reshape(4, 4, 4, order="F")  # [i, j, k] = ∂S_ij/∂q_k
    for i in range(4):
        for j in range(4):
            assert j > i or abs(numbers[i, j]) < 1e-15
            assert all(i < k < j or abs(slope[i, j, k]) < 1e-15 for k in range(4))
    assert abs(numbers[0, 2]) > 1e-3


# Cross products ---------------------------------------------------------------------------------------------------


def test_cross_products_of_arrays_and_expressions():
    X = np.random.default_rng(1).normal(size=(2, 12))
    found = spatial_cross(X)
    assert found.shape == (2, 12, 12)
    symbols = ca.SX.sym("X", 12)
    value = ca.Function("f", [symbols], [ca.densify(spatial_cross(symbols))])
    for row, matrix in zip(X, found):
        assert np.array_equal(np.array(value(row)), matrix)
        a, b, c, d = row[:3], row[3:6], *np.random.default_rng(2).normal(size=(2, 3))
        expected = np.concatenate([np.cross(a, c), np.cross(b, c) + np.cross(a, d)])
        assert relative_error(matrix[:6, :6] @ np.concatenate([c, d]), expected) < 1e-15
    for wrong in (np.ones(5), np.float64(1.0), ca.SX.sym("X", 5), ca.SX.sym("X", 6, 2)):
        with pytest.raises(fj.InputError, match="stacked spatial vectors"):
            spatial_cross(wrong)
    with pytest.raises(fj.InputError, match="X must be real numbers, not 'x'"):
        spatial_cross("x")
