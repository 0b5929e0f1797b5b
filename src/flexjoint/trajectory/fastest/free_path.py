"""The fastest motion from one posture to another: the path is free.

Every joint moves along a B-spline over t/T, with T free.  The coefficients at the ends are those of the postures, so
the ends are at rest.  The others lie within the position limits, and with them the whole spline.
"""

from __future__ import annotations

import numpy as np

from ...spatial import ca
from ...types import FloatArray
from ..limits import LimitedQuantity
from ..spline import Spline
from .limit_shares import LimitShares
from .problem import Candidate, Problem, basis, comparison_points, degree_of, integral_weights

POINTS = 4  # per interval between knots: fewer than along a path, as an evaluation costs more
SHORTEST, LONGEST = 1e-3, 10.0  # durations relative to the start


class FreeProblem:
    """Path and duration of a motion, as a problem for IPOPT.

    Args:
        what: the work, for reports of progress.
        limits: of the robot.
        motion: the start; the knots of the result have its times.
        position: position limits; None without.
        iterations: of IPOPT, at most.
    """

    def __init__(
        self, what: str, limits: LimitShares, motion: Spline, position: LimitedQuantity | None, iterations: int
    ) -> None:
        self.order, self.duration, self.times = limits.order, motion.duration, motion.times
        rest, n, first = limits.order, limits.n, motion.curve.pieces[0]
        knots = first.t * (motion.curve.unit / motion.duration)
        self.start = first.c
        count = len(self.start) - 2 * rest
        breaks = np.unique(knots)
        u = comparison_points(breaks, POINTS)
        x = ca.MX.sym("x", count * n + 1)
        self.free = slice(rest, len(self.start) - rest)
        ends = [ca.DM(np.tile(self.start[k], (rest, 1))) for k in (0, -1)]
        c = ca.vertcat(ends[0], ca.reshape(x[:-1], count, n), ends[1])
        self.values = basis(knots, first.k, motion.times / motion.duration, 0)[0]
        powers = enumerate(basis(knots, first.k, u, self.order))
        stack = ca.vertcat(*((b @ c).T / (self.duration * x[-1]) ** k for k, b in powers))
        shares, torques = limits.function.map(u.size)(stack)
        self.problem = Problem(what, x, x[-1], self.duration, shares, torques**2 @ integral_weights(u), iterations)
        low, high = (-np.inf, np.inf) if position is None else (position.lower, position.upper)
        self.lower = np.append(np.broadcast_to(low, (count, n)).T.ravel(), SHORTEST)
        self.upper = np.append(np.broadcast_to(high, (count, n)).T.ravel(), LONGEST)
        self.x = np.append(self.start[self.free].T.ravel(), 1.0)

    def solve(self, allowed: FloatArray) -> Candidate:
        """The fastest motion whose shares are at most `allowed`, (limits,); it starts from the last result."""
        solution = self.problem.solved(self.x, self.lower, self.upper, allowed)
        self.x = solution.x
        c = self.start.copy()
        c[self.free] = self.x[:-1].reshape(c.shape[1], -1).T
        points = np.array(self.values @ ca.DM(c))
        points[[0, -1]] = self.start[[0, -1]]
        moved = Spline(points, self.x[-1] * self.times, self.order - 1, degree=degree_of(self.order))
        return Candidate(moved, solution)
