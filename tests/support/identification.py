"""Simulated logs with realistic instruments: 19-bit encoders, current noise, one sample of delay, Stribeck friction."""

from __future__ import annotations

import numpy as np

import flexjoint as fj

STEP = 2 * np.pi / 2**19  # rad, of the encoders
NOISE = 0.3  # of a step, before rounding
FLIPPED = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]  # a horizontal axis


def friction(viscous, coulomb, velocity=0.05, rise=1.4, fall=5.0):
    """Stribeck friction: F_s = rise F_c, v_s = fall v_c."""
    return fj.drives.Friction(viscous, coulomb, velocity, static=rise * coulomb, stribeck_velocity=fall * velocity)


def bench(stiffness=300.0, damping=0.5, inertia=0.12, law=None):
    """A series elastic actuator with one arm."""
    drive = fj.ElasticDrive(stiffness, fj.Motor(inertia, friction=law or friction(0.8, 1.2)), damping=damping)
    joint = fj.Joint("hinge", rotation=FLIPPED, drive=drive)
    arm = fj.Link("arm", joint, mass=2.0, com=(0.25, 0.02, 0.0), inertia=0.02 * np.eye(3))
    return fj.Robot("bench", (arm,))


def rough_bench():
    """The same bench as its user knows it: wrong stiffness and inertia, no damping, viscous friction only."""
    return bench(400.0, 0.0, 0.2, fj.drives.Friction(viscous=0.5))


def arm(name, payload=None):
    """An arm of the catalogue with damped springs and Stribeck friction."""
    robot = fj.load(name)
    robot = robot.with_payload(*payload) if payload else robot
    drives = []
    for i, joint in enumerate(robot.joints):
        law = friction(1.0 + 0.3 * i, 2.5 - 0.2 * i, 0.03)
        motor = fj.Motor(joint.drive.motor.inertia, friction=law)
        drives.append(fj.ElasticDrive(joint.drive.stiffness, motor, damping=1.0))
    return robot.with_drives(drives)


def rough(robot):
    """A robot as its user knows it: stiffness 30 % high, inertia 30 % low, no damping, viscous friction only."""
    return robot.with_drives(
        [
            fj.ElasticDrive(1.3 * x.drive.stiffness, fj.Motor(0.7 * x.drive.motor.inertia, viscous_friction=0.5))
            for x in robot.joints
        ]
    )


def multisine(amplitude, seed, duration, offset=0.0, lowest=0.1, count=20):
    """A sum of sinusoids; amplitudes fall with the frequency."""
    amplitude = np.atleast_1d(amplitude)
    f = lowest * np.arange(1, count + 1)[:, None] * np.ones((1, amplitude.size))
    phase = np.random.default_rng(seed).uniform(0, 2 * np.pi, f.shape)
    size = amplitude / (0.5 + f) / np.sqrt(count)
    return fj.trajectory.Sinusoid(size, f, phase, offset=offset, duration=duration)


def stiff_pd(robot):
    """Motor PD of about 6 Hz that knows neither friction nor damping."""
    B = np.array([x.drive.motor.inertia for x in robot.joints])
    ideal = robot.without_friction().without_spring_damping()
    return fj.control.MotorPD(ideal, [3 * B * (2 * np.pi * 6) ** 2 + 60.0, 2 * B * 2 * np.pi * 6 + 5.0])


def simulated(
    robot, motion, seed=0, torque_noise=0.05, controller=None, period=1e-3, substeps=4, sensors=0.0, rows=None
):
    """A run, and what its instruments log; with `rows` lists of that many logs with noise of their own.

    sensors: noise of joint torque sensors, Nm; 0 for an arm without them.
    """
    seen = fj.simulation.Sensors(STEP, STEP, NOISE * STEP, NOISE * STEP, velocities="differenced", delay=1)
    law = controller or stiff_pd(robot)
    many = {} if rows is None else {"row": np.arange(rows)}
    run = fj.simulate(
        robot, law, motion, period=period, substeps=substeps, sensors=seen, seed=seed, check=False, **many
    )
    if rows is None:
        return run, logged(robot, run.t, run.q, run.theta, run.tau, seed, torque_noise, sensors)
    return run, [
        logged(robot, run.t, run.q[k], run.theta[k], run.tau[k], [seed, k], torque_noise, sensors) for k in range(rows)
    ]


def logged(robot, t, q, theta, tau, seed, torque_noise, sensors=0.0):
    """A log of a motion."""
    rng = np.random.default_rng(seed)

    def encoded(x):
        return STEP * np.round(x / STEP + NOISE * rng.normal(size=x.shape))

    drives = [x.drive for x in robot.joints]
    K = np.array([x.stiffness for x in drives])
    sensed = {"tau_e": K * (theta - q) + sensors * rng.normal(size=q.shape)} if sensors else {}
    noisy = tau + torque_noise * rng.normal(size=tau.shape)
    return fj.logs.Log(robot, t, q=encoded(q), theta=encoded(theta), tau=noisy, **sensed)


def truth(robot, name):
    """True value of an estimate, by its name; None if the robot has no such number."""
    joint = next((x for x in robot.joints if name.startswith(f"{x.name}.drive.")), None)
    if joint is None:
        table = fj.base_parameters(robot)
        return dict(zip(table.names, table.of(robot))).get(name, 0.0)
    path = name.removeprefix(f"{joint.name}.drive.").split(".")
    value = joint.drive
    for word in path:
        if word.isdigit():
            value = value[int(word)]
        elif isinstance(value, float) and word == "stiffness":
            continue  # a linear spring, estimated as one that stiffens
        elif not hasattr(value, word):
            return 0.0  # offsets
        else:
            value = getattr(value, word)
    return value


def pulls(found, robot):
    """Errors in deviations of all estimates of numbers that the robot has, by name."""
    true = {x.name: truth(robot, x.name) for x in found.estimates}
    return {x.name: (x.value - true[x.name]) / x.deviation for x in found.estimates if true[x.name] is not None}


def shaking():
    """A motion of the bench around its resonance: 60 sines up to 21 Hz."""
    f = 0.35 * np.arange(1, 61)[:, None]
    phase = np.random.default_rng(0).uniform(0, 2 * np.pi, f.shape)
    return fj.trajectory.Sinusoid(np.full(f.shape, 0.06 / np.sqrt(60)), f, phase, duration=20.0)


def resonances_of_bench():
    """Antiresonance and resonance of the two-mass oscillator, Hz."""
    K, B, J = 300.0, 0.12, 0.02 + 2 * (0.25**2 + 0.02**2)
    return np.sqrt(K / J) / (2 * np.pi), np.sqrt(K / J + K / B) / (2 * np.pi)


def check_derivatives(simulation, what, p, gains, slopes):
    """Derivatives of whitened residuals by three kinds of parameters against central differences."""
    for kind, size in (("stiffness", 1e-3), ("log_velocity", 1e-5), ("spring_offset", 1e-5)):
        k = what.place(0, kind)
        e = size * np.eye(len(p))[k]
        ahead, behind = (np.array([x for x, _ in simulation.steps(p + s * e, gains)]) for s in (1, -1))
        difference = (ahead - behind) / (2 * size)
        assert np.abs(difference - slopes[..., k]).max() < 1e-5 * np.abs(slopes[..., k]).max()
