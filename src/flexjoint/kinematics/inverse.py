"""Inverse kinematics: joint positions at which frames of a robot reach given poses, for many poses at once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import entries, finite, positive, whole
from ..errors import InputError
from ..robot import Robot, a_robot
from ..spatial import length
from ..types import FloatArray
from . import preference as preferences
from .pose import Pose
from .postures import NOT_FOUND, OUT_OF_REACH, SOLVED, Postures
from .preference import by_whole_turns, turning
from .reach import reach_of
from .search import Search
from .solver import Problem
from .target import Task, batch_shape, goal_of, targets_of, task_of

OWNER = "inverse_kinematics"
SHARE = 0.4  # of the length of an arm: a distance of as much counts as 1 rad; with 1 a sixth more starts are needed
LEAST_TOLERANCE = 1e-13  # m and rad: rounding of a pose of a few metres


def inverse_kinematics(
    robot: Robot,
    target: Any,
    *,
    link: str | None = None,
    frame: Pose | None = None,
    position: str | None = None,
    orientation: str | None = None,
    nearest_to: ArrayLike | None = None,
    away_from_limits: bool = False,
    start: ArrayLike | None = None,
    limits: bool | tuple[ArrayLike, ArrayLike] = True,
    tolerance: float = 1e-10,
    attempts: int = 100,
    candidates: int = 8,
    seed: int = 0,
    threads: int = 1,
) -> Postures:
    """Joint positions at which frames of the robot reach given poses, with a status and the errors per pose.

    Args:
        robot: any tree of rigid or elastic joints; q are the positions of the links.
        target: poses of the tool: a `Pose`, matrices (..., 4, 4), positions (..., 3) in m, or what
            `forward_kinematics` returns.  Of another frame: a `Target`.  Of several frames at once: a list of `Target`,
            or {link: poses}; their batch dimensions broadcast.
        link, frame, position, orientation: as in `Target`, if the target is given by poses.
        nearest_to: posture (..., n), rad or m; the nearest solution is preferred.  None by default.
        away_from_limits: whether the solution nearest to the middle of all limits is preferred, relative to their
            ranges.  False by default: the first solution found.
        start: posture (..., n) for the first attempt; by default `nearest_to`, otherwise the nearest of 32 random
            postures.
        limits: True for those of the robot (default), False for none, or (lower, upper) in their place, each a number
            or (n,), rad or m.
        tolerance: greatest position error, m, and rotation error, rad, of a solution.  1e-10 by default.
        attempts: greatest number of starts per pose.  100 by default.
        candidates: number of starts whose solutions are compared, with a preference.  8 by default.
        seed: of the random starts, 0 by default: the same call gives the same bits.
        threads: number of threads, 1 by default; results do not depend on it.

    Returns:
        `Postures`: q (..., n) with NaN where no solution was found, the status per pose ("solved", "out of reach" or
        "not found"), errors, and the best postures.  `.require()` gives q, or an error if a pose is not solved.

    Raises:
        InputError: a target, posture or limit of a wrong shape, with NaN, or contradicting another argument.
        RobotError: there is no such link.

    Example:
        >>> import flexjoint as fj
        >>> fj.inverse_kinematics(fj.load("panda"), [0.4, 0.1, 0.5]).status.item()
        'solved'
    """
    robot = _usable(robot)
    targets = targets_of(OWNER, target, link=link, frame=frame, position=position, orientation=orientation)
    tasks = tuple(task_of(robot, x) for x in targets)
    if nearest_to is not None and away_from_limits:
        raise InputError(f"{OWNER}: nearest_to= and away_from_limits= are both given: keep one")
    near = None if nearest_to is None else _posture(robot, "nearest_to", nearest_to)
    begin = near if start is None else _posture(robot, "start", start)
    given = [x.shape[:-1] for x in (near, begin) if x is not None]
    shape = batch_shape(OWNER, [*(x.pose.shape for x in targets), *given], "targets and postures")
    lower, upper = _limits(robot, limits)
    problem = Problem(
        robot,
        tasks,
        [goal_of(x, task, shape) for x, task in zip(targets, tasks)],
        lower,
        upper,
        scale(robot, tasks),
        _tolerance(tolerance),
        whole(OWNER, "threads", threads, 1),
    )
    first = _rows(begin, shape)
    refine = None
    if near is not None:
        refine = preferences.nearest_to(problem, _rows(near, shape)).refine  # type: ignore[arg-type]
    elif away_from_limits:
        refine = preferences.away_from_limits(problem).refine
    hopeless = out_of_reach(problem)
    found = Search(
        problem,
        hopeless,
        first,
        whole(OWNER, "attempts", attempts, 1),
        whole(OWNER, "candidates", candidates, 1),
        whole(OWNER, "seed", seed),
        refine,
    ).run()
    q = found.q if refine else wrapped(problem, found.q, first)
    return _postures(problem, q, found.starts, hopeless, shape)


@lru_cache(maxsize=64)
def scale(robot: Robot, tasks: tuple[Task, ...]) -> float:
    """SHARE of the longest way from the base to a frame at q = 0, along the joints, in m; 1 if there is none."""
    ways = [
        sum(float(length(robot.links[i].joint.position)) for i in robot.path(task.link))
        + float(length(np.array(task.offset)))
        for task in tasks
    ]
    return SHARE * max(ways) or 1.0


def out_of_reach(problem: Problem) -> np.ndarray:
    """Rows that no posture can reach, by the bounds of `reach.py`."""
    found = np.zeros(problem.rows, dtype=bool)
    for task, goal in zip(problem.tasks, problem.goals):
        if len(task.position) < 3:
            continue
        reach = reach_of(problem.robot, task, tuple(problem.lower.tolist()), tuple(problem.upper.tolist()))
        rotation = goal[:, 3:].reshape(-1, 3, 3) if task.goal_size > 3 else None
        found |= reach.excludes(goal[:, :3], rotation, task.orientation, problem.tolerance)
    return found


def wrapped(problem: Problem, q: FloatArray, first: FloatArray | None) -> FloatArray:
    """Joints without limits moved by whole turns, next to where they started or to zero."""
    unlimited = turning(problem.robot) & np.isinf(problem.lower) & np.isinf(problem.upper)
    return by_whole_turns(q, np.zeros_like(q) if first is None else first, problem, unlimited)


def _postures(
    problem: Problem, q: FloatArray, starts: np.ndarray, hopeless: np.ndarray, shape: tuple[int, ...]
) -> Postures:
    """The result, each posture checked once more."""
    position, rotation = problem.errors(np.arange(problem.rows), q)
    within = np.all((problem.lower <= q) & (q <= problem.upper), axis=-1)
    solved = problem.met(position, rotation) & within
    status = np.where(solved, SOLVED, np.where(hopeless, OUT_OF_REACH, NOT_FOUND))
    n = problem.robot.n
    return Postures(
        np.where(solved[:, None], q, np.nan).reshape(*shape, n),
        status.reshape(shape),
        position.reshape(shape),
        rotation.reshape(shape),
        q.reshape(*shape, n),
        starts.reshape(shape),
    )


# Checks -------------------------------------------------------------------------------------------------------------


def _usable(robot: Robot) -> Robot:
    if a_robot(OWNER, robot).symbols:
        raise InputError(f"{OWNER}: '{robot.name}' has symbols: give the robot with its numbers, before with_symbols")
    return robot


def _posture(robot: Robot, what: str, value: ArrayLike) -> FloatArray:
    """Finite joint positions (..., n)."""
    array = finite(OWNER, what, value)
    if array.shape[-1:] != (robot.n,):
        raise InputError(f"{OWNER}: {what} has shape {array.shape}; it must be (..., {robot.n}), one per joint")
    return array


def _rows(posture: FloatArray | None, shape: tuple[int, ...]) -> FloatArray | None:
    """A posture per row."""
    if posture is None:
        return None
    return np.broadcast_to(posture, (*shape, posture.shape[-1])).reshape(-1, posture.shape[-1]).copy()


def _limits(robot: Robot, limits: Any) -> tuple[FloatArray, FloatArray]:
    """Lower and upper limits per joint, (n,)."""
    n = robot.n
    if limits is False:
        return np.full(n, -np.inf), np.full(n, np.inf)
    if limits is True:
        own = robot.joint_limits
        return np.array([x.lower for x in own]), np.array([x.upper for x in own])
    if not isinstance(limits, tuple | list | np.ndarray) or len(limits) != 2:
        raise InputError(f"{OWNER}: limits must be True, False or (lower, upper), not {limits!r:.200}")
    lower, upper = (entries(OWNER, f"limits[{k}]", x, n) for k, x in enumerate(limits))
    for k, joint in enumerate(robot.joints):
        if not lower[k] <= upper[k]:
            raise InputError(
                f"{OWNER}: limits leave joint '{joint.name}' no position: lower is {lower[k]:g} and upper {upper[k]:g}"
            )
        if lower[k] == np.inf or upper[k] == -np.inf:
            raise InputError(f"{OWNER}: limits leave joint '{joint.name}' no finite position")
    return lower, upper


def _tolerance(value: float) -> float:
    found = positive(OWNER, "tolerance", value, ", in m and rad")
    if found < LEAST_TOLERANCE:
        raise InputError(f"{OWNER}: tolerance is {found:g}; below {LEAST_TOLERANCE:g} rounding decides")
    return found
