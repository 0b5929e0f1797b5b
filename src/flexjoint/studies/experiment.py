"""A robot under a controller along a reference, run with any parameters: what searches and sensitivity studies repeat.

A run depends on its parameters and on the number of its noise only: it is bit-identical in every batch and on any
number of threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..checks import whole
from ..errors import FlexjointWarning
from ..robot import Robot
from ..simulation.arguments import NOMINAL
from ..simulation.closed_loop import ClosedLoop
from ..simulation.simulate import simulate
from ..simulation.step_limit import StepLimits, step_limits, too_long
from ..types import FloatArray
from .block_run import cores
from .merit import Merit, failures
from .monte_carlo import study_plan
from .study_plan import StudyPlan

Progress = Callable[[int], Any]


class Evaluation(NamedTuple):
    """Runs, one row per run.

    Args:
        merit: Figure of merit, (m,); infinite where a run diverged.
        failed: Whether a run diverged or its error exceeded the limit, (m,).
        joint: First joint that diverged, (m,); -1 if none did.
        ended: When the run ended, (m,), s.
        longest_step: Longest stable step, (m,), s, where the step of the integrator is too long; else infinite.
        stiff_joint: Joint that is too stiff for the step, (m,), else -1.
    """

    merit: FloatArray
    failed: np.ndarray
    joint: np.ndarray
    ended: FloatArray
    longest_step: FloatArray
    stiff_joint: np.ndarray

    @property
    def unknown(self) -> np.ndarray:
        """Mask of the runs whose step is too long, (m,): they tell nothing about the robot."""
        return self.stiff_joint >= 0


@dataclass(frozen=True)
class Experiment:
    """A study whose runs are chosen by the caller.

    Args:
        owner: Function of the caller, for messages.
        plan: Robot, controller, reference, variations and options.
        merit: The figure of merit.
        plant: The varied robot with its integrator.
        threads: Number of threads.
    """

    owner: str
    plan: StudyPlan
    merit: Merit
    plant: ClosedLoop
    threads: int

    @classmethod
    def of(
        cls,
        owner: str,
        robot: Robot,
        controller: Any,
        reference: Any,
        duration: float | None,
        *,
        vary: Mapping[str, str],
        of: Any,
        limit: float | None,
        seed: int,
        threads: int | None,
        options: Mapping[str, Any],
    ) -> Experiment:
        """The experiment of arguments like those of `monte_carlo`, checked."""
        plan = study_plan(owner, robot, controller, reference, duration, vary, seed, options)
        count = cores() if threads is None else whole(owner, "threads", threads, least=1)
        return cls(owner, plan, Merit.of(owner, of, plan.variations.robot, limit), plan.loop.plant, count)

    @property
    def names(self) -> tuple[str, ...]:
        """Paths of the varied numbers."""
        return self.plan.variations.names

    @property
    def rows(self) -> int:
        """Runs per batch that fit into memory."""
        return self.plan.loop.rows * self.threads

    def run(
        self,
        values: FloatArray,
        noise: Any = 0,
        *,
        controller: Any = None,
        check: bool = False,
        progress: Progress = lambda runs: None,
    ) -> Evaluation:
        """Runs with these parameters.

        Args:
            values: (m, number of names), in their units.
            noise: Number of the noise of sensors, one for all runs or one per run, (m,); default 0.
            controller: In place of that of the plan; default none.
            check: Whether the loop with the nominal robot must be stable; default False.
            progress: Called with the number of runs after each batch; by default nothing.
        """
        parts = []
        numbers = np.broadcast_to(np.asarray(noise), len(values))
        for part in slices(len(values), self.rows):
            parts.append(self.batch(values[part], numbers[part], controller, check))
            check = False
            progress(len(parts[-1].merit))
        return Evaluation(*map(np.concatenate, zip(*parts)))

    def batch(self, values: FloatArray, noise: np.ndarray, controller: Any, check: bool) -> Evaluation:
        """Runs that fit into memory."""
        plan = self.plan
        given = {**plan.options, "check": NOMINAL if check and plan.options.get("check", True) else False}
        given |= {"free": plan.variations.free(values), "seed": plan.seed, "row": noise, "threads": self.threads}
        law = plan.controller if controller is None else controller
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* diverged; joint .*", UserWarning)  # the result has it
            run = simulate(plan.variations.robot, law, plan.reference, plan.duration, **given)
        limits = self.step_limits(values)
        return Evaluation(
            self.merit.values(run),
            failures(run, self.merit.limit),
            np.asarray(run.joint),
            np.asarray(run.ended),
            limits.longest,
            limits.joint,
        )

    @property
    def step_limits(self) -> Callable[[FloatArray], StepLimits]:
        """Function from parameters to the longest stable steps of the integrator."""
        return partial(step_limits, self.plant, self.names, poses=self.plan.loop.poses)

    def too_long(self, found: Evaluation) -> str:
        """What is wrong with the step of some runs, and what to type."""
        return f"{self.plan.robot.name}: {too_long(self.plant, StepLimits(found.longest_step, found.stiff_joint))}"

    def warn_of_steps(self, found: Evaluation, effect: str) -> None:
        """Warn of runs whose step is too long, and of what became of them."""
        if np.any(found.unknown):
            warnings.warn(f"{self.too_long(found)}; {effect}", FlexjointWarning, stacklevel=3)


def slices(count: int, rows: int) -> Iterator[slice]:
    """Parts of at most so many rows."""
    for first in range(0, count, rows):
        yield slice(first, min(first + rows, count))
