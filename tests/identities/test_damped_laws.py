"""Damped springs that are not linear and damped joints of variable stiffness, against equations solved elsewhere."""

import dataclasses
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq, fsolve

import flexjoint as fj
from support.errors import relative_error
from support.lagrange import transmitted
from support.marks import long, some_long

UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
J, W = 0.155, 4.905  # of the pendulum below: inertia about its axis, weight times its arm
MOTOR, SECOND = fj.Motor(0.5, viscous_friction=0.3), fj.Motor(0.4)
MOTION = fj.trajectory.RestToRest([-0.5], [0.8], 1.5, smoothness=5)
STIFFNESS = fj.trajectory.RestToRest([500.0], [900.0], 1.5, smoothness=5)
CUBIC = fj.springs.CubicSpring(120.0, 4e4)


def pendulum(drive):
    body = {"mass": 2.0, "com": (0.25, 0.0, 0.0), "inertia": np.diag([0.02, 0.02, 0.03])}
    return fj.Robot("pendulum", (fj.Link("leg", fj.Joint("hip", rotation=UP, drive=drive), **body),))


def asked(t):
    """τ_e of the pendulum and its rate along MOTION, by hand."""
    q, v, a, jerk = MOTION(t, order=3)[..., 0]
    return J * a + W * np.cos(q), J * jerk - W * np.sin(q) * v


def integrated(slope, start, t):
    """By an integrator with steps of its own."""
    return solve_ivp(slope, (0.0, t[-1]), start, "Radau", t_eval=t, rtol=1e-10, atol=1e-12, max_step=0.01).y


# One motor --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QuinticSpring(fj.springs.Spring):
    """A law without an inverse."""

    K: float

    def torque(self, phi):
        return self.K * (phi + 400 * phi**5)


LAWS = {  # each with its torque by hand
    "cubic": (CUBIC, lambda x: 120 * x + 4e4 * x**3),
    "hardening": (fj.springs.HardeningSpring(120.0, 0.1), lambda x: 24 / np.pi * np.tan(x * np.pi / 0.2)),
    "quintic": (QuinticSpring(120.0), lambda x: 120 * (x + 400 * x**5)),
}


def by_differential_equation(f, D, t):
    """φ, φ' and τ at the times t: D φ' = τ_e − f(φ)."""
    start = brentq(lambda x: f(x) - asked(0.0)[0], -0.09, 0.09, xtol=1e-15)
    phi = integrated(lambda t, x: (asked(t)[0] - f(x)) / D, [start], t)[0]
    tau_e, tau_e_v = asked(t)
    k = (f(phi + 1e-5) - f(phi - 1e-5)) / 2e-5
    phi_v = (tau_e - f(phi)) / D
    _, v, a = MOTION(t, order=2)[..., 0]
    return phi, phi_v, tau_e + 0.5 * (a + (tau_e_v - k * phi_v) / D) + 0.3 * (v + phi_v)


@pytest.mark.parametrize(("law", "D"), [("cubic", 40.0), long("cubic", 2.0), ("hardening", 5.0), long("quintic", 5.0)])
def test_laws_against_a_differential_equation(law, D):
    t = np.linspace(0.0, 1.5, 601)
    spring, f = LAWS[law]
    phi, phi_v, tau = by_differential_equation(f, D, t)
    found = fj.inverse_dynamics_along(pendulum(fj.ElasticDrive(spring, MOTOR, D)), MOTION, t)
    assert relative_error(found.deflection[:, 0], phi) < 1e-9
    assert relative_error(found.deflection_v[:, 0], phi_v) < 1e-7
    assert relative_error(found.tau[:, 0], tau) < 1e-7
    other = pendulum(fj.ElasticDrive(spring, MOTOR))
    assert relative_error(fj.inverse_dynamics(other, *MOTION(t))[:, 0], tau) > 1e-3, "damping would not be seen"


