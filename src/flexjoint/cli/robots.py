"""Commands `robots` and `config`: built-in robots, this installation."""

from __future__ import annotations

from typing import Any

from .app import command
from .command_result import CommandResult
from .robot_data import drive_kind, joint_letters
from .tables import Table

NOT_STATED = "not stated"  # trust of a number without a source


@command()
def robots() -> CommandResult:
    """List the built-in robots."""
    from ..catalog import builtin_robots
    from ..formats import load
    from ..robot import worst_trust

    data: list[dict[str, Any]] = [
        {
            "name": name,
            "joints": joint_letters(robot),
            "drives": sorted({drive_kind(x.drive) for x in robot.joints}),
            "worst_trust": worst_trust(robot),
        }
        for name in builtin_robots()
        for robot in [load(name)]
    ]
    rows = [[x["name"], x["joints"], ", ".join(x["drives"]), x["worst_trust"] or NOT_STATED] for x in data]
    note = "worst trust: of any number; `flexjoint info NAME` lists the sources"
    return CommandResult([Table(["name", "joints", "drives", "worst trust"], rows, note=note)], {"robots": data})


@command()
def config() -> CommandResult:
    """Show versions, processor and call path of this installation."""
    from ..algorithm.configuration import configuration, configuration_text

    found = configuration()
    return CommandResult([configuration_text(found)], found)
