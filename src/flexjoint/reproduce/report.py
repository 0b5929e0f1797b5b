"""What a paper claims beside what comes out here, as tables on the screen, in CSV and in Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..atomic import replacing

AS_SAID = "reproduced"  # the verdict on a claim that holds
NOT_SO = "not reproduced"


class Claim(NamedTuple):
    """One line of the main table: `here` in numbers, `verdict` in a word or two."""

    claim: str
    paper: str
    here: str
    verdict: str


class Grid(NamedTuple):
    """A table of texts, and the name of its file."""

    name: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def texts(self) -> list[Sequence[str]]:
        return [self.headings, *self.rows]


class Report(NamedTuple):
    """All that reproducing a paper gives: tables, what cannot be reproduced and why, and the files written."""

    title: str
    grids: tuple[Grid, ...]
    notes: tuple[str, ...]
    files: tuple[Path, ...] = ()


def claim_grid(claims: Sequence[Claim]) -> Grid:
    return Grid("claims", Claim._fields, claims)


def write_report(report: Report, folder: Path) -> list[Path]:
    texts = {"report.md": markdown(report), **{f"{grid.name}.csv": csv_text(grid) for grid in report.grids}}
    for name, text in texts.items():
        with replacing(folder / name) as file:
            file.write(text.encode())
    return [folder / name for name in texts]


def csv_text(grid: Grid) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(grid.texts)
    return text.getvalue()


def markdown(report: Report) -> str:
    parts = [f"# {report.title}\n"]
    for grid in report.grids:
        rows = [grid.headings, ["---"] * len(grid.headings), *grid.rows]
        parts.append("".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows))
    parts.append("".join(f"- {note}\n" for note in report.notes))
    return "\n".join(parts)
