"""Input shaping: a motion as a weighted sum of delayed copies, which excites some modes of vibration no more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..checks import duration as checked_duration, whole
from ..dynamics.held_modes import VibrationMode, held_modes
from ..errors import InputError, shown
from ..file_limits import spend
from ..robot import Robot, a_robot
from ..types import FloatArray
from .base import Composed, Trajectory, a_trajectory, empty_stack, set_fields
from .joined import continuity
from .kinds import MotionTable, kind
from .rest_to_rest import RestToRest
from .shapers import SHAPERS, ImpulseShaper, checked_mode, impulse_shaper

POSES = ("goal", "start")
MODES = 2  # by default the two slowest

ModeChoice = int | Sequence[VibrationMode | tuple[float, float]]


@dataclass(frozen=True, eq=False, repr=False)
class Shaped(Composed):
    """A motion through an impulse shaper: q(t) = Σ Aᵢ motion(t − tᵢ), at rest before and after the motion.

    `shape_motion(motion, robot)` makes it for the modes of a robot.  Start and goal are those of the motion; it lasts
    longer by the delay of the shaper.  It is as smooth as the motion and its ends.

    In files: `{kind = "shaped", motion = {...}, shaper = "zv", modes = 2}`, also at; or frequency (Hz), and damping, in
    place of modes.

    Args:
        motion: the motion, from rest to rest.
        shaper: the shaper.

    Raises:
        InputError: an argument has a wrong type, or the motion does not start and end at rest.

    Example:
        >>> import flexjoint as fj
        >>> motion = fj.trajectory.RestToRest([0.0], [1.0], duration=1.0)
        >>> fj.trajectory.Shaped(motion, fj.trajectory.impulse_shaper("zvd", [(2.0, 0.01)]))
        Shaped(n=1, 1.50003 s, C^3)
    """

    motion: Trajectory
    shaper: ImpulseShaper

    def __post_init__(self) -> None:
        motion = a_trajectory("Shaped", self.motion)
        if not isinstance(self.shaper, ImpulseShaper):
            raise InputError(f"Shaped: shaper is {shown(self.shaper)}; give fj.trajectory.impulse_shaper('zv', modes)")
        ends = [motion(t, 0)[0] for t in (0.0, motion.duration)]
        before, after = (RestToRest(q, q, motion.duration, smoothness=20) for q in ends)
        smoothness = min(continuity(before, motion, 0), continuity(motion, after, 0))
        if smoothness < 1:
            raise InputError(
                "Shaped: the motion does not start and end at rest; give it a time law: "
                "motion.retimed(RestToRest([0], [motion.duration], duration))"
            )
        set_fields(self, n=motion.n, duration=motion.duration + self.shaper.delay)
        set_fields(self, smoothness=min(motion.smoothness, smoothness))

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        last = self.motion.duration
        start, goal = self.motion.derivatives(np.array([0.0, last]), 0)[0]
        stack = empty_stack(order, t.shape, self.n)
        stack[:] = 0.0
        for delay, weight in zip(self.shaper.delays.tolist(), self.shaper.weights.tolist()):
            s = t - delay
            part = self.motion.derivatives(np.clip(s, 0.0, last), order)
            part[0] -= start
            part[1:, (s < 0.0) | (s > last)] = 0.0
            stack += weight * part
        stack[0] += start
        stack[0, t >= self.duration] = goal
        return stack

    def remedy(self, order: int) -> str:
        return f"{self.motion.remedy(order)}, with {order - 1} derivatives that vanish at both ends"


def shape_motion(
    motion: Trajectory,
    robot: Robot,
    kind: str = "zv",
    modes: ModeChoice = MODES,
    at: Literal["goal", "start"] = "goal",
    stiffness: ArrayLike | None = None,
    period: float | None = None,
) -> Shaped:
    """The motion, shaped so that it no longer excites the given modes of vibration of a robot.

    By default the modes are those of the links while the motors are held, as under a stiff position control of the
    motors.  Under softer control give those of the loop: `fj.analysis.vibration_modes(robot, goal, controller)`.

    Args:
        motion: the motion, from rest to rest.
        robot: the robot, with elastic joints unless `modes` are given.
        kind: "zv", "zvd" or "ei", see `impulse_shaper`; "zv" by default.
        modes: how many of the slowest modes; 2 by default.  Or the modes themselves, or pairs of frequency, in Hz, and
            damping ratio.
        at: pose whose modes are used: "goal" (default), where the vibration remains, or "start".
        stiffness: of joints of variable stiffness, one number or one per such joint, in Nm/rad or N/m.
        period: sampling period of the controller, in s; modes above its Nyquist frequency are refused then.

    Returns:
        A Shaped trajectory; it is longer by `shaper.delay`, and `shaper.insensitivity(mode)` is its robustness.

    Raises:
        InputError: no joint is elastic, an argument is wrong, a mode is too fast for the period, or the motion does not
            start and end at rest.

    Example:
        >>> import flexjoint as fj
        >>> motion = fj.trajectory.RestToRest([0.0] * 7, [0.5] * 7, duration=1.0)
        >>> fj.trajectory.shape_motion(motion, fj.load("kuka_lwr"), "zvd", modes=1)
        Shaped(n=7, 1.40722 s, C^3)
    """
    given = chosen_modes(a_trajectory("shape_motion", motion), a_robot("shape_motion", robot), modes, at, stiffness)
    chosen = [checked_mode(x) for x in given]
    nyquist = math.inf if period is None else 0.5 / checked_duration("shape_motion", "period", period)
    fast = [x.frequency for x in chosen if x.frequency >= nyquist]
    if fast:
        raise InputError(
            f"shape_motion: the mode at {fast[0]:.4g} Hz is above {nyquist:g} Hz, half the rate of the controller, "
            "which can neither excite nor avoid it; shape fewer modes"
        )
    return Shaped(motion, impulse_shaper(kind, chosen))


def chosen_modes(
    motion: Trajectory, robot: Robot, modes: ModeChoice, at: str, stiffness: ArrayLike | None
) -> Sequence[VibrationMode | tuple[float, float]]:
    """The given modes, or so many of the slowest at a pose of the motion."""
    if at not in POSES:
        raise InputError(f"shape_motion: at is {shown(at)}; it must be one of {', '.join(POSES)}")
    if not isinstance(modes, int) or isinstance(modes, bool):
        return list(modes) if isinstance(modes, list | tuple) else [modes]  # type: ignore[list-item]
    count = whole("shape_motion", "modes", modes, least=1)
    if motion.n != robot.n:
        raise InputError(f"shape_motion: the motion moves {motion.n} joints; {robot.name} has {robot.n}")
    pose = motion(0.0 if at == "start" else motion.duration, 0)[0]
    found = held_modes(robot, pose, stiffness)
    if not found:
        raise InputError(f"shape_motion: no mode of {robot.name} oscillates: all are overdamped")
    return found[:count]


@kind("shaped", others=("motion", "shaper", "modes", "at", "frequency", "damping", "stiffness"))
def read(table: MotionTable) -> Trajectory:
    """The shaped motion in a table of a file."""
    from .files import read_table

    table.only_one("modes", "frequency")
    before = spend("motions", 0, table.place)
    motion = read_table(table.table("motion"), table.joints, table.folder)
    shaped = shaped_in(table, motion)
    inside = spend("motions", 0, table.place) - before
    spend("motions", (len(shaped.shaper.delays) - 1) * inside, table.place, "shape fewer modes")
    return shaped


def shaped_in(table: MotionTable, motion: Trajectory) -> Shaped:
    """A motion shaped as a table says."""
    shaper = table.choice("shaper", SHAPERS, "zv")
    modes: ModeChoice = table.data.get("modes", MODES)
    if "frequency" in table.data:
        frequencies = np.atleast_1d(table.array("frequency", "a frequency in Hz, or a list"))
        damping = np.atleast_1d(table.array("damping", "one ratio per frequency")) if "damping" in table.data else 0.0
        if np.shape(damping) not in ((), (1,), frequencies.shape) or frequencies.ndim != 1:
            raise table.wrong("damping", f"one ratio, or {frequencies.size}, one per frequency")
        pairs = zip(frequencies.tolist(), np.broadcast_to(damping, frequencies.shape).tolist())
        return Shaped(motion, impulse_shaper(shaper, list(pairs)))
    if table.joints.stiffnesses or table.joints.pose:
        raise table.wrong("frequency", "frequencies in Hz; only motions of joints have modes of their own")
    stiffness = table.array("stiffness", "one number or one per joint") if "stiffness" in table.data else None
    at: Literal["goal", "start"] = table.choice("at", POSES, "goal")  # type: ignore[assignment]
    return shape_motion(motion, table.joints.robot.without_gear_losses(), shaper, modes, at, stiffness)
