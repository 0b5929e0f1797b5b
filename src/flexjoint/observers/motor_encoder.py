"""The residual of the links from motor encoders alone.

`SpringTorqueObserver` gives the torque of each spring, τ̂_e, through a filter F₁ = K₁/(s + K₁).  Then q̂ = θ̂ − φ(τ̂_e)
estimates the link position, and `LinkResidual` follows with its own filter F₂ = K₂/(s + K₂).

With θ̂ = θ the estimate q̂ would mix a filtered signal with an unfiltered one: for a constant inertia M the residual
would be F₂ [F₁ u + (1 − F₁) M θ''], and every acceleration of the motor would look like a collision.  Therefore θ
passes F₁ too, so that q̂ = F₁ q and

    r = F₁ F₂ u,    K₁ K₂ / ((s + K₁)(s + K₂)) :

a filter of second order (`transfer_function`), delayed by half a period because q̂' is a difference quotient.  Where M
and gravity depend on q, F₁ does not commute with them; the remaining error is of second order in 1/K₁.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..checks import positive
from ..dynamics.drivetrain.coupling import links_from_ends, motors_at_springs, springs_behind
from ..dynamics.requirements import lossless_gears, require, spong_rotors, undamped_springs
from ..robot import Robot
from ..spatial import ca, sx, zeros
from ..types import Expression
from .base import Measurement
from .link_residual import LinkResidual
from .links_behind_springs import deflection, joint_torques, mean_over_motors, spring_behind
from .momentum import MAX_GAP
from .residual import ResidualState, Status, TransferFunction, check_residual, is_finite, split, time_passed
from .spring_torque import SpringTorqueObserver, known_friction
from .timed import StepResult, TimedObserver

SETTLING_TIME = 7.0  # time constants after which a filter has settled: e⁻⁷ is 0.1 %


class LinkEstimate(NamedTuple):
    """The state next to those of the two observers, as columns."""

    blind: Any  # time since the last new residual, s
    age: Any  # of the estimates, s
    interval: Any  # between the last two samples, s
    theta: Any  # motor positions through F₁
    q: Any
    v: Any
    tau_e: Any  # torques on the links


@dataclass(frozen=True, eq=False, repr=False)
class MotorEncoderResidual(TimedObserver):
    """The external torque on the links, filtered, from motor encoders alone.

    It reads theta and theta_v, of rigid and elastic joints and of antagonistic joints with two springs.  Until the
    spring observer has settled, after 7/K₁ s, the status is SETTLING.

    Outputs: `link` (n,), Nm or N; the estimated motion `q` and `v` (n,); spring torques `spring` (m,), Nm or N;
    `status`, see `Status`; `blind`, the time in s since the last new residual.

    Args:
        robot: The model; no spring is damped.
        link_cutoff: K₂ of the links, rad/s, a positive number or one per joint (n,).
        spring_cutoff: K₁ of the spring observer, rad/s; one number, so that all joints have the same delay.
        period: Time between two calls, s; 1e-3 by default.
        max_gap: Longest time between two samples that is bridged, s; 0.05 by default.

    Raises:
        InputError: A spring is damped or shared by two motors, rotors couple to other links, the friction of a motor
            depends on the load, or a number is not positive.

    Example:
        >>> import flexjoint as fj
        >>> residual = fj.observers.MotorEncoderResidual(fj.load("hua_3r"), link_cutoff=30.0, spring_cutoff=90.0)
        >>> residual.transfer_function().denominator.tolist()
        [1.0, 120.0, 2700.0]
    """

    robot: Robot
    link_cutoff: Any
    spring_cutoff: float
    period: float = 1e-3
    max_gap: float = MAX_GAP
    reads: ClassVar[tuple[str, ...]] = ("theta", "theta_v")
    causes: ClassVar[Mapping[str, str]] = {"link": "collision or load"}

    def __post_init__(self) -> None:
        check_residual(self, "link_cutoff")
        positive("MotorEncoderResidual", "spring_cutoff", self.spring_cutoff)
        require("MotorEncoderResidual", self.robot, lossless_gears)
        require("MotorEncoderResidual", self.robot, spong_rotors("turns with a link whose velocity is not measured"))
        for k in range(self.robot.motor_count):
            spring_behind(self.robot, k, "MotorEncoderResidual")
        instead = "use JointTorqueResidual with encoders on the links"
        undamped = undamped_springs("its torque does not determine its deflection", instead)
        require("MotorEncoderResidual", self.robot, undamped)
        require("MotorEncoderResidual", self.robot, known_friction)

    @cached_property
    def springs(self) -> SpringTorqueObserver:
        """The observer of the spring torques."""
        return SpringTorqueObserver(self.robot, self.spring_cutoff, self.period, self.max_gap)

    @cached_property
    def links(self) -> LinkResidual:
        """The residual of the links."""
        return LinkResidual(self.robot, self.link_cutoff, self.period, self.max_gap)

    @property
    def channels(self) -> dict[str, int]:
        return {"link": self.robot.n}

    @cached_property
    def outputs(self) -> dict[str, int]:
        n, m = self.robot.n, self.robot.motor_count
        return {"link": n, "q": n, "v": n, "spring": m, "status": 1, "blind": 1}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the parts of the state: of both observers, then of a LinkEstimate."""
        n, m = self.robot.n, self.robot.motor_count
        return self.springs.memory[0], self.links.memory[0], *LinkEstimate(1, 1, 1, m, n, n, n)

    @cached_property
    def memory(self) -> tuple[int, ...]:
        return (sum(self.sizes),)

    def transfer_function(self, channel: int = 0) -> TransferFunction:
        """The filter from the external torque on a link to its residual: K₁ K₂ / ((s + K₁)(s + K₂))."""
        K1, K2 = self.spring_cutoff, float(self.link_cutoff[channel])
        return TransferFunction(np.array([K1 * K2]), np.array([1.0, K1 + K2, K1 * K2]))

    def step(self, state: Expression, h: Expression, measurement: Measurement, torque: Expression) -> StepResult:
        motors, links, *rest = split(state, self.sizes)
        before, earlier = LinkEstimate(*rest), ResidualState(*split(motors, self.springs.sizes))
        elapsed = earlier.elapsed + h
        motors, found = self.springs.step(motors, h, measurement, torque)
        spring = found["spring"]
        decay, mean = ca.exp(-self.spring_cutoff * elapsed), (earlier.position + measurement.theta) / 2
        ramp = mean - measurement.theta_v / self.spring_cutoff  # the response of F₁ to a ramp
        theta = ca.if_else(earlier.seen == 1, ramp, decay * before.theta + (1 - decay) * mean)  # τ̂_e uses the mean too
        age, (q, tau_e) = before.age + elapsed, self._links_behind(theta, spring)
        v = (q - before.q) / elapsed
        updated = found["status"] <= sx(Status.SATURATED)
        lost = ca.logic_and(updated, ca.logic_not(is_finite(q)))  # no deflection has this torque
        status = ca.if_else(lost, sx(Status.INVALID), found["status"])
        good = ca.logic_and(updated, ca.logic_not(lost))
        restarted = ca.logic_or(ca.logic_or(status == sx(Status.FIRST), status == sx(Status.GAP)), lost)
        settled = ca.logic_and(good, age > SETTLING_TIME / self.spring_cutoff)

        # half way between two samples, where the difference quotient belongs
        middle = Measurement((before.q + q) / 2, v, None, None, (before.tau_e + tau_e) / 2)
        interval, no_torque = (before.interval + elapsed) / 2, zeros(self.robot.motor_count)
        updated_links, seen = self.links.step(links, interval, middle, no_torque)
        kept_links = ca.vertcat(ca.if_else(restarted, 0, links[0]), links[1:])
        links = ca.if_else(settled, updated_links, kept_links)

        status = ca.if_else(settled, ca.fmax(status, seen["status"]), ca.if_else(good, sx(Status.SETTLING), status))
        blind = ca.if_else(status <= sx(Status.SATURATED), 0, before.blind + time_passed(h, self.period))
        new = LinkEstimate(blind, age, elapsed, theta, q, v, tau_e)
        kept = before._replace(blind=blind, age=ca.if_else(restarted, 0, before.age))
        after = LinkEstimate(*(ca.if_else(good, x, y) for x, y in zip(new, kept)))
        link = ResidualState(*split(links, self.links.sizes)).r
        outputs = {"link": link, "q": after.q, "v": after.v, "spring": spring, "status": status, "blind": blind}
        return ca.vertcat(motors, links, *after), outputs

    def _links_behind(self, theta: Expression, spring: Expression) -> tuple[Expression, Expression]:
        """Link positions, the mean over both motors of a joint with two, and torques of the springs."""
        robot, tau_e = self.robot, springs_behind(self.robot, spring)
        ends = motors_at_springs(robot, theta)
        near_links = [ends[k] - deflection(robot, k, [tau_e[k]])[0] for k in range(robot.motor_count)]
        return links_from_ends(robot, mean_over_motors(robot, near_links)), joint_torques(robot, spring, spring)
