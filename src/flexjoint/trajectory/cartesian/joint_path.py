"""Joint positions q(s) on a path, exact at every s: the solution of f(q) = X(s), A(s) q = b(s), with all derivatives.

A table of knots gives a first estimate, Newton's method the solution, and the equations differentiated k times give
q⁽ᵏ⁾ from the lower derivatives.  Nothing is fitted: the only error is rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb
from typing import NamedTuple

import numpy as np

from ...errors import InputError, NonFiniteError
from ...numerics import solve_each
from ...spatial import compose, total
from ...types import FloatArray
from ..base import Trajectory, empty_stack, set_fields
from .continuation import Follower
from .path import CartesianPath, pose_stack
from .posture import fitted_posture, nodes
from .task import Task

LAST_STEP = 1e-8  # rad or m: Newton's next step would be about its square
ITERATIONS = 10
FIRST_STEP = 0.01  # rad or m: how far estimates from the table may be away
ERROR_BOUND = 1e-10  # m and rad: every evaluated point is checked against it
BLOCK = 4096  # times that are evaluated at once
ROUNDS = 12  # halvings of an interval of the table


class PathError(NamedTuple):
    """Distance of a motion from its path.

    Attributes:
        position: Largest distance found between knots, m.
        rotation: Largest angle found, rad.
        bound: No evaluation returns a point further away, m and rad.
    """

    position: float
    rotation: float
    bound: float


@dataclass(frozen=True, eq=False, repr=False)
class JointPath(Trajectory):
    """Joint positions as a function of the path parameter s, in place of time.

    Args:
        task: the equations.
        path: the path.
        start: (n,), joint positions near its begin.
        posture: (n,), joint positions that a redundant arm approaches; None for the least motion.
    """

    task: Task
    path: CartesianPath
    start: FloatArray
    posture: FloatArray | None = None
    n: int = field(init=False)
    duration: float = field(init=False)
    smoothness: float = field(init=False)
    rows: Trajectory | None = field(init=False)  # [A(s), b(s)] of redundant arms
    knots: FloatArray = field(init=False)  # (m,), s
    values: FloatArray = field(init=False)  # (2, m, n), q and dq/ds
    least: tuple[float, float] = field(init=False)  # smallest singular value of J, and where

    def __post_init__(self) -> None:
        task, path = self.task, self.path
        follower = Follower(task, path, self.posture)
        stops = nodes(path)[1] if task.redundancy else np.zeros(0)
        found = follower.knots(self.start, stops)
        weakest = min(found, key=lambda knot: float(knot.singular_values[-1]))
        set_fields(self, n=task.robot.n, duration=path.length, smoothness=path.smoothness)
        set_fields(self, start=found[0].q, least=(float(weakest.singular_values[-1]), weakest.s))
        set_fields(self, rows=fitted_posture(task, path, found) if task.redundancy else None)
        self.tabulate(np.array([x.s for x in found]), np.array([x.q for x in found]))

    def tabulate(self, s: FloatArray, q: FloatArray) -> None:
        """Fill the table, with further knots where its estimates are poor."""
        q = self.solved(s, q)[0]
        for _ in range(ROUNDS):
            set_fields(self, knots=s, values=np.stack([q, self.stack_at(s, q, 1)[1]]))
            between = (s[:-1] + s[1:]) / 2
            exact, steps = self.solved(between, self.estimate(between))
            poor = ~(steps <= FIRST_STEP)  # also NaN
            if not poor.any():
                return
            if not np.isfinite(exact[poor]).all():
                break
            s, order = np.sort(np.concatenate([s, between[poor]])), np.argsort(np.concatenate([s, between[poor]]))
            q = np.concatenate([q, exact[poor]])[order]
        where = 100 * float(between[np.argmax(poor)]) / self.duration
        raise InputError(
            f"CartesianMotion: at {where:.4g} % of the path the posture of the arm is not determined: give another "
            "`start`, or `hold` with joints that keep their positions"
        )

    def estimate(self, s: FloatArray) -> FloatArray:
        """q from the table, (..., n): cubic between two knots."""
        i = np.clip(np.searchsorted(self.knots, s, side="right") - 1, 0, len(self.knots) - 2)
        h = (self.knots[i + 1] - self.knots[i])[..., None]
        x = ((s - self.knots[i])[..., None]) / h
        a, b, u, v = self.values[0][i], self.values[0][i + 1], h * self.values[1][i], h * self.values[1][i + 1]
        y = 1.0 - x
        return a + (b - a) * (x * x * (1.0 + 2.0 * y)) + u * (x * y * y) - v * (x * x * y)  # exact where nothing moves

    def solved(self, s: FloatArray, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
        """q (m, n) at s (m,) by Newton's method, and its first steps (m,); NaN where it does not converge."""
        task, columns = self.task, list(self.task.columns)
        wanted = pose_stack(self.path.derivatives(s, 0))[0]
        rows = self.posture_rows(s, 0)
        q, first = guess.copy(), np.full(len(s), np.nan)
        left = np.arange(len(s))
        for turn in range(ITERATIONS):
            found = task.poses([q[left]])
            R = found[..., :3]
            e = task.independent(task.difference(wanted[left], found, R)[..., None])[..., 0]
            rest = self.rest(rows[:, left], q[left][None])
            right = np.concatenate([e, rest], axis=-1)[..., None]
            step = solve_each(self.matrix(rows[0, left], q[left], R), right)[..., 0]
            size = np.max(np.abs(step), axis=-1, initial=0.0)
            q[np.ix_(left, np.array(columns))] += step
            if turn == 0:
                first = size
            left = left[~(size <= LAST_STEP)]
            if not left.size:
                break
        q[left] = np.nan
        return q, first

    def posture_rows(self, s: FloatArray, order: int) -> FloatArray:
        """[A, b] with derivatives, (order + 1, m, redundancy, joints that move the link + 1)."""
        shape = (order + 1, len(s), self.task.redundancy, len(self.task.columns) + 1)
        return np.zeros(shape) if self.rows is None else self.rows.derivatives(s, order).reshape(shape)

    def matrix(self, rows: FloatArray, q: FloatArray, R: FloatArray) -> FloatArray:
        """The matrix of the equations, (m, k, k), for the k joints that move the link; `rows` are [A, b]."""
        return np.concatenate([self.task.independent(self.task.all_rows(q, R)), rows[..., :-1]], axis=-2)

    def rest(self, rows: FloatArray, q: FloatArray) -> FloatArray:
        """b⁽ᵏ⁾ − Σ_l C(k, l) A⁽ˡ⁾ q⁽ᵏ⁻ˡ⁾ of derivatives q (k + 1, m, n), the last one a guess or 0."""
        k, known = len(q) - 1, q[..., list(self.task.columns), None]
        return rows[k][..., -1] - total(
            comb(k, l) * compose(rows[l][..., :-1], known[k - l])[..., 0] for l in range(k + 1)
        )

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        s = np.clip(t, 0.0, self.duration).reshape(-1)
        found = empty_stack(order, s.shape, self.n)
        for first in range(0, s.size, BLOCK):
            some = slice(first, first + BLOCK)
            found[:, some] = self.stack_at(s[some], self.solved(s[some], self.estimate(s[some]))[0], order)
        lost = ~np.isfinite(found[0]).all(axis=-1)
        if lost.any():
            where = 100 * float(s[np.argmax(lost)]) / self.duration
            raise NonFiniteError(
                f"CartesianMotion: at {where:.6g} % of the path no joint positions were found: give another `start`"
            )
        return found.reshape(order + 1, *t.shape, self.n)

    def stack_at(self, s: FloatArray, q: FloatArray, order: int) -> FloatArray:
        """[q, dq/ds, ...] (order + 1, m, n) of solutions q; NaN where q is none."""
        task, columns = self.task, list(self.task.columns)
        stack = np.zeros((order + 1, len(s), self.n))
        wanted = pose_stack(self.path.derivatives(s, order))
        found = task.poses([q])
        R = found[..., :3]
        met = np.maximum(*task.errors(wanted[0], found)) <= ERROR_BOUND
        stack[0] = np.where(met[:, None], q, np.nan)
        rows = self.posture_rows(s, order)
        matrix = self.matrix(rows[0], q, R)
        inverse = solve_each(matrix, np.broadcast_to(np.eye(len(columns)), matrix.shape))
        for k in range(1, order + 1):
            known = task.poses(list(stack[: k + 1]))  # with q⁽ᵏ⁾ = 0
            e = task.independent(task.difference(wanted[k], known, R)[..., None])[..., 0]
            right = np.concatenate([e, self.rest(rows, stack[: k + 1])], axis=-1)
            stack[k][:, columns] = compose(inverse, right[..., None])[..., 0]
        return stack

    def remedy(self, order: int) -> str:
        return self.path.remedy(order)

    def error(self, per_knot: int = 20) -> PathError:
        """The largest deviations from the path, looked for between the knots."""
        inside = np.arange(per_knot) / per_knot
        s = np.append(self.knots[:-1, None] + np.diff(self.knots)[:, None] * inside, self.duration)
        wanted, found = pose_stack(self.path.derivatives(s, 0))[0], self.task.poses([self.derivatives(s, 0)[0]])
        distances, angles = self.task.errors(wanted, found)
        return PathError(float(np.max(distances)), float(np.max(angles)), ERROR_BOUND)
