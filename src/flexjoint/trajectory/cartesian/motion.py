"""The joint motion that moves a frame of a robot along a Cartesian path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...checks import duration as checked_duration, finite
from ...dynamics.inverse import needed_order
from ...errors import InputError, listed, shown
from ...file_limits import spend
from ...kinematics import Pose, inverse_kinematics
from ...robot import Robot, numeric
from ...types import FloatArray
from ..base import Trajectory, set_fields
from ..kinds import SMOOTHNESS
from .continuation import OutOfReach
from .joint_path import JointPath, PathError
from .path import CartesianPath, single_pose
from .placed_path import PlacedPath
from .task import Task
from .time_law import OWNER, SAMPLES, Timing

POSTURES = 8  # starts that are tried where none is given
POINTS = 50  # on a path: as long as following them takes what is done once


@dataclass(frozen=True, eq=False, repr=False)
class CartesianMotion(Trajectory):
    """A motion of the joints that moves a frame of the robot along a path, exactly.

    At every time the joint positions are the solution of f(q) = X, and their derivatives solve its derivatives: no
    point is off the path by more than `path_error.bound`, 1e-10 m and rad.  Joints that do not move the link keep their
    positions.  A redundant arm moves its joints as little as possible, unless `hold` or `posture` says otherwise.

    In files: the kinds line, arc, pose_spline and cartesian; see docs/cartesian.md.

    Args:
        robot: any tree; q are the positions of the links.
        path: the path, such as `fj.trajectory.Line`, in base coordinates.
        start: (n,), joint positions at the first pose of the path, or near them, in rad or m; by default the first of
            eight postures found by `fj.inverse_kinematics` from which the path can be followed.
        duration: duration, in s; a path with times, such as `PoseSpline`, has its own by default.
        law: instead of the duration, the fraction of the path covered, from 0 to 1: a trajectory with one column.  By
            default `RestToRest`, smooth enough for the robot.
        speed, acceleration: instead of the duration, limits along the path, in m/s and m/s²: the velocity is a
            `SmoothTrapezoid`.
        angular_speed, angular_acceleration: limits of the rotation, in rad/s and rad/s²; none by default.
        link: name of the link that carries the frame; the robot's tool by default.
        frame: pose of the frame on the link, such as that of a gripper; the link's own frame by default.
        orientation: constrained part of the orientation: "full", the default; "x", "y" or "z", the direction of this
            axis only; or "free".
        base: pose of the robot's base in the world, if the path is given in world coordinates.
        hold: names of joints that keep their positions.
        posture: (n,), joint positions that a redundant arm approaches along the path.
        limits: whether a path that leads beyond the position limits of a joint is refused; True by default.
        smoothness: number of continuous derivatives of the time law, unless `law` is given; by default what the robot
            needs, at least 3, and one more with `speed`, so that torques do not jump at the end of a ramp.

    Attributes:
        path_error: `PathError`: largest distance and angle from the path, looked for between all knots, and the bound.
        least_singular_value: smallest singular value of the Jacobian along the path (lengths in m, angles in rad) and
            the fraction of the path at which it occurs.

    Raises:
        InputError: an argument is wrong, or the robot cannot follow the path: the message names the place and the
            reason.

    Example:
        >>> import flexjoint as fj
        >>> robot, q = fj.load("panda"), [0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8]
        >>> pose = fj.forward_kinematics(robot, q)
        >>> path = fj.trajectory.Line(pose, pose.position + [0.0, 0.2, 0.0])
        >>> fj.trajectory.CartesianMotion(robot, path, q, duration=2.0)
        CartesianMotion(n=7, 2 s, C^3)
    """

    robot: Robot
    path: CartesianPath
    start: ArrayLike | None = None
    duration: float = None  # type: ignore[assignment]
    law: Trajectory | None = None
    speed: float | None = None
    acceleration: float | None = None
    angular_speed: float | None = None
    angular_acceleration: float | None = None
    link: str | None = None
    frame: Pose | None = None
    orientation: str = "full"
    base: Pose | None = None
    hold: Sequence[str] = ()
    posture: ArrayLike | None = None
    limits: bool = True
    smoothness: float = None  # type: ignore[assignment]
    n: int = field(init=False)
    joint_path: JointPath = field(init=False)
    along: Trajectory | None = field(init=False)  # path parameter over time; None if it is the time
    motion: Trajectory = field(init=False)  # of the joints

    def __post_init__(self) -> None:
        robot = numeric(OWNER, self.robot)
        path = a_path(self.path)
        if self.base is not None:
            path = PlacedPath(path, single_pose(OWNER, "base", self.base).inverse())
        frame = Pose(np.zeros(3), np.eye(3)) if self.frame is None else single_pose(OWNER, "frame", self.frame)
        frame = frame if frame.rotation is not None else Pose(frame.position, np.eye(3))
        link = robot.links[robot.link_index(self.link)].name
        task = Task(robot, link, frame, self.orientation, held_coordinates(robot, self.hold))
        along = Timing(
            self.duration,
            self.law,
            self.speed,
            self.acceleration,
            self.angular_speed,
            self.angular_acceleration,
            self.smoothness,  # type: ignore[arg-type]
        ).along(path, max(SMOOTHNESS, needed_order(robot) - 1))
        posture = None if self.posture is None else positions(robot, "posture", self.posture)
        start = None if self.start is None else positions(robot, "start", self.start)
        joint_path = followed(task, path, start, posture, bool(self.limits))
        motion = joint_path if along is None else joint_path.retimed(along)
        if path.timed and self.duration is not None:
            motion = motion.lasting(checked_duration(OWNER, "duration", self.duration))
        set_fields(self, link=link, frame=frame, hold=tuple(self.hold), n=robot.n, joint_path=joint_path, motion=motion)
        set_fields(
            self, path=path, start=joint_path.start, along=along, duration=motion.duration, smoothness=motion.smoothness
        )

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        stack = self.motion.derivatives(t, order)
        if self.along is None:  # a path with its own times rests before and after
            stack[1:, (t < 0.0) | (t > self.duration)] = 0.0
        return stack

    def remedy(self, order: int) -> str:
        if self.path.smoothness < order - 1:
            return f"{type(self.path).__name__}: {self.path.remedy(order)}"
        return f"law: {self.law.remedy(order)}" if self.law is not None else f"give smoothness={order - 1} or more"

    def poses(self, t: ArrayLike) -> Pose:
        """The prescribed poses of the frame at times t, in base coordinates."""
        times = finite(OWNER, "t", t)
        along = self.along
        s = times * self.path.length / self.duration if along is None else along.derivatives(times, 0)[0, ..., 0]
        return self.path.pose(np.clip(s, 0.0, self.path.length))

    @cached_property
    def path_error(self) -> PathError:
        """The largest distance and angle from the path, looked for between all knots, and the bound."""
        return self.joint_path.error()

    @property
    def least_singular_value(self) -> tuple[float, float]:
        """Smallest singular value of the Jacobian along the path, and the share of the path where it is."""
        value, where = self.joint_path.least
        return value, where / self.path.length


# Checks -------------------------------------------------------------------------------------------------------------


def a_path(value: object) -> CartesianPath:
    """An argument that must be a path."""
    if not isinstance(value, CartesianPath):
        raise InputError(f"{OWNER}: path must be a path such as fj.trajectory.Line, not {type(value).__name__}")
    return value


def positions(robot: Robot, what: str, value: Any) -> FloatArray:
    """Joint positions (n,)."""
    array = finite(OWNER, what, value)
    if array.shape != (robot.n,):
        raise InputError(
            f"{OWNER}: {what} has shape {array.shape}; {robot.name} has {robot.n} joints: give ({robot.n},)"
        )
    return array


def held_coordinates(robot: Robot, hold: object) -> frozenset[int]:
    """Coordinates of joints by their names."""
    if isinstance(hold, str) or not isinstance(hold, Sequence):
        raise InputError(f"{OWNER}: hold must be a list of joint names, not {shown(hold)}")
    names = [joint.name for joint in robot.joints]
    for name in hold:
        if name not in names:
            raise InputError(f"{OWNER}: hold names joint {shown(name)}; {robot.name} has {listed(names)}")
    return frozenset(names.index(name) for name in hold)


def followed(
    task: Task, path: CartesianPath, start: FloatArray | None, posture: FloatArray | None, limits: bool
) -> JointPath:
    """The joint positions along the path, from a start that is given or from several by inverse kinematics."""
    problem: InputError | None = None
    for q in starts(task, path) if start is None else [start]:
        spend("path_points", POINTS, OWNER)
        try:
            joint_path = JointPath(task, path, q, posture)
            if limits:
                check_limits(joint_path)
            return joint_path
        except OutOfReach:  # from every start
            raise
        except InputError as error:
            problem = problem or error
    assert problem is not None
    raise problem if start is not None else InputError(f"{problem} ({POSTURES} postures at its start were tried)")


def starts(task: Task, path: CartesianPath) -> Iterator[FloatArray]:
    """Several joint positions at the first pose, the one farthest from the limits first."""
    for seed in range(POSTURES):
        found = inverse_kinematics(
            task.robot,
            path.first_pose,
            link=task.link,
            frame=task.frame,
            orientation=task.orientation,
            away_from_limits=seed == 0,
            seed=seed,
        )
        if found.solved:
            yield found.q
        elif seed == 0:
            raise InputError(
                f"{OWNER}: the first pose of the path is {found.status.item()}, {path.first_pose}: give another path, "
                "or joint positions near it as `start`"
            )


def check_limits(joint_path: JointPath) -> None:
    """Refuse a path that leads beyond the position limits of a joint."""
    robot = joint_path.task.robot
    s = np.linspace(0.0, joint_path.duration, SAMPLES)
    q = joint_path.derivatives(s, 0)[0]
    for i, (joint, limits) in enumerate(zip(robot.joints, robot.joint_limits)):
        beyond = np.maximum(limits.lower - q[:, i], q[:, i] - limits.upper)
        if np.max(beyond) > 1e-9:
            first, worst = int(np.argmax(beyond > 1e-9)), int(np.argmax(beyond))
            bounds = f"its limits {limits.lower:g} to {limits.upper:g} {joint.kind.unit('rad | m')}"
            redundant = ", give a `posture` inside the limits or joints to `hold`" if joint_path.task.redundancy else ""
            raise InputError(
                f"{OWNER}: joint '{joint.name}' leaves {bounds} at {100 * s[first] / s[-1]:.4g} % of the path and "
                f"reaches {q[worst, i]:.6g}: start in another posture{redundant}, or give limits=False"
            )
