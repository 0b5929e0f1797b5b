"""One sample of a Monte-Carlo study, simulated again by its number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..checks import whole
from ..robot import Robot
from ..simulation.result import Simulation
from .monte_carlo import study_plan


def simulate_sample(
    robot: Robot,
    controller: Any,
    reference: Any,
    duration: float | None = None,
    *,
    number: int,
    vary: Mapping[str, str],
    seed: int = 0,
    **options: Any,
) -> Simulation:
    """A sample of a Monte-Carlo study as a single run, with its whole history; bit-identical to that of the study.

    Args:
        robot, controller, reference, duration: As for `monte_carlo`.
        number: Of the sample, from 0.
        vary, seed: Of the study.
        options: Further options of `simulate`, those of the study.

    Returns:
        A Simulation.

    Raises:
        InputError: An option is out of range.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> law = fj.control.FeedforwardPD(robot, [400.0, 40.0])
        >>> motion = fj.trajectory.RestToRest([0.0] * 3, [0.4, -0.3, 0.2], 0.05)
        >>> fj.studies.simulate_sample(robot, law, motion, number=5, vary={"payload": "0..1"}).q.shape
        (51, 3)
    """
    plan = study_plan("simulate_sample", robot, controller, reference, duration, vary, seed, options)
    return plan.sample(int(whole("simulate_sample", "number", number, least=0)))
