"""Inverse dynamics of the complete model: from the motion of the links to that of the motors, equation by equation.

Source: [Hoepler sec. V-B, Algorithm 1] and what it leaves as future work: rigid joints among elastic ones, trees, motors on
any link, friction, springs that are not linear, a moving base.  One outward sweep with the motion of the links and one
inward with their loads are those of `newton_euler.py`; then the elastic joints are solved in the order of `orders.py`,

    τ_e,i⁽ᵏ⁾ = [N_i + Σ_j (L_j' + ω × L_j)]⁽ᵏ⁾ · z,  L_j = η_j I_j θ_j' a_j,    θ_i⁽ᵏ⁾ = q_i⁽ᵏ⁾ + φ(τ_e,i)⁽ᵏ⁾,

as often differentiated as the equations of others need it.  The rotors' moments are carried inwards together wherever
the same of them are on their way.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from ..robot import Robot
from ..spatial import Jet, ca, sx, zeros
from .bodies import frames, moving_bodies, rotors, tied_rotors
from .deflection import spring_motion
from .friction import joint_friction
from .newton_euler import (
    carrier_torque_jet,
    checked_base,
    checked_wrenches,
    gyroscopic,
    joint_step,
    newton_euler,
    spins_of,
    turn_back,
)
from .orders import derivative_orders


# joints times (order + 1)², as in newton_euler.py; a loop computes all orders for all links, of which few are used: on
# the 7R with orthogonal axes 22141 operations instead of 9017, with general axes 63325 instead of 39888
LOOP_FROM = 2000


class Eliminated(NamedTuple):
    """Torque passed to each link, [φ, φ', φ''] of each joint, and what it takes to turn the rotors with their carriers."""

    tau_e: Any
    deflections: list[Jet]
    at_motors: Any


def eliminated(robot: Robot, q: Sequence[Any], wrenches: Any = None, base: Any = None) -> Eliminated:
    """Torques and deflections of all joints, from [q, q', ...] with as many derivatives as `derivative_orders` asks."""
    orders = derivative_orders(robot, base is not None)
    top = orders.differentiations
    tree, place = moving_bodies(robot), frames(robot)
    at = [(place[link], stack) for link, stack in checked_wrenches(robot, wrenches, top)]
    tied = spins_of(tied_rotors(robot), q)
    moving_base = checked_base(base, top)
    motions, loads = newton_euler(tree, q, sx(robot.gravity), top, moving_base, at, tied, loop_from=LOOP_FROM)
    friction = joint_friction(robot, q[1:], top)
    steps = [joint_step(body, q, top) for body in tree]
    spinning = {rotor.coordinate: rotor for rotor in rotors(robot) if rotor.elastic}
    theta: dict[int, Jet] = {}

    @cache
    def moment(body: int, motors: frozenset[int], order: int) -> Jet:
        """Of these rotors, about a body's frame."""
        own = [spinning[j] for j in motors if spinning[j].body == body]
        jets = [gyroscopic(motions[body], rotor, momentum(rotor.coordinate, order), order).N for rotor in own]
        for child, above in enumerate(tree):
            if above.parent == body and (further := motors & carried[child]):
                jets.append([above.R @ x for x in turn_back(steps[child], moment(child, further, order))])
        return [sum(x, zeros(3)) for x in zip(*jets)]

    def momentum(j: int, order: int) -> Jet:
        """η I θ' and derivatives; those beyond the known have zero factors wherever they are asked for."""
        jet = [*theta[j], *[zeros(1)] * (order + 3 - len(theta[j]))]
        return [spinning[j].momentum * x for x in jet[1 : order + 3]]

    carried = [set[int]() for _ in tree]
    for j, rotor in spinning.items():
        body = rotor.body
        while body >= 0:
            carried[body].add(j)
            body = tree[body].parent

    tau_e: list[Any] = [None] * robot.n
    deflections: list[Jet] = [[]] * robot.n
    rigid = [i for i in range(robot.n) if not robot.elastic[i]]
    for i in [*orders.elimination, *rigid]:
        joint, body = orders.joints[i], tree[i]
        order = joint.differentiations
        torque = [x[2] for x in (loads[i].N if body.kind == "revolute" else loads[i].F)[: order + 1]]
        if motors := frozenset((*joint.accelerations, *joint.velocities)):
            torque = [x + y[2] for x, y in zip(torque, moment(i, motors, order))]
        torque = [x + y[i] for x, y in zip(torque, friction)]
        tau_e[i], deflections[i] = torque[0], spring_motion(robot.joints[i], torque)
        theta[i] = [x[i] + y for x, y in zip(q, deflections[i])]

    at_motors = zeros(robot.n)
    for rotor in rotors(robot):
        at_motors[rotor.coordinate] = carrier_torque_jet(rotor, motions, 0)[0]
    return Eliminated(ca.vertcat(*tau_e), [jet[:3] for jet in deflections], at_motors)
