"""What every robot must fulfil.  Checked once, when the robot is made: no algorithm checks it again."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import ROUNDING, check_finite, check_number
from ..drives import ElasticDrive, VariableStiffnessDrive
from ..errors import MOST_QUOTED, RobotError, listed, shown
from ..file_limits import require
from ..lazy import is_symbolic
from .drive_checks import check_drive, check_limits, check_parallel_spring, check_rotors, check_smoothness
from .friction_checks import check_friction
from .mimics import check_mimics
from .parts import BASE, Joint, Limits, Link, Mimic, symbol_text
from .plausibility import warn_of_units
from .sources import check_sources
from .transmission_checks import check_transmissions

if TYPE_CHECKING:
    from .model import Robot


def validate(robot: Robot) -> None:
    """Raise RobotError at the first thing that no algorithm can use."""
    check_parts(robot.links)
    if not isinstance(robot.name, str):
        raise RobotError(f"a robot is named {shown(robot.name)}: give it a string")
    check_length("robot", robot.name)
    for what in ("allow_unphysical", "rotors_in_links"):
        if not isinstance(getattr(robot, what), bool):
            raise RobotError(f"{robot.name}: {what} is {getattr(robot, what)!r}: it must be True or False")
    check_tree(robot.links)
    check_order(robot.links)
    if robot.tool not in {link.name for link in robot.links}:
        known = listed(link.name for link in robot.links)
        raise RobotError(f"{robot.name}: the tool link {shown(robot.tool)} does not exist; the links are: {known}")
    check_finite("gravity", robot.name, robot.gravity)
    two_motors = sum(isinstance(link.joint.drive, VariableStiffnessDrive) for link in robot.links)
    require("variable_stiffness", two_motors, robot.name, RobotError)
    for link in robot.links:
        refuse_symbols(link, link.name)
        check_joint(link.joint)
        check_body(link, robot.allow_unphysical)
    check_mimics(robot.links)
    check_smoothness(robot)
    check_rotors(robot)
    check_transmissions(robot)
    check_sources(robot)
    warn_of_units(robot)


def check_parts(links: Sequence[Link]) -> None:
    """Refuse links, joints and limits of a wrong type."""
    for link in links:
        check_type("one of the links", link, Link)
        check_type(f"the joint of link {link.name!r}", link.joint, Joint)
        check_type(f"what limits joint {link.joint.name!r}", link.joint.limits, Limits)
        if link.joint.mimic is not None:
            check_type(f"what joint {link.joint.name!r} follows", link.joint.mimic, Mimic)


def check_type(what: str, value: object, kind: type) -> None:
    """Refuse a value of another type."""
    if not isinstance(value, kind):
        raise RobotError(f"{what} is {shown(value)}: give {kind.__name__}(...)")


def refuse_symbols(part: Any, path: str) -> None:
    """Refuse CasADi symbols in a link, its joint or its drive: nothing could be checked."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        place = value.name if isinstance(value, Joint) else f"{path}.{field.name}"
        if is_symbolic(value):
            raise RobotError(symbol_text(place, value))
        if dataclasses.is_dataclass(value):
            refuse_symbols(value, place)


def check_length(what: str, name: str) -> None:
    """Refuse a long name: names stand in tables, messages and names of files."""
    if len(name) > MOST_QUOTED:
        raise RobotError(f"the {what} name {shown(name)} has {len(name)} characters: give one of at most {MOST_QUOTED}")


def check_tree(links: Sequence[Link]) -> None:
    """Refuse links that do not form a tree on the base, and names that are empty or used twice."""
    if not links:
        raise RobotError("a robot needs at least one link")
    for what, names in (("link", [x.name for x in links]), ("joint", [x.joint.name for x in links])):
        seen: set[str] = set()
        for i, name in enumerate(names):
            if not isinstance(name, str) or not name:
                raise RobotError(f"{what} {i} has the name {shown(name)}: give it a non-empty string")
            check_length(what, name)
            if name in seen:
                raise RobotError(f"the {what} name '{name}' is used twice: names must be unique")
            seen.add(name)
    parent = {link.name: link.parent for link in links}
    if BASE in parent:
        raise RobotError(f"a link is named '{BASE}', which is the fixed base: rename it")
    for name, above in parent.items():
        if above != BASE and above not in parent:
            known = listed([BASE, *parent])
            raise RobotError(f"link '{name}' has the unknown parent {shown(above)}; known are: {known}")
    rooted = {BASE}
    for name in parent:
        chain: dict[str, None] = {}  # ordered set: links on the way to the base
        while name not in rooted:
            if name in chain:
                cycle = listed([*list(chain)[list(chain).index(name) :], name], mark=" -> ")
                raise RobotError(f"the links form a cycle, {cycle}: give one of them the parent '{BASE}'")
            chain[name] = None
            name = parent[name]
        rooted.update(chain)


