"""Wrenches on links and the motion of the base, as callers give them: checked, links by their index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from ..errors import InputError
from ..robot import Robot
from ..types import Stack

Wrenches: TypeAlias = "Mapping[str, Stack] | None"  # {link: [w, w', ...]}, each w = (f, n) in base coordinates
Base: TypeAlias = "BaseMotion | Mapping[str, Stack] | None"


class BaseMotion(NamedTuple):
    """Motion of the base, in components along the current base axes.

    Attributes:
        angular_velocity: [ω₀, ω₀', ...], each (3,), rad/s and its absolute time derivatives.
        acceleration: [a₀, a₀', ...], each (3,), m/s² and its absolute time derivatives, without gravity.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> base = fj.BaseMotion([np.zeros(3)] * 2, [np.array([0.0, 0.0, 1.0])])  # a lift
        >>> fj.bias_torque(fj.load("kuka_lwr"), *np.zeros((2, 7)), base=base).shape
        (7,)
    """

    angular_velocity: Stack
    acceleration: Stack


def checked_wrenches(robot: Robot, wrenches: Wrenches, order: int) -> list[tuple[int, Stack]]:
    """(link, stack) for each wrench, its stack long enough for torque derivatives of this order."""
    for name, stack in (wrenches or {}).items():
        if len(stack) < order + 1:
            raise InputError(
                f"the wrench on '{name}' needs its first {order} derivatives for torque derivatives of order {order}, "
                f"{len(stack) - 1} were given; they are zero only if it is constant in the base frame"
            )
    return [(robot.link_index(name), stack) for name, stack in (wrenches or {}).items()]


def checked_base(base: Base, order: int) -> Mapping[str, Stack] | None:
    """The stacks of the base by name, long enough for torque derivatives of this order."""
    if base is None:
        return None
    stacks: Any = base._asdict() if isinstance(base, BaseMotion) else base
    if unknown := set(stacks) - set(BaseMotion._fields):
        raise InputError(f"base has no {', '.join(sorted(unknown))}; it knows {', '.join(BaseMotion._fields)}")
    for name, needed in (("angular_velocity", order + 2), ("acceleration", order + 1)):
        if len(stacks.get(name, ())) < needed:
            raise InputError(f"base.{name} needs {needed} entries for order {order}, {len(stacks.get(name, ()))} given")
    return stacks
