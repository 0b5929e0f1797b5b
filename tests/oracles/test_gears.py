"""Hysteresis and backlash of gears against equations written here: Pinocchio's links and SciPy's integrators.

The laws are written again in NumPy; nothing of flexjoint takes part but the robot's numbers.
"""

from dataclasses import replace

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from flexjoint.drives import BoucWen, Dahl
from support.errors import relative_error
from support.evaluate import evaluate
from support.marks import some_long
from support.pinocchio_model import pinocchio_model, pinocchio_order


def geared(n, seed, **options):
    """A random tree whose elastic joints have hysteresis, backlash, both or neither, in turn."""
    options = {"tree": True, "prismatic": 0.3, "elastic": 0.8} | options
    robot, rng = fj.random_robot(n, seed, **options), np.random.default_rng(seed)
    drives = []
    for k, joint in enumerate(robot.joints):
        drive = joint.drive
        if isinstance(drive, fj.ElasticDrive):
            T, sigma, gap = rng.uniform(0.5, 2.0), rng.uniform(300.0, 900.0), rng.uniform(1e-3, 4e-3)
            laws = (Dahl(T, sigma), BoucWen(T, sigma, 1.5, 1.3), None, BoucWen(T, sigma, 3.0), Dahl(T, sigma))
            gaps = (0.0, gap, gap, 0.0, gap)
            drive = replace(drive, hysteresis=laws[k % 5], backlash=gaps[k % 5], damping=rng.uniform(0.0, 0.5))
        drives.append(drive)
    return robot.with_drives(drives)


def numbers(law):
    """T, σ, n, β of a law."""
    return (law.torque, law.stiffness, getattr(law, "exponent", 1.0), getattr(law, "reversal", 2.0) / 2)


def slopes(law, z, phi_v):
    """z' and the lost power of Bouc and Wen's law, as printed: φ' − β |φ'| |z|ⁿ⁻¹ z − γ φ' |z|ⁿ."""
    T, sigma, n, beta = numbers(law)
    lost = beta * abs(phi_v) * abs(z) ** (n - 1) * z + (1 - beta) * phi_v * abs(z) ** n
    return sigma / T * (phi_v - lost), T * z * lost


def gear_torque(drive, phi, phi_v, z):
    """τ_e of a linear spring behind a gap, a damper and hysteresis."""
    half = drive.backlash / 2
    beyond = phi - half if phi > half else phi + half if phi < -half else 0.0
    return drive.stiffness * beyond + drive.damping * phi_v + (drive.hysteresis.torque * z if drive.hysteresis else 0.0)


class Explicit:
    """The equations of motion: Pinocchio's links, one motor per joint, gears as above."""

    def __init__(self, robot):
        self.robot, self.model, self.order = robot, pinocchio_model(robot, motors=True), pinocchio_order(robot)
        self.data = self.model.createData()
        self.laws = [getattr(joint.drive, "hysteresis", None) for joint in robot.joints]

    def on_links(self, q, v, theta, theta_v, z, tau):
        """Torque of each gear, of the motor at a rigid joint."""
        phi, phi_v = theta - q, theta_v - v
        springs = zip(self.robot.joints, self.robot.compliant, phi, phi_v, z, tau)
        return np.array([gear_torque(j.drive, *now) if elastic else own for j, elastic, *now, own in springs])

    def needed(self, q, v, a):
        """Torque on the links that the accelerations need."""
        tau = np.empty(self.robot.n)
        tau[self.order] = pin.rnea(self.model, self.data, q[self.order], v[self.order], a[self.order])
        return tau

    def accelerations(self, q, v, theta, theta_v, z, tau):
        robot, on_links, theta_a = self.robot, self.on_links(q, v, theta, theta_v, z, tau), np.zeros(self.robot.n)
        for i, joint in enumerate(robot.joints):
            if robot.compliant[i]:
                theta_a[i] = (tau[i] - on_links[i]) / joint.drive.motor.inertia
        order, a = self.order, np.empty(robot.n)
        a[order] = pin.aba(self.model, self.data, q[order], v[order], on_links[order])
        return a, np.where(robot.compliant, theta_a, a)

    def flow(self, tau):
        n = self.robot.n

        def rate(_, x):
            q, v, theta, theta_v, z, _ = x.reshape(6, n)
            a, theta_a = self.accelerations(q, v, theta, theta_v, z, tau)
            slipping = [slopes(law, z[i], theta_v[i] - v[i]) if law else (0.0, 0.0) for i, law in enumerate(self.laws)]
            turning = np.where(self.robot.compliant, theta_v, v)
            return np.concatenate([v, a, turning, theta_a, *np.transpose(slipping)])

        return rate


