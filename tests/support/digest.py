"""One line per kind of number that must have the same bits on every processor: a name and a digest.

`python tests/support/digest.py` prints them; tests/backends/test_processors.py compares them under other settings.
"""

import hashlib
import sys
import tempfile
from dataclasses import fields, replace

import numpy as np
from paper_robots import PAPER_ROBOTS

import flexjoint as fj

T = np.linspace(0.0, 1.0, 61)
rng = np.random.default_rng(5)
ELASTIC = fj.random_robot(3, 11, elastic=1.0)
SMALL = fj.random_robot(2, 7, elastic=1.0, prismatic=0.0)


def bits(*arrays):
    return b"".join(np.ascontiguousarray(np.asarray(x, dtype=float) + 0.0).tobytes() for x in arrays)


def robots():
    trees = [fj.random_robot(9, seed, tree=True, elastic=0.5, friction=True, fixed=0.3) for seed in range(20)]
    random = [fj.random_robot(9, seed) for seed in range(8)]
    return [x.digest for x in (*trees, *random, *(fj.load(name) for name in fj.builtin_robots()))]


def angles():
    """Robots with angles that are no quarter turns, through DH tables of both kinds and rpy."""
    table = {"alpha": [0.3, -1.1, 2.0], "a": [0.2, 0.1, 0.4], "d": [0.3, 0.0, 0.2], "theta": [0.1, 0.7, -2.2]}
    bodies = {"mass": [1.0, 2.0, 3.0], "com": rng.normal(size=(3, 3)), "inertia": [np.diag([0.3, 0.4, 0.5])] * 3}
    return [fj.from_dh(**table, **bodies, name="dh", convention=x).digest for x in ("standard", "modified")]


def trajectories():
    points = np.array([[0.0, 1.0, -1.0], [0.7, 0.2, 0.1], [1.1, -0.4, 0.9], [0.3, 0.6, -0.5], [0.0, 1.0, -1.0]])
    times = np.cumsum(np.linspace(0.7, 1.3, 200)) * 0.006
    samples = np.stack([np.sqrt(times), times * times, times / (1 + times)], axis=1)
    start, goal = points[:2]
    swing = fj.trajectory.Sinusoid.fourier(0.7, points, points[::-1] / 3, offset=0.1)
    kinds = [
        fj.trajectory.RestToRest(start, goal, 1.3, smoothness=4),
        fj.trajectory.Sinusoid(points, [[0.3], [0.7], [1.1], [1.7], [2.3]], phase=0.3),
        swing,
        swing.retimed(fj.trajectory.RestToRest([0.0], [swing.duration], 1.0)),
        fj.trajectory.RestToRest(start, goal, 1.0).scaled(0.7).then(fj.trajectory.RestToRest(goal, start, 0.6)),
        fj.trajectory.Spline(points, 1.7),
        fj.trajectory.Spline(points, 1.7, smoothness=4, degree=6),
        fj.trajectory.Spline(points, 1.7, ends="periodic"),
        fj.trajectory.Spline(np.tile(points[:-1], (60, 1))[:-2], 40.0),
        fj.trajectory.Samples(times, samples),
        fj.trajectory.Samples(times, samples, cutoff=6.0),
        fj.trajectory.FilteredStep(start, goal, 0.05),
        fj.trajectory.FilteredStep.settled(start, goal, 0.9, order=7),
        fj.trajectory.SmoothTrapezoid.limited(start, goal, 2.0, 9.0),
        cartesian(),
    ]
    return [bits(x(T * min(1.0, x.duration)), x.duration) for x in kinds]


def cartesian():
    """A redundant arm along two lines with a rounded corner and a turn that is no quarter."""
    arm, q = fj.random_robot(4, 2, prismatic=0.0), np.array([0.3, -0.7, 0.9, 0.4])
    pose = fj.forward_kinematics(arm, q)
    first, second = [0.03, 0.02, 0.01], [-0.01, 0.03, 0.02]
    corner = fj.kinematics.Pose(pose.position + np.array(first), pose.rotation)
    path = fj.trajectory.Line(pose, corner).then(
        fj.trajectory.Arc(corner, corner.position + np.array(second), [0.3, 0.2, 1.0], 0.7), deviation=2e-3
    )
    return fj.trajectory.CartesianMotion(arm, path, q, speed=0.2, acceleration=2.0, orientation="free")


def springs():
    phi = np.linspace(-0.2, 0.2, 41)
    measured = np.linspace(-0.3, 0.3, 60)
    laws = [
        fj.springs.LinearSpring(700.0),
        fj.springs.CubicSpring(600.0, 9e3),
        fj.springs.HardeningSpring(500.0, 0.5),
        fj.springs.PiecewiseSpring((0.0, 0.1), (100.0, 300.0)),
        fj.springs.QuadraticSpring(100.0, 1000.0),
        fj.springs.ExponentialSpring(500.0, 3.0),
        fj.springs.TabulatedSpring((-0.3, -0.1, 0.05, 0.2, 0.4), (-300.0, -70.0, 30.0, 170.0, 500.0)),
        fj.springs.TabulatedSpring.fit(measured, 700 * measured + 3e3 * measured**3),
    ]
    found = []
    for law in laws:
        found += [bits(*law.curve(phi)), bits(*(getattr(law, x.name) for x in fields(law)))]
    return found


