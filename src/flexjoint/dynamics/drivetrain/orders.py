"""Which motors each link equation of the complete model contains, and how smooth a motion must be therefore.

Link equation i contains θ_j'' through S_ij and θ_j' through C_rotor  [Hoepler (4), (6), (7)], so that θ_i follows from
q after all θ_j it contains: a directed graph over the elastic joints, i → j.  Inverse dynamics solves it from its ends,
and can if and only if it has no cycle.  Differentiating equation i as often as others need derivatives of θ_i gives the
orders  [Hoepler sec. III]: 2N for motors in general position, N + 1 for orthogonal, coaxial ones from N = 3 on.  For
N = 7 of these the paper has 12, but a link equation contains only θ', not θ'', of its neighbour.

Behind a damped spring θ is the output of a filter.  Its own motor needs one differentiation less, but all derivatives
of θ that others need come with the highest of them (`damped_spring.py`).

Joints that share a transmission are eliminated as one block: each of their motors follows from the equations of all.

A zero of S or C_rotor counts only if it is one for every q, and that is decided exactly: the products of rotations
between the two joints are evaluated in integers modulo a prime, with the floats of the robot as the fractions they
are and a rotation of rational sine and cosine, drawn at random, at each joint.  A quantity that is not identically zero
vanishes there with a probability below 1e-15.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from ... import numerics
from ...drives import Motor
from ...errors import InputError
from ...robot import Joint, Robot, a_robot
from ...spatial import is_zero
from ...types import FloatArray
from ..recursion.bodies import BEHIND_SPRINGS, rotor_place

PRIME = 2**61 - 1
Vector = tuple[int, int, int]
Rotation = tuple[Vector, Vector, Vector]  # rows
Z: Vector = (0, 0, 1)
STILL: Rotation = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


class JointOrders(NamedTuple):
    """What a joint's link equation contains, and how often it is differentiated."""

    accelerations: tuple[int, ...]  # elastic joints j whose θ_j'' it contains, through S; of two motors that of either
    velocities: tuple[int, ...]  # those of which it contains θ_j' alone, through C_rotor
    differentiations: int  # of the link equation; θ is known to as many derivatives, and to two for its motor
    motion: int  # the highest derivative of q that the joint's own motor torque depends on


class Orders(NamedTuple):
    """An entry per moving joint; `elimination` lists the elastic joints, each after all those its equation contains."""

    joints: tuple[JointOrders, ...]
    elimination: tuple[int, ...]

    @property
    def differentiations(self) -> int:
        return max((joint.differentiations for joint in self.joints), default=0)

    @property
    def motion(self) -> int:
        """The highest derivative of q that inverse dynamics needs."""
        return max((joint.motion for joint in self.joints), default=2)


def joint_order(joint: Joint) -> int:
    """Highest derivative of q that the joint's motor torque depends on, alone: its relative degree in Spong's model."""
    if not isinstance(joint.drive, BEHIND_SPRINGS):
        return 2
    return 4 if is_zero(joint.drive.damping) else 3


def derivative_orders(robot: Robot, moving_base: bool = False) -> Orders:
    """Derivatives of q that inverse dynamics needs, per joint.

    Args:
        robot: Any robot.
        moving_base: Whether the base turns, so that every rotor in the subtree of a link may enter its equation; False
            by default.

    Returns:
        Orders; `.motion` is the highest derivative of q.

    Raises:
        InputError: Link equations of the complete model contain each other's motors in a cycle.

    Example:
        >>> import flexjoint as fj
        >>> fj.dynamics.derivative_orders(fj.load("kuka_lwr")).motion
        4
    """
    contained = link_equations(a_robot("derivative_orders", robot), moving_base)
    if cycle := find_cycle(contained, robot.compliant):
        raise InputError(refusal(robot, cycle))
    order = elimination_order(contained, robot.compliant)
    own = [joint_order(joint) - 2 for joint in robot.joints]
    together = {i: group for group in robot.transmission_joints for i in group}
    own = [max(own[j] for j in together.get(i, (i,))) for i in range(robot.n)]
    often = list(own)
    for i in reversed(order):  # first those that nobody waits for
        for j, steps in contained[i].items():
            for k in together.get(j, (j,)):
                often[k] = max(often[k], often[i] + steps)

    @cache
    def motion(i: int, k: int) -> int:
        """Highest derivative of q that the k-th one of τ_e contains; behind a damped spring all contain the same."""
        k = often[i] if any(robot.damped[j] for j in together.get(i, (i,))) else k
        return max([k + 2, *(motion(j, k + steps) for j, steps in contained[i].items())])

    joints = [
        JointOrders(
            tuple(j for j, steps in contained[i].items() if steps == 2),
            tuple(j for j, steps in contained[i].items() if steps == 1),
            often[i],
            motion(i, own[i]),
        )
        for i in range(robot.n)
    ]
    return Orders(tuple(joints), tuple(order))


