"""The arguments of `simulate`, checked, as the records that a run is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..checks import finite, positive
from ..control.base import Controller
from ..errors import InputError, shown
from ..robot import Robot
from ..robot.parameters import refuse_negative, select
from ..types import FloatArray
from .closed_loop import Change, ClosedLoop, RunParameters
from .end_stops import EndStops
from .initial_state import InitialState
from .instrumentation import NONE
from .integrators import INTEGRATORS
from .law_digests import DigestedContact
from .moving_base import MovingBase, sample_times
from .noise import Stream
from .plant import PlantState, check_torque_rates
from .push import Push, PushedLink
from .python_laws import check_arguments
from .records import flatten
from .reference import Reference

NOMINAL = "nominal"  # the value of `check` that checks the nominal robot only
MOST_PERIODS = 100_000_000
EXAMPLES = {
    "free": '{"payload.mass": 2.0}',
    "changes": '{"payload.mass": (0.5, 2.0)}',
    "noise": '{"torque_noise": 0.05}',
}


class Run(NamedTuple):
    """One call of `simulate`.

    Args:
        times: (m,), in s; the last one is the end.
        batch: The leading dimensions of states and results.
    """

    loop: ClosedLoop
    reference: Reference
    initial: InitialState
    times: FloatArray
    parameters: RunParameters
    batch: tuple[int, ...]
    threads: int
    base: MovingBase | None = None

    @property
    def until(self) -> float:
        """The number of the last period."""
        return float(round(self.times[-1] / self.loop.period))

    def base_samples(self, times: FloatArray) -> FloatArray:
        """What the kernel takes of the moving base in periods that begin at times (m,), (m, numbers)."""
        if self.base is None:
            return np.empty((len(times), 0))
        at = sample_times(times, self.loop.period, self.loop.substeps)
        return self.base.samples(np.minimum(at, self.times[-1])).reshape(len(times), -1)


def check_loop(loop: ClosedLoop) -> None:
    """Refuse parts that do not fit together."""
    check_motors(loop.robot, loop.controller)
    if loop.stops is not None:
        if not isinstance(loop.stops, EndStops):
            raise InputError(f"simulate: stops must be EndStops(...), not {loop.stops!r}")
        loop.stops.check(loop.robot)
    if not loop.hold and loop.instrumentation != NONE:
        raise InputError("simulate: sensors, actuators and observers are sampled; they need hold=True")
    if not loop.hold:
        refuse_mid_period("simulate", loop.controller)
        check_torque_rates("simulate", loop.robot, loop.controller)


def refuse_mid_period(owner: str, controller: Controller) -> None:
    """Refuse a controller for held torques where its torque is continuous."""
    if any(controller.times):
        raise InputError(f"{owner}: MidPeriod belongs to a torque that is held; give the controller inside it")


def check_motors(robot: Robot, controller: Controller) -> None:
    """Refuse a controller for another number of joints or motors."""
    model = controller.robot
    if (model.n, model.motor_count) != (robot.n, robot.motor_count):
        raise InputError(
            f"simulate: the controller's model has {model.n} joints and {model.motor_count} motors, the robot "
            f"{robot.n} and {robot.motor_count}; make the controller for this robot"
        )


def checked_period(controller: Any, period: Any) -> float:
    """The period given, else the controller's, else 1 ms."""
    own = getattr(controller, "period", None)
    if period is None:
        period = 1e-3 if own is None else own
    positive("simulate", "period", period)
    if own is not None and own != period:
        raise InputError(
            f"simulate: period is {period:g} s, but the controller was made for {own:g} s; give both the same period"
        )
    return float(period)


def checked_integrator(integrator: Any, hold: bool, substeps: Any, compiled: bool) -> str:
    """The name of an integrator that can do what is asked for."""
    if integrator not in INTEGRATORS:
        raise InputError(f"simulate: there is no integrator {integrator!r}; choose one of {', '.join(INTEGRATORS)}")
    if not hold and (substeps != 1 or not compiled or integrator == "midpoint"):
        raise InputError(
            "simulate: hold=False takes one step of runge_kutta or euler per period, and no Python controller"
        )
    return str(integrator)


def digested_contact(robot: Robot, contact: Any) -> DigestedContact | PushedLink | None:
    """A contact that can be compared with others."""
    if contact is None:
        return None
    if isinstance(contact, Push):
        robot.link_index(contact.link)
        return PushedLink(contact.link)
    if not callable(contact):
        raise InputError(
            f"simulate: contact is {shown(contact)}; give a function (t, state) -> wrenches by names of links"
        )
    check_arguments("contact", contact, "t, state")
    return DigestedContact(robot, contact)


