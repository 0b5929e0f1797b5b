"""Laws with symbols in place of numbers: robot parameters such as a payload, and thresholds of detectors.

Controllers, observers and reactions are dataclasses that hold robots and each other.  `with_free_numbers` copies such a
law and puts symbols into every robot inside it; `detectors_in` finds its detectors.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any, TypeVar

from ..control.base import Controller
from ..control.reactions import Reaction
from ..observers.base import Observer
from ..observers.detector import Detector
from ..robot import Robot
from ..robot.parameters import with_symbols
from ..types import Expression, Scalar

PARTS = (Controller, Observer, Reaction)
Law = TypeVar("Law", bound=Controller | Observer | Reaction)


def parts_of(law: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a law that are laws themselves, by name."""
    return ((x.name, getattr(law, x.name)) for x in fields(law) if isinstance(getattr(law, x.name), PARTS))


def detectors_in(law: Any) -> list[Detector]:
    """The detectors of a law: itself, and those inside, outermost first."""
    inside = [found for _, part in parts_of(law) for found in detectors_in(part)]
    return [law, *inside] if isinstance(law, Detector) else inside


def with_free_numbers(law: Law, numbers: Mapping[str, Scalar], levels: Mapping[int, Expression]) -> Law:
    """A copy of a law whose robots have symbols, by path, and whose detectors have the levels, by `id`.

    Laws that it has made from its numbers, such as the residual of a FrictionObserver, get them too.
    """
    changed = copy.copy(law)
    for name in [x for x in changed.__dict__ if isinstance(getattr(type(law), x, None), cached_property)]:
        found = changed.__dict__.pop(name)  # what else was computed from numbers is computed again
        if isinstance(found, PARTS):
            changed.__dict__[name] = with_free_numbers(found, numbers, levels)
    for x in fields(law):  # type: ignore[arg-type]
        value = getattr(law, x.name)
        if isinstance(value, Robot):
            object.__setattr__(changed, x.name, with_symbols(value, numbers))
        elif isinstance(value, PARTS):
            object.__setattr__(changed, x.name, with_free_numbers(value, numbers, levels))
    if id(law) in levels:
        changed.__dict__["level"] = levels[id(law)]
    return changed
