"""From a DH table to motor torques: an arm with three elastic joints, written down in Python.

Saves torques.csv and torques.png; prints the largest torques.  The same from files: docs/getting-started.md.
"""

import argparse
from pathlib import Path

import numpy as np

import flexjoint as fj
from flexjoint.analysis.torque_table import motor_table
from flexjoint.plots import plot_motors
from flexjoint.results import write_table

ARM = fj.from_dh(
    "arm",
    alpha=np.deg2rad([90, 0, 0]),
    a=[0.0, 0.4, 0.35],
    d=[0.3, 0.0, 0.0],
    mass=[4.0, 3.0, 1.5],
    com=[[0.0, -0.1, 0.0], [-0.2, 0.0, 0.0], [-0.15, 0.0, 0.0]],
    inertia=[np.diag(x) for x in ([0.03, 0.01, 0.03], [0.005, 0.04, 0.04], [0.002, 0.015, 0.015])],
    drives=[fj.ElasticDrive(K, fj.Motor(B)) for K, B in ((8000.0, 1.2), (6000.0, 0.9), (2500.0, 0.3))],
)


def main(output: Path) -> None:
    motion = fj.trajectory.RestToRest(start=np.zeros(3), goal=np.deg2rad([90, 60, -45]), duration=1.0)
    table = motor_table(ARM, motion, period=1e-3, rigid=True)
    assert table.tau_rigid is not None
    for joint, tau, rigid in zip(ARM.joints, table.tau.T, table.tau_rigid.T):
        print(f"{joint.name}: {np.abs(tau).max():6.2f} Nm, {np.abs(tau - rigid).max():.2f} Nm of it due to the spring")
    output.mkdir(parents=True, exist_ok=True)
    write_table(table, output / "torques.csv")
    plot_motors(table, output / "torques.png")
    print(f"Saved {output / 'torques.csv'} and {output / 'torques.png'}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results (default: out)")
    main(parser.parse_args().output)
