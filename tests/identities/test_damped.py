"""Damped springs: the filter against differential equations solved elsewhere, and its limits."""

import casadi as ca
import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from flexjoint.dynamics.drivetrain.damped_spring import weights
from support.errors import relative_error

UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
J, W, B, K = 0.155, 4.905, 0.5, 120.0  # of the pendulum below: inertia, weight, motor, spring
MOTOR = fj.Motor(B, viscous_friction=0.3, coulomb_friction=0.8, coulomb_velocity=0.6)
MOTION = fj.trajectory.RestToRest([-0.5], [0.8], 1.5)


def pendulum(damping, motor=MOTOR):
    body = {"mass": 2.0, "com": (0.25, 0.0, 0.0), "inertia": np.diag([0.02, 0.02, 0.03])}
    joint = fj.Joint("hip", rotation=UP, drive=fj.ElasticDrive(K, damping=damping, motor=motor))
    return fj.Robot("pendulum", (fj.Link("leg", joint, **body),))


def asked(t):
    """τ_e of the pendulum and its rate along MOTION, by hand."""
    q, v, a, jerk = MOTION(t, order=3)[..., 0]
    return J * a + W * np.cos(q), J * jerk - W * np.sin(q) * v


def by_differential_equation(D, t):
    """φ, φ' and τ at the times t: D φ' = τ_e − K φ by an integrator with steps of its own."""
    start = asked(0.0)[0] / K
    done = solve_ivp(
        lambda t, phi: (asked(t)[0] - K * phi) / D,
        (0.0, t[-1]),
        [start],
        method="LSODA" if D < 1 else "DOP853",
        t_eval=t,
        rtol=1e-12,
        atol=1e-14,
        max_step=0.01,
    )
    phi = done.y[0]
    tau_e, rate = asked(t)
    phi_v = (tau_e - K * phi) / D
    phi_a = (rate - K * phi_v) / D
    _, v, a = MOTION(t, order=2)[..., 0]
    friction = 0.3 * (v + phi_v) + 0.8 * np.tanh((v + phi_v) / 0.6)
    return phi, phi_v, tau_e + B * (a + phi_a) + friction


@pytest.mark.parametrize("D", [0.5, 6.0, 50.0])
def test_pendulum_against_a_differential_equation(D):
    t = np.linspace(0.0, 1.5, 1501)
    phi, phi_v, tau = by_differential_equation(D, t)
    found = fj.inverse_dynamics_along(pendulum(D), MOTION, t)
    assert relative_error(found.deflection[:, 0], phi) < 1e-10
    assert relative_error(found.deflection_v[:, 0], phi_v) < 1e-8
    assert relative_error(found.tau[:, 0], tau) < 1e-8
    undamped = fj.inverse_dynamics(pendulum(0.0), *MOTION(t))[:, 0]
    assert relative_error(undamped, tau) > 1e-2, "damping would not be seen"


def test_the_error_falls_with_the_fourth_power_of_the_step():
    D = 6.0
    fine = np.linspace(0.0, 1.5, 61)
    _, _, tau = by_differential_equation(D, fine)
    errors = []
    for factor in (1, 2, 4):
        t = np.linspace(0.0, 1.5, 60 * factor + 1)
        errors.append(np.max(np.abs(fj.inverse_dynamics_along(pendulum(D), MOTION, t).tau[::factor, 0] - tau)))
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.25)
    assert errors[1] / errors[2] == pytest.approx(16, rel=0.25)


def test_uneven_steps():
    D = 6.0
    t = np.cumsum(np.random.default_rng(0).uniform(0.0005, 0.003, 700))
    t = np.concatenate([[0.0], t[t < 1.5]])
    _, _, tau = by_differential_equation(D, t)
    assert relative_error(fj.inverse_dynamics_along(pendulum(D), MOTION, t).tau[:, 0], tau) < 1e-7


def test_the_motor_torque_moves_the_plant_along_the_motion():
    """Link and motor integrated as a plant under the torque found: q follows the motion that was asked for."""
    D, t = 6.0, np.linspace(0.0, 1.5, 3001)
    found = fj.inverse_dynamics_along(pendulum(D), MOTION, t)

    def plant(time, x):
        q, theta, v, theta_v = x
        tau_e = K * (theta - q) + D * (theta_v - v)
        push = np.interp(time, t, found.tau[:, 0]) - 0.3 * theta_v - 0.8 * np.tanh(theta_v / 0.6)
        return [v, theta_v, (tau_e - W * np.cos(q)) / J, (push - tau_e) / B]

    start = [MOTION.start[0], found.theta[0, 0], 0.0, 0.0]
    done = solve_ivp(plant, (0.0, 1.5), start, method="DOP853", t_eval=t, rtol=1e-10, atol=1e-12, max_step=0.002)
    assert np.max(np.abs(done.y[0] - MOTION(t)[0, :, 0])) < 2e-6
    assert np.max(np.abs(done.y[1] - found.theta[:, 0])) < 2e-6


