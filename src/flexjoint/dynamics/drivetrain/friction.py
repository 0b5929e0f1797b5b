"""Friction of joints and motors with its time derivatives (docs/friction.md).

    F(v, τ) = D v + A t,   t = tanh(v/v_c),   A(v, τ) = F_c + (F_s − F_c) exp(−(v/v_s)²) + μ (√(τ² + τ_0²) − τ_0)

Two laws for the two directions are blended, ½ (1 + t) F₊ + ½ (1 − t) F₋: F with the means of D and of A, and with
½ (A₊ − A₋) t + ½ (D₊ − D₋) v more in A.

A joint's friction and that of a motor rigidly coupled to it act on q'; the motor of an elastic joint has its own, on
θ', and τ is the torque of its spring.  What depends on the load at the joint itself is in `load_friction.py`.  Friction
on the link of an elastic joint passes through the spring, so that the command holds its second derivative times B/K:
see `coulomb_command`.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Sequence
from math import comb
from typing import TypeAlias

import numpy as np

from ...drives import ElasticDrive, Friction, Motor, RigidDrive, VariableStiffnessDrive, friction_law
from ...errors import NOT_NUMBERS, InputError
from ...robot import Joint, Robot
from ...robot.mimics import MovingJoint
from ...robot.parts import has_symbols
from ...spatial import ca, is_zero, leibniz, sx, total, zeros
from ...types import Expression, FloatArray, Jet, Scalar, Stack
from .coupling import on_links, undeflected

STEEPEST = 4 / (3 * math.sqrt(3))  # max |tanh''|
STRIBECK = math.sqrt(2 / math.e)  # max |g'| of g = exp(−x²); max |g''| is 2
Loads: TypeAlias = Sequence[Scalar] | Expression  # torque of the spring on each motor


def joint_friction(robot: Robot, rates: Stack, order: int) -> Jet:
    """Jet of the friction at the joints themselves, without load, from rates = [q', q'', ...].

    A follower moves at k q' and adds k F(k q') to its leader, with the friction of its motor.
    """
    found = friction(robot.joints, rates, order)
    for i in range(robot.n):
        for follower, item in following(robot, i):
            jet = friction([item], [follower.ratio * x[i] for x in rates], order)
            for found_k, x in zip(found, jet):
                found_k[i] += follower.ratio * x
    return found


def following(robot: Robot, i: int) -> list[tuple[MovingJoint, Joint | Motor]]:
    """The joints that follow joint i, and their motors, each with its follower."""
    found: list[tuple[MovingJoint, Joint | Motor]] = []
    for follower in robot.followers:
        if follower.coordinate == i:
            drive = follower.joint.drive
            found.append((follower, follower.joint))
            found += [(follower, drive.motor)] if isinstance(drive, RigidDrive) else []
    return found


def link_friction(robot: Robot, rates: Stack, order: int) -> Jet:
    """Jet of all friction without load that acts on q': at joints, followers, and the motors of rigid drives."""
    at_joints = joint_friction(robot, rates, order)
    at_motors = friction(rigid_motors(robot), [undeflected(robot, x) for x in rates], order)
    return [x + on_links(robot, y) for x, y in zip(at_joints, at_motors)]


def motor_friction(robot: Robot, theta_v: Expression, loads: Loads) -> Expression:
    """Friction (motors,) at the motors behind springs, from θ' and the torques of the springs; zero at the others."""
    drives = [robot.joints[i].drive for i in robot.motor_joints]
    behind = [
        drive.motors[k >= robot.n] if isinstance(drive, ElasticDrive | VariableStiffnessDrive) else Motor(0.0)
        for k, drive in enumerate(drives)
    ]
    return friction(behind, [theta_v], 0, loads)[0]


def rigid_motors(robot: Robot) -> list[Motor]:
    """For each moving joint its motor if that turns with the link, else one without friction."""
    return [joint.drive.motor if isinstance(joint.drive, RigidDrive) else Motor(0.0) for joint in robot.joints]


