"""Poses to reach, one row each, and an attempt to reach them from given postures: a few calls of a kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..robot import Robot
from ..types import FloatArray
from .iteration import error_kernel, step_kernel
from .target import Task

STEPS = 10  # per call: most rows that converge at all need fewer
CALLS = 3  # per attempt, the later ones only for rows that have not converged yet


@dataclass(frozen=True, eq=False)
class Problem:
    """Poses to reach, one row each.

    Args:
        robot: the robot.
        tasks: what its frames must reach.
        goals: the poses per task, (rows, 3) or (rows, 12).
        lower, upper: limits per joint, (n,), rad or m; infinite where there are none.
        length: length that makes distances comparable to angles, m.
        tolerance: greatest errors of a solution, m and rad.
        threads: number of threads.
    """

    robot: Robot
    tasks: tuple[Task, ...]
    goals: list[FloatArray]
    lower: FloatArray
    upper: FloatArray
    length: float
    tolerance: float
    threads: int

    @property
    def rows(self) -> int:
        """Number of poses."""
        return len(self.goals[0])

    @cached_property
    def unit(self) -> FloatArray:
        """1 rad or the length, per joint: moves of about equal effect."""
        return np.array([1.0 if joint.kind.angular else self.length for joint in self.robot.joints])

    @cached_property
    def idle(self) -> np.ndarray:
        """Whether each joint moves none of the frames, (n,)."""
        paths = [self.robot.path(task.link) for task in self.tasks]
        moving = {self.robot.coordinates[i] for path in paths for i in path}
        return np.array([k not in moving for k in range(self.robot.n)])

    @property
    def equations(self) -> int:
        """Number of conditions that the targets set."""
        sizes = {"full": 3, "free": 0}
        return sum(len(task.position) + sizes.get(task.orientation, 2) for task in self.tasks)

    @property
    def redundant(self) -> bool:
        """Whether more joints move the frames than there are conditions."""
        return int(np.sum(~self.idle)) > self.equations

    def some(self, rows: np.ndarray) -> list[FloatArray]:
        """The goals of some rows."""
        return [goal[rows] for goal in self.goals]

    def errors(self, rows: np.ndarray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Position and rotation errors of postures for some rows, m and rad."""
        kernel = error_kernel(self.robot, self.tasks, self.length)
        position, rotation = kernel(q, *self.some(rows), threads=self.threads)
        return position, rotation

    def improved(self, rows: np.ndarray, q: FloatArray) -> Attempt:
        """Postures for some rows after steps from q, until they meet the tolerance or the steps are used up."""
        kernel = step_kernel(self.robot, self.tasks, self.length, STEPS)
        goals, q = self.some(rows), q.copy()
        position, rotation = np.empty(len(rows)), np.empty(len(rows))
        open_rows = np.arange(len(rows))
        for call in range(CALLS):
            given = goals if call == 0 else [goal[open_rows] for goal in goals]
            limits = self.lower, self.upper, self.unit
            found = kernel(q[open_rows], *given, *limits, threads=self.threads)
            q[open_rows], position[open_rows], rotation[open_rows] = found
            open_rows = open_rows[~self.met(found[1], found[2])]
            if not len(open_rows):
                break
        return Attempt(q, position, rotation)

    def met(self, position: FloatArray, rotation: FloatArray) -> np.ndarray:
        """Whether errors are within the tolerance."""
        return (position <= self.tolerance) & (rotation <= self.tolerance)

    def miss(self, position: FloatArray, rotation: FloatArray) -> FloatArray:
        """One number for both errors, to compare postures by; infinite where they are not known."""
        total = position / self.length + rotation
        return np.where(np.isnan(total), math.inf, total)


class Attempt(NamedTuple):
    """Postures (rows, n) with their position and rotation errors (rows,)."""

    q: FloatArray
    position: FloatArray
    rotation: FloatArray
