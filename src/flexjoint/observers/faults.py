"""Which motor failed, and how: loss of torque, bias, lock  [Mattone].

A faulty actuator gives τ + u instead of τ.  A motor's own residual isolates it; u itself is what the residual's filter
was given, u = (r⁺ − e^(−K h) r)/(1 − e^(−K h)), without the delay of the filter.  While an alarm lasts, and shortly
after, least squares with forgetting fit  u = −λ τ + b:  λ is the share of the torque that is lost, b a bias.  A motor
that does not move although its torque changes is locked.  A torque that does not change tells λ and b not apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple

from ..checks import positive
from ..errors import InputError
from ..spatial import ca, sx
from .base import Measurement
from .detector import Detector
from .momentum import JointTorqueResidual, MomentumResidual
from .residual import Memory, Status, split
from .timed import Wrapped

EXCITED = 0.01  # of the square of a torque: a variance that tells loss and bias apart


class Fault(IntEnum):
    """What is wrong with a motor."""

    NONE = 0
    UNDECIDED = 1  # loss or bias: its torque has not changed enough to tell
    TOTAL_LOSS = 2
    EFFICIENCY = 3  # a share of the torque is lost
    BIAS = 4
    LOCK = 5
    OTHER = 6  # loss and bias, or something else that resists the motor


class Fit(NamedTuple):
    """Weighted sums over the past, an entry a motor, and the fastest it moved."""

    weight: Any
    tau: Any
    tau_tau: Any
    u: Any
    tau_u: Any
    speed: Any
    left: Any  # time until the past is dropped, unless there is another alarm


@dataclass(frozen=True, eq=False, repr=False)
class FaultIdentifier(Wrapped):
    """A detector of actuator faults that also says what they are.

    `window` in s is how fast the past is forgotten, `tolerance` how far λ may be from 0 and from 1 to count as such,
    `still` the speed, in rad/s or m/s, below which a motor does not move.
    A bias is one that is larger than the detector's threshold for the motor.  Motors behind springs need a
    JointTorqueResidual; at a rigid joint collisions look like faults.

    Outputs: those of the detector, and `fault` (see `Fault`), `loss` λ and `bias` b, (motors,) each.
    """

    detector: Detector
    window: float = 0.5
    tolerance: float = 0.1
    still: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("window", "tolerance", "still"):
            positive("FaultIdentifier", name, getattr(self, name))
        if not isinstance(self.residual, MomentumResidual | JointTorqueResidual):
            raise InputError("FaultIdentifier: the detector must watch a MomentumResidual or a JointTorqueResidual")
        missing = {name for name, _ in self.places} - set(self.detector.thresholds)
        if missing:
            raise InputError(f"FaultIdentifier: the detector has no thresholds for {', '.join(sorted(missing))}")

    @property
    def inner(self) -> Detector:
        return self.detector

    @property
    def residual(self) -> Any:
        return self.detector.residual

    @cached_property
    def places(self) -> list[tuple[str, int]]:
        """For each motor the channel, and its entry, that shows its faults."""
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

    def step(self, state: Any, h: Any, measurement: Measurement, torque: Any) -> tuple[Any, dict[str, Any]]:
        inner, *rest = split(state, self.sizes)
        after, found = self.detector.step(inner, h, measurement, torque)
        fresh, before = found["status"] <= sx(Status.SATURATED), self.remembered(inner)
        gone = before.gone + h
        fade = ca.exp(-sx(self.residual.gain) * gone)
        force = (self.remembered(after).r - fade * before.r) / (1 - fade)
        u = dict(zip(self.channels, split(force, self.channels.values())))
        fit = self.fitted(
            Fit(*rest),
            gone,
            ca.vertcat(*[found[f"{name}_alarm"][k] for name, k in self.places]),
            (before.impulse + h * self.residual.limited(torque)[0]) / gone,
            ca.vertcat(*[u[name][k] for name, k in self.places]),
            ca.fabs(measurement.theta_v if "theta_v" in self.reads else measurement.v),
        )
        fit = Fit(*(ca.if_else(fresh, new, old) for new, old in zip(fit, rest)))
        return ca.vertcat(after, *fit), {**found, **self.judged(fit)}

    def remembered(self, state: Any) -> Memory:
        return Memory(*split(state[: self.residual.memory[0]], self.residual.sizes))

    def fitted(self, fit: Fit, h: Any, alarm: Any, tau: Any, u: Any, speed: Any) -> Fit:
        """With one sample more, of the mean torque over h seconds and what it lacks; nothing without an alarm."""
        left = ca.if_else(alarm, self.window, ca.fmax(fit.left - h, 0))
        keep = ca.exp(-h / self.window)
        sums = (keep * x + h * y for x, y in zip(fit, (1, tau, tau * tau, u, tau * u)))
        follow = (*sums, ca.fmax(fit.speed, speed), left)
        return Fit(*(ca.if_else(left > 0, x, 0) for x in follow))

    def judged(self, fit: Fit) -> dict[str, Any]:
        """Fault, loss and bias of each motor."""
        there = fit.weight > 0
        tau, square, u, product = (
            x / ca.if_else(there, fit.weight, 1) for x in (fit.tau, fit.tau_tau, fit.u, fit.tau_u)
        )
        variance = square - tau * tau
        excited = ca.logic_and(there, variance > EXCITED * square)
        loss = ca.if_else(excited, -(product - tau * u) / ca.if_else(excited, variance, 1), 0)
        bias = u + loss * tau
        level = sx([float(self.detector.thresholds[name][k]) for name, k in self.places])
        biased, none, all_ = ca.fabs(bias) > level, ca.fabs(loss) <= self.tolerance, ca.fabs(loss - 1) <= self.tolerance
        some = ca.logic_and(loss > self.tolerance, loss < 1 - self.tolerance)
        plain = ca.if_else(all_, sx(Fault.TOTAL_LOSS), ca.if_else(some, sx(Fault.EFFICIENCY), sx(Fault.OTHER)))
        lost = ca.if_else(biased, sx(Fault.OTHER), plain)
        told = ca.if_else(none, ca.if_else(biased, sx(Fault.BIAS), sx(Fault.UNDECIDED)), lost)
        told = ca.if_else(fit.speed < self.still, sx(Fault.LOCK), told)
        fault = ca.if_else(there, ca.if_else(excited, told, sx(Fault.UNDECIDED)), sx(Fault.NONE))
        return {"fault": fault, "loss": loss, "bias": bias}
