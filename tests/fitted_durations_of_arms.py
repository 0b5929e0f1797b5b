"""`fit_duration` against dense scans on random robots with two, three and seven joints, torques by Pinocchio."""

import argparse
import dataclasses
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import flexjoint as fj
from flexjoint.drives import MotorLimits, SpringLimits
from support.chebyshev import SampledMotion, resampling

COARSE, FINE = 801, 8001  # even samples of a scan, and of its end
SPEEDS = np.geomspace(0.02, 20.0, 700)


def random_case(rng, n):
    """A robot, a motion and limits near those that some speed takes."""
    robot = fj.random_robot(n, int(rng.integers(1 << 30)), prismatic=0.0)
    elastic = rng.random(n) < rng.choice([0.0, 0.5, 1.0])
    motors = [fj.Motor(rng.uniform(0.05, 0.5), viscous_friction=float(rng.choice([0.0, 1.0]))) for _ in range(n)]
    drives = [
        fj.ElasticDrive(10 ** rng.uniform(2, 3.5), motor) if x else fj.RigidDrive(motor)
        for x, motor in zip(elastic, motors)
    ]
    robot = robot.with_drives(drives)
    links = [
        dataclasses.replace(link, joint=dataclasses.replace(link.joint, viscous_friction=float(rng.choice([0.0, 0.5]))))
        for link in robot.links
    ]
    robot = robot.replace(links=links)
    if rng.random() < 0.5:
        motion = fj.trajectory.RestToRest(*rng.uniform(-1.5, 1.5, (2, n)), rng.uniform(0.5, 2.0))
    else:
        swing = {"phase": rng.uniform(0, 2 * math.pi, n), "offset": rng.uniform(-1.5, 1.5, n)}
        motion = fj.trajectory.Sinusoid(rng.uniform(0.1, 1.0, n), rng.uniform(0.3, 1.0), **swing)
    sampled = SampledMotion(robot, motion)
    if rng.random() < 0.4:  # one motor alone, limited below what gravity takes: slow motions are not feasible
        held, i = np.abs(sampled.quantities(0.0)["torque"]).max(axis=0), int(rng.integers(n))
        limits = {"torque": np.where(np.arange(n) == i, rng.uniform(0.5, 1.1) * held + 1e-3, math.inf)}
        return with_limits(robot, limits), motion, sampled, limits
    near = sampled.quantities(rng.uniform(0.3, 3.0))
    names = [x for x in near if rng.random() < 0.5] or ["torque"]
    share = rng.uniform(0.4, 1.4, n)
    limits = {name: np.abs(near[name]).max(axis=0) * share + 1e-3 for name in names}
    if "spring torque" in limits:
        limits["spring torque"] = np.where(elastic, limits["spring torque"], math.inf)
    if not any(np.isfinite(x).any() for name, x in limits.items() if name != "motor speed"):
        limits["torque"] = np.abs(near["torque"]).max(axis=0) * share
    return with_limits(robot, limits), motion, sampled, limits


def with_limits(robot, limits):
    """The robot with limits {quantity: (n,)}."""

    def bound(name, i):
        return float(limits[name][i]) if name in limits else math.inf

    links = list(robot.links)
    for i, link in enumerate(robot.links):
        motor = dataclasses.replace(
            link.joint.drive.motor, limits=MotorLimits(torque=bound("torque", i), speed=bound("motor speed", i))
        )
        changes = {"motor": motor}
        if isinstance(link.joint.drive, fj.ElasticDrive):
            changes["spring_limits"] = SpringLimits(torque=bound("spring torque", i))
        joint = dataclasses.replace(
            link.joint,
            drive=dataclasses.replace(link.joint.drive, **changes),
            limits=fj.Limits(velocity=bound("velocity", i), acceleration=bound("acceleration", i)),
        )
        links[i] = dataclasses.replace(link, joint=joint)
    return robot.replace(links=links)


def scanned(sampled, limits):
    """The greatest feasible speed of a dense scan, refined, and whether some slower speed is infeasible."""
    coarse, fine = (resampling(sampled.x, np.linspace(-1, 1, k)) for k in (COARSE, FINE))
    worst = np.array([sampled.worst(limits, s, coarse) for s in SPEEDS])
    good = next((k for k in np.flatnonzero(worst <= 1)[::-1] if sampled.worst(limits, SPEEDS[k], fine) <= 1), None)
    if good is None:
        return None, False
    if good == len(SPEEDS) - 1:
        return math.inf, False
    low, high = SPEEDS[good], SPEEDS[good + 1]
    for _ in range(26):
        middle = 0.5 * (low + high)
        if sampled.worst(limits, middle, fine) <= 1:
            low = middle
        else:
            high = middle
    return low, bool(np.any(worst[:good] > 1))


def main(count, seed=0):
    """Print the worst excess and loss per number of joints; exit 1 if one is too large."""
    rng, failed = np.random.default_rng(seed), False
    for n in (2, 3, 7):
        excess, loss, refused, split = 0.0, 0.0, 0, 0
        for k in range(count):
            robot, motion, sampled, limits = random_case(rng, n)
            best, disconnected = scanned(sampled, limits)
            try:
                s = 1 / fj.trajectory.fit_duration(robot, motion).factor
            except fj.InputError as error:
                refused += 1
                if best is not None or "no duration is feasible" not in str(error):
                    print(f"{n} joints, case {k}: refused, and a scan finds {best}: {error}")
                    loss = math.inf
                continue
            more = sampled.worst(limits, s, resampling(sampled.x, np.linspace(-1, 1, FINE))) - 1
            lost = 0.0 if best is None or math.isinf(best) else best / s - 1
            split += disconnected
            excess, loss = max(excess, more), max(loss, lost)
            if more > 1e-6 or lost > 1e-6:
                print(f"{n} joints, case {k}: s = {s:.9g}, scan {best}, excess {more:.2g}")
        failed |= excess > 1e-6 or loss > 1e-6
        print(
            f"{n} joints, {count} motions: {refused} infeasible at any speed, {split} infeasible at some slower speed; "
            f"largest excess {excess:.2g}, duration beyond that of the scan {loss:.2g}",
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="motions per number of joints")
    sys.exit(main(parser.parse_args().count))
