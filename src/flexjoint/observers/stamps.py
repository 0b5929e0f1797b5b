"""Which time stamps of a log can be trusted.

A clock may skip, be set back, or write a wrong stamp now and then.  The kept stamps are those of the longest increasing
series, in which a clock that is set back costs as much as RESTART samples: the method drops a stamp far ahead, late and
repeated ones, and starts a new series after the clock was set back.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..types import FloatArray

RESTART = 20  # samples: fewer that do not fit are dropped, more mean that the clock was set back


class Stamps(NamedTuple):
    """The classified stamps of a log with m samples.

    Args:
        kept: Whether each stamp can be trusted, bool (m,).
        clock_set: Whether the clock was set back between the kept stamp before and this one, bool (m,).
    """

    kept: np.ndarray
    clock_set: np.ndarray

    def elapsed(self, t: FloatArray) -> FloatArray:
        """Time (m,) in s since the last kept stamp; NaN where it is unknown.  `t` are the times (m,)."""
        last = self.last()
        with np.errstate(over="ignore", invalid="ignore"):
            h = t[1:] - np.where(last[:-1] < 0, np.nan, t[last[:-1]])
        # late and repeated samples have h <= 0 and are ignored; a stamp too far ahead has no usable time
        h = np.where(self.clock_set[1:] | ~(self.kept[1:] | (h <= 0)), np.nan, h)
        return np.concatenate([[np.nan], h])

    def last(self) -> np.ndarray:
        """Index (m,) of the latest kept stamp so far; -1 before the first."""
        return np.maximum.accumulate(np.where(self.kept, np.arange(self.kept.size), -1))


def classify_stamps(t: FloatArray) -> Stamps:
    """Which of the times (m,) of a log, in s, can be trusted."""
    finite = np.flatnonzero(np.isfinite(t))
    kept, clock_set = np.zeros(t.size, dtype=bool), np.zeros(t.size, dtype=bool)
    breaks = np.flatnonzero(np.diff(t[finite]) <= 0) + 1
    if not breaks.size:
        kept[finite] = True
        return Stamps(kept, clock_set)
    times, edges = t[finite].tolist(), [0, *breaks.tolist(), finite.size]
    before, restarted = np.arange(-1, finite.size - 1), np.zeros(finite.size, dtype=bool)
    # ends[i] is the earliest end of all series of a length that grows with i; the last entries are the longest series
    ends: list[float] = []
    last: list[int] = []
    for begin, end in pairwise(edges):
        k = begin
        while k < end and not (ends and times[k] > ends[-1]):
            i = bisect_left(ends, times[k])
            restart = i == 0 and len(ends) > RESTART
            before[k] = last[-1] if restart else last[i - 1] if i else -1
            restarted[k] = restart
            for j in range(2 if restart else i + 1) if i == 0 else (i,):
                if j == len(ends):
                    ends.append(times[k])
                    last.append(k)
                elif times[k] < ends[j]:
                    ends[j], last[j] = times[k], k
            k += 1
        if k < end:  # every later stamp of this run makes the series longer
            before[k] = last[-1]
            run = range(max(k, end - RESTART - 1), end)
            ends, last = [*ends, *times[run.start : end]], [*last, *run]
        ends, last = ends[-RESTART - 1 :], last[-RESTART - 1 :]
    k = last[-1]
    while k >= 0:
        kept[finite[k]], clock_set[finite[k]] = True, restarted[k]
        k = int(before[k])
    return Stamps(kept, clock_set)
