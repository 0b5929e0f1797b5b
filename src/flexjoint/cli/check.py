"""Command `check`: what is wrong or probably wrong with a robot."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from .app import CURRENT, command
from .command_result import CommandResult
from .robot_options import Request, RobotRequest, loaded_robot
from .tables import Table

FOUND = 1  # exit code


@command()
def check(
    robot: RobotRequest,
    rate: Annotated[float | None, typer.Option(help="Samples per second of the controller, Hz.")] = None,
) -> CommandResult:
    """Check a robot: units, inertias, gears, springs, sources.

    Exit code 1 if there is an error; with --strict also if there is a warning. Notes never count.
    """
    from ..analysis.lint.files import check_file

    asked: Request = robot
    found = check_file(asked.name, lambda: loaded_robot(*asked), rate)
    levels = [x.level for x in found]
    counts = {level: levels.count(level) for level in ("error", "warning", "note")}
    rows = [[x.level, x.rule, place(x, asked.name), x.reason, x.fix] for x in found]
    headings = ["level", "rule", "line", "reason", "fix"]
    used = [k for k in range(len(headings)) if any(row[k] for row in rows)]
    table = Table([headings[k] for k in used], [[row[k] for k in used] for row in rows])
    counted = ", ".join(f"{count} {level}{'s' * (count != 1)}" for level, count in counts.items())
    text = f"{asked.name}: {counted}"
    data: dict[str, Any] = {"robot": asked.name, "findings": [x._asdict() for x in found], "counts": counts}
    failed = counts["error"] or (CURRENT.get().strict and counts["warning"])
    return CommandResult([text, *([table] if found else [])], data, code=FOUND if failed else 0)


def place(finding: Any, name: str) -> str:
    """The line of a finding, with its file if that is one that the named file includes."""
    included = finding.file != name and os.path.isfile(name) and finding.file
    return f"{os.path.basename(finding.file)}:{finding.line}" if included else str(finding.line or "")
