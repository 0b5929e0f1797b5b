"""The picture of the README: an arm with the ghost of its motors beside its torque curves.

    python -m manual.picture
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

import flexjoint as fj
from flexjoint.plots.figures import BLUE, GREY, ORANGE
from flexjoint.types import FloatArray
from flexjoint.viewer.animation import floor_grid, projected
from flexjoint.viewer.skeleton import skeleton

from .pages import DOCS

PICTURE = DOCS / "images" / "arm_and_torques.png"
VIEW = (-70.0, 12.0)  # azimuth and elevation, degrees
START, GOAL = np.deg2rad([[-30, -50, 0, -150, 0, 100, 45], [30, 45, 0, -50, 0, 95, 45]])
DURATION = 0.5  # s
INSTANTS = (0.0, 0.5)  # s
STIFFNESS = 1000.0  # Nm/rad, softer than the real arm, so that springs show
MAGNIFY = 2.0  # of deflections, in the picture
SHOWN = (1, 3)  # joints whose torques are plotted


def draw_arm(axis: Axes, robot: fj.Robot, q: FloatArray, colour: str, strength: float) -> None:
    """Draw the links as thick lines with their joints."""
    arm = skeleton(robot, q)
    points = projected(arm.points, *VIEW)
    lines = [points[list(pair)] for pair in arm.segments]
    axis.add_collection(LineCollection(lines, colors=colour, alpha=strength, linewidths=9, capstyle="round"))
    axis.plot(*points[arm.joints].T, "o", color="white", alpha=strength, markersize=4)


def main() -> None:
    panda = fj.load("panda")
    robot = panda.with_drives([fj.ElasticDrive(STIFFNESS, joint.drive.motor) for joint in panda.joints])
    motion = fj.trajectory.RestToRest(START, GOAL, duration=DURATION)
    t = np.linspace(0.0, DURATION, 401)
    found = fj.motor_motion(robot, *motion(t))
    rigid = fj.inverse_dynamics(robot.rigid(), *motion(t))

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.0, 1.15))
    arm = left.subplots()
    arm.set_axis_off()
    arm.set_aspect("equal")
    grid, _ = floor_grid(np.array([0.15, 0.0, 0.4]), 0.6)
    arm.add_collection(LineCollection(list(projected(grid, *VIEW)), colors="#dddddd", linewidths=0.8, zorder=0))
    for instant, strength in zip(INSTANTS, (0.35, 1.0)):
        k = int(np.argmin(np.abs(t - instant)))
        q = motion(t[k], 0)[0]
        draw_arm(arm, robot, q + MAGNIFY * found.deflection[k], ORANGE, 0.7 * strength)
        draw_arm(arm, robot, q, BLUE, strength)
    for colour, name in ((BLUE, "links"), (ORANGE, f"motors, deflections × {MAGNIFY:g}")):
        arm.plot([], [], color=colour, linewidth=6, label=name)
    arm.legend(loc="upper left", bbox_to_anchor=(0, 1.25), frameon=False)
    arm.set_title(f"Panda with springs of {STIFFNESS:g} Nm/rad", loc="left", y=1.28)
    arm.autoscale_view()

    for axis, joint in zip(right.subplots(len(SHOWN), 1, sharex=True), SHOWN):
        axis.plot(t, found.tau[:, joint], color=ORANGE, label="elastic joints")
        axis.plot(t, rigid[:, joint], color=GREY, linestyle="--", label="rigid joints")
        axis.set_ylabel(f"motor torque {joint + 1}, Nm")
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
    axis.set_xlabel("time, s")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
