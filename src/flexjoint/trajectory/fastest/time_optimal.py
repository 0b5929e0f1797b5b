"""The fastest motion along a path or between two postures, under all limits of a robot: `time_optimal`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...checks import whole
from ...errors import InputError, NonFiniteError, warn
from ...html import table
from ...progress import activity
from ...robot import Robot
from ...types import FloatArray
from ..base import Trajectory
from ..fitted_duration import fitted
from ..greatest_speed import shares
from ..limited_motion import LimitedMotion, limited_motion
from ..retimed import Retimed
from ..saving import save_trajectory
from ..spline import Spline
from ..time_law import TimeLaw
from .along_path import PathProblem
from .arguments import NAME, check_limits, check_robot, interval_count, path_motion, undamped
from .certificate import Certificate, certificate
from .free_path import FreeProblem
from .ipopt import CONVERGED
from .limit_shares import limit_shares, planned_order
from .problem import POINTS, Candidate, Problem

FINER = 20  # times of the certificate per point of the optimization
ROUNDS = 3  # optimizations with tightened limits
STRETCH = 2e-3  # a stretch that is not worth another optimization
ITERATIONS = 300


@dataclass(frozen=True, eq=False, repr=False)
class FastestMotion:
    """The result of `time_optimal`.

    Args:
        trajectory: the motion; it rests at both ends.
        duration: its duration, in s.
        uniform: shortest duration of the given motion under uniform scaling (`fit_duration`), in s.
        certificate: all limits on a grid 20 times finer than that of the optimization.
        status: final status of IPOPT, "Solve_Succeeded" at a local optimum.
        iterations: total number of iterations of IPOPT.
    """

    trajectory: Trajectory
    duration: float
    uniform: float
    certificate: Certificate
    status: str
    iterations: int

    @property
    def gain(self) -> float:
        """How many times faster than under uniform scaling."""
        return self.uniform / self.duration

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the motion to a TOML file, as `save_trajectory` does."""
        save_trajectory(self.trajectory, path)

    def __repr__(self) -> str:
        gain = f"{self.gain:.4g} times faster than uniform scaling"
        return f"<FastestMotion: {self.duration:.6g} s, {gain}; {self.status}>"

    def _repr_html_(self) -> str:
        rows = [(x.quantity, x.joint, f"{x.start:.4g}", f"{x.end:.4g}") for x in self.certificate.active]
        return table(rows, ("active limit", "joint", "from, s", "to, s"), caption=repr(self)[1:-1])


