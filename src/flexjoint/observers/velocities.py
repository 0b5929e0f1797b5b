"""Velocities of links and motors from their positions, by one filter for all: an estimator for `simulate`.

Where only encoders are read, a law sees these in place of measured velocities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..robot import Robot
from .base import Measurement, Observer
from .differentiator import DerivativeState, FilteredDerivative
from .kalman import KalmanDifferentiator, MotionEstimate


@dataclass(frozen=True)
class VelocityEstimator(Observer):
    """`v` and `theta_v` from `q` and `theta` by a FilteredDerivative or a KalmanDifferentiator, whose period it has."""

    robot: Robot
    filter: FilteredDerivative | KalmanDifferentiator

    def __post_init__(self) -> None:
        if not isinstance(self.filter, FilteredDerivative | KalmanDifferentiator):
            raise InputError(f"VelocityEstimator: filter is {self.filter!r}; give one that differentiates")

    @property
    def period(self) -> float:  # type: ignore[override]
        return self.filter.period

    @property
    def memory(self) -> tuple[int, ...]:
        n, m = self.robot.n, self.robot.motor_count
        return n, n, m, m

    @property
    def outputs(self) -> Mapping[str, int]:
        return {"v": self.robot.n, "theta_v": self.robot.motor_count}

    def start(self, measurement: Measurement) -> tuple[Sequence[Any], Mapping[str, Any]]:
        rates = {"v": np.asarray(measurement.v), "theta_v": np.asarray(measurement.theta_v)}
        return (measurement.q, rates["v"], measurement.theta, rates["theta_v"]), rates

    def law(self, state: Sequence[Any], measurement: Measurement, torque: Any) -> tuple[Sequence[Any], Mapping]:
        kind: Any = DerivativeState if isinstance(self.filter, FilteredDerivative) else MotionEstimate
        links, _ = self.filter.law(kind(*state[:2]), measurement.q)
        motors, _ = self.filter.law(kind(*state[2:]), measurement.theta)
        return (*links, *motors), {"v": links.rate, "theta_v": motors.rate}
