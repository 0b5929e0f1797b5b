"""Damped joints of variable stiffness: one state per joint, whatever the design of the transmission.

Dampers act where a motor's position counts from the link.  With ψ = φ_1 + c φ_2 and T = τ_1 + c τ_2 of the springs,

    D ψ' + T(φ_1, φ_2) = τ_e,     σ(φ_1, φ_2) = σ(t).

The stiffness is given, so the deflections are functions of ψ and time, and so is T: the filter is that of a damped
spring whose law changes with time (`damped_spring.py`).  With G = ∂(ψ, σ)/∂φ = (1 c; b_1 b_2) and ∂T/∂φ = (a_1 a_2),

    G φ' = (ψ', σ'),     T' = k ψ' + (a_2 − c a_1) σ'/det G,     k = ∂T/∂ψ = det A/det G,
    G φ'' = (ψ'', σ'' − φ'ᵀ ∂²σ/∂φ² φ'),     ψ'' = (τ_e' − T')/D     (`commanded_motors`).

k > 0 makes the filter forget: antagonistic springs have it wherever their slopes ζ_1 > ζ_2, levers everywhere.  Other
deflections are refused.  Both deflections of a sample are found by Newton's method from those of the sample before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...compiler.ir.scan import scan
from ...drives import VariableStiffnessDrive
from ...drives.variable import OperatingPoint
from ...robot import Robot
from ...robot.parameters import with_symbols
from ...spatial import ca, is_zero
from ...types import Expression, Jet, Scalar, Stack
from .damped_spring import Step, Transmission, step_from
from .equilibrium import FOUND, checked, joined, operating_points
from .motor_side import MotorSide
from .transmission import commanded_damping, second_motors
from .variable_stiffness import commanded_motors

FOLLOW = 8  # Newton steps from the deflections of the last sample


class Wanted(NamedTuple):
    """What a joint shall have at the end of a step."""

    step: Step
    sigma: Scalar
    sigma_v: Scalar


def sum_of(drive: VariableStiffnessDrive, x: Sequence[Scalar]) -> Scalar:
    """ψ = φ_1 + c φ_2, what the dampers see; of rates likewise."""
    return x[0] + drive.c * x[1]


def transmission(drive: VariableStiffnessDrive, point: OperatingPoint, sigma_v: Scalar) -> Transmission:
    """The joint as its dampers see it, while its stiffness changes at this rate."""
    a, b = point.A
    by_det = 1 / (b[1] - drive.c * b[0])
    return Transmission(
        sum_of(drive, point[:2]), point.tau_e, by_det * point.det, by_det * (a[1] - drive.c * a[0]) * sigma_v
    )


# Dampers that are commanded -------------------------------------------------------------------------------------------


def with_dampers(robot: Robot, damping: Expression) -> Robot:
    """The robot whose dampers give what is asked of them (n,), beside the constant damping of their drives."""
    drives: list[Any] = [joint.drive for joint in robot.joints]
    given = {
        f"{joint.name}.drive.damping": drive.damping + commanded_damping(drive, damping[i])
        for i, (joint, drive) in enumerate(zip(robot.joints, drives))
        if commanded_damper(drive)
    }
    some = [replace(x, damping=1.0) if commanded_damper(x) and is_zero(x.damping) else x for x in drives]
    return with_symbols(robot.with_drives(some), given)  # a damping of 0 is no parameter


def rates_under(robot: Robot, deflection: Expression, deflection_v: Expression, tau_e: Expression) -> Expression:
    """Rates of the deflections (motors,) at a state, where the dampers have just changed: D ψ' = τ_e − T, σ' stays."""
    found, second = ca.SX(deflection_v), second_motors(robot)
    for i, joint in enumerate(robot.joints):
        drive: Any = joint.drive
        if commanded_damper(drive):
            at = drive.at(deflection[i], deflection[second[i]])
            b, phi_v = at.A[1], (deflection_v[i], deflection_v[second[i]])
            rate, sigma_v = (tau_e[i] - at.tau_e) / drive.damping, b[0] * phi_v[0] + b[1] * phi_v[1]
            found[i], found[second[i]] = rates_of(drive, at, rate, sigma_v)
    return found


def commanded_damper(drive: Any) -> bool:
    """Whether a drive has a damper that can be commanded."""
    return isinstance(drive, VariableStiffnessDrive) and not is_zero(drive.greatest_damping)


# A step ---------------------------------------------------------------------------------------------------------------


def damped_pairs(
    robot: Robot,
    h: Scalar,
    deflection_v: Expression,
    tau_e_v: Expression,
    deflection: Expression | None,
    q: Stack,
    tau_e: Jet,
    stiffness: Stack,
) -> dict[int, list[MotorSide]]:
    """Both motors of each damped joint of variable stiffness, by joint, a time h after its state.

    Where no deflections are known yet, it is the start: the springs bear what the rates leave of τ_e to them.
    """
    second = second_motors(robot)
    joints = [i for i in second if robot.damped[i]]
    if not joints:
        return {}
    drives: list[Any] = [robot.joints[i].drive for i in joints]
    now = [[[x[i] for x in stack] for i in joints] for stack in (q[:3], tau_e, stiffness)]
    phi_v = [[deflection_v[i], deflection_v[second[i]]] for i in joints]
    if deflection is None:
        rates = [sum_of(drive, x) for drive, x in zip(drives, phi_v)]
        borne = [tau[0] - drive.damping * rate for drive, tau, rate in zip(drives, now[1], rates)]
        points = operating_points(drives, borne, [sigma[0] for sigma in now[2]])
    else:
        phi = [[deflection[i], deflection[second[i]]] for i in joints]
        wanted = []
        for k, (i, drive) in enumerate(zip(joints, drives)):
            start = drive.at(*phi[k])
            at_start = transmission(drive, start, ca.dot(start.A[1], ca.horzcat(*phi_v[k])))
            step = step_from(at_start, sum_of(drive, phi_v[k]), tau_e_v[i], drive.damping, h, now[1][k])
            wanted.append(Wanted(step, *map(ca.SX, now[2][k][:2])))
        points = followed(drives, wanted, phi)
        rates = [x.step.rate(transmission(drive, point, x.sigma_v)) for drive, point, x in zip(drives, points, wanted)]
    return dict(zip(joints, (damped_sides(*x) for x in zip(drives, points, rates, *now))))


def damped_sides(drive: Any, point: OperatingPoint, rate: Scalar, q: Jet, tau_e: Jet, sigma: Jet) -> list[MotorSide]:
    """Both motors of a joint from its deflections and ψ'; refused where its filter would not forget."""
    b = point.A[1]
    rate = ca.if_else(point.det / (b[1] - drive.c * b[0]) > 0, rate, math.nan)
    return commanded_motors(drive, point, q, rates_of(drive, point, rate, sigma[1]), tau_e, sigma[2])