def friction(items: Sequence[Joint | Motor], rates: Stack, order: int, loads: Loads | None = None) -> Jet:
    """Jet of F of each item; exactly zero where there is none.  With `loads` the order is 0, without them F(v, 0)."""
    laws = [friction_law(item) for item in items]
    D = sx([law.viscous if law.backward is None else (law.viscous + law.backward.viscous) / 2 for law in laws])
    dry = [
        dry_friction(law, [x[i] for x in rates], order, None if loads is None else loads[i])
        for i, law in enumerate(laws)
    ]
    return [D * rates[k] + ca.vertcat(*[jet[k] for jet in dry]) for k in range(order + 1)]


def dry_friction(law: Friction, v: Stack, order: int, load: Scalar | None) -> Jet:
    """Jet of F − D v, D the mean of both directions."""
    if law.backward is None and is_zero(law.coulomb) and law.static is None and is_zero(law.load):
        return [zeros(1)] * (order + 1)
    t = tanh_jet([x / law.velocity for x in v], order)
    A = level(law, v, order, load, law.load_scale)
    if law.backward is not None:
        D = (law.viscous - law.backward.viscous) / 2
        both = list(zip(A, level(law.backward, v, order, load, law.load_scale)))
        split = leibniz(operator.mul, [(x - y) / 2 for x, y in both], t, order)
        A = [(x + y) / 2 + z + D * v[k] for k, ((x, y), z) in enumerate(zip(both, split))]
    return leibniz(operator.mul, A, t, order)


def level(side: Friction, v: Stack, order: int, load: Scalar | None, scale: Scalar) -> Jet:
    """Jet of A = F_c + (F_s − F_c) exp(−(v/v_s)²) + μ (√(τ² + τ_0²) − τ_0) of one direction."""
    A = [side.coulomb, *[0.0] * order]
    if side.static is not None:
        x = [y / side.stribeck_velocity for y in v]
        g = exp_jet([-y for y in leibniz(operator.mul, x, x, order)], order)
        A = [y + (side.static - side.coulomb) * z for y, z in zip(A, g)]
    if load is not None and not is_zero(side.load):
        A[0] = A[0] + side.load * smooth_magnitude(load, scale)
    return A


def smooth_magnitude(load: Scalar, scale: Scalar) -> Scalar:
    """√(τ² + τ_0²) − τ_0 without cancellation."""
    square = load * load
    return square / (ca.sqrt(square + scale * scale) + scale)


def exp_jet(w: Stack, order: int) -> Jet:
    """Jet of g = exp(w), from g' = w' g and Leibniz' rule."""
    g = [ca.exp(w[0])]
    for k in range(order):
        g.append(total(comb(k, l) * w[l + 1] * g[k - l] for l in range(k + 1)))
    return g


def tanh_jet(u: Stack, order: int) -> Jet:
    """Jet of y = tanh(u), from y' = (1 − y²) u' and Leibniz' rule."""
    y, slope = [ca.tanh(u[0])], []
    for k in range(order):
        square = total(comb(k, l) * y[l] * y[k - l] for l in range(k + 1))
        slope.append(1 - square if k == 0 else -square)
        y.append(total(comb(k, l) * slope[l] * u[k - l + 1] for l in range(k + 1)))
    return y


# What friction on the link costs ------------------------------------------------------------------------------------


