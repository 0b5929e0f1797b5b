"""Postures from which inverse kinematics starts: per attempt the nearest to the goals among some random ones."""

from __future__ import annotations

import numpy as np

from ..dynamics.recursion.kinematics import forward_kinematics
from ..robot import Robot
from ..spatial import compose
from ..types import FloatArray
from .target import Task

CHOICES = 32  # random postures per attempt: 16 need more steps afterwards, 64 more comparisons before
ROWS = 4096  # compared at once: their distances stay in the cache


def searched_range(lower: FloatArray, upper: FloatArray, width: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The limits, with intervals of some width in place of infinite ones."""
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - width, -width / 2))
    return low, np.where(np.isfinite(upper), upper, low + width)


class Starts:
    """Random postures within limits, in blocks, one block per attempt; the same for the same seed.

    Args:
        robot: the robot.
        tasks: what its frames must reach.
        lower, upper: finite limits, (n,).
        length: length that makes distances comparable to angles, m.
        seed: of the random numbers.
    """

    def __init__(
        self, robot: Robot, tasks: tuple[Task, ...], lower: FloatArray, upper: FloatArray, length: float, seed: int
    ):
        self.robot, self.tasks, self.length = robot, tasks, length
        self.lower, self.upper = lower, upper
        self.generator = np.random.default_rng(seed)

    def nearest(self, goals: list[FloatArray]) -> FloatArray:
        """The posture of the next block whose frames are nearest to each row of the goals, (rows, n)."""
        drawn = self.generator.random((CHOICES, self.robot.n))
        postures = self.lower + drawn * (self.upper - self.lower)
        placed = [frame_numbers(self.robot, task, postures) for task in self.tasks]
        rows = len(goals[0])
        chosen = np.empty(rows, dtype=int)
        for first in range(0, rows, ROWS):
            part = slice(first, first + ROWS)
            chosen[part] = np.argmin(self._distances([goal[part] for goal in goals], placed), axis=1)
        return postures[chosen]

    def _distances(self, goals: list[FloatArray], placed: list[FloatArray]) -> FloatArray:
        """Squared distances between goals and frames, (rows, CHOICES), each sum in a fixed order."""
        total = np.zeros((len(goals[0]), CHOICES))
        for task, goal, frames in zip(self.tasks, goals, placed):
            for k, weight in compared(task, self.length):
                difference = goal[:, k, None] - frames[:, k]
                total += weight * (difference * difference)
        return total


def compared(task: Task, length: float) -> list[tuple[int, float]]:
    """Indices of the numbers of a goal that count, with their weights."""
    positions = [(k, 4.0 / (length * length)) for k in task.position]
    if task.orientation == "free":
        return positions
    columns = range(3) if task.orientation == "full" else ["xyz".index(task.orientation)]
    return positions + [(3 + 3 * row + column, 1.0) for row in range(3) for column in columns]


def frame_numbers(robot: Robot, task: Task, q: FloatArray) -> FloatArray:
    """Position and rotation row by row of a task's frame, (rows, 12)."""
    pose = forward_kinematics(robot, q, link=robot.links[task.link].name)
    rotation = compose(pose.rotation, np.array(task.rotation).reshape(3, 3))
    position = pose.position + compose(pose.rotation, np.array(task.offset)[:, None])[..., 0]
    return np.concatenate([position, rotation.reshape(len(q), 9)], axis=1)
