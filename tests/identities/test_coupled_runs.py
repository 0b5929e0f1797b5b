"""Coupled transmissions in simulations: replayed torques, energy, residuals and faults of motors."""

import numpy as np
import pytest

import flexjoint as fj
from support.coupled import DIFFERENTIAL, matrices, random_matrix, transmissions
from support.errors import recorded
from support.marks import some_long

ARM = fj.from_dh(
    "wrist",
    alpha=[np.pi / 2, 0.0, np.pi / 2],
    a=[0.0, 0.4, 0.1],
    d=0.0,
    mass=[3.0, 2.0, 1.0],
    com=[-0.05, 0.02, 0.01],
    inertia=np.diag([0.02, 0.03, 0.025]),
)
SPRINGS = [fj.ElasticDrive(K, fj.Motor(B, 0.5, 0.3, 0.2)) for K, B in ((900.0, 0.5), (400.0, 0.3), (300.0, 0.2))]
RIGID = [fj.RigidDrive(fj.Motor(B, 0.5, 0.3, 0.2)) for B in (0.5, 0.3, 0.2)]


def wrist(drives, side="motor", matrix=DIFFERENTIAL):
    robot = ARM.with_drives(drives)
    return robot.replace(transmissions=transmissions(robot, [((1, 2), matrix)], side))


ROBOTS = {
    "springs at the motors": wrist(SPRINGS),
    "springs at the joints": wrist(SPRINGS, "joint", random_matrix(2, 4)),
    "rigid": wrist(RIGID),
}
MOTION = fj.trajectory.Sinusoid([0.3, 0.4, -0.5], [1.5, 2.0, 2.5], offset=[0.1, -0.3, 0.2], duration=1.0)


def start_on(robot, motion):
    stack = motion.derivatives(np.zeros(1), 4)[:, 0]
    found = fj.motor_motion(robot, *stack)
    return fj.JointState(stack[0], stack[1], found.theta, found.theta_v)


