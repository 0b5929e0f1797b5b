"""Friction compensation around any controller, by the desired or by the measured velocity.

    τ = τ_law + s (f_link(v) + f_motor(θ')),    f(v) = D v + F_c tanh(v/v_c)

f_link is the friction of joints and of motors rigidly coupled to them, f_motor that of motors behind springs, both of
a model of the robot.  By the desired velocity, v = θ' = q_d', the term is a feedforward: it cannot make the loop
unstable, and vanishes where the reference rests.  By the measured velocities it compensates also what the reference
does not ask for, and takes away damping: the friction left over is (1 − s) f.  Where that is negative, because s > 1 or
the model has more friction than the robot, rest is unstable unless the feedback damps more than (s − 1)(D + F_c/v_c):
the robot oscillates in a limit cycle of the size at which Coulomb friction saturates.  Hence s < 1, such as 0.8, if
friction is not well known.

At an elastic joint the motor passes f_link on through the spring, which deflects by f_link/K: the torque is
compensated, this deflection is not.  `FeedforwardPD` with the friction in its model compensates both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite_numbers, positive
from ..dynamics.drivetrain.coupling import held_by_motors, undeflected
from ..dynamics.drivetrain.friction import link_friction, motor_friction
from ..dynamics.drivetrain.load_friction import load_friction
from ..dynamics.drivetrain.transmission import transmitted
from ..dynamics.requirements import lossless_gears, require
from ..errors import InputError, shown, warn
from ..reprs import short_repr
from ..robot import Robot, a_robot
from ..robot.friction import changed_links, has_friction, smoothed
from ..types import Stack
from .base import (
    Controller,
    ControllerWrapper,
    JointState,
    LawResult,
    checked_robot,
    innermost,
    require_one_motor_per_joint,
)
from .open_loop import OpenLoop

VELOCITIES = ("desired", "measured")


@dataclass(frozen=True, eq=False, repr=False)
class FrictionCompensation(ControllerWrapper):
    """A controller with compensation of viscous and Coulomb friction.

    Build a law that contains the friction of its model, such as `ComputedTorque`, with `robot.without_friction()`; this
    wrapper then compensates friction at the chosen velocity.

    Args:
        controller: The controller, with one motor per joint.
        velocity: "desired" (default): the velocity of the reference; or "measured": q' and θ'.
        share: s, the compensated fraction of the friction, a number or one per joint (n,), not negative; 1 by default.
            It is the last row of `gains`.
        model: The robot whose friction is compensated; by default that of the controller.
        coulomb_velocity: v_c of the compensation, rad/s or m/s; a larger value reduces the effect of noisy measured
            velocities; by default that of the model.

    Raises:
        InputError: The model has no friction, the law already contains friction, or the arguments do not fit.

    Warns:
        FlexjointWarning: More than the modelled friction is compensated at the measured velocity.

    Example:
        >>> import flexjoint as fj
        >>> motor = fj.Motor(0.2, viscous_friction=1.0, coulomb_friction=3.0, coulomb_velocity=0.02)
        >>> robot = fj.load("hua_3r").rigid().with_drives([fj.RigidDrive(motor)] * 3)
        >>> law = fj.control.PassivityControl(robot.without_friction(), bandwidth=20.0, damping=40.0)
        >>> law = fj.control.FrictionCompensation(law, "desired", model=robot)
        >>> motion = fj.trajectory.RestToRest([0.0] * 3, [0.5] * 3, duration=1.0)
        >>> run = fj.simulate(robot, law, motion, period=1e-3)
    """

    controller: Controller
    velocity: Literal["desired", "measured"] = "desired"
    share: ArrayLike = field(default=1.0, compare=False)
    model: Robot | None = None
    coulomb_velocity: float | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        self.check_controller()
        if self.velocity not in VELOCITIES:
            raise InputError(f"{name}: velocity is {shown(self.velocity)}; choose one of {', '.join(VELOCITIES)}")
        n = require_one_motor_per_joint(self).n
        refuse_friction_in_law(name, self.controller, "pass model=robot here, or leave the wrapper out")
        if self.velocity == "desired" and isinstance(innermost(self.controller), OpenLoop):
            raise InputError(f"{name}: OpenLoop has no desired velocity; choose velocity='measured'")
        if self.coulomb_velocity is not None:
            positive(name, "coulomb_velocity", self.coulomb_velocity)
        share = finite_numbers(name, "share", self.share, n, 0.0)
        model = self.controller.robot if self.model is None else a_robot(name, self.model)
        if (model.n, model.motor_count) != (n, n):
            raise InputError(
                f"{name}: model has {model.n} joints and {model.motor_count} motors, the controller {n} of both; give "
                "both the same robot"
            )
        require(name, model, lossless_gears)
        if not has_friction([x.joint for x in model.moving_joints]):
            raise InputError(
                f"{name}: '{model.name}' has no friction to compensate; set viscous_friction, coulomb_friction "
                "or friction of its joints or motors"
            )
        if self.velocity == "measured" and share.max() > 1:
            i = int(share.argmax())
            warn(
                f"{name}: share is {share[i]:g} at joint '{model.joints[i].name}': more friction is compensated than "
                "modelled, by the measured velocity, which makes the robot creep or oscillate (limit cycles); take at "
                "most 1, or velocity='desired'"
            )
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "share", tuple(share.tolist()))
        row = np.zeros((1, self.controller.gains.shape[-1]))
        row[0, :n] = share
        object.__setattr__(self, "gains", np.vstack([self.controller.gains, row]))

    @property
    def order(self) -> int:
        return max(self.controller.order, 1 if self.velocity == "desired" else 0)

    @property
    def period(self) -> float:
        return self.controller.period  # type: ignore[attr-defined]

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState) -> LawResult:
        *own, share = gains
        inner = reference[: self.controller.rows]
        after, tau = self.controller.checked_law(own, state, inner, measurement)
        robot = self._compensated
        v, theta_v = measurement.v, measurement.theta_v
        if self.velocity == "desired":
            v = reference[1][: robot.n]
            theta_v = undeflected(robot, v)
        loads, on_links = transmitted(robot, measurement.q, measurement.v, measurement.theta, measurement.theta_v)
        at_links = link_friction(robot, [v], 0)[0] + load_friction(robot, [v], [on_links])[0]
        return after, tau + share[: robot.n] * (held_by_motors(robot, at_links) + motor_friction(robot, theta_v, loads))

    @cached_property
    def _compensated(self) -> Robot:
        """The model with the velocity scale of the compensation."""
        robot: Robot = self.model  # type: ignore[assignment]
        if self.coulomb_velocity is None:
            return robot
        return robot.replace(links=changed_links(robot.links, smoothed(self.coulomb_velocity)))

    def __repr__(self) -> str:
        return short_repr(self, self.controller, velocity=self.velocity, share=np.array(self.share))


def refuse_friction_in_law(owner: str, controller: Controller, otherwise: str) -> None:
    """Refuses a law that contains the friction of its robot, which would be compensated twice."""
    law = innermost(controller)
    if law.contains_friction and has_friction([x.joint for x in checked_robot(law).moving_joints]):
        raise InputError(
            f"{owner}: {type(law).__name__} compensates the friction of its robot already; give it "
            f"robot.without_friction() and {otherwise}"
        )
