"""Inverse dynamics of the complete model: from the motion of the links to that of the motors, equation by equation.

Source: [Hoepler sec. V-B, Algorithm 1]; beyond it rigid joints among elastic ones, trees, motors on any link, friction,
springs that are not linear, a moving base.  One outward sweep with the motion of the links and one inward with their
loads are those of `newton_euler.py`; then the elastic joints are solved in the order of `orders.py`,

    τ_e,i⁽ᵏ⁾ = [N_i + Σ_j (L_j' + ω × L_j)]⁽ᵏ⁾ · z,  L_j = η_j I_j θ_j' a_j,    θ_i⁽ᵏ⁾ = q_i⁽ᵏ⁾ + φ(τ_e,i)⁽ᵏ⁾,

each differentiated as often as others need it; behind a damped spring φ is the output of a filter.  The moments of
rotors are carried inwards together wherever the same equations contain them.  Derivatives are not scaled: every term of
an equation has the unit of time to the same power, so scaled ones round alike; up to order 24 (12 joints in general
position) the torques differ from 200-bit arithmetic by less than 2e-15 of the largest (docs/rotors.md).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias

from ...robot import Robot
from ...spatial import ca, sx, zeros
from ...types import Expression, Jet, Stack
from ..loads import Base, Wrenches, checked_base, checked_wrenches
from ..recursion.bodies import frames, moving_bodies, rotors, tied_rotors
from ..recursion.composite_bodies import ancestors
from ..recursion.joint_jets import joint_motion
from ..recursion.newton_euler import carrier_torque_jet, gyroscopic, newton_euler, spins_of
from .friction import joint_friction
from .orders import derivative_orders
from .springs import spring_motion

# Joints times (order + 1)², as in newton_euler.py.  A loop computes all orders of all links, of which few are used: on
# the 7R with orthogonal axes 22141 operations instead of 9017, with general axes 63325 instead of 39888.
LOOP_FROM = 2000

Deflection: TypeAlias = Callable[[int, Jet], Jet]


class Eliminated(NamedTuple):
    """Torque passed to each link, [φ, φ', φ'', ...] of each joint as far as others need it, and what turning the rotors
    with their carriers takes."""

    tau_e: Expression
    deflections: list[Jet]
    at_motors: Expression
    torques: list[Jet]  # [τ_e, τ_e', ...] of each joint, as often as its equation is differentiated


def eliminated(
    robot: Robot, q: Stack, wrenches: Wrenches = None, base: Base = None, deflected: Deflection | None = None
) -> Eliminated:
    """Torques and deflections of all joints, from [q, q', ...] with as many derivatives as `derivative_orders` asks.

    deflected: (joint, [τ_e, τ_e', ...]) -> [φ, φ', ...] of a joint; by default its spring without damping.
    """
    orders = derivative_orders(robot, base is not None)
    top = orders.differentiations
    tree, place = moving_bodies(robot), frames(robot)
    at = [(place[link], stack) for link, stack in checked_wrenches(robot, wrenches, top)]
    tied = spins_of(tied_rotors(robot), q)
    moving_base = checked_base(base, top)
    motions, loads = newton_euler(tree, q, sx(robot.gravity), top, moving_base, at, tied, loop_from=LOOP_FROM)
    joints = [joint_motion(body, q, top) for body in tree]
    friction = joint_friction(robot, q[1:], top)
    spinning = {rotor.coordinate: rotor for rotor in rotors(robot) if rotor.elastic and rotor.body >= 0}
    parents = [body.parent for body in tree]
    above = {j: {rotor.body, *ancestors(rotor.body, parents)} for j, rotor in spinning.items()}
    theta: dict[int, Jet] = {}

    def momentum(j: int, order: int) -> Jet:
        """η I θ' and derivatives; those beyond the known have zero factors wherever they are asked for."""
        known = theta[j][1 : order + 3]
        return [spinning[j].momentum * x for x in [*known, *[zeros(1)] * (order + 2 - len(known))]]

    @cache
    def moment(i: int, motors: frozenset[int], order: int) -> Jet:
        """What these rotors ask of body i and all that it carries."""
        own = [j for j in motors if spinning[j].body == i]
        jets = [gyroscopic(motions[i], spinning[j], momentum(j, order), order).N for j in own]
        for k in [k for k, parent in enumerate(parents) if parent == i]:
            if beyond := frozenset(j for j in motors if k in above[j]):
                jets.append([tree[k].R @ x for x in joints[k].out_of(moment(k, beyond, order))])
        return [sum(x, zeros(3)) for x in zip(*jets)]

    torques: list[Jet] = [[]] * robot.n
    deflections: list[Jet] = [[]] * robot.n
    rigid = [i for i, elastic in enumerate(robot.compliant) if not elastic]
    for i in [*orders.elimination, *rigid]:
        joint = orders.joints[i]
        order = joint.differentiations
        screw, (F, N) = tree[i].screw, loads[i]
        torque = [screw.effort(F[k], N[k]) + friction[k][i] for k in range(order + 1)]
        if motors := frozenset((*joint.accelerations, *joint.velocities)):
            torque = [x + screw.effort(zeros(3), y) for x, y in zip(torque, moment(i, motors, order))]
        torques[i] = torque
        deflections[i] = deflected(i, torque) if deflected else spring_motion(robot.joints[i], torque)
        theta[i] = [x[i] + y for x, y in zip(q, deflections[i])]

    at_motors = zeros(robot.n)
    for rotor in rotors(robot):
        at_motors[rotor.coordinate] = carrier_torque_jet(rotor, motions, 0)[0]
    return Eliminated(ca.vertcat(*[jet[0] for jet in torques]), deflections, at_motors, torques)
