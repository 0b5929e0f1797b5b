"""One robot with followers, coupled transmissions, parallel springs, friction laws, limits, and gears with losses.

Torques of inverse dynamics are replayed by the simulator, the energy balance closes to the order of the integrator, and
residuals vanish without faults.  The exact inverse takes no hysteresis and no backlash; the simulated plant does.
"""

import dataclasses

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.drives import CoupledTransmission, Dahl, Friction
from flexjoint.robot import Mimic
from flexjoint.springs import CubicSpring, ParallelSpring
from support.errors import recorded

T_WRIST = np.array([[1.0, 1.0], [1.0, -1.0]])
T_RIGID = np.array([[1.2, 0.4], [-0.3, 0.9]])
AT_JOINT = Friction(viscous=0.3, coulomb=0.4, velocity=0.3, static=0.6, stribeck_velocity=0.4)
# behind a spring its second derivative is part of the motor torque
BEHIND_SPRING = Friction(
    viscous=0.3, coulomb=0.4, velocity=1.5, static=0.6, stribeck_velocity=1.5, load=0.05, load_scale=8.0
)
AT_MOTOR = Friction(
    viscous=0.4, coulomb=0.5, velocity=0.25, static=0.8, stribeck_velocity=0.5, load=0.05, load_scale=1.0,
    backward=Friction(viscous=0.6, coulomb=0.7, static=0.9, stribeck_velocity=0.4, load=0.08),
)  # fmt: skip
RIGID_MOTOR = dataclasses.replace(
    AT_MOTOR, load=0.0, load_scale=0.0, backward=dataclasses.replace(AT_MOTOR.backward, load=0.0)
)


def spring(stiffness, inertia, **more):
    return fj.ElasticDrive(stiffness, fj.Motor(inertia, friction=AT_MOTOR), **more)


def body(name, joint, parent, mass):
    return fj.Link(name, joint, parent, mass, (0.12, 0.02, 0.03), np.diag([0.012, 0.016, 0.014]) * mass)


def robot(**gears):
    """A shoulder, an elastic differential wrist, a gripper with a follower, and two rigid joints with shared motors."""
    tilt = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    first = gears.get("shoulder", {})
    second = gears.get("wrist", {})
    rigid = fj.RigidDrive(fj.Motor(0.2, friction=RIGID_MOTOR))
    links = (
        body("arm", fj.Joint("shoulder", rotation=tilt, limits=fj.Limits(-0.9, 0.9), drive=spring(600.0, 0.6, **first),
                             parallel_spring=ParallelSpring(CubicSpring(15.0, 20.0), rest=0.2)), "base", 2.0),
        body("fore", fj.Joint("pitch", position=(0.35, 0.0, 0.0), friction=BEHIND_SPRING,
                              drive=spring(400.0, 0.3, **second)), "arm", 1.2),
        body("hand", fj.Joint("roll", position=(0.25, 0.0, 0.0), rotation=tilt, drive=spring(300.0, 0.2)), "fore", 0.8),
        body("left", fj.Joint("left", "prismatic", position=(0.1, 0.05, 0.0), viscous_friction=2.0,
                              drive=fj.ElasticDrive(3000.0, fj.Motor(2.0, friction=AT_MOTOR)),
                              parallel_spring=ParallelSpring(80.0, rest=0.05)), "hand", 0.3),
        body("right", fj.Joint("right", "prismatic", position=(0.1, -0.05, 0.0), mimic=Mimic("left", ratio=-0.8),
                               friction=AT_JOINT, drive=fj.RigidDrive(fj.Motor(0.4))), "hand", 0.3),
        body("pan", fj.Joint("pan", position=(-0.1, 0.2, 0.1), friction=AT_JOINT, drive=rigid), "arm", 0.6),
        body("nod", fj.Joint("nod", position=(0.1, 0.0, 0.1), rotation=tilt, drive=rigid), "pan", 0.4),
    )  # fmt: skip
    groups = [CoupledTransmission(["roll", "pitch"], T_WRIST, "joint"), CoupledTransmission(["pan", "nod"], T_RIGID)]
    return fj.Robot("everything", links, gravity=(0.0, 0.0, -9.81), transmissions=groups)


