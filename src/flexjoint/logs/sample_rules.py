"""Samples that are lost or at wrong times, and columns that never change."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import listed
from ..findings import Finding, Level
from ..observers.stamps import classify_stamps
from ..types import FloatArray
from .log import Log
from .quantities import labels
from .sampling import GAP

MANY = 0.05  # share of lost samples that is worth a warning
IRREGULAR = 0.2  # of the median period: spread of the steps
HELD = ("q", "v", "theta", "theta_v", "tau_e")  # quantities that change at every sample; motor torques may be held
LEAST_CHANGES, REGULAR = 50, 0.9  # share of changes that come in step with a slower clock
STILL = 1e-4  # rad or m: a joint whose position changes by less does not move


def sample_findings(log: Log) -> Iterator[Finding]:
    """Lost samples, stamps out of order, gaps, joints that stand still and torques that never change."""
    yield from lost_findings(log)
    yield from stamp_findings(log)
    yield from constant_findings(log)


def lost_findings(log: Log) -> Iterator[Finding]:
    """Columns with NaN, with stamps of their own, and with repeated numbers, by quantity."""
    if log.interpolated:
        others = [name for name in (*log.known, *log.commands) if name not in (*log.interpolated, *log.differenced)]
        reason = f"{listed(log.interpolated)} had other stamps than {listed(others)} and were interpolated to these"
        yield Finding("note", "samples", "", reason, "if their clocks differ, see the delays")
    for name in (*log.known, *log.commands):
        if name in log.differenced:
            continue
        x, names = getattr(log, name), labels(log.robot, name)
        lost = np.count_nonzero(~np.isfinite(x), axis=0)
        if empty := [label for label, count in zip(names, lost) if count == len(x)]:
            fix = f"log it, or leave out the columns of {name} altogether"
            yield Finding("error", "samples", empty[0], f"{name} of {listed(empty)} has no finite number", fix)
        elif lost.any():
            i, share = int(np.argmax(lost)), lost.max() / len(x)
            reason = f"{name} has lost samples (NaN or empty), most at {names[i]}: {lost[i]} of {len(x)}"
            yield Finding("warning" if share > MANY else "note", "samples", names[i], reason)
        if (every := repeats(x)) > 1 and name in HELD:
            ms = 1e3 * every * log.period
            reason = f"{name} has new numbers at every {every}th sample only: it is sampled at {1e3 / ms:.4g} Hz"
            fix = f"keep every {every}th sample of the log; repeated numbers are {ms / 2:.3g} ms late on average"
            yield Finding("warning", "samples", names[0], reason, fix)


def repeats(x: FloatArray) -> int:
    """Every how many samples the rows of x (m, k) change if they do so in step with a slower clock; otherwise 1."""
    changes = np.flatnonzero(np.any(x[1:] != x[:-1], axis=1))
    if changes.size < LEAST_CHANGES:
        return 1
    runs = np.diff(changes)
    every = int(np.median(runs))
    in_step = np.mean((changes - changes[changes.size // 2]) % every == 0)
    return every if in_step > REGULAR else 1


def stamp_findings(log: Log) -> Iterator[Finding]:
    """Stamps that repeat or go back, gaps, and irregular periods."""
    stamps, period = classify_stamps(log.t), log.period
    wrong, back = int(np.count_nonzero(~stamps.kept)), int(np.count_nonzero(stamps.clock_set))
    if wrong:
        share = wrong / log.t.size
        reason = f"{wrong} of {log.t.size} time stamps repeat, go back or are not finite; these samples are left out"
        yield Finding("warning" if share > MANY else "note", "stamps", "", reason)
    if back:
        yield Finding("warning", "stamps", "", f"the clock was set back {back} times", "cut the log there")
    t = log.t[stamps.kept]
    steps = np.where(stamps.clock_set[stamps.kept][1:], period, np.diff(t))
    gaps = np.flatnonzero(steps > GAP * period)
    if gaps.size:
        k = int(gaps[np.argmax(steps[gaps])])
        reason = f"{gaps.size} gaps; the longest is {steps[k]:.3g} s at {t[k]:.4g} s, with samples {period:.3g} s apart"
        yield Finding("warning", "stamps", "", reason, "what needs derivatives uses the parts between them")
    usual = steps[steps <= GAP * period]
    if usual.size and np.std(usual) > IRREGULAR * period:
        reason = f"samples are {period:.3g} s apart with a deviation of {np.std(usual):.2g} s"
        yield Finding("note", "stamps", "", reason)


def constant_findings(log: Log) -> Iterator[Finding]:
    """Joints that stand still, and torques that never change while their joint moves."""
    name = "q" if log.q is not None else "theta" if log.theta is not None else None
    if name is None:
        yield Finding("error", "motion", "", "the log has neither q nor theta", "log positions of joints or motors")
        return
    x, names = getattr(log, name), labels(log.robot, name)
    spans = np.array([np.ptp(y[np.isfinite(y)]) if np.isfinite(y).any() else 0.0 for y in x.T])
    still = [label for label, span in zip(names, spans) if span < STILL]
    if len(still) == len(names):
        fix = "check that these are the measured positions of a robot that moves"
        yield Finding("error", "motion", "", f"no joint moves: {name} is constant at {listed(still)}", fix)
    elif still:
        fix = "nothing but their gravity torque can be learnt from this log"
        yield Finding("warning", "motion", still[0], f"{listed(still)} stand still", fix)
    for torque in ("tau", "tau_e"):
        values = getattr(log, torque)
        if values is None:
            continue
        same = [np.ptp(y[np.isfinite(y)]) == 0.0 if np.isfinite(y).any() else False for y in values.T]
        stuck = [
            label
            for i, label in enumerate(labels(log.robot, torque))
            if same[i] and (i >= spans.size or spans[i] >= STILL)
        ]
        if stuck:
            level: Level = "error" if all(same) else "warning"
            reason = f"{torque} of {listed(stuck)} never changes, though the joints move"
            yield Finding(level, "motion", stuck[0], reason, f"check what the columns of {torque} hold")
