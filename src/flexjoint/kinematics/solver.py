"""The search for postures: attempts from several starts until every row is solved, each attempt a few kernel calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..progress import Progress
from ..robot import Robot
from ..types import FloatArray
from .iteration import error_kernel, step_kernel
from .starts import Starts, searched_range
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


class Found(NamedTuple):
    """What a search found per row: the best posture, whether it is a solution, and the number of starts."""

    q: FloatArray
    solved: np.ndarray
    starts: np.ndarray


Refine = Callable[[np.ndarray, FloatArray], tuple[FloatArray, FloatArray]]  # rows, q -> q, cost


def search(
    problem: Problem,
    hopeless: np.ndarray,
    held: FloatArray,
    first: FloatArray | None,
    attempts: int,
    seed: int,
    refine: Refine | None,
    candidates: int,
) -> Found:
    """Postures from as many starts as it takes.

    Args:
        problem: what to solve.
        hopeless: rows that are known to have no solution, (rows,): the first start alone, for a best posture.
        held: positions of joints that move no frame, (rows, n).
        first: postures to start from and then near to, (rows, n); random ones without it.
        attempts: greatest number of starts.
        seed: of the random starts.
        refine: moves solutions of some rows to better ones, and says how good they are.
        candidates: number of starts near to `first`, and of those whose solutions are compared, with `refine`.
    """
    width = 2 * np.pi * problem.unit
    limits = searched_range(problem.lower, problem.upper, width)
    starts = Starts(problem.robot, problem.tasks, *limits, problem.length, seed)
    best = np.clip(held, problem.lower, problem.upper)
    idle = problem.idle
    solved, tried = np.zeros(problem.rows, dtype=bool), np.zeros(problem.rows, dtype=int)
    cost = np.full(problem.rows, math.inf)  # of solutions; of other rows how far they miss
    progress = Progress(f"inverse kinematics of {problem.robot.name}", problem.rows)
    for attempt in range(attempts):
        compared = refine is not None and attempt < candidates
        rows = np.flatnonzero((compared | ~solved) & ((attempt == 0) | ~hopeless))
        if not len(rows):
            break
        if first is None or attempt >= candidates:
            q = starts.nearest(problem.some(rows), problem.threads)
        else:  # from the given postures, then from others at growing distance
            q = first[rows]
            if attempt:
                q = q + (attempt / candidates) * (starts.nearest(problem.some(rows), problem.threads) - q)
        q[:, idle] = held[np.ix_(rows, idle)]
        q, position, rotation = problem.improved(rows, np.clip(q, problem.lower, problem.upper))
        ok, value = problem.met(position, rotation), problem.miss(position, rotation)
        if refine is not None and ok.any():
            q[ok], value[ok] = refine(rows[ok], q[ok])
        better = np.where(solved[rows], ok & (value < cost[rows]), ok | (value < cost[rows]))
        taken = rows[better]
        best[taken], cost[taken], solved[taken] = q[better], value[better], ok[better]
        tried[rows] += 1
        progress.reached(int(np.sum(solved | hopeless)))
    return Found(best, solved, tried)
