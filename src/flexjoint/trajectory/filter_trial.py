"""Torque error that a filter leaves of a recorded motion, cutoff by cutoff.

A filter S with a cutoff leaves noise, and removes motion.  Both are measured as torques τ of the robot, along the
filtered record y = S x:

    noise  τ(S(y + n)) − τ(S y),   n white noise of the level of the record
    bias   τ(S y) − τ(y),          less what noise alone makes of it

so they hold for every robot and any time stamps.  The cutoff is the first minimum of their sum, from high cutoffs down:
below the frequencies of the motion nothing is left that could be removed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.along import Motion, inverse_dynamics_along
from ..dynamics.drivetrain.stiffness_range import feasible_stiffness
from ..dynamics.inverse import needed_order
from ..dynamics.links import static_torque
from ..robot import Robot
from ..types import FloatArray
from .noise_level import NoiseLevel
from .samples import Samples

MOST = 4096  # samples of a record that are tried: those that move most
TRIED = 1024  # samples whose torque is computed without a filter
DRAWS = 3  # of noise, per cutoff
ENDS = 6  # samples at both ends that are not compared: splines are less accurate there
FADES = 3.0  # in 1/cutoff: from the ends of the record, where filtered derivatives fade
MARGIN = 0.25  # of the duration: at most so much is left out at each end
OCTAVE, STEP = 2.0, 2.0**0.25  # between cutoffs: in the first and the second search
HIGHEST = 0.25  # of the sampling rate: the highest cutoff
LOWEST = 2.0  # in 1/duration: the lowest
FIRST = 2.0  # times the lowest cutoff: there the size of the torques is measured
HOPELESS = 10.0  # times the torque of the motion: cutoffs that leave more noise are not tried
PAST = 4.0  # times the smallest error: the search has passed its minimum
LEAST = 0.01  # of the largest torque: errors of motors with less are compared with this


class FilterError(NamedTuple):
    """Root mean square of the torque error at a cutoff, per motor, in Nm or N.

    It holds away from the ends of the record, by at least 3/cutoff or a quarter of the record.

    Args:
        cutoff: the cutoff, in Hz.
        noise: (motors,), error from noise that passes the filter.
        bias: (motors,), error from motion that the filter removes.
        torque: (motors,), root mean square of the torque of the filtered motion.
    """

    cutoff: float
    noise: FloatArray
    bias: FloatArray
    torque: FloatArray

    @property
    def total(self) -> FloatArray:
        """(motors,), noise and bias together."""
        return np.sqrt(self.noise**2 + self.bias**2)


@dataclass(frozen=True, eq=False)
class FilterTrial:
    """A stretch of a record, filtered with one cutoff after another."""

    robot: Robot
    times: FloatArray
    positions: FloatArray
    order: int
    sigma: FloatArray
    stiffness: Any

    def torque(self, stack: FloatArray) -> FloatArray:
        """Motor torque of a motion given at the times of the samples, (m, motors)."""
        t = self.times - self.times[0]
        return inverse_dynamics_along(self.robot, lambda now, order: stack[: order + 1], t, self.stiffness).tau

    def splines(self, columns: FloatArray, cutoff: float | None) -> FloatArray:
        """[q, q', ...] of several records side by side, (order + 1, records, m, n)."""
        needed = max(needed_order(self.robot), 3 if any(self.robot.damped) else 0)
        t = self.times - self.times[0]
        found = Samples(self.times, columns, self.order, cutoff)(t, order=needed)
        return np.moveaxis(found.reshape(needed + 1, len(t), -1, self.robot.n), 2, 1)

    def noise(self, count: int) -> FloatArray:
        """Draws of noise, (m, count, n)."""
        return self.sigma * np.random.default_rng(0).normal(size=(len(self.times), count, self.robot.n))

    def without_filter(self) -> tuple[FloatArray, FloatArray]:
        """Root mean squares of the torque of noise alone, and of the record, without a filter, each (motors,)."""
        if len(self.times) > TRIED:
            short = liveliest(self.positions, TRIED)
            return replace(self, times=self.times[short], positions=self.positions[short]).without_filter()
        noisy = self.positions + self.noise(1)[:, 0]
        pair = self.splines(np.hstack([self.positions, noisy]), None)
        with np.errstate(all="ignore"):
            given = self.torque(pair[:, 0])[ENDS:-ENDS]
            return rms(self.torque(pair[:, 1])[ENDS:-ENDS] - given), rms(given)

    def error(self, cutoff: float) -> FilterError:
        """What a cutoff leaves of the noise, and removes of the motion."""
        t, n = self.times - self.times[0], self.robot.n
        edge = edge_of(cutoff, float(t[-1]))
        inner = (t >= edge) & (t <= t[-1] - edge)
        once = self.splines(self.positions, cutoff)[:, 0]
        y = once[0]
        drawn = (y[:, None] + self.noise(DRAWS)).reshape(len(t), -1)
        twice = self.splines(np.hstack([y, drawn]), cutoff)
        again = self.splines(np.moveaxis(twice[0], 0, 1).reshape(len(t), (DRAWS + 1) * n), cutoff)
        tau = [self.torque(twice[:, k])[inner] for k in range(DRAWS + 1)]
        removed = [self.torque(again[:, k])[inner] - tau[k] for k in range(DRAWS + 1)]
        first = self.torque(once)[inner]
        noise = np.mean([rms(x - tau[0]) ** 2 for x in tau[1:]], axis=0)
        by_noise = np.mean([rms(x - removed[0]) ** 2 for x in removed[1:]], axis=0)
        with np.errstate(invalid="ignore"):
            bias = np.nan_to_num(np.maximum(rms(tau[0] - first) ** 2 - by_noise, 0.0), nan=math.inf)
        return FilterError(cutoff, np.sqrt(noise), np.sqrt(bias), rms(first))

    def search(self, unfiltered: FloatArray) -> tuple[FilterError, ...]:
        """Errors of cutoffs from high to low: by octaves, then closer around the smallest.

        The torque of noise grows with cutoff^(order + 1/2) up to the unfiltered one: this tells where to begin.
        """
        duration = float(self.times[-1] - self.times[0])
        rate, lowest = (len(self.times) - 1) / duration, LOWEST / duration
        known = np.where(np.isfinite(unfiltered), unfiltered, 0.0)  # infinite: beyond the reach of springs
        with np.errstate(all="ignore"):
            hopeless = float(np.max(known / scale(self.error(FIRST * lowest).torque))) / HOPELESS
        start = max(hopeless, 1.0) ** (-1.0 / (needed_order(self.robot) + 0.5))
        highest = max(min(HIGHEST, start) * rate, FIRST * lowest)
        octaves = math.floor(math.log(highest / lowest, OCTAVE))
        found = [self.error(two_digits(highest / OCTAVE**k)) for k in range(octaves + 1)]
        centre = smallest(found).cutoff
        for k in (-3, -2, -1, 1, 2, 3):
            cutoff = two_digits(centre * STEP**k)
            if lowest <= cutoff <= highest and cutoff not in [x.cutoff for x in found]:
                found.append(self.error(cutoff))
        return tuple(sorted(found, key=lambda x: -x.cutoff))


def smallest(trials: Sequence[FilterError]) -> FilterError:
    """The first minimum of the errors from high cutoffs down, relative to the torques of all motors."""
    ordered = sorted(trials, key=lambda x: -x.cutoff)
    size = scale(np.min([x.torque for x in ordered], axis=0))
    with np.errstate(all="ignore"):
        errors = [float(rms(x.total / size)) for x in ordered]
    best = 0
    for k, error in enumerate(errors):
        if error < errors[best]:
            best = k
        elif error > PAST * errors[best]:
            break
    return ordered[best]


def scale(torque: FloatArray) -> FloatArray:
    """Torques with which errors are compared, (motors,): not below a share of the largest."""
    return np.maximum(torque, max(LEAST * float(torque.max()), 1e-300))


def rms(x: FloatArray) -> FloatArray:
    """Root mean square along the first axis; infinite where a torque is beyond the reach of a spring."""
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.sqrt(np.mean(np.square(x), axis=0)), nan=math.inf)


