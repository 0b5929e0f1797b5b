"""Modes and limits against closed forms and SciPy."""

import numpy as np
import pytest
from scipy.linalg import eigh, expm
from scipy.optimize import brentq
from scipy.signal import cont2discrete

import flexjoint as fj
from flexjoint.control.sampling import mean_response
from support.errors import relative_error
from support.marks import some_long

LWR = fj.load("kuka_lwr")
Q = np.full(7, 0.3)
M1, B1, K1 = 0.7, 0.2, 90.0


def one_joint(drive, gravity=(0.0, 0.0, 0.0), friction=0.0):
    joint = fj.Joint("hinge", viscous_friction=friction, drive=drive)
    link = fj.Link("bar", joint, mass=1.0, com=[0.5, 0.0, 0.0], inertia=np.diag([0.3, 0.3, M1 - 0.25]))
    return fj.Robot("bar", (link,), np.array(gravity))


SPRING = one_joint(fj.ElasticDrive(K1, fj.Motor(B1)))
OMEGA = np.sqrt(K1 / M1 + K1 / B1)


def test_modes_of_one_joint():
    modes = fj.control.joint_modes(SPRING, [0.3])
    assert np.allclose(modes.frequencies, [0.0, OMEGA], rtol=1e-14)
    assert np.allclose(modes.links[:, 0] / modes.motors[:, 0], [1.0, -B1 / M1], rtol=1e-12)


def test_modes_of_the_lwr_solve_the_eigenproblem():
    M, K = np.zeros((14, 14)), np.zeros((14, 14))
    M[:7, :7] = fj.mass_matrix(LWR, Q)
    stiffness = np.diag([joint.drive.stiffness for joint in LWR.joints])
    M[7:, 7:] = np.diag([joint.drive.motor.inertia for joint in LWR.joints])
    K[:7, :7] = K[7:, 7:] = stiffness
    K[:7, 7:] = K[7:, :7] = -stiffness
    modes = fj.control.joint_modes(LWR, Q)
    assert np.array_equal(modes.frequencies[:7], np.zeros(7))
    assert np.allclose(modes.frequencies[7:] ** 2, eigh(K, M, eigvals_only=True)[7:], rtol=1e-9)
    x = np.hstack([modes.links, modes.motors])
    assert np.allclose(x @ K, modes.frequencies[:, None] ** 2 * (x @ M), atol=1e-7)
    assert abs(modes.frequencies[-1] / 2530 - 1) < 0.01
    assert np.argmax(np.abs(modes.links[-1])) == 6


def test_rigid_joints_have_no_mode_of_their_own():
    robot = fj.random_robot(3, 5, elastic=0.34)
    modes = fj.control.joint_modes(robot, np.zeros(3))
    assert np.count_nonzero(modes.frequencies) == sum(robot.compliant) == 1
    rigid = ~np.array(robot.compliant)
    assert np.array_equal(modes.links[:, rigid], modes.motors[:, rigid])


def test_a_nonlinear_spring_has_the_stiffness_of_its_load():
    robot = one_joint(fj.ElasticDrive(fj.springs.CubicSpring(K1, 4000.0), fj.Motor(B1)), gravity=(0.0, 9.81, 0.0))
    load = 9.81 * 0.5 * np.cos(0.4)
    phi = brentq(lambda x: K1 * x + 4000.0 * x**3 - load, 0.0, 1.0)
    k = K1 + 3 * 4000.0 * phi**2
    assert np.isclose(fj.control.joint_modes(robot, [0.4]).frequencies[1], np.sqrt(k / M1 + k / B1), rtol=1e-12)


def test_runge_kutta_limit():
    assert np.isclose(fj.control.runge_kutta_limit(SPRING, [0.0]), np.sqrt(8) / OMEGA, rtol=1e-6)
    assert np.isclose(fj.control.runge_kutta_limit(LWR, Q), 2.8 / 2530, rtol=0.02)
    damped = one_joint(fj.ElasticDrive(K1, fj.Motor(B1), damping=20.0))
    h = fj.control.runge_kutta_limit(damped, [0.0])
    A = np.array(
        [[0, 0, 1, 0], [0, 0, 0, 1], [-K1 / M1, K1 / M1, -20 / M1, 20 / M1], [K1 / B1, -K1 / B1, 20 / B1, -20 / B1]]
    )

    def radius(h):
        step = sum(np.linalg.matrix_power(A * h, k) / np.prod(np.arange(1.0, k + 1)) for k in range(5))
        return np.max(np.abs(np.linalg.eigvals(step)))

    assert radius(0.999 * h) < 1 + 1e-6
    assert radius(1.001 * h) > 1 + 1e-5


