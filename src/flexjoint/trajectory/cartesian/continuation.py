"""Joint positions along a path, followed step by step from the start.

Each step predicts q along its slope and corrects it by Newton's method.  A redundant arm moves its joints as little as
possible: each step is perpendicular to the self-motions, the mean of those at both of its ends.  A step is taken only
if J changes by less than half its smallest singular value, so none leaps over a singularity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ...file_limits import spend
from ...kinematics import inverse_kinematics
from ...kinematics.postures import OUT_OF_REACH
from ...numerics import exp, product, solve, solve_each
from ...progress import activity
from ...spatial import length
from ...types import FloatArray
from .path import CartesianPath, pose_stack
from .task import Task

SINGULAR = 1e-3  # of the largest singular value
OUTSIDE = 1e-7  # m or rad: a larger error is left only where the solved equations do not mean the pose
CLOSE = 1e-10  # rad or m: a Newton step so short is the last one
ITERATIONS = 12
LARGEST_CORRECTION = 0.03  # rad or m, of a step
FURTHEST_START = 1.0  # rad or m: a start further from the path is not taken for one on it
LONGEST, SHORTEST = 1 / 8, 1e-8  # steps, of the length of the path
REACH_SAMPLES = 33
PULL = 4.0  # over the path the deviation from a posture decays by exp(-4)


class OutOfReach(InputError):
    """No posture follows the path to its end."""


class Knot(NamedTuple):
    """A point on the path."""

    s: float
    q: FloatArray  # (n,)
    J: FloatArray  # (rows, joints that move the link)
    free: FloatArray  # (redundancy, joints that move the link), orthonormal: the self-motions
    singular_values: FloatArray  # of J, descending


@dataclass(frozen=True)
class Follower:
    """Follows a path with the joints of a robot.

    Args:
        task: the equations.
        path: the path.
        posture: (n,), joint positions that a redundant arm approaches; None for the least motion.
    """

    task: Task
    path: CartesianPath
    posture: FloatArray | None = None

    def knots(self, start: FloatArray, stops: FloatArray) -> list[Knot]:
        """Points on the path, its ends and given stops (increasing, inside the path) among them.

        Raises:
            InputError: the path does not begin near the start, meets a singularity, or leaves the reach of the robot.
        """
        knots = [self.first(start)]
        whole = self.path.length
        h = whole / 16
        with activity("following the path"):
            for stop in [*stops.tolist(), whole]:
                while knots[-1].s < stop:
                    last = knots[-1]
                    s = stop if last.s + 1.001 * h >= stop else last.s + h
                    knot = self.step(last, s)
                    if knot is not None:
                        knots.append(knot)
                        h = min(1.5 * h, LONGEST * whole)
                    elif (h := (s - last.s) / 2) < SHORTEST * whole:
                        raise self.stuck(last)
        return knots

    def first(self, start: FloatArray) -> Knot:
        """The point on the path next to the start."""
        knot = self.corrected(0.0, start, None, start)
        if knot is None or np.max(np.abs(knot.q - start)) > FURTHEST_START:
            wanted = pose_stack(self.path.derivatives(np.array(0.0), 0))[0]
            gap, angle = self.task.errors(wanted, self.task.poses([start]))
            if max(gap, angle) < CLOSE:
                J = self.task.independent(self.task.all_rows(start))
                raise self.stuck(Knot(0.0, start, J, J[:0], np.zeros(0)))
            raise InputError(
                f"CartesianMotion: at `start` the frame is {gap:.4g} m and {np.rad2deg(angle):.4g} degrees away from "
                f"where the path begins, {np.round(wanted[:, 3], 6).tolist()}: give joint positions near that pose, "
                "for example from inverse kinematics"
            )
        if self.is_singular(knot):
            raise self.stuck(knot)
        return knot

    def step(self, last: Knot, s: float) -> Knot | None:
        """The next point; None if it is too far away."""
        spend("path_points", 1, "CartesianMotion")
        predicted = last.q.copy()
        predicted[list(self.task.columns)] += (s - last.s) * self.slope(last)
        knot = self.corrected(s, predicted, last, self.aim(last, s))
        if knot is None or np.max(np.abs(knot.q - predicted)) > LARGEST_CORRECTION:
            return None
        change = float(np.sqrt(np.sum((knot.J - last.J) ** 2)))
        if change > last.singular_values[-1] / 2:
            return None
        return None if self.is_singular(knot) else knot

    def slope(self, knot: Knot) -> FloatArray:
        """dq/ds of least length, of the joints that move the link."""
        task, rate = self.task, pose_stack(self.path.derivatives(np.array(knot.s), 1))
        R = task.poses([knot.q])[..., :3]
        moved = task.independent(task.difference(rate[1], 0.0 * rate[1], R)[..., None])[..., 0]
        right = np.concatenate([moved, np.zeros(len(knot.free))])
        return solve_each(np.vstack([knot.J, knot.free]), right[:, None])[:, 0]

    def aim(self, last: Knot, s: float) -> FloatArray:
        """Joint positions that self-motions approach: those of the last point, drawn to the posture if there is one."""
        if self.posture is None:
            return last.q
        return last.q + (1.0 - exp(-PULL * (s - last.s) / self.path.length)) * (self.posture - last.q)

    def corrected(self, s: float, guess: FloatArray, last: Knot | None, aim: FloatArray) -> Knot | None:
        """The point at s by Newton's method; None if it does not converge."""
        task, columns, q = self.task, list(self.task.columns), guess.copy()
        wanted = pose_stack(self.path.derivatives(np.array(s), 0))[0]
        for _ in range(ITERATIONS):
            found = task.poses([q])
            J = task.independent(task.all_rows(q, found[..., :3]))
            e = task.independent(task.difference(wanted, found, found[..., :3])[..., None])[..., 0]
            free = self_motions(J, None if last is None else last.free)
            if free is None:
                return None
            rows = free if last is None else (free + last.free) / 2
            towards = product(rows, (aim - q)[columns]) if len(rows) else np.zeros(0)
            step = solve_each(np.vstack([J, rows]), np.concatenate([e, towards])[:, None])[:, 0]
            if not np.all(np.abs(step) < FURTHEST_START):
                return None
            q[columns] += step
            if np.max(np.abs(step)) < CLOSE:
                if not self.is_met(s, wanted, q):
                    return None
                return Knot(s, q, J, free, np.asarray(np.linalg.svd(J, compute_uv=False), dtype=float))
        return None

    def is_met(self, s: float, wanted: FloatArray, q: FloatArray) -> bool:
        """Whether the pose is reached where its equations are solved; it is not if it is turned by 180 degrees.

        Raises:
            InputError: the path leaves the plane of a planar arm, or the like.
        """
        gap, angle = self.task.errors(wanted, self.task.poses([q]))
        if max(gap, angle) <= OUTSIDE:
            return True
        if self.task.directions is None:
            return False
        raise InputError(
            f"CartesianMotion: {self.task.robot.name} cannot move along this path: its '{self.task.link}' moves in "
            f"{self.task.rows} independent directions only, and {self.place(s)} is {gap:.3g} m and "
            f"{np.rad2deg(angle):.3g} degrees away from them" + (f": {self.task.lesser}" if self.task.lesser else "")
        )

    def is_singular(self, knot: Knot) -> bool:
        return bool(knot.singular_values[-1] < SINGULAR * knot.singular_values[0])

    def stuck(self, knot: Knot) -> InputError:
        """The error at the last point that was reached."""
        task = self.task
        u, values, _ = np.linalg.svd(knot.J)
        lost = u[:, -1] if task.directions is None else task.directions @ u[:, -1]
        linear, angular = (np.round(x, 2) + 0.0 for x in (lost[:3], lost[3:]))
        motion = f"velocity {linear.tolist()}" + (f", rate {angular.tolist()}" if task.orientation == "full" else "")
        detail = (
            f"the smallest singular value of the Jacobian is {values[-1]:.3g} (the largest {values[0]:.3g}), and the "
            f"frame cannot move with {motion}"
        )
        if (beyond := self.beyond_reach(knot.s)) is not None:
            return OutOfReach(
                f"CartesianMotion: the path leaves the reach of '{task.robot.name}': it ends {self.place(knot.s)}; "
                f"{self.place(beyond)} is out of reach in every posture. There {detail}: move the path or the base"
            )
        cures = ", ".join(x for x in ("start in another posture", task.lesser, "or lead the path around it") if x)
        return InputError(f"CartesianMotion: the path meets a singularity {self.place(knot.s)}: {detail}: {cures}")

    def place(self, s: float) -> str:
        """A point on the path, for messages."""
        position = np.round(self.path.pose(s).position, 6).tolist()
        return f"at {100 * s / self.path.length:.4g} % of the path, position {position}"

    def beyond_reach(self, s: float) -> float | None:
        """The first of some points behind s that no posture reaches, by the bounds of inverse kinematics."""
        further = np.linspace(s, self.path.length, REACH_SAMPLES)[1:]
        task = self.task
        found = inverse_kinematics(
            task.robot,
            self.path.pose(further),
            link=task.link,
            frame=task.frame,
            orientation=task.orientation,
            limits=False,
            attempts=1,
        )
        out = found.status == OUT_OF_REACH
        return float(further[np.argmax(out)]) if out.any() else None


def self_motions(J: FloatArray, near: FloatArray | None) -> FloatArray | None:
    """Orthonormal rows (n − m, n) that J (m, n) maps to zero, next to others or chosen by pivoting; None if J is
    singular.

    They are others projected by 1 − Jᵀ(JJᵀ)⁻¹J, then orthonormalized in their order: a smooth function of J.
    """
    m, n = J.shape
    if m == n:
        return np.zeros((0, n))
    try:
        back = solve(product(J, J.T), J)
    except InputError:  # singular
        return None
    P = np.eye(n) - product(J.T, back)
    candidates = P if near is None else product(near, P)
    rows: list[FloatArray] = []
    while len(rows) < n - m:
        sizes = length(candidates)
        best = int(np.argmax(sizes)) if near is None else len(rows)
        if sizes[best] < 1e-6:
            return None
        rows.append(candidates[best] / sizes[best])
        candidates = candidates - product(candidates, rows[-1])[:, None] * rows[-1]
    return np.array(rows)
