"""Figure of residual vibration: the tool after the stop, and the modes, of one run or of several compared."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.vibration import residual_vibration, tool_positions
from ..errors import InputError, shown
from ..simulation.result import Simulation
from .figures import CURVES, MOST_POINTS, check_plot_path, literal, shortened, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEFORE = 0.3  # of the time after the stop: shown before it


def plot_vibration(runs: Simulation | Mapping[str, Simulation], path: str | os.PathLike[str] | None = None) -> Figure:
    """Distance of the tool from where it ends, with the time of the stop, and amplitude over frequency of the modes.

    Args:
        runs: One run of `simulate`, or several by name, such as before and after shaping.
        path: File to write, .png, .pdf or .svg; by default none.

    Returns:
        The matplotlib Figure.

    Raises:
        InputError: There is no run, one is too short after its stop, or no file can be written there.
    """
    place = check_plot_path(path)
    compared = runs if isinstance(runs, Mapping) else {"": runs}
    if not compared or not all(isinstance(x, Simulation) for x in compared.values()):
        raise InputError(f"plot_vibration: runs is {shown(runs)}; give what simulate returns, or several by name")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    time, modes = figure.subplots(1, 2, width_ratios=[1.6, 1.0])
    earliest = np.inf
    for (name, run), colour in zip(compared.items(), CURVES):
        found = residual_vibration(run)
        tool = tool_positions(run.robot, run.q)
        step = max(1, run.t.size // MOST_POINTS)
        end = tool_positions(run.robot, found.final[None])
        away = 1e3 * np.sqrt(np.sum((tool - end) ** 2, axis=1))
        time.semilogy(run.t[::step], np.maximum(away, 1e-4)[::step], color=colour, linewidth=1.1, label=name or None)
        time.axvline(found.start, color=colour, linestyle="--", linewidth=0.9)
        earliest = min(earliest, found.start - BEFORE * (run.t[-1] - found.start))
        frequencies, sizes = [x.frequency for x in found.modes], [1e3 * x.tool for x in found.modes]
        modes.vlines(frequencies, 1e-4, sizes, color=colour, linewidth=1.2)
        modes.plot(frequencies, sizes, "o", color=colour, markersize=4)
    time.set(xlabel="time, s", ylabel="distance of the tool from its end, mm", ylim=(1e-3, None))
    time.set_xlim(left=max(earliest, 0.0))
    modes.set(xlabel="frequency, Hz", ylabel="amplitude of the tool at the stop, mm", yscale="log", ylim=(1e-3, None))
    modes.set_xlim(left=0.0)
    for axis in (time, modes):
        axis.grid(alpha=0.3)
    if any(compared):
        time.legend(fontsize=9, framealpha=0.9)
    robot = next(iter(compared.values())).robot
    figure.suptitle(literal(f"{shortened(robot.name)}: vibration after the stop (dashed)"))
    return write_figure(figure, place)
