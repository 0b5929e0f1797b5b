"""Links whose mass, centre of mass or inertia fits neither the link nor the robot."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...checks import ROUNDING
from ...findings import Finding
from ...robot import Link, Robot
from ...types import FloatArray

MASS_RATIO = 1e4  # of the heaviest to the lightest link; a finger of 15 g on an arm with links of 5 kg: 330
REACH = 3.0  # distance of a centre of mass from the line between the joints, in radii of gyration
SLACK = 0.05  # m, added to it


def body_findings(robot: Robot) -> Iterator[Finding]:
    """Inertias that no body has, centres of mass away from their links, masses that do not fit together."""
    massive = [link for link in robot.links if link.mass]
    for link in massive:
        yield from inertia_findings(link)
        yield from centre_findings(robot, link)
    if massive:
        light, heavy = min(massive, key=lambda x: x.mass), max(massive, key=lambda x: x.mass)
        if heavy.mass > MASS_RATIO * light.mass:
            yield Finding(
                "warning",
                "bodies",
                light.name,
                f"link '{light.name}' has {light.mass:.3g} kg, link '{heavy.name}' {heavy.mass:.3g} kg, "
                f"{heavy.mass / light.mass:.1g} times as much",
                "check that both are in kg, or leave the light one without mass",
            )
    carried = [bool(link.mass) for link in robot.links]  # whether a link or one that it carries has a mass
    for i, parent in reversed([*enumerate(robot.parents)]):
        if parent >= 0:
            carried[parent] |= carried[i]
    for link, massive_subtree in zip(robot.links, carried):
        if link.joint.moves and not massive_subtree:
            yield Finding(
                "warning",
                "bodies",
                link.joint.name,
                f"no link beyond joint '{link.joint.name}' has a mass: its torque is that of its motor alone, or zero",
                f"give link '{link.name}' a mass, a centre of mass and an inertia",
            )


def inertia_findings(link: Link) -> Iterator[Finding]:
    """Inertias that are accepted with allow_unphysical."""
    moments = np.linalg.eigvalsh(link.inertia).tolist()
    shown = ", ".join(f"{x:.3g}" for x in moments)
    if moments[0] + moments[1] < moments[2] * (1 - ROUNDING):
        yield Finding(
            "warning",
            "bodies",
            link.name,
            f"no rigid body has the inertia of link '{link.name}': of its principal moments {shown} kg m² the greatest "
            "exceeds the sum of the others",
            "check the order of its elements and that it is about the centre of mass",
        )
    elif moments[0] <= ROUNDING * moments[2]:
        yield Finding(
            "note",
            "bodies",
            link.name,
            f"link '{link.name}' is a point mass or a thin rod: principal moments {shown} kg m²",
        )


def centre_findings(robot: Robot, link: Link) -> Iterator[Finding]:
    """Centres of mass far away from the lines between the joints of a link."""
    index = robot.link_index(link.name)
    ends = [x.joint.position for x, parent in zip(robot.links, robot.parents) if parent == index]
    away = min(distance(link.com, end) for end in (np.zeros(3), *ends))
    radius = math.sqrt(max(float(np.linalg.eigvalsh(link.inertia)[-1]), 0.0) / link.mass)
    if away > REACH * radius + SLACK:
        yield Finding(
            "warning",
            "bodies",
            link.name,
            f"the centre of mass of link '{link.name}' is {away:.3g} m from the line between its joints, with a radius "
            f"of gyration of {radius:.2g} m",
            "check the frame and the unit of the centre of mass and of the inertia",
        )


def distance(point: FloatArray, end: FloatArray) -> float:
    """Distance of a point from the straight line from the origin to an end."""
    length = float(end @ end)
    along = min(max(float(point @ end) / length, 0.0), 1.0) if length else 0.0
    return float(np.linalg.norm(point - along * end))
