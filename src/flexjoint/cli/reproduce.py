"""Command `reproduce`: figures and claims of a paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .app import command
from .command_result import CommandResult
from .completion import papers
from .progress import progress_bar
from .standard_output import STREAM, send_folder
from .tables import Table

if TYPE_CHECKING:
    from ..reproduce import Report


@command(folder="output")
def reproduce(
    paper: Annotated[str, typer.Argument(help="Number of the paper, such as 000.", autocompletion=papers)],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Folder for figures and tables; - is a tar archive on standard output."),
    ] = Path("out"),
) -> CommandResult:
    """Reproduce the figures and claims of a paper.

    The folder gets report.html, one page with figures, published and computed values and what was chosen; the same
    as report.md; figures as PNG and tables as CSV.
    """
    from ..reproduce import reproduce as computed

    reports: list[Report] = []

    def write(folder: Path) -> tuple[Path, ...]:
        with progress_bar() as progress:
            task = progress.add_task("starting", total=None)
            reports.append(computed(paper, folder, lambda what: progress.update(task, description=what)))
        return reports[0].files

    files = write(output) if output != STREAM else ()
    if output == STREAM:
        send_folder(write)
    report = reports[0]
    tables = [Table(x.headings, x.rows, report.title if x is report.grids[0] else "") for x in report.grids]
    data = {
        "paper": paper,
        "title": report.title,
        "tables": [{"name": x.name, "headings": x.headings, "rows": x.rows} for x in report.grids],
        "figures": [{"file": x.path.name, "number": x.number, "caption": x.caption} for x in report.figures],
        "choices": report.choices,
        "notes": report.notes,
    }
    lists = [line for title, texts in report.lists.items() for line in (f"{title}:", *(f"- {x}" for x in texts))]
    return CommandResult([*tables, *lists], data, files)
