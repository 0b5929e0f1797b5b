"""Pose of a link and its time derivatives along a motion, from the derivatives of the joint positions.

The orientation of a body is R = R_parent C R_z(x), its origin p = p_parent + R_parent (o + C z d); x and d are the
rotation and the translation of its joint, linear in q.  Leibniz' rule gives every derivative, with those of cos x and
sin x from cos' = −x' sin, sin' = x' cos.
"""

from __future__ import annotations

from math import comb

from ...algorithm.algorithm import algorithm
from ...errors import InputError
from ...robot import Robot
from ...spatial import ca, identity, leibniz, total, zeros
from ...types import Expression, Jet, Stack
from .bodies import Body, bodies, link_frames


@algorithm("pose", arrays=lambda robot, order=1, **_: order + 1)
def pose_derivatives(
    robot: Robot, q: Expression, *higher: Expression, order: int = 1, link: str | None = None
) -> list[Expression]:
    """Pose of a link's frame in base coordinates and its time derivatives along a motion.

    Args:
        q, higher: Joint positions and their derivatives up to `order`, each (..., n).
        order: Highest derivative; 1 by default.
        link: Name of the link; the tool by default.

    Returns:
        A list of order + 1 arrays (..., 3, 4): [R p], the rotation matrix and the origin, m, then their derivatives.

    Raises:
        InputError: Derivatives are missing.
        RobotError: There is no such link.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> [x.shape for x in fj.dynamics.pose_derivatives(fj.load("kuka_lwr"), *np.ones((3, 7)), order=2)]
        [(3, 4), (3, 4), (3, 4)]
    """
    stack = [q, *higher]
    if order < 0 or len(stack) < order + 1:
        raise InputError(
            f"pose_derivatives of order {order} needs q and its first {order} derivatives, "
            f"{len(higher)} derivatives were given"
        )
    tree, tip = bodies(robot), robot.link_index(link)
    R: Jet = [identity()] + [zeros(3, 3)] * order
    p: Jet = [zeros(3)] * (order + 1)
    for i in robot.path(tip):
        R, p = carried(tree[i], stack, R, p, order)
    frame = link_frames(robot)[tip]
    return [ca.horzcat(R[k] if frame.R.is_eye() else R[k] @ frame.R, p[k]) for k in range(order + 1)]


def carried(body: Body, stack: Stack, R: Jet, p: Jet, order: int) -> tuple[Jet, Jet]:
    """Jets of the orientation and the origin of a body, from those of its parent."""
    origin, turned = [body.p] + [zeros(3)] * order, [x @ body.R for x in R]
    if body.coordinate is None:
        return turned, [x + y @ body.p for x, y in zip(p, R)]
    q = [x[body.coordinate] for x in stack[: order + 1]]
    if body.screw.slides:
        origin = [origin[k] + body.R @ body.screw.linear(q[k]) for k in range(order + 1)]
        p = [x + y for x, y in zip(p, leibniz(lambda a, b: a @ b, R, origin, order))]
    else:
        p = [x + y @ body.p for x, y in zip(p, R)]
    if not body.screw.turns:
        return turned, p
    c, s = cosine_and_sine([body.screw.angular(x)[2] for x in q], order)
    x = [a[:, 0] for a in turned]
    y = [a[:, 1] for a in turned]
    first = [a + b for a, b in zip(leibniz(scaled, x, c, order), leibniz(scaled, y, s, order))]
    second = [a - b for a, b in zip(leibniz(scaled, y, c, order), leibniz(scaled, x, s, order))]
    return [ca.horzcat(a, b, z[:, 2]) for a, b, z in zip(first, second, turned)], p


def scaled(vector: Expression, factor: Expression) -> Expression:
    """A vector times a number."""
    return vector * factor


def cosine_and_sine(x: Stack, order: int) -> tuple[Jet, Jet]:
    """Jets of cos x and sin x."""
    c, s = [ca.cos(x[0])], [ca.sin(x[0])]
    for k in range(1, order + 1):
        rates = [(comb(k - 1, l) * x[k - l], l) for l in range(k)]
        c.append(-total(rate * s[l] for rate, l in rates))
        s.append(total(rate * c[l] for rate, l in rates))
    return c, s
