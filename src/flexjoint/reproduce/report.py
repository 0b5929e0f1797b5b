"""What a paper claims beside what comes out here, as a table on the screen, in CSV and in Markdown."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..results.files import replacing

if TYPE_CHECKING:
    from rich.table import Table


class Claim(NamedTuple):
    """One line: `verdict` is in a word or two, `ours` in numbers."""

    claim: str
    paper: str
    ours: str
    verdict: str


class Report(NamedTuple):
    """All that reproducing a paper gives: the claims, what cannot be reproduced and why, the files written."""

    title: str
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    files: tuple[Path, ...] = ()


HEADINGS = ("claim", "paper", "here", "verdict")


def write_report(report: Report, folder: Path) -> list[Path]:
    texts = {"claims.csv": csv_text(report), "claims.md": markdown(report)}
    for name, text in texts.items():
        with replacing(folder / name) as file:
            file.write(text.encode())
    return [folder / name for name in texts]


def csv_text(report: Report) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([HEADINGS, *report.claims])
    return text.getvalue()


def markdown(report: Report) -> str:
    rows = [HEADINGS, ("---",) * len(HEADINGS), *report.claims]
    table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    return f"# {report.title}\n\n{table}\n\n" + "".join(f"- {note}\n" for note in report.notes)


def on_screen(report: Report) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(*HEADINGS, title=report.title, show_lines=True)
    for claim in report.claims:
        table.add_row(*map(Text, claim))
    return table