def named_values(what: str, given: Any) -> dict[str, Any]:
    """Values of parameters by their paths."""
    if given is not None and not (isinstance(given, Mapping) and all(isinstance(path, str) for path in given)):
        by = "name" if what == "noise" else "path"
        raise InputError(f"simulate: {what} is {shown(given)}; give values by {by}, such as {EXAMPLES[what]}")
    return dict(given or {})


def run_parameters(
    loop: ClosedLoop, gains: Any, free: Mapping[str, Any], changes: Mapping[str, Any], contact: Any
) -> RunParameters:
    """The numbers of a run, without its random ones."""
    found = RunParameters(
        finite("simulate", "gains", loop.controller.gains if gains is None else gains),
        [finite("simulate", f"free[{path!r}]", x) for path, x in free.items()],
        [checked_change(path, change, loop.period) for path, change in changes.items()],
        push=contact.numbers if isinstance(contact, Push) else None,
    )
    for path, x in zip(loop.free, found.free):
        refuse_negative("simulate: free", select(loop.robot, path), x)
    for path, change in zip(loop.changes, found.changes):
        refuse_negative("simulate: changes", select(loop.robot, path), change.value)
    return found


def checked_change(path: str, change: Any, period: float) -> Change:
    """The period in which a parameter changes, and its values from then on."""
    try:
        time, values = change
    except (TypeError, ValueError):
        raise InputError(f"simulate: changes[{path!r}] is {change!r}; give (time, value)") from None
    what = f"changes[{path!r}]"
    return Change(np.ceil(finite("simulate", what, time) / period - 1e-6), finite("simulate", what, values))


def checked_deviations(robot: Robot, noise: Mapping[str, Any]) -> list[FloatArray]:
    """Standard deviations of sensors, (..., n) each."""
    found = []
    for name, value in noise.items():
        array = finite("simulate", f"noise[{name!r}]", value)
        if np.any(array < 0) or (array.ndim and array.shape[-1] not in (1, robot.n)):
            raise InputError(
                f"simulate: noise[{name!r}] is {shown(value)}; give a number or one per joint, none negative"
            )
        found.append(np.broadcast_to(array, (*array.shape[:-1], robot.n)))
    return found


def random_stream(seed: Any, row: Any, batch: tuple[int, ...]) -> Stream:
    """The seed and the number of each run."""
    if row is None:
        row = np.arange(math.prod(batch)).reshape(batch)
    given = []
    for name, value, largest in (("seed", seed, 2**53), ("row", row, 2**32)):
        numbers = finite("simulate", name, value)
        if np.any((numbers < 0) | (numbers >= largest) | (numbers != np.floor(numbers))):
            raise InputError(f"simulate: {name} is {value!r}; it must be a whole number from 0 up to {largest - 1}")
        given.append(numbers)
    return Stream(*given)


def batch_shape(loop: ClosedLoop, state: PlantState, parameters: RunParameters) -> tuple[int, ...]:
    """The leading dimensions of states and parameters, broadcast."""
    own = [(x, 1) for x in flatten(state)]
    own += [(parameters.gains, 2)]
    own += [(x, select(loop.robot, path).value.ndim) for path, x in zip(loop.free, parameters.free)]
    for path, change in zip(loop.changes, parameters.changes):
        own += [(change.period, 0), (change.value, select(loop.robot, path).value.ndim)]
    own += [(x, 0) for x in parameters.noise or ()]
    own += [(x, 1) for x in parameters.deviations]
    shapes = [x.shape[: x.ndim - dimensions] for x, dimensions in own]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise InputError(f"simulate: the batches of start, gains, free and changes do not fit: {shapes}") from None


def periods(duration: Any, natural: float | None, period: float, begin: int) -> int:
    """How many periods a run takes; up to the end of a trajectory if no duration is given."""
    if duration is None:
        if natural is None:
            raise InputError("simulate: this reference has no end; give a duration")
        duration = natural - begin * period
    positive("simulate", "duration", duration)
    if duration < period * (1 - 1e-9):
        raise InputError(
            f"simulate: the duration, {duration:g} s, is shorter than one period, {period:g} s; give a longer duration "
            "or a shorter period"
        )
    if (many := duration / period) > MOST_PERIODS:
        raise InputError(
            f"simulate: {duration:g} s are {many:.3g} periods of {period:g} s, at most {MOST_PERIODS:,} can be kept; "
            "simulate in parts, each with start= the previous run"
        )
    return round(many)
