"""Plan of a sweep: its points, and how a block of them is computed.

Axes that need a loop of their own (robots, controllers, sensors, ...) vary slowest, so that along the others, gains,
seeds and parameters of the robot, many points are simulated in one batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from ..control.base import innermost
from ..control.open_loop import OpenLoop
from ..errors import InputError, listed
from ..robot import Robot
from ..simulation.result import Simulation
from ..simulation.simulate import simulate
from .block_files import Block
from .loop_setup import LoopSetup
from .study_columns import ENDINGS, ERRORS, error_columns, require_distinct
from .sweep_axes import (
    NOT_AXES,
    PARTS,
    SEED,
    axis_labels,
    axis_values,
    gains_of,
    needs_own_loop,
    parameters_of,
)
from .variation import PAYLOAD

POINT = "point"
KEPT = 16  # loops: their plants and poses take time


@dataclass(frozen=True)
class SweepPlan:
    """A sweep as `sweep` takes it.  Pickled, it consists of its arguments.

    Args:
        robot, controller, reference, duration: As for `simulate`, where no axis replaces them.
        over: Values by axis, for all combinations; or a list of points, each with a value per axis.
        options: Further options of `simulate`.
    """

    robot: Robot
    controller: Any
    reference: Any
    duration: float | None
    over: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    options: Mapping[str, Any]

    def __reduce__(self) -> Any:
        return SweepPlan, (self.robot, self.controller, self.reference, self.duration, self.over, self.options)

    def check(self) -> None:
        """Raise InputError if the axes or their values cannot be used."""
        if not isinstance(self.over, Mapping | Sequence) or isinstance(self.over, str) or not len(self.over):
            raise InputError("sweep: over must map axes to values, {'gains.K_P': [200, 400]}, or be a list of points")
        for number, point in enumerate(self.points):
            if not isinstance(point, Mapping) or not point or set(point) != set(self.points[0]):
                raise InputError(f"sweep: point {number} must have a value for each axis: {listed(self.points[0])}")
        for axis in self.axes:
            if axis in NOT_AXES:
                raise InputError(f"sweep: '{axis}' cannot be an axis")
            if axis in self.options:
                raise InputError(f"sweep: '{axis}' is an axis and an option; leave one out")
        remedies = {"free": "give parameters as axes", "gains": "make it an axis", "row": "leave it out"}
        for name, remedy in remedies.items():
            if name in self.options:
                raise InputError(f"sweep has no option {name}; {remedy}")
        for axis, values in self.values.items():  # every value once, before anything runs
            for x in values:
                point = self.at(0) | {axis: x}
                loop = self.loop_of(point)
                if isinstance(innermost(loop.controller), OpenLoop):
                    raise InputError("sweep: OpenLoop follows no reference, so there is no tracking error")
                self.batch_options(loop, [point])

    # Points ---------------------------------------------------------------------------------------------------------

    @cached_property
    def points(self) -> list[Mapping[str, Any]]:
        """The points of a list; none for a grid."""
        return [] if isinstance(self.over, Mapping) else list(self.over)

    @cached_property
    def values(self) -> dict[str, list[Any]]:
        """Values by axis, slow axes first; of a list of points one value per point."""
        if isinstance(self.over, Mapping):
            found = {str(axis): axis_values(str(axis), x) for axis, x in self.over.items()}
        else:
            found = {axis: [x[axis] for x in self.points] for axis in self.points[0]}
        return dict(sorted(found.items(), key=lambda item: not needs_own_loop(item[0])))

    @cached_property
    def labels(self) -> dict[str, list[Any]]:
        """Labels of the values by axis."""
        given = self.over if isinstance(self.over, Mapping) else {}
        return {axis: axis_labels(given.get(axis), x) for axis, x in self.values.items()}

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(self.values)

    @cached_property
    def count(self) -> int:
        """Number of points."""
        return len(self.points) or int(np.prod([len(x) for x in self.values.values()]))

    def places(self, number: int) -> list[int]:
        """Place of a point along each axis."""
        if self.points:
            return [number] * len(self.axes)
        return [int(k) for k in np.unravel_index(number, [len(x) for x in self.values.values()])]

    def at(self, number: int) -> dict[str, Any]:
        """Values of the axes at a point."""
        return {axis: x[k] for (axis, x), k in zip(self.values.items(), self.places(number))}

    # Columns --------------------------------------------------------------------------------------------------------

    @cached_property
    def joints(self) -> dict[str, str]:
        """Units of the errors of all joints of all robots, by name."""
        robots = self.values.get("robot", [self.robot])
        return {joint.name: joint.kind.unit("rad | m") for robot in robots for joint in robot.joints}

    @cached_property
    def units(self) -> dict[str, str]:
        """Columns of the table of points, with their units."""
        per_joint = {f"{kind}.{name}": unit for kind in ERRORS for name, unit in self.joints.items()}
        require_distinct([POINT, *self.axes, *ERRORS, *per_joint, *ENDINGS], "sweep")
        return dict.fromkeys((POINT, *self.axes, *ERRORS), "") | per_joint | ENDINGS

    # Runs -----------------------------------------------------------------------------------------------------------

    def run(self, first: int, last: int, check: bool | str = False) -> Block:
        """Columns of points first, ..., last − 1; they depend on the plan and these numbers only."""
        parts = [self.table(numbers) for numbers in self.batches(first, last)]
        return {name: np.concatenate([x[name] for x in parts]) for name in self.units}

    def batches(self, first: int, last: int) -> Iterator[list[int]]:
        """Numbers of points that are simulated at once."""
        for _, group in groupby(range(first, last), key=lambda number: self.key(self.at(number))):
            numbers = list(group)
            rows = self.loop_of(self.at(numbers[0])).rows
            yield from (numbers[k : k + rows] for k in range(0, len(numbers), rows))

    def key(self, point: Mapping[str, Any]) -> tuple[int, ...]:
        """What needs a loop of its own; the plan keeps the values, so that no two have the same id."""
        return tuple(id(x) for axis, x in point.items() if needs_own_loop(axis))

    @cached_property
    def loops(self) -> dict[tuple[int, ...], LoopSetup]:
        """Loops in use."""
        return {}

    def loop_of(self, point: Mapping[str, Any]) -> LoopSetup:
        """The loop of a point, with the payload as the last link of its robot if that is an axis."""
        key = self.key(point)
        found = self.loops.get(key)
        if found is None:
            robot, law, reference, duration = (point.get(name, getattr(self, name)) for name in PARTS)
            more = {axis: x for axis, x in point.items() if needs_own_loop(axis) and axis not in PARTS}
            robot = robot.with_payload(0.0) if PAYLOAD in self.axes else robot
            found = LoopSetup(robot, law, reference, duration, {**self.options, **more})
            if len(self.loops) >= KEPT:
                self.loops.clear()
            self.loops[key] = found
        return found

    def batch_options(self, loop: LoopSetup, points: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str], Any]:
        """Options of `simulate` that differ from point to point, and paths and values of the parameters among them."""
        free, paths, values = parameters_of(loop.robot, points)
        gains = gains_of(loop.controller, points)
        found: dict[str, Any] = {"free": free} if free else {}
        found |= {} if gains is None else {"gains": gains}
        found |= {SEED: np.array([x[SEED] for x in points])} if SEED in points[0] else {}
        return found, paths, values

    def table(self, numbers: list[int]) -> Block:
        """Columns of points that are simulated at once."""
        points = [self.at(k) for k in numbers]
        loop = self.loop_of(points[0])
        batch, paths, values = self.batch_options(loop, points)
        batch["row"] = np.zeros(len(points), dtype=int)  # noise depends on the seed only
        arrays = loop.errors(paths, values, batch, False)
        found = error_columns(loop.robot, arrays)
        missing = np.full(len(points), np.nan)
        found |= {name: found.get(name, missing) for name in self.units if name.partition(".")[0] in ERRORS}
        found |= {kind: np.max(arrays[kind], axis=1) for kind in ERRORS} | {POINT: np.array(numbers)}
        places = [self.places(k) for k in numbers]
        axes = zip(self.labels.items(), zip(*places))
        return found | {axis: np.array([x[k] for k in along]) for (axis, x), along in axes}

    def point(self, number: int) -> Simulation:
        """One point as a single run, with its whole history; bit-identical to that of the sweep."""
        point = self.at(number)
        loop = self.loop_of(point)
        batch, *_ = self.batch_options(loop, [point])
        free = {path: x[0] for path, x in batch.pop("free", {}).items()}
        alone = {name: x[0] for name, x in batch.items()}
        options = {**loop.options, **alone, "free": free, "row": 0, "check": False}
        return simulate(loop.robot, loop.controller, loop.reference, loop.duration, **options)
