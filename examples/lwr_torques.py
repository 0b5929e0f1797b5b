"""Torques of the 7R KUKA LWR along a rest-to-rest motion, with elastic joints and with rigid ones.

The motion is of the kind of [EJNEA sec. V]: degree 7, 4 s, peak speeds from 90 to 120 degrees per second.
Prints a table, saves torques.csv and torques.png.
"""

import argparse
import timeit
from pathlib import Path

import matplotlib
import numpy as np
from rich.console import Console
from rich.table import Table

import flexjoint as fj

matplotlib.use("Agg")
SWEEP = np.deg2rad([165, 174, 183, -192, 201, 210, 219])  # from −SWEEP/2 to SWEEP/2
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]  # Okabe and Ito


def main(output: Path) -> None:
    robot = fj.load("kuka_lwr")
    motion = fj.RestToRest(start=-SWEEP / 2, goal=SWEEP / 2, duration=4.0)
    t = np.linspace(0.0, motion.duration, 401)
    stack = motion(t)  # q and its first four derivatives, (5, 401, 7)

    motors = fj.motor_motion(robot, *stack)
    torque, deflection = motors.tau, np.rad2deg(motors.deflection)  # θ − q
    difference = torque - fj.inverse_dynamics(robot.rigid(), *stack)

    names = [joint.name for joint in robot.joints]
    console = Console()
    console.print(table(names, torque, torque - difference, deflection))
    console.print(timing(robot, stack))
    output.mkdir(parents=True, exist_ok=True)
    header = ",".join(["t_s", *(f"{x}_elastic_Nm" for x in names), *(f"{x}_rigid_Nm" for x in names)])
    rows = np.column_stack([t, torque, torque - difference])
    np.savetxt(output / "torques.csv", rows, fmt="%.9g", delimiter=",", header=header, comments="")
    plot(output / "torques.png", t, names, torque, difference, deflection)
    console.print(f"Saved {output / 'torques.csv'} and {output / 'torques.png'}.")


def table(names: list[str], elastic: np.ndarray, rigid: np.ndarray, deflection: np.ndarray) -> Table:
    found = Table(title="Motor torques of the KUKA LWR, 4 s rest-to-rest")
    found.add_column("joint")
    for column in ("elastic\npeak, Nm", "rigid\npeak, Nm", "difference\nmax, Nm", "of peak\n%", "deflection\npeak, °"):
        found.add_column(column, justify="right")
    peak, rigid_peak, largest = (np.abs(x).max(axis=0) for x in (elastic, rigid, elastic - rigid))
    numbers = np.column_stack([peak, rigid_peak, largest, 100 * largest / peak, np.abs(deflection).max(axis=0)])
    for name, row in zip(names, numbers):
        found.add_row(name, *(f"{x:.{digits}f}" for x, digits in zip(row, (2, 2, 3, 1, 3))))
    return found


def timing(robot: fj.Robot, stack: np.ndarray) -> str:
    """The least of many repetitions; other programs can only add to it."""
    kernel = fj.compile(fj.inverse_dynamics, robot)
    q, v, a, jerk, snap = stack[:, 120].copy()
    out = np.empty(robot.n)
    batch = np.tile(stack, (1, 25, 1))
    single = min(timeit.repeat("kernel(q, v, a, jerk, snap, out=out)", globals=locals(), number=2000, repeat=50)) / 2000
    rows = min(timeit.repeat("kernel(*batch)", globals=locals(), number=1, repeat=50)) / batch.shape[1]
    return (
        f"Elastic inverse dynamics, {kernel.operations} operations: {single * 1e9:.0f} ns a call from Python,\n"
        f"{rows * 1e9:.0f} ns a sample where one call takes {batch.shape[1]}."
    )


def plot(path: Path, t: np.ndarray, names: list[str], *panels: np.ndarray) -> None:
    import matplotlib.pyplot as plt

    labels = ["motor torque, Nm\n(elastic joints)", "elastic − rigid, Nm", "joint deflection, °"]
    figure, axes = plt.subplots(3, 2, figsize=(11, 8), sharex=True, layout="constrained")
    for row, label, curves in zip(axes, labels, panels):
        row[0].set_ylabel(label)
        for axis, joints in zip(row, (range(4), range(4, len(names)))):
            for k in joints:
                axis.plot(t, curves[:, k], "-" if k % 2 == 0 else "--", color=COLOURS[k], label=names[k])
            axis.grid(alpha=0.3)
            axis.margins(x=0)
    for axis, title in zip(axes[0], ("shoulder and elbow", "wrist (other scales)")):
        axis.set_title(title)
    for axis in axes[-1]:
        axis.set_xlabel("time, s")
    figure.align_ylabels()
    figure.suptitle("KUKA LWR, rest-to-rest motion of 4 s")
    handles = [line for axis in axes[0] for line in axis.get_lines()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(names), frameon=False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results (default: out)")
    main(parser.parse_args().output)
