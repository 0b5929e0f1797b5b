"""Figures with one row per joint: names beside the rows, headings and a legend above them, low rows if there are many.

Names stand in a column of their own, broken into lines, so that no name meets a number or a heading.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..control_characters import harmless
from .figures import ends, name_text, shortened

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 3.8  # inches, of a column
LEAST_WIDTH = 6.4  # inches, of all columns together, so that the title fits
HEIGHT, LOW_HEIGHT = 1.15, 0.68  # inches, of a row
MOST_ROWS = 12  # from which on rows are low
LINE = 14  # characters of a line of a name
SEPARATORS = "_-./: "  # after which a name may be broken


class JointRows:
    """A figure with one row per joint and one column per quantity.

    Args:
        names: One per row.
        columns: Number of columns.
        height: Of a row, inches, if there are few.
        share: Whether all axes share their abscissa, the time.
    """

    def __init__(self, names: Sequence[str], columns: int, *, height: float = HEIGHT, share: bool = True) -> None:
        from matplotlib.figure import Figure

        self.low = len(names) > MOST_ROWS
        self.row = LOW_HEIGHT * height / HEIGHT if self.low else height
        self.figure = Figure()
        self.axes: Any = self.figure.subplots(len(names), columns, sharex=share, squeeze=False)
        texts = [wrapped(name) for name in names]
        self.left = 0.85 + max(map(text_width, texts))  # inches: the name, then numbers
        for axis, text in zip(self.axes[:, 0], texts):
            place: Any = ("figure points", "axes fraction")
            axis.annotate(
                text, (7, 0.5), xycoords=place, va="center", fontsize=9, fontweight="bold", annotation_clip=False
            )

    def finish(
        self, title: str, headings: Sequence[str], below: Sequence[str], legend: Mapping[str, Artist] | None = None
    ) -> Figure:
        """The figure, with its texts.

        Args:
            title: Of the figure.
            headings: One per column.
            below: Label of the abscissa, one per column.
            legend: What is drawn, by its label; default none.
        """
        count = len(headings)
        columns = count * max(WIDTH, LEAST_WIDTH / count)
        width = self.left + columns + 0.25
        legend = legend or {}
        across = max(1, min(len(legend), int(width / (0.6 + 0.075 * max(map(len, legend), default=1)))))
        above = 0.85 + (0.1 + 0.2 * math.ceil(len(legend) / across) if legend else 0.0)
        height = above + self.row * len(self.axes) + 0.55
        self.figure.set_size_inches(width, height)
        for axis, heading in zip(self.axes[0], headings):
            axis.set_title(heading, fontsize=11, pad=16)  # between them units and powers of ten
        for axis, label in zip(self.axes[-1], below):
            axis.set_xlabel(label)
        if self.low:
            for axis in self.axes.flat:
                axis.tick_params(axis="y", labelsize=8)
        self.figure.suptitle(title, y=1 - 0.1 / height, va="top")
        if legend:
            place: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, 1 - 0.3 / height)}
            self.figure.legend([*legend.values()], [*legend], ncols=across, frameon=False, fontsize=9, **place)
        gap = 0.3 / (self.row - 0.3)  # between rows, relative to the height of an axis
        self.figure.subplots_adjust(
            self.left / width, 0.55 / height, 1 - 0.25 / width, 1 - above / height, wspace=0.24, hspace=gap
        )
        return self.figure


def drawn_in(axes: Any) -> dict[str, Artist]:
    """What is drawn in axes, by its label: the entries of a legend."""
    found: dict[str, Artist] = {}
    for axis in axes.flat:
        for artist, label in zip(*axis.get_legend_handles_labels()):
            found.setdefault(label, artist)
    return found


def tidy(axis: Axes) -> None:
    """A grid, no margins in time, and few ticks, since rows are low."""
    axis.grid(alpha=0.3)
    axis.margins(x=0)
    axis.locator_params(axis="y", nbins=4)
    axis.ticklabel_format(axis="y", useOffset=False, scilimits=(-3, 4), useMathText=True)


def write_unit(axis: Axes, unit: str) -> None:
    """Write a unit above the upper right corner of an axis."""
    axis.annotate(
        unit, (1, 1), (0, 2), xycoords="axes fraction", textcoords="offset points", ha="right", va="bottom", fontsize=9
    )


def heading_of(title: str, units: Sequence[str]) -> str:
    """A heading, with the unit if all joints have the same."""
    return title if len(set(units)) > 1 else f"{title}, {units[0]}"


def wrapped(name: str) -> str:
    """A name in lines of at most 14 characters, broken behind separators where there are any."""
    rest, lines = shortened(harmless(ends(name))), []
    while len(rest) > LINE:
        place = max(rest.rfind(x, 0, LINE) for x in SEPARATORS) + 1
        place = place if place > LINE // 3 else LINE
        lines.append(rest[:place])
        rest = rest[place:]
    return "\n".join(map(name_text, [*lines, rest]))


def text_width(text: str) -> float:
    """Width of a bold text of 9 points, inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    bold = FontProperties(weight="bold", size=9)
    return max(float(TextPath((0, 0), line, prop=bold).get_extents().width) for line in text.splitlines() or [""]) / 72
