"""B-splines of any degree through waypoints  [DeBoor ch. 9, 13], at rest or periodic at the ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import duration as checked_duration, finite, frozen, increasing, rows, seconds, whole
from ..errors import FlexjointError, InputError, shown
from ..numerics import banded_solve, power, product, solve
from ..types import FloatArray
from .base import Trajectory, set_fields
from .kinds import MotionTable, kind

MAX_SMOOTHNESS = 15
ENDS = ("rest", "periodic")


class Curve(NamedTuple):
    """A B-spline over t/unit, with its derivatives; the unit keeps the size of their coefficients."""

    pieces: tuple[Any, ...]  # the spline and its derivatives, scipy.interpolate.BSpline
    unit: float

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        u = t / self.unit
        stack = np.zeros((order + 1, *t.shape, self.pieces[0].c.shape[1]))
        for k, piece in enumerate(self.pieces[: order + 1]):
            stack[k] = piece(u) / power(self.unit, k)
        return stack


def curve(spline: Any, unit: float) -> Curve:
    """A spline with all its derivatives, which are exactly zero where coefficients are equal, as at rest."""
    pieces = [spline]
    try:
        with np.errstate(over="ignore"):
            for _ in range(spline.k):
                pieces.append(pieces[-1].derivative())
    except ValueError:  # of SciPy, for differences that overflow
        raise InputError("the derivatives of a spline exceed the range of doubles: move its points apart") from None
    return Curve(tuple(pieces), unit)


@dataclass(frozen=True, eq=False, repr=False)
class Spline(Trajectory):
    """A spline through waypoints.

    In files: `{kind = "spline", points = [[...], ...], duration = 2}`, also times in place of duration, smoothness,
    degree and ends.

    Args:
        points: (m, n), waypoints, in rad or m; two or more, three or more if periodic.
        times: (m,), times of the points, increasing from 0, in s; or the duration, a number, which is divided in
            proportion to the distances between the points (chord length).
        smoothness: number of continuous derivatives, at most 15; 3 by default, as elastic joints need.
        ends: "rest", the default: the first `smoothness` derivatives vanish at both ends, and the robot rests before
            and after; or "periodic": the last point equals the first, and the motion repeats.
        degree: degree of the polynomials; by default the smallest odd number above `smoothness`; higher ones overshoot
            more.

    Raises:
        InputError: an argument has a wrong shape or size, or no spline passes through these points.

    Example:
        >>> import flexjoint as fj
        >>> motion = fj.trajectory.Spline(points=[[0.0, 0.0], [1.0, 0.5], [0.0, 1.0]], times=[0.0, 1.0, 2.0])
        >>> motion(1.0)[0].round(12).tolist()
        [1.0, 0.5]
    """

    points: FloatArray
    times: FloatArray
    smoothness: int = 3
    ends: str = "rest"
    degree: int = None  # type: ignore[assignment]
    n: int = field(init=False)
    duration: float = field(init=False)
    curve: Curve = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.ends not in ENDS:
            raise InputError(f"Spline: ends is {shown(self.ends)}; it must be one of {', '.join(ENDS)}")
        s = whole("Spline", "smoothness", self.smoothness, largest=MAX_SMOOTHNESS)
        p = whole("Spline", "degree", (s + 1) | 1 if self.degree is None else self.degree)
        most = 2 * s + 1 if self.ends == "rest" else MAX_SMOOTHNESS + 1
        if not s < p <= most:
            raise InputError(
                f"Spline: degree is {shown(p)}; with {s} continuous derivatives and ends={self.ends!r} it must be "
                f"from {s + 1} to {most}"
            )
        points = rows("Spline", "points", self.points, least=2 if self.ends == "rest" else 3)
        times = passing_times(points, self.times)
        unit = seconds("Spline", "the duration", float(times[-1])) / (len(times) - 1)
        make = (lambda u: resting(u, points, p, s)) if self.ends == "rest" else (lambda u: periodic(u, points, p))
        spline = solved("Spline", make, times / unit)
        set_fields(self, points=points, times=times, smoothness=s if self.ends == "rest" else p - 1, degree=p)
        set_fields(self, n=points.shape[1], duration=float(times[-1]), curve=curve(spline, unit))

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        if self.ends == "periodic":
            return self.curve.derivatives(np.mod(t, self.duration), order)
        stack = self.curve.derivatives(np.clip(t, 0.0, self.duration), order)
        stack[0, t <= 0.0], stack[0, t >= self.duration] = self.points[0], self.points[-1]
        stack[1:, (t < 0.0) | (t > self.duration)] = 0.0
        return stack

    def remedy(self, order: int) -> str:
        return f"give smoothness={order - 1} or more"


@kind("spline", positions=("points",), others=("times", "duration", "smoothness", "degree", "ends"))
def read(table: MotionTable) -> Trajectory:
    """The spline in a table of a file."""
    table.only_one("times", "duration")
    times = table.array("times", "a list of times") if "times" in table.data else np.array(table.number("duration"))
    ends, degree = table.choice("ends", ENDS, "rest"), table.data.get("degree")
    return Spline(table.rows("points"), times, table.smoothness(), ends, degree)  # type: ignore[arg-type]


def solved(owner: str, make: Callable[[FloatArray], Any], u: FloatArray) -> Any:
    """The spline that `make` returns for the times u, in mean steps.

    Raises:
        InputError: the equations are singular or their solution is not finite.
    """
    try:
        with np.errstate(all="ignore"):
            spline = make(u)
    except FlexjointError:
        raise
    except (ArithmeticError, RuntimeError, ValueError):  # singular equations
        spline = None
    if spline is None or not np.isfinite(spline.c).all():
        i = int(np.argmin(np.diff(u)))
        raise InputError(
            f"{owner}: no spline passes through these points: they are beyond the range of doubles, or too close in "
            f"time: the step from point {i + 1} to point {i + 2} is {u[i + 1] - u[i]:.3g} of the mean one"
        )
    return spline


def passing_times(points: FloatArray, times: ArrayLike) -> FloatArray:
    """Times of the points, (m,), given or by chord length."""
    if finite("Spline", "times", times).ndim == 0:
        with np.errstate(over="ignore", invalid="ignore"):
            chords = np.sqrt(np.sum(np.diff(points, axis=0) ** 2, axis=1))
        if not np.isfinite(chords).all():
            raise InputError("Spline: the distances between the points exceed the range of doubles; give `times`")
        if not np.all(chords > 0):
            i = int(np.argmin(chords))
            raise InputError(f"Spline: points {i} and {i + 1} are equal, so their distance gives no time; give `times`")
        passed = np.concatenate([[0.0], np.cumsum(chords)])
        return frozen(checked_duration("Spline", "times", times) * (passed / passed[-1]))
    times = increasing("Spline", "times", times, len(points))
    if times[0] != 0.0:
        raise InputError(f"Spline: times start at {times[0]}; a trajectory starts at 0")
    return times


def resting(u: FloatArray, points: FloatArray, p: int, s: int) -> Any:
    """The spline of degree p whose first s + 1 coefficients are the first point, and whose last s + 1 the last point.

    So s derivatives vanish at both ends.  This takes s − (p−1)//2 knots inside the first and the last segment.  The
    other knots are the points if p is odd, and the midpoints between them if p is even.  With two points and p = 2s + 1
    it is `RestToRest`.
    """
    from scipy.interpolate import BSpline

    if len(u) == 2:
        inner = [np.linspace(u[0], u[1], 2 * s + 3 - p)[1:-1]]
    else:
        crowd = np.arange(1, s - (p - 1) // 2 + 1) / (s - (p - 1) // 2 + 1)
        between = u[1:-1] if p % 2 else (u[1:-2] + u[2:-1]) / 2
        inner = [u[0] + (u[1] - u[0]) * crowd, between, u[-1] - (u[-1] - u[-2]) * crowd[::-1]]
    knots = np.concatenate([np.full(p + 1, u[0]), *inner, np.full(p + 1, u[-1])])
    c = np.zeros((len(knots) - p - 1, points.shape[1]))
    c[: s + 1], c[-s - 1 :] = points[0], points[-1]
    if len(u) > 2:
        A = BSpline.design_matrix(u[1:-1], knots, p).tocsc()
        c[s + 1 : -s - 1] = banded_solve(A[:, s + 1 : -s - 1], points[1:-1] - A @ c)
    return BSpline(knots, c, p)


def periodic(u: FloatArray, points: FloatArray, p: int) -> Any:
    """The periodic spline of degree p; its knots are the points if p is odd, otherwise the midpoints."""
    from scipy.interpolate import BSpline
    from scipy.sparse import coo_array

    if not np.array_equal(points[0], points[-1]):
        raise InputError(
            f"Spline: a periodic motion ends where it starts, at {points[0].tolist()}, not {points[-1].tolist()}"
        )
    inner = u if p % 2 else np.concatenate([u[:1], (u[:-2] + u[1:-1]) / 2, u[-1:]])
    m, period = len(u) - 1, u[-1] - u[0]
    turns, which = np.divmod(np.arange(-p, m + p + 1), m)
    knots = inner[which] + turns * period
    A = BSpline.design_matrix(u[:-1], knots, p).tocoo()
    places = A.row, (A.col - p // 2) % m  # coefficients repeat too; the shift puts the largest on the diagonal
    c = cyclic_solve(coo_array((A.data, places), shape=(m, m)).tocsr(), points[:-1], width=p)
    return BSpline(knots, c[(np.arange(m + p) - p // 2) % m], p)


def cyclic_solve(A: Any, b: FloatArray, width: int) -> FloatArray:
    """x with A x = b for a sparse A, banded except for its corners: its last rows and columns form a border."""
    inner = len(b) - width
    if inner <= 2 * width:
        return solve(A.toarray(), b)
    border = A[:inner, inner:].toarray()
    found = banded_solve(A[:inner, :inner], np.hstack([border, b[:inner]]))
    U, y, below = found[:, :width], found[:, width:], A[inner:, :inner]
    last = solve(A[inner:, inner:].toarray() - below @ U, b[inner:] - below @ y)
    return np.vstack([y - product(U, last), last])
