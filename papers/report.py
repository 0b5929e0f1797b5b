"""Reports of the reproduced papers: tables, figures in the form of the papers, and the files of both.

A report is written as Markdown (`report.md`), as one self-contained page (`report.html`), and each table as CSV.
"""

from __future__ import annotations

import csv
import io
import timeit
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexjoint import html
from flexjoint.atomic import replacing
from flexjoint.reports.provenance import provenance_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AS_SAID = "reproduced"  # verdict on a claim that holds
NOT_SO = "not reproduced"  # verdict on a claim that does not
CHOICES = "Chosen here, because the paper does not say"
NOTES = "Notes"


class Claim(NamedTuple):
    """One row of the main table.

    Args:
        claim: What the paper claims.
        paper: Published value.
        here: Computed value.
        verdict: One or two words.
    """

    claim: str
    paper: str
    here: str
    verdict: str


class Grid(NamedTuple):
    """A table of texts.

    Args:
        name: Of the file, without suffix.
        headings: Of the columns.
        rows: Cells of each row.
    """

    name: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def texts(self) -> list[Sequence[str]]:
        """The headings and all rows."""
        return [self.headings, *self.rows]

    @property
    def title(self) -> str:
        """The name as a heading: "ways_to_C" is "Ways to C"."""
        words = self.name.replace("_", " ")
        return words[:1].upper() + words[1:]


class PaperFigure(NamedTuple):
    """A figure of the report.

    Args:
        path: PNG file, in the folder of the report.
        number: Of the figure in the paper, such as "Fig. 3"; "" if the paper has no such figure.
        caption: One or two sentences: what is drawn and what to see.
    """

    path: Path
    number: str
    caption: str

    @property
    def text(self) -> str:
        """Number and caption."""
        return f"{self.number or 'Not in the paper'}. {self.caption}"


class Report(NamedTuple):
    """Result of the reproduction of a paper.

    Args:
        title: Of the report.
        grids: Tables; the first has the claims.
        figures: In the order of the report; none by default.
        notes: What cannot be reproduced, and why; none by default.
        choices: What was chosen because the paper does not say; none by default.
        files: Files that were written.
    """

    title: str
    grids: tuple[Grid, ...]
    figures: tuple[PaperFigure, ...] = ()
    notes: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    @property
    def lists(self) -> dict[str, tuple[str, ...]]:
        """Choices and notes below their headings, where there are any."""
        return {title: texts for title, texts in ((CHOICES, self.choices), (NOTES, self.notes)) if texts}


def verdict(holds: object) -> str:
    """Verdict on a claim that holds, or does not."""
    return AS_SAID if holds else NOT_SO


def claim_grid(claims: Sequence[Claim]) -> Grid:
    """The main table."""
    return Grid("claims", Claim._fields, claims)


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write the report as Markdown and as a page, and its tables as CSV.

    Args:
        report: The report, whose figures are in the folder.
        folder: Where files are written.

    Returns:
        The files written.
    """
    texts = {
        "report.md": markdown(report),
        "report.html": page(report),
        **{f"{grid.name}.csv": csv_text(grid) for grid in report.grids},
    }
    for name, text in texts.items():
        with replacing(folder / name) as file:
            file.write(text.encode())
    return [folder / name for name in texts]


def csv_text(grid: Grid) -> str:
    """A table as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(grid.texts)
    return text.getvalue()


def markdown(report: Report) -> str:
    """A report as Markdown; figures are linked by the names of their files."""
    parts = [f"# {report.title}\n"]
    for grid in report.grids:
        rows = [grid.headings, ["---"] * len(grid.headings), *grid.rows]
        cells = "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows)
        parts.append(f"## {grid.title}\n\n{cells}")
    if report.figures:
        parts.append("## Figures\n")
        parts += [f"![{x.path.stem}]({x.path.name})\n\n{x.text}\n" for x in report.figures]
    parts += [f"## {title}\n\n" + "".join(f"- {x}\n" for x in texts) for title, texts in report.lists.items()]
    return "\n".join(parts)


def page(report: Report) -> str:
    """A report as one HTML page with its figures inside."""
    claims, *others = report.grids
    parts = [html.table(claims.rows, claims.headings)]
    parts += [html.picture(x.path.read_bytes(), x.text) for x in report.figures]
    parts += [html.section(grid.title, html.table(grid.rows, grid.headings)) for grid in others]
    parts += [html.section(title, html.bullets(texts)) for title, texts in report.lists.items()]
    parts.append(html.section("Provenance", html.table(provenance_rows(None))))
    return html.page(report.title, parts)


# Figures ------------------------------------------------------------------------------------------------------------

BLUE, RED, GREEN, YELLOW, BLACK = "#0072B2", "#D55E00", "#009E73", "#E3B505", "#000000"


def new_figure(width: float = 7.0, height: float = 4.0) -> tuple[Figure, Axes]:
    """A figure with one axis; width and height in inches."""
    figure, (axis,) = new_figures(1, width, height)
    return figure, axis


def new_figures(count: int, width: float = 7.0, height: float = 4.0) -> tuple[Figure, Sequence[Axes]]:
    """A figure with several axes side by side; width and height in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width + 3.5 * (count - 1), height), layout="constrained")
    axes = figure.subplots(1, count, squeeze=False)[0]
    for axis in axes:
        axis.grid(alpha=0.3)
    return figure, axes


def saved(figure: Figure, path: Path, caption: str, number: str = "") -> PaperFigure:
    """Write a figure with its legend.

    Args:
        path: PNG file.
        caption: What is drawn and what to see.
        number: Of the figure in the paper, such as "Fig. 3"; by default the paper has no such figure.

    Returns:
        The entry of the report.
    """
    if any(axis.get_legend_handles_labels()[0] for axis in figure.axes):
        figure.legend(loc="outside right center", frameon=False)
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=150)
    return PaperFigure(path, number, caption)


def joint_curves(
    path: Path, number: str, title: str, unit: str, t: np.ndarray, curves: np.ndarray, styles: list[tuple[str, str]],
    caption: str,
) -> PaperFigure:  # fmt: skip
    """Write a figure with one curve (m,) per joint over time; `styles` has colour and line style per joint."""
    figure, axis = new_figure()
    for i, (colour, dashes) in enumerate(styles):
        axis.plot(t, curves[:, i], dashes, color=colour, label=f"joint {i + 1}")
    axis.set(title=f"{number}. {title}", xlabel="time, s", ylabel=unit, xlim=(t[0], t[-1]))
    return saved(figure, path, caption, number)


# Time ---------------------------------------------------------------------------------------------------------------


def least_time(statement: str, names: Mapping[str, Any], number: int) -> float:
    """Time per execution of a statement, s: the minimum of 50 repetitions, since other programs only add to it."""
    return min(timeit.repeat(statement, globals=dict(names), number=number, repeat=50)) / number
