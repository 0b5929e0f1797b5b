"""Plan of a Monte-Carlo study: all that its samples depend on, and how a block of samples is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..robot import Robot
from ..simulation.arguments import NOMINAL
from ..simulation.result import Simulation
from ..simulation.simulate import simulate
from ..types import FloatArray
from .block_files import Block
from .loop_setup import LoopSetup
from .study_columns import error_columns, error_units, parameter_units, require_distinct
from .variation import Variations

SAMPLE = "sample"


@dataclass(frozen=True)
class StudyPlan:
    """A study as `monte_carlo` takes it.  Pickled, it consists of its arguments.

    Args:
        robot: The nominal robot, which the controller knows.
        controller: A Controller, or a function in Python.
        reference, duration: As for `simulate`.
        vary: Variation by path or pattern of parameters.
        seed: Of the samples.
        options: Further options of `simulate`.
    """

    robot: Robot
    controller: Any
    reference: Any
    duration: float | None
    vary: Mapping[str, Any]
    seed: int
    options: Mapping[str, Any]

    def __reduce__(self) -> Any:
        given = (self.robot, self.controller, self.reference, self.duration, self.vary, self.seed, self.options)
        return StudyPlan, given

    @cached_property
    def variations(self) -> Variations:
        """The parameters that vary, and their distributions."""
        return Variations.of(self.robot, self.vary)

    @cached_property
    def loop(self) -> LoopSetup:
        """The loop of every sample; its robot has the payload as its last link if that varies."""
        return LoopSetup(self.variations.robot, self.controller, self.reference, self.duration, self.options)

    @cached_property
    def units(self) -> dict[str, str]:
        """Columns of the table of samples, with their units."""
        varied = parameter_units(self.loop.robot, self.variations.names)
        errors = error_units(self.loop.robot)
        require_distinct([SAMPLE, *varied, *errors], "monte_carlo")
        return {SAMPLE: "", **varied, **errors}

    def run(self, first: int, last: int, check: bool | str = False) -> Block:
        """Columns of samples first, ..., last − 1; they depend on the plan and these numbers only."""
        parts = [
            self.batch(k, min(k + self.loop.rows, last), check and NOMINAL) for k in range(first, last, self.loop.rows)
        ]
        return {name: np.concatenate([x[name] for x in parts]) for name in parts[0]}

    def batch(self, first: int, last: int, check: bool | str) -> Block:
        """Columns of samples that are simulated at once."""
        values = self.values(first, last)
        found = self.loop.errors(self.variations.names, values, self.drawn(first, values), check)
        numbers = {SAMPLE: np.arange(first, last)}
        return numbers | dict(zip(self.variations.names, values.T)) | error_columns(self.loop.robot, found)

    def values(self, first: int, last: int) -> FloatArray:
        """Parameters of samples first, ..., last − 1."""
        return self.variations.draw(self.seed, first, last)

    def drawn(self, first: int, values: FloatArray) -> dict[str, Any]:
        """What differs from sample to sample, as options of `simulate`."""
        free, rows = self.variations.free(values), np.arange(first, first + len(values))
        return {"free": free, "seed": self.seed, "row": rows}

    def sample(self, number: int) -> Simulation:
        """One sample as a single run, with its whole history; bit-identical to that of the study."""
        batch = self.drawn(number, self.values(number, number + 1))
        free = {path: x[0] for path, x in batch["free"].items()}
        options = {**self.options, "seed": self.seed, "row": number, "free": free, "check": False}
        return simulate(self.loop.robot, self.controller, self.reference, self.duration, **options)
