"""The numbers of a robot by path: what may stay free in a kernel, to be given at each call.

A path is the name of a link or a joint, then field names as in the data, then, for one element of an array, its axes:

    link7.mass   link7.com   link7.com.z   link7.inertia.xy   joint3.position.x   joint3.drive.motor.inertia   gravity

The paths are found by walking the dataclasses: a new field of a drive or a joint kind is a parameter.  Its unit stands
in `UNITS` or in the metadata of the field, where `"free": False` excludes a number.  An inertia counts as its six
elements xx, xy, xz, yy, yz, zz.  A pattern with *, ? or [...] stands for all paths it matches, one after the other in
one vector.  Elements are matched only if no whole path matches: `link7.*` is mass, centre of mass and inertia,
`*.com.z` one coordinate of all centres of mass.

`with_symbols` puts CasADi symbols in place of numbers.  The robot it returns is not validated.  Algorithms called with
SX take it; what needs numbers refuses it (`numeric`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..checks import is_number
from ..drives import Motor
from ..drives.friction import SHORT_FORM
from ..errors import InputError, listed, shown
from ..spatial import ca, is_symbolic, symmetric
from ..types import Expression, FloatArray, Scalar
from .joints import JointKind
from .joints.revolute import Revolute
from .model import Robot, a_robot
from .parts import Joint, Link

UNITS = {
    "mass": "kg | kg",
    "com": "m | m",
    "inertia": "kg m² | kg",
    "position": "m | m",
    "viscous_friction": "Nm s/rad | N s/m",
    "coulomb_friction": "Nm | N",
    "coulomb_velocity": "rad/s | m/s",
    "gear_ratio": "1 | rad/m",
    "transverse_inertia": "kg m² | kg m²",
    "stiffness": "Nm/rad | N/m",
    "damping": "Nm s/rad | N s/m",
    "greatest_damping": "Nm s/rad | N s/m",
    "backlash": "rad | m",
    "gravity": "m/s² | m/s²",
    "offset": "rad | m",
}  # at an angular and at a linear coordinate
NEVER_FREE = {
    "rotation": "its nine numbers are a rotation only together",
    **dict.fromkeys(("limits", "spring_limits"), "limits enter no computation"),
    **dict.fromkeys(("greatest_stiffness", "least_arm", "greatest_arm"), "limits only refuse"),
    **dict.fromkeys(("least_pretension", "greatest_pretension", "greatest_angle"), "limits only refuse"),
}
NONE_AT_ZERO = (
    "damping",
    "greatest_damping",
    "coulomb_friction",
    "coulomb_velocity",
    "cubic",
    "backlash",
    "coulomb",
    "velocity",
    "static",
    "stribeck_velocity",
    "load",
    "load_scale",
)  # zero selects other equations
NEVER_NEGATIVE = (
    *("mass", "stiffness", "damping", "viscous_friction", "coulomb_friction", "motor.inertia"),
    *(f"friction.{side}{name}" for side in ("", "backward.") for name in ("viscous", "coulomb", "static", "load")),
    "backlash",
)
ALWAYS_POSITIVE = ("coulomb_velocity", "friction.velocity", "stribeck_velocity", "load_scale", "hysteresis.torque")
SYMMETRIC = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
SHOWN = 12  # paths in an error message
ANGULAR = Revolute()  # units of what belongs to no joint, such as the inertia of a link


class Parameter(NamedTuple):
    """Numbers of a robot under one path or pattern.

    Attributes:
        path: The path or pattern, such as "link7.com".
        value: The numbers, read-only: (), (3,), (6,) of an inertia, or (k,) of a pattern.
        unit: The unit they share; several, with commas, if a pattern matches numbers of several units.
        elements: The path of each number, such as "link7.com.x".
    """

    path: str
    value: FloatArray
    unit: str
    elements: tuple[str, ...]

    @property
    def numbers(self) -> dict[str, float]:
        """Each element's value by its path."""
        return dict(zip(self.elements, self.value.ravel().tolist()))


def robot_parameters(robot: Robot) -> dict[str, Parameter]:
    """All numbers of a robot that may be free in a kernel, by path.

    Args:
        robot: A Robot.

    Raises:
        InputError: If it is no Robot.

    Example:
        >>> import flexjoint as fj
        >>> robot_parameters(fj.load("kuka_lwr"))["link7.mass"].unit
        'kg'
    """
    return dict(found_in(numeric("robot_parameters", robot)))


