"""A controller on a robot with elastic joints: simulated, saved, plotted."""

import argparse
from pathlib import Path

import numpy as np

import flexjoint as fj

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--output", type=Path, default=Path("."), help="folder for the files")
folder = parser.parse_args().output

robot = fj.load("hua_3r")
trajectory = fj.trajectory.RestToRest(np.zeros(3), np.array([0.8, -0.5, 0.6]), duration=1.0)
law = fj.control.FeedforwardPD(robot, [400.0, 40.0])
run = fj.simulate(robot.with_payload(0.5), law, trajectory, 1.5, period=5e-4)  # the law does not know the payload

fj.results.write_results(run, folder / "run.nc")
fj.plots.plot_simulation(run, folder / "run.png")
data = fj.results.read_results(folder / "run.nc")
print(f"largest torque: {float(abs(data.tau).max()):.1f} {data.tau.units} under {data.controller}")
print(f"largest error: {np.rad2deg(np.max(np.abs(run.error))):.2f}°")
