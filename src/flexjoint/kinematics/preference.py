"""Which of many solutions is taken: the nearest to a posture, or the one farthest from the limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..robot import Robot
from ..types import FloatArray
from .iteration import preference_kernel
from .solver import STEPS, Problem

CALLS = 30  # at most, of STEPS each
SETTLED = 1e-5  # in units of the preference: a call that moves no joint by more has reached the best posture
TURN = 2 * math.pi


@dataclass(frozen=True, eq=False)
class Preference:
    """Σ ((q − preferred) / unit)² is to be small, over the joints that count.

    Args:
        problem: the poses to reach.
        preferred: postures (rows, n).
        unit: per joint (n,), rad or m.
        counts: whether each joint counts, (n,).
        turns: whether joints may be moved by whole turns towards the preferred posture.
    """

    problem: Problem
    preferred: FloatArray
    unit: FloatArray
    counts: np.ndarray
    turns: bool

    def cost(self, rows: np.ndarray, q: FloatArray) -> FloatArray:
        """The sum per row, in a fixed order."""
        total = np.zeros(len(q))
        for k in np.flatnonzero(self.counts):
            away = (q[:, k] - self.preferred[rows, k]) / self.unit[k]
            total += away * away
        return total

    def refine(self, rows: np.ndarray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solutions of some rows, moved within the null space as far as that lowers the cost, and their costs."""
        q = self.turned(rows, q)
        cost = self.cost(rows, q)
        if not self.problem.redundant:
            return q, cost
        moved = self.turned(rows, self._pulled(rows, q))
        moved, position, rotation = self.problem.improved(rows, moved)
        lower = self.cost(rows, moved)
        better = self.problem.met(position, rotation) & (lower < cost)
        return np.where(better[:, None], moved, q), np.where(better, lower, cost)

    def _pulled(self, rows: np.ndarray, q: FloatArray) -> FloatArray:
        """Postures after steps towards the preferred one, until they settle."""
        problem = self.problem
        kernel = preference_kernel(problem.robot, problem.tasks, problem.length, STEPS)
        goals, preferred = problem.some(rows), self.preferred[rows]
        q, open_rows = q.copy(), np.arange(len(rows))
        for _ in range(CALLS):
            at = q[open_rows]
            given = [goal[open_rows] for goal in goals]
            limits = problem.lower, problem.upper, self.unit
            weight = self.counts.astype(float)
            found, *_ = kernel(at, *given, *limits, preferred[open_rows], weight, threads=problem.threads)
            settled = np.max(np.abs(found - at) / self.unit, axis=1) < SETTLED
            q[open_rows] = found
            open_rows = open_rows[~settled]
            if not len(open_rows):
                break
        return q

    def turned(self, rows: np.ndarray, q: FloatArray) -> FloatArray:
        """Postures moved by whole turns towards the preferred one, within the limits."""
        if not self.turns:
            return q
        return by_whole_turns(q, self.preferred[rows], self.problem, turning(self.problem.robot))


def nearest_to(problem: Problem, posture: FloatArray) -> Preference:
    """Prefers postures near to given ones, (rows, n); joints that slide count per length of the robot."""
    return Preference(problem, posture, problem.unit, np.ones(problem.robot.n, dtype=bool), True)


def away_from_limits(problem: Problem) -> Preference:
    """Prefers postures in the middle of the limits, relative to their ranges; joints without limits do not count."""
    with np.errstate(invalid="ignore"):
        middle, half = (problem.lower + problem.upper) / 2, (problem.upper - problem.lower) / 2
    counts = np.isfinite(half) & (half > 0)
    preferred = np.broadcast_to(np.where(counts, middle, 0.0), (problem.rows, problem.robot.n))
    return Preference(problem, preferred, np.where(counts, half, np.pi * problem.unit), counts, False)


@lru_cache(maxsize=64)
def turning(robot: Robot) -> np.ndarray:
    """Whether a whole turn of a coordinate changes no pose, (n,): its joints only turn, by whole ratios."""
    found = np.ones(robot.n, dtype=bool)
    for x in robot.moving_joints:
        screw = x.joint.kind.screw
        if screw.slides or float(x.ratio * screw.turn) != round(float(x.ratio * screw.turn)):
            found[x.coordinate] = False
    return found


def by_whole_turns(q: FloatArray, towards: FloatArray, problem: Problem, joints: np.ndarray) -> FloatArray:
    """Some joints moved by whole turns as near as possible to other positions, within the limits."""
    with np.errstate(invalid="ignore"):
        least, most = np.ceil((problem.lower - q) / TURN), np.floor((problem.upper - q) / TURN)
    turns = np.clip(np.rint((towards - q) / TURN), np.minimum(least, 0), np.maximum(most, 0))
    return np.where(joints & (turns != 0), q + TURN * turns, q)