def test_without_damping_in_the_limit():
    """The distance to the undamped torque falls as D, far above the error of the steps, B/K h² τ_e⁗/12."""
    t = np.linspace(0.0, 1.5, 6001)
    undamped = fj.inverse_dynamics(pendulum(0.0), *MOTION(t))
    gaps = [fj.inverse_dynamics_along(pendulum(D), MOTION, t).tau - undamped for D in (1e-1, 1e-2, 1e-3)]
    inner = slice(400, -400)  # the motion's snap jumps at both ends
    for near, far in zip(gaps[1:], gaps):
        assert np.max(np.abs(far[inner])) / np.max(np.abs(near[inner])) == pytest.approx(10, rel=0.05)


def test_long_steps_are_stable():
    """Steps of a hundred time constants D/K: the filter stands at its steady state."""
    robot = pendulum(0.12)
    t = np.linspace(0.0, 150.0, 1501)
    slow = fj.trajectory.RestToRest([-0.5], [0.8], 150.0)
    found = fj.inverse_dynamics_along(robot, slow, t).tau
    assert relative_error(found, fj.inverse_dynamics(pendulum(0.0), *slow(t))) < 1e-5


def test_it_starts_at_rest_equilibrium():
    robot = pendulum(6.0)
    found = fj.inverse_dynamics_along(robot, MOTION, [0.0, 0.1])
    assert found.deflection[0, 0] == pytest.approx(W * np.cos(-0.5) / K, rel=1e-14)
    assert found.deflection_v[0, 0] == 0.0
    assert found.theta[0, 0] == MOTION.start[0] + found.deflection[0, 0]


def test_the_state_is_explicit():
    """A run interrupted and taken up again from its state gives the same bits."""
    robot = pendulum(6.0)
    t = np.linspace(0.0, 1.5, 31)
    whole = fj.inverse_dynamics_along(robot, MOTION, t)
    (rate,) = fj.torque_derivatives(robot, *MOTION(t[17], order=3), order=1)[1:]
    state = [whole.deflection_v[17], whole.tau_e[17], rate]
    again = fj.inverse_dynamics_step(robot, *state, t[18] - t[17], *MOTION(t[18], order=3))
    for x, y in zip(again, whole):
        assert np.array_equal(x, y[18])


def test_a_step_back_undoes_a_step():
    robot = pendulum(6.0)
    before, after = MOTION(0.7, order=3), MOTION(0.8, order=3)
    start = fj.inverse_dynamics_step(robot, [0.2], [0.0], [0.0], 0.0, *before)
    for h in (0.01, 0.1):  # shorter and longer than D/K
        there = fj.inverse_dynamics_step(robot, start.deflection_v, start.tau_e, start.tau_e_v, h, *after)
        back = fj.inverse_dynamics_step(robot, there.deflection_v, there.tau_e, there.tau_e_v, -h, *before)
        assert relative_error(back.deflection_v, [0.2]) < 1e-13
        assert relative_error(back.tau, start.tau) < 1e-13


def test_no_time_no_change():
    robot = pendulum(6.0)
    stack = MOTION(0.7, order=3)
    state = np.array([[0.2], [5.0], [-3.0]])
    now = fj.inverse_dynamics_step(robot, *state, 0.0, *stack)
    assert now.deflection_v == 0.2
    assert now.deflection == pytest.approx((asked(0.7)[0] - 6.0 * 0.2) / K)


def test_mixed_joints():
    """Damped, undamped, cubic and rigid joints on a tree, with a wrench: each damped one obeys its own equation."""
    bare = fj.random_robot(5, 23, prismatic=0.4, tree=True, fixed=0.4)
    motor = fj.Motor(0.4, 0.3, 0.6, 0.8)
    damped = [fj.ElasticDrive(300.0, motor, 4.0), fj.ElasticDrive(500.0, motor, 20.0)]
    plain = [
        fj.ElasticDrive(200.0, motor),
        fj.ElasticDrive(fj.springs.CubicSpring(200.0, 900.0), motor),
        fj.RigidDrive(motor),
    ]
    robot = bare.with_drives([damped[0], plain[0], plain[2], damped[1], plain[1]])
    motion = fj.trajectory.RestToRest(np.zeros(5), np.array([0.5, -0.4, 0.3, 0.6, -0.3]), 1.0, smoothness=5)
    t = np.linspace(0.0, 1.0, 401)
    wave = [np.cos(3 * t + k * np.pi / 2) * 3.0**k for k in range(3)]
    wrench = [np.outer(x, [1.0, 2.0, -1.0, 0.3, 0.1, 0.2]) for x in wave]
    found = fj.inverse_dynamics_along(robot, motion, t, wrenches={robot.tool: wrench})

    undamped = robot.with_drives([fj.ElasticDrive(300.0, motor), plain[0], plain[2], None, plain[1]])
    expected = fj.motor_motion(undamped, *motion(t), wrenches={robot.tool: wrench})
    for name in fj.dynamics.MotorMotion._fields:
        x, y = getattr(found, name), getattr(expected, name)
        assert relative_error(x[:, [1, 2, 4]], y[:, [1, 2, 4]]) < 1e-12, name
    for i, D in ((0, 4.0), (3, 20.0)):
        stiffness = robot.joints[i].drive.stiffness
        spring = stiffness * found.deflection[:, i] + D * found.deflection_v[:, i]
        assert relative_error(spring, found.tau_e[:, i]) < 1e-12
        slope = np.gradient(found.deflection[:, i], t, edge_order=2)
        assert relative_error(slope[5:-5], found.deflection_v[5:-5, i]) < 2e-3
        theta_v, theta_a = found.theta_v[:, i], found.theta_a[:, i]
        torque = found.tau_e[:, i] + 0.4 * theta_a + 0.3 * theta_v + 0.6 * np.tanh(theta_v / 0.8)
        assert relative_error(found.tau[:, i], torque) < 1e-12


