"""Equilibrium states: springs that carry the links, and the motors of joints with variable stiffness drawn apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..compiler.ir.scan import tracing
from ..control.base import JointState, innermost
from ..control.open_loop import OpenLoop
from ..control.sampling import configuration, motors_at_rest
from ..dynamics.drivetrain.equilibrium import operating_points
from ..dynamics.drivetrain.stiffness_range import infeasible
from ..dynamics.links import static_torque
from ..errors import NOT_NUMBERS, InputError
from ..numerics import evaluate
from ..robot import Robot
from ..spatial import ca
from ..types import FloatArray


def at_rest(robot: Robot, q: ArrayLike, stiffness: ArrayLike | None = None) -> JointState:
    """Equilibrium state at q: motors and springs hold the links against gravity and parallel springs.

    Args:
        robot: Any robot.
        q: Positions of the links (n,), in rad or m.
        stiffness: Of the joints with two motors, in Nm/rad or N/m: a number, or one per such joint in the order of q.
            It must be given if there are such joints.

    Returns:
        A JointState with q (n,), v = 0, theta (motors,) on the link side, theta_v = 0.

    Raises:
        InputError: A number is missing or not finite, or a stiffness cannot be reached.

    Example:
        >>> import flexjoint as fj
        >>> state = fj.simulation.at_rest(fj.load("kuka_lwr"), [0.1] * 7)
        >>> state.theta.shape
        (7,)
    """
    q, still = configuration(robot, q), np.zeros(robot.motor_count)
    theta = motors_at_rest(robot, q)[list(robot.motor_joints)]
    pairs = robot.motor_joints[robot.n :]
    if pairs:
        deflections = antagonistic_deflections(robot, q, checked_stiffness(robot, stiffness))
        drives: list[Any] = [robot.joints[i].drive for i in pairs]
        counts = [drive.c for drive in drives]  # whether θ_2 does from the link
        theta[[*pairs]] = q[[*pairs]] + deflections[0]
        theta[robot.n :] = counts * q[[*pairs]] + deflections[1]
    return JointState(q, np.zeros(robot.n), theta, still)


def resting(robot: Robot, controller: Any, reference: FloatArray) -> JointState:
    """At rest on a reference (width,), with the stiffness it asks for; without a controller, at q = 0."""
    if isinstance(innermost(controller), OpenLoop):
        return at_rest(robot, np.zeros(robot.n))
    pairs = robot.motor_count - robot.n
    followed = len(reference) == robot.n + pairs
    return at_rest(robot, reference[: robot.n], reference[robot.n :] if pairs and followed else None)


def checked_stiffness(robot: Robot, stiffness: Any) -> FloatArray:
    """One positive number for each joint with two motors."""
    pairs = robot.motor_joints[robot.n :]
    if stiffness is None:
        raise InputError(
            f"joint '{robot.joints[pairs[0]].name}' has two motors, whose positions at rest depend on its stiffness: "
            f"give a start, such as at_rest(robot, q, stiffness) with {len(pairs)} stiffnesses"
        )
    try:
        sigma = np.broadcast_to(np.asarray(stiffness, dtype=float), (len(pairs),))
    except NOT_NUMBERS:
        raise InputError(f"at_rest: stiffness is {stiffness!r}; give a number or {len(pairs)} numbers") from None
    if not np.all((sigma > 0) & np.isfinite(sigma)):
        raise InputError(f"at_rest: stiffness is {sigma.tolist()}; every number must be positive and finite")
    return sigma


def antagonistic_deflections(robot: Robot, q: FloatArray, stiffness: FloatArray) -> FloatArray:
    """φ_1 and φ_2 (2, pairs) under gravity and parallel springs  [VSANEA (14)]."""
    pairs, sigma, tau = list(robot.motor_joints[robot.n :]), np.zeros(robot.n), static_torque(robot, q)
    sigma[pairs] = stiffness
    drives: list[Any] = [robot.joints[i].drive for i in pairs]
    loads, wanted = (ca.SX.sym(name, len(pairs)) for name in ("tau_e", "sigma"))
    with tracing() as definitions:
        found = operating_points(drives, ca.vertsplit(loads), ca.vertsplit(wanted))
    deflections = [ca.vertcat(*x) for x in zip(*((pair.phi_1, pair.phi_2) for pair in found))]
    phi = np.array(evaluate([loads, wanted], [[tau[pairs]], [stiffness]], deflections, definitions))[:, 0, :, 0]
    if not np.all(np.isfinite(phi)):
        raise InputError(f"at_rest: {infeasible(robot, tau, sigma)}")
    return phi
