"""Alarms from residuals: thresholds with hysteresis, in the same kernel as the residual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import NOT_NUMBERS, InputError
from ..spatial import ca, sx
from .base import Measurement
from .residual import Status, split
from .timed import TimedObserver, Wrapped


@dataclass(frozen=True, eq=False, repr=False)
class Detector(Wrapped):
    """A residual, and an alarm for each of its numbers.

    An alarm begins where |r| has been above its threshold for `confirmation` seconds, and ends where |r| falls below
    `release` times that.  `thresholds` gives a finite number, or one an entry, for each channel that is watched; see
    `false_alarm_thresholds`.  While the residual is blind its alarms stay as they were, and `blind` grows.

    Outputs: those of the residual, and for each channel watched `<channel>_alarm`, 1 or 0.
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
        found = {x: levels(x, y, sizes[x], self.residual.idle.get(x)) for x, y in self.thresholds.items()}
        object.__setattr__(self, "thresholds", found)

    @property
    def inner(self) -> TimedObserver:
        return self.residual

    @cached_property
    def level(self) -> np.ndarray:
        return np.concatenate(list(self.thresholds.values()))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the residual's state, of the alarms, and of the times above their thresholds."""
        return self.residual.memory[0], len(self.level), len(self.level)

    @cached_property
    def outputs(self) -> dict[str, int]:
        return {**self.residual.outputs, **{f"{x}_alarm": len(y) for x, y in self.thresholds.items()}}

    def step(self, state: Any, h: Any, measurement: Measurement, torque: Any) -> tuple[Any, dict[str, Any]]:
        inner, alarm, above = split(state, self.sizes)
        after, found = self.residual.step(inner, h, measurement, torque)
        size, level = ca.fabs(ca.vertcat(*(found[x] for x in self.thresholds))), sx(self.level)
        fresh = found["status"] <= sx(Status.SATURATED)
        above = ca.if_else(fresh, ca.if_else(size > level, above + h, 0), above)
        high = ca.logic_and(size > level, above >= self.confirmation)
        raised = ca.if_else(high, 1, ca.if_else(size < self.release * level, 0, alarm))
        alarm = ca.if_else(fresh, raised, alarm)
        alarms = split(alarm, map(len, self.thresholds.values()))
        return ca.vertcat(after, alarm, above), {**found, **dict(zip((f"{x}_alarm" for x in self.thresholds), alarms))}


def levels(name: str, value: Any, size: int, idle: np.ndarray | None = None) -> np.ndarray:
    """Thresholds of a channel: positive and finite, but where the residual is zero by design."""
    try:
        found = np.broadcast_to(np.asarray(value, dtype=float), size)
    except NOT_NUMBERS:
        raise InputError(
            f"Detector: thresholds of '{name}' must be a number or {size} numbers, not {value!r}"
        ) from None
    if not np.all(found > 0):
        raise InputError(f"Detector: thresholds of '{name}' are {found.tolist()}; every number must be positive")
    watched = np.ones(size, dtype=bool) if idle is None else ~idle
    if not np.all(np.isfinite(found[watched])):
        raise InputError(
            f"Detector: thresholds of '{name}' are {found.tolist()}; with an infinite one nothing is ever detected: "
            "give finite numbers, or leave out the channel"
        )
    return found
