"""An arm with soft joints, as a page to turn around and as a GIF; its motors are drawn beside the links."""

import argparse
from pathlib import Path

import numpy as np

import flexjoint as fj

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--output", type=Path, default=Path("."), help="folder for the animations")
folder = parser.parse_args().output

robot = fj.load("kuka_lwr")
start, goal = np.array([0.0, 0.5, 0.0, 1.2, 0.0, 0.6, 0.0]), np.array([1.5, -0.7, 0.4, -1.0, 0.5, 1.0, 0.3])
run = fj.simulate(
    robot, fj.control.FeedforwardPD(robot, [2000.0, 100.0]), fj.trajectory.RestToRest(start, goal, 1.0), period=5e-4
)
fj.viewer.animate(run, folder / "arm.html", magnify=5.0)  # deflections five times as large as they are
fj.viewer.animate(run, folder / "arm.gif", frames=10.0, magnify=5.0)
print(f"arm.html and arm.gif in {folder}")
