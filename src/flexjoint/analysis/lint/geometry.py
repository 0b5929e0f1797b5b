"""Centres of mass against the geometry that a URDF or MJCF gives its links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...findings import Finding
from ...formats import Geometry
from ...robot import Link, Robot
from ...types import FloatArray

SLACK = 0.01  # m by which a centre of mass may lie outside: geometry leaves out covers and cables


def geometry_findings(robot: Robot, geometry: Mapping[str, Sequence[Geometry]]) -> Iterator[Finding]:
    """Centres of mass outside the box around the bodies of their link; links with meshes are left out."""
    for link in robot.links:
        bodies = geometry.get(link.name, ())
        if link.mass and bodies and all(body.kind != "mesh" for body in bodies):
            yield from outside_findings(link, bodies)


def outside_findings(link: Link, bodies: Sequence[Geometry]) -> Iterator[Finding]:
    """The centre of mass of one link, if it lies outside."""
    halves = [np.abs(body.rotation) @ half_size(body) for body in bodies]
    lower = np.min([body.position - half for body, half in zip(bodies, halves)], axis=0)
    upper = np.max([body.position + half for body, half in zip(bodies, halves)], axis=0)
    away = float(np.linalg.norm(np.maximum(np.maximum(lower - link.com, link.com - upper), 0.0)))
    if away > SLACK:
        yield Finding(
            "warning",
            "geometry",
            link.name,
            f"the centre of mass of link '{link.name}' lies {away:.3g} m outside its geometry",
            "check the frame and the unit of the centre of mass",
            line=bodies[0].line,
        )


def half_size(body: Geometry) -> FloatArray:
    """Half of the edges of the box around a body, in its own frame, (3,)."""
    if body.kind == "box":
        return np.array(body.size) / 2
    radius, length = (*body.size, 0.0)[:2]
    along = {"sphere": radius, "cylinder": length / 2, "capsule": length / 2 + radius}[body.kind]
    return np.array([radius, radius, along])
