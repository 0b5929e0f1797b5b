"""Which time stamps of a log can be trusted.

A clock may skip, be set back, or write nonsense now and then.  The stamps kept are those of the longest series that
rises, where a step back that lasts costs as much as RESTART samples: a stamp far ahead is dropped, late and repeated
ones are, and after a clock was set back the series begins anew.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import NamedTuple

import numpy as np

RESTART = 20  # samples: fewer that do not fit are dropped, more are a clock that was set


class Stamps(NamedTuple):
    """Of times (m,): whether each is kept, and whether the clock was set between the one kept before and this one."""

    kept: np.ndarray
    anew: np.ndarray

    def elapsed(self, t: np.ndarray) -> np.ndarray:
        """Seconds since the last stamp that was kept; NaN where that is unknown."""
        last = self.last()
        with np.errstate(over="ignore", invalid="ignore"):
            h = t[1:] - np.where(last[:-1] < 0, np.nan, t[last[:-1]])
        # late and repeated samples have h <= 0 and are ignored; a stamp ahead of its time says nothing
        h = np.where(self.anew[1:] | ~(self.kept[1:] | (h <= 0)), np.nan, h)
        return np.concatenate([[np.nan], h])

    def last(self) -> np.ndarray:
        """The index of the latest stamp kept so far, -1 before the first."""
        return np.maximum.accumulate(np.where(self.kept, np.arange(self.kept.size), -1))


def judged_stamps(t: np.ndarray) -> Stamps:
    """Judge the times (m,) of a log."""
    finite = np.flatnonzero(np.isfinite(t))
    kept, anew = np.zeros(t.size, dtype=bool), np.zeros(t.size, dtype=bool)
    breaks = np.flatnonzero(np.diff(t[finite]) <= 0) + 1
    if not breaks.size:
        kept[finite] = True
        return Stamps(kept, anew)
    times, edges = t[finite].tolist(), [0, *breaks.tolist(), finite.size]
    before, restarted = np.arange(-1, finite.size - 1), np.zeros(finite.size, dtype=bool)
    # ends[i] is the earliest end of all series of a length, one more for each i; the last are the longest so far
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
        if k < end:  # all later ones of this run are longer yet
            before[k] = last[-1]
            run = range(max(k, end - RESTART - 1), end)
            ends, last = [*ends, *times[run.start : end]], [*last, *run]
        ends, last = ends[-RESTART - 1 :], last[-RESTART - 1 :]
    k = last[-1]
    while k >= 0:
        kept[finite[k]], anew[finite[k]] = True, restarted[k]
        k = int(before[k])
    return Stamps(kept, anew)
