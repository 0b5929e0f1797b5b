"""The rate of a measured quantity by a first-order filter: the one differentiation that [EJNEA sec. II-B] asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..checks import positive
from ..numerics import exp


class DerivativeState(NamedTuple):
    """The last measurement and the rate found with it."""

    measurement: Any
    rate: Any


@dataclass(frozen=True)
class FilteredDerivative:
    """s/(1 + s/cutoff), sampled every `period` seconds; `cutoff` in rad/s.

    Exact for measurements that run straight between samples.  A rate that changes steadily is followed 1/cutoff seconds
    late.
    """

    period: float
    cutoff: float

    def __post_init__(self) -> None:
        for name in ("period", "cutoff"):
            positive("FilteredDerivative", name, getattr(self, name))

    @property
    def memory(self) -> float:
        """What is left of a rate after one period."""
        return exp(-self.cutoff * self.period)

    def start(self, measurement: Any, rate: Any = 0.0) -> DerivativeState:
        x = np.asarray(measurement, dtype=float)
        return DerivativeState(x, np.broadcast_to(np.asarray(rate, dtype=float), x.shape))

    def __call__(self, state: DerivativeState, measurement: Any) -> tuple[DerivativeState, np.ndarray]:
        """The next state, and the rate."""
        return self.law(state, np.asarray(measurement, dtype=float))

    def law(self, state: DerivativeState, x: Any) -> tuple[DerivativeState, Any]:
        """The same of arrays or of SX."""
        slope = (x - state.measurement) / self.period
        rate = self.memory * state.rate + (1 - self.memory) * slope
        return DerivativeState(x, rate), rate

    def covariance(self, noise: Any) -> np.ndarray:
        """Of (measurement, rate), (2, 2, ...), from the standard deviation of white measurement noise, any shape.

        The rate's weights on past measurements are c, −c(1 − α), −cα(1 − α), ... with c = (1 − α)/period.
        """
        variance = np.asarray(noise, dtype=float) ** 2
        c = (1 - self.memory) / self.period
        shape = np.array([[1.0, c], [c, 2 * c * c / (1 + self.memory)]])
        return np.multiply.outer(shape, variance)
