"""The residual of a robot with springs that senses nothing but its motors.

A motor-momentum observer gives the torque of each spring, τ̂_e, through a filter F₁ = K₁/(s + K₁); then q̂ = θ̂ − φ(τ̂_e)
stands for the link, and the residual of the links follows with its own filter F₂ = K₂/(s + K₂).

With θ̂ = θ the estimate q̂ would mix a signal that is late with one that is not: for a constant inertia M the residual
would then be F₂ [F₁ u + (1 − F₁) M θ''], and every acceleration of the motor would look like a collision.  Here θ
passes F₁ too, so that q̂ = F₁ q and

    r = F₁ F₂ u,    K₁ K₂ / ((s + K₁)(s + K₂)) :

a filter of second order (`transfer_function`), half a period late as q̂' is a quotient of differences.  Where M and
gravity depend on q, F₁ does not commute with them; what is left of that is of second order in 1/K₁.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..checks import positive
from ..drives import AntagonisticDrive, ElasticDrive, VariableStiffnessDrive
from ..dynamics.drivetrain.friction import friction
from ..dynamics.drivetrain.springs import deflection_jet
from ..dynamics.requirements import require, spong_rotors
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, sx, total, zeros
from ..springs import Spring
from .base import Measurement
from .momentum import LONGEST, link_balance, motors_behind_springs
from .residual import (
    Balance,
    Memory,
    Residual,
    Status,
    TransferFunction,
    checked_residual,
    is_finite,
    split,
    time_passed,
)
from .timed import TimedObserver

FORGOTTEN = 7.0  # time constants after which a filter's start counts as forgotten: e⁻⁷ is 0.1 %


@dataclass(frozen=True, eq=False, repr=False)
class SpringTorqueObserver(Residual):
    """The torque on each motor's spring from motor encoders: `spring` (motors,) follows it by K/(s + K).

    Where the motor turns with the link it is the motor's torque.  Outputs: `spring`, `status`, `blind`.
    """

    robot: Robot
    cutoff: float
    period: float = 1e-3
    longest: float = LONGEST
    reads: ClassVar[tuple[str, ...]] = ("theta", "theta_v")
    from_zero: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checked_residual(self)
        positive("SpringTorqueObserver", "cutoff", self.cutoff)

    @property
    def channels(self) -> dict[str, int]:
        return {"spring": self.robot.motor_count}

    @property
    def gain(self) -> np.ndarray:
        return np.full(self.robot.motor_count, self.cutoff)

    @property
    def places(self) -> int:
        return self.robot.motor_count

    def balance(self, measurement: Measurement) -> Balance:
        motors = motors_behind_springs(self.robot)
        B = sx([motor.inertia for motor in motors])
        # what is missing in −B θ'' = −τ + friction + τ_e
        return Balance(-B * measurement.theta_v, friction(motors, [measurement.theta_v], 0)[0], measurement.theta)

    def driving(self, torque: Any) -> Any:
        return -torque


@dataclass(frozen=True, eq=False, repr=False)
class LinkResidual(Residual):
    """The residual of the links from their motion and from what their transmissions pull, by joint torque sensors.

    Motor torques do not enter: it sees what strikes the links, and no fault of a motor.  At every joint `tau_e` is what
    acts on the link; where a motor turns with its link and there is no sensor it is the motor's torque, and its inertia
    counts to the link's.  `cutoff` is K in rad/s, a number or one a joint.

    Outputs: `link` (n,), `status`, `blind`.
    """

    robot: Robot
    cutoff: Any
    period: float = 1e-3
    longest: float = LONGEST
    reads: ClassVar[tuple[str, ...]] = ("q", "v", "tau_e")

    def __post_init__(self) -> None:
        checked_residual(self, "cutoff")
        require("LinkResidual", self.robot, spong_rotors("takes part in the momentum of the links"))

    @property
    def channels(self) -> dict[str, int]:
        return {"link": self.robot.n}

    @property
    def gain(self) -> np.ndarray:
        return self.cutoff

    @property
    def reads_torque(self) -> bool:
        return False

    def balance(self, measurement: Measurement) -> Balance:
        links = link_balance(self.robot, measurement.q, measurement.v)
        return links._replace(rate=links.rate + measurement.tau_e)

    def driving(self, torque: Any) -> Any:
        return zeros(self.robot.n)


class Estimate(NamedTuple):
    """What is kept beside the states of the two residuals."""

    blind: Any
    age: Any  # of the estimates, s
    interval: Any  # between the last two samples
    theta: Any  # through F₁
    q: Any
    v: Any
    pull: Any  # on the links


@dataclass(frozen=True, eq=False, repr=False)
class MotorEncoderResidual(TimedObserver):
    """The residual of the links from motor encoders alone, of rigid and elastic joints and joints with two motors.

    `spring_cutoff` is K₁ of the observer of the springs, one number for all joints, as they must be late alike;
    `link_cutoff` is K₂, a number or one a joint.  Nothing is told before K₁ has settled (Status.SETTLING).

    Outputs: `link` (n,), the estimated motion `q` and `v` (n,), torques of the springs `spring` (motors,), `status`,
    `blind`.
    """

    robot: Robot
    link_cutoff: Any
    spring_cutoff: float
    period: float = 1e-3
    longest: float = LONGEST
    reads: ClassVar[tuple[str, ...]] = ("theta", "theta_v")

    def __post_init__(self) -> None:
        checked_residual(self, "link_cutoff")
        positive("MotorEncoderResidual", "spring_cutoff", self.spring_cutoff)
        require("MotorEncoderResidual", self.robot, spong_rotors("turns with a link whose velocity is not measured"))
        for k in range(self.robot.motor_count):
            spring_behind(self.robot, k)
        for joint, damped in zip(self.robot.joints, self.robot.damped):
            if damped:
                raise InputError(
                    f"MotorEncoderResidual: the spring of joint '{joint.name}' is damped, so that its torque does not "
                    "tell its deflection; use JointTorqueResidual with encoders on the links"
                )

    @cached_property
    def springs(self) -> SpringTorqueObserver:
        return SpringTorqueObserver(self.robot, self.spring_cutoff, self.period, self.longest)

    @cached_property
    def links(self) -> LinkResidual:
        return LinkResidual(self.robot, self.link_cutoff, self.period, self.longest)

    @property
    def channels(self) -> dict[str, int]:
        return {"link": self.robot.n}

    @cached_property
    def outputs(self) -> dict[str, int]:
        n, m = self.robot.n, self.robot.motor_count
        return {"link": n, "q": n, "v": n, "spring": m, "status": 1, "blind": 1}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        n, m = self.robot.n, self.robot.motor_count
        return self.springs.memory[0], self.links.memory[0], *Estimate(1, 1, 1, m, n, n, n)

    @cached_property
    def memory(self) -> tuple[int, ...]:
        return (sum(self.sizes),)

    def transfer_function(self, channel: int = 0) -> TransferFunction:
        """From what acts on a link to its residual, for a constant inertia: K₁ K₂ / ((s + K₁)(s + K₂))."""
        K1, K2 = self.spring_cutoff, float(self.link_cutoff[channel])
        return TransferFunction(np.array([K1 * K2]), np.array([1.0, K1 + K2, K1 * K2]))

    def step(self, state: Any, h: Any, measurement: Measurement, torque: Any) -> tuple[Any, dict[str, Any]]:
        motors, links, *rest = split(state, self.sizes)
        before, earlier = Estimate(*rest), Memory(*split(motors, self.springs.sizes))
        gone = earlier.gone + h
        motors, found = self.springs.step(motors, h, measurement, torque)
        spring = found["spring"]
        fade, mean = ca.exp(-self.spring_cutoff * gone), (earlier.place + measurement.theta) / 2
        late = mean - measurement.theta_v / self.spring_cutoff  # where F₁ is on a ramp
        theta = ca.if_else(earlier.seen == 1, late, fade * before.theta + (1 - fade) * mean)  # τ̂_e of mean τ_e too
        age, (q, pull) = before.age + gone, self.links_behind(theta, spring)
        v = (q - before.q) / gone
        told = found["status"] <= sx(Status.SATURATED)
        lost = ca.logic_and(told, ca.logic_not(is_finite(q)))  # no deflection has this torque
        status = ca.if_else(lost, sx(Status.INVALID), found["status"])
        good = ca.logic_and(told, ca.logic_not(lost))
        begun = ca.logic_or(status == sx(Status.FIRST), status == sx(Status.GAP))
        anew = ca.logic_or(begun, lost)
        settled = ca.logic_and(good, age > FORGOTTEN / self.spring_cutoff)

        # half way between two samples, which is where the quotient of differences belongs
        sensed = Measurement((before.q + q) / 2, v, None, None, (before.pull + pull) / 2)
        apart, still = (before.interval + gone) / 2, zeros(self.robot.motor_count)
        followed, seen = self.links.step(links, apart, sensed, still)
        unseen = ca.vertcat(ca.if_else(anew, 0, links[0]), links[1:])
        links = ca.if_else(settled, followed, unseen)

        status = ca.if_else(settled, ca.fmax(status, seen["status"]), ca.if_else(good, sx(Status.SETTLING), status))
        blind = ca.if_else(status <= sx(Status.SATURATED), 0, before.blind + time_passed(h, self.period))
        going = Estimate(blind, age, gone, theta, q, v, pull)
        kept = before._replace(blind=blind, age=ca.if_else(anew, 0, before.age))
        after = Estimate(*(ca.if_else(good, new, old) for new, old in zip(going, kept)))
        link = Memory(*split(links, self.links.sizes)).r
        outputs = {"link": link, "q": after.q, "v": after.v, "spring": spring, "status": status, "blind": blind}
        return ca.vertcat(motors, links, *after), outputs

    def links_behind(self, theta: Any, spring: Any) -> tuple[Any, Any]:
        """Where the links are, of a joint with two motors as the mean of what both say; and what pulls at them."""
        places: list[list[Any]] = [[] for _ in range(self.robot.n)]
        pulls: list[list[Any]] = [[] for _ in range(self.robot.n)]
        for k, i in enumerate(self.robot.motor_joints):
            law = spring_behind(self.robot, k)
            places[i].append(theta[k] - (deflection_jet(law, [spring[k]])[0] if law else 0.0))
            pulls[i].append(spring[k])
        q = ca.vertcat(*[total(place) / len(place) for place in places])
        return q, ca.vertcat(*map(total, pulls))


def spring_behind(robot: Robot, motor: int) -> Spring | None:
    """The spring between a motor and its link, None where they turn as one."""
    joint = robot.joints[robot.motor_joints[motor]]
    if isinstance(joint.drive, ElasticDrive):
        return joint.drive.spring
    if isinstance(joint.drive, AntagonisticDrive):
        return joint.drive.springs[motor >= robot.n]
    if isinstance(joint.drive, VariableStiffnessDrive):
        raise InputError(
            f"MotorEncoderResidual: the motors of joint '{joint.name}' share a spring, so that the torque of each does "
            "not tell a deflection; use JointTorqueResidual with encoders on the links"
        )
    return None