def rates_of(drive: Any, point: OperatingPoint, rate: Scalar, sigma_v: Scalar) -> list[Scalar]:
    """φ' from G φ' = (ψ', σ')."""
    b = point.A[1]
    by_det = 1 / (b[1] - drive.c * b[0])
    return [by_det * (b[1] * rate - drive.c * sigma_v), by_det * (sigma_v - b[0] * rate)]


def followed(
    drives: Sequence[Any], wanted: Sequence[Wanted], guess: Sequence[Sequence[Scalar]]
) -> list[OperatingPoint]:
    """Deflections at the end of the step by Newton's method; refused where it does not lead there."""

    def turn(at: Any, _: Any) -> tuple[Any, Any]:
        return [(newton(drive, phi, x), x) for drive, (phi, x) in zip(drives, at)], ()

    start = [(ca.vertcat(*phi), x) for phi, x in zip(guess, wanted)]
    last, _ = scan(turn, start, [()] * (FOLLOW - 1), opaque=True)
    found = []
    for drive, (phi, _), x, first in zip(drives, last, wanted, guess):
        phi = newton(drive, phi, x)  # outside the loop: it carries the derivatives
        point = drive.at(phi[0], phi[1])
        size = ca.fabs(point.tau_1) + ca.fabs(point.tau_2) + ca.fabs(x.step.tau_e)
        end = transmission(drive, point, x.sigma_v)
        good = ca.logic_and(
            ca.fabs(x.step.excess(end)) <= FOUND * size, ca.fabs(point.sigma - x.sigma) <= FOUND * x.sigma
        )
        found.append(checked(drive, point, x.sigma, ca.logic_and(good, joined(drive, first, point))))
    return found


def newton(drive: Any, phi: Scalar, wanted: Wanted) -> Scalar:
    """Better deflections (2,), to the second order."""
    x = ca.SX.sym("phi", 2)
    point = drive.at(x[0], x[1])
    missed = ca.vertcat(wanted.step.excess(transmission(drive, point, wanted.sigma_v)), point.sigma - wanted.sigma)
    missed, J = ca.substitute([missed, ca.jacobian(missed, x)], [x], [phi])
    by_det = 1 / (J[0, 0] * J[1, 1] - J[0, 1] * J[1, 0])
    return phi - by_det * ca.vertcat(
        J[1, 1] * missed[0] - J[0, 1] * missed[1], J[0, 0] * missed[1] - J[1, 0] * missed[0]
    )
