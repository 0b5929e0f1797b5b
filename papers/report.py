"""Reports of the reproduced papers: claims, figures, tables, and the files they become.

A report is written as Markdown (`report.md`), as one self-contained page (`report.html`), and each table as CSV.  All
three set apart what the paper has from what is added here.
"""

from __future__ import annotations

import csv
import io
import timeit
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexjoint import Robot, html
from flexjoint.atomic import replacing
from flexjoint.dynamics.recursion.bodies import rotor_place
from flexjoint.dynamics.recursion.kinematics import link_poses
from flexjoint.reports.provenance import provenance_rows
from flexjoint.spatial import ca
from flexjoint.viewer import plot_robot
from flexjoint.viewer.animation import VIEW, projected

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REPRODUCED = "reproduced"  # verdict on a claim that holds
NOT_REPRODUCED = "not reproduced"
BLUE, RED, GREEN, YELLOW, BLACK, GREY = "#0072B2", "#D55E00", "#009E73", "#E3B505", "#000000", "#999999"


class Claim(NamedTuple):
    """One claim of the paper: one sentence per field.

    Args:
        claim: Statement of the paper.
        paper: Published value; "no number" if there is none.
        here: Computed value.
        verdict: One to three words.
    """

    claim: str
    paper: str
    here: str
    verdict: str


class Grid(NamedTuple):
    """A table.

    Args:
        name: File name without suffix, and as words its heading: "ways_to_C" becomes "Ways to C".
        headings: Headings of the columns.
        rows: Cells of each row.
    """

    name: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def title(self) -> str:
        """The name as a heading."""
        words = self.name.replace("_", " ")
        return words[:1].upper() + words[1:]


class PaperFigure(NamedTuple):
    """A figure of the report.

    Args:
        path: PNG file.
        number: Figure number in the paper, such as "Fig. 3"; "" for an addition.
        caption: One or two sentences: what is drawn and what to see.
    """

    path: Path
    number: str
    caption: str

    @property
    def text(self) -> str:
        """Number and caption."""
        return f"{self.number or 'Added here'}. {self.caption}"


class Report(NamedTuple):
    """Result of the reproduction of a paper.

    Args:
        title: Heading.
        claims: Claims of the paper.
        additions: Pairs of subject and result that the paper does not have.
        figures: Figures in their order.
        grids: Tables.
        choices: What was chosen because the paper does not say.
        notes: What differs, and why.
        files: Files that were written.
    """

    title: str
    claims: Sequence[Claim]
    additions: Sequence[tuple[str, str]] = ()
    figures: Sequence[PaperFigure] = ()
    grids: Sequence[Grid] = ()
    choices: Sequence[str] = ()
    notes: Sequence[str] = ()
    files: Sequence[Path] = ()

    @property
    def tables(self) -> list[Grid]:
        """All tables: claims, additions and others."""
        added = [Grid("added_here", ("subject", "result"), self.additions)] if self.additions else []
        return [Grid("claims", Claim._fields, self.claims), *added, *self.grids]

    def sections(self) -> Iterator[tuple[str, Grid | Sequence[PaperFigure] | Sequence[str]]]:
        """Headings with a table, figures or sentences, in the order of the report."""
        claims, *tables = self.tables
        yield "Claims of the paper", claims
        yield "Figures of the paper", [x for x in self.figures if x.number]
        if self.additions:
            yield tables[0].title, tables.pop(0)
        yield "Figures added here", [x for x in self.figures if not x.number]
        yield from ((grid.title, grid) for grid in tables)
        yield "Chosen here, because the paper does not say", self.choices
        yield "Notes", self.notes


def verdict(holds: object) -> str:
    """Verdict on a claim that holds, or does not."""
    return REPRODUCED if holds else NOT_REPRODUCED


def listed(values: Any, digits: int = 3) -> str:
    """Values as text, separated by commas."""
    return ", ".join(f"{x:.{digits}g}" for x in values)


# Files --------------------------------------------------------------------------------------------------------------


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write the report, whose figures are in the folder, as Markdown, HTML and CSV; return the files."""
    texts = {"report.md": markdown(report), "report.html": page(report)}
    texts |= {f"{grid.name}.csv": csv_text(grid) for grid in report.tables}
    for name, text in texts.items():
        with replacing(folder / name) as file:
            file.write(text.encode())
    return [folder / name for name in texts]


def csv_text(grid: Grid) -> str:
    """A table as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([grid.headings, *grid.rows])
    return text.getvalue()


def markdown(report: Report) -> str:
    """A report as Markdown; figures are linked by the names of their files."""
    parts = [f"# {report.title}\n"]
    for title, content in report.sections():
        if isinstance(content, Grid):
            rows = [content.headings, ["---"] * len(content.headings), *content.rows]
            lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        else:
            lines = [
                f"- {x}" if isinstance(x, str) else f"![{x.path.stem}]({x.path.name})\n\n{x.text}\n" for x in content
            ]
        if lines:
            parts.append(f"## {title}\n\n" + "\n".join(lines).rstrip() + "\n")
    return "\n".join(parts)


