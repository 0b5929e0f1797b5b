"""Links, joints and limits: frozen data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..drives import Drive
from ..errors import NOT_NUMBERS, RobotError, shown

BASE = "base"
JointKind = Literal["revolute", "prismatic", "fixed"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a joint in rad or m, rad/s or m/s, Nm or N; infinite where unknown."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """Where the link's frame stands in its parent's at q = 0, and how it moves along its own z axis."""

    name: str
    kind: JointKind = "revolute"
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    limits: Limits = field(default_factory=Limits)
    viscous_friction: float = 0.0  # on the link side, Nm s/rad or N s/m
    coulomb_friction: float = 0.0  # likewise, Nm or N: F_c tanh(q'/v_c)
    coulomb_velocity: float = 0.0  # v_c, rad/s or m/s
    drive: Drive | None = None

    def __post_init__(self) -> None:
        freeze(self, position=(3,), rotation=(3, 3))

    @property
    def moves(self) -> bool:
        return self.kind != "fixed"


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A rigid body: mass, centre of mass, and inertia about it, all in the link's frame."""

    name: str
    joint: Joint
    parent: str = BASE
    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))

    def __post_init__(self) -> None:
        freeze(self, com=(3,), inertia=(3, 3))


def freeze(item: Any, **shapes: tuple[int, ...]) -> None:
    """Turn array fields into read-only float arrays of the given shape."""
    for name, shape in shapes.items():
        what = f"{name} of {shown(getattr(item, 'name', item))}"
        object.__setattr__(item, name, frozen_array(getattr(item, name), shape, what))


def frozen_array(value: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    try:
        array = np.array(value, dtype=float)
    except NOT_NUMBERS:
        raise RobotError(f"{what} must be numbers of shape {shape}, not {shown(value)}") from None
    if array.shape != shape:
        raise RobotError(f"{what} must have shape {shape}, not {array.shape}")
    array = array + 0.0  # −0.0 becomes 0.0: one robot, one digest
    array.flags.writeable = False
    return array
