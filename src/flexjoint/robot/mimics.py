"""Joints that follow others: which coordinate moves each joint, and what a follower asks of its leader.

A follower's position is k · (position of its leader) + c.  Along a chain of followers the ratios multiply, so that
every moving joint has the position

    q_joint = ratio · y + offset

of one independent coordinate y: q = G y + c for all of them, with velocities, accelerations and all further derivatives
through G alone, and torques τ_y = Gᵀτ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..checks import check_number
from ..drives import RigidDrive
from ..errors import RobotError, listed, shown
from ..types import Scalar
from .parts import Joint, Limits, Link, Mimic


class MovingJoint(NamedTuple):
    """A moving joint and the coordinate that moves it: its position is ratio · q[coordinate] + offset.

    Attributes:
        link: Index of the joint's link.
        joint: The joint itself.
        coordinate: Index in q.
        ratio: 1 for a joint that follows no other.
        offset: 0 for a joint that follows no other; rad or m.
    """

    link: int
    joint: Joint
    coordinate: int
    ratio: Scalar
    offset: Scalar

    @property
    def follows(self) -> bool:
        """Whether the joint follows another one."""
        return self.joint.mimic is not None


def moving_joints(links: Sequence[Link]) -> tuple[MovingJoint, ...]:
    """The moving joints, followers among them, in the order of the links."""
    moving = [(i, link.joint) for i, link in enumerate(links) if link.joint.moves]
    by_name = {joint.name: joint for _, joint in moving}
    coordinates = {name: k for k, name in enumerate(x.name for _, x in moving if x.mimic is None)}

    def placed(joint: Joint) -> tuple[int, Scalar, Scalar]:
        """Coordinate, ratio and offset of a joint, from the joint towards its leaders."""
        ratio, offset = 1.0, 0.0
        while (mimic := joint.mimic) is not None:
            offset = ratio * mimic.offset + offset
            ratio, joint = ratio * mimic.ratio, by_name[mimic.joint]
        return coordinates[joint.name], ratio, offset

    return tuple(MovingJoint(i, joint, *placed(joint)) for i, joint in moving)


def joint_limits(moving: Sequence[MovingJoint]) -> tuple[Limits, ...]:
    """Limits per coordinate: those of the joint itself, tightened by those of its followers, (· − c)/k.

    Efforts are of motors, which followers do not share with their leaders.
    """
    found = {x.coordinate: x.joint.limits for x in moving if not x.follows}
    for follower in moving:
        if follower.follows:
            found[follower.coordinate] = tightened(found[follower.coordinate], follower)
    return tuple(found[k] for k in range(len(found)))


def tightened(limits: Limits, follower: MovingJoint) -> Limits:
    """Limits of a leader that keep a follower within its own."""
    own, k, c = follower.joint.limits, follower.ratio, follower.offset
    ends = sorted([(own.lower - c) / k, (own.upper - c) / k])
    return Limits(
        max(limits.lower, ends[0]),
        min(limits.upper, ends[1]),
        min(limits.velocity, own.velocity / abs(k)),
        limits.effort,
        min(limits.acceleration, own.acceleration / abs(k)),
        min(limits.jerk, own.jerk / abs(k)),
        limits.torque_rate,
    )


# What every robot must fulfil ---------------------------------------------------------------------------------------


def check_mimics(links: Sequence[Link]) -> None:
    """Refuse followers without a moving leader, in a cycle, with a ratio of 0 or a spring, and contradicting limits."""
    joints = {link.joint.name: link.joint for link in links}
    for joint in joints.values():
        if joint.mimic is not None:
            check_mimic(joint, joint.mimic, joints)
    refuse_cycle(joints)
    moving = moving_joints(links)
    if not any(x.follows for x in moving):
        return
    leaders = [x.joint for x in moving if not x.follows]
    for follower in moving:
        ratio, offset = follower.ratio, follower.offset
        if not (math.isfinite(ratio) and ratio and math.isfinite(offset)):
            raise RobotError(
                f"joint '{follower.joint.name}' follows '{leaders[follower.coordinate].name}' with the ratio {ratio:g} "
                f"and the offset {offset:g} over all joints between them: give numbers within the range of floats"
            )
    for k, limits in enumerate(joint_limits(moving)):
        if limits.lower > limits.upper:
            names = listed([f"'{x.joint.name}'" for x in moving if x.follows and x.coordinate == k], most=4)
            raise RobotError(
                f"no position of joint '{leaders[k].name}' keeps it and its followers {names} within their limits: the "
                f"greatest lower limit is {limits.lower:g}, the least upper limit {limits.upper:g}; correct a limit, a "
                "ratio or an offset"
            )


def check_mimic(joint: Joint, mimic: Mimic, joints: dict[str, Joint]) -> None:
    """Refuse a follower that cannot follow."""
    name = joint.name
    leader = joints.get(mimic.joint) if isinstance(mimic.joint, str) else None
    if leader is None:
        known = listed(x.name for x in joints.values() if x.moves)
        raise RobotError(f"joint '{name}' follows the unknown joint {shown(mimic.joint)}; moving joints are: {known}")
    if not joint.moves:
        raise RobotError(f"joint '{name}' is fixed and cannot follow '{leader.name}': remove its mimic")
    if not leader.moves:
        raise RobotError(f"joint '{name}' follows '{leader.name}', which is fixed: name a moving joint")
    check_number("ratio of the mimic", name, mimic.ratio)
    check_number("offset of the mimic", name, mimic.offset)
    if mimic.ratio == 0:
        raise RobotError(
            f"joint '{name}' follows '{leader.name}' with the ratio 0 and never moves: make the joint fixed"
        )
    if not isinstance(joint.drive, RigidDrive | None):
        raise RobotError(
            f"joint '{name}' follows '{leader.name}' and has {type(joint.drive).__name__}: a follower's motor cannot "
            f"move against its leader; give the spring to '{leader.name}', and '{name}' a RigidDrive or no drive"
        )


def refuse_cycle(joints: dict[str, Joint]) -> None:
    """Refuse joints that follow each other."""
    for joint in joints.values():
        chain = [joint.name]
        while (mimic := joints[chain[-1]].mimic) is not None:
            if mimic.joint in chain:
                cycle = listed([*chain[chain.index(mimic.joint) :], mimic.joint], mark=" -> ")
                raise RobotError(f"the joints follow each other in a cycle, {cycle}: remove the mimic of one of them")
            chain.append(mimic.joint)
