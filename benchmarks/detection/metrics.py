"""Delays, missed events, false alarms, and ROC curves of residuals over logs in which it is known what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .scenarios import AFTER, FAULTS, QUIET, STRUCK, Event

MARGIN, RELEASE = 1.2, 0.7  # of the largest residual where nothing happens, in logs of their own; of the threshold
PATIENCE = 0.15  # s after its end in which an event may still be detected
WINDOW = 0.2  # s of quiet that count as one chance of a false alarm


class Score(NamedTuple):
    """Of one method under one condition: seconds from an event to its alarm, by event; NaN if missed."""

    what: list[str]
    delays: np.ndarray
    false_alarms: int
    minutes: float
    at_events: np.ndarray  # largest |r|/threshold of each
    in_quiet: np.ndarray  # and of each window in which nothing happens


class Exactness(NamedTuple):
    """Of a residual that should be zero, root mean square and largest, Nm."""

    mean: float
    largest: float


def exactness(t: np.ndarray, residuals: Sequence[np.ndarray]) -> Exactness:
    """In the quiet parts of logs from perfect sensors."""
    quiet = np.concatenate([residual[t >= QUIET] for residual in residuals])
    return Exactness(float(np.sqrt((quiet**2).mean())), float(np.abs(quiet).max()))


def position_error(t: np.ndarray, errors: Sequence[np.ndarray]) -> float:
    """Root mean square error of estimated link positions while the links are struck, rad, over all joints."""
    struck = np.concatenate([x[(t >= STRUCK) & (t < FAULTS)] for x in errors])
    return float(np.sqrt((struck**2).mean()))


def thresholds(t: np.ndarray, residuals: Sequence[np.ndarray]) -> np.ndarray:
    """From the quiet parts of logs."""
    return MARGIN * np.max([np.abs(residual[t >= QUIET]).max(axis=0) for residual in residuals], axis=0)


def alarms(size: np.ndarray) -> np.ndarray:
    """On above 1, off below `RELEASE`."""
    edges = np.where(size > 1.0, 1, np.where(size < RELEASE, 0, -1))
    last = np.maximum.accumulate(np.where(edges >= 0, np.arange(len(size)), 0))
    return edges[last] > 0


def score(t: np.ndarray, residual: np.ndarray, level: np.ndarray, happened: Sequence[Event]) -> Score:
    size = (np.abs(residual) / level).max(axis=1)
    high = alarms(size)
    quiet = t > STRUCK - AFTER
    delays, peaks = [], []
    for event in happened:
        window = (t > event.begin) & (t <= event.end + PATIENCE)
        quiet &= ~((t > event.begin) & (t <= event.end + AFTER))
        first = np.flatnonzero(high & window)
        before = high[np.searchsorted(t, event.begin)]  # an alarm that is already on tells nothing
        delays.append(t[first[0]] - event.begin if first.size and not before else np.nan)
        peaks.append(size[window].max())
    onsets = np.flatnonzero(np.diff((high & quiet).astype(int)) > 0) + 1
    return Score(
        [event.what for event in happened],
        np.array(delays),
        int(np.count_nonzero(quiet[onsets - 1])),
        np.count_nonzero(quiet) * (t[1] - t[0]) / 60,
        np.array(peaks),
        windows(size, quiet, round(WINDOW / (t[1] - t[0]))),
    )


def windows(size: np.ndarray, quiet: np.ndarray, width: int) -> np.ndarray:
    """The largest size in each window of so many samples that is quiet throughout."""
    count = len(size) // width
    sizes, calm = (x[: count * width].reshape(count, width) for x in (size, quiet))
    return sizes.max(axis=1)[calm.all(axis=1)]


def joined(scores: Sequence[Score]) -> Score:
    """Of several logs."""
    return Score(
        [what for x in scores for what in x.what],
        np.concatenate([x.delays for x in scores]),
        sum(x.false_alarms for x in scores),
        sum(x.minutes for x in scores),
        np.concatenate([x.at_events for x in scores]),
        np.concatenate([x.in_quiet for x in scores]),
    )


def roc(found: Score) -> tuple[np.ndarray, np.ndarray]:
    """False alarms a window and detected events, of all, as the threshold falls."""
    levels = np.unique(np.concatenate([found.at_events, found.in_quiet]))[::-1]
    return tuple(np.array([(x >= level).mean() for level in levels]) for x in (found.in_quiet, found.at_events))  # type: ignore[return-value]


def area(found: Score) -> float:
    """Under the ROC curve: how often an event shows more than a quiet window does."""
    quiet = np.sort(found.in_quiet)
    below = np.searchsorted(quiet, found.at_events, "left") + np.searchsorted(quiet, found.at_events, "right")
    return float(below.mean() / 2 / len(quiet))
