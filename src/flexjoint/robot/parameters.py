"""The numbers of a robot by path: what may stay free in a kernel, to be given at each call.

A path is the name of a link or a joint, then field names as in the data, then, for one element of an array, its axes:

    link7.mass   link7.com   link7.com.z   link7.inertia.xy   joint3.position.x   joint3.drive.motor.inertia   gravity

The paths are found by walking the dataclasses: a new field of a drive is a parameter without a line here, but for its
unit.  An inertia counts as its six elements xx, xy, xz, yy, yz, zz.  A pattern with *, ? or [...] stands for all paths
it matches, one after the other in one vector; elements are looked at only where no whole path matches, so that
`link7.*` is mass, centre of mass and inertia, and `*.com.z` one coordinate of all centres of mass.

`with_symbols` puts CasADi symbols in place of numbers.  The robot it returns is for tracing alone: it is not validated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..drives import Motor
from ..errors import InputError
from ..spatial import ca, symmetric
from ..springs import TabulatedSpring
from . import Joint, Link, Robot, a_robot, is_number

UNITS = {
    "mass": ("kg", "kg"),
    "com": ("m", "m"),
    "inertia": ("kg m²", "kg"),
    "position": ("m", "m"),
    "viscous_friction": ("Nm s/rad", "N s/m"),
    "coulomb_friction": ("Nm", "N"),
    "coulomb_velocity": ("rad/s", "m/s"),
    "gear_ratio": ("1", "rad/m"),
    "transverse_inertia": ("kg m²", "kg m²"),
    "stiffness": ("Nm/rad", "N/m"),
    "torques": ("Nm", "N"),
    "stiffnesses": ("Nm/rad", "N/m"),
    "cubic": ("Nm/rad³", "N/m³"),
    "slope": ("Nm/rad²", "N/m²"),
    "rate": ("1/rad", "1/m"),
    "limit": ("rad", "m"),
    "deflections": ("rad", "m"),
    "damping": ("Nm s/rad", "N s/m"),
    "greatest_damping": ("Nm s/rad", "N s/m"),
    "spring": ("N/m", "N/m"),
    "arm": ("m", "m"),
    "gravity": ("m/s²", "m/s²"),
}  # of a turning and of a sliding joint
NEVER_FREE = {
    "rotation": "its nine numbers are a rotation only together",
    "limits": "limits enter no computation",
    **dict.fromkeys(("greatest_stiffness", "least_arm", "greatest_arm"), "limits only refuse"),
}
NONE_AT_ZERO = (
    "damping",
    "greatest_damping",
    "coulomb_friction",
    "coulomb_velocity",
    "cubic",
)  # 0 selects other equations
NEVER_NEGATIVE = ("mass", "stiffness", "damping", "viscous_friction", "coulomb_friction", "motor.inertia")
SYMMETRIC = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
SHOWN = 12  # paths in an error message


class Parameter(NamedTuple):
    """Numbers of a robot under one path or pattern, the unit they share, and the path of each element."""

    path: str
    value: np.ndarray
    unit: str
    elements: tuple[str, ...]

    @property
    def numbers(self) -> dict[str, float]:
        """Each element's value by its path."""
        return dict(zip(self.elements, self.value.ravel().tolist()))


def parameters(robot: Robot) -> dict[str, Parameter]:
    """All numbers of a robot that may be free in a kernel, by path: `parameters(robot)["link7.mass"].value`."""
    return dict(found_in(a_robot("parameters", robot)))


@lru_cache(maxsize=64)
def found_in(robot: Robot) -> Mapping[str, Parameter]:
    found: dict[str, Parameter] = {}

    def note(path: str, value: Any, sliding: bool) -> Any:
        unit = UNITS.get(path.rsplit(".", 1)[-1], ("", ""))[sliding]
        found[path] = Parameter(path, flat(value), unit, element_paths(path, value))
        return value

    rebuilt(robot, note)
    return found


def select(robot: Robot, pattern: str) -> Parameter:
    """The parameter at a path, or all that match a pattern as one vector."""
    from fnmatch import fnmatchcase

    known = found_in(robot)
    if pattern in known:
        return known[pattern]
    elements = {
        path: Parameter(path, flat(x), parameter.unit, (path,))
        for parameter in known.values()
        for path, x in parameter.numbers.items()
    }
    if pattern in elements:
        return elements[pattern]
    for among in (known, elements):
        if matched := [x for path, x in among.items() if fnmatchcase(path, pattern)]:
            return Parameter(
                pattern,
                flat(np.concatenate([np.ravel(x.value) for x in matched])),
                ", ".join(dict.fromkeys(x.unit for x in matched)),
                tuple(path for x in matched for path in x.elements),
            )
    raise InputError(f"{robot.name}: no parameter '{pattern}'; {advice(robot, pattern, [*known], [*elements])}")


def select_all(robot: Robot, patterns: tuple[str, ...]) -> tuple[Parameter, ...]:
    """Several selections, no element in two of them."""
    selected = tuple(select(robot, pattern) for pattern in patterns)
    owner: dict[str, str] = {}
    for parameter in selected:
        for path in parameter.elements:
            if path in owner:
                raise InputError(f"{robot.name}: '{path}' is selected twice, by '{owner[path]}' and '{parameter.path}'")
            owner[path] = parameter.path
    return selected


