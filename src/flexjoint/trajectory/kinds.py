"""Kinds of trajectories in files: each registers its keys and its reader in the file that defines it.

@kind("rest_to_rest", positions=("start", "goal"), others=("duration", "smoothness"))
def read(table: MotionTable) -> RestToRest:
    ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..formats.columns import ANGLES, LENGTHS
from ..formats.toml import Table
from ..registry import Registry
from ..robot import Joint, Robot
from ..types import FloatArray
from .base import Trajectory

KINDS: Registry[Kind] = Registry("kind of trajectory")
SMOOTHNESS = 3  # at least, where a file does not say


class Kind:
    """Keys of a kind of trajectory in files, and the function that reads it.

    Args:
        read: function from a table to the trajectory.
        positions: keys with values per joint, in rad or m; each may be given in degrees, with `_deg` behind its name.
        others: all other keys.
    """

    def __init__(self, read: Callable[[MotionTable], Trajectory], positions: Sequence[str], others: Sequence[str]):
        self.__module__, self.__qualname__ = read.__module__, read.__qualname__  # for messages of the registry
        self.read, self.positions, self.others = read, tuple(positions), tuple(others)

    def all_keys(self, degrees: bool = True) -> tuple[str, ...]:
        """All keys, with or without those in degrees."""
        in_degrees = [f"{key}_deg" for key in self.positions] if degrees else []
        return ("kind", *self.positions, *self.others, *in_degrees)


def kind(
    name: str, *, positions: Sequence[str] = (), others: Sequence[str] = ()
) -> Callable[[Callable[[MotionTable], Trajectory]], Kind]:
    """Decorator that registers the reader of a kind of trajectory; arguments as for `Kind`."""
    return lambda read: KINDS.register(name)(Kind(read, positions, others))


@dataclass(frozen=True)
class MovedJoints:
    """The joints whose positions, or stiffnesses, a trajectory prescribes.

    Args:
        robot: their robot.
        joints: the joints, in the order of the columns.
        order: number of bounded derivatives that their drives need.
        stiffnesses: whether the trajectory prescribes stiffnesses in place of positions.
        pose: whether it prescribes the pose of the base, in place of the robot's own joints.
        depth: how deep it stands in other trajectories, which are checked as a whole; 0 for one of its own.
    """

    robot: Robot
    joints: Sequence[Joint]
    order: int
    stiffnesses: bool = False
    pose: bool = False
    depth: int = 0

    @property
    def n(self) -> int:
        """Number of columns."""
        return len(self.joints)

    @property
    def name(self) -> str:
        """Name of the robot, for messages."""
        return self.robot.name

    def units(self, joint: Joint) -> Mapping[str, float]:
        """Units of a column, each with its size in SI."""
        if self.stiffnesses:
            return {"": 1.0, joint.kind.unit("Nm/rad | N/m"): 1.0}
        return {"": 1.0, **(ANGLES if joint.kind.angular else LENGTHS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionTable(Table):
    """The table of a trajectory in a file, for given joints."""

    joints: MovedJoints
    folder: Path  # of the file

    def written(self, key: str) -> str:
        """The key that the file has: the key itself, or the one in degrees."""
        self.only_one(key, f"{key}_deg")
        return f"{key}_deg" if f"{key}_deg" in self.data else key

    def positions(self, key: str, expected: str) -> FloatArray:
        """An array of positions, in rad or m; `expected` says which form it must have."""
        if (name := self.written(key)) == key:
            return self.array(key, expected)
        if sliding := [joint.name for joint in self.joints.joints if not joint.kind.angular]:
            what = "is a length" if self.joints.pose else "slides"
            column = "column" if self.joints.pose else "joint"
            raise InputError(f"{self.place}: {name} is in degrees, but {column} '{sliding[0]}' {what}: give {key}")
        return np.deg2rad(self.array(name, expected))

    def per_joint(self, key: str, default: float | None = None) -> FloatArray:
        """One position per joint, (n,); a single number holds for all joints."""
        n = self.joints.n
        expected = f"one number for all joints or {n}, one per joint"
        name = self.written(key)
        value = self.positions(key, expected) if name in self.data or default is None else np.array(default)
        if value.shape not in ((), (n,)):
            raise self.wrong(name, expected)
        return np.broadcast_to(value, (n,))

    def rows(self, key: str) -> FloatArray:
        """Rows of positions, (m, n)."""
        expected = f"rows of {self.joints.n} numbers, one per joint"
        value = self.positions(key, expected)
        if value.ndim != 2 or value.shape[1] != self.joints.n:
            raise self.wrong(self.written(key), expected)
        return value

    def optional_number(self, key: str) -> float | None:
        """A number, or None without the key."""
        return self.number(key) if key in self.data else None

    def smoothness(self) -> int:
        """The key `smoothness`; by default what the joints need, but not less than 3."""
        return self.data.get("smoothness", max(SMOOTHNESS, self.joints.order - 1))
