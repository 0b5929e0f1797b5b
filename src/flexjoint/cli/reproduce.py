"""Results of the papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import app, clean_errors, progress_bar


@app.command()
@clean_errors
def reproduce(
    paper: Annotated[str, typer.Argument(help="Number of the paper, such as 000.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for figures and tables.")] = Path("out"),
) -> None:
    """Compute the results of a paper anew: its figures, and a table of what it claims and what comes out here."""
    from rich.console import Console

    from ..reproduce import reproduce as computed
    from ..reproduce.report import on_screen

    with progress_bar() as progress:
        task = progress.add_task("starting", total=None)
        report = computed(paper, output, lambda what: progress.update(task, description=what))
    console = Console()
    for grid in report.grids:
        console.print(on_screen(grid, report.title if grid is report.grids[0] else ""))
    for note in report.notes:
        console.print(f"- {note}", highlight=False, markup=False)
    console.print(
        f"{len(report.files)} files in {output}: {', '.join(path.name for path in report.files)}", markup=False
    )
