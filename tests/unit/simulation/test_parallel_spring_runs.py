"""Robots with parallel springs simulated: they rest where they should, follow their torques and keep their energy."""

import numpy as np
import pytest

import flexjoint as fj
from support.marks import some_long
from support.parallel import sprung

MOTOR = fj.Motor(0.4, viscous_friction=0.3)
ARM = fj.random_robot(3, 5, prismatic=0.3, friction=True)
MIXED = sprung(ARM.with_drives([fj.RigidDrive(MOTOR), fj.ElasticDrive(400.0, MOTOR), fj.ElasticDrive(300.0, MOTOR)]))
GOAL = np.array([0.3, -0.2, 0.5])


@pytest.mark.parametrize("integrator", some_long(["runge_kutta", "midpoint"], "runge_kutta"))
def test_motor_pd_holds_a_pose(integrator):
    """From rest at the goal nothing moves; a law without the springs loses it."""
    start = fj.simulation.at_rest(MIXED, GOAL)
    moved = []
    for model in (MIXED, MIXED.without_parallel_springs()):
        law = fj.control.MotorPD(model, [500.0, 50.0])
        run = fj.simulate(MIXED, law, GOAL, 0.2, period=1e-3, start=start, integrator=integrator, check=False)
        moved.append(np.max(np.abs(run.q - GOAL)))
    assert moved[0] < 1e-12
    assert moved[1] > 1e-3


def test_the_robot_rests_without_control():
    """Motors held by torques that balance gravity and springs: the state does not change."""
    start = fj.simulation.at_rest(MIXED, GOAL)
    tau = fj.dynamics.static_torque(MIXED, GOAL)
    run = fj.simulate(MIXED, fj.control.OpenLoop(MIXED), tau, 0.2, period=1e-3, start=start, check=False)
    assert np.max(np.abs(run.q - GOAL)) < 1e-12
    assert np.max(np.abs(tau - fj.gravity_torque(MIXED, GOAL))) > 1.0


def test_torques_bring_about_their_motion():
    """Inverse dynamics as feedforward in continuous time, without feedback: order 4 in the step."""
    motion = fj.trajectory.RestToRest([0.1, -0.2, 0.3], [0.4, 0.3, -0.3], 0.4, 5)
    law, errors = fj.control.FeedforwardPD(MIXED, [0.0, 0.0]), []
    start = fj.simulation.at_rest(MIXED, motion.start)
    for period in (4e-3, 2e-3):
        run = fj.simulate(MIXED, law, motion, 0.4, period=period, start=start, hold=False, check=False)
        errors.append(np.max(np.abs(run.q - motion(run.t, order=0)[0])))
    assert errors[1] < 1e-6
    assert np.log2(errors[0] / errors[1]) > 3.7


def test_energy_is_kept_to_the_order_of_the_integrator():
    """T + U_g + U_e of a robot without friction, released with deflected springs."""
    robot = MIXED.without_friction()
    rest = fj.simulation.at_rest(robot, GOAL)
    start = rest._replace(theta=rest.theta + np.array([0.0, 0.05, -0.04]), v=np.array([0.5, -0.3, 0.4]))
    drift = []
    for period in (2e-3, 1e-3):
        run = fj.simulate(robot, fj.control.OpenLoop(robot), np.zeros(3), 0.4, period=period, start=start, check=False)
        T = fj.kinetic_energy(robot, run.q, run.v, run.theta_v, motors=True)
        E = T + fj.gravity_energy(robot, run.q) + fj.dynamics.spring_energy(robot, run.q, run.theta)
        drift.append(np.max(np.abs(E - E[0])) / np.ptp(T))
    assert drift[1] < 1e-6
    assert np.log2(drift[0] / drift[1]) > 3.7


@pytest.mark.long
def test_no_residual_without_a_fault():
    start = fj.simulation.at_rest(MIXED, GOAL)
    found = []
    for model in (MIXED, MIXED.without_parallel_springs()):
        observer = fj.observers.JointTorqueResidual(model, 50.0, 50.0, sensors=False)
        law = fj.control.MotorPD(MIXED, [500.0, 50.0])
        run = fj.simulate(MIXED, law, GOAL, 0.1, period=1e-3, start=start, observers={"residual": observer})
        found.append(np.max(np.abs(run.more["residual.link"])))
    assert found[0] < 1e-10
    assert found[1] > 1.0


def test_a_stiff_parallel_spring_shortens_the_step():
    """ω = √(K/M) of one link: Runge-Kutta is stable up to 2.83/ω; the implicit midpoint for every step."""
    link = fj.Link(
        "arm", fj.Joint("hinge", parallel_spring=fj.springs.ParallelSpring(1e6)), mass=1.0, inertia=0.25 * np.eye(3)
    )
    robot = fj.Robot("clock", (link,))
    assert fj.control.joint_modes(robot, [0.0]).frequencies == pytest.approx([2000.0])
    assert fj.control.runge_kutta_limit(robot, [0.0]) == pytest.approx(np.sqrt(8) / 2000, rel=1e-6)
    start, law = fj.JointState([0.01], [0.0], [0.01], [0.0]), fj.control.OpenLoop(robot)
    run = fj.simulate(robot, law, [0.0], 0.2, period=1e-2, start=start, integrator="midpoint", check=False)
    assert np.max(np.abs(run.q)) <= 0.01 * (1 + 1e-9)
    energy = 0.25 * run.v[:, 0] ** 2 / 2 + 1e6 * run.q[:, 0] ** 2 / 2
    assert np.allclose(energy, energy[0], rtol=1e-9)
