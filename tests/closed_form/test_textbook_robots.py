"""Robots whose equations of motion are short enough to be written by hand."""

import numpy as np
import pytest

import flexjoint as fj
from support.errors import relative_error
from support.evaluate import evaluate

TOLERANCE = 1e-13
G = 9.81
ABOUT_MINUS_Y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # joint z is −y, x stays, joint y is up
ALONG_X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # joint z is x, joint y stays, joint x is down


def states(n, count, rows=20, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, count, n))


def body(mass, distance, about_axis):
    """Mass, centre of mass along x, and an inertia of which only the component about the joint counts."""
    return {
        "mass": mass,
        "com": (distance, 0.0, 0.0),
        "inertia": np.diag([0.7 * about_axis, 0.6 * about_axis, about_axis]),
    }


def arm(*, lengths=(0.6,), masses=(2.0,), centres=(0.25,), inertias=(0.03,), friction=(0.0,), drives=(None,)):
    """Links in the vertical plane x, z; angles count upwards from the horizontal, each from the link before."""
    links = []
    for i, (m, c, I, d, drive) in enumerate(zip(masses, centres, inertias, friction, drives)):
        position, rotation = ((lengths[i - 1], 0.0, 0.0), np.eye(3)) if i else ((0.0, 0.0, 0.0), ABOUT_MINUS_Y)
        joint = fj.Joint(f"joint{i + 1}", "revolute", position, rotation, viscous_friction=d, drive=drive)
        links.append(fj.Link(f"link{i + 1}", joint, f"link{i}" if i else "base", **body(m, c, I)))
    return fj.Robot("arm", tuple(links))


def test_pendulum():
    """τ = (I + m c²) q'' + D q' + m g c cos q."""
    m, c, I, D = 2.0, 0.25, 0.03, 0.4
    robot = arm(friction=(D,))
    for q, v, a in states(1, 3):
        tau = (I + m * c**2) * a + D * v + m * G * c * np.cos(q)
        assert relative_error(evaluate(fj.inverse_dynamics, robot, q, v, a), tau) < TOLERANCE
        assert np.allclose(evaluate(fj.forward_dynamics, robot, q, v, tau).ravel(), a, rtol=0, atol=1e-13)
        assert relative_error(evaluate(fj.kinetic_energy, robot, q, v), (I + m * c**2) * v**2 / 2) < TOLERANCE
        assert evaluate(fj.gravity_energy, robot, q).item() == pytest.approx(m * G * c * np.sin(q[0]), abs=1e-14)


def test_pendulum_torque_derivatives():
    m, c, I, D = 2.0, 0.25, 0.03, 0.4
    J, w = I + m * c**2, m * G * c
    robot = arm(friction=(D,))
    for q, v, a, j, s in states(1, 5):
        expected = [
            J * a + D * v + w * np.cos(q),
            J * j + D * a - w * np.sin(q) * v,
            J * s + D * j - w * (np.cos(q) * v**2 + np.sin(q) * a),
        ]
        assert relative_error(evaluate(fj.torque_derivatives, robot, q, v, a, j, s, order=2), expected) < TOLERANCE


def test_one_elastic_joint():
    """τ = B (q'' + τ_e''/K) + τ_e  [EJNEA (9), (10)], τ_e'' by hand."""
    m, c, I, D, B, K = 2.0, 0.25, 0.03, 0.4, 0.5, 300.0
    J, w = I + m * c**2, m * G * c
    robot = arm(friction=(D,), drives=(fj.ElasticDrive(K, fj.Motor(B)),))
    for q, v, a, j, s in states(1, 5):
        tau_e = J * a + D * v + w * np.cos(q)
        tau_e2 = J * s + D * j - w * (np.cos(q) * v**2 + np.sin(q) * a)
        tau = B * (a + tau_e2 / K) + tau_e
        assert relative_error(evaluate(fj.inverse_dynamics, robot, q, v, a, j, s), tau) < TOLERANCE
        assert relative_error(fj.inverse_dynamics(robot, q, v, a, j, s), tau) < TOLERANCE
        bare = robot.without_drives()
        assert np.allclose(evaluate(fj.forward_dynamics, bare, q, v, tau_e).ravel(), a, rtol=0, atol=1e-13)


def test_rigid_drive_adds_its_inertia():
    m, c, I, B = 2.0, 0.25, 0.03, 0.5
    robot = arm(drives=(fj.RigidDrive(fj.Motor(B)),))
    for q, v, a in states(1, 3):
        tau = (I + m * c**2 + B) * a + m * G * c * np.cos(q)
        assert relative_error(evaluate(fj.inverse_dynamics, robot, q, v, a), tau) < TOLERANCE


def test_a_stiff_spring_tends_to_the_rigid_joint():
    """The difference B τ_e''/K falls as 1/K."""
    q, v, a, j, s = states(1, 5)[0]

    def torque(drive):
        return evaluate(fj.inverse_dynamics, arm(drives=(drive,)), q, v, a, j, s).item()

    rigid = torque(fj.RigidDrive(fj.Motor(0.5)))
    gaps = [abs(torque(fj.ElasticDrive(K, fj.Motor(0.5))) - rigid) for K in (1e3, 1e4, 1e5)]
    assert gaps[0] > 1e-4
    assert gaps[0] / gaps[1] == pytest.approx(10, rel=1e-6)
    assert gaps[1] / gaps[2] == pytest.approx(10, rel=1e-4)


