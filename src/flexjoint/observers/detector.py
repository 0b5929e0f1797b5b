"""Alarms from residuals: thresholds with hysteresis, in the kernel of the residual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import positive_numbers
from ..errors import InputError
from ..spatial import ca, sx
from ..types import Expression, FloatArray
from .base import Measurement
from .residual import Status, split
from .timed import ObserverWrapper, StepResult, TimedObserver


@dataclass(frozen=True, eq=False, repr=False)
class Detector(ObserverWrapper):
    """A residual with an alarm per channel entry.

    An alarm begins when |r| has been above its threshold for `confirmation` seconds.  It ends when |r| falls below
    `release` times the threshold.  Without a new residual the alarms keep their values, and `blind` grows.

    Outputs: those of the residual, and `<channel>_alarm`, 1 or 0, per channel with a threshold.

    Args:
        residual: The residual to watch.
        thresholds: By channel, a positive number or one per entry, Nm or N; see `false_alarm_thresholds`.
        release: Share of the threshold, 0 to 1, below which an alarm ends; 0.7 by default.
        confirmation: Time above the threshold before an alarm, s; 0 by default.

    Raises:
        InputError: A channel does not exist, or a number is out of range.

    Example:
        >>> import flexjoint as fj
        >>> residual = fj.observers.JointTorqueResidual(fj.load("hua_3r"), 50.0, 50.0)
        >>> detector = fj.observers.Detector(residual, {"link": 1.0})
        >>> detector.outputs
        {'link': 3, 'motor': 3, 'status': 1, 'blind': 1, 'link_alarm': 3}
    """

    residual: TimedObserver
    thresholds: Mapping[str, Any]
    release: float = 0.7
    confirmation: float = 0.0

    def __post_init__(self) -> None:
        sizes = self.residual.channels
        if not self.thresholds:
            raise InputError(f"Detector: give thresholds for one or more of {', '.join(sizes)}")
        if unknown := set(self.thresholds) - set(sizes):
            raise InputError(f"Detector: there is no residual {sorted(unknown)}; there are {', '.join(sizes)}")
        if not 0 <= self.release <= 1:
            raise InputError(f"Detector: release is {self.release!r}; it must lie between 0 and 1")
        if not 0 <= self.confirmation < np.inf:
            raise InputError(f"Detector: confirmation is {self.confirmation!r}; it must be a time in s")
        zero = self.residual.always_zero
        found = {name: checked_thresholds(name, x, sizes[name], zero.get(name)) for name, x in self.thresholds.items()}
        object.__setattr__(self, "thresholds", found)

    @property
    def inner(self) -> TimedObserver:
        return self.residual

    @cached_property
    def level(self) -> FloatArray:
        """The thresholds of all channels in one array."""
        return np.concatenate(list(self.thresholds.values()))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the parts of the state: of the residual, the alarms, and the times above the thresholds."""
        count = sum(map(len, self.thresholds.values()))
        return self.residual.memory[0], count, count

    @cached_property
    def outputs(self) -> dict[str, int]:
        return {**self.residual.outputs, **{f"{x}_alarm": len(y) for x, y in self.thresholds.items()}}

    def step(self, state: Expression, h: Expression, measurement: Measurement, torque: Expression) -> StepResult:
        inner, alarm, above = split(state, self.sizes)
        after, found = self.residual.step(inner, h, measurement, torque)
        size, level = ca.fabs(ca.vertcat(*(found[x] for x in self.thresholds))), sx(self.level)
        updated = found["status"] <= sx(Status.SATURATED)
        above = ca.if_else(updated, ca.if_else(size > level, above + h, 0), above)
        high = ca.logic_and(size > level, above >= self.confirmation)
        raised = ca.if_else(high, 1, ca.if_else(size < self.release * level, 0, alarm))
        alarm = ca.if_else(updated, raised, alarm)
        alarms = split(alarm, map(len, self.thresholds.values()))
        return ca.vertcat(after, alarm, above), {**found, **dict(zip((f"{x}_alarm" for x in self.thresholds), alarms))}


def checked_thresholds(name: str, value: ArrayLike, size: int, zero: np.ndarray | None = None) -> FloatArray:
    """Thresholds (size,) of a channel: positive, and finite except where the residual is `zero` by design.

    There `false_alarm_thresholds` finds 0, because noise leaves the residual at 0; no alarm is what it means.
    """
    if zero is not None and isinstance(value, np.ndarray) and value.shape == zero.shape:
        value = np.where(zero & (value == 0), np.inf, value)
    found = positive_numbers("Detector", f"threshold of '{name}'", value, size, infinite=True)
    watched = np.ones(size, dtype=bool) if zero is None else ~zero
    if not np.all(np.isfinite(found[watched])):
        raise InputError(
            f"Detector: threshold of '{name}' is {found.tolist()}; with an infinite one nothing is ever detected: give "
            "finite numbers, or leave out the channel"
        )
    return found