def refuse_negative(owner: str, parameter: Parameter, values: np.ndarray) -> None:
    """Refuse values (..., *shape) of a parameter with a mass, a stiffness or the like below zero."""
    columns = values.reshape(-1, len(parameter.elements)) if values.size % len(parameter.elements) == 0 else values[:0]
    for path, column in zip(parameter.elements, columns.T):
        if path.endswith(NEVER_NEGATIVE) and np.any(column < 0):
            raise InputError(f"{owner}: {path} would be {column.min():g}; it cannot be negative")


def with_symbols(robot: Robot, symbols: Mapping[str, Any]) -> Robot:
    """The robot with SX symbols, by the paths of elements, in place of numbers; unchecked, so never handed out."""

    def change(path: str, value: Any, _: bool) -> Any:
        elements = element_paths(path, value)
        if symbols.keys().isdisjoint(elements):
            return value
        parts = [symbols.get(element, float(x)) for element, x in zip(elements, flat(value).flat)]
        if isinstance(value, tuple):
            return tuple(parts)
        return symmetric(*parts) if np.ndim(value) == 2 else ca.vertcat(*parts)

    return rebuilt(robot, change) if symbols else robot


def rebuilt(item: Any, change: Callable[[str, Any, bool], Any], prefix: str = "", sliding: bool = False) -> Any:
    """A robot, or a part of one, with change(path, value, sliding) for every parameter; nothing is checked."""
    copy = object.__new__(type(item))
    for field in dataclasses.fields(item):
        value, path = getattr(item, field.name), prefix + field.name
        if is_used(item, field.name, value):
            if dataclasses.is_dataclass(value):
                value = part(value, change, path, sliding)
            elif is_parameter(value):
                value = change(path, value, sliding)
            elif isinstance(value, tuple):
                value = tuple(part(x, change, f"{path}.{k}", sliding) for k, x in enumerate(value))
        object.__setattr__(copy, field.name, value)
    return copy


def part(item: Any, change: Callable[[str, Any, bool], Any], path: str, sliding: bool) -> Any:
    """Links and joints go by their own name, everything else by its place."""
    if isinstance(item, Link | Joint):
        path = item.name
        sliding = isinstance(item, Joint) and item.kind == "prismatic"
    return rebuilt(item, change, f"{path}.", sliding) if dataclasses.is_dataclass(item) else item


def is_used(item: Any, field: str, value: Any) -> bool:
    """Whether a field enters the equations; a joint that does not move has a place and nothing else."""
    if field in NEVER_FREE or (field in NONE_AT_ZERO and not value):
        return False
    if isinstance(item, Motor):  # an axis decides which equations there are; zeros say nothing about the rotor
        return field != "axis" and (bool(value) or field not in ("mass", "transverse_inertia"))
    if isinstance(item, TabulatedSpring):  # its spline is solved for when it is made, linear in the torques alone
        return field != "deflections"
    return not isinstance(item, Joint) or item.moves or field == "position"


def is_parameter(value: Any) -> bool:
    numbers = isinstance(value, tuple) and value != () and all(is_number(x) for x in value)
    return is_number(value) or isinstance(value, np.ndarray) or numbers


def flat(value: Any) -> np.ndarray:
    """A number, a vector, or the six elements of a symmetric matrix; read-only."""
    array = np.array(value, dtype=float)
    if array.ndim == 2:
        array = np.array([array[place] for place in SYMMETRIC])
    array.flags.writeable = False
    return array


def element_paths(path: str, value: Any) -> tuple[str, ...]:
    shape = np.shape(value)
    if shape == ():
        return (path,)
    if shape == (3, 3):
        return tuple(f"{path}.{'xyz'[i]}{'xyz'[j]}" for i, j in SYMMETRIC)
    names = "xyz" if isinstance(value, np.ndarray) and shape == (3,) else map(str, range(shape[0]))
    return tuple(f"{path}.{name}" for name in names)


def advice(robot: Robot, pattern: str, paths: list[str], elements: list[str]) -> str:
    """What could have been meant by a path that does not exist."""
    from difflib import get_close_matches

    for name, reason in NEVER_FREE.items():
        if f".{name}" in pattern:
            return f"{name} cannot be free: {reason}"
    if pattern.rsplit(".", 1)[-1] in NONE_AT_ZERO:
        return "it is a parameter only where it is not 0: a robot without it has other equations"
    own_names = {f"{link.name}.joint.": f"{link.joint.name}." for link in robot.links}
    start = next((x for x in own_names if pattern.startswith(x)), None)
    close = [own_names[start] + pattern.removeprefix(start)] if start else []
    close = close or get_close_matches(pattern, dict.fromkeys([*paths, *elements]), n=3)
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    rest = f" and {len(paths) - SHOWN} more, see fj.parameters(robot)" if len(paths) > SHOWN else ""
    return f"{meant}there are {', '.join(paths[:SHOWN])}{rest}"
