"""Identification of actuator faults: loss of torque, bias, lock  [Mattone].

A faulty actuator gives τ + u instead of τ.  The residual of a motor isolates the fault.  The input of the residual's
filter, u = (r⁺ − e^(−K h) r)/(1 − e^(−K h)), is u without the delay of the filter.  During an alarm, and shortly after,
recursive least squares with forgetting fit  u = −λ τ + b:  λ is the lost share of the torque, b a bias.  A motor that
does not move although its torque changes is locked.  A constant torque does not distinguish λ from b.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..checks import positive
from ..dynamics.drivetrain.coupling import at_springs, rigid_groups
from ..errors import InputError
from ..numerics import product
from ..numerics.linear import solve
from ..spatial import ca, sx
from ..types import Expression, FloatArray
from .base import Measurement
from .detector import Detector
from .momentum import JointTorqueResidual, MomentumResidual
from .residual import ResidualState, Status, limited, split
from .timed import ObserverWrapper, StepResult

EXCITATION = 0.01  # least variance of a torque, relative to its mean square, that distinguishes loss from bias


class Fault(IntEnum):
    """The fault of a motor."""

    NONE = 0
    UNDECIDED = 1  # loss or bias: the torque has not changed enough to distinguish them
    TOTAL_LOSS = 2  # all torque is lost
    EFFICIENCY = 3  # a share of the torque is lost
    BIAS = 4
    LOCK = 5
    OTHER = 6  # loss and bias, or another torque that opposes the motor


class Fit(NamedTuple):
    """Sums of the least squares with forgetting, one entry per motor, as columns."""

    weight: Any
    tau: Any
    tau_tau: Any
    u: Any
    tau_u: Any
    speed: Any  # the largest so far
    remaining: Any  # time until the sums are dropped, unless there is another alarm, s


@dataclass(frozen=True, eq=False, repr=False)
class FaultIdentifier(ObserverWrapper):
    """A detector of actuator faults that also identifies them.

    A bias counts if it exceeds the detector's threshold of the motor.  At a rigid joint a collision looks like a fault.

    Outputs: those of the detector, and per motor (m,) `fault`, see `Fault`; `loss`, λ; `bias`, b, Nm or N.

    Args:
        detector: A detector of a JointTorqueResidual, or of a MomentumResidual for a rigid robot, with thresholds for
            every motor.
        window: Time constant of the forgetting, s; 0.5 by default.
        tolerance: Largest distance of λ from 0 or 1 that counts as 0 or 1; 0.1 by default.
        standstill_speed: Speed below which a motor does not move, rad/s or m/s; 1e-3 by default.

    Raises:
        InputError: The detector watches another residual or lacks thresholds, or a number is not positive.

    Example:
        >>> import flexjoint as fj
        >>> residual = fj.observers.JointTorqueResidual(fj.load("kuka_lwr"), 50.0, 50.0)
        >>> identifier = fj.observers.FaultIdentifier(fj.observers.Detector(residual, {"link": 1.0, "motor": 1.0}))
        >>> list(identifier.outputs)[-3:]
        ['fault', 'loss', 'bias']
    """

    detector: Detector
    window: float = 0.5
    tolerance: float = 0.1
    standstill_speed: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("window", "tolerance", "standstill_speed"):
            positive("FaultIdentifier", name, getattr(self, name))
        if not isinstance(self.residual, MomentumResidual | JointTorqueResidual):
            raise InputError("FaultIdentifier: the detector must watch a MomentumResidual or a JointTorqueResidual")
        missing = {name for name, _ in self.motor_channels} - set(self.detector.thresholds)
        if missing:
            raise InputError(f"FaultIdentifier: the detector has no thresholds for {', '.join(sorted(missing))}")

    @property
    def inner(self) -> Detector:
        return self.detector

    @property
    def residual(self) -> Any:
        """The residual that the detector watches."""
        return self.detector.residual

    @cached_property
    def motor_channels(self) -> list[tuple[str, int]]:
        """The channel and entry that show the faults of each motor."""
        names = list(self.channels)
        behind = [self.robot.compliant[i] for i in self.robot.motor_joints]
        return [(names[-1] if spring else names[0], k) for k, spring in enumerate(behind)]

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.detector.memory[0], *[self.robot.motor_count] * len(Fit._fields)

    @cached_property
    def outputs(self) -> dict[str, int]:
        m = self.robot.motor_count
        return {**self.detector.outputs, "fault": m, "loss": m, "bias": m}

    def step(self, state: Expression, h: Expression, measurement: Measurement, torque: Expression) -> StepResult:
        inner, *rest = split(state, self.sizes)
        after, found = self.detector.step(inner, h, measurement, torque)
        updated, before = found["status"] <= sx(Status.SATURATED), self._residual_state(inner)
        elapsed = before.elapsed + h
        decay = ca.exp(-sx(self.residual.gain) * elapsed)
        force = (self._residual_state(after).r - decay * before.r) / (1 - decay)
        u = dict(zip(self.channels, split(force, self.channels.values())))
        fit = self._updated(
            Fit(*rest),
            elapsed,
            self._alarms(found),
            (before.impulse + h * limited(self.robot, torque)[0]) / elapsed,
            self._at_motors(u),
            ca.fabs(measurement.theta_v if "theta_v" in self.reads else measurement.v),
        )
        fit = Fit(*(ca.if_else(updated, new, old) for new, old in zip(fit, rest)))
        return ca.vertcat(after, *fit), {**found, **self._classified(fit)}

    def _at_motors(self, residuals: Mapping[str, Expression]) -> Expression:
        """What the residuals say about each motor: of a rigid group T⁻ᵀ that of the links."""
        links = next(iter(self.channels))
        there = {**residuals, links: at_springs(self.robot, residuals[links])}
        return ca.vertcat(*[there[name][k] for name, k in self.motor_channels])

    def _alarms(self, found: Mapping[str, Expression]) -> Expression:
        """The alarm of each motor; in a rigid group that of any link, if the motor's share exceeds its threshold."""
        alarms = [found[f"{name}_alarm"][k] for name, k in self.motor_channels]
        shares = self._at_motors(found)
        for group in rigid_groups(self.robot):
            either = ca.sum1(ca.vertcat(*[alarms[k] for k in group.joints])) > 0
            for k in group.joints:
                alarms[k] = ca.logic_and(either, ca.fabs(shares[k]) > float(self._levels[k]))
        return ca.vertcat(*alarms)

    @cached_property
    def _levels(self) -> FloatArray:
        """Threshold of the bias of each motor; in a rigid group |T⁻ᵀ| times those of the links."""
        levels = np.array([float(self.detector.thresholds[name][k]) for name, k in self.motor_channels])
        for group in rigid_groups(self.robot):
            share = np.abs(solve(np.array(ca.DM(group.matrix)).T, np.eye(len(group.joints))))
            levels[group.joints] = product(share, levels[group.joints])
        return levels

    def _residual_state(self, state: Expression) -> ResidualState:
        return ResidualState(*split(state[: self.residual.memory[0]], self.residual.sizes))

    def _updated(
        self, fit: Fit, h: Expression, alarm: Expression, tau: Expression, u: Expression, speed: Expression
    ) -> Fit:
        """The sums with one more sample, of the mean torque over h seconds and its error u; zero without an alarm."""
        remaining = ca.if_else(alarm, self.window, ca.fmax(fit.remaining - h, 0))
        keep = ca.exp(-h / self.window)
        sums = (keep * x + h * y for x, y in zip(fit, (1, tau, tau * tau, u, tau * u)))
        new = (*sums, ca.fmax(fit.speed, speed), remaining)
        return Fit(*(ca.if_else(remaining > 0, x, 0) for x in new))

    def _classified(self, fit: Fit) -> dict[str, Expression]:
        """Fault, loss and bias of each motor."""
        present = fit.weight > 0
        tau, square, u, product = (
            x / ca.if_else(present, fit.weight, 1) for x in (fit.tau, fit.tau_tau, fit.u, fit.tau_u)
        )
        variance = square - tau * tau
        excited = ca.logic_and(present, variance > EXCITATION * square)
        loss = ca.if_else(excited, -(product - tau * u) / ca.if_else(excited, variance, 1), 0)
        bias = u + loss * tau
        level = sx(self._levels)
        biased, none, all_ = ca.fabs(bias) > level, ca.fabs(loss) <= self.tolerance, ca.fabs(loss - 1) <= self.tolerance
        some = ca.logic_and(loss > self.tolerance, loss < 1 - self.tolerance)
        unbiased = ca.if_else(all_, sx(Fault.TOTAL_LOSS), ca.if_else(some, sx(Fault.EFFICIENCY), sx(Fault.OTHER)))
        lost = ca.if_else(biased, sx(Fault.OTHER), unbiased)
        moving = ca.if_else(none, ca.if_else(biased, sx(Fault.BIAS), sx(Fault.UNDECIDED)), lost)
        kind = ca.if_else(fit.speed < self.standstill_speed, sx(Fault.LOCK), moving)
        fault = ca.if_else(present, ca.if_else(excited, kind, sx(Fault.UNDECIDED)), sx(Fault.NONE))
        return {"fault": fault, "loss": loss, "bias": bias}
