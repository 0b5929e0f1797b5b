"""Report of a reproduction: published against computed values, figures, and what was chosen.

It is written as Markdown (`report.md`), as one self-contained page (`report.html`), and each table as CSV.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..atomic import replacing
from ..reports import Content, content_of
from ..reports.write import report_page
from ..tables import Table

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


def write_report(report: Report, folder: Path, python: str = "") -> list[Path]:
    """Write the report as Markdown and as a page, and its tables as CSV.

    Args:
        report: The report, whose figures are in the folder.
        folder: Where files are written.
        python: Python that repeats the report, for the page; default none.

    Returns:
        The files written.
    """
    texts = {
        "report.md": markdown(report),
        "report.html": report_page(content_of(report), python=python),
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


@content_of.register
def paper_content(report: Report) -> Content:
    """What a page shows of a reproduction."""
    claims, *others = report.grids
    return Content(
        report.title,
        [Table(claims.headings, claims.rows)],
        {x.text: x.path.read_bytes for x in report.figures},
        below=[Table(grid.headings, grid.rows, grid.title) for grid in others],
        lists=report.lists,
    )
