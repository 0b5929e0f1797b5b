"""Kinetic and potential energy, momentum: sums over the bodies, in O(N)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..api import algorithm
from ..robot import Robot
from ..spatial import Inertia, ca, cross, sx, total, zeros
from .bodies import Body, Rotor, bodies, moving_bodies, own_frame, rigid_motor_inertia, rotors, tied_rotors
from .kinematics import Velocity, along_joints, carried_loads, poses, velocities


class Momentum(NamedTuple):
    """Linear momentum, and angular momentum about the base origin, in base coordinates."""

    linear: Any
    angular: Any


def body_momentum(inertia: Inertia, motion: Velocity) -> tuple[Any, Any]:
    """Linear momentum and angular momentum about the body's frame: ∫ (v + ω × r) dm, ∫ r × (v + ω × r) dm."""
    m, h, Sigma = inertia
    omega, v = motion.omega, motion.v
    linear = m * v + cross(omega, h)
    angular = cross(h, v) + ca.trace(Sigma) * omega - Sigma @ omega
    return linear, angular


def rotor_momentum(rotor: Rotor, v: Any) -> Any:
    """η I_axial q' a of a rotor that turns rigidly with its joint, relative to its carrier and in its frame."""
    return rotor.momentum * v[rotor.coordinate] * rotor.axis


def carrier_velocity(motions: Sequence[Velocity], rotor: Rotor) -> Any:
    return motions[rotor.body].omega if rotor.body >= 0 else zeros(3)


def subtree_momenta(tree: list[Body], q: Any, motions: list[Velocity]) -> list[tuple[Any, Any]]:
    """Linear and angular momentum of each body and all that it carries, about the body's frame."""
    return carried_loads(tree, q, [body_momentum(body.inertia, motion) for body, motion in zip(tree, motions)])


@algorithm("energy")
def kinetic_energy(robot: Robot, q, v):
    """Of the links, and of the motors that turn rigidly with them: ½ vᵀ M(q) v."""
    tree = moving_bodies(robot)
    motions = velocities(tree, q, v)
    energy = ca.dot(rigid_motor_inertia(robot) * v, v)
    for rotor in tied_rotors(robot):
        energy += 2 * ca.dot(carrier_velocity(motions, rotor), rotor_momentum(rotor, v))
    for body, motion in zip(tree, motions):
        linear, angular = body_momentum(body.inertia, motion)
        energy += ca.dot(linear, motion.v) + ca.dot(angular, motion.omega)
    return energy / 2


@algorithm("energy")
def potential_energy(robot: Robot, q):
    """Of the links in gravity, zero where all mass lies in the base origin."""
    tree = bodies(robot)
    placed = zip(tree, poses(tree, q))
    moments = [body.inertia.m * pose.position + pose.rotation @ body.inertia.h for body, pose in placed]
    return -ca.dot(sx(robot.gravity), total(moments))


@algorithm("momentum")
def generalized_momentum(robot: Robot, q, v):
    """p = M(q) v without M: one velocity and one momentum sweep."""
    tree = moving_bodies(robot)
    motions = velocities(tree, q, v)
    momenta = [body_momentum(body.inertia, motion) for body, motion in zip(tree, motions)]
    spin = rigid_motor_inertia(robot) * v
    for rotor in tied_rotors(robot):
        spin[rotor.coordinate] += rotor.momentum * ca.dot(rotor.axis, carrier_velocity(motions, rotor))
        if rotor.body >= 0:
            linear, angular = momenta[rotor.body]
            momenta[rotor.body] = linear, angular + rotor_momentum(rotor, v)
    return along_joints(tree, carried_loads(tree, q, momenta)) + spin


@algorithm(Momentum)
def momentum(robot: Robot, q, v):
    """Linear momentum of all links, and their angular momentum about the base origin, in base coordinates.

    In the complete model with the spin of the motors that turn rigidly with their joints.
    """
    tree = bodies(robot)
    placed = poses(tree, q)
    linear, angular = zeros(3), zeros(3)
    for rotor in rotors(robot, [own_frame(i) for i in range(len(tree))]):
        if not rotor.elastic:
            spin = rotor_momentum(rotor, v)
            angular += placed[rotor.body].rotation @ spin if rotor.body >= 0 else spin
    for body, motion, pose in zip(tree, velocities(tree, q, v), placed):
        l, k = (pose.rotation @ x for x in body_momentum(body.inertia, motion))
        linear, angular = linear + l, angular + k + cross(pose.position, l)
    return Momentum(linear, angular)
