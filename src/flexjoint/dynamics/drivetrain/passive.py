"""Torque that a joint itself takes, whatever drives it: friction, and springs parallel to the drive; with derivatives.

A parallel spring pulls the link with law(q₀ − q), so the drive must supply

    friction(q') − law(q₀ − q)

beyond what moves the links; of friction only what does not depend on the load (`load_friction.py`).  The spring acts
between a link and its parent, hence on no other joint and not on the base.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import InputError
from ...robot import Robot
from ...robot.mimics import MovingJoint
from ...spatial import zeros
from ...springs import ParallelSpring
from ...types import Expression, Jet, Scalar, Stack
from .friction import joint_friction, link_friction
from .springs import law_jet


def joint_passive_torque(robot: Robot, motion: Stack, order: int, needed: Sequence[int] | None = None) -> Jet:
    """Jet of the torque that the joints themselves take, without their motors, from motion = [q, q', q'', ...].

    needed: Highest derivative used of each joint, beyond which parallel springs are left out; `order` by default.
    """
    return with_springs(robot, motion, joint_friction(robot, motion[1:], order), needed)


def passive_torque(robot: Robot, motion: Stack, order: int) -> Jet:
    """The same with the friction of the motors that turn with their links."""
    return with_springs(robot, motion, link_friction(robot, motion[1:], order))


def with_springs(robot: Robot, motion: Stack, friction: Jet, needed: Sequence[int] | None = None) -> Jet:
    """A jet of friction with what parallel springs take; the same expressions if there are none."""
    if not robot.parallel_springs:
        return friction
    springs = parallel_torque(robot, motion, len(friction) - 1, needed)
    return [x - y for x, y in zip(friction, springs)]


def parallel_torque(robot: Robot, motion: Stack, order: int, needed: Sequence[int] | None = None) -> Jet:
    """Jet of the torque of parallel springs on the links, law(q₀ − q) and its derivatives; 0 without one.

    A follower at k q + c adds k law(q₀ − k q − c) to its leader.
    """
    found = [zeros(robot.n) for _ in range(order + 1)]
    for moving in robot.parallel_springs:
        i = moving.coordinate
        often = order if needed is None else min(order, needed[i])
        for k, x in enumerate(spring_jet(moving, [x[i] for x in motion[: often + 1]])):
            found[k][i] += moving.ratio * x
    return found


def spring_jet(moving: MovingJoint, q: Jet) -> Jet:
    """[τ, τ', ...] of the parallel spring of a joint on its link, as many as of its coordinate."""
    joint, law = moving.joint, parallel_spring(moving).spring
    if len(q) - 1 > law.smoothness:
        raise InputError(
            f"the parallel spring of joint '{joint.name}' is differentiated {len(q) - 1} times here, and a {law.name} "
            f"has {law.smoothness:g} derivatives; use a CubicSpring or a HardeningSpring"
        )
    return law_jet(law, [deflection(moving, q[0]), *(-(moving.ratio * x) for x in q[1:])])


def parallel_spring(moving: MovingJoint) -> ParallelSpring:
    """The parallel spring of a joint that has one."""
    return moving.joint.parallel_spring  # type: ignore[return-value]


def deflection(moving: MovingJoint, q: Scalar) -> Scalar:
    """Deflection of a parallel spring, from the coordinate of its joint."""
    return parallel_spring(moving).rest - (moving.ratio * q + moving.offset)


def parallel_energy(robot: Robot, q: Expression) -> Expression:
    """Elastic energy of all parallel springs."""
    springs = robot.parallel_springs
    return sum((parallel_spring(x).spring.energy(deflection(x, q[x.coordinate])) for x in springs), zeros(1))


def parallel_stiffness(robot: Robot, q: Expression) -> Expression:
    """−∂τ/∂q of the parallel springs (n,), 0 where there is none."""
    found = zeros(robot.n)
    for x in robot.parallel_springs:
        slope = parallel_spring(x).spring.gradients(deflection(x, q[x.coordinate]), 1)[0]
        found[x.coordinate] += x.ratio * x.ratio * slope
    return found
