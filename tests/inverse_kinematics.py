"""Inverse kinematics of six robots on 100000 random poses each, against Pinocchio's forward kinematics."""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

sys.path.insert(0, str(Path(__file__).parent))

import flexjoint as fj
from flexjoint.kinematics import Pose, Target
from support.arms import arms, beyond_reach, poses, random_postures
from support.pinocchio_model import pinocchio_model, pinocchio_order

SUCCESS, TOLERANCE = 0.999, 1e-10


def pinocchio_errors(robot, q, targets):
    """Largest distance and angle between the frames at postures (rows, n) and their goals."""
    model, order = pinocchio_model(robot), pinocchio_order(robot)
    data = model.createData()
    frames = [model.getFrameId(target.link) for target in targets]
    placed = np.empty((len(targets), len(q), 4, 4))
    for k, row in enumerate(q[:, order]):
        pin.framesForwardKinematics(model, data, row)
        for i, frame in enumerate(frames):
            placed[i, k] = data.oMf[frame].homogeneous
    distance = angle = 0.0
    for found, target in zip(placed, targets):
        distance = max(distance, float(np.max(np.linalg.norm(found[:, :3, 3] - target.pose.position, axis=1))))
        turned = Rotation.from_matrix(np.einsum("kji,kjl->kil", found[:, :3, :3], target.pose.rotation))
        angle = max(angle, float(np.max(turned.magnitude())))
    return distance, angle


def measured(robot, count, seed):
    """A line of the table, and whether all of it is as it must be."""
    targets = poses(robot, random_postures(robot, count, seed))
    fj.inverse_kinematics(robot, [Target(x.pose[:64], x.link) for x in targets])  # compiles
    started = time.process_time()
    found = fj.inverse_kinematics(robot, targets)
    elapsed = time.process_time() - started
    q = found.q[found.solved]
    lower, upper = (np.array([getattr(x, name) for x in robot.joint_limits]) for name in ("lower", "upper"))
    within = bool(np.all((lower <= q) & (q <= upper)))
    solved = [Target(Pose(x.pose.position[found.solved], x.pose.rotation[found.solved]), x.link) for x in targets]
    distance, angle = pinocchio_errors(robot, q, solved)
    wrongly = int(np.sum(found.status == "out of reach"))
    beyond = beyond_reach(robot, targets[0].link, 10_000, seed + 1)
    turned = Rotation.random(len(beyond), rng=np.random.default_rng(seed)).as_matrix()
    declared = fj.inverse_kinematics(robot, Target(Pose(beyond, turned), targets[0].link), attempts=1)
    missed = int(np.sum(declared.status != "out of reach"))
    print(
        f"| {robot.name} | {robot.n} | {100 * np.mean(found.solved):.3f} % | {np.mean(found.starts):.2f}, "
        f"{np.max(found.starts)} | {distance:.1e} m, {angle:.1e} rad | {wrongly} | {missed} of {len(beyond)} "
        f"| {1e6 * elapsed / count:.1f} µs |",
        flush=True,
    )
    good = np.mean(found.solved) > SUCCESS and within and max(distance, angle) < TOLERANCE + 1e-14
    return good and not wrongly and not missed


def main(count, seed):
    columns = "robot", "joints", "solved", "starts, mean and most", "errors by Pinocchio", "wrongly out of reach"
    print("| " + " | ".join([*columns, "beyond reach, missed", "processor time per pose"]) + " |")
    print("|---|---|---|---|---|---|---|---|")
    results = [measured(robot, count, seed) for robot in arms().values()]
    return int(not all(results))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.exit(main(options.count, options.seed))