def test_double_pendulum():
    """The planar two-link arm of the textbooks (Spong, Hutchinson, Vidyasagar, ch. 7; Siciliano et al., ch. 7)."""
    l1, (m1, m2), (c1, c2), (I1, I2) = 0.6, (2.0, 1.5), (0.25, 0.3), (0.03, 0.02)
    robot = arm(
        lengths=(l1, 0.5), masses=(m1, m2), centres=(c1, c2), inertias=(I1, I2), friction=(0, 0), drives=(None, None)
    )
    for q, v, a in states(2, 3):
        cos2, h = np.cos(q[1]), -m2 * l1 * c2 * np.sin(q[1])
        m12 = m2 * (c2**2 + l1 * c2 * cos2) + I2
        M = np.array([[m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * cos2) + I1 + I2, m12], [m12, m2 * c2**2 + I2]])
        c = np.array([h * (2 * v[0] * v[1] + v[1] ** 2), -h * v[0] ** 2])
        far = m2 * c2 * G * np.cos(q[0] + q[1])
        g = np.array([(m1 * c1 + m2 * l1) * G * np.cos(q[0]) + far, far])
        assert relative_error(evaluate(fj.mass_matrix, robot, q), M) < TOLERANCE
        assert relative_error(evaluate(fj.coriolis_torque, robot, q, v), c) < TOLERANCE
        assert relative_error(evaluate(fj.gravity_torque, robot, q), g) < TOLERANCE
        assert relative_error(evaluate(fj.inverse_dynamics, robot, q, v, a), M @ a + c + g) < TOLERANCE
        tip = l1 * np.array([np.cos(q[0]), np.sin(q[0])])
        assert np.allclose(evaluate(fj.forward_kinematics, robot, q).position, [tip[0], 0, tip[1]], atol=1e-15)


def test_cart_pole():
    """(M + m) x'' + m l (θ'' cos θ − θ'² sin θ) = F,  (I + m l²) θ'' + m l x'' cos θ + m g l sin θ = τ."""
    M, m, l, I = 3.0, 0.7, 0.4, 0.02
    # In the cart's frame z is forward and x down.  At θ = 0 the pole's x is down and its y forward.
    hinge = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    cart = fj.Link("cart", fj.Joint("rail", "prismatic", rotation=ALONG_X), **body(M, 0.0, 0.1))
    pole = fj.Link("pole", fj.Joint("hinge", "revolute", rotation=hinge), "cart", **body(m, l, I))
    robot = fj.Robot("cart_pole", (cart, pole))
    for q, v, a in states(2, 3):
        c, s = np.cos(q[1]), np.sin(q[1])
        tau = [
            (M + m) * a[0] + m * l * (a[1] * c - v[1] ** 2 * s),
            (I + m * l**2) * a[1] + m * l * a[0] * c + m * G * l * s,
        ]
        assert relative_error(evaluate(fj.inverse_dynamics, robot, q, v, a), tau) < TOLERANCE
        inertia = [[M + m, m * l * c], [m * l * c, I + m * l**2]]
        assert relative_error(evaluate(fj.mass_matrix, robot, q), inertia) < TOLERANCE
        assert np.allclose(evaluate(fj.forward_dynamics, robot, q, v, np.array(tau)).ravel(), a, rtol=0, atol=1e-13)


def test_sliding_mass():
    """Up a slope of 30°: F = m x'' + D x' + m g sin 30°, elastic or not."""
    m, D, K, B = 4.0, 0.3, 500.0, 1.5
    up, side = np.array([np.cos(np.pi / 6), 0.0, 0.5]), np.array([0.0, 1.0, 0.0])
    slope = np.column_stack([np.cross(side, up), side, up])
    link = {"mass": m, "com": (0.1, 0.2, 0.3), "inertia": 0.1 * np.eye(3)}

    def mass_on_slope(drive):
        joint = fj.Joint("slope", "prismatic", rotation=slope, viscous_friction=D, drive=drive)
        return fj.Robot("slider", (fj.Link("mass", joint, **link),))

    for x, v, a, j, s in states(1, 5):
        force = m * a + D * v + m * G / 2
        assert relative_error(evaluate(fj.inverse_dynamics, mass_on_slope(None), x, v, a), force) < TOLERANCE
        spring = mass_on_slope(fj.ElasticDrive(K, fj.Motor(B)))
        driven = force + B * (a + (m * s + D * j) / K)
        assert relative_error(evaluate(fj.inverse_dynamics, spring, x, v, a, j, s), driven) < TOLERANCE


def test_spinning_disc_on_a_turning_arm():
    """A gyroscope: the moment across both axes is I ω₁ ω₂, carried by the structure and seen in the joint wrench."""
    I, w1, w2 = 0.05, 3.0, 40.0
    disc = {"mass": 1.0, "inertia": np.diag([I / 2, I / 2, I])}
    tilt = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # the disc's axis is the turntable's x
    robot = fj.Robot(
        "gyroscope",
        (
            fj.Link("turntable", fj.Joint("vertical")),
            fj.Link("disc", fj.Joint("axle", rotation=tilt), "turntable", **disc),
        ),
        gravity=np.zeros(3),
    )
    rows = evaluate(fj.joint_wrenches, robot, np.zeros(2), np.array([w1, w2]), np.zeros(2))
    # L = I ω₂ x + ..., L' = ω₁ z × I ω₂ x = I ω₁ ω₂ y, in the turntable's coordinates
    assert np.allclose(rows[0], [0, 0, 0, 0, I * w1 * w2, 0], atol=1e-14)
