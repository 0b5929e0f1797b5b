"""The fastest time law of a given motion: the same path, faster and slower where limits allow.

The motion Q(σ), 0 ≤ σ ≤ 1, runs at the times t(σ), and dt/dσ is a B-spline.  All limits are compared at fixed σ, where
Q and its derivatives are constants.  With primes for d/dσ,

    dq/dt = Q'/t',   d²q/dt² = (Q'/t')'/t',   ...

The duration ∫ t' dσ is linear in the coefficients of the spline.  With a constant t' the motion is scaled uniformly, as
`fit_duration` does.  As t' is positive and Q rests at its ends, q rests there too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...spatial import ca
from ...types import FloatArray
from ..base import Trajectory
from ..spline import Spline
from ..time_law import TimeLaw
from .limit_shares import LimitShares
from .problem import Candidate, Problem, basis, comparison_points, degree_of, graded_breaks, integral_weights

FASTEST = 1e-3  # least dt/dσ, relative to uniform scaling


class PathProblem:
    """The time law of a motion, as a problem for IPOPT.

    Args:
        what: the work, for reports of progress.
        limits: of the robot.
        motion: at rest at its ends, up to the derivative `limits.order` − 1.
        duration: at which it is feasible, in s: the start.
        intervals: between knots.
        iterations: of IPOPT, at most.
    """

    def __init__(
        self, what: str, limits: LimitShares, motion: Trajectory, duration: float, intervals: int, iterations: int
    ) -> None:
        self.motion, self.order, self.duration = motion, limits.order, duration
        self.breaks, self.degree = graded_breaks(intervals), limits.order
        self.knots = np.concatenate([np.zeros(self.degree), self.breaks, np.ones(self.degree)])
        u = comparison_points(self.breaks)
        c = ca.MX.sym("c", len(self.knots) - self.degree - 1)
        slopes = ca.horzcat(*(duration * (b @ c) for b in basis(self.knots, self.degree, u, self.order - 1))).T
        powers = motion.duration ** np.arange(self.order + 1)
        stack = motion(u * motion.duration, order=self.order) * powers[:, None, None]
        constants = ca.DM(np.hstack(list(stack)).T)  # (order + 1) n numbers per point
        shares, torques = timed(limits).map(u.size)(constants, slopes)
        integral = ca.DM(self.knots[self.degree + 1 :] - self.knots[: -self.degree - 1]) / (self.degree + 1)
        length = ca.dot(integral, c)
        means = (torques**2 @ (ca.DM(integral_weights(u)) * slopes[0, :].T)) / (duration * length)
        self.problem = Problem(what, c, length, duration, shares, means, iterations)
        self.x = np.ones(c.numel())

    def solve(self, allowed: FloatArray) -> Candidate:
        """The fastest motion whose shares are at most `allowed`, (limits,); it starts from the last result."""
        solution = self.problem.solved(self.x, FASTEST, np.inf, allowed)
        self.x = solution.x
        return Candidate(self.motion.retimed(self.law()), solution)

    def law(self) -> TimeLaw:
        """The time law of the last result."""
        slopes = np.maximum(self.x, FASTEST) * (self.duration / self.motion.duration)
        return TimeLaw(self.breaks * self.motion.duration, slopes, self.degree)

    def spline(self) -> Spline:
        """The motion as a spline through its points at the breaks."""
        path, times = self.motion(self.breaks * self.motion.duration, order=0)[0], self.law().times
        return Spline(path, times, self.order - 1, degree=degree_of(self.order))


def timed(limits: LimitShares) -> Any:
    """The shares of limits as a function of [Q; Q'; ...] and [t'; t''; ...], derivatives with respect to σ."""
    n, order = limits.n, limits.order
    Q, t = [ca.SX.sym("Q", n) for _ in range(order + 1)], ca.SX.sym("t", order)
    variables, rates = ca.vertcat(*Q, t), ca.vertcat(*Q[1:], ca.SX.zeros(n), t[1:], 0)
    stack = [Q[0]]
    for _ in range(order):
        stack.append(ca.jtimes(stack[-1], variables, rates) / t[0])
    return ca.Function("timed", [ca.vertcat(*Q), t], limits.function(ca.vertcat(*stack)))