def fallen(run):
    """Ratios of the errors where steps are halved, against much shorter ones; 48 to 192 steps and 1536."""
    fine = run(1536)
    errors = [np.max(np.abs(run(n) - fine[:: 1536 // n])) for n in (48, 96, 192)]
    return errors[0] / errors[1], errors[1] / errors[2]


def test_the_error_falls_with_the_fourth_power_of_the_step():
    robot = pendulum(fj.ElasticDrive(CUBIC, MOTOR, 20.0))
    along = [fj.inverse_dynamics_along(robot, MOTION, np.linspace(0.0, 1.5, n + 1)) for n in (48, 96, 192, 1536)]
    for name in ("tau", "deflection_v"):
        runs = {len(x.tau) - 1: getattr(x, name) for x in along}
        assert fallen(runs.__getitem__) == pytest.approx((16, 16), rel=0.1)


@pytest.mark.parametrize("rate", [1.0, 1e2, 1e4, 1e6])
def test_a_closed_form_whatever_the_stiffness_over_the_damping(rate):
    """Under a constant torque u = e^(−bφ) of an exponential spring decays as a linear filter.

    With u∞ = K/(τ b + K): u − u∞ ∝ e^(−λ t), λ = (τ b + K)/D.  The start is not the equilibrium.
    """
    K, b, tau = 300.0, 6.0, W
    D = K / rate
    robot = pendulum(fj.ElasticDrive(fj.springs.ExponentialSpring(K, b), MOTOR, D))
    rest, fall = K / (tau * b + K), (tau * b + K) / D
    start = -0.01  # of the deflection; at the end it is 0.016
    errors = []
    for steps in (30, 60):
        h = 6 / fall / steps
        state = [np.array([(tau - K / b * (np.exp(b * start) - 1)) / D]), np.array([tau]), np.zeros(1)]
        error = 0.0
        for step in range(1, steps + 1):
            now = fj.inverse_dynamics_step(robot, *state, np.array(h), *np.zeros((4, 1)))
            state = [now.deflection_v, now.tau_e, now.tau_e_v]
            u = rest + (np.exp(-b * start) - rest) * np.exp(-fall * h * step)
            error = max(error, abs(now.deflection[0] + np.log(u) / b))
        errors.append(error)
    assert errors[0] < 1e-8
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.05)
    far = fj.inverse_dynamics_step(robot, *state, np.array(1e6 / fall), *np.zeros((4, 1)))  # a step of any length
    assert far.deflection[0] == pytest.approx(-np.log(rest) / b, rel=1e-13)
    assert abs(far.deflection_v[0]) < 1e-15 * rate


def test_without_damping_in_the_limit():
    """The distance to the undamped torque falls as D, also at K/D of 1e7."""
    t = np.linspace(0.0, 1.5, 3001)
    undamped = fj.motor_motion(pendulum(fj.ElasticDrive(CUBIC, MOTOR)), *MOTION(t))
    found = [
        fj.inverse_dynamics_along(pendulum(fj.ElasticDrive(CUBIC, MOTOR, D)), MOTION, t) for D in (1e-1, 1e-2, 1e-5)
    ]
    gaps = [np.max(np.abs(x.tau - undamped.tau)) for x in found]
    assert gaps[0] / gaps[1] == pytest.approx(10, rel=0.05)
    assert gaps[2] < 1e-6
    assert relative_error(found[2].deflection_v, undamped.deflection_v) < 1e-6


def test_the_state_is_explicit_and_the_start_is_at_rest():
    robot = pendulum(fj.ElasticDrive(CUBIC, MOTOR, 20.0))
    t = np.linspace(0.0, 1.5, 31)
    whole = fj.inverse_dynamics_along(robot, MOTION, t)
    assert whole.deflection_v[0] == 0.0
    phi = whole.deflection[0, 0]
    assert 120 * phi + 4e4 * phi**3 == pytest.approx(W * np.cos(-0.5), rel=1e-14)
    (rate,) = fj.torque_derivatives(robot, *MOTION(t[17], order=3), order=1)[1:]
    state = [whole.deflection_v[17], whole.tau_e[17], rate]
    again = fj.inverse_dynamics_step(robot, *state, t[18] - t[17], *MOTION(t[18], order=3))
    for x, y in zip(again, whole):
        assert np.array_equal(x, y[18])


def test_a_spring_asked_for_more_than_it_bears():
    table = fj.springs.TabulatedSpring((-0.02, -0.01, 0.0, 0.01, 0.02), (-2.0, -1.0, 0.0, 1.0, 2.0))
    with pytest.raises(fj.NonFiniteError, match="inverse_dynamics_along: at t = 0 s"):
        fj.inverse_dynamics_along(pendulum(fj.ElasticDrive(table, MOTOR, 5.0)), MOTION, [0.0, 0.1])


# Two motors -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cams(fj.drives.VariableStiffnessDrive):
    """Deflections without a closed form, φ_2 = θ_2."""

    K: float
    Kc: float
    motor_1: fj.Motor
    motor_2: fj.Motor
    damping: float = 0.0

    ranges = ((-0.7, 0.7), (0.01, 0.7))
    follows = False

    def energy(self, phi_1, phi_2):
        return sum(self.K / 2 * x**2 + self.Kc / 4 * x**4 for x in (phi_1 + phi_2, phi_1 - phi_2))


def pair(one, two):
    return fj.drives.AntagonisticDrive(fj.springs.CubicSpring(*one), fj.springs.CubicSpring(*two), MOTOR, SECOND)


ENERGIES = {  # by hand: U(φ_1, φ_2), c, where to look for the start
    "equal springs": (
        pair((200.0, 3000.0), (200.0, 3000.0)),
        lambda x, y: 100 * (x**2 + y**2) + 750 * (x**4 + y**4),
        1,
        [0.2, -0.1],
    ),
    "other springs": (
        pair((200.0, 3000.0), (150.0, 4000.0)),
        lambda x, y: 100 * x**2 + 75 * y**2 + 750 * x**4 + 1000 * y**4,
        1,
        [0.2, -0.1],
    ),
    "lever": (
        fj.drives.LeverDrive(7e4, 0.1, 0.02, 0.2, MOTOR, SECOND),
        lambda x, y: 3.5e4 * ((0.1 + y) * ca.sin(x)) ** 2,
        0,
        [0.01, -0.02],
    ),
    "cams": (
        Cams(90.0, 700.0, MOTOR, SECOND),
        lambda x, y: sum(45 * s**2 + 175 * s**4 for s in (x + y, x - y)),
        0,
        [0.01, 0.2],
    ),
}


class Joint:
    """Torques of the springs, the stiffness and its gradient from an energy, by automatic differentiation."""

    def __init__(self, energy, c):
        phi = ca.SX.sym("phi", 2)
        torques = ca.gradient(energy(phi[0], phi[1]), phi)
        on_link = torques[0] + c * torques[1]
        slopes = ca.jacobian(on_link, phi)
        sigma = slopes[0] + c * slopes[1]
        self.c, self.parts = c, ca.Function("f", [phi], [torques, on_link, sigma, ca.jacobian(sigma, phi)])

    def __call__(self, phi):
        return [np.array(x).ravel() for x in self.parts(phi)]

    def start(self, tau_e, sigma, guess):
        return fsolve(lambda phi: [self(phi)[1][0] - tau_e, self(phi)[2][0] - sigma], guess, xtol=1e-13)

    def rates(self, phi, tau_e, sigma_v, D):
        """φ' from D (φ_1' + c φ_2') = τ_e − T and ∂σ/∂φ φ' = σ'."""
        _, T, _, slope = self(phi)
        return np.linalg.solve([[1, self.c], slope], [(tau_e - T[0]) / D, sigma_v])


@pytest.mark.parametrize("name", some_long([*ENERGIES], "cams", "equal springs"))
def test_two_motors_against_a_differential_equation(name):
    drive, energy, c, guess = ENERGIES[name]
    joint, D, t = Joint(energy, c), 4.0, np.linspace(0.0, 1.5, 301)
    start = joint.start(asked(0.0)[0], 500.0, guess)
    slope = lambda now, phi: joint.rates(phi, asked(now)[0], STIFFNESS(now, order=1)[1, 0], D)  # noqa: E731
    phi = integrated(slope, start, t)
    phi_v = np.array([slope(now, x) for now, x in zip(t, phi.T)])
    found = fj.inverse_dynamics_along(pendulum(dataclasses.replace(drive, damping=D)), MOTION, t, stiffness=STIFFNESS)
    assert relative_error(found.deflection, phi.T) < 1e-8
    assert relative_error(found.deflection_v, phi_v) < 1e-6
    q, v, a = MOTION(t, order=2)
    counted = np.array([1.0, c])
    assert relative_error(found.theta, q * counted + phi.T) < 1e-8
    springs = np.array([joint(x)[0] for x in phi.T])
    assert relative_error(found.spring_torque, springs + D * counted * phi_v) < 1e-6
    phi_a = CubicSpline(t, phi_v)(t, 1)  # of fourth order in the distance of the samples
    inner = slice(5, -5)
    tau = springs + D * counted * phi_v + [0.5, 0.4] * (a * counted + phi_a) + [0.3, 0.0] * (v * counted + phi_v)
    assert relative_error(found.tau[inner], tau[inner]) < 1e-5
    assert relative_error(found.tau_e[:, 0], asked(t)[0]) < 1e-13
    undamped = fj.inverse_dynamics(pendulum(drive), *MOTION(t), stiffness=list(STIFFNESS(t, order=2)))
    assert relative_error(undamped[inner, 0], tau[inner, 0]) > 1e-4, "damping would not be seen"


def test_two_motors_the_error_falls_with_the_fourth_power_of_the_step():
    robot = pendulum(dataclasses.replace(ENERGIES["equal springs"][0], damping=20.0))

    def run(n):
        return fj.inverse_dynamics_along(robot, MOTION, np.linspace(0.0, 1.5, n + 1), STIFFNESS).tau

    assert fallen(run) == pytest.approx((16, 16), rel=0.1)


def test_two_motors_without_damping_in_the_limit():
    drive, t = ENERGIES["equal springs"][0], np.linspace(0.0, 1.5, 1501)
    undamped = fj.motor_motion(pendulum(drive), *MOTION(t), stiffness=list(STIFFNESS(t, order=2)))
    gaps = []
    for D in (1e-1, 1e-2, 1e-5):
        robot = pendulum(dataclasses.replace(drive, damping=D))
        gaps.append(np.max(np.abs(fj.inverse_dynamics_along(robot, MOTION, t, STIFFNESS).tau - undamped.tau)))
    assert gaps[0] / gaps[1] == pytest.approx(10, rel=0.05)
    assert gaps[2] < 1e-5


def test_two_motors_the_state_is_explicit():
    """A run taken up again from its state gives the same bits; without deflections it starts at rest."""
    robot = pendulum(dataclasses.replace(ENERGIES["other springs"][0], damping=4.0))
    t = np.linspace(0.0, 1.5, 31)
    whole = fj.inverse_dynamics_along(robot, MOTION, t, STIFFNESS)
    (rate,) = fj.torque_derivatives(robot, *MOTION(t[17], order=3), order=1)[1:]
    state = [whole.deflection_v[17], whole.tau_e[17], rate, t[18] - t[17]]
    now = {"stiffness": list(STIFFNESS(t[18], order=2))}
    again = fj.inverse_dynamics_step(robot, *state, *MOTION(t[18], order=3), **now, warm_start=whole.deflection[17])
    for x, y in zip(again, whole):
        assert np.array_equal(x, y[18])
    joint = Joint(*ENERGIES["other springs"][1:3])
    _, T, sigma, _ = joint(whole.deflection[0])
    assert (T[0], sigma[0]) == pytest.approx((asked(0.0)[0], 500.0), rel=1e-12)
    assert np.all(whole.deflection_v[0] == 0.0)


def test_two_motors_out_of_reach():
    robot = pendulum(dataclasses.replace(ENERGIES["equal springs"][0], damping=4.0))
    falling = fj.trajectory.RestToRest([500.0], [300.0], 1.5, smoothness=5)
    with pytest.raises(fj.NonFiniteError, match=r"_along: at t = 0.8 s .*'hip' cannot have the stiffness 382"):
        fj.inverse_dynamics_along(robot, MOTION, np.linspace(0.0, 1.5, 16), falling)
    with pytest.raises(fj.InputError, match=r"stiffness is missing: joint 'hip'"):
        fj.inverse_dynamics_along(robot, MOTION, [0.0, 0.1])


def test_undamped_joints_beside_damped_ones_under_a_wrench():
    """Links meet in τ_e alone, so the motors of undamped joints are those of the robot without damping."""
    bare = fj.random_robot(3, 5)
    lever = dataclasses.replace(ENERGIES["lever"][0], damping=2.0)
    motion = fj.trajectory.RestToRest(np.zeros(3), np.array([0.1, -0.1, 0.1]), 1.0, smoothness=5)
    t, sigma = np.linspace(0.0, 1.0, 11), np.array([700.0, 0.0, 900.0])
    for last, same in ((ENERGIES["lever"][0], [0, 2, 3, 4]), (lever, [0, 3])):
        robot = bare.with_drives([ENERGIES["other springs"][0], fj.ElasticDrive(CUBIC, MOTOR, 3.0), last])
        wrench = [np.outer(x, [1.0, 2.0, -1.0, 0.3, 0.1, 0.2]) for x in (np.cos(3 * t), -3 * np.sin(3 * t))]
        loads = {"wrenches": {robot.tool: [*wrench, -9 * wrench[0]]}}
        found = fj.inverse_dynamics_along(robot, motion, t, sigma, **loads)
        expected = fj.inverse_dynamics_along(robot.without_spring_damping(), motion, t, sigma, **loads)
        for name in ("theta", "theta_a", "tau"):
            assert relative_error(getattr(found, name)[:, same], getattr(expected, name)[:, same]) < 1e-12
        assert relative_error(found.tau[:, 1], expected.tau[:, 1]) > 1e-4
        assert relative_error(found.tau_e, expected.tau_e) < 1e-13
        assert relative_error(found.spring_torque[:, 1:3], found.tau_e[:, 1:]) < 1e-12
    assert relative_error(found.tau[:, 2], expected.tau[:, 2]) > 1e-4


# All together ------------------------------------------------------------------------------------------------------


def test_the_motor_torques_move_a_tree_of_mixed_joints_along_the_motion():
    """Links by Lagrange's equations, springs and dampers by hand, integrated under the torques that were found."""
    bare = fj.random_robot(5, 23, prismatic=0.4, tree=True, fixed=0.4)
    motor = fj.Motor(0.4, viscous_friction=0.3)
    spring = fj.springs.CubicSpring(400.0, 2000.0)
    robot = bare.with_drives(
        [
            fj.drives.AntagonisticDrive(spring, spring, motor, motor, damping=15.0),
            fj.ElasticDrive(spring, motor, damping=10.0),
            fj.RigidDrive(motor),
            fj.ElasticDrive(600.0, motor, damping=5.0),
            fj.drives.AntagonisticDrive(spring, spring, motor, motor),
        ]
    )
    motion = fj.trajectory.RestToRest(np.zeros(5), np.array([0.4, -0.3, 0.3, 0.2, -0.3]), 1.0, smoothness=5)
    stiffness = fj.trajectory.RestToRest([1300.0, 1500.0], [1500.0, 1350.0], 1.0, smoothness=5)
    t = np.linspace(0.0, 1.0, 401)
    found = fj.inverse_dynamics_along(robot, motion, t, stiffness)
    command = CubicSpline(t, found.tau)

    q, v, a = (ca.SX.sym(x, 5) for x in "qva")
    forces = transmitted(robot, q, v, a)
    M = ca.jacobian(forces, a)
    links = ca.Function("links", [q, v], [M, ca.substitute(forces, a, ca.SX.zeros(5))])
    joints = [0, 1, 2, 3, 4, 0, 4]  # of the motors
    D = np.array([15.0, 10.0, 0.0, 5.0, 0.0, 15.0, 0.0])
    K = np.array([400.0, 400.0, 0.0, 600.0, 400.0, 400.0, 400.0])
    Kc = np.array([2000.0, 2000.0, 0.0, 0.0, 2000.0, 2000.0, 2000.0])

    def plant(now, x):
        q, v, theta, theta_v = np.split(x, [5, 10, 17])
        tau = command(now)
        phi, phi_v = theta - q[joints], theta_v - v[joints]
        springs = K * phi + Kc * phi**3 + D * phi_v
        M, rest = (np.array(y) for y in links(q, v))
        driving = np.bincount(joints, springs, 5)
        driving[2] = tau[2] - 0.3 * v[2]
        acceleration = np.linalg.solve(M + np.diag([0, 0, 0.4, 0, 0]), driving - rest[:, 0])
        theta_a = (tau - springs - 0.3 * theta_v) / 0.4
        theta_v = theta_v.copy()
        theta_v[2], theta_a[2] = v[2], acceleration[2]
        return np.concatenate([v, acceleration, theta_v, theta_a])

    start = np.concatenate([motion(0.0)[0], np.zeros(5), found.theta[0], np.zeros(7)])
    done = solve_ivp(plant, (0.0, 1.0), start, "DOP853", t_eval=t[::40], rtol=1e-9, atol=1e-11, max_step=0.005)
    assert np.max(np.abs(done.y[:5].T - motion(t[::40])[0])) < 1e-5
    assert np.max(np.abs(done.y[10:17].T - found.theta[::40])) < 1e-5
    sigma = found.deflection[:, [0, 5, 4, 6]] ** 2 @ np.kron(np.eye(2), [[6000.0], [6000.0]]) + 800
    assert relative_error(sigma, stiffness(t)[0]) < 1e-11
