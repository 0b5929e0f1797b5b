"""Arguments of `time_optimal`: robots that can be optimized, paths as motions that rest at their ends."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ...checks import rows, whole
from ...dynamics.inverse import needed_order
from ...errors import InputError, listed
from ...robot import Robot, a_robot
from ..base import Trajectory, require_smoothness
from ..limited_motion import LimitedMotion
from ..rest_to_rest import RestToRest
from ..spline import Spline
from .limit_shares import bounds_acceleration, planned_order, unlimited_joints
from .problem import degree_of

NAME = "time_optimal"
INTERVALS = {2: 80, 3: 60, 4: 40}  # between knots, by the order of the highest derivative
PER_SEGMENT = 8  # intervals per segment of a spline, at least
AT_REST = 1e-9  # relative to the range: derivatives that count as zero


def check_robot(robot: Robot) -> Robot:
    """A robot whose motions can be optimized."""
    a_robot(NAME, robot)
    if any(robot.variable_stiffness):
        raise InputError(
            f"{NAME}: {robot.name} has variable-stiffness joints, which are not supported: use fit_duration(robot, "
            "motion, stiffness=...), which scales a motion uniformly"
        )
    if robot.fidelity == "complete" and any(robot.compliant):
        order = needed_order(robot)
        raise InputError(
            f"{NAME}: {robot.name} has complete rotors, which are not supported: its torques depend on derivative "
            f"{order} of q; optimize robot.with_fidelity('spong') with few intervals, make the motion m smoother, "
            f"fj.trajectory.Spline(m(t, order=0)[0], t, smoothness={order - 1}), and give it to fit_duration"
        )
    return robot


def undamped(robot: Robot) -> Robot:
    """The robot that is optimized: without damping of its springs."""
    return robot.without_spring_damping() if any(robot.damped) else robot


def path_motion(robot: Robot, path: Trajectory | ArrayLike) -> Trajectory:
    """A motion along the path that rests at its ends, as smooth as the drives need and not more if it can be chosen."""
    order = planned_order(undamped(robot))
    if not isinstance(path, Trajectory):
        points = rows(NAME, "path", path, least=2)
        if points.shape[1] != robot.n:
            raise InputError(f"{NAME}: the waypoints have {points.shape[1]} columns; {robot.name} has {robot.n} joints")
        if np.any(same := np.all(points[1:] == points[:-1], axis=1)):
            i = int(np.argmax(same))
            raise InputError(f"{NAME}: waypoints {i} and {i + 1} are equal; leave one of them out")
        if len(points) > 2:
            return Spline(points, np.array(1.0), order - 1, degree=degree_of(order))
        path = RestToRest(points[0], points[1], 1.0)
    if isinstance(path, RestToRest):
        return RestToRest(path.start, path.goal, path.duration, order - 1)
    require_smoothness(path, order)
    if not math.isfinite(path.duration):
        raise InputError(f"{NAME}: the path does not end; give its duration")
    ends = np.array([0.0, path.duration])
    speeds = path(ends, order=order - 1)[1:] * (path.duration ** np.arange(1, order))[:, None, None]
    size = np.ptp(path(np.linspace(0.0, path.duration, 101), order=0)[0], axis=0).max()
    if np.abs(speeds).max() <= AT_REST * size:
        return path
    return path.retimed(RestToRest(ends[:1], ends[1:], path.duration, order - 1))


def check_limits(motion: LimitedMotion, free: bool) -> None:
    """Refuse a robot whose limits leave the problem unbounded."""
    robot = motion.robot
    if motion.limited and not bounds_acceleration(motion):
        raise InputError(
            f"{NAME}: no limit of {robot.name} bounds accelerations, so the fastest motion has none: give its joints "
            "limits.acceleration or limits.effort, its motors motor_limits.torque, or its springs spring_limits"
        )
    if free and (names := unlimited_joints(motion)):
        raise InputError(
            f"{NAME}: with a free path every joint needs a limit besides that of its position: {listed(names)} of "
            f"{robot.name} has none; give it limits.velocity, limits.acceleration or limits.effort"
        )


def interval_count(path: Trajectory, order: int, given: int | None) -> int:
    """Intervals of the splines."""
    if given is not None:
        return whole(NAME, "intervals", given, least=4, largest=2000)
    segments = len(path.points) - 1 if isinstance(path, Spline) else 1
    return max(INTERVALS[order], PER_SEGMENT * segments)
