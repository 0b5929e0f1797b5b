"""The search for exciting motions: Fourier series with the most information within all limits."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import count

import numpy as np

from ..errors import InputError, warn
from ..progress import Progress
from ..robot import Joint, Robot
from ..trajectory import Sinusoid
from ..types import FloatArray
from .fourier_motion import FourierMotion
from .information import Information
from .motion_limits import LimitPenalty, largest_amplitude

NAME = "exciting_motion"
SAMPLES_PER_HARMONIC = 12  # of the search
WEIGHTS = (10.0, 1000.0)  # of the limits, one search after another
START_SIZE = 0.3  # of the range: amplitude of the random motions that the search starts from
STARTS = 5  # random motions, the best of which the search starts from
CENTRINGS = 6  # trials with offsets closer and closer to the middle of the ranges
LEAST = 0.02  # amplitude, relative to the one that was searched, below which a motion is none


class Search:
    """The search for the Fourier series of a robot.

    Args:
        robot: The robot.
        duration: Of the series, s.
        harmonics: Their number.
        margin: Share of every limit that is left free.
        reach: Half range of joints without limits of position, rad or m.
    """

    def __init__(self, robot: Robot, duration: float, harmonics: int, margin: float, reach: float) -> None:
        self.robot = robot = with_reach(robot, reach)
        limits = robot.joint_limits
        middle, ranges = (np.array([(x.upper + sign * x.lower) / 2 for x in limits]) for sign in (1.0, -1.0))
        self.series = FourierMotion(duration, harmonics, middle, ranges, SAMPLES_PER_HARMONIC * harmonics)
        speed = 2 * math.pi * harmonics / 2 / duration
        sizes = np.stack([ranges * speed**k for k in range(5)])
        self.information = Information(robot, sizes[:3])
        self.penalty = LimitPenalty(robot, margin, sizes)

    def value(self, x: FloatArray, weight: float) -> tuple[float, FloatArray]:
        """What the search makes small, and its gradient: −log det of the information, and excess over the limits."""
        numbers = x.reshape(self.robot.n, self.series.free)
        stack = self.series.stack(numbers)
        value, slopes = self.information.log_det(stack[:3])
        excess, own = self.penalty(stack)
        slopes = np.concatenate([slopes, np.zeros_like(stack[3:])]) + weight * own
        return value + weight * excess, self.series.gradient(slopes).ravel()

    def run(self, random: np.random.Generator, iterations: int) -> tuple[Sinusoid, list[Sinusoid]]:
        """The motion with the most information that was found, and random motions within the same limits."""
        from scipy.optimize import minimize

        starts = [self.start(random) for _ in range(STARTS)]
        fitted = [(x, motion) for x in starts if (motion := self.fitted(x)) is not None]
        others = [motion for _, motion in fitted]
        x, _ = min(fitted, key=lambda y: self.information_of(y[1])) if fitted else (starts[0], None)
        latest = [x.ravel()]
        progress = Progress(f"searching an exciting motion of {self.robot.name}", max(1, len(WEIGHTS) * iterations))
        steps = count()

        def step(found: FloatArray) -> None:
            latest[0] = found
            progress.reached(next(steps))

        try:
            for weight in WEIGHTS if iterations else ():
                options = {"maxiter": iterations}
                latest[0] = minimize(
                    self.value, latest[0], (weight,), "L-BFGS-B", True, options=options, callback=step
                ).x
        except KeyboardInterrupt:
            warn(f"{NAME} was interrupted: this is the best motion so far")
        found = self.fitted(latest[0].reshape(self.robot.n, -1))
        tried = [*others, *([found] if found is not None else [])]
        if not tried:
            raise InputError(
                f"{NAME}: the limits of {self.robot.name} leave no room for a motion of {self.series.duration:.3g} s "
                f"with {self.series.harmonics} harmonics: give a longer duration, or a smaller margin"
            )
        return min(tried, key=self.information_of), others

    def information_of(self, motion: Sinusoid) -> float:
        """−log det(WᵀW)/columns of a motion: the smaller, the better."""
        return self.information.log_det(motion(self.series.times, 2))[0]

    def start(self, random: np.random.Generator) -> FloatArray:
        """Free numbers of a random motion, (n, free)."""
        found = START_SIZE * random.normal(size=(self.robot.n, self.series.free))
        found[:, 0] *= 0.5
        return found

    def fitted(self, x: FloatArray) -> Sinusoid | None:
        """The motion of free numbers (n, free) with the largest amplitude that all limits allow, if there is one."""
        for _ in range(CENTRINGS):  # towards the middle of the ranges, until the robot can stand at the offset
            motion = partial(self.series.trajectory, x)
            still, moving = (self.series.stack(x * by) for by in (offset_alone(x), np.ones_like(x)))
            moving -= still
            if (amplitude := largest_amplitude(self.penalty, np.stack([still, moving], axis=1), 1.0, motion)) > LEAST:
                return motion(amplitude)
            x = x * np.where(offset_alone(x), 0.5, 1.0)
        return None

    def condition(self, motion: Sinusoid) -> float:
        """Condition number of the regressor along a motion."""
        t = motion.duration * np.arange(10 * self.series.harmonics) / (10 * self.series.harmonics)
        return self.information.condition(*motion(t, 2))


def offset_alone(x: FloatArray) -> np.ndarray:
    """Mask of the offsets among free numbers (n, free)."""
    return np.broadcast_to(np.arange(x.shape[1]) == 0, x.shape)


def with_reach(robot: Robot, reach: float) -> Robot:
    """The robot with limits of position at joints that have none, around 0 or next to the limit that they have."""

    def bounded(joint: Joint) -> Joint:
        low, high = joint.limits.lower, joint.limits.upper
        if math.isfinite(low - high) or not joint.moves or joint.mimic is not None:
            return joint
        low = low if math.isfinite(low) else high - 2 * reach if math.isfinite(high) else -reach
        high = high if math.isfinite(high) else low + 2 * reach
        return replace(joint, limits=replace(joint.limits, lower=low, upper=high))

    return robot.replace(links=[replace(link, joint=bounded(link.joint)) for link in robot.links])
