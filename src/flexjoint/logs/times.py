"""Plausibility of the times of a log that have no unit and are therefore taken as seconds.

With positions and velocities in the log, the integral of the velocity must match the change of the position; if it is
a thousand times as large, the times are milliseconds.  Otherwise a sampling period between SHORTEST and LONGEST is
accepted, and any other is refused with a question.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..formats.columns import SECONDS
from ..types import FloatArray

if TYPE_CHECKING:
    from .log import Log

LONGEST, SHORTEST = 0.25, 1e-5  # s between samples
LEAST_SAMPLES = 10  # with fewer nothing is checked
SPAN = 50  # samples over which velocities are integrated, so that noise averages out
UNITS = ("ms", "us", "ns")
MOST_SAMPLES = 100_000  # that are checked
ALIKE = 0.9  # correlation above which the ratio of both is trusted
REPEATED, BACK = 0.5, 0.1  # shares of stamps that repeat while positions change, or go back


def check_stamps(t: FloatArray, arrays: Mapping[str, FloatArray], place: str, header: str) -> None:
    """Raise InputError if stamps have too few digits, or if the samples are not in the order of time.

    Args:
        t: Times, (m,).
        arrays: Quantities by name, (m, joints or motors).
        place: Name of the file, for messages.
        header: Header of the time.
    """
    steps = np.diff(t)
    x = next((arrays[name] for name in ("q", "theta") if name in arrays), None)
    changed = np.any(x[1:] != x[:-1], axis=1) if x is not None else np.ones(steps.size, dtype=bool)
    if np.count_nonzero((steps == 0) & changed) > REPEATED * steps.size:
        raise InputError(
            f"{place}: '{header[:80]}' has {np.unique(t).size} different times in {t.size} samples, so it was written "
            "with too few digits, or as single-precision numbers; write it with more, or from 0 on"
        )
    if t.size >= LEAST_SAMPLES and np.count_nonzero(steps < 0) > BACK * steps.size:
        raise InputError(
            f"{place}: '{header[:80]}' goes back {np.count_nonzero(steps < 0)} times in {t.size} samples; sort the "
            "samples by time"
        )


def check_times(log: Log, place: str, header: str) -> None:
    """Raise InputError if the times of a log can hardly be seconds."""
    if log.t.size < LEAST_SAMPLES:
        return
    period, ratio = log.period, position_ratio(log)
    if ratio is not None and 0.03 < ratio < 30:
        return
    unit = next((x for x in UNITS if ratio is not None and 0.3 < ratio / SECONDS[x] < 3), None)
    if unit is not None:
        why = f"positions change by {ratio:.2g} times the integral of the velocities"
    elif SHORTEST <= period <= LONGEST:
        return
    else:
        unit = next((x for x in UNITS if 2e-5 < period * SECONDS[x] < 0.2), None)
        why = "robots are sampled more often" if period > LONGEST else "robots are not sampled that often"
    name, guess = header[:80], unit or "ms"
    remedy = f"'{name} [{unit}]'" if unit else f"such as '{name} [ms]'"
    raise InputError(
        f"{place}: '{name}' has no unit, and in seconds its samples are {period:g} s apart; {why}. Write the unit "
        f"behind the name, {remedy}, or say --time-unit {guess} (in Python time_unit='{guess}'), or s if it is seconds"
    )


def position_ratio(log: Log) -> float | None:
    """Change of the positions divided by the integral of the velocities; None if the log does not tell."""
    for position, rate in (("q", "v"), ("theta", "theta_v")):
        x, v = getattr(log, position), getattr(log, rate)
        if x is None or v is None or rate in log.differenced:
            continue
        x, v, h = x[:MOST_SAMPLES], v[:MOST_SAMPLES], np.diff(log.t[:MOST_SAMPLES])[:, None]
        with np.errstate(invalid="ignore", over="ignore"):
            step = np.where((h > 0) & (h < 100 * log.period), h * (v[1:] + v[:-1]) / 2, np.nan)
        span = max(1, min(SPAN, len(x) // 4))
        added = np.cumsum(np.nan_to_num(step, nan=0.0, posinf=0.0, neginf=0.0), axis=0)
        lost = np.cumsum(~np.isfinite(step), axis=0)
        expected = (added[span:] - added[:-span]).ravel()
        found = (x[1 + span :] - x[1:-span]).ravel()
        whole = (lost[span:] == lost[:-span]).ravel() & np.isfinite(found) & np.isfinite(expected)
        expected, found = expected[whole], found[whole]
        for y in (expected, found):  # so that no single sample decides
            if y.size:
                y.clip(-20 * np.mean(np.abs(y)), 20 * np.mean(np.abs(y)), out=y)
        squares = np.sum(expected * expected), np.sum(found * found)
        product = np.sum(expected * found)
        if min(squares) > 0 and product > ALIKE * np.sqrt(squares[0] * squares[1]):
            return float(product / squares[0])
    return None
