"""Targets of inverse kinematics: which frame must reach which pose, and which parts of the pose count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, shown
from ..robot import Robot
from ..types import FloatArray
from .pose import Pose

ORIENTATIONS = ("full", "free", "x", "y", "z")


@dataclass(frozen=True, eq=False)
class Target:
    """A pose, or many, that a frame of the robot must reach.

    Args:
        pose: the poses in base coordinates, a `Pose`, matrices (..., 4, 4), or positions (..., 3) in m.
        link: name of the link that carries the frame; the tool of the robot by default.
        frame: pose of the frame on the link, such as that of a gripper; the link's own frame by default.
        position: constrained coordinates of the position, in base coordinates; "xyz" by default, "z" for a height only,
            "" for a free position.
        orientation: constrained part of the orientation: "full", "free", or one axis of the frame, "x", "y" or "z", of
            which only the direction is fixed.  By default "full" if the pose has an orientation, else "free".

    Raises:
        InputError: an argument is none of these, or the pose lacks the orientation that counts.

    Example:
        >>> import flexjoint as fj
        >>> pose = fj.kinematics.Pose.from_rpy([0.4, 0, 0.5], [180, 0, 0], degrees=True)
        >>> fj.kinematics.Target(pose, orientation="z").orientation
        'z'
    """

    pose: Pose
    link: str | None = None
    frame: Pose | None = None
    position: str = "xyz"
    orientation: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "pose", as_pose("Target: pose", self.pose))
        if self.link is not None and not isinstance(self.link, str):
            raise InputError(f"Target: link must be the name of a link, not {shown(self.link)}")
        if self.frame is not None:
            frame = as_pose("Target: frame", self.frame)
            if frame.shape:
                raise InputError(f"Target: frame holds poses of shape {frame.shape}; give one pose on the link")
            object.__setattr__(self, "frame", frame)
        words = self.position
        if not isinstance(words, str) or set(words) - set("xyz") or len(set(words)) < len(words):
            raise InputError(f"Target: position must be some of the letters xyz, not {shown(words)}")
        if self.orientation is None:
            object.__setattr__(self, "orientation", "free" if self.pose.rotation is None else "full")
        if self.orientation not in ORIENTATIONS:
            known = ", ".join(f'"{x}"' for x in ORIENTATIONS)
            raise InputError(f"Target: orientation must be one of {known}, not {shown(self.orientation)}")
        if self.orientation != "free" and self.pose.rotation is None:
            raise InputError(
                f'Target: orientation is "{self.orientation}", but the pose has none: give a quaternion or rpy'
            )
        if not self.position and self.orientation == "free":
            raise InputError("Target: neither position nor orientation counts: every posture would do")


class Task(NamedTuple):
    """What a kernel knows of a target: all but the poses themselves.

    link: index of the link.
    rotation, offset: the frame on the link, nine and three numbers, row by row.
    position: coordinates of the position that count, 0 to 2.
    orientation: "full", "free", or the axis whose direction counts.
    """

    link: int
    rotation: tuple[float, ...]
    offset: tuple[float, ...]
    position: tuple[int, ...]
    orientation: str

    @property
    def goal_size(self) -> int:
        """Numbers of a goal: a position, and a rotation row by row if it counts."""
        return 3 if self.orientation == "free" else 12


def task_of(robot: Robot, target: Target) -> Task:
    """The target for a kernel.  Raises RobotError if there is no such link."""
    frame = target.frame
    rotation = np.eye(3) if frame is None or frame.rotation is None else frame.rotation
    offset = np.zeros(3) if frame is None else frame.position
    position = tuple("xyz".index(x) for x in sorted(target.position))
    numbers = tuple(rotation.ravel().tolist()), tuple(offset.tolist())
    return Task(robot.link_index(target.link), *numbers, position, str(target.orientation))


def goal_of(target: Target, task: Task, shape: tuple[int, ...]) -> FloatArray:
    """The numbers of the goals of a target, (rows, size), its poses broadcast to a batch shape."""
    parts = [target.pose.position]
    if task.goal_size > 3:
        parts.append(target.pose.oriented.reshape(*target.pose.shape, 9))
    goal = np.concatenate(parts, axis=-1)
    return np.broadcast_to(goal, (*shape, goal.shape[-1])).reshape(-1, goal.shape[-1])


def targets_of(owner: str, target: Any, **frame: Any) -> tuple[Target, ...]:
    """The targets that the argument of a call means: one, several, or poses by the names of links.

    Args:
        owner: the function, which begins messages.
        target: a Target or a sequence of them, poses, or {link: poses}.
        frame: link, frame, position and orientation of the only target, where these are given beside the poses.
    """
    given = {name: x for name, x in frame.items() if x is not None}
    if isinstance(target, Mapping | Target) or _are_targets(target):
        if given:
            name = next(iter(given))
            raise InputError(f"{owner}: {name} belongs into the Target here: fj.kinematics.Target(pose, {name}=...)")
        if isinstance(target, Mapping):
            target = [Target(pose, link) for link, pose in target.items()]
        found = (target,) if isinstance(target, Target) else tuple(target)
        if not found:
            raise InputError(f"{owner}: there is no target: give a pose")
        if wrong := [x for x in found if not isinstance(x, Target)]:
            raise InputError(f"{owner}: {shown(wrong[0])} stands among targets; give fj.kinematics.Target(pose, link)")
        return found
    return (Target(as_pose(f"{owner}: target", target), **given),)


def as_pose(what: str, value: Any) -> Pose:
    """A Pose, from one, from matrices (..., 4, 4) or from positions (..., 3)."""
    if isinstance(value, Pose):
        return value
    if isinstance(value, tuple) and hasattr(value, "rotation") and hasattr(value, "position"):
        return Pose(value.position, value.rotation)  # of forward_kinematics
    try:
        shape = np.shape(value)
    except ValueError:
        shape = ()
    if shape[-2:] == (4, 4):
        return Pose.from_matrix(value)
    if shape[-1:] == (3,):
        return Pose(value)
    has = f"has shape {shape}" if shape else f"is {shown(value)}"
    raise InputError(f"{what} {has}; give a Pose, matrices (..., 4, 4) or positions (..., 3)")


def batch_shape(owner: str, shapes: Iterable[tuple[int, ...]], what: str) -> tuple[int, ...]:
    """The batch shape that several shapes broadcast to."""
    shapes = list(shapes)
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        shown_shapes = ", ".join(map(str, shapes))
        raise InputError(f"{owner}: the batch shapes of {what} do not broadcast: {shown_shapes}") from None


def _are_targets(value: Any) -> bool:
    """Whether a value is a list of targets, or an empty one."""
    return isinstance(value, list | tuple) and (not len(value) or any(isinstance(x, Target) for x in value))
