"""The rate of a measured signal by a first-order filter: the differentiation of [EJNEA sec. II-B].

s/(1 + s/ω),   rate⁺ = α rate + (1 − α) (x⁺ − x)/h,   α = e^(−ω h)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import positive
from ..lazy import is_symbolic
from ..numerics import exp
from ..types import FloatArray, Signal


class DerivativeState(NamedTuple):
    """State of a `FilteredDerivative`.

    Args:
        measurement: The last measurement, any shape.
        rate: The filtered rate, of the same shape, per s.
    """

    measurement: Signal
    rate: Signal


class Differentiator(ABC):
    """A filter from measurements to their rates, in arrays or SX.  Subclasses are frozen dataclasses.

    Attributes:
        period: Time between two samples, s.
        state: NamedTuple of the state, (value, rate).
    """

    period: float
    state: ClassVar[Any]

    def start(self, measurement: Any, rate: Any = 0.0) -> Any:
        """The state at the first measurement, arrays or SX, with an initial rate of 0 by default."""
        if is_symbolic(measurement):
            return self.state(measurement, 0 * measurement + rate)
        x = np.asarray(measurement, dtype=float)
        return self.state(x, np.broadcast_to(np.asarray(rate, dtype=float), x.shape))

    def __call__(self, state: Any, measurement: ArrayLike) -> tuple[Any, Any]:
        """The next state and the estimate, one period later: see `law`."""
        return self.law(state, np.asarray(measurement, dtype=float))

    @abstractmethod
    def law(self, state: Any, x: Signal) -> tuple[Any, Any]:
        """The next state and the estimate, for arrays or SX."""


@dataclass(frozen=True)
class FilteredDerivative(Differentiator):
    """The filter s/(1 + s/cutoff), sampled.

    It is exact for measurements that are linear between samples.  A rate that changes linearly is followed with a
    delay of 1/cutoff seconds.

    Args:
        period: Time between two samples, s.
        cutoff: Corner frequency, rad/s.

    Raises:
        InputError: A number is not positive.

    Example:
        >>> import flexjoint as fj
        >>> differentiator = fj.observers.FilteredDerivative(period=1e-3, cutoff=500.0)
        >>> state = differentiator.start([0.0], rate=2.0)
        >>> state, rate = differentiator(state, [0.002])
        >>> rate
        array([2.])
    """

    period: float
    cutoff: float
    state: ClassVar[Any] = DerivativeState

    def __post_init__(self) -> None:
        for name in ("period", "cutoff"):
            positive("FilteredDerivative", name, getattr(self, name))

    @property
    def decay(self) -> float:
        """α = e^(−ω h), the share of a rate that is left after one period."""
        return exp(-self.cutoff * self.period)

    def law(self, state: DerivativeState, x: Signal) -> tuple[DerivativeState, Signal]:
        """The next state and the rate, one period later, for arrays or SX."""
        slope = (x - state.measurement) / self.period
        rate = self.decay * state.rate + (1 - self.decay) * slope
        return DerivativeState(x, rate), rate

    def covariance(self, noise: ArrayLike) -> FloatArray:
        """The covariance (2, 2, ...) of (measurement, rate).

        The weights of past measurements in the rate are c, −c(1 − α), −cα(1 − α), ... with c = (1 − α)/period.

        Args:
            noise: Standard deviation of white measurement noise, any shape.
        """
        variance = np.asarray(noise, dtype=float) ** 2
        c = (1 - self.decay) / self.period
        shape = np.array([[1.0, c], [c, 2 * c * c / (1 + self.decay)]])
        return np.multiply.outer(shape, variance)