def thrown(robot, seed=0, deflection=0.01):
    """A state far from equilibrium, motors of rigid joints at their links."""
    rng = np.random.default_rng(seed)
    q, v, bent, theta_v = rng.uniform(-1.0, 1.0, (4, robot.n))
    theta = np.where(robot.compliant, q + deflection * bent, q)
    return fj.JointState(q, v, theta, np.where(robot.compliant, theta_v, v))


@pytest.mark.parametrize("n", some_long([1, 2, 5, 12, 30], "30"))
def test_forward_dynamics(n):
    robot = geared(n, n + 40)
    rng, state = np.random.default_rng(n), thrown(robot, n)
    z, tau = rng.uniform(-1.0, 1.0, n), rng.normal(size=n)
    found = evaluate(fj.forward_dynamics, robot, *state, tau, hysteresis=z)
    wanted = Explicit(robot).accelerations(*state, z, tau)
    assert all(np.max(np.abs(x - y)) < 1e-9 * max(1.0, np.max(np.abs(y))) for x, y in zip(found, wanted))
    explicit = Explicit(robot)
    torque = explicit.on_links(*state, z, tau)
    assert relative_error(explicit.needed(state.q, state.v, np.ravel(found.a)), torque) < 1e-12
    smooth = evaluate(fj.forward_dynamics, robot.without_gear_losses(), *state, tau)
    assert np.max(np.abs(found.a - smooth.a)) > 1e-3


def test_complete_rotors():
    """Hysteresis acts on link and motor alike: the accelerations it adds are A⁻¹ (T z, −T z), A over (q, θ)."""
    robot = fj.load("dlr_lbr2").with_fidelity("complete")
    assert all(robot.elastic)
    robot = robot.with_drives(
        [replace(joint.drive, hysteresis=Dahl(k + 1.0, 900.0)) for k, joint in enumerate(robot.joints)]
    )
    state, z = thrown(robot, 3), np.random.default_rng(3).uniform(-1.0, 1.0, robot.n)
    found, still = (fj.forward_dynamics(robot, *state, np.ones(robot.n), hysteresis=x) for x in (z, 0 * z))
    A, torque = fj.mass_matrix(robot, state.q, motors=True), np.arange(1.0, robot.n + 1) * z
    added = np.concatenate([found.a - still.a, found.theta_a - still.theta_a])
    assert np.max(np.abs(A @ added - np.concatenate([torque, -torque]))) < 1e-9 * np.max(np.abs(added))