def check_order(links: Sequence[Link]) -> None:
    """Refuse a link listed before its parent."""
    seen = {BASE}
    for link in links:
        if link.parent not in seen:
            raise RobotError(
                f"link '{link.name}' is listed before its parent '{link.parent}': "
                "list parents first, or sort with parents_first(links)"
            )
        seen.add(link.name)


def check_joint(joint: Joint) -> None:
    """Refuse numbers of a joint that are not finite, no rotation, or limits that exclude each other."""
    name = joint.name
    check_finite("position", name, joint.position)
    check_finite("rotation", name, joint.rotation)
    error = float(np.max(np.abs(joint.rotation @ joint.rotation.T - np.eye(3))))
    if error > ROUNDING or np.linalg.det(joint.rotation) < 0:
        raise RobotError(
            f"the rotation of joint '{name}' is not a rotation matrix (|R Rᵀ − 1| = {error:.1e}, "
            f"det R = {np.linalg.det(joint.rotation):.3g}): give an orthonormal, right-handed one"
        )
    check_finite("axis", name, joint.axis)
    if not np.any(joint.axis):
        raise RobotError(f"the axis of joint '{name}' is zero: give a direction, such as (0, 0, 1)")
    check_friction(name, "", joint, load=isinstance(joint.drive, ElasticDrive | VariableStiffnessDrive))
    check_limits(f"joint '{name}'", joint.limits, signed=("lower", "upper"))
    for end, bound, none in (("lower", joint.limits.lower, -math.inf), ("upper", joint.limits.upper, math.inf)):
        if bound == -none:
            raise RobotError(
                f"joint '{name}' has the {end} limit {bound:g}, which no position satisfies: give a position, or "
                f"{none:g} if it is unknown"
            )
    if joint.limits.lower > joint.limits.upper:
        raise RobotError(
            f"joint '{name}' has the lower limit {joint.limits.lower:g} above the upper {joint.limits.upper:g}: "
            "exchange them, or correct one"
        )
    check_drive(joint)
    check_parallel_spring(joint)


def check_body(link: Link, allow_unphysical: bool) -> None:
    """Refuse a mass or an inertia that no rigid body has."""
    name, mass, I = link.name, link.mass, link.inertia
    check_number("mass", name, mass)
    check_finite("centre of mass", name, link.com)
    check_finite("inertia", name, I)
    if mass < 0:
        raise RobotError(f"the mass of link '{name}' is {mass:g} kg: it must not be negative")
    if np.max(np.abs(I - I.T)) > ROUNDING * np.max(np.abs(I), initial=0.0):
        raise RobotError(f"the inertia of link '{name}' is not symmetric: {I.tolist()}")
    if not np.any(I) and mass == 0:
        return
    if mass == 0 and not allow_unphysical:
        raise RobotError(
            f"link '{name}' has an inertia but no mass: give it a mass, drop the inertia, or pass allow_unphysical=True"
        )
    moments = np.linalg.eigvalsh(I)
    shown = ", ".join(f"{x:.4g}" for x in moments)
    scale = moments[-1]
    if moments[0] < -ROUNDING * abs(scale):
        raise RobotError(
            f"the central inertia of link '{name}' is not positive definite (principal moments {shown} kg m²): "
            "check the order of its elements and that it is taken about the centre of mass"
        )
    if moments[0] <= ROUNDING * abs(scale) and not allow_unphysical:
        raise RobotError(
            f"the central inertia of link '{name}' is not positive definite (principal moments {shown} kg m²): "
            "give it some extent, or pass allow_unphysical=True for a point mass or a thin rod"
        )
    if moments[0] + moments[1] < moments[2] * (1 - ROUNDING) and not allow_unphysical:
        raise RobotError(
            f"the inertia of link '{name}' violates the triangle inequality by "
            f"{moments[2] - moments[0] - moments[1]:.3g} kg m² (principal moments {shown}): no rigid body has it; "
            "correct it, or pass allow_unphysical=True"
        )
