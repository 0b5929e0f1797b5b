"""Momentum of bodies and spinning rotors: sums over the tree, in O(N)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...robot import Robot
from ...spatial import Inertia, ca, cross, zeros
from ...types import Expression, Scalar, Vector
from ..drivetrain.coupling import undeflected
from .bodies import Body, Frame, Rotor, rotors
from .kinematics import Velocity, carried_loads


def body_momentum(inertia: Inertia, motion: Velocity) -> tuple[Vector, Vector]:
    """Linear momentum and angular momentum about the body's frame: ∫ (v + ω × r) dm, ∫ r × (v + ω × r) dm."""
    m, h, Sigma = inertia
    omega, v = motion.omega, motion.v
    linear = m * v + cross(omega, h)
    angular = cross(h, v) + ca.trace(Sigma) * omega - Sigma @ omega
    return linear, angular


class Spin(NamedTuple):
    """A rotor and its speed θ', after the reduction and relative to its carrier."""

    rotor: Rotor
    rate: Scalar

    @property
    def momentum(self) -> Vector:
        """η I_axial θ' a, in the carrier's frame."""
        return self.rotor.momentum * self.rate * self.rotor.axis


def spins(
    robot: Robot, v: Expression, theta_v: Expression | None = None, place: Sequence[Frame] | None = None
) -> list[Spin]:
    """Spins of the rotors that turn rigidly with their joints, θ' = T q'; with `theta_v` also those behind springs."""
    tied, found = undeflected(robot, v), []
    for rotor in rotors(robot, place):
        rate = theta_v if rotor.elastic else v if rotor.follows else tied
        if rate is not None:
            found.append(Spin(rotor, rate[rotor.coordinate]))
    return found


def carrier_velocity(motions: Sequence[Velocity], rotor: Rotor) -> Vector:
    """Angular velocity of the body that carries a rotor."""
    return motions[rotor.body].omega if rotor.body >= 0 else zeros(3)


def turned_along(rotor: Rotor, motions: Sequence[Velocity]) -> Scalar:
    """η I_axial a·ω, the part of a rotor's angular momentum that its carrier's rotation gives it."""
    return rotor.momentum * ca.dot(rotor.axis, carrier_velocity(motions, rotor))


def subtree_momenta(
    tree: list[Body], q: Expression, motions: list[Velocity], spinning: Sequence[Spin] = ()
) -> list[tuple[Vector, Vector]]:
    """Linear and angular momentum per body, with all that it carries, about the body's frame."""
    momenta = [body_momentum(body.inertia, motion) for body, motion in zip(tree, motions)]
    for spin in spinning:
        if spin.rotor.body >= 0:
            linear, angular = momenta[spin.rotor.body]
            momenta[spin.rotor.body] = linear, angular + spin.momentum
    return carried_loads(tree, q, momenta)
