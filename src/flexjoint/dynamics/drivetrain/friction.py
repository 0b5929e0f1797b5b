"""Friction of joints and motors, D v + F_c tanh(v/v_c), with its time derivatives.

A joint's friction and that of a motor rigidly coupled to it act on q'; the motor of an elastic joint has its own, on
θ'.  Friction on the link of an elastic joint passes through the spring, so that the command holds its second derivative
times B/K: see `coulomb_command`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from math import comb

import numpy as np

from ...drives import ElasticDrive, Motor, RigidDrive, VariableStiffnessDrive
from ...errors import NOT_NUMBERS, InputError
from ...robot import Joint, Robot
from ...spatial import ca, is_symbolic, is_zero, sx, total, zeros
from ...types import Expression, FloatArray, Jet, Stack

STEEPEST = 4 / (3 * math.sqrt(3))  # max |tanh''|


def joint_friction(robot: Robot, rates: Stack, order: int) -> Jet:
    """Jet of the friction at the joints themselves, from rates = [q', q'', ...]."""
    return friction(robot.joints, rates, order)


def link_friction(robot: Robot, rates: Stack, order: int) -> Jet:
    """Jet of all friction that acts on q': at the joints, and at the motors of rigid drives."""
    at_joints, at_motors = joint_friction(robot, rates, order), friction(rigid_motors(robot), rates, order)
    return [x + y for x, y in zip(at_joints, at_motors)]


def motor_friction(robot: Robot, theta_v: Expression) -> Expression:
    """Friction (motors,) at the motors behind springs, from θ' (motors,); zero at the others."""
    drives = [robot.joints[i].drive for i in robot.motor_joints]
    behind = [
        drive.motors[k >= robot.n] if isinstance(drive, ElasticDrive | VariableStiffnessDrive) else Motor(0.0)
        for k, drive in enumerate(drives)
    ]
    return friction(behind, [theta_v], 0)[0]


def rigid_motors(robot: Robot) -> list[Motor]:
    """For each moving joint its motor if that turns with the link, else one without friction."""
    return [joint.drive.motor if isinstance(joint.drive, RigidDrive) else Motor(0.0) for joint in robot.joints]


def friction(items: Sequence[Joint | Motor], rates: Stack, order: int) -> Jet:
    """Jet of D v + F_c tanh(v/v_c) of each item; exactly zero where there is none."""
    D = sx([item.viscous_friction for item in items])
    coulomb = [coulomb_friction(item, [x[i] for x in rates], order) for i, item in enumerate(items)]
    return [D * rates[k] + ca.vertcat(*[jet[k] for jet in coulomb]) for k in range(order + 1)]


def coulomb_friction(item: Joint | Motor, rates: Stack, order: int) -> Jet:
    if is_zero(item.coulomb_friction):
        return [zeros(1)] * (order + 1)
    return [item.coulomb_friction * y for y in tanh_jet([x / item.coulomb_velocity for x in rates], order)]


def tanh_jet(u: Stack, order: int) -> Jet:
    """Jet of y = tanh(u), from y' = (1 − y²) u' and Leibniz' rule."""
    y, slope = [ca.tanh(u[0])], []
    for k in range(order):
        square = total(comb(k, l) * y[l] * y[k - l] for l in range(k + 1))
        slope.append(1 - square if k == 0 else -square)
        y.append(total(comb(k, l) * slope[l] * u[k - l + 1] for l in range(k + 1)))
    return y


def coulomb_command(robot: Robot, acceleration: float | FloatArray = 1.0, jerk: float | FloatArray = 0.0) -> FloatArray:
    """Upper bound of the motor torque that Coulomb friction on the links of elastic joints costs at a reversal.

    The part of F_c tanh(q'/v_c) in B τ_e''/K is at most

        B/K · F_c (4/√27 · q''²/v_c² + |q'''|/v_c),  K the stiffness at rest:

    123 Nm at 1 rad/s² from 5 Nm with v_c = 0.01 rad/s, B = 3.2 kg m² and K = 1000 Nm/rad.  On the motor side the same
    friction costs 5 Nm.  A damped spring transmits at most 2 B/D · F_c |q''|/v_c.

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
        if isinstance(drive, ElasticDrive) and known(joint, drive) and joint.coulomb_friction:
            v, K, D = joint.coulomb_velocity, float(drive.spring.curve(0.0).stiffness), drive.damping
            share = (STEEPEST * (q2[i] / v) ** 2 + q3[i] / v) / K
            if D:  # φ'' is τ_e''/K, or (τ_e' less its mean over the past)/D
                share = min(share, 2 * q2[i] / v / D)
            command[i] = drive.motor.inertia * joint.coulomb_friction * share
    return command


def known(joint: Joint, drive: ElasticDrive) -> bool:
    """Whether none of the numbers of an elastic joint is a free parameter."""
    numbers = [joint.coulomb_friction, joint.coulomb_velocity, drive.motor.inertia, drive.damping]
    return not any(map(is_symbolic, [*numbers, *dataclasses.astuple(drive.spring)]))
