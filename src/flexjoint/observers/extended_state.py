"""An extended state observer: motion of links and motors and the external torque, from motor encoders.

Two filters in series, both stationary Kalman filters, so that the whole is stable in every posture and under any load:

1. Each motor has one (`motor_filter.py`) for θ, θ' and the torque τ_e of its spring with its rate.  The links follow
   from the springs, q = θ − φ(τ_e), q' = θ' − φ'(τ_e) τ_e'; of a damped spring φ is the state of a filter.
2. The momentum of the links p = M q' obeys p' = β + τ_e + u.  The external torque u is a random walk, u' = w, and p is
   measured by the first filter, with a noise that follows from the covariance there and the inertia of the robot.

The motor of a rigid joint moves with its link: there B is the mean inertia of the joint, and what differs from it
counts as torque of the "spring"; the link gets the motor torque.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from ..checks import finite_numbers, positive_numbers
from ..dynamics.drivetrain.coupling import on_links, on_motors
from ..dynamics.drivetrain.friction import friction
from ..dynamics.requirements import lossless_gears, require, spong_rotors
from ..robot import Robot
from ..spatial import ca, sx, total, zeros
from ..types import Expression, FloatArray
from .base import Measurement
from .link_residual import transmission_balance
from .links_behind_springs import (
    Deflected,
    check_springs,
    damped_springs,
    holding_torques,
    joint_torques,
    links_behind,
    settled_springs,
)
from .momentum import MAX_GAP, motors_behind_springs
from .motor_filter import MotorState
from .residual import FINITE, Status, check_residual, is_finite, limited, split, time_passed
from .spring_torque import known_friction
from .state_tuning import Noise, tuned
from .timed import StepResult, TimedObserver

APART = 4  # times: gains of an interval h are stable from h/2 to 2 h
QUANTIZED = 12.0**0.5  # steps of an encoder per standard deviation


class FilterState(NamedTuple):
    """The state, as columns."""

    seen: Any  # 1 after the first sample
    age: Any  # time since that sample, s
    gap: Any  # time since the last sample that was used, s
    blind: Any  # time since the last new external torque, s
    theta: Any  # as MotorState
    theta_v: Any
    tau: Any
    tau_v: Any
    phi_v: Any  # rates of the damped springs
    q: Any
    v: Any
    held: Any  # motor torque before the last sample
    p: Any  # momentum of the links
    u: Any  # external torque
    rate: Any  # known rate of p

    @property
    def motors(self) -> MotorState:
        return MotorState(self.theta, self.theta_v, self.tau, self.tau_v)

    @property
    def springs(self) -> Deflected:
        return Deflected(self.phi_v, self.tau, self.tau_v)


@dataclass(frozen=True, eq=False, repr=False)
class ExtendedStateObserver(TimedObserver):
    """Position and velocity of links and motors, spring torques and the external torque, by Kalman filters.

    It reads theta, and tau_e with torque sensors; no velocity is measured.  It takes rigid and elastic joints, damped
    springs, antagonistic joints with two springs, in any mix, and coupled transmissions.  As the `estimator` of a
    controller its outputs replace all measurements.  Until the filter has forgotten its start the status is SETTLING.

    Outputs: `link` (n,), the external torque, Nm or N; `q`, `v` (n,), `theta`, `theta_v` (m,), `tau_e`, `tau_e_v` (n,)
    as in a Measurement; `status`, see `Status`; `blind`, the time in s since the last new external torque.

    Args:
        robot: The model.
        encoder_step: Resolution of the motor encoders divided by the gear ratio, rad or m, a number or one per motor
            (m,).  An encoder with Gaussian noise σ counts as one of the resolution √12 σ.
        spring_noise: How fast spring torques change: square root of the spectral density of τ_e'', Nm/s^1.5 or N/s^1.5,
            a number or one per motor (m,).  A torque that changes by Δ within T seconds has about 1.7 Δ/T^1.5.
        external_noise: How fast external torques change: square root of the spectral density of u', Nm/√s or N/√s, a
            number or one per joint (n,).  A torque that changes by Δ within T seconds has Δ/√T.
        torque_noise: Standard deviation of the torque sensors, Nm or N, a number or one per joint (n,); by default
            None, there are none.  Joints with two motors have none.
        motor_noise: Square root of the spectral density of torques that disturb the motors, such as friction beside
            that of the model, Nm √s or N √s, a number or one per motor (m,); 0 by default.
        period: Time between two calls, s; 1e-3 by default.
        max_gap: Longest time without a usable sample that is bridged by prediction, s; 0.05 by default.

    Attributes:
        gains: Gains (intervals, m, 4, 2) of the motor filters, from the innovations of encoder and torque sensor to
            (θ, θ', τ_e, τ_e'), where samples are 1, 4, 16, ... periods apart.
        motor_covariance: Covariance (m, 4, 4) of these estimates.
        link_covariance: Covariance (n, 2, 2) of (q, v), with springs as stiff as without load.
        link_gains: Gains (intervals, n, 2) of (p, u).
        settling_time: Time that the status is SETTLING, s.

    Raises:
        InputError: Two motors share a spring, a damper is commanded, rotors couple to other links, gears have
            hysteresis or backlash, the friction of a motor depends on the load, or a number is not positive.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("kuka_lwr")
        >>> observer = fj.observers.ExtendedStateObserver(robot, 6e-6, spring_noise=300.0, external_noise=2.0)
        >>> observer.reads
        ('theta',)
        >>> bool(observer.link_covariance[0, 0, 0] ** 0.5 < 1e-3)  # rad
        True
    """

    robot: Robot
    encoder_step: Any
    spring_noise: Any
    external_noise: Any
    torque_noise: Any = None
    motor_noise: Any = 0.0
    period: float = 1e-3
    max_gap: float = MAX_GAP
    gains: FloatArray = field(init=False, repr=False)
    motor_covariance: FloatArray = field(init=False, repr=False)
    link_covariance: FloatArray = field(init=False, repr=False)
    link_gains: FloatArray = field(init=False, repr=False)
    inertia: FloatArray = field(init=False, repr=False)
    settling_time: float = field(init=False, repr=False)
    causes: ClassVar[Mapping[str, str]] = {"link": "collision or load"}

    def __post_init__(self) -> None:
        owner, robot = "ExtendedStateObserver", self.robot
        check_residual(self, "external_noise")
        n, m = robot.n, robot.motor_count
        for name, check in (("encoder_step", positive_numbers), ("spring_noise", positive_numbers)):
            object.__setattr__(self, name, check(owner, name, getattr(self, name), m))
        object.__setattr__(self, "motor_noise", finite_numbers(owner, "motor_noise", self.motor_noise, m, 0.0))
        if self.torque_noise is not None:
            object.__setattr__(self, "torque_noise", positive_numbers(owner, "torque_noise", self.torque_noise, n))
        require(owner, robot, lossless_gears)
        require(owner, robot, spong_rotors("turns with a link whose velocity is not measured"))
        require(owner, robot, known_friction)
        check_springs(robot, owner)
        self._tune()

    # Tuning -----------------------------------------------------------------------------------------------------------

    def _tune(self) -> None:
        """Gains and covariances from the noise."""
        sensors = [float(self.torque_noise[i]) if x else None for i, x in zip(self.robot.motor_joints, self._sensed)]
        encoders = self.encoder_step / QUANTIZED
        noise = Noise(encoders, self.spring_noise, self.motor_noise, sensors, self.external_noise)
        for name, value in tuned(self.robot, noise, self.intervals)._asdict().items():
            object.__setattr__(self, name, value)

    @property
    def intervals(self) -> list[float]:
        """The times between samples that there are gains for, s: 1, 4, 16, ... periods, as far as `max_gap` asks."""
        found = [self.period]
        while APART / 2 * found[-1] < self.max_gap:
            found.append(APART * found[-1])
        return found

    def _chosen(self, gains: FloatArray, h: Expression) -> Expression:
        """The gains (size,) of the interval nearest to h, out of (intervals, size)."""
        found = sx(gains[0])
        for interval, x in zip(self.intervals[1:], gains[1:]):
            found = ca.if_else(h > interval / 2, sx(x), found)
        return found

    @property
    def _sensed(self) -> list[bool]:
        """Whether a torque sensor measures the spring of each motor."""
        robot, sensors = self.robot, self.torque_noise is not None
        return [sensors and robot.compliant[i] and not robot.variable_stiffness[i] for i in robot.motor_joints]

    # State and outputs ------------------------------------------------------------------------------------------------

    @property
    def reads(self) -> tuple[str, ...]:
        return ("theta", "tau_e") if any(self._sensed) else ("theta",)

    @property
    def channels(self) -> dict[str, int]:
        return {"link": self.robot.n}

    @cached_property
    def outputs(self) -> dict[str, int]:
        n, m = self.robot.n, self.robot.motor_count
        motion = {"q": n, "v": n, "theta": m, "theta_v": m, "tau_e": n, "tau_e_v": n}
        return {"link": n, **motion, "status": 1, "blind": 1}

    @cached_property
    def sizes(self) -> FilterState:
        """Sizes of the parts of the state."""
        n, m, damped = self.robot.n, self.robot.motor_count, len(damped_springs(self.robot))
        return FilterState(1, 1, 1, 1, m, m, m, m, damped, n, n, m, n, n, n)

    @cached_property
    def memory(self) -> tuple[int, ...]:
        return (sum(self.sizes),)

    # The law ----------------------------------------------------------------------------------------------------------

    def step(self, state: Expression, h: Expression, measurement: Measurement, torque: Expression) -> StepResult:
        before = FilterState(*split(state, self.sizes))
        acting, saturated = limited(self.robot, torque)
        timed, begun = ca.fabs(h) <= FINITE, before.seen > 0.5
        known = ca.logic_and(ca.logic_and(h > 0, timed), is_finite(torque))
        stale = ca.logic_and(h <= 0, timed)
        sensors = [measurement.theta, *self._sensor_torques(measurement)]
        sensed = ca.logic_and(known, is_finite(*sensors))
        follows = ca.logic_and(ca.logic_and(known, begun), before.gap + h <= self.max_gap)
        starts = ca.logic_and(sensed, ca.logic_not(follows))

        predicted = before.motors.after(h, acting - self._friction(before.theta_v, h), sx(self.inertia))
        corrected, at_rest = self._corrected(predicted, h, *sensors), self._at_rest(*sensors)
        motors = MotorState(
            *(ca.if_else(starts, z, ca.if_else(sensed, y, x)) for x, y, z in zip(predicted, corrected, at_rest))
        )
        earlier = Deflected(
            *(ca.if_else(starts, x, y) for x, y in zip(settled_springs(self.robot, motors), before.springs))
        )
        q, v, phi_v = links_behind(self.robot, motors, earlier, h)
        balance = transmission_balance(self.robot, q, v, joint_torques(self.robot, motors.tau, acting))

        # the torque of rigid joints was held, that of springs runs from sample to sample
        jump = on_links(self.robot, joint_torques(self.robot, zeros(self.robot.motor_count), acting - before.held))
        p = before.p + h * ((before.rate + balance.rate + jump) / 2 + before.u)
        momentum_gain, torque_gain = (self._chosen(self.link_gains[:, :, k], h) for k in range(2))
        innovation, settled = balance.p - p, before.age + h > self.settling_time
        usable = ca.logic_and(ca.logic_or(follows, starts), is_finite(*motors, q, v, phi_v, balance.p, balance.rate))
        used, counted = ca.logic_and(sensed, usable), ca.logic_and(follows, settled)
        new = ca.logic_and(used, counted)
        blind = ca.if_else(new, 0, before.blind + time_passed(h, self.period))
        moved = FilterState(
            sx(1),
            ca.if_else(starts, 0, before.age + h),
            ca.if_else(sensed, 0, before.gap + h),
            blind,
            *motors,
            phi_v,
            q,
            v,
            acting,
            ca.if_else(counted, p + ca.if_else(sensed, momentum_gain * innovation, 0), balance.p),
            before.u + ca.if_else(new, torque_gain * innovation, 0),
            balance.rate,
        )
        waiting = ca.logic_and(known, ca.logic_not(sensed))  # for longer than max_gap
        gap, seen = before.gap + ca.if_else(waiting, h, 0), ca.logic_or(stale, waiting)
        kept = before._replace(seen=ca.if_else(seen, before.seen, 0), gap=gap, blind=blind)
        after = FilterState(*(ca.if_else(usable, x, y) for x, y in zip(moved, kept)))

        restarted = ca.if_else(begun, sx(Status.GAP), sx(Status.FIRST))
        good = ca.if_else(saturated, sx(Status.SATURATED), sx(Status.GOOD))
        followed = ca.if_else(settled, good, sx(Status.SETTLING))
        bad = ca.if_else(stale, sx(Status.STALE), sx(Status.INVALID))
        status = ca.if_else(used, ca.if_else(starts, restarted, followed), bad)
        outputs = {name: getattr(after, name) for name in ("q", "v", "theta", "theta_v", "blind")}
        outputs["tau_e"] = joint_torques(self.robot, after.tau, after.held)
        outputs["tau_e_v"] = joint_torques(self.robot, after.tau_v, zeros(self.robot.motor_count))
        return ca.vertcat(*after), outputs | {"link": after.u, "status": status}

    def _sensor_torques(self, measurement: Measurement) -> list[Expression]:
        """What each motor feels of its spring by the torque sensors, 0 where there is none; nothing without sensors."""
        if not any(self._sensed):
            return []
        n = self.robot.n
        at_joints = [measurement.tau_e[i] if self._sensed[i] else 0.0 for i in range(n)]
        return [ca.vertcat(on_motors(self.robot, ca.vertcat(*at_joints)), zeros(self.robot.motor_count - n))]

    def _friction(self, theta_v: Expression, h: Expression) -> Expression:
        """Mean friction of the motors behind springs over a step, by its slope: stable however steep it is."""
        at, slope = friction(motors_behind_springs(self.robot), [theta_v, ca.SX.ones(theta_v.shape)], 1)
        B = sx(self.inertia)
        return at * B / (B + h * ca.fmax(slope, 0))

    def _corrected(
        self, predicted: MotorState, h: Expression, theta: Expression, tau: Expression | None = None
    ) -> MotorState:
        """The state after a measurement."""
        errors = [theta - predicted.theta] + ([] if tau is None else [tau - predicted.tau])
        added = [total(self._chosen(self.gains[:, :, row, k], h) * x for k, x in enumerate(errors)) for row in range(4)]
        return MotorState(*(x + y for x, y in zip(predicted, added)))

    def _at_rest(self, theta: Expression, tau: Expression | None = None) -> MotorState:
        """The state at the first sample: at rest, with the torques that hold the robot where the motors are."""
        loads, still = holding_torques(self.robot, theta), zeros(self.robot.motor_count)
        if tau is not None:
            pairs = zip(ca.vertsplit(loads), ca.vertsplit(tau), self._sensed)
            loads = ca.vertcat(*[y if sensed else x for x, y, sensed in pairs])
        return MotorState(theta, still, loads, still)
