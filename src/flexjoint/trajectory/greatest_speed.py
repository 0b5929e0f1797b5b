"""The greatest speed at which a motion meets all limits, between samples too.

At the speed found each share of a limit is extrapolated into every interval from both sides, by twice its slope there.
Intervals where it could exceed the limit are divided until none can: a smooth peak is concave, and lies below its
tangents.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import NonFiniteError
from ..types import FloatArray
from .limited_motion import LimitedMotion
from .limits import RMS, ROUNDING, Violation, mean_weights, violations_of
from .scaled_limits import Ratios, finite_columns, largest_by_monomials, mean_square, ratio_polynomials
from .speed_search import HIGHEST, RootSearch, by_subdivision

TIGHTER = 2e-10  # share by which limits are tightened, for what peaks between samples may add
PARTS = 8  # into which an interval with a possible peak is divided
NARROWEST = 1e-12  # relative to the duration: narrower intervals are not divided
ROUNDS = 60
MOST_NEW = 4000  # samples per round
FINER = 4  # the result is checked at so many times as many samples
NEAR = 3.0  # a scale of polynomials within this ratio of the result is accurate
TINY = np.finfo(float).tiny

Search: TypeAlias = Callable[[FloatArray, FloatArray, float], float | None]  # (times, stack, most) -> s


def static_violations(motion: LimitedMotion, t: FloatArray) -> list[Violation]:
    """Limits that a motion exceeds in the limit of no speed."""
    robot = motion.robot
    still = dataclasses.replace(motion, robot=robot.without_spring_damping()) if any(robot.damped) else motion
    return violations_of(robot, motion.limited, t, still.values(t, 0.0))


class Speed(NamedTuple):
    """The greatest feasible speed.

    Attributes:
        s: the speed; None if there is none, infinite if no limit bounds it.
        t: the samples that it was found with, those at peaks too.
    """

    s: float | None
    t: FloatArray


def greatest_speed(motion: LimitedMotion, t: FloatArray, most: float = math.inf) -> Speed:
    """The greatest feasible speed up to `most`.

    Args:
        motion: the motion with its limits.
        t: even times from start to end, (m,), m odd.
        most: in units of the given speed; infinite by default.
    """
    search: Search = joints_only
    if motion.has_drives:
        search = PolynomialSpeed(motion, t) if motion.is_polynomial else EvaluatedSpeed(motion, t)
    pool, stack, s = t, motion.stack(t), most
    offset = (t[1:, None] - np.diff(t)[:, None] * np.arange(1, FINER) / FINER).ravel()
    for _ in range(ROUNDS):
        found = search(pool, stack, min(s, largest_by_monomials(motion, stack, 1 - TIGHTER)))
        if found is None and isinstance(search, PolynomialSpeed) and not static_violations(motion, pool[: t.size]):
            search = EvaluatedSpeed(motion, t)  # slow motions are feasible: rounding has hidden a root
            continue
        if found is None or math.isinf(found) or any(motion.robot.damped):
            return Speed(found, np.sort(pool))
        s, new = found, hidden_peaks(motion, pool, stack, found)
        if not new.size:
            others = np.setdiff1d(offset, pool)
            new = others[np.any(np.abs(shares(motion, others, s)) > 1, axis=1)]
            if not new.size and isinstance(search, PolynomialSpeed) and is_beyond(motion, pool, s, stack):
                search = EvaluatedSpeed(motion, t)  # coefficients lost too many digits
                continue
            if not new.size:
                return Speed(s, np.sort(pool))
        pool = np.concatenate([pool, new])
        stack = np.concatenate([stack, motion.stack(new)], axis=1)
    raise NonFiniteError(
        f"peaks between {t.size} samples of the motion were not resolved after {ROUNDS} divisions; give more samples"
    )


def joints_only(pool: FloatArray, stack: FloatArray, most: float) -> float:
    """The search where no limit of a motor or spring counts."""
    return most


def shares(motion: LimitedMotion, t: FloatArray, s: float, stack: FloatArray | None = None) -> FloatArray:
    """Signed shares of all limits except means at times t, (m, columns), at speed s; NaN becomes infinite."""
    values = motion.values(t, s, stack)
    found = [np.zeros((t.size, 0))]
    for name, quantity in motion.limited.items():
        if name not in ("position", RMS):
            chosen = finite_columns(quantity)
            found.append(values[name][:, chosen] / np.maximum(quantity.upper[chosen], TINY))
    joined = np.concatenate(found, axis=1)
    return np.where(np.isnan(joined), math.inf, joined)


def is_beyond(motion: LimitedMotion, t: FloatArray, s: float, stack: FloatArray) -> bool:
    """Whether a share of a limit exceeds 1 by more than rounding."""
    return bool(np.any(np.abs(shares(motion, t, s, stack)) > 1 + ROUNDING))


def position_shares(motion: LimitedMotion, q: FloatArray) -> FloatArray:
    """How near positions (m, n) are to their limits, (m, columns): 1 at a limit, 0 far from it."""
    if "position" not in motion.limited:
        return np.zeros((len(q), 0))
    quantity = motion.limited["position"]
    lower, upper = quantity.lower, quantity.upper
    finite = np.isfinite(lower) & np.isfinite(upper)
    size = np.where(finite, np.maximum(np.where(finite, upper - lower, 1.0), TINY), 1.0)
    with np.errstate(invalid="ignore"):
        ends = np.concatenate([1 + (q - upper) / size, 1 + (lower - q) / size], axis=1)
    return np.maximum(ends, 0.0)


def with_peaks(motion: LimitedMotion, t: FloatArray) -> FloatArray:
    """Times t with those of peaks between them that may exceed a limit at the given speed, sorted."""
    pool, stack = t, motion.stack(t)
    for _ in range(ROUNDS if not any(motion.robot.damped) else 0):
        new = hidden_peaks(motion, pool, stack, 1.0, positions=True)
        if not new.size:
            break
        pool = np.concatenate([pool, new])
        stack = np.concatenate([stack, motion.stack(new)], axis=1)
    return np.sort(pool)


def hidden_peaks(
    motion: LimitedMotion, pool: FloatArray, stack: FloatArray, s: float, positions: bool = False
) -> FloatArray:
    """Times within those intervals in which a share of a limit could exceed 1, but does not at their ends."""
    order = np.argsort(pool)
    t, steps = pool[order], np.diff(pool[order])
    size = np.abs(shares(motion, t, s, stack[:, order]))
    if positions:
        size = np.concatenate([size, position_shares(motion, stack[0, order])], axis=1)
    hidden = (interval_bounds(size, steps) > 1 + ROUNDING / 2) & (np.maximum(size[:-1], size[1:]) <= 1 + ROUNDING)
    divided = np.any(hidden, axis=1) & (steps > NARROWEST * t[-1])
    starts, widths = t[:-1][divided], steps[divided]
    return (starts[:, None] + widths[:, None] * np.arange(1, PARTS) / PARTS).ravel()[:MOST_NEW]


def interval_bounds(size: FloatArray, steps: FloatArray) -> FloatArray:
    """What sizes (m, columns) may reach within the intervals, (m − 1, columns), by their slopes before and behind."""
    with np.errstate(invalid="ignore"):  # infinite shares are beyond their limits anyhow
        rise, none = np.diff(size, axis=0) / steps[:, None], np.zeros((1, size.shape[1]))
    before = np.maximum(np.concatenate([none, rise[:-1]]), 0) * steps[:, None]
    behind = np.maximum(np.concatenate([-rise[1:], none]), 0) * steps[:, None]
    return np.maximum(size[:-1] + 2 * before, size[1:] + 2 * behind)


class PolynomialSpeed:
    """Search by roots of polynomials in x = s/scale; the scale follows the result, so that digits are not lost."""

    def __init__(self, motion: LimitedMotion, t: FloatArray) -> None:
        self.motion, self.t = motion, t
        self.scale = 1.0
        self.parts: dict[str, Ratios] = {}
        self.search: RootSearch | None = None
        self.count = 0

    def __call__(self, pool: FloatArray, stack: FloatArray, most: float) -> float | None:
        for _ in range(20):
            self.extend(pool, stack)
            x = min(most / self.scale, HIGHEST)
            self.search = RootSearch(x) if self.search is None else self.search
            self.search.x = min(self.search.x, x)
            found = self.search.advance(self.groups())
            if found is None:
                return None
            s = found * self.scale
            if 1 / NEAR < found < NEAR:
                return min(s, most)
            if found >= HIGHEST and self.scale >= HIGHEST:
                return math.inf
            self.scale, self.count, self.search = s, 0, None
        return s

    def extend(self, pool: FloatArray, stack: FloatArray) -> None:
        """Add the polynomials of new samples."""
        if not self.count:
            self.parts = {}
        if pool.size > self.count:
            new = ratio_polynomials(self.motion, pool[self.count :], stack[:, self.count :], self.scale)
            for name, x in new.items():
                if name in self.parts:
                    joined = np.concatenate([self.parts[name].coefficients, x.coefficients], axis=1)
                    self.parts[name] = Ratios(joined)
                else:
                    self.parts[name] = x
        self.count = pool.size

    def groups(self) -> list[Ratios]:
        """All polynomials, relative to tightened limits."""
        found = []
        for name, x in self.parts.items():
            if name == RMS:
                even = Ratios(x.coefficients[:, : self.t.size])
                mean = mean_square(even, self.t)
                found.append(Ratios(mean.coefficients / (1 - TIGHTER) ** 2))
            else:
                found.append(Ratios(x.coefficients / (1 - TIGHTER)))
        return found


class EvaluatedSpeed:
    """Search by subdivision, with the quantities evaluated at every speed."""

    def __init__(self, motion: LimitedMotion, t: FloatArray) -> None:
        self.motion, self.t = motion, t

    def __call__(self, pool: FloatArray, stack: FloatArray, most: float) -> float | None:
        order = np.argsort(pool)
        even = np.flatnonzero(order < self.t.size)  # where the even samples stand
        known: dict[float, FloatArray] = {}

        def at(s: float) -> FloatArray:
            if s not in known:
                known[s] = self.shares(pool[order], stack[:, order], even, s)
            return known[s]

        top = most
        if math.isinf(most):
            top, beyond = 1.0, 0
            while beyond < 3:
                if top > HIGHEST:
                    return math.inf
                beyond = beyond + 1 if np.any(np.abs(at(top)) > 1) else 0
                top *= 2
        return by_subdivision(at, top)

    def shares(self, t: FloatArray, stack: FloatArray, even: NDArray[np.int64], s: float) -> FloatArray:
        """Signed shares of tightened limits, of means too; of damped springs with what peaks may add."""
        motion = self.motion
        if not s and any(motion.robot.damped):
            motion = dataclasses.replace(motion, robot=motion.robot.without_spring_damping())
        found = shares(motion, t, s, stack)
        if any(motion.robot.damped):
            bounds = interval_bounds(np.abs(found), np.diff(t))
            peak = np.maximum(np.concatenate([bounds, bounds[-1:]]), np.concatenate([bounds[:1], bounds]))
            found = np.copysign(peak, found)
        parts = [found.ravel() / (1 - TIGHTER)]
        if RMS in motion.limited:
            quantity = motion.limited[RMS]
            chosen = finite_columns(quantity)
            tau = motion.values(t, s, stack)["torque"][even][:, chosen] / np.maximum(quantity.upper[chosen], TINY)
            fine, coarse = (np.einsum("m,mi->i", mean_weights(self.t[::k]), tau[::k] ** 2) for k in (1, 2))
            parts.append(np.sqrt(fine + np.abs(fine - coarse)) / (1 - TIGHTER))
        return np.concatenate(parts)
