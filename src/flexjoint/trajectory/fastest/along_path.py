"""The fastest time law of a given motion: the same path, faster and slower where limits allow.

The motion Q(s), 0 ≤ s ≤ 1, runs at the times t(s), and dt/ds is a B-spline.  All limits are compared at fixed places
s, where Q and its derivatives are constants.  With primes for d/ds,

    dq/dt = Q'/t',   d²q/dt² = (Q'/t')'/t',   ...

The duration ∫ t' ds is linear in the coefficients of the spline.  With a constant t' the motion is scaled uniformly, as
`fit_duration` does.  As t' is positive and Q rests at its ends, q rests there too.
"""

from __future__ import annotations

import numpy as np

from ...spatial import ca
from ...types import FloatArray
from ..limited_motion import LimitedMotion
from ..spline import Spline
from ..time_law import TimeLaw
from .limit_shares import LimitShares
from .path_limits import path_limits
from .problem import Candidate, Problem, basis, comparison_points, degree_of, graded_breaks, integral_weights

FASTEST = 1e-3  # least dt/ds, relative to uniform scaling


class PathProblem:
    """The time law of a motion, as a problem for IPOPT.

    Args:
        what: the work, for reports of progress.
        motion: at rest at its ends, up to the derivative `limits.order` − 1.
        limits: of the robot.
        duration: at which it is feasible, in s: the start.
        intervals: between knots.
        iterations: of IPOPT, at most.
    """

    def __init__(
        self, what: str, motion: LimitedMotion, limits: LimitShares, duration: float, intervals: int, iterations: int
    ) -> None:
        path = motion.trajectory
        self.path, self.order, self.duration = path, limits.order, duration
        self.breaks, self.degree = graded_breaks(intervals), limits.order
        self.knots = np.concatenate([np.zeros(self.degree), self.breaks, np.ones(self.degree)])
        u = comparison_points(self.breaks)
        c = ca.MX.sym("c", len(self.knots) - self.degree - 1)
        slopes = ca.horzcat(*(duration * (b @ c) for b in basis(self.knots, self.degree, u, self.order - 1))).T
        limited = path_limits(motion, limits, path, u, duration)
        shares, torques = limited.function.map(u.size)(limited.constants, slopes)
        integral = ca.DM(self.knots[self.degree + 1 :] - self.knots[: -self.degree - 1]) / (self.degree + 1)
        length = ca.dot(integral, c)
        means = (torques**2 @ (ca.DM(integral_weights(u)) * slopes[0, :].T)) / (duration * length)
        self.problem = Problem(what, c, length, duration, shares, means, iterations)
        self.x = np.ones(c.numel())

    def solve(self, allowed: FloatArray) -> Candidate:
        """The fastest motion whose shares are at most `allowed`, (limits,); it starts from the last result."""
        solution = self.problem.solved(self.x, FASTEST, np.inf, allowed)
        self.x = solution.x
        return Candidate(self.path.retimed(self.law()), solution)

    def law(self) -> TimeLaw:
        """The time law of the last result."""
        slopes = np.maximum(self.x, FASTEST) * (self.duration / self.path.duration)
        return TimeLaw(self.breaks * self.path.duration, slopes, self.degree)

    def spline(self, intervals: int) -> Spline:
        """The motion of the last result as a spline through points of its path, so many or a few more."""
        places, law = graded_breaks(intervals) * self.path.duration, self.law()
        times = law.inverse.derivatives(places, 0)[0, :, 0]
        return Spline(self.path(places, order=0)[0], times, self.order - 1, degree=degree_of(self.order))
