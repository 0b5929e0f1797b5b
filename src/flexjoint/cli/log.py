"""Command `log`: what is read from a log, and what is wrong or probably wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .app import CURRENT, command
from .check import FOUND
from .command_result import CommandResult
from .log_options import LogFile, ReadingOptions
from .messages import without_python
from .robot_options import RobotArgument
from .tables import Table

if TYPE_CHECKING:
    from ..logs import Log


@command()
def log(
    robot: RobotArgument,
    log: LogFile,
    reading: ReadingOptions,
) -> CommandResult:
    """Show what is read from a log, and check it.

    Finds lost samples, saturated torques, swapped units, joints in another order, delays. Exit code 1 if there is an
    error; with --strict also if there is a warning.
    """
    from ..logs import check_log, read_log
    from ..logs.header_words import shortened

    found = read_log(log, robot, **reading.keywords)
    findings = check_log(found)
    lines: list[Any] = [f"{robot.name}: {found.t.size} samples, about {found.period:g} s apart", read_table(found)]
    if found.ignored:
        lines.append(f"ignored columns: {shortened(found.ignored)}")
    if findings:
        rows = [[x.level, x.rule, x.reason, without_python(x.fix)] for x in findings]
        lines.append(Table(["level", "rule", "reason", "fix"], rows, "findings"))
    else:
        lines.append("findings: none")
    levels = [x.level for x in findings]
    failed = "error" in levels or (CURRENT.get().strict and "warning" in levels)
    data = {
        "robot": robot.name,
        "samples": found.t.size,
        "period_s": found.period,
        "columns": dict(found.headers),
        "known": found.known,
        "commands": found.commands,
        "differenced": found.differenced,
        "interpolated": found.interpolated,
        "ignored_columns": found.ignored,
        "findings": [x._asdict() for x in findings],
    }
    return CommandResult(lines, data, code=FOUND if failed else 0)


def read_table(found: Log) -> Table:
    """One row per quantity: its columns in the file, or what it was computed from."""
    rows = []
    for name in (*found.known, *found.commands, *(["current"] if found.current is not None else [])):
        headers = found.headers.get(name, ())
        shown = ", ".join(headers) if len(headers) < 3 else f"{headers[0]}, ..., {headers[-1]}"
        source = "differences of positions" if name in found.differenced else shown or "currents"
        rows.append([name, str(getattr(found, name).shape[1]), source])
    return Table(["quantity", "columns", "read from"], rows, "quantities", numbers=("columns",))
