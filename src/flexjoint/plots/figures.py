"""Shared parts of all figures: colours, texts that names from files cannot disturb, units, writing files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..atomic import replacing
from ..control_characters import harmless
from ..results.files import check_path
from ..robot import Robot
from ..types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".pdf", ".svg")
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"  # Okabe and Ito
LINK, MOTOR, REFERENCE = BLUE, ORANGE, GREY  # one colour per quantity in all figures
TORQUE, DEFLECTION, STIFFNESS, ERROR = GREEN, "#CC79A7", "#E69F00", "#56B4E9"
RESIDUAL, THRESHOLD = "#7A4EAB", "#000000"
CURVES = (BLUE, ORANGE, GREEN, "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")  # of figures with many curves
LIMIT = "#B00020"  # limits of the robot, what exceeds them, and alarms
LONGEST = 25  # characters of a name in a figure
MOST_POINTS = 4000  # per curve: more than a picture resolves


def check_plot_path(path: str | os.PathLike[str] | None) -> Path | None:
    """The path as a Path, None for None; raises InputError if no plot can be written there."""
    return None if path is None else check_path(path, FORMATS, "a plot")


def write_figure(figure: Figure, path: Path | None) -> Figure:
    """The figure itself, written to the path if there is one."""
    if path is not None:
        with replacing(path) as file:
            figure.savefig(file, format=path.suffix[1:].lower(), dpi=150)
    return figure


def drawn_into(ax: Axes | None, size: tuple[float, float]) -> tuple[Any, Axes]:
    """The figure and the axes to draw into: those that are given, or new ones of this size in inches."""
    if ax is not None:
        return ax.get_figure(), ax
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots()


# Texts --------------------------------------------------------------------------------------------------------------


def name_text(name: str, longest: int = LONGEST) -> str:
    """A name from a file as literal text of a figure, shortened."""
    return literal(shortened(harmless(ends(name)), longest))


def ends(text: str) -> str:
    """Beginning and end of a long text, enough to shorten it further."""
    return text if len(text) <= 2_000 else f"{text[:1_000]}{text[-1_000:]}"


def shortened(name: str, longest: int = LONGEST) -> str:
    """A name that fits into a figure: beginning and end of a long one."""
    return name if len(name) <= longest else f"{name[: longest - 9]}…{name[-8:]}"


def literal(text: str) -> str:
    """Literal text for matplotlib: dollar signs start no mathematics, control characters become escapes."""
    return harmless(text, keep="\n").replace("$", r"\$")


# Units --------------------------------------------------------------------------------------------------------------


def shown_units(robot: Robot) -> tuple[list[str], FloatArray]:
    """Display unit per joint, ° or mm, and the factor from rad or m to it, (n,)."""
    linear = np.array([not joint.kind.angular for joint in robot.joints], dtype=bool)
    return ["mm" if x else "°" for x in linear], np.where(linear, 1e3, 180 / np.pi)
