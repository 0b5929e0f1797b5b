"""Stability of an experiment with its current settings, and settings that make it stable."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..control.base import JointState
from ..errors import InputError, quoted
from ..simulation.closed_loop import ClosedLoop
from ..simulation.equilibrium import resting
from ..simulation.instrumentation import Instrumentation
from ..simulation.sensors import Sensors
from ..simulation.stability import SLOW, OperatingPoint, operating_point
from ..types import FloatArray
from .controllers import made
from .limits import growth_of, longest_period, longest_step, stable_range
from .plant import free_parameters

if TYPE_CHECKING:
    from .experiment import Experiment

MOST_SUBSTEPS = 16
TRIED = (1.0, 2.0, 0.5, 4.0, 0.25, 8.0, 0.125, 16.0, 1 / 16, 1 / 32, 1 / 64)  # times the first numbers


class StabilityLimits(NamedTuple):
    """Stability limits of an experiment with its current settings.

    Args:
        growth: Rate at which the slowest deviation grows, 1/s; negative for a stable loop.
        joint: Name of the joint that shows it most.
        step: Step of the integrator, s.
        longest_step: With which the integrator is stable, s; infinite if it is at least 64 steps.
        period: Of the controller, s.
        longest_period: With which the loop is stable, s, up to 100 periods; NaN if none is found.
    """

    growth: float
    joint: str
    step: float
    longest_step: float
    period: float
    longest_period: float

    @property
    def stable(self) -> bool:
        """Whether no deviation grows."""
        return self.growth <= SLOW


def limits_of(experiment: Experiment) -> StabilityLimits:
    """Limits of the settings as they are."""
    loop = loop_of(experiment)
    point = rest_of(experiment, loop)
    rate, joint = growth_with(experiment, loop, point, experiment.values)
    step = longest_step(loop, numbers(experiment.free), JointState(*point.state[:4]))
    now = replace(loop, robot=experiment.changed_robot(), free=(), instrumentation=Instrumentation())
    longest = longest_period(now, rest_of(experiment, now))
    name, period = experiment.robot.joints[joint].name, experiment.period
    return StabilityLimits(rate, name, period / experiment.substeps, step, period, longest)


def stable_range_of(experiment: Experiment, names: Sequence[str], relative: bool) -> tuple[float, float]:
    """Stable values of settings that change together; `relative` to their scales, else of one setting itself."""
    settings = [experiment.settings[x] for x in names]
    if wrong := [x.name for x in settings if x.group not in ("robot", "control")]:
        raise InputError(f"stable_range: {quoted(wrong[0])} does not decide whether the loop is stable")
    scales = [x.scale if relative else 1.0 for x in settings]
    low = max(x.low / s for x, s in zip(settings, scales))
    high = min(x.high / s for x, s in zip(settings, scales))
    now = float(np.mean([experiment[x] / s for x, s in zip(names, scales)]))
    loop, values = loop_of(experiment), experiment.values
    point = rest_of(experiment, loop)

    def stable(share: float) -> bool:
        changed = {x: share * s for x, s in zip(names, scales)}
        return growth_with(experiment, loop, point, values | changed)[0] <= SLOW

    return stable_range(stable, low, high, now)


def enough_substeps(experiment: Experiment) -> int:
    """Steps per period with which the integrator is stable at the stiffest and most damped setting, at most 16."""
    loop, values = loop_of(experiment), experiment.values
    greatest = values | {x.name: x.high for x in experiment.settings.values() if x.scale != 1.0}
    step = longest_step(
        loop, numbers(free_parameters(experiment.plant, greatest)), JointState(*rest_of(experiment, loop).state[:4])
    )
    return int(min(max(1, math.ceil(experiment.period / step)), MOST_SUBSTEPS))


def stable_numbers(experiment: Experiment) -> list[float] | None:
    """The first numbers of the controller, all multiplied by a factor if they are unstable; None if no factor helps."""
    loop, values = loop_of(experiment), experiment.values
    point = rest_of(experiment, loop)
    own = [x for x in experiment.settings.values() if x.group == "control"]
    for factor in TRIED:
        changed = {x.name: float(f"{factor * x.value:.3g}") for x in own}
        if growth_with(experiment, loop, point, values | changed)[0] <= SLOW:
            return experiment.numbers_with(values | changed)
    return None


def growth_with(
    experiment: Experiment, loop: ClosedLoop, point: OperatingPoint, values: Mapping[str, float]
) -> tuple[float, int]:
    """Rate, 1/s, at which deviations grow with these values of the settings, and the joint that shows it most."""
    try:
        law = made(experiment.controller_name, experiment.model, experiment.numbers_with(values), experiment.period)
    except InputError:  # numbers that the controller refuses
        return math.inf, 0
    return growth_of(loop, point._replace(gains=law.gains, free=numbers(free_parameters(experiment.plant, values))))


def numbers(free: Mapping[str, Any]) -> list[FloatArray]:
    """Values as a kernel takes them."""
    return [np.asarray(x, dtype=float) for x in free.values()]


def loop_of(experiment: Experiment) -> ClosedLoop:
    """The closed loop without push, noise and residual."""
    options: dict[str, Any] = {"substeps": experiment.substeps, "free": tuple(experiment.free)}
    instruments = Instrumentation(Sensors())
    return ClosedLoop(
        experiment.plant, experiment.controller, experiment.period, **options, instrumentation=instruments
    )


def rest_of(experiment: Experiment, loop: ClosedLoop) -> OperatingPoint:
    """At rest at the beginning of the reference."""
    stack = np.asarray(experiment.reference()(np.zeros(()), loop.controller.order))
    start: Any = resting(loop.robot, loop.controller, stack[0])
    return operating_point(loop, start, stack, loop.controller.gains)
