"""Velocities of links and motors from their positions, and torque rates from torques: an estimator for `simulate`.

With encoders and torque sensors only, a control law reads these in place of measured rates: the one level of
differentiation of [EJNEA sec. II-B].
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InputError, listed, shown
from ..robot import Robot
from ..types import Expression, Stack
from .base import Measurement, Observer, ObserverResult
from .differentiator import Differentiator


@dataclass(frozen=True)
class VelocityEstimator(Observer):
    """Link and motor velocities from positions, and torque rates from torques.

    Outputs: `v` (n,) and `theta_v` (m,), rad/s or m/s; with a `torque_filter` also `tau_e_v` (n,), Nm/s or N/s.

    Args:
        robot: The robot.
        filter: The filter of every position; its period is that of the observer.
        torque_filter: The filter of every torque on a link, of the same period; by default torque rates are not
            estimated.
        rates: Names of the outputs; by default all that the filters give.

    Raises:
        InputError: A filter is not a differentiator, the two have different periods, or there is no such output.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> estimator = fj.observers.VelocityEstimator(robot, fj.observers.FilteredDerivative(1e-3, cutoff=500.0))
        >>> controller = fj.control.MotorPD(robot, [500.0, 50.0])
        >>> run = fj.simulate(robot, controller, [0.3, 0.6, -0.9], 0.1, period=1e-3, estimator=estimator)
    """

    robot: Robot
    filter: Differentiator
    torque_filter: Differentiator | None = None
    rates: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("filter", "torque_filter"):
            given = getattr(self, name)
            if not isinstance(given, Differentiator) and (name == "filter" or given is not None):
                raise InputError(
                    f"VelocityEstimator: {name} is {given!r}; give a FilteredDerivative or a KalmanDifferentiator"
                )
        if self.torque_filter is not None and self.torque_filter.period != self.filter.period:
            raise InputError(
                f"VelocityEstimator: torque_filter was made for {self.torque_filter.period:g} s, filter for "
                f"{self.filter.period:g} s; give both the same period"
            )
        known = [rate for _, rate, _ in self._filtered]
        if self.rates is not None and (not self.rates or any(x not in known for x in self.rates)):
            raise InputError(f"VelocityEstimator: rates are {shown(self.rates)}; give some of {listed(known)}")

    @property
    def period(self) -> float:  # type: ignore[override]
        return self.filter.period

    @property
    def memory(self) -> tuple[int, ...]:
        return tuple(size for size in self.outputs.values() for _ in range(2))

    @property
    def outputs(self) -> Mapping[str, int]:
        sizes = {"v": self.robot.n, "theta_v": self.robot.motor_count, "tau_e_v": self.robot.n}
        return {rate: sizes[rate] for _, rate, _ in self._signals}

    def giving(self, outputs: Collection[str]) -> VelocityEstimator:
        chosen = tuple(x for x in self.outputs if x in outputs)
        return replace(self, rates=chosen) if chosen else self

    @property
    def _signals(self) -> list[tuple[str, str, Differentiator]]:
        """Field of a measurement, its rate, and the filter between them, for each output."""
        return [x for x in self._filtered if self.rates is None or x[1] in self.rates]

    @property
    def _filtered(self) -> list[tuple[str, str, Differentiator]]:
        torques = [("tau_e", "tau_e_v", self.torque_filter)] if self.torque_filter is not None else []
        return [("q", "v", self.filter), ("theta", "theta_v", self.filter), *torques]

    def start(self, measurement: Measurement) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The first positions and torques, with the rates of the measurement; rates that are None start at 0."""
        state: list[Any] = []
        for name, rate, differentiator in self._signals:
            known = getattr(measurement, rate)
            state += differentiator.start(getattr(measurement, name), 0.0 if known is None else known)
        return state, dict(zip(self.outputs, state[1::2]))

    def law(self, state: Stack, measurement: Measurement, torque: Expression) -> ObserverResult:
        after, rates = [], {}
        for k, (name, rate, differentiator) in enumerate(self._signals):
            before = differentiator.state(*state[2 * k : 2 * k + 2])
            found, _ = differentiator.law(before, getattr(measurement, name))
            after += [*found]
            rates[rate] = found.rate
        return after, rates