def time_optimal(
    robot: Robot,
    path: Trajectory | ArrayLike,
    *,
    free: bool = False,
    wrench: Sequence[float] | None = None,
    intervals: int | None = None,
    iterations: int = ITERATIONS,
) -> FastestMotion:
    """The fastest motion under all limits of joints, motors and springs, along a path or between two postures.

    The motion starts and ends at rest: with elastic joints up to the third derivative, with rigid joints up to the
    first one.  It is a local optimum.  Limits hold between the points of the optimization too: the motion is stretched
    until no limit is exceeded.  Damped springs are optimized without their damping, and the motion is then stretched
    until the robot with damping can follow it.  Ctrl-C ends the optimization: the last iterate is stretched until it is
    feasible and returned with a warning.

    Args:
        robot: the robot with its limits.
        path: a trajectory, of which only the path is used; or waypoints, (m, n), in rad or m: a `Spline` through them,
            a straight line through two.
        free: whether only the ends of the path are kept and the rest is the initial guess; False by default.
        wrench: constant force, N, and moment, Nm, on the tool in base coordinates, (6,); none by default.
        intervals: number of intervals of the splines; more are better and slower; by default 40 with elastic joints, 80
            with rigid ones, and at least 8 per segment of a spline; half of them with a free path.
        iterations: maximum number of iterations of IPOPT; 300 by default.

    Returns:
        FastestMotion.

    Raises:
        InputError: a limit excludes rest at the ends or the path itself, or no limit bounds the accelerations; the
            robot has joints of variable stiffness or complete rotors.

    Example:
        >>> import numpy as np
        >>> import flexjoint as fj
        >>> joint = fj.Joint("hinge", drive=fj.RigidDrive(fj.Motor(0.1)), limits=fj.Limits(acceleration=4.0))
        >>> robot = fj.Robot("wheel", [fj.Link("disk", joint, mass=1.0, inertia=np.diag([0.1, 0.1, 0.1]))])
        >>> found = fj.trajectory.time_optimal(robot, [[0.0], [1.0]])  # 2 sqrt(1/4) = 1 s
        >>> abs(found.duration - 1.0) < 0.01
        True
    """
    path = path_motion(check_robot(robot), path)
    motion = limited_motion(NAME, undamped(robot), path, None, wrench)
    check_limits(motion, free)
    whole(NAME, "iterations", iterations, least=1)
    count = interval_count(path, planned_order(motion.robot), intervals)
    uniform = fitted(NAME, robot, path, wrench=wrench).duration
    feasible = Feasible(robot, wrench, count)
    what = f"fastest motion of {robot.name}"
    with activity(what):
        limits = limit_shares(motion)
        along = PathProblem(what, motion, limits, uniform, count, iterations)
        found = feasible.fastest(along, Found(path.retimed(along.law()), "not solved", 0, False))
        if free and not found.interrupted:
            freed = FreeProblem(what, limits, along.spline(count // 2), motion.limited.get("position"), iterations)
            found = feasible.fastest(freed, found._replace(status="not solved"))
    if not found.converged:
        why = "was interrupted" if found.interrupted else f"ended with {found.status}"
        warn(f"{NAME}: the optimization {why}; the motion is feasible, but a faster one may exist")
    seen = certificate(feasible.limited(found.trajectory), feasible.samples)
    duration = found.trajectory.duration
    return FastestMotion(found.trajectory, duration, uniform, seen, found.status, found.iterations)


class Found(NamedTuple):
    """The fastest feasible motion so far.

    Attributes:
        trajectory: the motion.
        status: IPOPT's words.
        iterations: of all optimizations together.
        interrupted: whether Ctrl-C ended the last one.
    """

    trajectory: Trajectory
    status: str
    iterations: int
    interrupted: bool

    @property
    def converged(self) -> bool:
        """Whether the motion is a local optimum."""
        return self.status in CONVERGED and not self.interrupted


class Solvable(Protocol):
    """`PathProblem` and `FreeProblem`."""

    problem: Problem

    def solve(self, allowed: FloatArray) -> Candidate:
        """The fastest motion whose shares of limits are at most `allowed`."""


@dataclass(frozen=True)
class Feasible:
    """Makes motions feasible for a robot, between the points of an optimization too.

    Args:
        robot: the robot, with the damping of its springs.
        wrench: on its tool; None without.
        intervals: of the optimization.
    """

    robot: Robot
    wrench: Sequence[float] | None
    intervals: int

    @property
    def samples(self) -> int:
        """Times of a grid that is 20 times finer than that of the optimization."""
        return FINER * POINTS * self.intervals + 1

    def limited(self, motion: Trajectory) -> LimitedMotion:
        """The motion with all limits of the robot."""
        return limited_motion(NAME, self.robot, motion, None, self.wrench)

    def stretched(self, motion: Trajectory) -> Trajectory | None:
        """The motion, scaled uniformly until it meets all limits; None if there is no such scale."""
        try:
            factor = fitted(NAME, self.robot, motion, wrench=self.wrench).factor
        except (InputError, NonFiniteError):
            return None
        return slower(motion, factor)

    def fastest(self, problem: Solvable, start: Found) -> Found:
        """The fastest feasible motion of a problem; limits that it exceeds are tightened, and it is solved again."""
        best = start._replace(trajectory=self.stretched(start.trajectory) or start.trajectory)
        allowed = np.ones(problem.problem.limits)
        for _ in range(ROUNDS):
            motion, solution = problem.solve(allowed)
            fitting = self.stretched(motion)
            best = best._replace(iterations=best.iterations + solution.iterations, interrupted=solution.interrupted)
            if fitting is not None and fitting.duration < best.trajectory.duration:
                best = best._replace(trajectory=fitting, status=solution.status)
            elif best.status == start.status:
                best = best._replace(status=solution.status)
            if solution.interrupted or (fitting and fitting.duration <= (1 + STRETCH) * motion.duration):
                break
            limited = self.limited(motion)
            peaks = np.abs(shares(limited, np.linspace(0.0, motion.duration, self.samples), 1.0)).max(axis=0)
            allowed = allowed / np.maximum(peaks, 1.0)
        return best


def slower(motion: Trajectory, factor: float) -> Trajectory:
    """A result of a problem, so many times as long."""
    if isinstance(motion, Retimed) and isinstance(law := motion.law, TimeLaw):
        return motion.path.retimed(TimeLaw(law.breaks, factor * law.slopes, law.degree))
    if isinstance(motion, Spline):
        return Spline(motion.points, factor * motion.times, motion.smoothness, degree=motion.degree)
    return motion.scaled(factor)
