"""Where a sampled loop with free parameters stays stable, at rest.

One period of robot, hold and controller is a kernel of its own with the same free parameters.  The eigenvalues of its
differences say whether deviations grow; the kernel is evaluated again for other numbers, never compiled again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..control.base import JointState
from ..control.sampling import first_failure
from ..errors import InputError
from ..simulation.closed_loop import ClosedLoop
from ..simulation.loop_kernel import Blocking
from ..simulation.stability import (
    ROUNDING,
    OperatingPoint,
    by_differences,
    by_symbols,
    growth,
)
from ..simulation.step_limit import leaves, step_limits
from ..types import FloatArray

ONE_PERIOD = Blocking(1, math.inf)
POINTS = 24  # of a range at which stability is looked at
HALVINGS = 12  # of the search for the end of a stable range
EXACT = 128  # steps of the integrator per period
LONGEST = 100  # periods: how far a stable period is looked for
LONGER = 64  # times a step: how far a stable one is looked for


def growth_of(loop: ClosedLoop, point: OperatingPoint) -> tuple[float, int]:
    """Growth rate of deviations, 1/s, and the joint that grows most; infinite where the map is not finite."""
    J = by_differences(loop, ONE_PERIOD, point)
    if not np.all(np.isfinite(J)):
        return math.inf, 0
    return growth(J, loop.period, loop.robot.n)


def longest_step(loop: ClosedLoop, free: Sequence[FloatArray], pose: JointState) -> float:
    """The longest stable step of the integrator, s, for values of the free parameters, at a pose."""
    h = loop.period / loop.substeps
    coarse = replace(loop, period=LONGER * h, substeps=1, contact=None)
    by_path = leaves(loop, loop.free, free)
    poses = JointState(*(np.asarray(x)[None] for x in pose))
    return float(step_limits(coarse, [*by_path], np.array([[*by_path.values()]]), poses).longest[0])


def longest_period(loop: ClosedLoop, point: OperatingPoint) -> float:
    """The longest period of the controller, s, with which the loop is stable; NaN if none is found.

    `loop` has the robot with its numbers, without free parameters.  The steps of the integrator are so short that they
    do not count.
    """
    slopes_at, n = by_symbols(replace(loop, substeps=EXACT), None, point), loop.robot.n
    try:
        return first_failure(
            lambda h: growth(slopes_at(h), h, n)[0] <= ROUNDING, 1e-2 * loop.period, LONGEST * loop.period
        )
    except (InputError, np.linalg.LinAlgError):
        return math.nan


def stable_range(stable: Callable[[float], bool], low: float, high: float, now: float) -> tuple[float, float]:
    """The stable interval around `now` within [low, high]; NaN if `now` is unstable."""
    if not stable(now):
        return math.nan, math.nan
    return edge(stable, now, low), edge(stable, now, high)


def edge(stable: Callable[[float], bool], now: float, end: float) -> float:
    """The last stable number from `now` towards an end."""
    good = now
    for x in np.linspace(now, end, POINTS)[1:].tolist():
        if not stable(x):
            bad = x
            break
        good = x
    else:
        return end
    for _ in range(HALVINGS):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if stable(middle) else (good, middle)
    return good
