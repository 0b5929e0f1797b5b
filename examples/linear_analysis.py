"""The LWR near a configuration as a linear system: modes, a transfer function, eigenfrequencies over the workspace.

Saves linear_analysis.png, the Bode plot from the torque of motor 1 to its link and to itself.
"""

import argparse
from pathlib import Path

import numpy as np

import flexjoint as fj

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--output", type=Path, default=Path("."), help="folder for the figure")
folder = parser.parse_args().output

robot = fj.load("kuka_lwr")
q = np.array([0.2, 0.5, -0.4, 1.0, 0.3, 0.6, 0.0])
model = fj.analysis.linearize(robot, q)
modes = np.unique(model.frequencies.round(1))
print("modes, rad/s:", ", ".join(f"{x:g}" for x in modes[modes > 0]))

joint = robot.joints[0].name
omega = np.geomspace(5.0, 1000.0, 400)
gain = np.abs(model.response(omega, f"tau.{joint}", f"q.{joint}"))[:, 0, 0]
print(f"torque of {joint} to its link: {gain[0]:.2e} rad/Nm at 5 rad/s, largest at {omega[np.argmax(gain)]:.0f} rad/s")

A, B, C, D = model.system(f"load.{joint}", "tau_e.*")  # a force on a link, torques of springs: for control.ss
print(f"a system of {len(A)} states, {B.shape[1]} input and {len(C)} outputs")

configurations = np.random.default_rng(0).uniform(-np.pi, np.pi, (1000, 7))
frequencies = fj.analysis.joint_eigenfrequencies(robot, configurations)
for k, (low, high) in enumerate(zip(frequencies.min(axis=0), frequencies.max(axis=0)), 1):
    print(f"mode {k}: {low:.0f} to {high:.0f} rad/s over the workspace")

fj.plots.plot_bode(model, f"tau.{joint}", [f"q.{joint}", f"theta.{joint}"], omega, folder / "linear_analysis.png")
