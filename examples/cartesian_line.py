"""A Panda draws a line, an arc and a rounded corner: path, joint motion, motor torques, and how straight they stay.

The line is simulated with elastic joints under feedforward control: in continuous time it stays straight within
a nanometre, with torques held for 1 ms within micrometres.  Saves cartesian_line.png.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np

import flexjoint as fj

matplotlib.use("Agg")

ROBOT = fj.load("panda")
START = np.deg2rad([0.0, -30.0, 0.0, -120.0, 0.0, 90.0, 45.0])
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]


def paths() -> dict[str, fj.trajectory.CartesianPath]:
    """Three paths of the flange from the same start."""
    first = fj.forward_kinematics(ROBOT, START)
    pose = fj.kinematics.Pose(first.position, first.rotation)
    corner = fj.kinematics.Pose(pose.position + np.array([0.0, 0.3, 0.0]), pose.rotation)
    line = fj.trajectory.Line(pose, corner)
    down = fj.trajectory.Line(corner, corner.position + np.array([0.1, 0.0, -0.3]))
    return {
        "line": line,
        "arc": fj.trajectory.Arc(pose, pose.position + np.array([0.0, 0.15, 0.0]), [1.0, 0.0, 0.0], -np.pi),
        "rounded corner": line.then(down, deviation=0.02),
    }


def distance_from_the_path(motion: fj.trajectory.CartesianMotion, run: fj.Simulation) -> np.ndarray:
    """Distance between the flange and where it should be, in m."""
    reached = fj.forward_kinematics(ROBOT, run.q).position
    return np.linalg.norm(reached - motion.poses(run.t).position, axis=1)


def main(output: Path) -> None:
    import matplotlib.pyplot as plt

    motions = {
        name: fj.trajectory.CartesianMotion(ROBOT, path, START, speed=0.25, acceleration=1.0)
        for name, path in paths().items()
    }
    for name, motion in motions.items():
        error = motion.path_error
        print(
            f"{name}: {motion.duration:.3f} s, at most {error.position:.1e} m and {error.rotation:.1e} rad off the path"
        )

    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), layout="constrained")
    for (name, motion), colour in zip(motions.items(), COLOURS):
        p = fj.forward_kinematics(ROBOT, motion(np.linspace(0.0, motion.duration, 401))[0]).position
        axes[0, 0].plot(p[:, 1], p[:, 2], color=colour, label=name, linewidth=4 if name == "line" else 1.5)
    axes[0, 0].set(title="paths of the flange", xlabel="y, m", ylabel="z, m", aspect="equal")

    corner = motions["rounded corner"]
    t = np.linspace(0.0, corner.duration, 1001)
    stack = corner(t)
    tau = fj.inverse_dynamics(ROBOT, *stack)
    for i, colour in enumerate(COLOURS):
        axes[0, 1].plot(t, stack[1, :, i], color=colour, label=f"joint {i + 1}")
        axes[1, 0].plot(t, tau[:, i], color=colour, label=f"joint {i + 1}")
    axes[0, 1].set(title="rounded corner: joint velocities", xlabel="time, s", ylabel="rad/s")
    axes[1, 0].set(title="rounded corner: motor torques", xlabel="time, s", ylabel="Nm")

    line = motions["line"]
    controller = fj.control.FeedforwardPD(ROBOT, [2000.0, 50.0])
    for label, hold in (("continuous time", False), ("held for 1 ms", True)):
        run = fj.simulate(ROBOT, controller, line, hold=hold)
        apart = distance_from_the_path(line, run)
        axes[1, 1].semilogy(run.t, np.maximum(apart, 1e-17), label=f"{label}: at most {np.max(apart):.1e} m")
        print(f"simulated, {label}: at most {np.max(apart):.1e} m off the line")
    axes[1, 1].set(title="line: distance of the elastic robot from the path", xlabel="time, s", ylabel="m")
    for axis in axes.flat:
        axis.grid(alpha=0.3)
    for axis in (axes[0, 0], axes[1, 1]):
        axis.legend(fontsize=8)
    axes[0, 1].legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), title="also of the torques")
    output.mkdir(parents=True, exist_ok=True)
    figure.savefig(output / "cartesian_line.png", dpi=120)
    print(f"Saved {output / 'cartesian_line.png'}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results (default: out)")
    main(parser.parse_args().output)
