"""Limits of a robot for motions that are searched for: a smooth penalty, and the largest feasible amplitude."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..dynamics.inverse import motor_motion, needed_order
from ..robot import Robot
from ..trajectory import Trajectory
from ..trajectory.feasibility import violations
from ..trajectory.limited_motion import SAMPLES, limited_motion, sample_grid
from ..trajectory.limits import RMS, LimitedQuantity, limited_quantities, limited_values
from ..types import FloatArray

STEP = 1e-6  # of finite differences, relative to the sizes of the derivatives
ORDER = 4
BISECTIONS = 24
SHRINKING, SHRINKINGS = 0.97, 12  # of an amplitude that leaves limits between samples, or limits of means


def with_margin(limited: Mapping[str, LimitedQuantity], margin: float) -> dict[str, LimitedQuantity]:
    """The limits, each range smaller by a share."""
    found = {}
    for name, x in limited.items():
        both = np.isfinite(x.lower) & np.isfinite(x.upper)
        middle = np.where(both, (np.where(both, x.lower, 0.0) + np.where(both, x.upper, 0.0)) / 2, 0.0)
        lower, upper = (middle + (1 - margin) * (bound - middle) for bound in (x.lower, x.upper))
        found[name] = x._replace(lower=np.where(both, lower, x.lower), upper=np.where(both, upper, x.upper))
    return found


@dataclass(frozen=True)
class LimitPenalty:
    """How far a motion leaves the limits of a robot, as a smooth number.

    Args:
        robot: The robot.
        margin: Share of each range that is left free.
        sizes: Usual sizes of q and its derivatives, (5, n).
    """

    robot: Robot
    margin: float
    sizes: FloatArray

    @property
    def limited(self) -> dict[str, LimitedQuantity]:
        """Limits that hold at every sample."""
        found = with_margin(limited_quantities(self.robot), self.margin)
        return {name: x for name, x in found.items() if name != RMS}

    def values(self, stack: FloatArray) -> dict[str, FloatArray]:
        """Limited quantities at samples, (..., columns) by name, from a stack (5, ..., n)."""
        limited = self.limited
        driven = set(limited) - {"position", "velocity", "acceleration", "jerk"}
        robot = self.robot.without_spring_damping() if any(self.robot.damped) else self.robot
        motion = motor_motion(robot, *stack[: max(needed_order(robot), 2) + 1]) if driven else None
        return limited_values(limited, stack, motion)

    def excess(self, stack: FloatArray) -> FloatArray:
        """Sum of the squared relative excess over all limits at each sample, (...)."""
        values, found = self.values(stack), np.zeros(stack.shape[1:-1])
        for name, x in self.limited.items():
            size = np.where(np.isfinite(x.upper - x.lower), (x.upper - x.lower) / 2, np.inf)
            size = np.where(
                np.isfinite(size), size, np.maximum(1.0, np.abs(np.where(np.isfinite(x.upper), x.upper, 0.0)))
            )
            beyond = np.maximum(values[name] - x.upper, x.lower - values[name]) / np.maximum(size, 1e-9)
            found = found + np.sum(np.square(np.maximum(beyond, 0.0)), axis=-1)
        return found

    def __call__(self, stack: FloatArray) -> tuple[float, FloatArray]:
        """Mean excess over the samples of a stack (5, m, n), and its gradient, (5, m, n)."""
        _, m, n = stack.shape
        here = self.excess(stack)
        slopes = np.zeros_like(stack)
        if np.any(here > 0):
            rows = np.flatnonzero(here > 0)
            steps = STEP * self.sizes
            moved = np.repeat(stack[:, None, rows], (ORDER + 1) * n, axis=1)  # (5, changes, rows, n)
            for k in range(ORDER + 1):
                for j in range(n):
                    moved[k, k * n + j, :, j] += steps[k, j]
            change = self.excess(moved.reshape(ORDER + 1, -1, n)).reshape(ORDER + 1, n, rows.size) - here[rows]
            slopes[:, rows] = (change / steps[..., None]).transpose(0, 2, 1)
        return float(np.mean(here)), slopes / m


def feasible(robot: Robot, trajectory: Trajectory, margin: float, samples: int = SAMPLES) -> bool:
    """Whether a motion keeps all limits of a robot, with a margin, at many samples and at the peaks between them."""
    motion = limited_motion("exciting_motion", robot, trajectory, None, None)
    motion = replace(motion, limited=with_margin(motion.limited, margin))
    return not violations(motion, sample_grid(trajectory, samples))


def largest_amplitude(
    penalty: LimitPenalty, motion: FloatArray, most: float, make: Callable[[float], Trajectory]
) -> float:
    """The largest amplitude up to a bound with which a motion keeps all limits; 0 if none does.

    Args:
        penalty: The limits.
        motion: Stack (5, 2, m, n): the motion at amplitude 0 and what is added to it at amplitude 1, at many samples.
        most: The bound.
        make: The motion with an amplitude, which is checked between the samples too.
    """

    def inside(amplitude: float) -> bool:
        return not np.any(penalty.excess(motion[:, 0] + amplitude * motion[:, 1]) > 0)

    low, high = most if inside(most) else 0.0, most
    for _ in range(BISECTIONS if low < high else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) else (low, middle)
    for _ in range(SHRINKINGS):
        if low <= 0 or feasible(penalty.robot, make(low), penalty.margin):
            return low
        low *= SHRINKING
    return 0.0
