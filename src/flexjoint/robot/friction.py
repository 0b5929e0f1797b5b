"""Friction of a robot as data: whether there is any, and robots with other friction."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..drives import Motor, friction_law
from .parts import Joint, Link

Change: TypeAlias = Callable[[Any], Any]  # of a Joint or a Motor


def has_friction(joints: Sequence[Joint]) -> bool:
    """Whether a joint or one of its motors has friction."""
    items: list[Joint | Motor] = [*joints]
    for joint in joints:
        items += joint.drive.motors if joint.drive is not None else ()
    return any(friction_law(x).present for x in items)


def changed_links(links: Sequence[Link], change: Change) -> tuple[Link, ...]:
    """The links with every joint and every motor changed."""
    return tuple(dataclasses.replace(link, joint=changed_joint(link.joint, change)) for link in links)


def changed_joint(joint: Joint, change: Change) -> Joint:
    """A joint changed, and the motors of its drive."""
    drive: Any = joint.drive
    if drive is not None:
        own = {x.name: getattr(drive, x.name) for x in dataclasses.fields(drive) if x.init}
        drive = dataclasses.replace(drive, **{k: change(x) for k, x in own.items() if isinstance(x, Motor)})
    return dataclasses.replace(change(joint), drive=drive)


def frictionless(item: Any) -> Any:
    """A joint or a motor without friction."""
    return dataclasses.replace(item, viscous_friction=0.0, coulomb_friction=0.0, friction=None)


def unloaded(item: Any) -> Any:
    """A joint or a motor whose friction does not depend on the load."""
    if item.friction is None or not item.friction.loaded:
        return item
    return dataclasses.replace(item, friction=item.friction.at_load(0.0))


def smoothed(velocity: float) -> Change:
    """The change that lets Coulomb friction change its sign over a velocity, in rad/s or m/s."""

    def change(item: Any) -> Any:
        if item.friction is not None and item.friction.velocity:
            return dataclasses.replace(item, friction=dataclasses.replace(item.friction, velocity=velocity))
        return dataclasses.replace(item, coulomb_velocity=velocity) if item.coulomb_friction else item

    return change
