"""The posture of a redundant arm along a path: equations A(s) q = b(s) in place of the ones that the path does not
give.

A(s) are the self-motions found while the path was followed, b(s) their components of q, both as Chebyshev series of low
degree: smooth to every order, whatever the steps were.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...errors import InputError
from ...numerics import cos, power, product
from ...types import FloatArray
from ..base import Trajectory, set_fields
from ..rest_to_rest import RestToRest
from .continuation import Knot
from .path import CartesianPath
from .task import Task

NODES = 48
DEGREES = (2, 4, 6, 8, 12, 16, 24, 32)
DIRECTION_ERROR, POSITION_ERROR = 0.03, 0.003  # of the series: of unit vectors, and in rad or m


@dataclass(frozen=True, eq=False, repr=False)
class ChebyshevSeries(Trajectory):
    """Σ_k c_k T_k(2 s/duration − 1), with all derivatives.

    Args:
        coefficients: (degree + 1, columns).
        duration: largest s.
    """

    coefficients: FloatArray
    duration: float
    n: int = field(init=False)
    smoothness: float = field(init=False, default=math.inf)

    def __post_init__(self) -> None:
        set_fields(self, n=self.coefficients.shape[1])

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        x = 2.0 * (t / self.duration) - 1.0
        stack = np.zeros((order + 1, *t.shape, self.n))
        c = self.coefficients
        for k in range(min(order + 1, len(self.coefficients))):
            stack[k] = chebyshev(c, x) * power(2.0 / self.duration, k)
            c = derivative(c)
        return stack

    def remedy(self, order: int) -> str:
        return "nothing, all derivatives are continuous"


def chebyshev(c: FloatArray, x: FloatArray) -> FloatArray:
    """Σ c_k T_k(x), (*shape of x, columns), by Clenshaw's recurrence."""
    x = x[..., None]
    after, b = np.zeros(1), np.zeros(1)
    for row in c[:0:-1]:
        after, b = b, row + 2.0 * x * b - after
    return c[0] + x * b - after


def derivative(c: FloatArray) -> FloatArray:
    """Coefficients of the derivative: d_{k−1} = d_{k+1} + 2 k c_k, the first one halved."""
    d = np.zeros((len(c) + 1, c.shape[1]))
    for k in range(len(c) - 1, 0, -1):
        d[k - 1] = d[k + 1] + 2 * k * c[k]
    d[0] = d[0] / 2
    return d[: max(len(c) - 1, 1)]


def nodes(path: CartesianPath) -> tuple[FloatArray, FloatArray]:
    """Chebyshev nodes (NODES,) in [−1, 1], increasing, and their path parameters."""
    x = -cos(math.pi * (np.arange(NODES) + 0.5) / NODES)
    share = (x + 1.0) / 2.0
    if (law := resting_law(path)) is None:
        return x, share * path.length
    low, high = np.zeros(NODES), np.full(NODES, path.length)
    for _ in range(60):  # the law increases
        middle = (low + high) / 2
        below = law.derivatives(middle, 0)[0, :, 0] < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return x, (low + high) / 2


def resting_law(path: CartesianPath) -> Trajectory | None:
    """A law from 0 to 1 that rests where a timed path rests, at both ends."""
    if not path.timed:
        return None
    return RestToRest([0.0], [1.0], path.length, int(path.smoothness))  # type: ignore[arg-type]


def fitted_posture(task: Task, path: CartesianPath, knots: Sequence[Knot]) -> Trajectory:
    """[A(s), b(s)] of knots at the nodes and at both ends: a trajectory with redundancy · (joints + 1) columns.

    Raises:
        InputError: the self-motions change too fast for a series of degree 32.
    """
    x, s = nodes(path)
    at = {knot.s: knot for knot in knots}
    values = np.array([row_values(task, at[place]) for place in s.tolist()])
    A = values.reshape(NODES, task.redundancy, -1)
    k = np.arange(DEGREES[-1] + 1)[:, None]
    T = cos(k * (math.pi * (NODES - 0.5 - np.arange(NODES)) / NODES))  # T_k at the nodes
    c = product(T, values) * (2.0 / NODES)
    c[0] = c[0] / 2
    for degree in DEGREES:
        error = np.abs(chebyshev(c[: degree + 1], x).reshape(A.shape) - A)
        if np.max(error[..., :-1]) <= DIRECTION_ERROR and np.max(error[..., -1]) <= POSITION_ERROR:
            break
    else:
        raise InputError(
            "CartesianMotion: along this path the posture of the arm changes too often for one motion: divide the "
            "path, or give `hold` with joints that keep their positions"
        )
    c = through_ends(task, c[: degree + 1], knots[0], knots[-1])
    law = resting_law(path)
    return ChebyshevSeries(c, path.length) if law is None else ChebyshevSeries(c, 1.0).retimed(law)


def row_values(task: Task, knot: Knot) -> FloatArray:
    """[A, b = A q] of a knot, flat."""
    b = product(knot.free, knot.q[list(task.columns)])
    return np.column_stack([knot.free, b]).reshape(-1)


def through_ends(task: Task, c: FloatArray, first: Knot, last: Knot) -> FloatArray:
    """The series with b changed linearly, so that both ends are exact."""
    r, columns = task.redundancy, list(task.columns)
    gaps = []
    for x, knot in ((-1.0, first), (1.0, last)):
        rows = chebyshev(c, np.array(x)).reshape(r, -1)
        gaps.append(product(rows[:, :-1], knot.q[columns]) - rows[:, -1])
    changed = c.reshape(len(c), r, -1).copy()
    changed[0, :, -1] += (gaps[0] + gaps[1]) / 2
    changed[1, :, -1] += (gaps[1] - gaps[0]) / 2
    return changed.reshape(c.shape)
