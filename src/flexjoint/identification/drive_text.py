"""The drive file of an identification: tables by joint and trust, each number with its deviation, prior and verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..drives import friction_law
from ..formats.drive_tables import friction_entries, spring_entries
from ..formats.drive_writing import plain_line
from ..formats.robot_files import DRIVE_FORMAT
from ..formats.writing import toml_value
from ..robot import Robot
from ..robot.sources import Trust
from ..springs import Spring
from ..types import FloatArray
from .drive_priors import deviation_note, independent_growth
from .estimates import IDENTIFIED, UNKNOWN, WEAK, Estimate, with_deviation

HEAD = """\
# Drives of {name}, identified from logs.  Use: flexjoint info ROBOT --drives FILE (docs/identification.md).
# A value is followed by its standard deviation.  "identified": trusted; "weak": deviation of 5 to 50 %; what the logs
# do not show is a comment and keeps the value of the robot.
format = {format}
version = 1
robot = {robot}
"""
KEYS = {"stiffness": "drive.stiffness", "damping": "drive.damping", "inertia": "drive.motor_inertia"}
FRICTION = {
    "viscous": "viscous",
    "coulomb": "coulomb",
    "log_velocity": "velocity",
    "rise": "static",
    "log_stribeck": "stribeck_velocity",
    "viscous_backward": "backward.viscous",
    "coulomb_backward": "backward.coulomb",
    "rise_backward": "backward.static",
}
TRUST: dict[str, Trust] = {IDENTIFIED: "identified", WEAK: "estimated"}


def drive_text(
    prior: Robot,
    robot: Robot,
    estimates: Sequence[Estimate],
    correlation: FloatArray,
    origin: str,
    notes: Sequence[str],
) -> str:
    """Contents of the file.

    Args:
        prior: The robot before.
        robot: The robot with the identified drives.
        estimates: With verdicts.
        correlation: Of the estimates.
        origin: The logs.
        notes: For comments at the top.
    """
    blocks = [HEAD.format(name=plain_line(prior.name), format=toml_value(DRIVE_FORMAT), robot=toml_value(prior.name))]
    if notes:
        blocks[0] += "".join(f"# {plain_line(x)}\n" for x in notes)
    growth = independent_growth(estimates, correlation)
    for i, joint in enumerate(robot.joints):
        own = {x.kind: x for x in estimates if x.joint == i}
        lines: dict[str, list[str]] = {IDENTIFIED: [], WEAK: []}
        drive = joint.drive
        motor = None if drive is None else drive.motors[0]
        deviations: dict[str, list[Estimate]] = {IDENTIFIED: [], WEAK: []}
        for kind, key in KEYS.items():
            if kind in own and own[kind].verdict in lines and drive is not None:
                number = {"stiffness": getattr(drive, "stiffness", None), "damping": getattr(drive, "damping", None)}
                value = motor.inertia if kind == "inertia" and motor is not None else number.get(kind)
                if isinstance(value, Spring):
                    laws = [x for x in own.values() if x.kind.startswith(("stiffness", "cubic"))]
                    lines[own[kind].verdict] += [f"# {x.name}: {comment(x)}\n" for x in laws if x.verdict != UNKNOWN]
                    table = toml_value(spring_entries(joint.name, value))
                    lines[own[kind].verdict].append(f"drive.spring = {table}\n")
                    deviations[own[kind].verdict] += [x for x in laws if x.verdict != UNKNOWN]
                    continue
                deviations[own[kind].verdict].append(own[kind])
                lines[own[kind].verdict].append(f"{key} = {toml_value(value)}  # {comment(own[kind])}\n")
        rubbing = [own[kind] for kind in FRICTION if kind in own and own[kind].verdict != UNKNOWN]
        if motor is not None and motor.friction is not None and rubbing and prior.joints[i].drive != drive:
            inline = toml_value(friction_entries(friction_law(motor)))
            worst = WEAK if any(x.verdict == WEAK for x in rubbing) else IDENTIFIED
            lines[worst] += [f"# motor_friction.{FRICTION[x.kind]}: {comment(x)}\n" for x in rubbing]
            lines[worst].append(f"drive.motor_friction = {inline}\n")
            deviations[worst] += rubbing
        unknown = [f"# {x.name}: {comment(x)}; {plain_line(x.reason)}\n" for x in own.values() if x.verdict == UNKNOWN]
        for verdict, entries in lines.items():
            if entries:
                source = f"trust = {toml_value(TRUST[verdict])}\norigin = {toml_value(origin)}\n"
                source += f"note = {toml_value(deviation_note(deviations[verdict], growth))}\n"
                more = unknown if verdict == IDENTIFIED or not lines[IDENTIFIED] else []
                blocks.append(f"[[joint]]\nname = {toml_value(joint.name)}\n{''.join(entries)}{source}{''.join(more)}")
        if not any(lines.values()):
            blocks.append(f"[[joint]]\nname = {toml_value(joint.name)}\n{''.join(unknown)}")
    return "\n".join(blocks)


def comment(x: Estimate) -> str:
    """Value, deviation, prior and verdict."""
    prior = "no prior" if math.isnan(x.prior) else f"prior {x.prior:.6g}"
    return f"{with_deviation(x.value, x.deviation)} {x.unit}; {prior}; {x.verdict}"
