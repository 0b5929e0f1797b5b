"""Figure of resonances: measured and fitted response of each motor, with antiresonance and resonance."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError, shown
from ..identification.frequency_response import Resonance
from ..robot import Robot
from .figures import BLUE, GREY, ORANGE, check_plot_path, literal, shortened, write_figure
from .joint_rows import JointRows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_resonances(robot: Robot, found: Sequence[Resonance], path: str | os.PathLike[str] | None = None) -> Figure:
    """Figure of the response of each motor, acceleration over torque behind friction, one row per elastic joint.

    Args:
        robot: The robot.
        found: What `find_resonances` returns.
        path: File to write, .png, .pdf or .svg; by default none.

    Returns:
        The matplotlib Figure: measured and fitted response, antiresonance and resonance as lines, each with a band of
        two deviations; grey if the log does not show them.

    Raises:
        InputError: There is no resonance, the path has another suffix, or no file can be written there.
    """
    place = check_plot_path(path)
    if not found or not all(isinstance(x, Resonance) for x in found):
        raise InputError(f"plot_resonances: found is {shown(found)}; give what find_resonances returns, not empty")
    rows = JointRows([x.joint for x in found], 1, height=1.8, share=False)
    for x, (axis,) in zip(found, rows.axes):
        axis.loglog(x.frequencies, x.response, color=BLUE if x.seen else GREY, linewidth=0.9, label="measured")
        axis.loglog(x.frequencies, x.model, color=ORANGE, linewidth=1.4, linestyle="--", label="fitted")
        for f, deviation in (
            (x.antiresonance, x.antiresonance_deviation),
            (x.resonance, x.resonance_deviation),
        ):
            if x.frequencies[0] < f < x.frequencies[-1]:
                width = min(2 * deviation, 0.9 * f) if np.isfinite(deviation) else 0.0
                axis.axvspan(f - width, f + width, color=GREY, alpha=0.25, linewidth=0)
                axis.axvline(f, color=GREY, linewidth=0.9)
        axis.set_xlim(x.frequencies[0], x.frequencies[-1])
        axis.grid(alpha=0.3)
    lines = dict(zip(("measured", "fitted"), rows.axes[0, 0].lines))
    title = literal(f"{shortened(robot.name)}: response of the motors, antiresonance and resonance")
    return write_figure(rows.finish(title, ("acceleration over torque, 1/inertia",), ("frequency, Hz",), lines), place)
