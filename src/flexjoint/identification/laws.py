"""Laws of friction and springs: those an estimation begins with, wider ones, and laws from estimates."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from ..drives import ElasticDrive, Friction, friction_law
from ..logs import Log
from ..robot import Robot
from ..springs import LinearSpring
from .parameters import BY_DIRECTION
from .residuals import DIRECTION, STIFFENING, Score
from .spring_shapes import LINEAR, SpringShape, shape_of

SHARES = (0.0, 0.4, 0.8)  # points of a piecewise law over the largest deflection
LARGEST = 99.0  # percentile of |θ − q| that counts as the largest deflection


def first_laws(robot: Robot, friction: str) -> tuple[str, ...]:
    """Friction law of each motor with which the estimation begins."""
    if friction != "auto":
        return (friction,) * robot.n
    found = []
    for joint in robot.joints:
        law = None if joint.drive is None else friction_law(joint.drive.motors[0])
        name = "stribeck" if law is not None and law.static is not None else "coulomb"
        found.append(name + (BY_DIRECTION if law is not None and law.backward is not None else ""))
    return tuple(found)


def first_springs(robot: Robot, spring: str, logs: Sequence[Log], notes: list[str]) -> tuple[SpringShape, ...]:
    """Form of the spring law of each joint with which the estimation begins.

    Args:
        robot: The robot.
        spring: See `identify`.
        logs: For the deflections of piecewise laws.
        notes: Gets the laws that are not estimated.
    """
    found = []
    for i, joint in enumerate(robot.joints):
        if not isinstance(joint.drive, ElasticDrive):
            found.append(LINEAR)
            continue
        own = shape_of(joint.drive.law)
        if spring == "auto" and own == LINEAR and not isinstance(joint.drive.law, LinearSpring):
            notes.append(
                f"the {joint.drive.law.name} of {joint.name} is not estimated, a linear spring takes its place; "
                "spring='cubic' and 'piecewise' are estimated"
            )
        if spring in ("auto", own.law):
            found.append(own)
        else:
            found.append(SpringShape("piecewise", points(logs, i)) if spring == "piecewise" else SpringShape(spring))
    return tuple(found)


def points(logs: Sequence[Log], i: int) -> tuple[float, ...]:
    """Deflections of a piecewise law that the logs reach."""
    phi = np.concatenate([log.theta[:, i] - log.q[:, i] for log in logs if log.theta is not None and log.q is not None])
    phi = phi[np.isfinite(phi)]
    largest = float(np.percentile(np.abs(phi - np.median(phi)), LARGEST)) or 1e-3
    return tuple(float(f"{share * largest:.2g}") for share in SHARES)


def estimated_friction(known: Mapping[str, float], whole: Mapping[str, float], velocity: float) -> Friction:
    """Friction of a motor from estimates by kind; a negative one means none.

    Args:
        known: Estimates that are known at least weakly.
        whole: All estimates.
        velocity: v_c before the estimation, if it is not known now.
    """

    def value(kind: str) -> float:
        return max(known.get(kind, 0.0), 0.0)

    def side(suffix: str) -> Friction:
        viscous, coulomb, static = (value(f"{kind}{suffix}") for kind in ("viscous", "coulomb", "rise"))
        if not coulomb or static <= coulomb or "log_stribeck" not in known:
            return Friction(viscous=viscous, coulomb=coulomb)
        return Friction(viscous, coulomb, static=static, stribeck_velocity=known["log_stribeck"])

    law = side("")
    back = side("_backward") if "coulomb_backward" in known and "coulomb" in known else None
    if not law.coulomb and back is None:
        return law
    return dataclasses.replace(
        law, velocity=known.get("log_velocity", velocity or whole["log_velocity"]), backward=back
    )


# Wider laws ---------------------------------------------------------------------------------------------------------


def with_directions(laws: tuple[str, ...], asked: Sequence[Score], friction: str) -> tuple[str, ...]:
    """With friction by direction where the residuals ask for it and the law is free."""
    joints = {x.joint for x in asked if x.what == DIRECTION} if friction == "auto" else set()
    return tuple(law + BY_DIRECTION if i in joints else law for i, law in enumerate(laws))


def with_cubic(springs: tuple[SpringShape, ...], asked: Sequence[Score], spring: str) -> tuple[SpringShape, ...]:
    """With cubic springs where the residuals ask for springs that stiffen and the law is free."""
    joints = {x.joint for x in asked if x.what == STIFFENING} if spring == "auto" else set()
    return tuple(SpringShape("cubic") if i in joints else law for i, law in enumerate(springs))
