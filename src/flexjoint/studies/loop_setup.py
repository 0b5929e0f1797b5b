"""The loop that a study runs many times: robot, controller, reference and options of `simulate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from ..simulation.reference import Reference
from ..simulation.simulate import simulate
from ..simulation.step_limit import step_limits
from ..types import FloatArray
from .study_columns import error_arrays

ROWS = (8, 64)  # runs per batch: enough to fill vector registers
MEMORY = 2**27  # bytes per batch
POSES = 5  # along the reference at which the stability of a step is checked
PLANT_OPTIONS = ("integrator", "substeps", "hold")  # of `simulate`, without sensors, actuators and observers


@dataclass(frozen=True)
class LoopSetup:
    """Robot, controller, reference, duration and further options, as `simulate` takes them."""

    robot: Robot
    controller: Any
    reference: Any
    duration: float | None
    options: Mapping[str, Any]

    @cached_property
    def period(self) -> float:
        """Period of the controller, s."""
        return checked_period(self.controller, self.options.get("period"))

    @cached_property
    def tracked(self) -> Reference:
        """The reference as a Reference."""
        return Reference.of(self.reference, self.robot, self.controller)

    @cached_property
    def steps(self) -> int:
        """Number of periods per run."""
        return periods(self.duration, self.tracked.duration, self.period, 0)

    @cached_property
    def rows(self) -> int:
        """Runs per batch that fit into memory."""
        return batch_rows(self.robot, self.steps)

    @cached_property
    def plant(self) -> ClosedLoop:
        """The robot with contact and integrator, without sensors, actuators and observers."""
        contact = self.options.get("contact")
        law = self.controller if isinstance(self.controller, Controller) else OpenLoop(self.robot)
        known = DigestedContact(self.robot, contact) if callable(contact) else None
        chosen = {name: self.options[name] for name in PLANT_OPTIONS if name in self.options}
        return ClosedLoop(self.robot, law, self.period, **chosen, contact=known)

    @cached_property
    def poses(self) -> JointState:
        """States (poses, ...) at which the stability of a step is checked: the start, or rest along the reference."""
        start = self.options.get("start")
        if start is not None:
            return JointState(*(x.reshape(-1, x.shape[-1])[:1] for x in given_state(start, self.robot)[:4]))
        times = np.linspace(0.0, self.tracked.duration or 0.0, POSES)
        goals = np.unique([self.tracked(t)[0] for t in times], axis=0)
        return JointState(*map(np.stack, zip(*(resting(self.robot, self.controller, goal) for goal in goals))))

    @property
    def step(self) -> float:
        """Step of the integrator, s."""
        return self.period / self.plant.substeps

    def errors(
        self, names: Sequence[str], values: FloatArray, batch: Mapping[str, Any], check: bool | str
    ) -> dict[str, np.ndarray]:
        """Errors and endings of a batch of runs, as the fields of `MonteCarlo`.

        Args:
            names: Paths of the parameters that differ from run to run.
            values: Their values, (s, number of names).
            batch: What differs from run to run, as options of `simulate`.
            check: As for `simulate`.
        """
        options = {**self.options, **batch, "check": check}
        run = simulate(self.robot, self.controller, self.reference, self.duration, **options)
        return error_arrays(run, step_limits(self.plant, names, values, self.poses))


def batch_rows(robot: Robot, steps: int) -> int:
    """Runs of so many periods per batch that fit into memory."""
    least, most = ROWS
    numbers = 2 * robot.n + 3 * robot.motor_count
    return int(np.clip(MEMORY // (steps * numbers * 8), least, most)) // least * least
