"""Inverse dynamics of the complete model: from the motion of the links to that of the motors, equation by equation.

Source: [Hoepler sec. V-B, Algorithm 1]; beyond it rigid joints among elastic ones, trees, motors on any link, friction,
springs that are not linear, a moving base.  One outward sweep with the motion of the links and one inward with their
loads are those of `newton_euler.py`; then the elastic joints are solved in the order of `orders.py`,

    τ_e,i⁽ᵏ⁾ = [N_i + Σ_j (L_j' + ω × L_j)]⁽ᵏ⁾ · z,  L_j = η_j I_j θ_j' a_j,    θ_i⁽ᵏ⁾ = q_i⁽ᵏ⁾ + φ(τ_e,i)⁽ᵏ⁾,

each differentiated as often as others need it; behind a damped spring φ is the output of a filter.  Joints that share a
transmission are solved together, τ_e = T_a⁻ᵀτ and θ = T q + T_b φ (`coupling.py`).  The moments of
rotors are carried inwards together wherever the same equations contain them.  Derivatives are not scaled: every term of
an equation has the unit of time to the same power, so scaled ones round alike; up to order 24 (12 joints in general
position) the torques differ from 200-bit arithmetic by less than 2e-15 of the largest (docs/rotors.md).
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, MutableSequence, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

from ...robot import Robot
from ...spatial import ca, sx, total, zeros
from ...types import Expression, Jet, Stack
from ..links import follower_motors, tied_spins
from ..loads import Base, Wrenches, checked_base, checked_wrenches
from ..recursion.bodies import frames, moving_bodies, rotors
from ..recursion.composite_bodies import ancestors
from ..recursion.joint_jets import joint_motion
from ..recursion.newton_euler import carrier_torque_jet, gyroscopic, newton_euler
from .coupling import at_springs, by_deflection, undeflected
from .load_friction import supplied_at
from .orders import blocks, derivative_orders
from .passive import joint_passive_torque
from .springs import spring_motion
from .transmission import second_motors
from .variable_stiffness import Pair, pair_jets

# Joints times (order + 1)², as in newton_euler.py.  A loop computes all orders of all links, of which few are used: on
# the 7R with orthogonal axes 22141 operations instead of 9017, with general axes 63325 instead of 39888.
LOOP_FROM = 2000

Deflection: TypeAlias = Callable[[int, Jet], Jet]


class Eliminated(NamedTuple):
    """Torque passed to each link, [φ, φ', φ'', ...] of each spring as far as others need it, and what turning the
    rotors with their carriers takes."""

    tau_e: Expression
    deflections: list[Jet]
    at_motors: Expression
    torques: list[Jet]  # [τ_e, τ_e', ...] of each spring, as often as its joint's equation is differentiated
    pairs: dict[int, Pair]  # the operating points of joints of variable stiffness with [φ, φ', ...] of both motors


def eliminated(
    robot: Robot,
    q: Stack,
    wrenches: Wrenches = None,
    base: Base = None,
    deflected: Deflection | None = None,
    stiffness: Stack = (),
    warm_start: Expression | None = None,
) -> Eliminated:
    """Torques and deflections of all joints, from [q, q', ...] with as many derivatives as `derivative_orders` asks.

    deflected: (joint, [τ_e, τ_e', ...]) -> [φ, φ', ...] of a joint; by default its spring without damping.
    stiffness: [σ, σ', ...] of joints of variable stiffness, as often as their equations are differentiated.
    """
    orders = derivative_orders(robot, base is not None)
    top = orders.differentiations
    tree, place = moving_bodies(robot), frames(robot)
    at = [(place[link], stack) for link, stack in checked_wrenches(robot, wrenches, top)]
    ends = [undeflected(robot, x) for x in q]
    tied = tied_spins(robot, q)
    moving_base = checked_base(base, top)
    motions, loads = newton_euler(tree, q, sx(robot.gravity), top, moving_base, at, tied, loop_from=LOOP_FROM)
    joints = [joint_motion(body, q, top) for body in tree]
    passive = joint_passive_torque(robot, q, top, [joint.differentiations for joint in orders.joints])
    if robot.followers:
        passive = [x + y for x, y in zip(passive, follower_motors(robot, q, motions, top))]
    moved_by = [[k for k, body in enumerate(tree) if body.coordinate == i] for i in range(robot.n)]
    spinning = {rotor.coordinate: rotor for rotor in rotors(robot) if rotor.elastic and rotor.body >= 0}
    parents = [body.parent for body in tree]
    above = {j: {rotor.body, *ancestors(rotor.body, parents)} for j, rotor in spinning.items()}
    theta: dict[int, Jet] = {}  # by motor
    second, pairs = second_motors(robot), {}

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

    def torque(i: int) -> Jet:
        """Torque on link i, differentiated as often as others need it."""
        joint = orders.joints[i]
        order = joint.differentiations
        efforts = [[tree[b].screw.effort(F, N) for F, N in zip(*loads[b])] for b in moved_by[i]]
        jet = [total(x[k] for x in efforts) + passive[k][i] for k in range(order + 1)]
        moved = {*joint.accelerations, *joint.velocities}
        motors = (moved | {second[j] for j in moved if j in second}) & spinning.keys()
        for b in moved_by[i]:
            if beyond := frozenset(j for j in motors if b in above[j]):
                screw = tree[b].screw
                jet = [x + screw.effort(zeros(3), y) for x, y in zip(jet, moment(b, beyond, order))]
        return supplied_at(robot.joints[i], [x[i] for x in q[1 : order + 2]], jet)

    on_link: list[Jet] = [[]] * robot.n
    torques: list[Jet] = [[]] * robot.n
    deflections: list[Jet] = [[]] * robot.n
    rigid = [i for i, elastic in enumerate(robot.compliant) if not elastic]
    for block in blocks(robot, [*orders.elimination, *rigid]):
        for i in block:
            on_link[i] = torques[i] = torque(i)
        place_jets(robot, block, torques, at_springs)
        for i in block:
            if i in second:
                guess = None if warm_start is None else (warm_start[i], warm_start[second[i]])
                pairs[i] = pair_jets(robot.joints[i].drive, torques[i], [x[i] for x in stiffness], guess)
                deflections[i] = pairs[i].one
            else:
                deflections[i] = deflected(i, torques[i]) if deflected else spring_motion(robot.joints[i], torques[i])
            theta[i] = deflections[i]
        place_jets(robot, block, theta, by_deflection)
        for i in block:
            theta[i] = [x[i] + y for x, y in zip(ends, theta[i])]
            if i in second:
                c = pairs[i].c
                theta[second[i]] = [c * x[i] + y for x, y in zip(q, pairs[i].two)]

    at_motors = zeros(robot.motor_count)
    for rotor in rotors(robot):
        if rotor.follows:
            continue
        at_motors[rotor.coordinate] = carrier_torque_jet(rotor, motions, 0)[0]
    return Eliminated(ca.vertcat(*[jet[0] for jet in on_link]), deflections, at_motors, torques, pairs)


def place_jets(
    robot: Robot,
    block: Sequence[int],
    jets: MutableSequence[Jet] | MutableMapping[int, Jet],
    product: Callable[[Robot, Expression], Expression],
) -> None:
    """Put A x in place of the jets x of joints that share a transmission, order by order."""
    if len(block) == 1 and not robot.transmissions:
        return
    found: list[Expression] = []
    for k in range(min(len(jets[i]) for i in block)):
        x = zeros(robot.n)
        for i in block:
            x[i] = jets[i][k]
        found.append(product(robot, x))
    for i in block:
        jets[i] = [x[i] for x in found]
