"""What a file says beyond its robot, kept beside the robot for as long as the robot lives."""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

from ..robot import Robot

T = TypeVar("T")


class Attached(Generic[T]):
    """A value per robot object; an equal robot from another file has its own."""

    def __init__(self) -> None:
        self._values: dict[int, T] = {}

    def __setitem__(self, robot: Robot, value: T) -> None:
        if id(robot) not in self._values:
            weakref.finalize(robot, self._values.pop, id(robot), None)
        self._values[id(robot)] = value

    def get(self, robot: Robot, default: T) -> T:
        """The value of a robot; `default` if it has none."""
        return self._values.get(id(robot), default)