def stiffness_order(robot: Robot, moving_base: bool = False) -> int:
    """Highest derivative of the stiffness that inverse dynamics needs: 2, or more where others need the motors."""
    joints = derivative_orders(robot, moving_base).joints
    return max([2, *(x.differentiations for x, two in zip(joints, robot.variable_stiffness) if two)])


# The graph --------------------------------------------------------------------------------------------------------


def link_equations(robot: Robot, moving_base: bool = False) -> list[dict[int, int]]:
    """For each link equation {j: 2 where it contains θ_j'', 1 where θ_j' alone}, over the elastic joints.

    The equation of a leader contains what those of its followers contain, as if all moved independently: motors that
    cancel between them are not left out.
    """
    contained: list[dict[int, int]] = [{} for _ in robot.joints]
    if robot.fidelity != "complete":
        return contained
    turned = turned_joints(robot)
    for i, coordinate in enumerate(robot.coordinates):
        if coordinate is None or not robot.links[i].joint.kind.turns:
            continue
        inside = subtree(robot, i)
        for j, carrier, motor in rotors_behind_springs(robot):
            if carrier in inside:
                axis = exact(on_body(robot, carrier, rotor_place(robot, j, motor)[1]))
                if steps := contains(robot, turned, i, carrier, axis, moving_base):
                    known = contained[coordinate].get(robot.coordinates[j], 0)  # type: ignore[arg-type]
                    contained[coordinate][robot.coordinates[j]] = max(steps, known)  # type: ignore[index]
    for group in robot.transmission_joints:  # an equation of a block counts as containing what the others contain
        motors = sorted({j for i in group for j in contained[i]})
        union = {j: max(contained[i].get(j, 0) for i in group) for j in motors}
        for i in group:
            contained[i] = dict(union)
    return contained


def rotors_behind_springs(robot: Robot) -> Iterator[tuple[int, int, Motor]]:
    """Link of its joint, carrier and motor of each rotor with a coordinate of its own; a joint may have two."""
    for j, link in enumerate(robot.links):
        if isinstance(link.joint.drive, BEHIND_SPRINGS):
            for k, motor in enumerate(link.joint.drive.motors):
                if motor.gear_ratio is not None:
                    yield j, robot.carrier(j, k), motor


def blocks(robot: Robot, order: Sequence[int]) -> list[tuple[int, ...]]:
    """Joints in an order, those that share a transmission together at the place of their first."""
    together = {i: group for group in robot.transmission_joints for i in group}
    return list(dict.fromkeys(together.get(i, (i,)) for i in order))


def contains(robot: Robot, turned: Sequence[Rotation], i: int, carrier: int, axis: Vector, moving_base: bool) -> int:
    """2 if z_iᵀa ≠ 0; 1 if z_iᵀ(z_m × a) ≠ 0 for a joint m that turns the carrier; else 0: in the frame of link i."""
    a = seen_from(robot, turned, i, carrier, axis)
    if a[2]:
        return 2
    if moving_base and (a[0] or a[1]):
        return 1
    for m in robot.path(carrier):
        if not robot.links[m].joint.kind.turns:
            continue
        below = m in robot.path(i)
        z = turned_into(robot, turned, m, i, Z) if below else seen_from(robot, turned, i, m, Z)
        if (z[0] * a[1] - z[1] * a[0]) % PRIME:
            return 1
    return 0


def subtree(robot: Robot, link: int) -> set[int]:
    return {k for k in range(len(robot.links)) if link in robot.path(k)}


def find_cycle(contained: Sequence[dict[int, int]], elastic: Sequence[bool]) -> list[int]:
    """Elastic joints whose equations contain each other in a circle, the first of them also last; none if empty."""

    def visit(i: int, path: list[int]) -> Iterator[list[int]]:
        if i in path:
            yield [*path[path.index(i) :], i]
        elif i not in done:
            for j in contained[i]:
                yield from visit(j, [*path, i])
            done.add(i)

    done: set[int] = set()
    starts = [i for i, springy in enumerate(elastic) if springy]
    return next((cycle for i in starts for cycle in visit(i, [])), [])


def elimination_order(contained: Sequence[dict[int, int]], elastic: Sequence[bool]) -> list[int]:
    """The elastic joints, tips first, each after all those its equation contains."""
    order: list[int] = []

    def visit(i: int) -> None:
        if i not in order:
            for j in sorted(contained[i], reverse=True):
                visit(j)
            order.append(i)

    for i in reversed([i for i, springy in enumerate(elastic) if springy]):
        visit(i)
    return order


