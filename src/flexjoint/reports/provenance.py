"""Where the numbers of a report come from: versions, processor, date, digest of the robot."""

from __future__ import annotations

from datetime import UTC, datetime

from ..algorithm.configuration import configuration
from ..robot import Robot

SHOWN = ("flexjoint", "numpy", "casadi", "llvmlite", "scipy", "llvm", "python", "processor")


def provenance_rows(robot: Robot | None = None) -> list[tuple[str, str]]:
    """Names and values.

    Args:
        robot: The robot of the report; without one there is no digest.
    """
    found = configuration()
    rows = [(name, found[name]) for name in SHOWN]
    rows.append(("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"))
    return rows if robot is None else [*rows, ("SHA-256 of the robot", robot.digest)]
