"""Stiffness that joints of variable stiffness can have at a torque, alone and along a motion  [VSANEA (14)].

The feasible range lies between the ends of the solution curve (`solution_curve.py`).

The least stiffness is where motion and stiffness can no longer be set apart (det A = 0), or where the springs no longer
bear the torque; the greatest where a deflection reaches the end of its range, or what the drive allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithm.algorithm import algorithm
from ...drives import VariableStiffnessDrive
from ...drives.variable import OperatingPoint
from ...errors import InputError
from ...numerics.roots import root_of_increasing
from ...robot import Robot
from ...spatial import ca, zeros
from ...types import Expression, FloatArray, Scalar
from ..links import torque_derivatives
from ..loads import Wrenches
from .equilibrium import curve_of
from .solution_curve import connected

BISECTIONS = 60  # to the ends of the curve
EDGE = 1e-9  # of the span: so far inside its ends is a curve looked at
GRID = 65  # torques, and deflections per motor, that are tried before an end is bisected
NEXT_TO = 1e-6  # of a stiffness: so close to the least, the determinant may be what is too small


class StiffnessBand(NamedTuple):
    """Least and greatest stiffness of each joint, (..., n), Nm/rad or N/m; NaN where there is none to choose."""

    lower: Expression | FloatArray
    upper: Expression | FloatArray


class TorqueBand(NamedTuple):
    """Least and greatest torque on the link of each joint, (..., n), Nm or N; NaN where there is none."""

    lower: Expression | FloatArray
    upper: Expression | FloatArray


def feasible_stiffness(robot: Robot, tau_e: ArrayLike) -> StiffnessBand:
    """Least and greatest stiffness that joints can have at a torque on their links.

    The least is where motion and stiffness can no longer be set independently, the greatest where a spring reaches its
    `reach`.

    Args:
        robot: A robot with joints of variable stiffness.
        tau_e: Torque on the links, (..., n), Nm or N.

    Returns:
        StiffnessBand(lower, upper), (..., n); NaN at joints whose stiffness cannot be set, and where no stiffness goes
        with the torque.

    Example:
        >>> import flexjoint as fj
        >>> fj.dynamics.feasible_stiffness(fj.load("vsa_3r"), [0.0, 10.0, 20.0]).lower.round()
        array([800., 802., 807.])
    """
    rows = np.asarray(tau_e, dtype=float)
    band = _stiffness_ends(robot, rows)
    chosen = np.asarray(robot.variable_stiffness) & (band.lower < band.upper)
    return StiffnessBand(*(np.where(chosen, x, math.nan) for x in band))


@algorithm(StiffnessBand)
def _stiffness_ends(robot: Robot, tau_e: Expression) -> StiffnessBand:
    """Least and greatest stiffness; both 0 where no stiffness is feasible."""
    joints = [i for i, chosen in enumerate(robot.variable_stiffness) if chosen]
    band = StiffnessBand(zeros(robot.n), zeros(robot.n))
    if not joints:
        return band
    drives: list[Any] = [robot.joints[i].drive for i in joints]
    curves = [curve_of(drive) for drive in drives]
    torques = [tau_e[i] for i in joints]
    lower, upper = (ca.SX(ca.vertcat(*x)) for x in zip(*(curve.span for curve in curves)))

    def end(holds: Callable[[list[OperatingPoint]], list[Scalar]]) -> Expression:
        """u from which on it holds."""

        def sign(u: Expression) -> tuple[Expression, Expression]:
            found = [curve.at(u[k], torques[k]) for k, curve in enumerate(curves)]
            signs = [
                curve.where_defined(found[k], torques[k], 2 * good - 1)
                for k, (curve, good) in enumerate(zip(curves, holds(found)))
            ]
            return ca.vertcat(*signs), ca.SX.zeros(len(curves))

        return root_of_increasing(sign, lower, upper, steps=BISECTIONS)

    first = end(lambda found: connected(curves, found, torques))
    last = end(lambda found: [curve.passed(x) for curve, x in zip(curves, found)])
    for k, (i, drive, curve) in enumerate(zip(joints, drives, curves)):
        inside = EDGE * (upper[k] - lower[k]) / 2
        least, most = (curve.at(u, torques[k]) for u in (first[k] + inside, last[k] - inside))
        greatest = ca.fmin(most.sigma, drive.greatest_stiffness)
        exists = ca.logic_and(least.sigma < greatest, ca.logic_and(most.sigma < math.inf, curve.allowed(least)))
        exists = curve.where_defined(most, torques[k], curve.where_defined(least, torques[k], exists)) > 0
        band.lower[i], band.upper[i] = ca.if_else(exists, least.sigma, 0), ca.if_else(exists, greatest, 0)
    return band


# Ranges of a drive ----------------------------------------------------------------------------------------------------


def stiffness_range(robot: Robot) -> StiffnessBand:
    """Least and greatest stiffness that each joint can have at any torque, StiffnessBand of (n,), Nm/rad or N/m."""
    easiest = Extremes.of(robot)
    return StiffnessBand(*(feasible_stiffness(robot, tau)[k] for k, tau in enumerate(easiest)))


def feasible_torque(robot: Robot, sigma: ArrayLike) -> TorqueBand:
    """Least and greatest feasible torque on the links at a stiffness.

    Args:
        robot: A robot with joints of variable stiffness.
        sigma: Stiffness, (..., n), Nm/rad or N/m.

    Returns:
        TorqueBand(lower, upper), (..., n); NaN at joints whose stiffness cannot be set, and where no torque goes with
        the stiffness.

    Raises:
        InputError: sigma has a wrong shape.
    """
    sigma = np.asarray(sigma, dtype=float)
    if sigma.ndim == 0 or sigma.shape[-1] != robot.n:
        raise InputError(f"feasible_torque: sigma has shape {sigma.shape}, it must be (..., {robot.n})")

    def feasible(tau: FloatArray) -> NDArray[np.bool_]:
        band = feasible_stiffness(robot, tau)
        return (band.lower < sigma) & (sigma <= band.upper)

    least, most = outermost_torques(robot)
    inside = np.full(sigma.shape, math.nan)
    for tau in (*Extremes.of(robot), *np.linspace(least, most, GRID)):
        tau = np.broadcast_to(tau, sigma.shape)
        inside = np.where(np.isnan(inside) & feasible(tau), tau, inside)
    ends = []
    for outside in (least, most):
        near, far = inside, np.broadcast_to(outside, sigma.shape)
        for _ in range(BISECTIONS):
            middle = (near + far) / 2
            good = feasible(np.nan_to_num(middle))
            near, far = np.where(good, middle, near), np.where(good, far, middle)
        ends.append(near)
    return TorqueBand(*ends)


class Extremes(NamedTuple):
    """Torques at which the least stiffness is least, and the greatest greatest."""

    softest: FloatArray
    stiffest: FloatArray

    @classmethod
    def of(cls, robot: Robot) -> Extremes:
        least, most = outermost_torques(robot)
        step = (most - least) / (GRID - 1)
        found = []
        for k, sense in enumerate((1, -1)):
            low, high = least, most
            for _ in range(BISECTIONS // 5):  # each grid is 32 times as fine as the one before
                grid = np.linspace(low, high, GRID)
                value = np.nan_to_num(sense * feasible_stiffness(robot, grid)[k], nan=math.inf)
                best = np.take_along_axis(grid, np.argmin(value, axis=0)[None], axis=0)[0]
                low, high, step = best - step, best + step, 2 * step / (GRID - 1)
            found.append(best)
            step = (most - least) / (GRID - 1)
        return cls(*found)


def outermost_torques(robot: Robot) -> tuple[FloatArray, FloatArray]:
    """Of each transmission over its ranges; 0 at other joints."""
    ends = np.zeros((2, robot.n))
    for i, joint in enumerate(robot.joints):
        if isinstance(joint.drive, VariableStiffnessDrive):
            x = [ca.SX.sym(f"phi_{k}") for k in (1, 2)]
            f = ca.Function("f", x, [joint.drive.at(*x).tau_e])
            grids = np.meshgrid(*(np.linspace(*span, GRID) for span in joint.drive.ranges))
            tau = np.array(f(*(grid.reshape(1, -1) for grid in grids)))
            ends[:, i] = np.nanmin(tau), np.nanmax(tau)
    return ends[0], ends[1]


# Along a motion -------------------------------------------------------------------------------------------------------


def feasible_stiffness_along(
    robot: Robot, motion: Callable[..., FloatArray], t: ArrayLike, wrenches: Wrenches = None
) -> StiffnessBand:
    """Least and greatest stiffness that joints can have along a motion of the links.

    Args:
        robot: A robot with joints of variable stiffness.
        motion: Trajectory of the links.
        t: Times, (times,), s.
        wrenches: As in `torque_derivatives`, stacks of arrays (times, 6); none by default.

    Returns:
        StiffnessBand(lower, upper), (times, n).
    """
    t = np.atleast_1d(np.asarray(t, dtype=float))
    (tau_e,) = torque_derivatives(robot, *motion(t)[:3], wrenches=wrenches)
    return feasible_stiffness(robot, tau_e)


def require_feasible_stiffness(
    robot: Robot,
    motion: Callable[..., FloatArray],
    stiffness: Callable[..., FloatArray] | ArrayLike,
    t: ArrayLike,
    wrenches: Wrenches = None,
) -> StiffnessBand:
    """The band of `feasible_stiffness_along`; raises an error if a stiffness leaves it.

    Args:
        robot: A robot with joints of variable stiffness.
        motion: Trajectory of the links.
        stiffness: Trajectory of the stiffness (n,), or a constant (n,), Nm/rad or N/m.
        t: Times, (times,), s.
        wrenches: As in `torque_derivatives`, stacks of arrays (times, 6); none by default.

    Returns:
        StiffnessBand(lower, upper), (times, n).

    Raises:
        InputError: A stiffness is not feasible; the message names the first such time, the joint and its range.
    """
    t = np.atleast_1d(np.asarray(t, dtype=float))
    (tau_e,) = torque_derivatives(robot, *motion(t)[:3], wrenches=wrenches)
    band = feasible_stiffness(robot, tau_e)
    sigma = stiffness(t)[0] if callable(stiffness) else np.asarray(stiffness, dtype=float)
    if np.ndim(sigma) > 2 or np.shape(sigma)[-1:] not in ((), (robot.n,)):
        raise InputError(f"require_feasible_stiffness: the stiffness has shape {np.shape(sigma)}, not (..., {robot.n})")
    sigma = np.broadcast_to(sigma, tau_e.shape)
    bad = robot.variable_stiffness & ~((band.lower * (1 + NEXT_TO) < sigma) & (sigma <= band.upper))
    for k in np.flatnonzero(bad.any(axis=1))[:1]:
        reason = infeasible(robot, tau_e[k], sigma[k])
        raise InputError(f"at t = {t[k]:g} s {reason}")
    return band


def infeasible(robot: Robot, tau_e: FloatArray, sigma: FloatArray) -> str | None:
    """Which joint cannot have its stiffness at the torque on its link, which it could have, and how far that is."""
    lower, upper = feasible_stiffness(robot, tau_e)
    for i in np.flatnonzero(robot.variable_stiffness):
        joint = robot.joints[i]
        unit = joint.kind.unit("Nm/rad | N/m")
        asked = f"joint '{joint.name}' cannot have the stiffness {sigma[i]:g} {unit} with {tau_e[i]:g} on its link"
        if np.isnan(lower[i]):
            return f"{asked}: its springs do not bear that; ask for less torque"
        if not lower[i] < sigma[i]:
            return (
                f"{asked}: it reaches from {lower[i]:g} to {upper[i]:g}; that is {lower[i] - sigma[i]:.3g} below the "
                "least, where motion and stiffness can no longer be set apart (the decoupling matrix is singular)"
            )
        if not sigma[i] <= upper[i]:
            return f"{asked}: it reaches from {lower[i]:g} to {upper[i]:g}; that is {sigma[i] - upper[i]:.3g} above it"
        if sigma[i] - lower[i] < NEXT_TO * sigma[i]:
            return (
                f"{asked}: that is only {sigma[i] - lower[i]:.1e} above the least, {lower[i]:g}, where motion and "
                "stiffness cannot be set apart (the decoupling matrix is singular); keep away from it"
            )
    return None
