"""The sixteen recursions NE*_{i1 i2 i3 i4}, word by word, for tests and reproduction  [DeLuca sec. IV].

The indices choose which factor of a product takes the auxiliary velocity: i1 in q' ω × z, i2 and i3 in ω × (ω × r) from
joint to joint and to the centre of mass, i4 in ω × Iω.  Only 0001 and 1110 have a C with Ṁ = C + Cᵀ; `coriolis.py` has
both in a shorter form.  Frames lie on the joint axes here; sliding joints and trees are not in the paper, and links on
fixed joints are part of the link that carries them.
"""

from __future__ import annotations

from typing import Any

from ..dynamics.recursion.bodies import lump_fixed
from ..dynamics.recursion.kinematics import along_joints, carried_loads, joint_pose
from ..robot import Robot
from ..spatial import ca, cross, identity, sx, zeros


def modified_recursion(robot: Robot, q: Any, v: Any, v_a: Any, a: Any, *, variant: str, gravity: Any = None) -> Any:
    """NE*_variant(q, v, v_a, a) of the links, without gravity if none is given  [DeLuca (16)]."""
    i1, i2, i3, i4 = (digit == "1" for digit in variant)
    tree = lump_fixed(robot)
    base = (zeros(3), zeros(3), zeros(3), zeros(3) if gravity is None else -sx(gravity))
    motions: list[tuple[Any, Any, Any, Any]] = []
    loads = []
    for body in tree:
        w, w_a, alpha, origin = motions[body.parent] if body.parent >= 0 else base
        R, r = joint_pose(body, q)
        v_i, v_ai, a_i = (x[body.coordinate] for x in (v, v_a, a))
        origin = origin + cross(alpha, r) + centripetal(w, w_a, r, i2)  # (LAR'*)
        w, w_a, alpha, origin = (R.T @ x for x in (w, w_a, alpha, origin))
        linear, angular = body.screw.axes
        origin = origin + a_i * linear + v_i * cross(w_a, linear) + v_ai * cross(w, linear)
        alpha = alpha + a_i * angular + (v_ai * cross(w, angular) if i1 else v_i * cross(w_a, angular))  # (AAR')
        w, w_a = w + v_i * angular, w_a + v_ai * angular  # (AVR), (AVR*)
        motions.append((w, w_a, alpha, origin))
        m, h, Sigma = body.inertia
        c = h if m.is_zero() else h / m
        Sigma_c = Sigma - h @ c.T
        I = ca.trace(Sigma_c) * identity() - Sigma_c
        f = m * (origin + cross(alpha, c) + centripetal(w, w_a, c, i3))  # (LAR*), (FR)
        gyroscopic = cross(w_a, I @ w) if i4 else cross(w, I @ w_a)
        loads.append((f, cross(c, f) + I @ alpha + gyroscopic))  # (TR*)
    return along_joints(tree, carried_loads(tree, q, loads))  # (FP)


def centripetal(w: Any, w_a: Any, r: Any, swapped: bool) -> Any:
    """ω × (ω_a × r), or ω_a × (ω × r)."""
    return cross(w_a, cross(w, r)) if swapped else cross(w, cross(w_a, r))
