"""Plan of a Monte-Carlo study: all that its samples depend on, and what a run of it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..control.base import Controller, JointState
from ..control.open_loop import OpenLoop
from ..robot import Robot
from ..simulation.arguments import checked_period, periods
from ..simulation.closed_loop import ClosedLoop
from ..simulation.equilibrium import resting
from ..simulation.initial_state import given_state
from ..simulation.law_digests import DigestedContact
from ..simulation.reference import Reference, reference_size
from .variation import Variations

POSES = 5  # along the reference at which the stability of a step is checked
PLANT_OPTIONS = ("integrator", "substeps", "hold")  # of `simulate`, without sensors, actuators and observers


@dataclass(frozen=True)
class StudyPlan:
    """A study as `monte_carlo` takes it.

    Args:
        robot: The nominal robot, which the controller knows.
        controller: A Controller, or a function in Python.
        reference, duration: As for `simulate`.
        vary: Variation by path or pattern of parameters.
        seed: Of the samples.
        options: Further options of `simulate`.
        variations: The parameters that vary, and their distributions.
        tracked: The reference as a Reference.
        period: Of the controller, s.
        steps: Number of periods per run.
    """

    robot: Robot
    controller: Any
    reference: Any
    duration: float | None
    vary: Mapping[str, Any]
    seed: int
    options: Mapping[str, Any]
    variations: Variations
    tracked: Reference
    period: float
    steps: int

    @classmethod
    def of(
        cls,
        robot: Robot,
        controller: Any,
        reference: Any,
        duration: float | None,
        vary: Mapping[str, Any],
        seed: int,
        options: Mapping[str, Any],
    ) -> StudyPlan:
        """The plan, with the period and the number of periods that `simulate` would choose."""
        variations = Variations.of(robot, vary)
        period = checked_period(controller, options.get("period"))
        tracked = Reference.of(reference, *reference_size(robot, controller))
        steps = periods(duration, tracked.duration, period, 0)
        return cls(robot, controller, reference, duration, vary, seed, options, variations, tracked, period, steps)

    def plant(self) -> ClosedLoop:
        """The varied robot with contact and integrator, without sensors, actuators and observers."""
        robot, contact = self.variations.robot, self.options.get("contact")
        law = self.controller if isinstance(self.controller, Controller) else OpenLoop(robot)
        known = DigestedContact(robot, contact) if callable(contact) else None
        chosen = {name: self.options[name] for name in PLANT_OPTIONS if name in self.options}
        return ClosedLoop(robot, law, self.period, **chosen, contact=known)

    def poses(self) -> JointState:
        """States (poses, ...) at which the stability of a step is checked: the start, or rest along the reference."""
        robot, start = self.variations.robot, self.options.get("start")
        if start is not None:
            return JointState(*(x.reshape(-1, x.shape[-1])[:1] for x in given_state(start, robot)[:4]))
        times = np.linspace(0.0, self.tracked.duration or 0.0, POSES)
        goals = np.unique([self.tracked(t)[0] for t in times], axis=0)
        return JointState(*map(np.stack, zip(*(resting(robot, self.controller, goal) for goal in goals))))
