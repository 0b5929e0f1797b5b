"""The drive file of an identification: tables by joint and trust, each number with its deviation, prior and verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ..drives import Drive
from ..formats.drive_merging import Keys, leaves, number_path
from ..formats.drive_tables import drive_entries
from ..formats.drive_writing import plain_line
from ..formats.robot_files import DRIVE_FORMAT
from ..formats.writing import toml_value
from ..robot import Robot
from ..robot.sources import Trust
from ..types import FloatArray
from .drive_priors import deviation_note, independent_growth
from .estimates import IDENTIFIED, UNKNOWN, WEAK, Estimate, with_deviation

HEAD = """\
# Drives of {name}, identified from logs.  Use: flexjoint info ROBOT --drives FILE (docs/identification.md).
# Comments state the standard deviation of a value.  "identified": trusted; "weak": deviation of 5 to 50 %; what the
# logs do not show is a comment and keeps the value of the robot.
format = {format}
version = 1
robot = {robot}
"""
TRUST: dict[str, Trust] = {IDENTIFIED: "identified", WEAK: "estimated"}


def drive_text(
    robot: Robot, estimates: Sequence[Estimate], correlation: FloatArray, origin: str, notes: Sequence[str]
) -> str:
    """Contents of the file.

    Args:
        robot: The robot with the identified drives.
        estimates: With verdicts.
        correlation: Of the estimates.
        origin: The logs.
        notes: For comments at the top.
    """
    head = HEAD.format(name=plain_line(robot.name), format=toml_value(DRIVE_FORMAT), robot=toml_value(robot.name))
    blocks = [head + "".join(f"# {plain_line(x)}\n" for x in notes)]
    growth = independent_growth(estimates, correlation)
    for i, joint in enumerate(robot.joints):
        own = [x for x in estimates if x.joint == i]
        if joint.drive is None or not own:
            continue
        name = f"[[joint]]\nname = {toml_value(joint.name)}\n"
        unknown = "".join(f"# {x.name}: {comment(x)}; {plain_line(x.reason)}\n" for x in own if x.verdict == UNKNOWN)
        for verdict in (IDENTIFIED, WEAK):
            found = [x for x in written(joint.name, joint.drive, own) if x[0] == verdict]
            if found:
                lines = "".join(line for _, line, _ in found)
                note = deviation_note([x for _, _, numbers in found for x in numbers], growth)
                source = {"trust": TRUST[verdict], "origin": origin, "note": note}
                blocks.append(
                    name + lines + "".join(f"{key} = {toml_value(x)}\n" for key, x in source.items()) + unknown
                )
                unknown = ""
        if unknown:
            blocks.append(name + unknown)
    return "\n".join(blocks)


def written(joint: str, drive: Drive, own: Sequence[Estimate]) -> Iterator[tuple[str, str, list[Estimate]]]:
    """Verdict, lines and numbers of each key of a drive of which the logs show at least one number."""
    entries = {"drive": drive_entries(joint, drive)}
    for keys in dict.fromkeys(whole_table(x) for x in leaves(entries)):
        path = f"{joint}.{number_path(keys, drive)}"
        known = [x for x in own if f"{x.name}.".startswith(f"{path}.") and x.verdict != UNKNOWN]
        if known:
            value: Any = entries
            for key in keys:
                value = value[key]
            comments = "".join(f"# {x.name}: {comment(x)}\n" for x in known)
            verdict = WEAK if any(x.verdict == WEAK for x in known) else IDENTIFIED
            yield verdict, f"{comments}{'.'.join(keys)} = {toml_value(value)}\n", known


def whole_table(keys: Keys) -> Keys:
    """The keys of a number; friction and the spring of an elastic joint are written as one."""
    tables = [k + 1 for k, key in enumerate(keys) if key in ("friction", "motor_friction", "spring")]
    return keys[: tables[0]] if tables else keys


def comment(x: Estimate) -> str:
    """Value, deviation, prior and verdict."""
    prior = "no prior" if math.isnan(x.prior) else f"prior {x.prior:.6g}"
    return f"{with_deviation(x.value, x.deviation)} {x.unit}; {prior}; {x.verdict}"
