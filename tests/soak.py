"""Memory of a process that meets one random robot after another: kernels, inverse kinematics, simulations, files.

    python tests/soak.py --minutes 30     # exit code 1 if the second half needs 2 % more memory at its end

Each robot is new to the process.  Kernels are compiled, not taken from the disk.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

os.environ["FLEXJOINT_CACHE"] = "off"

import numpy as np

import flexjoint as fj
from flexjoint.formats.robot_files import parse_robot
from flexjoint.formats.writing import robot_text

GROWTH = 0.02  # of the memory in the middle
SIMULATED = 4  # every so many robots is simulated, too


def megabytes() -> float:
    """Memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS:"))


def visit(k: int) -> None:
    """Use robot k in many ways."""
    n = 1 + k % 5
    robot = fj.random_robot(n, k, prismatic=0.2, tree=k % 3 == 0, elastic=float(k % 2), friction=k % 7 == 0)
    robot = parse_robot(robot_text(robot).encode(), "again")
    q, rest = np.full(n, 0.1), np.zeros(n)
    fj.mass_matrix(robot, np.zeros((20, n)))
    fj.gravity_torque(robot, q)
    fj.inverse_dynamics(robot, q, *[rest] * (4 if k % 2 else 2))
    target = fj.forward_kinematics(robot, q)
    fj.inverse_kinematics(robot, target, start=rest, attempts=1)
    motion = fj.trajectory.load_trajectory('{kind = "rest_to_rest", goal = 0.2, duration = 0.1}', robot)
    motion(np.linspace(0.0, 0.1, 50), 2)
    if k % SIMULATED == 1:  # elastic
        fj.analysis.joint_eigenfrequencies(robot, q)
        controller = fj.control.FeedforwardPD(robot, [100.0, 10.0])
        fj.simulate(robot, controller, motion, 0.02, period=1e-3, check=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    end = 60.0 * parser.parse_args().minutes
    warnings.simplefilter("ignore")
    started, k, middle, shown = time.monotonic(), 0, 0.0, -60.0
    while (now := time.monotonic() - started) < end:
        visit(k)
        k += 1
        middle = middle or (megabytes() if now >= end / 2 else 0.0)
        if now >= shown + 60.0:
            shown = now
            print(f"{now / 60:5.1f} min, {k:6d} robots: {megabytes():.1f} MB", flush=True)
    growth = megabytes() / middle - 1.0
    print(f"{k} robots; second half: {middle:.1f} to {megabytes():.1f} MB, {100 * growth:+.2f} %")
    return int(growth >= GROWTH)


if __name__ == "__main__":
    sys.exit(main())
