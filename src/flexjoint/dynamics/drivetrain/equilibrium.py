"""Deflections of joints with two motors from their torque and stiffness, whatever the design  [VSANEA (14), (61)].

In closed form where the drive has one.  Else by a search along its solution curve (`solution_curve.py`), one equation
per joint, all in one loop of `SEARCH` steps; or, where the deflections of a moment ago are known (warm start), by
`FOLLOW` Newton steps from them.  The numbers of steps are fixed: a kernel takes the same time whatever its input, see
`deflection_steps`.

Refused are deflections off the curve, next to its ends, beyond their ranges, and above the greatest stiffness that the
drive allows: the determinant becomes NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ...compiler.ir.scan import scan
from ...drives import AntagonisticDrive, VariableStiffnessDrive
from ...drives.variable import OperatingPoint
from ...numerics.roots import as_searches, at_root, root_of_increasing
from ...robot import Robot, a_robot
from ...spatial import ca, is_symbolic
from ...types import Scalar
from .antagonistic_springs import AntagonisticCurve, antagonistic_form
from .solution_curve import SerialCurve, SolutionCurve, connected

ClosedForm: TypeAlias = Callable[[Any, Scalar, Scalar], tuple[Scalar, Scalar]]  # (drive, τ_e, σ) -> φ_1, φ_2

SEARCH = 40  # steps, each a Newton step or a bisection: the same number for every input
FOLLOW = 6  # Newton steps from deflections given
BETWEEN = 3  # places on the way from there that are looked at
FOUND = 1e-12  # of torque and stiffness: a root known less well was not found


def curve_of(drive: VariableStiffnessDrive) -> SolutionCurve:
    """The solution curve of a drive."""
    return AntagonisticCurve(drive) if isinstance(drive, AntagonisticDrive) else SerialCurve(drive)


def closed_form(drive: VariableStiffnessDrive) -> ClosedForm | None:
    if isinstance(drive, AntagonisticDrive):
        return antagonistic_form(drive)
    return type(drive).deflections if drive.closed else None


def deflection_steps(robot: Robot, warm_start: bool = False) -> tuple[int, ...]:
    """Number of root-finding steps of inverse dynamics for the deflections of each joint; the same for every input.

    Args:
        robot: Any robot.
        warm_start: Whether deflections are given to `inverse_dynamics` by this keyword; False by default.

    Returns:
        A number per joint: 0 in closed form, and without variable stiffness.

    Example:
        >>> import flexjoint as fj
        >>> fj.dynamics.deflection_steps(fj.load("vsa_3r"))
        (0, 0, 0)
    """
    steps = FOLLOW if warm_start else SEARCH
    return tuple(
        steps if isinstance(joint.drive, VariableStiffnessDrive) and closed_form(joint.drive) is None else 0
        for joint in a_robot("deflection_steps", robot).joints
    )


def operating_points(
    drives: Sequence[VariableStiffnessDrive],
    tau_e: Sequence[Scalar],
    sigma: Sequence[Scalar],
    guess: Sequence[tuple[Scalar, Scalar]] | None = None,
) -> list[OperatingPoint]:
    """Each drive where it gives torque and stiffness; refused where there is no such thing on its curve."""
    closed = [closed_form(drive) for drive in drives]
    rest = [k for k, form in enumerate(closed) if form is None]
    drives_left, tau_left, sigma_left = ([x[k] for k in rest] for x in (drives, tau_e, sigma))
    if rest and guess is not None:
        found = dict(zip(rest, followed(drives_left, tau_left, sigma_left, [guess[k] for k in rest])))
    else:
        found = dict(zip(rest, searched(drives_left, tau_left, sigma_left) if rest else ()))
    return [
        closed_point(form, drive, tau_e[k], sigma[k]) if form else found[k]
        for k, (drive, form) in enumerate(zip(drives, closed))
    ]


def closed_point(form: ClosedForm, drive: VariableStiffnessDrive, tau_e: Scalar, sigma: Scalar) -> OperatingPoint:
    return checked(drive, drive.at(*form(drive, tau_e, sigma)), sigma)


def checked(drive: VariableStiffnessDrive, found: OperatingPoint, sigma: Scalar, good: Scalar = None) -> OperatingPoint:
    """Refused where it is next to the end of the curve, out of range, or not `good`."""
    curve = curve_of(drive)
    fine = ca.logic_and(drive.stiffens * found.det > curve.least_determinant(found, sigma), curve.allowed(found))
    fine = fine if good is None else ca.logic_and(fine, good)
    if is_symbolic(drive.greatest_stiffness) or drive.greatest_stiffness < math.inf:
        fine = ca.logic_and(fine, sigma <= drive.greatest_stiffness)
    return found._replace(**{x: ca.if_else(fine, getattr(found, x), math.nan) for x in ("phi_1", "phi_2", "det")})


def regular(drive: VariableStiffnessDrive, found: OperatingPoint) -> OperatingPoint:
    """The same, refused where the determinant is too small to divide by."""
    enough = ca.fabs(found.det) > curve_of(drive).least_determinant(found, found.sigma)
    return found._replace(det=ca.if_else(enough, found.det, math.nan))


def solved(found: OperatingPoint, tau_e: Scalar, sigma: Scalar) -> Scalar:
    """Whether the two equations hold."""
    size = ca.fabs(found.tau_1) + ca.fabs(found.tau_2) + ca.fabs(tau_e)
    holds = ca.fabs(found.sigma - sigma) <= FOUND * sigma
    return ca.logic_and(holds, ca.fabs(found.tau_e - tau_e) <= FOUND * size)


def newton(drive: VariableStiffnessDrive, phi_1: Scalar, phi_2: Scalar, tau_e: Scalar, sigma: Scalar) -> list[Scalar]:
    """Better deflections, to the second order."""
    found = drive.at(phi_1, phi_2)
    change = found.solve(found.tau_e - tau_e, found.sigma - sigma)
    return [phi_1 - change[0], phi_2 - change[1]]


def polished(
    drive: VariableStiffnessDrive, phi_1: Scalar, phi_2: Scalar, tau_e: Scalar, sigma: Scalar
) -> OperatingPoint:
    """A step outside of loops: the derivatives of its result are those of the implicit function theorem."""
    return drive.at(*newton(drive, phi_1, phi_2, tau_e, sigma))


def searched(
    drives: Sequence[VariableStiffnessDrive], tau_e: Sequence[Scalar], sigma: Sequence[Scalar]
) -> list[OperatingPoint]:
    """ln σ along the curve, less that of the stiffness wanted; negative before the curve begins."""
    curves = [curve_of(drive) for drive in drives]

    def excess(u: Scalar, tau_e: Sequence[Scalar], sigma: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
        values, slopes = [], []
        for k, curve in enumerate(curves):
            found = curve.at(u[k], tau_e[k])
            stiffer = ca.if_else(curve.begun(found), ca.log(found.sigma / sigma[k]), -1)
            values.append(curve.where_defined(found, tau_e[k], stiffer))
            slopes.append(curve.slope(found) / found.sigma)
        return ca.vertcat(*values), ca.vertcat(*slopes)

    lower, upper = (ca.vertcat(*x) for x in zip(*(curve.span for curve in curves)))
    with as_searches():
        start = ca.SX(ca.vertcat(*[curve.start(tau_e[k]) for k, curve in enumerate(curves)]))  # mostly below the root
    given = [[ca.SX(x) for x in stack] for stack in (tau_e, sigma)]
    u = root_of_increasing(excess, ca.SX(lower), ca.SX(upper), start, SEARCH, given)
    found = [polished(drive, *curves[k].at(u[k], tau_e[k])[:2], tau_e[k], sigma[k]) for k, drive in enumerate(drives)]
    with as_searches():
        good = connected(curves, found, tau_e)
    return [
        checked(drive, found[k], sigma[k], at_root(ca.logic_and(solved(found[k], tau_e[k], sigma[k]), good[k])))
        for k, drive in enumerate(drives)
    ]


def followed(
    drives: Sequence[VariableStiffnessDrive],
    tau_e: Sequence[Scalar],
    sigma: Sequence[Scalar],
    guess: Sequence[tuple[Scalar, Scalar]],
) -> list[OperatingPoint]:
    """Newton's method in both deflections; the curve is that of the guess, if no singularity lies between."""

    def turn(at: Any, _: Scalar) -> tuple[Any, Any]:
        return [([*newton(drive, *phi, *wanted)], wanted) for drive, (phi, wanted) in zip(drives, at)], ()

    # what a step takes from outside is carried along: expressions would be computed again in each
    start = [([ca.SX(x) for x in guess[k]], (ca.SX(tau_e[k]), ca.SX(sigma[k]))) for k in range(len(drives))]
    last, _ = scan(turn, start, [()] * (FOLLOW - 1), opaque=True)
    phi = [pair for pair, _ in last]
    points = []
    for k, drive in enumerate(drives):
        found = polished(drive, phi[k][0], phi[k][1], tau_e[k], sigma[k])
        good = ca.logic_and(solved(found, tau_e[k], sigma[k]), joined(drive, guess[k], found))
        points.append(checked(drive, found, sigma[k], good))
    return points


def joined(drive: VariableStiffnessDrive, guess: Sequence[Scalar], found: OperatingPoint) -> Scalar:
    """Whether no singularity lies between a guess and what was found from it, at `BETWEEN` places and the guess."""
    good = ca.SX(1)
    for j in range(BETWEEN + 1):
        way = j / (BETWEEN + 1)
        between = drive.at(*(x + way * (y - x) for x, y in zip(guess, found[:2])))
        good = ca.logic_and(good, drive.stiffens * between.det > 0)
    return good
