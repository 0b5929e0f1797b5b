"""Kinetic and potential energy, momentum: sums over the bodies, in O(N)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...algorithm.api import algorithm
from ...robot import Robot
from ...spatial import Inertia, ca, cross, sx, total, zeros
from .bodies import Body, Frame, Rotor, bodies, moving_bodies, own_frame, rigid_motor_inertia, rotors, tied_rotors
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


class Spin(NamedTuple):
    """A rotor and its speed θ', after the reduction and relative to its carrier."""

    rotor: Rotor
    rate: Any

    @property
    def momentum(self) -> Any:
        """η I_axial θ' a, in the carrier's frame."""
        return self.rotor.momentum * self.rate * self.rotor.axis


def spins(robot: Robot, v: Any, theta_v: Any = None, place: Sequence[Frame] | None = None) -> list[Spin]:
    """Of the rotors that turn rigidly with their joints, θ' = q', and with `theta_v` of those behind springs too."""
    return [
        Spin(rotor, (theta_v if rotor.elastic else v)[rotor.coordinate])
        for rotor in rotors(robot, place)
        if theta_v is not None or not rotor.elastic
    ]


def carrier_velocity(motions: Sequence[Any], rotor: Rotor) -> Any:
    return motions[rotor.body].omega if rotor.body >= 0 else zeros(3)


def turned_along(rotor: Rotor, motions: Sequence[Velocity]) -> Any:
    """η I_axial a·ω: what of a rotor's momentum comes from its carrier."""
    return rotor.momentum * ca.dot(rotor.axis, carrier_velocity(motions, rotor))


def subtree_momenta(
    tree: list[Body], q: Any, motions: list[Velocity], spinning: Sequence[Spin] = ()
) -> list[tuple[Any, Any]]:
    """Linear and angular momentum of each body and all that it carries, about the body's frame."""
    momenta = [body_momentum(body.inertia, motion) for body, motion in zip(tree, motions)]
    for spin in spinning:
        if spin.rotor.body >= 0:
            linear, angular = momenta[spin.rotor.body]
            momenta[spin.rotor.body] = linear, angular + spin.momentum
    return carried_loads(tree, q, momenta)


@algorithm("energy")
def kinetic_energy(robot: Robot, q, v):
    """Of the links, and of the motors that turn rigidly with them: ½ vᵀ M(q) v."""
    tree = moving_bodies(robot)
    motions = velocities(tree, q, v)
    energy = ca.dot(rigid_motor_inertia(robot) * v, v)
    for spin in spins(robot, v):
        energy += 2 * ca.dot(carrier_velocity(motions, spin.rotor), spin.momentum)
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
    p = along_joints(tree, subtree_momenta(tree, q, motions, spins(robot, v)))
    p += rigid_motor_inertia(robot) * v
    for rotor in tied_rotors(robot):
        p[rotor.coordinate] += turned_along(rotor, motions)
    return p


@algorithm(Momentum)
def momentum(robot: Robot, q, v):
    """Linear momentum of all links, and their angular momentum about the base origin, in base coordinates.

    In the complete model with the spin of the motors that turn rigidly with their joints.
    """
    tree = bodies(robot)
    placed = poses(tree, q)
    linear, angular = zeros(3), zeros(3)
    for spin in spins(robot, v, place=[own_frame(i) for i in range(len(tree))]):
        k = spin.rotor.body
        angular += placed[k].rotation @ spin.momentum if k >= 0 else spin.momentum
    for body, motion, pose in zip(tree, velocities(tree, q, v), placed):
        l, k = (pose.rotation @ x for x in body_momentum(body.inertia, motion))
        linear, angular = linear + l, angular + k + cross(pose.position, l)
    return Momentum(linear, angular)
