"""`time_optimal` on real robots: against toppra, gain over uniform scaling, and the plan on the simulated plant."""

import argparse
import dataclasses
import logging
import math
import sys
import time
from pathlib import Path

import numpy as np
import pinocchio as pin

sys.path.insert(0, str(Path(__file__).parent))

import flexjoint as fj
from support.pinocchio_model import pinocchio_model

SEED = 1
WAYPOINTS = 4
LWR_EFFORTS = (200.0, 200.0, 100.0, 100.0, 100.0, 30.0, 30.0)  # Nm, chosen: the catalogue has no limits of this robot


def robots():
    """Five robots with limits: three with rigid joints, two with elastic ones."""
    lwr = fj.load("kuka_lwr")
    links = list(lwr.links)
    for k, (link, effort) in enumerate(zip(lwr.links, LWR_EFFORTS)):
        limits = fj.Limits(velocity=2.0, effort=effort, lower=-2.9, upper=2.9)
        spring = dataclasses.replace(link.joint.drive, spring_limits=fj.drives.SpringLimits(torque=0.8 * effort))
        links[k] = dataclasses.replace(link, joint=dataclasses.replace(link.joint, limits=limits, drive=spring))
    return [fj.load("panda"), lwr.replace(links=links), fj.load("iiwa14"), fj.load("ur5e"), fj.load("gen3")]


def waypoints(robot, rng):
    """Random postures within the middle of the position limits, that gravity allows."""
    lower = np.array([max(joint.limits.lower, -2.0) for joint in robot.joints])
    upper = np.array([min(joint.limits.upper, 2.0) for joint in robot.joints])
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    return middle + 0.35 * half * rng.uniform(-1, 1, (WAYPOINTS, robot.n))


def against_toppra(robot, points):
    """Durations of `time_optimal` and of toppra on a cubic spline, torques of toppra by Pinocchio."""
    import toppra
    import toppra.algorithm
    import toppra.constraint

    logging.getLogger("toppra").setLevel("ERROR")
    places = np.linspace(0.0, 1.0, len(points))
    path = toppra.SplineInterpolator(places, points)
    model = pinocchio_model(robot, motors=True)
    data = model.createData()
    friction = np.array([j.viscous_friction + j.drive.motor.viscous_friction for j in robot.joints])

    def torque(q, v, a):
        return pin.rnea(model, data, q, v, a) + friction * v

    def symmetric(bounds):
        return np.column_stack([-np.array(bounds), bounds])

    joints = [joint.limits for joint in robot.joints]
    limits = [
        toppra.constraint.JointVelocityConstraint(symmetric([x.velocity for x in joints])),
        toppra.constraint.JointTorqueConstraint(
            torque, symmetric(robot.motor_efforts), np.zeros(robot.n), discretization_scheme=1
        ),
    ]
    if all(math.isfinite(x.acceleration) for x in joints):
        accelerations = symmetric([x.acceleration for x in joints])
        limits.append(toppra.constraint.JointAccelerationConstraint(accelerations, discretization_scheme=1))
    grid = np.linspace(0.0, 1.0, 2001)
    best = toppra.algorithm.TOPPRA(limits, path, gridpoints=grid, solver_wrapper="seidel").compute_trajectory(0, 0)
    found = fj.trajectory.time_optimal(robot, fj.trajectory.Samples(places, points, order=2))
    return found, best.duration


def simulated(robot, found):
    """Largest error under feedforward alone in continuous time, and the largest share of a torque limit."""
    law = fj.control.FeedforwardPD(robot, np.zeros((2, robot.motor_count)))
    options = {"period": found.duration / 8000, "hold": False, "check": False}
    run = fj.simulate(robot, law, found.trajectory, found.duration, **options)
    error = np.abs(run.q - found.trajectory(run.t, order=0)[0]).max()
    return error, np.max(np.abs(run.tau) / robot.motor_efforts)


def main(only):
    """Print a line per robot and problem; exit 1 if a bound is not met."""
    failed = False
    for robot in [x for x in robots() if not only or x.name in only]:
        points = waypoints(robot, np.random.default_rng(SEED))
        kind = "elastic" if any(robot.compliant) else "rigid"
        for name, path, options in (("path", points, {}), ("free", points[[0, -1]], {"free": True})):
            started = time.process_time()
            found = fj.trajectory.time_optimal(robot, path, **options)
            spent = time.process_time() - started
            error, share = simulated(robot, found)
            failed |= found.certificate.excess > 1e-6 or found.status != "Solve_Succeeded"
            print(
                f"{robot.name} ({kind}), {name}: uniform {found.uniform:.4f} s, fastest {found.duration:.4f} s, gain "
                f"{found.gain:.3f}, excess {found.certificate.excess:.1g}, {found.iterations} iterations, {spent:.1f} "
                f"s of processor time; simulated: error {error:.1g} rad, torque share {share:.7f}",
                flush=True,
            )
        if kind == "rigid":
            found, best = against_toppra(robot, points)
            ratio = found.duration / best
            failed |= not 0.99 < ratio < 1.01
            print(f"{robot.name}: {found.duration:.5f} s, toppra {best:.5f} s, ratio {ratio:.5f}", flush=True)
    return int(failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", action="append", default=[], help="one of them; may be repeated; default all")
    sys.exit(main(parser.parse_args().robot))
