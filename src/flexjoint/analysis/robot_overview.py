"""Numbers that follow from the data of a robot: poses, orders, eigenfrequencies, stiffness ranges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..dynamics.drivetrain.orders import derivative_orders
from ..dynamics.drivetrain.stiffness_range import StiffnessBand, stiffness_range
from ..dynamics.recursion.kinematics import link_poses
from ..errors import FlexjointError
from ..file_limits import skipped
from ..robot import Robot, a_robot
from ..spatial import ca
from ..types import FloatArray
from .eigenfrequencies import joint_eigenfrequencies
from .lint.resonances import workspace


class Placement(NamedTuple):
    """Pose of a link's frame in base coordinates at q = 0.

    Attributes:
        position: Origin, (3,), m.
        rotation: Its axes as columns, (3, 3).
    """

    position: FloatArray
    rotation: FloatArray


class Eigenfrequencies(NamedTuple):
    """Natural frequencies of the joint springs at rest, the slowest first, rad/s.

    Attributes:
        at_zero: At q = 0, (springs,).
        least: Least frequency of each mode over the workspace, (springs,).
        greatest: Greatest frequency of each mode over the workspace, (springs,).
        configurations: Number of sampled configurations, within joint limits and the reach of springs.
    """

    at_zero: FloatArray
    least: FloatArray
    greatest: FloatArray
    configurations: int


class RobotOverview(NamedTuple):
    """Numbers that follow from the data of a robot.

    Attributes:
        robot: The robot.
        mass: Of all links, kg.
        centre_of_mass: Of all links at q = 0 in base coordinates, (3,), m; None without mass.
        placements: Pose of each link's frame at q = 0, in the order of `robot.links`.
        orders: Per joint, the highest derivative of q that its motor torque depends on; None if there is none such.
        order_note: Why there are no orders; "" if there are.
        frequencies: Eigenfrequencies of the joint springs; None if there are none.
        frequency_note: Why there are no eigenfrequencies; "" if there are, or if no joint has a spring.
        stiffness: Stiffness that joints of variable stiffness can have at any torque, NaN at others; None if there are
            no such joints, or if no range was found.
    """

    robot: Robot
    mass: float
    centre_of_mass: FloatArray | None
    placements: tuple[Placement, ...]
    orders: tuple[int, ...] | None
    order_note: str
    frequencies: Eigenfrequencies | None
    frequency_note: str
    stiffness: StiffnessBand | None


def robot_overview(robot: Robot) -> RobotOverview:
    """Poses, orders, eigenfrequencies and stiffness ranges of a robot.

    Args:
        robot: Any robot. Hysteresis and backlash do not enter the eigenfrequencies.

    Returns:
        A RobotOverview.

    Raises:
        InputError: The argument is no Robot.

    Example:
        >>> import flexjoint as fj
        >>> found = fj.analysis.robot_overview(fj.load("hua_3r"))
        >>> found.orders
        (2, 2, 4)
        >>> found.frequencies.at_zero.shape
        (1,)
    """
    placements = placements_at_zero(a_robot("robot_overview", robot))
    mass = float(sum(link.mass for link in robot.links))
    moments = [link.mass * (at.position + at.rotation @ link.com) for link, at in zip(robot.links, placements)]
    orders, order_note = motion_orders(robot)
    frequencies, frequency_note = eigenfrequencies(robot)
    return RobotOverview(
        robot,
        mass,
        np.sum(moments, axis=0) / mass if mass else None,
        placements,
        orders,
        order_note,
        frequencies,
        frequency_note,
        stiffness_band(robot),
    )


def placements_at_zero(robot: Robot) -> tuple[Placement, ...]:
    """Pose of each link at q = 0."""
    found = link_poses(robot, ca.SX.zeros(robot.n))
    return tuple(Placement(np.array(ca.DM(x.position)).ravel(), np.array(ca.DM(x.rotation))) for x in found)


def motion_orders(robot: Robot) -> tuple[tuple[int, ...] | None, str]:
    """Highest derivative of q per joint, or why there is none."""
    try:
        return tuple(joint.motion for joint in derivative_orders(robot).joints), ""
    except FlexjointError as error:
        return None, str(error)


def eigenfrequencies(robot: Robot) -> tuple[Eigenfrequencies | None, str]:
    """Natural frequencies of the springs, or why there are none."""
    if not (any(robot.compliant) or robot.parallel_springs):
        return None, ""
    if any(robot.variable_stiffness):
        return None, "they depend on the stiffness that the second motors set"
    if reason := skipped("checked_joints", robot.n):
        return None, f"{reason}, or use analysis.joint_eigenfrequencies(robot, q)"
    try:
        at = np.vstack([np.zeros(robot.n), workspace(robot)])
        found = joint_eigenfrequencies(robot.without_gear_losses(), at)
    except FlexjointError as error:
        return None, str(error)
    except np.linalg.LinAlgError:
        return None, "the mass matrix is singular: a joint moves no mass"
    within = found[1:][np.isfinite(found[1:]).all(axis=-1)]
    if not np.isfinite(found[0]).all() or not len(within):
        where = "at q = 0" if len(within) else "within the position limits"
        return None, f"a spring is beyond the reach of its law {where}: use analysis.joint_eigenfrequencies(robot, q)"
    return Eigenfrequencies(found[0], within.min(axis=0), within.max(axis=0), len(within)), ""


def stiffness_band(robot: Robot) -> StiffnessBand | None:
    """Range of the stiffness of joints whose motors set it."""
    if not any(robot.variable_stiffness):
        return None
    try:
        return stiffness_range(robot)
    except FlexjointError:
        return None
