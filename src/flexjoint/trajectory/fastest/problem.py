"""What the two problems share: limits compared at points, splines as matrices, and the motion that comes out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...spatial import ca
from ...types import FloatArray
from ..base import Trajectory
from .ipopt import Solution, Solver

POINTS = 6  # per interval between knots, where limits are compared
GRADED = 3


class Candidate(NamedTuple):
    """A motion that an optimization gives; its limits are met at the points of the optimization only.

    Attributes:
        trajectory: the motion.
        solution: what IPOPT ended with.
    """

    trajectory: Trajectory
    solution: Solution


class Problem:
    """A problem for IPOPT whose constraints are shares of limits at points.

    Args:
        what: the work, for reports of progress.
        x: the unknowns, MX.
        duration: to be minimized, MX, in units of `unit`.
        unit: in s.
        shares: (limits, points), MX.
        means: (motors,), mean squares of torques, at most 1, MX.
        iterations: of IPOPT, at most.
    """

    def __init__(self, what: str, x: Any, duration: Any, unit: float, shares: Any, means: Any, iterations: int) -> None:
        self.limits, self.points, self.means = shares.size1(), shares.size2(), means.numel()
        length = ca.Function("length", [x], [unit * duration])
        problem = {"x": x, "f": duration, "g": ca.vertcat(ca.vec(shares), ca.vec(means))}
        self.solver = Solver(what, problem, lambda x: f"{float(length(x)):.4g} s", iterations)

    def solved(self, x: FloatArray, lower: Any, upper: Any, allowed: FloatArray) -> Solution:
        """The solution from x within bounds of the unknowns; shares are at most `allowed`, (limits,), in size."""
        most = np.concatenate([np.tile(allowed, self.points), np.ones(self.means)])
        return self.solver(x0=x, lbx=lower, ubx=upper, lbg=-most, ubg=most)


def degree_of(order: int) -> int:
    """Degree of the splines of q: odd, and the derivative `order` is continuous."""
    return order + 1 + order % 2


def graded_breaks(intervals: int) -> FloatArray:
    """Breaks of [0, 1] into even intervals, the first and the last of them halved GRADED times: there torques jump."""
    breaks = np.linspace(0.0, 1.0, intervals + 1)
    nearer = breaks[1] / 2.0 ** np.arange(1, GRADED + 1)
    return np.unique(np.concatenate([breaks, nearer, 1 - nearer]))


def comparison_points(breaks: FloatArray, points: int = POINTS) -> FloatArray:
    """Where limits are compared: at the breaks, where torques have kinks, and evenly between them."""
    inner = breaks[:-1, None] + np.diff(breaks)[:, None] * np.arange(points) / points
    return np.append(inner.ravel(), breaks[-1])


def integral_weights(u: FloatArray) -> FloatArray:
    """Weights of an integral over the comparison points, by the trapezoidal rule."""
    return np.convolve(np.diff(u) / 2, [1.0, 1.0])


def basis(knots: FloatArray, degree: int, u: FloatArray, order: int) -> list[Any]:
    """Sparse matrices from the coefficients of a B-spline to its values and derivatives at u."""
    from scipy.interpolate import BSpline

    piece = BSpline(knots, np.eye(len(knots) - degree - 1), degree)
    found = [ca.sparsify(ca.DM(piece(u)))]
    for _ in range(order):
        piece = piece.derivative()
        found.append(ca.sparsify(ca.DM(piece(u))))
    return found
