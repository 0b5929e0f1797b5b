"""Figure of an identification: measured and predicted torque, residual, and its autocorrelation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..identification.result import Identification
from .figures import BLUE, GREEN, GREY, MOST_POINTS, ORANGE, check_plot_path, literal, shortened, write_figure
from .joint_rows import JointRows, tidy, write_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 20.0  # s of the first recording
COLOURS = {"link": BLUE, "motor": ORANGE, "rigid": ORANGE, "sensor": GREEN}


def plot_identification(found: Identification, path: str | os.PathLike[str] | None = None) -> Figure:
    """Figure of how well the identified robot explains its logs, one row per joint, or per motor of joints with two.

    Args:
        found: What `identify` returns.
        path: File to write, .png, .pdf or .svg; by default none.

    Returns:
        The matplotlib Figure: measured and predicted torque, residual, autocorrelation of the whitened residuals.

    Raises:
        InputError: The path has another suffix or no file can be written there.
    """
    place = check_plot_path(path)
    robot = found.prior
    rows = JointRows(found.rows, 3, height=1.4, share=False)
    for i, row in enumerate(rows.axes):
        draw_torque(row[0], row[1], found, i)
        draw_autocorrelation(row[2], found, i)
    headings = ("torque: measured, predicted (dashed)", "residual of the torque", "autocorrelation, whitened")
    verdict = "residuals look like noise" if found.passed else "residuals show a wrong model"
    title = literal(f"{shortened(robot.name)}, identified from {found.origin.partition(', ')[2]}: {verdict}")
    return write_figure(rows.finish(title, headings, ("time, s", "time, s", "lag, s")), place)


def draw_torque(left: Axes, right: Axes, found: Identification, i: int) -> None:
    """Draw measured and predicted torque, and the residual."""
    curves = found.curves(i)
    kept = curves.t <= curves.t[0] + SHOWN
    step = max(1, np.count_nonzero(kept) // MOST_POINTS)
    t = curves.t[kept][::step]
    left.plot(t, curves.torque[kept][::step], color=BLUE, linewidth=1.4)
    left.plot(t, curves.predicted[kept][::step], color=ORANGE, linewidth=1.0, linestyle="--")
    right.plot(t, curves.residual[kept][::step], color=GREY, linewidth=0.8)
    for axis in (left, right):
        write_unit(axis, curves.unit)
        tidy(axis)


def draw_autocorrelation(axis: Axes, found: Identification, i: int) -> None:
    """Draw the autocorrelations, and the band in which 95 % of those of white noise lie."""
    bound = 0.0
    for name, values in found.autocorrelation(i).items():
        lags = np.arange(len(values)) / (2 * found.bandwidth)
        axis.plot(lags, values, color=COLOURS[name.split()[0]], linewidth=1.2, label=name)
        count = max(len(x.residual) for x in found.fit.channels)
        bound = 1.96 / np.sqrt(count)
    axis.axhspan(-bound, bound, color=GREY, alpha=0.2, linewidth=0)
    axis.set_ylim(-0.5, 1.05)
    if i == 0:
        axis.legend(frameon=False, fontsize=8, loc="upper right")
    tidy(axis)
