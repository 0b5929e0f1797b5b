"""Figure of a comparison of rotor models: torques, errors, and growth of the errors with speed, one row per joint."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.rotor_models import REFERENCE, RotorComparison
from ..analysis.torque_table import units
from .figures import BLUE, GREEN, MOST_POINTS, ORANGE, check_plot_path, name_text, write_figure
from .joint_rows import JointRows, heading_of, tidy, write_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {REFERENCE: "#000000", "no rotors": GREEN, "armature": BLUE, "geared": "#E69F00", "Spong": ORANGE}
DASHES = {"geared": "-.", "Spong": "--"}  # solid lines would hide the curve of the armature model


def plot_rotor_models(comparison: RotorComparison, path: str | os.PathLike[str] | None = None) -> Figure:
    """Figure of the motor torques with and without rotors, the errors of simpler models, and their growth with speed.

    Args:
        comparison: What `compare_rotor_models` returns.
        path: File to write, .png, .pdf or .svg; by default none.

    Returns:
        The matplotlib Figure, one row per joint.

    Raises:
        InputError: The path has another suffix or no file can be written there.
    """
    place = check_plot_path(path)
    from matplotlib.lines import Line2D

    robot, unit = comparison.robot, units(comparison.robot, "tau")
    rows = JointRows([joint.name for joint in robot.joints], 3, height=1.4, share=False)
    step = max(1, comparison.t.size // MOST_POINTS)
    t, errors = comparison.t[::step], comparison.errors
    near = [model for model in comparison.simpler if model != "no rotors"]
    for i, (torque, error, growth) in enumerate(rows.axes):
        for model in (REFERENCE, *comparison.simpler):
            torque.plot(t, comparison.torques[model][::step, i], **style(model))
        for model in near:
            error.plot(t, errors[model][::step, i], **style(model))
        for model in comparison.simpler:
            if np.all(comparison.growth[model][:, i] > 0):
                growth.plot(comparison.speeds, comparison.growth[model][:, i], marker="o", markersize=3, **style(model))
        tidy(torque)
        tidy(error)
        if not any(np.any(errors[model][:, i]) for model in near):
            error.set(ylim=(-1, 1), yticks=[0])
        growth.grid(alpha=0.3)
        growth.set(xscale="log", yscale="log", xticks=comparison.speeds)
        growth.xaxis.set_major_formatter("{x:g}")
        growth.minorticks_off()
        for axis in (torque, error, growth):
            axis.tick_params(labelbottom=i == robot.n - 1)
            if len(set(unit)) > 1:
                write_unit(axis, unit[i])
    headings = [heading_of(x, unit) for x in ("motor torque", "model − complete", "largest error")]
    legend = {model: Line2D([], [], **style(model)) for model in (REFERENCE, *comparison.simpler)}
    title = f"{name_text(robot.name)}: rotor models along a trajectory of {comparison.t[-1]:g} s"
    return write_figure(rows.finish(title, headings, ["time, s", "time, s", "speed factor"], legend), place)


def style(model: str) -> dict[str, Any]:
    """Line style of a model."""
    return {"color": COLOURS[model], "linestyle": DASHES.get(model, "-"), "linewidth": 1.4}
