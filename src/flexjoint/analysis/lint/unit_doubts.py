"""Numbers that are probably in other units: those of which a new robot warns, each of them."""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import Finding
from ...robot import Robot
from ...robot.plausibility import doubts


def unit_findings(robot: Robot) -> Iterator[Finding]:
    """Gravity, lengths, masses, inertias, limits, gear ratios, motor inertias and stiffnesses out of bounds."""
    names = [*(link.name for link in robot.links), *(link.joint.name for link in robot.links)]
    for _, message in doubts(robot):
        part = next((name for name in names if f"'{name:.200}'" in message), "")
        reason, _, fix = message.partition(": ")
        yield Finding("warning", "units", part, reason, fix)
