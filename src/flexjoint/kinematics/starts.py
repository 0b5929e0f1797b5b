"""Postures from which inverse kinematics starts: per attempt the nearest to the goals among some random ones."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..algorithm.compile import Outputs, kernel_of
from ..compiler.ir.program import Array
from ..compiler.ir.scan import scan
from ..compiler.runtime.kernel import Kernel
from ..dynamics.recursion.kinematics import forward_kinematics
from ..robot import Robot
from ..spatial import ca, compose, sx
from ..types import Expression, FloatArray
from .target import Task

CHOICES = 32  # random postures per attempt


def searched_range(lower: FloatArray, upper: FloatArray, width: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The limits, with intervals of some width in place of infinite ones."""
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - width, -width / 2))
    return low, np.where(np.isfinite(upper), upper, low + width)


class Starts:
    """Random postures within limits, one block per attempt; the same for the same seed.

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
        self.robot, self.tasks, self.lower, self.upper = robot, tasks, lower, upper
        self.generator = np.random.default_rng(seed)
        self.choose = choice_kernel(tuple(compared(task, length) for task in tasks), tuple(x.goal_size for x in tasks))

    def nearest(self, goals: list[FloatArray], count: int, threads: int) -> FloatArray:
        """The postures of the next blocks whose frames are nearest to each row of the goals, (count, rows, n)."""
        drawn = self.generator.random((count, CHOICES, self.robot.n))
        postures = self.lower + drawn * (self.upper - self.lower)
        placed = [frame_numbers(self.robot, task, postures)[:, None, :, : task.goal_size] for task in self.tasks]
        tables = [x[0, 0] for x in placed] if count == 1 else placed  # one table for all rows is read in place
        chosen = self.choose(*goals, *tables, threads=threads).astype(int).reshape(count, -1)
        return postures[np.arange(count)[:, None], chosen]


@lru_cache(maxsize=64)
def choice_kernel(weights: tuple[tuple[tuple[int, float], ...], ...], sizes: tuple[int, ...]) -> Kernel:
    """The kernel (goals, frames of all choices) to the index of the choice nearest to the goals.

    Args:
        weights: per task the indices of the numbers that count, with their weights.
        sizes: per task how many numbers a goal has.
    """

    def function(*arrays: Expression) -> Outputs:
        goals, frames = arrays[: len(sizes)], arrays[len(sizes) :]

        def step(carry: tuple[Expression, ...], choice: tuple[Expression, ...]) -> tuple[tuple[Expression, ...], tuple]:
            least, index, k, *goals = carry
            total = sx(0.0)
            for goal, frame, some in zip(goals, choice, weights):
                for i, weight in some:
                    difference = goal[i] - frame[i]
                    total = total + weight * (difference * difference)
            nearer = total < least
            return (ca.if_else(nearer, total, least), ca.if_else(nearer, k, index), k + 1, *goals), ()

        xs = [tuple(table[k, :].T for table in frames) for k in range(CHOICES)]
        (_, index, *_), _ = scan(step, (sx(1e300), sx(0.0), sx(0.0), *goals), xs)
        return [(Array("index", ()), index)]

    goals = [Array(f"goal {k + 1}", (size,)) for k, size in enumerate(sizes)]
    tables = [Array(f"frames {k + 1}", (CHOICES, size)) for k, size in enumerate(sizes)]
    return kernel_of("choice of starts", [*goals, *tables], function, f"choice of starts {weights} {sizes}", None)


def compared(task: Task, length: float) -> tuple[tuple[int, float], ...]:
    """Indices of the numbers of a goal that count, with their weights."""
    positions = tuple((k, 4.0 / (length * length)) for k in task.position)
    if task.orientation == "free":
        return positions
    columns = range(3) if task.orientation == "full" else ["xyz".index(task.orientation)]
    return (*positions, *((3 + 3 * row + column, 1.0) for row in range(3) for column in columns))


def frame_numbers(robot: Robot, task: Task, q: FloatArray) -> FloatArray:
    """Position and rotation row by row of a task's frame, (..., 12)."""
    pose = forward_kinematics(robot, q, link=robot.links[task.link].name)
    rotation = compose(pose.rotation, np.array(task.rotation).reshape(3, 3))
    position = pose.position + compose(pose.rotation, np.array(task.offset)[:, None])[..., 0]
    return np.concatenate([position, rotation.reshape(*q.shape[:-1], 9)], axis=-1)
