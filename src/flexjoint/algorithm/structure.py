"""Structure of a call: how many arrays, which keyword arrays, which options.  It selects the code a call needs.

Keyword arrays are the inputs that a call may leave out.  They have one of three layouts:

    mapping    {"tool": [w, w', w'']}     a stack of derivatives per name: wrenches, base, tracking
    stack      [σ, σ', σ'']               a stack of derivatives: stiffness, theta_rates
    array      φ                          a single array: warm_start, damping, hysteresis, stiffness_command
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ..errors import InputError
from ..spatial import is_symbolic
from .signals import Signal

Counts: TypeAlias = "tuple[tuple[str, int], ...] | int | None"  # of a mapping, a stack, a single array


class KeywordArray(NamedTuple):
    """An input given by keyword: layout, shape and unit; members of a mapping may have their own."""

    layout: Literal["mapping", "stack", "array"]
    signal: Signal
    members: Mapping[str, Signal] = {}


KEYWORD_ARRAYS = {
    "stiffness": KeywordArray("stack", Signal(("n",), "Nm/(rad sᵏ) | N/(m sᵏ)")),
    "wrenches": KeywordArray("mapping", Signal((6,), "N/sᵏ, Nm/sᵏ")),
    "base": KeywordArray("mapping", Signal((3,), "rad/sᵏ⁺¹, m/sᵏ⁺²")),
    "tracking": KeywordArray(
        "mapping", Signal(("n",), "rad/sᵏ | m/sᵏ, 1/sᵏ"), {"limits": Signal(("motors",), "Nm | N")}
    ),
    "warm_start": KeywordArray("array", Signal(("motors",), "rad | m")),
    "damping": KeywordArray("array", Signal(("n",), "Nm s/rad | N s/m")),
    "hysteresis": KeywordArray("array", Signal(("n",), "1")),
    "theta_rates": KeywordArray("stack", Signal(("motors",), "rad/sᵏ | m/sᵏ")),
    "stiffness_command": KeywordArray("array", Signal(("n",), "Nm/(rad s²) | N/(m s²)")),
}


class Structure(NamedTuple):
    """All that selects the code of a call, beside the robot."""

    arrays: int  # positional ones
    keyword_arrays: tuple[tuple[str, Counts], ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    free: tuple[str, ...] = ()  # paths and patterns of parameters
    derivatives: tuple[tuple[str, str], ...] = ()  # (output, input or parameter)

    @property
    def members(self) -> list[tuple[str, Signal]]:
        """Name and signal of every keyword array."""
        found: list[tuple[str, Signal]] = []
        for name, counts in self.keyword_arrays:
            _, signal, members = KEYWORD_ARRAYS[name]
            if counts is None:
                found.append((name, signal))
            elif isinstance(counts, int):
                found += [(f"{name}[{k}]", signal) for k in range(counts)]
            else:
                found += [(f"{name}.{key}[{k}]", members.get(key, signal)) for key, n in counts for k in range(n)]
        return found

    def arranged(self, arrays: Iterable[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arrays of a call as the function takes them: positional ones, and keyword arrays by name."""
        given = iter(arrays)
        positional = [next(given) for _ in range(self.arrays)]
        return positional, {name: arranged(counts, given) for name, counts in self.keyword_arrays}


def arranged(counts: Counts, given: Iterator[Any]) -> Any:
    """One keyword array from the leaves of all."""
    if counts is None:
        return next(given)
    if isinstance(counts, int):
        return [next(given) for _ in range(counts)]
    return {key: [next(given) for _ in range(count)] for key, count in counts}


def flatten(owner: str, keywords: Mapping[str, Any]) -> tuple[tuple[tuple[str, Counts], ...], list[Any]]:
    """Structure and leaves of the keyword arrays among the keywords of a call."""
    found: list[tuple[str, Counts]] = []
    leaves: list[Any] = []
    for name, (layout, signal, _) in KEYWORD_ARRAYS.items():
        value = keywords.get(name)
        if value is None:
            continue
        if layout == "array":
            found.append((name, None))
            leaves.append(value)
        elif layout == "stack":
            found.append((name, checked_stack(f"{owner}: {name}", value, signal)))
            leaves += list(value)
        else:
            members = value._asdict() if hasattr(value, "_asdict") else value
            if not isinstance(members, Mapping):
                raise InputError(f"{owner}: {name} must map names to stacks of derivatives, not {type(value).__name__}")
            stacks = [(key, checked_stack(f"{owner}: {name}[{key!r}]", x, signal)) for key, x in members.items()]
            found.append((name, tuple(stacks)))
            leaves += [x for stack in members.values() for x in stack]
    return tuple(found), leaves


def checked_stack(owner: str, stack: Any, signal: Signal) -> int:
    """The number of arrays in a stack."""
    several = isinstance(stack, Sequence) or (isinstance(stack, np.ndarray) and stack.ndim > 0)
    if not several or not len(stack) or not (is_symbolic(stack[0]) or np.ndim(stack[0])):
        raise InputError(
            f"{owner} must be a stack [x, x', ...] of arrays (..., {signal.shape[0]}); for a single one write [x]"
        )
    return len(stack)


def counted(owner: str, keywords: Mapping[str, Any]) -> tuple[tuple[str, Counts], ...]:
    """Structure of the keyword arrays as `compile` is told: lengths of stacks, True for single arrays."""
    found: list[tuple[str, Counts]] = []
    for name, (layout, *_) in KEYWORD_ARRAYS.items():
        given = keywords.get(name)
        if given is None or given is False or given == {}:
            continue
        if layout == "mapping":
            if not isinstance(given, Mapping) or not all(map(is_length, given.values())):
                raise InputError(f"{owner}: {name} must map names to lengths of stacks here, not {given!r}")
            found.append((name, tuple((key, int(count)) for key, count in given.items())))
        elif layout == "stack":
            if not is_length(given):
                raise InputError(f"{owner}: {name} must be the length of the stack here, not {given!r}")
            found.append((name, int(given)))
        elif given is not True:
            raise InputError(f"{owner}: {name} must be True here, where it shall be an input, not {given!r}")
        else:
            found.append((name, None))
    return tuple(found)


def is_length(x: Any) -> bool:
    return isinstance(x, int | np.integer) and not isinstance(x, bool) and bool(x > 0)
