"""Integrators against SciPy, closed forms and the conservation of energy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from support.marks import some_long

MOTOR = fj.Motor(0.5, 0.3)
MIXED = fj.random_robot(3, 21, prismatic=0.3, friction=True).with_drives(
    [fj.ElasticDrive(300.0, MOTOR), fj.RigidDrive(MOTOR), fj.ElasticDrive(200.0, MOTOR, damping=2.0)]
)
LWR = fj.load("kuka_lwr")
ORDERS = {"runge_kutta": 4, "euler": 1, "midpoint": 2}


def thrown(robot, seed=0, deflection=0.05):
    """A state far from equilibrium."""
    rng = np.random.default_rng(seed)
    q, v, bent, theta_v = rng.uniform(-1.0, 1.0, (4, robot.n))
    return fj.JointState(q, v, q + deflection * bent, theta_v)


def exact(robot, start, tau, duration):
    """The final (q, θ) by SciPy, of a robot whose θ at rigid joints follows q."""
    n, elastic = robot.n, np.array(robot.compliant)

    def flow(_, x):
        q, v, theta, theta_v = x.reshape(4, n)
        a, theta_a = fj.forward_dynamics(robot, q, v, theta, theta_v, tau)
        return np.concatenate([v, a, np.where(elastic, theta_v, v), theta_a])

    theta, theta_v = np.where(elastic, start.theta, start.q), np.where(elastic, start.theta_v, start.v)
    x = np.concatenate([start.q, start.v, theta, theta_v])
    found = solve_ivp(flow, (0.0, duration), x, "DOP853", rtol=1e-13, atol=1e-13)
    return found.y[:, -1].reshape(4, n)[[0, 2]]


@pytest.mark.parametrize("integrator", some_long([*ORDERS], "euler"))
def test_order_of_convergence(integrator):
    """Halving the step divides the error by 2ᵖ, with springs, damping, friction and rigid joints in one robot."""
    start, tau = thrown(MIXED), np.array([0.5, -0.3, 0.2])
    wanted = exact(MIXED, start, tau, 0.1)
    errors = []
    for substeps in (20, 40, 80):  # at 160 the error of Runge-Kutta, 2e-13, is that of SciPy's solution
        options = {"period": 0.02, "start": start, "integrator": integrator, "substeps": substeps, "check": False}
        run = fj.simulate(MIXED, fj.control.OpenLoop(MIXED), tau, 0.1, **options)
        errors.append(np.linalg.norm(np.array([run.q[-1], run.theta[-1]]) - wanted))
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert abs(orders[-1] - ORDERS[integrator]) < 0.06
    assert abs(orders[-1] - ORDERS[integrator]) <= abs(orders[0] - ORDERS[integrator])


@pytest.mark.long
def test_elastic_7R_against_adaptive_steps():
    """The LWR thrown with its springs bent, for 1 s in steps of 2.5 µs, against DOP853 at 1e-12: 1e-9 rad.

    The phase of its fastest mode alone is off by ω (ωh)⁴/120 · 1 s: 3e-8 rad of 0.01 at h = 10 µs.
    """
    start, tau = thrown(LWR, deflection=0.01), fj.gravity_torque(LWR, np.zeros(7))
    run = fj.simulate(LWR, fj.control.OpenLoop(LWR), tau, 1.0, period=0.01, substeps=4000, start=start, check=False)
    wanted = fj.simulation.reference_solution(LWR, fj.control.OpenLoop(LWR), tau, 1.0, period=0.01, start=start)
    assert np.max(np.abs(wanted.q[5] - exact(LWR, start, tau, 0.05)[0])) < 1e-10
    assert np.max(np.abs(run.q - wanted.q)) < 1e-9
    assert np.max(np.abs(run.theta - wanted.theta)) < 1e-9
    assert np.all(np.ptp(run.q, axis=0) > 0.3)


def test_radau_with_the_compiled_jacobian():
    start, tau = thrown(MIXED), np.zeros(3)
    explicit, implicit = (
        fj.simulation.reference_solution(
            MIXED, fj.control.OpenLoop(MIXED), tau, 0.05, period=0.01, start=start, method=m, tolerance=1e-11
        )
        for m in ("DOP853", "Radau")
    )
    assert np.max(np.abs(implicit.q - explicit.q)) < 1e-9


def energy(robot, run):
    B = np.array([joint.drive.motor.inertia for joint in robot.joints])
    K = np.array([joint.drive.stiffness for joint in robot.joints])
    springs = 0.5 * np.sum(K * (run.theta - run.q) ** 2 + B * run.theta_v**2, axis=-1)
    return fj.kinetic_energy(robot, run.q, run.v) + fj.gravity_energy(robot, run.q) + springs


@pytest.mark.long
def test_energy_over_ten_seconds():
    """The undamped LWR at ωh = 0.5: the midpoint rule keeps the energy, Runge-Kutta loses that of the fastest joint."""
    start = fj.JointState(*(0.3 * x for x in thrown(LWR)))
    worst = {}
    for integrator in ("midpoint", "runge_kutta"):
        run = fj.simulate(
            LWR,
            fj.control.OpenLoop(LWR),
            np.zeros(7),
            10.0,
            period=2e-4,
            start=start,
            integrator=integrator,
            check=False,
        )
        exchanged = np.ptp(fj.kinetic_energy(LWR, run.q, run.v))
        worst[integrator] = np.max(np.abs(energy(LWR, run) - energy(LWR, run)[0])) / exchanged
    assert worst["midpoint"] < 5e-5
    assert worst["runge_kutta"] > 50 * worst["midpoint"]


def oscillator(drive=None):
    joint = fj.Joint("axis", "revolute", drive=drive)
    link = fj.Link("wheel", joint, mass=1.0, inertia=np.diag([0.5, 0.5, 0.2]))
    return fj.Robot("wheel", (link,), gravity=(0.0, 0.0, 0.0))


def test_motor_and_wheel():
    """Two inertias I and B on a spring K turn against each other at ω² = K (1/I + 1/B)."""
    robot = oscillator(fj.ElasticDrive(80.0, fj.Motor(0.3)))
    omega = np.sqrt(80.0 * (1 / 0.2 + 1 / 0.3))
    start = fj.JointState([0.3], [0.0], [-0.2], [0.0])
    run = fj.simulate(robot, fj.control.OpenLoop(robot), [0.0], 1.0, period=1e-3, start=start)
    assert np.allclose(run.theta[:, 0] - run.q[:, 0], -0.5 * np.cos(omega * run.t), atol=1e-7, rtol=0)
    assert np.allclose(0.2 * run.q + 0.3 * run.theta, 0.0, atol=1e-13)


def test_contact_as_a_function_of_time_and_state():
    """A torsion spring k between link and world, and a moment that begins to act: q'' I = −k q + m t."""
    robot = oscillator()

    def contact(t, state):
        return {"wheel": fj.spatial.ca.vertcat(0, 0, 0, 0, 0, 3.0 * t - 5.0 * state.q)}

    run = fj.simulate(robot, fj.control.OpenLoop(robot), [0.0], 2.0, period=1e-3, contact=contact)
    omega = np.sqrt(5.0 / 0.2)
    wanted = 3.0 / 5.0 * (run.t - np.sin(omega * run.t) / omega)
    assert np.allclose(run.q[:, 0], wanted, atol=1e-9, rtol=0)
