"""Momentum of bodies and spinning rotors: sums over the tree, in O(N)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...robot import Robot
from ...spatial import Inertia, ca, cross, zeros
from .bodies import Body, Frame, Rotor, rotors
from .kinematics import Velocity, carried_loads


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
