"""B-splines through waypoints  [DeBoor ch. 9, 13]: any degree, at rest or periodic at the ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..checks import duration as checked_duration, finite, frozen, increasing, rows, seconds, whole
from ..errors import FlexjointError, InputError, shown
from ..numerics import banded_solve, power, product, solve
from .base import Trajectory, set_fields

MAX_SMOOTHNESS = 15
ENDS = ("rest", "periodic")


class Curve(NamedTuple):
    """A B-spline over time measured in `unit` seconds, so that coefficients of derivatives keep their size."""

    pieces: tuple[Any, ...]  # the spline and its derivatives, scipy.interpolate.BSpline
    unit: float

    def derivatives(self, t: np.ndarray, order: int) -> np.ndarray:
        u = t / self.unit
        stack = np.zeros((order + 1, *t.shape, self.pieces[0].c.shape[1]))
        for k, piece in enumerate(self.pieces[: order + 1]):
            stack[k] = piece(u) / power(self.unit, k)
        return stack


def curve(spline: Any, unit: float) -> Curve:
    """Derivatives are made of differences of coefficients: where those are equal, as at rest, exact zeros."""
    pieces = [spline]
    for _ in range(spline.k):
        pieces.append(pieces[-1].derivative())
    return Curve(tuple(pieces), unit)


@dataclass(frozen=True, eq=False)
class Spline(Trajectory):
    """A spline through `points`, (m, n), with `smoothness` continuous derivatives.

    `times` are those of the points, (m,), from 0; or one number, the duration, in which the points are passed at times
    proportional to the distances between them (chord length).  With `ends="rest"` the first `smoothness` derivatives
    vanish at both ends, before and after which it rests; with "periodic" the last point equals the first and the motion
    repeats itself.  `degree` is by default the least odd number beyond `smoothness`: higher ones overshoot more.
    """

    points: np.ndarray
    times: np.ndarray
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

    def derivatives(self, t: np.ndarray, order: int) -> np.ndarray:
        if self.ends == "periodic":
            return self.curve.derivatives(np.mod(t, self.duration), order)
        stack = self.curve.derivatives(np.clip(t, 0.0, self.duration), order)
        stack[0, t <= 0.0], stack[0, t >= self.duration] = self.points[0], self.points[-1]
        stack[1:, (t < 0.0) | (t > self.duration)] = 0.0
        return stack

    def remedy(self, order: int) -> str:
        return f"give smoothness={order - 1} or more"


def solved(owner: str, make: Callable[[np.ndarray], Any], u: np.ndarray) -> Any:
    """A spline through samples at the times u, in mean steps; refused where no numbers can hold it."""
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


def passing_times(points: np.ndarray, times: Any) -> np.ndarray:
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
        raise InputError(f"Spline: times begin at {times[0]}; a trajectory begins at 0")
    return times


def resting(u: np.ndarray, points: np.ndarray, p: int, s: int) -> Any:
    """The spline of degree p whose first s + 1 coefficients are the first point, and whose last the last one.

    So s derivatives vanish at either end.  This takes s − (p−1)//2 knots inside the first and the last segment;
    otherwise the points are knots where p is odd, and the middles between them where p is even.  With two points and
    p = 2s + 1 it is `RestToRest`.
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


def periodic(u: np.ndarray, points: np.ndarray, p: int) -> Any:
    """The spline of degree p that repeats itself; its knots are the points if p is odd, and between them if even."""
    from scipy.interpolate import BSpline
    from scipy.sparse import coo_array

    if not np.array_equal(points[0], points[-1]):
        raise InputError(
            f"Spline: a periodic motion ends where it begins, at {points[0].tolist()}, not {points[-1].tolist()}"
        )
    inner = u if p % 2 else np.concatenate([u[:1], (u[:-2] + u[1:-1]) / 2, u[-1:]])
    m, period = len(u) - 1, u[-1] - u[0]
    turns, which = np.divmod(np.arange(-p, m + p + 1), m)
    knots = inner[which] + turns * period
    A = BSpline.design_matrix(u[:-1], knots, p).tocoo()
    places = A.row, (A.col - p // 2) % m  # coefficients repeat themselves too; the greatest ones lie on the diagonal
    c = cyclic_solve(coo_array((A.data, places), shape=(m, m)).tocsr(), points[:-1], width=p)
    return BSpline(knots, c[(np.arange(m + p) - p // 2) % m], p)


def cyclic_solve(A: Any, b: np.ndarray, width: int) -> np.ndarray:
    """x with A x = b, A sparse and banded but for its corners: its last rows and columns are a border."""
    inner = len(b) - width
    if inner <= 2 * width:
        return solve(A.toarray(), b)
    border = A[:inner, inner:].toarray()
    found = banded_solve(A[:inner, :inner], np.hstack([border, b[:inner]]))
    U, y, below = found[:, :width], found[:, width:], A[inner:, :inner]
    last = solve(A[inner:, inner:].toarray() - below @ U, b[inner:] - below @ y)
    return np.vstack([y - product(U, last), last])