SMOOTH = robot()
LOSSY = robot(shoulder={"hysteresis": Dahl(2.0, 400.0)}, wrist={"backlash": 0.01})
N = SMOOTH.n
MOTION = fj.trajectory.Sinusoid(
    [0.3, 0.4, 0.5, 0.03, 0.4, 0.3], [2.0, 2.5, 3.0, 2.2, 2.8, 3.2], offset=[0.2, -0.3, 0.1, 0.04, 0.0, 0.2],
    duration=1.0,
)  # fmt: skip


def law(friction, v, load):
    """F(v, τ) as the docstring of Friction has it."""

    def side(x):
        static = x.coulomb if x.static is None else x.static
        bump = np.exp(-((v / x.stribeck_velocity) ** 2)) if x.static is not None else 0.0
        scale = friction.load_scale
        magnitude = np.sqrt(load**2 + scale**2) - scale
        return x.viscous * v + (x.coulomb + (static - x.coulomb) * bump + x.load * magnitude) * t

    t = np.tanh(v / friction.velocity)
    forward, backward = side(friction), side(friction.backward or friction)
    return (1 + t) / 2 * forward + (1 - t) / 2 * backward


def friction_power(run, tau_e):
    """Power that all friction takes, (m,); `tau_e` are the torques of the springs, which are at the joints."""
    lost, felt = np.zeros(len(run.t)), felt_by_motors(tau_e)
    for i, joint in enumerate(run.robot.joints):
        load = felt[:, i] if run.robot.compliant[i] else np.zeros(len(run.t))
        lost += law(joint.drive.motor.friction, run.theta_v[:, i], load) * run.theta_v[:, i]
        if joint.friction:
            lost += law(joint.friction, run.v[:, i], tau_e[:, i]) * run.v[:, i]
        lost += joint.viscous_friction * run.v[:, i] ** 2
    follower = -0.8 * run.v[:, 3]
    return lost + law(AT_JOINT, follower, 0.0) * follower


def felt_by_motors(tau_e):
    """T_b⁻ᵀτ_e: roll and pitch (in this order in T) share a transmission with springs at the joints."""
    felt = tau_e.copy()
    felt[:, [2, 1]] = np.linalg.solve(T_WRIST.T, tau_e[:, [2, 1]].T).T
    return felt


def deflections(run):
    phi = run.theta - run.q
    phi[:, [2, 1]] = np.linalg.solve(T_WRIST, run.theta[:, [2, 1]].T).T - run.q[:, [2, 1]]
    return np.where(run.robot.compliant, phi, 0.0)


def mechanical_energy(run):
    kinetic = fj.kinetic_energy(run.robot, run.q, run.v, run.theta_v, motors=True)
    return kinetic + fj.gravity_energy(run.robot, run.q) + fj.dynamics.spring_energy(run.robot, run.q, run.theta)


@pytest.fixture(scope="module")
def replayed():
    stack = MOTION(np.zeros(1), 4)[:, 0]
    motion = fj.motor_motion(SMOOTH, *stack)
    start = fj.JointState(stack[0], stack[1], motion.theta, motion.theta_v)
    feedforward = fj.control.FeedforwardPD(SMOOTH, np.zeros((2, N)))
    return fj.simulate(SMOOTH, feedforward, MOTION, 0.4, period=1e-3, start=start, hold=False, check=False)


def test_the_torques_of_inverse_dynamics_are_replayed(replayed):
    assert recorded(np.max(np.abs(replayed.q - MOTION(replayed.t, 0)[0]))) < 1e-7
    rigid = replayed.q[:, 4:] @ T_RIGID.T
    assert np.allclose(replayed.theta[:, 4:], rigid, rtol=0, atol=1e-13)


