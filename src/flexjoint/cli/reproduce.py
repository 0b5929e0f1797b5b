"""Command `reproduce`: figures and claims of a paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..python_code import call
from .app import command
from .command_result import CommandResult
from .completion import papers
from .parameters import check_files
from .progress import progress_bar
from .report_request import ReportFile, requested
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
    report: ReportFile = None,
) -> CommandResult:
    """Reproduce the figures and claims of a paper.

    The folder gets report.html, one page with figures, published and computed values and what was chosen; the same
    as report.md; figures as PNG and tables as CSV.
    """
    from ..reports import check_report_path
    from ..reproduce import reproduce as computed

    check_files((report, check_report_path))
    reports: list[Report] = []
    pictures: dict[str, bytes] = {}  # read before a temporary folder is removed

    def write(folder: Path) -> tuple[Path, ...]:
        with progress_bar() as progress:
            task = progress.add_task("starting", total=None)
            reports.append(computed(paper, folder, lambda what: progress.update(task, description=what)))
        pictures.update({x.text: x.path.read_bytes() for x in reports[0].figures} if report is not None else {})
        return reports[0].files

    files = write(output) if output != STREAM else ()
    if output == STREAM:
        send_folder(write)
    found = reports[0]
    tables = [Table(x.headings, x.rows, found.title if x is found.grids[0] else "") for x in found.grids]
    data = {
        "paper": paper,
        "title": found.title,
        "tables": [{"name": x.name, "headings": x.headings, "rows": x.rows} for x in found.grids],
        "figures": [{"file": x.path.name, "number": x.number, "caption": x.caption} for x in found.figures],
        "choices": found.choices,
        "notes": found.notes,
    }
    lists = [line for title, texts in found.lists.items() for line in (f"{title}:", *(f"- {x}" for x in texts))]
    python = ["import flexjoint.reproduce", f"report = {call('fj.reproduce.reproduce', paper, 'out')}"]
    asked = requested(report, found, [*python, "print(report.title)"], figures=pictures)
    return CommandResult([*tables, *lists], data, files, report=asked)
