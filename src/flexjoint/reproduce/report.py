"""Report of a reproduction: published against computed values, as tables in CSV and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..atomic import replacing

AS_SAID = "reproduced"  # verdict on a claim that holds
NOT_SO = "not reproduced"  # verdict on a claim that does not


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


class Report(NamedTuple):
    """Result of the reproduction of a paper.

    Args:
        title: Of the report.
        grids: Tables; the first has the claims.
        notes: What cannot be reproduced, and why.
        files: Files that were written.
    """

    title: str
    grids: tuple[Grid, ...]
    notes: tuple[str, ...]
    files: tuple[Path, ...] = ()


def claim_grid(claims: Sequence[Claim]) -> Grid:
    """The main table."""
    return Grid("claims", Claim._fields, claims)


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write the tables as CSV and all of the report as Markdown; the files written."""
    texts = {"report.md": markdown(report), **{f"{grid.name}.csv": csv_text(grid) for grid in report.grids}}
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
    """A report as Markdown."""
    parts = [f"# {report.title}\n"]
    for grid in report.grids:
        rows = [grid.headings, ["---"] * len(grid.headings), *grid.rows]
        parts.append("".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows))
    parts.append("".join(f"- {note}\n" for note in report.notes))
    return "\n".join(parts)