@pytest.mark.parametrize("name", some_long(["springs at the joints", "rigid"], "rigid"))
def test_replay_and_energy(name):
    """The torques of inverse dynamics, applied at the stages of the integrator, give the motion back."""
    robot, h = ROBOTS[name], 1e-3
    law = fj.control.FeedforwardPD(robot, np.zeros((2, 3)))
    run = fj.simulate(robot, law, MOTION, 0.4, period=h, start=start_on(robot, MOTION), hold=False, check=False)
    assert recorded(np.max(np.abs(run.q - MOTION(run.t, 0)[0]))) < 1e-8
    assert np.allclose(run.theta[:, ~np.array(robot.compliant)],
                       (run.q @ matrices(robot).T.T)[:, ~np.array(robot.compliant)], rtol=0, atol=1e-13)  # fmt: skip

    # the energy grows by the power of the motors less what friction takes
    energy = np.asarray(fj.kinetic_energy(robot, run.q, run.v, run.theta_v, motors=True)) + fj.gravity_energy(
        robot, run.q
    )
    if any(robot.compliant):
        energy = energy + fj.dynamics.spring_energy(robot, run.q, run.theta)
    motors = [joint.drive.motor for joint in robot.joints]
    rubbed = np.stack([m.viscous_friction * w + m.coulomb_friction * np.tanh(w / m.coulomb_velocity)
                       for m, w in zip(motors, run.theta_v.T)], axis=-1)  # fmt: skip
    power = np.sum((run.tau - rubbed) * run.theta_v, axis=-1)
    gained = h / 3 * (power[:-2:2] + 4 * power[1:-1:2] + power[2::2]).sum()  # Simpson's rule
    assert recorded(abs(energy[2 * ((len(power) - 1) // 2)] - energy[0] - gained) / np.ptp(energy)) < 1e-6


@pytest.mark.parametrize("name", some_long([*ROBOTS], "springs at the joints"))
def test_residuals_and_faults(name):
    """Without a fault the residuals vanish; a motor that loses torque is named, whatever it shares."""
    robot = ROBOTS[name]
    law = fj.control.MotorPD(robot, [300.0, 30.0])
    for sensors in (True, False) if name == "springs at the motors" else (True,):
        residual = fj.observers.JointTorqueResidual(robot, 50.0, 50.0, sensors=sensors)
        level = {"link": 0.4, "motor": 0.4}
        identifier = fj.observers.FaultIdentifier(fj.observers.Detector(residual, level))
        faulty = fj.simulation.FaultyActuators(law, efficiency=[1.0, 1.0, 0.5], begin=0.4)
        encoders = fj.observers.MotorEncoderResidual(robot, 30.0, 200.0)
        run = fj.simulate(robot, faulty, MOTION, 1.0, period=1e-3, observers={"encoders": encoders})
        tau_e = np.zeros_like(run.q)
        if any(robot.compliant):
            T_a, T_b = matrices(robot)
            K = np.array([joint.drive.stiffness for joint in robot.joints])
            tau_e = K * (np.linalg.solve(T_b, run.theta.T).T - run.q @ T_a.T)
        measured = fj.observers.Measurement(run.q, run.v, run.theta, run.theta_v, tau_e)
        commanded = np.where((np.arange(3) == 2) & (run.t[:, None] >= 0.4), run.tau / 0.5, run.tau)
        found = identifier.run(run.t, measured, commanded)
        before = run.t < 0.4
        assert np.max(np.abs(found["link"][before])) < 0.05 * np.max(np.abs(run.tau))
        assert np.max(np.abs(found["motor"][before])) < 0.05 * np.max(np.abs(run.tau))
        settled = before & (run.t > 0.2)
        assert np.max(np.abs(run.more["encoders.link"][settled])) < 0.02 * np.max(np.abs(run.tau))
        assert np.max(np.abs((run.more["encoders.q"] - run.q)[settled])) < 0.03, "late by 1/K"
        assert np.all(found["fault"][before] == fj.observers.Fault.NONE)
        assert np.all(found["fault"][:, :2] == fj.observers.Fault.NONE), "not the motor beside it"
        assert found["fault"][-1, 2] == fj.observers.Fault.EFFICIENCY
        assert found["loss"][-1, 2] == pytest.approx(0.5, abs=0.05)


@pytest.mark.long
def test_other_matrices():
    """A run with values of T begins and goes on as that of a robot with this T, rigid motors at their links."""
    robot, h = ROBOTS["rigid"], 1e-3
    others = [np.array([[1.2, 0.7], [0.9, -1.1]]), np.array([[0.0, 1.0], [-1.0, 0.3]])]
    law = fj.control.MotorPD(robot, [300.0, 30.0])
    rows = {f"transmissions.0.matrix.{i}": np.array([T[i] for T in others]) for i in range(2)}
    for start in (None, start_on(robot, MOTION)):
        runs = fj.simulate(robot, law, MOTION, 0.05, period=h, start=start, free=rows)
        for k, T in enumerate(others):
            alone = wrist(RIGID, matrix=T)
            run = fj.simulate(
                alone, law, MOTION, 0.05, period=h, start=start or fj.simulation.at_rest(robot, runs.q[k, 0])
            )
            for name in ("q", "theta", "tau"):
                assert np.allclose(getattr(runs, name)[k], getattr(run, name), rtol=1e-12, atol=1e-13), name
            assert np.allclose(runs.theta[k, 0, 1:], T @ runs.q[k, 0, 1:], rtol=0, atol=1e-15)


@pytest.mark.parametrize("side", ["motor", "joint"])
def test_implicit_midpoint(side):
    """Of springs three times as fast as a step the midpoint rule keeps the energy."""
    springs = [fj.ElasticDrive(K, fj.Motor(B)) for K, B in ((900.0, 0.5), (400.0, 0.3), (300.0, 0.2))]
    robot = wrist(springs, side, random_matrix(2, 4)).with_gravity(np.zeros(3))
    q, deflected = np.full(3, 0.2), np.array([1e-4, -2e-4, 1e-4])
    start = fj.JointState(q, np.zeros(3), matrices(robot).T @ q + deflected, np.zeros(3))
    law, goal = fj.control.OpenLoop(robot), np.zeros(3)
    run = fj.simulate(robot, law, goal, 5.0, period=0.05, start=start, integrator="midpoint", check=False)
    energy = np.asarray(fj.kinetic_energy(robot, run.q, run.v, run.theta_v, motors=True))
    energy = energy + fj.dynamics.spring_energy(robot, run.q, run.theta)
    assert recorded(np.ptp(energy) / energy[0]) < 1e-3