@lru_cache(maxsize=64)
def found_in(robot: Robot) -> Mapping[str, Parameter]:
    """The parameters of a robot by path."""
    found: dict[str, Parameter] = {}

    def note(path: str, value: Any, unit: str) -> Any:
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


def refuse_negative(owner: str, parameter: Parameter, values: FloatArray) -> None:
    """Refuse values (..., *shape) of a parameter that make a mass, a stiffness or the like negative."""
    columns = values.reshape(-1, len(parameter.elements)) if values.size % len(parameter.elements) == 0 else values[:0]
    for path, column in zip(parameter.elements, columns.T):
        for x in (column.min(), column.max()) if column.size else ():
            if reason := impossible(path, x):
                raise InputError(f"{owner}: {path} would be {x:g}; {reason}")


def impossible(path: str, x: float) -> str | None:
    """Why the number at a path cannot be x, if so."""
    if path.endswith(NEVER_NEGATIVE) and x < 0:
        return "it cannot be negative"
    if path.endswith(ALWAYS_POSITIVE) and x <= 0:
        return "it must be positive"
    if path.endswith(("friction.load", "friction.backward.load")) and x >= 1:
        return "it must be below 1, or no torque would move the joint against its load"
    if path.endswith("hysteresis.reversal") and x < 1:
        return "it must be 1 or more, or the gear would generate energy"
    return None


def with_symbols(robot: Robot, symbols: Mapping[str, Scalar]) -> Robot:
    """The robot with CasADi symbols, by the paths of elements, in place of numbers; nothing is checked."""

    def change(path: str, value: Any, _: str) -> Any:
        elements = element_paths(path, value)
        if symbols.keys().isdisjoint(elements):
            return value
        parts = [symbols.get(element, float(x)) for element, x in zip(elements, flat(value).flat)]
        if isinstance(value, tuple):
            return tuple(parts)
        return symmetric(*parts) if np.ndim(value) == 2 else ca.vertcat(*parts)

    if not symbols:
        return robot
    found: Robot = rebuilt(robot, change)
    object.__setattr__(found, "symbols", tuple(symbols))
    object.__setattr__(found, "joint_limits", robot.joint_limits)  # a symbolic ratio cannot be compared
    return found


def symbols(robot: Robot, paths: str | Iterable[str]) -> dict[str, Expression]:
    """New CasADi symbols for parameters of a robot, by path: what `robot.with_symbols` takes.

    Args:
        robot: A Robot.
        paths: Paths or patterns such as "link3.mass", "link3.com" or "*.drive.stiffness" (docs/parameters.md), one or
            several.

    Returns:
        An SX per path: (1, 1) for a number, a column (k, 1) for a vector, an inertia or a pattern, each element named
        after its own path.

    Raises:
        InputError: If there is no such parameter, or if two paths select the same number.

    Example:
        >>> import flexjoint as fj
        >>> fj.robot.symbols(fj.load("kuka_lwr"), ["link7.mass", "link7.com"])
        {'link7.mass': SX(link7.mass), 'link7.com': SX([link7.com.x, link7.com.y, link7.com.z])}
    """
    patterns = tuple(paths) if isinstance(paths, Iterable) and not isinstance(paths, str) else (paths,)
    if wrong := [x for x in patterns if not isinstance(x, str)]:
        raise InputError(f"symbols: paths are texts such as 'link1.mass', not {shown(wrong[0])}")
    chosen = select_all(numeric("symbols", robot), patterns)
    return {x.path: ca.vertcat(*(ca.SX.sym(path) for path in x.elements)) for x in chosen}


def by_element(robot: Robot, given: Mapping[str, Expression]) -> dict[str, Expression]:
    """Expressions by the paths of elements, from expressions by paths and patterns."""
    owner = "with_symbols"
    if not isinstance(given, Mapping):
        raise InputError(
            f"{owner} takes a mapping from paths to SX, not {shown(given)}; fj.robot.symbols(robot, paths) makes one"
        )
    found: dict[str, Expression] = {}
    for parameter in select_all(numeric(owner, robot), tuple(given)):
        value, count = given[parameter.path], len(parameter.elements)
        if not is_symbolic(value):
            raise InputError(
                f"{owner}: '{parameter.path}' is {shown(value)}; give SX, such as casadi.SX.sym('{parameter.path}'), "
                "and numbers to the robot itself"
            )
        if value.shape != (count, 1):
            raise InputError(f"{owner}: '{parameter.path}' is SX of shape {value.shape}; it must be {(count, 1)}")
        found |= zip(parameter.elements, ca.vertsplit(value))
    return found