def page(report: Report) -> str:
    """A report as one HTML page with its figures inside."""
    parts = []
    for title, content in report.sections():
        if isinstance(content, Grid):
            inside = html.table(content.rows, content.headings)
        else:
            figures = [html.picture(x.path.read_bytes(), x.text) for x in content if not isinstance(x, str)]
            inside = "".join(figures) or html.bullets(x for x in content if isinstance(x, str))
        if content:
            parts.append(html.section(title, inside))
    parts.append(html.section("Provenance", html.table(provenance_rows())))
    return html.page(report.title, parts)


# Figures ------------------------------------------------------------------------------------------------------------


class Drawings:
    """Figures of one paper: each has a title with the paper's figure number, and a legend below each panel.

    Args:
        folder: Destination of the PNG files.
        paper: Authors and year, for the titles.
    """

    def __init__(self, folder: Path, paper: str) -> None:
        self.folder, self.paper = folder, paper
        self.figures: list[PaperFigure] = []

    def panels(self, count: int = 1, width: float = 5.4, height: float = 4.4) -> tuple[Figure, Sequence[Axes]]:
        """Return a figure with panels of this size, inches, side by side."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width * count if count > 1 else max(width, 6.5), height), layout="constrained")
        axes = figure.subplots(1, count, squeeze=False)[0]
        for axis in axes:
            axis.grid(alpha=0.3)
        return figure, axes

    def save(self, figure: Figure, name: str, title: str, caption: str, number: str = "") -> None:
        """Write a figure.

        Args:
            figure: The figure; labelled curves get a legend.
            name: File name without suffix.
            title: Title behind the number.
            caption: What is drawn and what to see.
            number: Figure number in the paper, such as "Fig. 3"; by default an addition.
        """
        origin = f"{number} of {self.paper}" if number else "Added here"
        figure.suptitle(f"{origin}: {title}", x=0.01, ha="left", fontsize=11, fontweight="bold")
        for axis in figure.axes:
            labels = axis.get_legend_handles_labels()[1]
            if labels:
                width = figure.get_figwidth() / len(figure.axes)
                columns = min(len(labels), 4, max(1, int(width / (0.07 * max(map(len, labels)) + 0.5))))
                axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, frameon=False, fontsize=8.5)
        self.write(figure, name, caption, number)

    def write(self, figure: Figure, name: str, caption: str, number: str = "") -> None:
        """Write a figure as it is."""
        path = self.folder / f"{name}.png"
        with replacing(path) as file:
            figure.savefig(file, format="png", dpi=150)
        self.figures.append(PaperFigure(path, number, caption))

    def robot(self, robot: Robot, q: Any, caption: str) -> None:
        """Write a picture of the robot with its motors, whose axes are drawn through them."""
        figure = plot_robot(robot, q=q)
        axis = figure.axes[0]
        length = 0.05 * np.ptp(axis.get_xlim())
        poses = link_poses(robot, ca.SX(ca.DM(q)))
        for i, link in enumerate(robot.links):
            for k, motor in enumerate(link.joint.drive.motors if link.joint.drive else ()):
                place, along = (np.array(x, dtype=float).ravel() for x in rotor_place(robot, i, motor))
                carrier = robot.carrier(i, k)
                R = np.array(ca.DM(poses[carrier].rotation)) if carrier >= 0 else np.eye(3)
                p = np.array(ca.DM(poses[carrier].position)).ravel() if carrier >= 0 else np.zeros(3)
                ends = p + R @ place + np.outer([-length, length], R @ along)
                label = "motor axes" if i == k == 0 else None
                axis.plot(*projected(ends, *VIEW).T, color=RED, lw=2.5, label=label, zorder=6)
        figure.legends.clear()
        figure.legend(loc="lower left", ncols=5, frameon=False, fontsize=8)
        self.write(figure, f"robot_{robot.name}", caption)


# Time and integration -----------------------------------------------------------------------------------------------


def least_time(statement: str, names: Mapping[str, Any], number: int) -> float:
    """Time per execution of a statement, s: the minimum of 50 repetitions, since other programs only add to it."""
    return min(timeit.repeat(statement, globals=dict(names), number=number, repeat=50)) / number


def integrate(rate: Callable[[float, Any], Any], start: Any, times: Any, relative: float, absolute: float) -> Any:
    """States at the times, (states, m), by SciPy's DOP853 with these tolerances."""
    from scipy.integrate import solve_ivp

    solution = solve_ivp(rate, (times[0], times[-1]), start, "DOP853", times, rtol=relative, atol=absolute)
    if not solution.success:
        raise RuntimeError(solution.message)
    return solution.y
