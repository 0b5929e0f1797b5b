"""How well does a controller follow with robots that differ from its model?  500 of them, on all cores."""

import argparse
from pathlib import Path

import numpy as np

import flexjoint as fj

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--output", type=Path, default=Path("."), help="folder for samples and plot")
folder = parser.parse_args().output

robot = fj.load("hua_3r")
trajectory = fj.trajectory.RestToRest(np.zeros(3), np.array([0.8, -0.5, 0.6]), duration=0.5)
law = fj.control.FeedforwardPD(robot, [400.0, 40.0])
study = fj.studies.monte_carlo(
    robot,
    law,
    trajectory,
    0.6,
    samples=500,
    vary={"*.drive.stiffness": "10%", "link?.mass": "-20%..20%", "payload": "0..1"},
    seed=1,
    folder=folder / "samples",  # run it again after Ctrl-C, or with more samples: it goes on
    limit=0.2,
    period=5e-4,
)
for joint, half, most in zip(robot.joints, *study.quantiles([0.5, 0.95])):
    print(f"{joint.name}: half of the errors below {half:.3f} rad, 95 % below {most:.3f} rad")
heaviest = study.parameters[:, study.names.index("payload.mass")].max()
print(f"{study.failed.sum()} of {len(study.samples)} failed; the heaviest payload was {heaviest:.2f} kg")
fj.plots.plot_monte_carlo(study, folder / "errors.png")
