"""Measure, print and save: see timing.py for the method, rows.py for what is measured."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from .report import save, table
from .rows import all_rows
from .timing import FULL, QUICK


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder for JSON and plot")
    parser.add_argument("--quick", action="store_true", help="few repetitions: to see that it runs, not for figures")
    parser.add_argument("--only", action="append", default=[], help="a section of rows; may be given several times")
    arguments = parser.parse_args()
    effort = QUICK if arguments.quick else FULL
    rows = []
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), transient=True) as progress:
        task = progress.add_task("starting")
        for row in all_rows(effort, arguments.only):
            rows.append(row)
            progress.update(task, description=f"{row.section}: {row.name}")
    Console(width=130).print(table(rows))
    save(rows, effort, arguments.output)


if __name__ == "__main__":
    main()
