"""A robot and its joints in words: one line of a robot, kinds and limits of joints."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..drives import Drive
from .parts import Joint

if TYPE_CHECKING:
    from .model import Robot

MOST_LETTERS = 20  # joints whose kinds stand in the repr of a robot


def summary(robot: Robot) -> str:
    """The repr of a robot, such as "Robot('pendulum', R, 1 link, tool 'arm')"."""
    kinds = "".join(joint.kind.letter for joint in robot.joints) or "no joints"
    kinds = kinds if len(kinds) <= MOST_LETTERS else f"{robot.n} joints"
    drives = Counter(drive_name(joint.drive) for joint in robot.joints if joint.drive is not None)
    parts = [kinds, *(f"{count} {name}" for name, count in drives.items())]
    if robot.followers:
        parts.append(f"{len(robot.followers)} follower{'s' * (len(robot.followers) != 1)}")
    if count := len(robot.parallel_springs):
        parts.append(f"{count} parallel spring{'s' * (count != 1)}")
    if count := len(robot.transmissions):
        parts.append(f"{count} coupled transmission{'s' * (count != 1)}")
    parts.append(f"{len(robot.links)} link{'s' * (len(robot.links) != 1)}")
    return f"Robot({robot.name!r}, {', '.join(parts)}, tool {robot.tool!r})"


def drive_name(drive: Drive | None) -> str:
    """The kind of a drive in one word, "none" without a drive."""
    return "none" if drive is None else type(drive).__name__.removesuffix("Drive").lower()


def stiffness_text(item: Any) -> str:
    """Stiffness of a drive or spring in SI units, the name of a spring law that is not linear, or ""."""
    if springs := getattr(item, "springs", ()):
        return ", ".join(dict.fromkeys(spring.name for spring in springs))
    stiffness = getattr(item, "stiffness", "")
    return f"{stiffness:g}" if isinstance(stiffness, int | float) else getattr(stiffness, "name", "")


def kind_text(joint: Joint) -> str:
    """The kind of a joint, and what it follows, such as "prismatic = −1 · left_finger + 0.1"."""
    mimic = joint.mimic
    if mimic is None:
        return joint.kind.name
    ratio = "" if mimic.ratio == 1 else f"{mimic.ratio:g} · "
    offset = f" {'-' if mimic.offset < 0 else '+'} {abs(mimic.offset):g}" if mimic.offset else ""
    return f"{joint.kind.name} = {ratio}{mimic.joint}{offset}"


def limits_text(joint: Joint) -> str:
    """The bounds of a joint in one line, without those that are not known."""
    limits, kind = joint.limits, joint.kind
    if not kind.moves:
        return ""
    bounded = math.isfinite(limits.lower) or math.isfinite(limits.upper)
    found = [f"{limits.lower:g} to {limits.upper:g} {kind.unit('rad | m')}"] if bounded else []
    for value, unit in (
        *((limits.velocity, "rad/s | m/s"), (limits.acceleration, "rad/s² | m/s²"), (limits.jerk, "rad/s³ | m/s³")),
        *((limits.effort, "Nm | N"), (limits.torque_rate, "Nm/s | N/s")),
    ):
        found += [f"{value:g} {kind.unit(unit)}"] if math.isfinite(value) else []
    return ", ".join(found)