def numeric(owner: str, value: object) -> Robot:
    """The argument `robot` of a function that needs its numbers; `owner` begins the message of the InputError."""
    robot = a_robot(owner, value)
    if robot.symbols:
        raise InputError(
            f"{owner}: '{robot.name}' has symbols at {listed(robot.symbols, most=4)}, where numbers are needed; "
            "give the robot with its numbers, before with_symbols"
        )
    return robot


Change = Callable[[str, Any, str], Any]  # path, value, unit -> new value


def rebuilt(item: Any, change: Change, prefix: str = "", kind: JointKind = ANGULAR) -> Any:
    """A robot, or a part of one, with change(path, value, unit) for every parameter; nothing is checked.

    `kind` is that of the joint the part belongs to.
    """
    copy = object.__new__(type(item))
    for field in dataclasses.fields(item):
        value, path = getattr(item, field.name), prefix + field.name
        if field.metadata.get("free", True) and is_used(item, field.name, value):
            if dataclasses.is_dataclass(value):
                value = part(value, change, path, kind)
            elif is_parameter(value):
                value = change(path, value, kind.unit(field.metadata.get("unit") or UNITS.get(field.name, " | ")))
            elif isinstance(value, tuple):
                value = tuple(part(x, change, f"{path}.{k}", kind) for k, x in enumerate(value))
        object.__setattr__(copy, field.name, value)
    return copy


def part(item: Any, change: Change, path: str, kind: JointKind) -> Any:
    """A part rebuilt: links and joints go by their own name, everything else by its place."""
    if isinstance(item, Link | Joint):
        path, kind = item.name, item.kind if isinstance(item, Joint) else ANGULAR
    if dataclasses.is_dataclass(item):
        return rebuilt(item, change, f"{path}.", kind)
    return change(path, item, kind.unit(" | ")) if is_parameter(item) else item  # a row of a matrix


def is_used(item: Any, field: str, value: Any) -> bool:
    """Whether a field enters the equations; a fixed joint has only a position."""
    if field in NEVER_FREE or (field in NONE_AT_ZERO and not value):
        return False
    if field in SHORT_FORM and item.friction is not None:
        return False
    if isinstance(item, Motor):  # an axis decides which equations there are; zeros say nothing about the rotor
        return field != "axis" and (bool(value) or field not in ("mass", "transverse_inertia"))
    return not isinstance(item, Joint) or item.moves or field == "position"


def is_parameter(value: Any) -> bool:
    """Whether a field holds numbers."""
    numbers = isinstance(value, tuple) and value != () and all(is_number(x) for x in value)
    return is_number(value) or isinstance(value, np.ndarray) or numbers


def flat(value: Any) -> FloatArray:
    """A number, a vector, or the six elements of a symmetric matrix; read-only."""
    array = np.array(value, dtype=float)
    if array.ndim == 2:
        array = np.array([array[place] for place in SYMMETRIC])
    array.flags.writeable = False
    return array


def element_paths(path: str, value: Any) -> tuple[str, ...]:
    """The path of each number in a field."""
    shape = np.shape(value)
    if shape == ():
        return (path,)
    if shape == (3, 3):
        return tuple(f"{path}.{'xyz'[i]}{'xyz'[j]}" for i, j in SYMMETRIC)
    names = "xyz" if isinstance(value, np.ndarray) and shape == (3,) else map(str, range(shape[0]))
    return tuple(f"{path}.{name}" for name in names)


def advice(robot: Robot, pattern: str, paths: list[str], elements: list[str]) -> str:
    """Paths that may be meant by one that does not exist."""
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
    rest = f" and {len(paths) - SHOWN} more, see fj.robot.robot_parameters(robot)" if len(paths) > SHOWN else ""
    return f"{meant}there are {', '.join(paths[:SHOWN])}{rest}"
