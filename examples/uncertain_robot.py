"""A controller on robots it does not know exactly: masses and stiffnesses off by 20 %, one robot per row of a batch.

Saves uncertain_robot.png, the error of every robot over time.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import flexjoint as fj

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--output", type=Path, default=Path("."), help="folder for the figure")
folder = parser.parse_args().output

robot = fj.load("kuka_lwr")
goal = np.array([0.5, -0.4, 0.3, 0.6, -0.2, 0.4, 0.1])
trajectory = fj.trajectory.RestToRest(np.zeros(7), goal, duration=2.0)
law = fj.control.FeedforwardPD(robot, [2000.0, 100.0])

factors = np.random.default_rng(0).choice([0.8, 1.2], (63, 14))
factors = np.vstack([np.ones(14), factors])  # the first row is the robot that the controller knows
varied = {f"link{k + 1}.mass": link.mass * factors[:, k] for k, link in enumerate(robot.links[:7])}
varied["*.drive.stiffness"] = 1000.0 * factors[:, 7:]

run = fj.simulate(robot, law, trajectory, 4.0, period=5e-4, free=varied)
errors = np.max(np.abs(run.q - run.reference), axis=(1, 2))
print(f"the robot it knows: {errors[0]:.1e} rad; the others: {errors[1:].min():.3f} to {errors[1:].max():.3f} rad")

figure = Figure(figsize=(7, 4), layout="constrained")
axes = figure.subplots()
worst = np.max(np.abs(run.q - run.reference), axis=2)
axes.plot(run.t, worst[1:].T, color="0.75", linewidth=0.8)
axes.plot(run.t, worst[0], color="C0", linewidth=2, label="the robot that the controller knows")
axes.set(xlabel="time, s", ylabel="largest error of a joint, rad", title="63 robots off by 20 %, and the nominal one")
axes.legend(loc="upper left")
figure.savefig(folder / "uncertain_robot.png", dpi=120)