def refusal(robot: Robot, cycle: Sequence[int]) -> str:
    names = [robot.joints[i].name for i in cycle]
    shown = " -> ".join(f"'{name}'" for name in names)
    which = f"the motor of {shown.split(' -> ')[0]} is in its own link equation" if len(cycle) == 2 else shown
    return (
        f"{robot.name}: the complete model has no finite inverse dynamics: {which}, so that the motion of the links "
        "does not determine the motors algebraically; they have internal dynamics S θ'' + C_rotor − K θ = ..., whose "
        "state the links do not tell.  Use robot.with_fidelity('spong'), move a motor of this cycle to its joint's "
        "parent link, or turn its axis; forward_dynamics and generalized_forces take the robot as it is"
    )


# Exact geometry -----------------------------------------------------------------------------------------------------


def turned_joints(robot: Robot) -> list[Rotation]:
    """For each body the rotation from its frame to its parent's, turning joints at a random rational angle."""
    numbers = random.Random(20041)
    found = []
    for link, parent in zip(robot.links, robot.parents):
        axes = link.joint.turned_axes
        mount = link.joint.rotation if axes is None else numerics.product(link.joint.rotation, axes)
        R: Rotation = tuple(exact(row) for row in on_body(robot, parent, mount))  # type: ignore[assignment]
        if link.joint.kind.turns:
            t = numbers.randrange(2, PRIME)
            scale = pow(1 + t * t, -1, PRIME)
            c, s = (1 - t * t) * scale % PRIME, 2 * t * scale % PRIME
            R = product(R, ((c, -s, 0), (s, c, 0), Z))
        found.append(R)
    return found


def on_body(robot: Robot, link: int, x: FloatArray) -> FloatArray:
    """Columns (3, ...) in the frame of a link, −1 for the base, in that of its body, whose z is the joint axis."""
    axes = robot.links[link].joint.turned_axes if link >= 0 else None
    return x if axes is None else numerics.product(axes.T, x)


def exact(vector: Any) -> Vector:
    """Floats as the fractions they are, modulo the prime."""
    fractions = [Fraction(float(x)) for x in vector]
    return tuple(x.numerator * pow(x.denominator, -1, PRIME) % PRIME for x in fractions)  # type: ignore[return-value]


def seen_from(robot: Robot, turned: Sequence[Rotation], i: int, k: int, x: Vector) -> Vector:
    """A vector of link k in the frame of link i, which carries it."""
    while k != i:
        x = applied(turned[k], x)
        k = robot.parents[k]
    return x


def turned_into(robot: Robot, turned: Sequence[Rotation], i: int, k: int, x: Vector) -> Vector:
    """A vector of link i in the frame of link k, which it carries."""
    for link in robot.path(k)[len(robot.path(i)) :]:
        x = applied(tuple(zip(*turned[link])), x)  # type: ignore[arg-type]
    return x


def applied(R: Rotation, x: Vector) -> Vector:
    return tuple(sum(a * b for a, b in zip(row, x)) % PRIME for row in R)  # type: ignore[return-value]


def product(R: Rotation, Q: Rotation) -> Rotation:
    return tuple(zip(*(applied(R, column) for column in zip(*Q))))  # type: ignore[return-value]


# Telling ------------------------------------------------------------------------------------------------------------


def explain_orders(robot: Robot) -> str:
    """Print which motors each link equation contains and which derivatives of q follow from that; returns the text.

    Example:
        >>> import flexjoint as fj
        >>> orders = fj.explain_orders(fj.load("hua_3r"))  # doctest: +ELLIPSIS
        hua_3r, spong model
        ...
    """
    contained = link_equations(a_robot("explain_orders", robot))
    cycle = find_cycle(contained, robot.compliant)
    orders = None if cycle else derivative_orders(robot)
    rows: list[tuple[str, ...]] = [("joint", "drive", "motor on", "θ'' of", "θ' of", "differentiated", "τ needs")]
    moving = [x.link for x in robot.moving_joints if not x.follows]
    for i, joint in enumerate(robot.joints):
        carriers = [robot.carrier(moving[i], k) for k in range(len(joint.drive.motors))] if joint.drive else []
        names = [[robot.joints[j].name for j, n in contained[i].items() if n == steps] for steps in (2, 1)]
        rows.append(
            (
                joint.name,
                "variable"
                if robot.variable_stiffness[i]
                else "elastic"
                if robot.compliant[i]
                else "rigid"
                if joint.drive
                else "none",
                " ".join(robot.links[k].name if k >= 0 else "base" for k in carriers) or "-",
                *(" ".join(x) or "-" for x in names),
                str(orders.joints[i].differentiations) if orders else "?",
                f"q … q⁽{superscript(orders.joints[i].motion)}⁾" if orders else "?",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [f"{robot.name}, {robot.fidelity} model"]
    lines += ["  ".join(x.ljust(w) for x, w in zip(row, widths)).rstrip() for row in rows]
    lines.append(f"inverse dynamics: q and its first {orders.motion} derivatives" if orders else refusal(robot, cycle))
    text = "\n".join(lines)
    print(text)
    return text


def superscript(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
