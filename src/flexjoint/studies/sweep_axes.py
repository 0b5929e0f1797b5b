"""Axes of a sweep: what they may be called, their values, and the labels of values in a table.

    robot, controller, reference, duration     the arguments of `simulate`
    sensors, period, substeps, contact, ...    its options
    gains, gains.K_P                           all gains of the controller (number of gains, n), or one of them
    seed                                       of the noise
    link3.mass, *.drive.stiffness, payload     parameters of the robot, by path or pattern
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..checks import finite
from ..control.base import Controller
from ..errors import InputError, quoted
from ..robot import Robot
from ..robot.parameters import select
from ..simulation.simulate import simulate
from ..types import FloatArray
from .variation import PAYLOAD

GAINS, SEED = "gains", "seed"
PARTS = ("robot", "controller", "reference", "duration")
NOT_AXES = ("free", "row", "check", "threads")
OPTIONS = [x.name for x in inspect.signature(simulate).parameters.values() if x.kind is x.KEYWORD_ONLY]


def needs_own_loop(axis: str) -> bool:
    """Whether another value of an axis needs another kernel or reference, so that points are not in one batch."""
    return axis in PARTS or (axis in OPTIONS and axis not in (GAINS, SEED))


def is_parameter(axis: str) -> bool:
    """Whether an axis is a parameter of the robot."""
    return not needs_own_loop(axis) and axis not in (GAINS, SEED) and not axis.startswith(f"{GAINS}.")


def axis_values(axis: str, given: Any) -> list[Any]:
    """Values of an axis, of a mapping those behind its labels; raises InputError if there are none."""
    if isinstance(given, str) or not hasattr(given, "__len__") or not len(given):
        raise InputError(f"sweep: over[{axis!r}] must be a list of values, or map labels to values")
    return list(given.values() if isinstance(given, Mapping) else given)


def axis_labels(given: Any, values: list[Any]) -> list[Any]:
    """Labels of values: numbers themselves; keys of a mapping; names, numbered where values share one."""
    if isinstance(given, Mapping):
        return [str(x) for x in given]
    if all(np.ndim(x) == 0 and isinstance(x, int | float | np.number) for x in values):
        return [float(x) for x in values]
    distinct = {id(x): label(x) for x in values}
    names = list(distinct.values())
    numbered = {
        key: name if names.count(name) == 1 else f"{name} {names[:k].count(name) + 1}"
        for k, (key, name) in enumerate(distinct.items())
    }
    return [numbered[id(x)] for x in values]


def label(value: Any) -> str:
    """A value as a text of a table."""
    if isinstance(value, Robot):
        return value.name
    if isinstance(value, Controller) and value.registration is not None:
        return value.registration.name
    if isinstance(value, list | tuple | np.ndarray) and np.size(value) <= 8:
        return quoted(np.asarray(value).tolist())
    named = getattr(value, "__name__", None)
    return quoted(named if named else value if isinstance(value, str) or value is None else type(value).__name__)


# Batches ------------------------------------------------------------------------------------------------------------


def gains_of(controller: Any, points: list[dict[str, Any]]) -> FloatArray | None:
    """Gains per point (s, number of gains, n); None if no axis has gains."""
    axes = [axis for axis in points[0] if axis.partition(".")[0] == GAINS]
    if not axes:
        return None
    if not isinstance(controller, Controller):
        raise InputError("sweep: gains are those of a controller of flexjoint's; a law in Python has none")
    found = np.repeat(np.array(controller.gains, dtype=float)[None], len(points), axis=0)
    for axis in axes:
        name = axis.partition(".")[2]
        if name and name not in controller.gain_names:
            raise InputError(f"sweep: there is no gain '{name}'; {label(controller)} has {controller.gain_names}")
        for row, point in zip(found, points):
            part = row[controller.gain_names.index(name)] if name else row
            given = finite("sweep", axis, point[axis])
            given = given[:, None] if not name and given.ndim == 1 else given
            try:
                part[...] = given
            except ValueError:
                raise InputError(
                    f"sweep: {axis} has shape {np.shape(point[axis])}; it must fit {part.shape}"
                ) from None
    return found


def parameters_of(robot: Robot, points: list[dict[str, Any]]) -> tuple[dict[str, FloatArray], list[str], FloatArray]:
    """Parameters of the robot per point: as `simulate` takes them, and the same as paths and values (s, paths)."""
    free: dict[str, FloatArray] = {}
    paths: list[str] = []
    columns = [np.empty((len(points), 0))]
    for axis in filter(is_parameter, points[0]):
        parameter = select(robot, f"{robot.links[-1].name}.mass" if axis == PAYLOAD else axis)
        shape = parameter.value.shape
        try:
            values = np.stack([np.broadcast_to(finite("sweep", axis, x[axis]), shape) for x in points])
        except ValueError:
            raise InputError(f"sweep: values of {axis} must be numbers, or arrays of shape {shape}") from None
        free[parameter.path] = values
        paths += parameter.elements
        columns.append(values.reshape(len(points), -1))
    return free, paths, np.hstack(columns)