def test_the_energy_balance_closes(replayed):
    """Power of the motors less that of friction, by Simpson's rule: both are of fourth order in the step."""
    K = np.array([600.0, 400.0, 300.0, 3000.0, 0.0, 0.0])
    lost = friction_power(replayed, K * deflections(replayed))
    power = np.sum(replayed.tau * replayed.theta_v, axis=-1) - lost
    energy = mechanical_energy(replayed)

    def missed(every):
        p = power[::every]
        gained = every * 1e-3 / 3 * (p[:-2:2] + 4 * p[1:-1:2] + p[2::2]).sum()
        return abs(energy[-1] - energy[0] - gained) / np.ptp(energy)

    assert len(power) % 4 == 1
    assert recorded(missed(1)) < 1e-6
    assert missed(2) > 8 * missed(1), "what is missing is the error of Simpson's rule"


@pytest.mark.parametrize("sensors", [True, False])
def test_residuals_vanish_without_faults(replayed, sensors):
    K = np.array([600.0, 400.0, 300.0, 3000.0, 0.0, 0.0])
    residual = fj.observers.JointTorqueResidual(SMOOTH, 50.0, 50.0, sensors=sensors)
    run = replayed
    measured = fj.observers.Measurement(run.q, run.v, run.theta, run.theta_v, K * deflections(run))
    fine = residual.run(run.t, measured, run.tau, held=False)
    coarse = residual.run(run.t[::2], measured.__class__(*(x[::2] for x in measured[:5])), run.tau[::2], held=False)
    for channel in ("link", "motor"):
        assert recorded(np.max(np.abs(fine[channel])) / np.max(np.abs(run.tau))) < 1e-4
        assert np.max(np.abs(coarse[channel])) > 3 * np.max(np.abs(fine[channel])), "of second order in the period"


def test_gears_with_losses_and_end_stops():
    """The whole plant under motor PD control: energy and residuals with hysteresis, backlash and a stop that is hit."""
    model = LOSSY.without_gear_losses()
    controller = fj.control.MotorPD(model, [300.0, 20.0])
    residual = fj.observers.JointTorqueResidual(model, 50.0, 50.0, period=5e-4)
    stiffness = 2e4
    goal = np.array([1.0, -0.3, 0.4, 0.06, 0.3, -0.2])  # the shoulder's limit is 0.9
    run = fj.simulate(
        LOSSY, controller, goal, 0.6, period=5e-4, start=fj.simulation.at_rest(model, np.zeros(N)),
        stops=fj.simulation.EndStops(stiffness), observers={"watch": residual}, check=False,
    )  # fmt: skip
    depth = np.maximum(run.q[:, 0] - 0.9, 0.0)
    hit = int(np.argmax(depth > 0))
    assert 0.001 < depth.max() < 0.05 and hit > 100, "the stop is hit, but not at once"
    z, gears = run.more["hysteresis"][:, 0], run.more["hysteresis_torque"]
    assert np.ptp(z) > 0.5 and run.more["dissipated"][-1, 0] > 0

    stored = mechanical_energy(run) + Dahl(2.0, 400.0).energy(z) + stiffness * depth**2 / 2
    lost = friction_power(run, run.more["spring_torque"] + gears)
    heat = 5e-4 * np.concatenate([[0.0], np.cumsum((lost[1:] + lost[:-1]) / 2)]) + run.more["dissipated"][:, 0]
    work = np.concatenate([[0.0], np.cumsum(np.sum(run.tau[:-1] * np.diff(run.theta, axis=0), axis=-1))])
    assert recorded(np.max(np.abs(stored - stored[0] + heat - work)) / np.max(work)) < 1e-3

    free = slice(0, hit)  # sensors measure springs and hysteresis together, so a model without losses needs no more
    for channel in ("link", "motor"):
        assert np.max(np.abs(run.more[f"watch.{channel}"][free])) < 5e-3 * np.max(np.abs(run.tau))
    pushed = run.more["watch.link"][hit:]
    assert pushed[:, 0].min() < -0.3 * stiffness * depth.max(), "the stop pushes the shoulder back"