def two_digits(x: float) -> float:
    """A number with two significant digits: the same on every processor."""
    return float(f"{x:.1e}")


def liveliest(positions: FloatArray, most: int) -> np.ndarray:
    """Indices of at most so many samples in a row, those that move most."""
    m = len(positions)
    if m <= most:
        return np.arange(m)
    apart = max(1, most // 32)
    span = np.ptp(positions, axis=0)
    moved = np.abs(positions[apart:] - positions[:-apart]) / np.where(span > 0, span, 1.0)
    passed = np.concatenate([[0.0], np.cumsum(np.sum(moved, axis=1))])
    ends = np.minimum(np.arange(m - most + 1) + most, len(passed) - 1)
    first = int(np.argmax(passed[ends] - passed[: m - most + 1]))
    return np.arange(first, first + most)


def filter_trial(robot: Robot, record: Samples, level: NoiseLevel, stiffness: Motion | ArrayLike | None) -> FilterTrial:
    """The stretch of a record that moves most, without outliers."""
    if stiffness is None and any(robot.variable_stiffness):
        stiffness = middle_stiffness(robot, record.positions[0])
    kept = np.setdiff1d(np.arange(len(record.times)), [x.sample for x in level.outliers])
    kept = kept[liveliest(record.positions[kept], MOST)]
    return FilterTrial(robot, record.times[kept], record.positions[kept], record.order, level.sigma, stiffness)


def edge_of(cutoff: float, duration: float) -> float:
    """Time from both ends of a record within which filtered derivatives fade, in s."""
    return min(FADES / cutoff, MARGIN * duration)


def middle_stiffness(robot: Robot, q: FloatArray) -> FloatArray:
    """Stiffness of all joints in the middle of what is feasible at rest, (n,), in Nm/rad or N/m."""
    lower, upper = (np.nan_to_num(x) for x in feasible_stiffness(robot, static_torque(robot, q)))
    return np.where(np.isfinite(upper), np.sqrt(lower * upper), 2.0 * lower)