def test_weights_have_all_their_digits():
    """Against 50 digits, from steps far shorter than D/K to far longer ones."""
    z = ca.SX.sym("z")
    f = ca.Function("f", [z], [ca.vertcat(*weights(z))])
    for value in (1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.999, 1.0, 1.001, 2.0, 10.0, 50.0, 1e3, 1e8, -0.3, -0.99):
        with mpmath.workdps(50):
            x = mpmath.mpf(value)
            first = 1 - mpmath.exp(-x)
            second = 1 - first / x
            exact = [first, second, mpmath.mpf(1) / 2 - second / x]
            for found, g in zip(np.array(f(value)).ravel(), exact):
                assert abs((mpmath.mpf(float(found)) - g) / g) < 1e-15


def test_a_constant_wrench_is_a_wrench_at_every_time():
    robot, t = pendulum(6.0), np.linspace(0.0, 1.5, 16)
    w = np.array([1.0, 2.0, 3.0, 0.0, 0.5, 0.0])
    constant = fj.inverse_dynamics_along(robot, MOTION, t, wrenches={"leg": [w, np.zeros(6)]})
    sampled = fj.inverse_dynamics_along(robot, MOTION, t, wrenches={"leg": [np.tile(w, (16, 1)), np.zeros((16, 6))]})
    assert np.array_equal(constant.tau, sampled.tau)
    assert relative_error(constant.tau, fj.inverse_dynamics_along(robot, MOTION, t).tau) > 1e-2


# What is refused ---------------------------------------------------------------------------------------------------


def test_without_a_state_damping_is_refused():
    robot = pendulum(6.0)
    for algorithm in (fj.inverse_dynamics, fj.motor_motion):
        with pytest.raises(fj.InputError, match=r"'hip' is damped \(D = 6\).*_along.*_step.*without_spring_damping"):
            algorithm(robot, *np.zeros((5, 1)))


def test_refused_calls():
    robot = pendulum(6.0)
    with pytest.raises(fj.InputError, match="trajectory is None; give one of"):
        fj.inverse_dynamics_along(robot, None, [0.0, 1.0])
    for t in ([], [0.0, 0.0], [1.0, 0.0], [0.0, np.nan], 0.0, "late"):
        with pytest.raises(fj.InputError, match="increasing, finite times"):
            fj.inverse_dynamics_along(robot, MOTION, t)
    with pytest.raises(fj.InputError, match=r"gave \(4, 1, 2\), it must be \(k \+ 1, 1, 1\)"):
        fj.inverse_dynamics_along(robot, fj.trajectory.RestToRest([0.0, 0.0], [1.0, 1.0], 1.0), [0.0])
    with pytest.raises(fj.InputError, match=r"wrench or base motion has shape \(3, 6\) for 2 times"):
        fj.inverse_dynamics_along(robot, MOTION, [0.0, 0.1], wrenches={"leg": [np.zeros((3, 6))] * 2})
    with pytest.raises(fj.InputError, match=r"wrench or base motion has shape \(\) for 2 times"):
        fj.inverse_dynamics_along(robot, MOTION, [0.0, 0.1], wrenches={"leg": [np.zeros(6), 0.0]})
    x = ca.SX.sym("x", 1)
    with pytest.raises(fj.InputError, match=r"h has shape \(2, 1\), as SX it must be \(1, 1\)"):
        fj.inverse_dynamics_step(robot, x, x, x, ca.SX.sym("h", 2), x, x, x, x)
    with pytest.raises(fj.NonFiniteError, match="jerk"):
        fj.inverse_dynamics_step(robot, [0.0], [0.0], [0.0], 0.1, [0.0], [0.0], [0.0], [np.nan])


def test_a_trajectory_that_is_not_smooth_enough_is_refused():
    rough = fj.trajectory.RestToRest([0.0], [0.5], 1.0, smoothness=1)
    with pytest.raises(fj.InputError, match=r"_along: RestToRest .* C\^1 only; .* C\^2 .* give smoothness=2"):
        fj.inverse_dynamics_along(pendulum(1.0), rough, np.linspace(0.0, 1.0, 5))