def coulomb_command(robot: Robot, acceleration: float | FloatArray = 1.0, jerk: float | FloatArray = 0.0) -> FloatArray:
    """Upper bound of the motor torque due to Coulomb friction on the links of elastic joints at a reversal.

    The part of F_c tanh(q'/v_c) in B τ_e''/K is at most

        B/K · F_c (4/√27 · q''²/v_c² + |q'''|/v_c),  K the stiffness at rest:

    123 Nm at 1 rad/s² from 5 Nm with v_c = 0.01 rad/s, B = 3.2 kg m² and K = 1000 Nm/rad.  On the motor side the same
    friction costs 5 Nm.  A damped spring transmits at most 2 B/D · F_c |q''|/v_c.  Static friction above F_c, and a law
    of its own for each direction, raise the bound (docs/friction.md).

    Args:
        robot: Any robot.
        acceleration: |q''| at the reversal, a number or one per joint (n,), rad/s² or m/s²; 1 by default.
        jerk: |q'''| there; 0 by default.

    Returns:
        (n,), Nm or N; 0 at joints without springs.

    Raises:
        InputError: The arguments are no numbers or have a wrong shape.
    """
    try:
        q2, q3 = (np.broadcast_to(np.abs(np.asarray(x, dtype=float)), robot.n) for x in (acceleration, jerk))
    except NOT_NUMBERS:
        raise InputError(f"coulomb_command: acceleration and jerk are numbers, or {robot.n} of them each") from None
    command = np.zeros(robot.n)
    for i, joint in enumerate(robot.joints):
        drive = joint.drive
        items: list[tuple[float, Joint | Motor]] = [(1.0, joint), *((x.ratio, y) for x, y in following(robot, i))]
        if isinstance(drive, ElasticDrive) and known(drive, items):
            bounds = [(abs(k), *steepness(friction_law(item))) for k, item in items]
            slope, bend = sum(k**2 * x for k, x, _ in bounds), sum(k**3 * x for k, _, x in bounds)
            K, D = float(drive.law.curve(0.0).stiffness), drive.damping
            share = (bend * q2[i] ** 2 + slope * q3[i]) / K
            if D:  # φ'' is τ_e''/K, or (τ_e' less its mean over the past)/D
                share = min(share, 2 * slope * q2[i] / D)
            command[i] = drive.motor.inertia * share
    return command


def steepness(law: Friction) -> tuple[float, float]:
    """Upper bounds of |f'| and |f''| over v, of f = F − D v without load, D the mean of both directions.

    With ΔF = F_s − F_c, |tanh''| ≤ 4/√27, and |g'| ≤ √(2/e), |g''| ≤ 2 of g = exp(−x²), one direction has

        |f'| ≤ F_s/v_c + √(2/e) ΔF/v_s,   |f''| ≤ 4/√27 F_s/v_c² + 2 √(2/e) ΔF/(v_s v_c) + 2 ΔF/v_s².

    Two of them blended have at most the greater of both, and the derivatives of their weights ½ (1 ± t): these meet
    f₊ − f₋ = ΔA t, |ΔA| ≤ max(F_s₊ − F_c₋, F_s₋ − F_c₊), with |t t'| ≤ 2/√27/v_c and |t t''| ≤ ½/v_c²; and they meet
    ½ (D₊ − D₋) v, with |(x tanh x)'| ≤ 1.2 and |(x tanh x)''| ≤ 2.
    """
    v_c = law.velocity
    if not v_c:
        return 0.0, 0.0
    slopes, bends, falls = zip(*(side_steepness(side, v_c) for side in law.sides))
    if law.backward is None:
        return slopes[0], bends[0]
    peaks = [side.coulomb if side.static is None else side.static for side in law.sides]
    apart = max(peaks[0] - law.backward.coulomb, peaks[1] - law.coulomb)
    D = abs(law.viscous - law.backward.viscous) / 2
    slope = max(slopes) + STEEPEST / 4 * apart / v_c + 1.2 * D
    return slope, max(bends) + (1.25 * apart / v_c + STRIBECK * sum(falls) + 2 * D) / v_c


def side_steepness(side: Friction, v_c: float) -> tuple[float, float, float]:
    """The bounds of one direction, and ΔF/v_s."""
    if side.static is None:
        return side.coulomb / v_c, STEEPEST * side.coulomb / v_c**2, 0.0
    F, v_s = side.static, side.stribeck_velocity
    fall = (F - side.coulomb) / v_s
    return F / v_c + STRIBECK * fall, STEEPEST * F / v_c**2 + 2 * fall * (STRIBECK / v_c + 1 / v_s), fall


def known(drive: ElasticDrive, items: Sequence[tuple[float, Joint | Motor]]) -> bool:
    """Whether none of the numbers of an elastic drive and of the friction on its link is a free parameter.

    items: what has friction, each with the ratio of its velocity to that of the link.
    """
    numbers = [drive.motor.inertia, drive.damping, *dataclasses.astuple(drive.law), *(ratio for ratio, _ in items)]
    sides = [side for _, item in items for side in friction_law(item).sides]
    numbers += [getattr(side, field.name) for side in sides for field in dataclasses.fields(side)]
    return not has_symbols(numbers)