def torques():
    found = []
    for name in PAPER_ROBOTS:
        robot = fj.load(name)
        q = fj.trajectory.Sinusoid(np.linspace(0.3, 0.9, robot.n), 0.5)(T)
        found.append(bits(fj.inverse_dynamics(robot.rigid(), *q[:3])))
    motion = fj.trajectory.Sinusoid(np.linspace(0.3, 0.9, 3), 0.5)(T)
    stiffness = np.full((len(T), 3), 900.0)
    vsa = fj.load("vsa_3r")
    found.append(bits(fj.inverse_dynamics(vsa, *motion, stiffness=[stiffness, 0 * stiffness, 0 * stiffness])))
    found.append(bits(fj.control.gains_from_poles([-10.0, -12.0, -11 + 3j, -11 - 3j])))
    found.append(bits(*fj.motor_motion(ELASTIC, *motion)))
    names, matrix = fj.base_parameters(ELASTIC).names, fj.base_parameters(ELASTIC).matrix
    return [*found, str(names).encode(), bits(matrix, fj.base_regressor(ELASTIC, *motion[:3, 5], motion[2, 6]))]


def constants():
    """What observers and states at rest are made of."""
    kalman = fj.observers.KalmanDifferentiator(1e-3, 1e-5, 30.0)
    residual = fj.observers.MomentumResidual(ELASTIC.rigid(), 25.0)
    state, noise = (
        fj.observers.Measurement(*x, None, None, None) for x in ((np.full(3, 0.2), np.zeros(3)), (1e-5, 1e-3))
    )
    spread = fj.observers.spread_of_noise(residual, state, noise)["residual"]
    return [
        bits(kalman.gain, kalman.covariance, fj.observers.FilteredDerivative(1e-3, 300.0).decay),
        bits(*fj.simulation.at_rest(fj.load("vsa_3r"), np.full(3, 0.3), 900.0)),
        bits(*fj.simulation.at_rest(with_springs(SMALL, fj.springs.ExponentialSpring(500.0, 3.0)), np.full(2, 0.3))),
        bits(*fj.simulation.at_rest(with_springs(SMALL, fj.springs.CubicSpring(500.0, 900.0)), np.full(2, 0.3))),
        bits(*spread, *fj.observers.false_alarm_thresholds({"residual": spread}).values()),
    ]


def with_springs(robot, spring):
    links = [
        replace(x, joint=replace(x.joint, drive=replace(x.joint.drive, stiffness=spring))) if x.joint.drive else x
        for x in robot.links
    ]
    return robot.replace(links=tuple(links))


def simulation():
    """With sensors, noise, lagging motors and an observer."""
    run = fj.simulate(
        SMALL,
        fj.control.MotorPD(SMALL, [500.0, 20.0]),
        fj.trajectory.Sinusoid([0.3, 0.4], [0.8, 0.5]),
        0.05,
        period=1e-3,
        substeps=4,
        seed=3,
        sensors=fj.simulation.Sensors(motor_resolution=1e-5, link_noise=1e-5, velocity_noise=1e-3, torque_noise=0.1),
        actuators=fj.simulation.Actuators(bandwidth=300.0, delay=1),
        observers={"residual": fj.observers.JointTorqueResidual(SMALL, 25.0, 50.0)},
    )
    return [bits(run.q, run.v, run.theta, run.tau), *(bits(run.more[x]) for x in sorted(run.more))]


def study():
    with tempfile.TemporaryDirectory() as folder:
        found = fj.studies.monte_carlo(
            SMALL,
            fj.control.MotorPD(SMALL, [500.0, 20.0]),
            fj.trajectory.RestToRest([0.0, 0.0], [0.3, 0.4], 0.04),
            0.05,
            period=1e-3,
            substeps=4,
            seed=2,
            vary={"*.drive.stiffness": "10%", "link2.mass": "-20%..20%"},
            samples=64,
            folder=folder,
        )
    return [bits(found.parameters, found.largest, found.rms)]


def kinematics():
    """Poses, and postures that reach them in a batch, with a preference and bounds of the reach."""
    robot = fj.random_robot(4, 3)
    pose = fj.kinematics.Pose.from_quaternion([0.1, 0.2, 0.3], np.linspace(-0.9, 1.1, 4 * 70).reshape(70, 4))
    placed = fj.forward_kinematics(robot, np.linspace(-1.0, 1.0, 4 * 70).reshape(70, 4))
    stretched = placed.position * np.linspace(0.0, 3.0, 70)[:, None]
    options = {"limits": (-2.5, 2.5), "attempts": 3}
    found = [
        fj.inverse_kinematics(robot, placed.position, **options, nearest_to=np.zeros(4), candidates=2),
        fj.inverse_kinematics(robot, stretched, **options),
    ]
    turned = fj.kinematics.Pose.from_axis_angle(pose.position, pose.rotation[:, 0], np.linspace(-9, 9, 70))
    arrays = [(x.best, x.position_error, x.rotation_error, x.solved, x.starts) for x in found]
    return [bits(pose.rotation, pose.rpy, pose.quaternion, turned.matrix), *(bits(*x) for x in arrays)]


PARTS = [robots, angles, trajectories, springs, torques, constants, simulation, study, kinematics]


def main(wanted):
    for part in PARTS:
        if not wanted or part.__name__ in wanted:
            items = [x.encode() if isinstance(x, str) else x for x in part()]
            if "-v" in wanted:
                for k, x in enumerate(items):
                    print(part.__name__, k, hashlib.sha256(x).hexdigest()[:16])
            print(part.__name__, hashlib.sha256(b"\0".join(items)).hexdigest(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