@pytest.mark.parametrize("side", ["motor", "joint"])
def test_coupled_transmissions(side):
    """φ = T_b⁻¹θ − T_a q, T_aᵀτ_e on the links, T_b⁻ᵀτ_e on the motors: gears sit where the springs are."""
    robot, T = geared(2, 42, elastic=1.0), np.array([[1.0, 1.0], [1.0, -2.0]])
    names = tuple(joint.name for joint in robot.joints)
    coupled = robot.replace(transmissions=(fj.drives.CoupledTransmission(names, T.tolist(), springs=side),))
    Ta, Tb = (T, np.eye(2)) if side == "motor" else (np.eye(2), T)
    rng, explicit = np.random.default_rng(7), Explicit(robot)
    q, v, bent, theta_v, z, tau = rng.uniform(-1.0, 1.0, (6, 2))
    theta = Tb @ (Ta @ q + 0.01 * bent)
    phi, phi_v = np.linalg.solve(Tb, theta) - Ta @ q, np.linalg.solve(Tb, theta_v) - Ta @ v
    tau_e = [gear_torque(joint.drive, *x) for joint, *x in zip(robot.joints, phi, phi_v, z)]
    a = np.empty(2)
    order = explicit.order
    a[order] = pin.aba(explicit.model, explicit.data, q[order], v[order], (Ta.T @ tau_e)[order])
    inertia = [joint.drive.motor.inertia for joint in robot.joints]
    found = evaluate(fj.forward_dynamics, coupled, q, v, theta, theta_v, tau, hysteresis=z)
    assert np.allclose(found.a, a, rtol=1e-10, atol=1e-10)
    assert np.allclose(found.theta_a, (tau - np.linalg.solve(Tb.T, tau_e)) / inertia, rtol=1e-10, atol=1e-10)
    plant, h = fj.simulation.Plant(coupled), len(coupled.hysteretic)
    rates = np.array(ca.DM(plant.gear_rates(ca.DM(z[list(coupled.hysteretic)]), ca.DM([*v, *theta_v]))))[:, 0]
    wanted = [slopes(explicit.laws[i], z[i], phi_v[i]) for i in coupled.hysteretic]
    assert h and np.allclose(rates, np.transpose(wanted).ravel(), rtol=1e-12)


# Runs ----------------------------------------------------------------------------------------------------------------

ROBOT = geared(5, 8)
TAU = np.array([0.5, -0.4, 0.3, 0.2, -0.1])
DURATION = 0.1


@pytest.fixture(scope="module")
def solution():
    """The state (6, n) at the end by SciPy: q, v, θ, θ', z, lost energy."""
    start = thrown(ROBOT)
    x = np.concatenate([*start, np.zeros(2 * ROBOT.n)])
    found = solve_ivp(Explicit(ROBOT).flow(TAU), (0.0, DURATION), x, "DOP853", rtol=1e-12, atol=1e-13, max_step=1e-3)
    return found.y[:, -1].reshape(6, ROBOT.n)


def end(run):
    return np.stack([*run.states, run.more["hysteresis"], run.more["dissipated"]])[:, -1]


def test_the_robot_has_all_kinds_of_gears():
    drives = [joint.drive for joint in ROBOT.joints]
    kinds = {(bool(x.hysteresis), x.backlash > 0) for x in drives if isinstance(x, fj.ElasticDrive)}
    assert kinds == {(True, True), (True, False), (False, True)} and {j.kind.name for j in ROBOT.joints} == {
        "revolute",
        "prismatic",
    }


def test_adaptive_steps(solution):
    law = fj.control.OpenLoop(ROBOT)
    run = fj.simulation.reference_solution(ROBOT, law, TAU, DURATION, period=1e-3, start=thrown(ROBOT))
    assert np.max(np.abs(end(run) - solution)) < 1e-8


ORDERS = {"runge_kutta": ("runge_kutta", 2), "euler": ("euler", 1), "midpoint": ("midpoint", 2)}


@pytest.mark.parametrize("integrator, order", some_long(ORDERS, "euler", "midpoint"))
def test_order_of_convergence(solution, integrator, order):
    """At reversals and at the edges of gaps an integrator errs by h²: no run with gears has a higher order."""
    law, errors = fj.control.OpenLoop(ROBOT), []
    for substeps in (4, 16):
        run = fj.simulate(
            ROBOT, law, TAU, DURATION, period=1e-3, substeps=substeps, start=thrown(ROBOT), integrator=integrator,
            check=False,
        )  # fmt: skip
        errors.append(np.max(np.abs(end(run) - solution)))
    assert errors[0] < 0.02 and errors[0] / errors[1] > 0.6 * 4**order