def linear_growth(M, K, B, gains, h):
    """Largest |eigenvalue| of robot, law and hold, in the coordinates (q, q', q'', q'''): no gravity, no friction."""
    n = len(M)
    one, none = np.eye(n), np.zeros((n, n))
    inverse_M, inverse_B = np.linalg.inv(M), np.linalg.inv(B)
    stiff = inverse_M @ K  # M q'''' = τ_e'' = K (B⁻¹(τ − τ_e) − M⁻¹τ_e), τ_e = M q''
    A = np.block(
        [
            [none, one, none, none],
            [none, none, one, none],
            [none, none, none, one],
            [none, none, -stiff @ (inverse_B + inverse_M) @ M, none],
        ]
    )
    inputs = np.vstack([none, none, none, stiff @ inverse_B])
    command = -np.hstack([g * one for g in gains])
    F = B @ np.linalg.inv(K) @ M @ command + np.hstack([none, none, M + B, none])
    Ad, Bd, *_ = cont2discrete((A, inputs, np.eye(4 * n), np.zeros((4 * n, n))), h)
    return np.max(np.abs(np.linalg.eigvals(Ad + Bd @ F)))


LIMITS = {
    f"{name}-{kind}": (robot, poles)
    for name, robot in {"one joint": SPRING, "LWR": LWR.with_gravity([0.0, 0.0, 0.0])}.items()
    for kind, poles in {"real": [-10] * 4, "complex": [-5, -6, -7 + 3j, -7 - 3j]}.items()
}


@pytest.mark.parametrize(("robot", "poles"), some_long(LIMITS, "LWR-complex"))
def test_sampling_limit_of_the_linear_model(robot, poles):
    gains = fj.control.gains_from_poles(poles)
    q = Q[: robot.n]
    limit = fj.control.sampling_period_limit(robot, q, gains)
    K = np.diag([joint.drive.stiffness for joint in robot.joints])
    B = np.diag([joint.drive.motor.inertia for joint in robot.joints])
    M = fj.mass_matrix(robot, q)
    assert linear_growth(M, K, B, gains, 0.98 * limit) < 1
    assert linear_growth(M, K, B, gains, 1.02 * limit) > 1


def test_the_lwr_needs_60_microseconds():
    """Poles at −10 on joint 7, which sits at 2530 rad/s; the rule agrees with the eigenvalues."""
    gains = fj.control.gains_from_poles([-10] * 4)
    limit = fj.control.sampling_period_limit(LWR, Q, gains)
    assert abs(limit / 60e-6 - 1) < 0.01
    rule = fj.control.routh_period_limit(fj.control.joint_modes(LWR, Q).frequencies[-1], gains)
    assert abs(limit / rule - 1) < 0.005
    # K₃ = 40 may grow to 120 + √12800, where s⁴ + K₃ s³ + 600 s² + 4000 s + 10⁴ has a pair on the axis
    assert np.isclose(fj.control.routh_period_limit(2.0, gains), (120 + np.sqrt(12800) - 40) / 2, rtol=1e-12)


@pytest.mark.parametrize("h", [1e-6, 1e-2, 3.0])
def test_mean_response(h):
    A = np.random.default_rng(0).normal(size=(5, 5))
    exact = expm(np.block([[A, np.eye(5)], [np.zeros((5, 10))]]) * h)[:5, 5:] / h
    assert relative_error(mean_response(A, h), exact) < 1e-13


@pytest.mark.parametrize("q", [np.zeros(3), np.zeros((2, 7)), np.full(7, np.nan), "home"])
@pytest.mark.parametrize("function", [fj.control.joint_modes, fj.control.runge_kutta_limit])
def test_bad_configurations(function, q):
    with pytest.raises(fj.InputError, match="7 finite numbers"):
        function(LWR, q)


def test_bad_gains():
    with pytest.raises(fj.InputError, match="not stable"):
        fj.control.sampling_period_limit(LWR, Q, [1e4, 4e3, 600.0, 300.0])
    with pytest.raises(fj.InputError, match="robot must be a Robot, not str"):
        fj.control.sampling_period_limit("kuka_lwr", Q, [1e4, 4e3, 600.0, 40.0])
