"""Velocities of links and motors from their positions, by one filter for all: an estimator for `simulate`.

With encoders only, a control law reads these in place of measured velocities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..robot import Robot
from ..types import Expression, Stack
from .base import Measurement, Observer, ObserverResult
from .differentiator import Differentiator


@dataclass(frozen=True)
class VelocityEstimator(Observer):
    """Link and motor velocities from positions.

    Outputs: `v` (n,) and `theta_v` (m,), rad/s or m/s.

    Args:
        robot: The robot.
        filter: The filter of every position; its period is that of the observer.

    Raises:
        InputError: `filter` is not a differentiator.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> estimator = fj.observers.VelocityEstimator(robot, fj.observers.FilteredDerivative(1e-3, cutoff=500.0))
        >>> controller = fj.control.MotorPD(robot, [500.0, 50.0])
        >>> run = fj.simulate(robot, controller, [0.3, 0.6, -0.9], 0.1, period=1e-3, estimator=estimator)
    """

    robot: Robot
    filter: Differentiator

    def __post_init__(self) -> None:
        if not isinstance(self.filter, Differentiator):
            raise InputError(
                f"VelocityEstimator: filter is {self.filter!r}; give a FilteredDerivative or a KalmanDifferentiator"
            )

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

    def law(self, state: Stack, measurement: Measurement, torque: Expression) -> ObserverResult:
        links, _ = self.filter.law(self.filter.state(*state[:2]), measurement.q)
        motors, _ = self.filter.law(self.filter.state(*state[2:]), measurement.theta)
        return (*links, *motors), {"v": links.rate, "theta_v": motors.rate}
