"""The search for postures: attempts from several starts until every row is solved."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..progress import Progress
from ..types import FloatArray
from .solver import Problem
from .starts import Starts, searched_range

TOGETHER = 256  # rows: where fewer are left, several attempts run at once, to the same results

Refine = Callable[[np.ndarray, FloatArray], tuple[FloatArray, FloatArray]]  # rows, q -> q, cost


class Found(NamedTuple):
    """What a search found per row: the best posture, whether it is a solution, and the number of starts."""

    q: FloatArray
    solved: np.ndarray
    starts: np.ndarray


@dataclass(frozen=True, eq=False)
class Search:
    """How postures are searched for.

    Args:
        problem: what to solve.
        hopeless: rows that are known to have no solution, (rows,): the first start alone, for a best posture.
        first: postures to start from and then near to, (rows, n); random ones if it is None.
        attempts: greatest number of starts.
        candidates: number of starts near to `first`, and of those whose solutions are compared, with `refine`.
        seed: of the random starts.
        refine: moves solutions of some rows to better ones, and says how good they are; None takes the first solution.
    """

    problem: Problem
    hopeless: np.ndarray
    first: FloatArray | None
    attempts: int
    candidates: int
    seed: int
    refine: Refine | None

    @cached_property
    def held(self) -> FloatArray:
        """Where joints stay that move no frame, (rows, n)."""
        held = np.zeros((self.problem.rows, self.problem.robot.n)) if self.first is None else self.first
        return np.clip(held, self.problem.lower, self.problem.upper)

    @cached_property
    def starts(self) -> Starts:
        """Random postures."""
        problem = self.problem
        limits = searched_range(problem.lower, problem.upper, 2 * np.pi * problem.unit)
        return Starts(problem.robot, problem.tasks, *limits, problem.length, self.seed)

    def run(self) -> Found:
        """Postures from as many starts as it takes."""
        problem, best = self.problem, self.held.copy()
        solved, tried = np.zeros(problem.rows, dtype=bool), np.zeros(problem.rows, dtype=int)
        cost = np.full(problem.rows, math.inf)  # of solutions; of other rows how far they miss
        progress = Progress(f"inverse kinematics of {problem.robot.name}", problem.rows)
        attempt = 0
        while attempt < self.attempts:
            compared = self.refine is not None and attempt < self.candidates
            rows = np.flatnonzero((compared | ~solved) & ((attempt == 0) | ~self.hopeless))
            if not len(rows):
                break
            count = 1
            if attempt >= (self.candidates if self.first is not None or self.refine is not None else 1):
                count = min(max(1, TOGETHER // len(rows)), attempt, self.attempts - attempt)  # at most double
            q, ok, value, starts = self.tried(rows, attempt, count)
            if self.refine is not None and ok.any():
                q[ok], value[ok] = self.refine(rows[ok], q[ok])
            better = np.where(solved[rows], ok & (value < cost[rows]), ok | (value < cost[rows]))
            taken = rows[better]
            best[taken], cost[taken], solved[taken] = q[better], value[better], ok[better]
            tried[rows] += starts
            attempt += count
            progress.reached(int(np.sum(solved | self.hopeless)))
        return Found(best, solved, tried)

    def tried(
        self, rows: np.ndarray, attempt: int, count: int
    ) -> tuple[FloatArray, np.ndarray, FloatArray, np.ndarray]:
        """Postures for some rows by the first of some attempts that succeeds, or else the one that misses least.

        Returns postures, whether they are solutions, how far they miss, and the number of attempts up to there.
        """
        problem = self.problem
        q = np.clip(self.begun(rows, attempt, count), problem.lower, problem.upper).reshape(-1, problem.robot.n)
        q, position, rotation = problem.improved(np.tile(rows, count), q)
        ok = problem.met(position, rotation).reshape(count, -1)
        miss = problem.miss(position, rotation).reshape(count, -1)
        success = ok.any(axis=0)
        chosen = np.where(success, np.argmax(ok, axis=0), np.argmin(miss, axis=0)), np.arange(len(rows))
        starts = np.where(success, chosen[0] + 1, count)
        return q.reshape(count, len(rows), -1)[chosen], ok[chosen], miss[chosen], starts

    def begun(self, rows: np.ndarray, attempt: int, count: int) -> FloatArray:
        """Postures from which attempts start, (count, rows, n)."""
        problem, idle = self.problem, self.problem.idle
        given = None if self.first is None or attempt >= self.candidates else self.first[None, rows]
        if given is not None and attempt == 0:
            return given
        q = self.starts.nearest(problem.some(rows), count, problem.threads)
        if given is not None:  # at growing distance from the given postures
            q = given + (attempt / self.candidates) * (q - given)
        q[..., idle] = self.held[np.ix_(rows, idle)]
        return q
