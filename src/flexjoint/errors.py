"""All errors flexjoint raises share one root; each message names the culprit, its value and a remedy.

A message may quote names and values from a file that somebody else wrote: `quoted`, `shown` and `listed` keep it short.
"""

from __future__ import annotations

import reprlib
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any

MOST_QUOTED = 200  # characters of a name or value in a message
MOST_LISTED = 40  # names in a message
NOT_NUMBERS = (TypeError, ValueError, OverflowError)  # raised by NumPy for what no array of doubles can hold

_noted: ContextVar[list[str] | None] = ContextVar("noted", default=None)
INSIDE = ("flexjoint", "dataclasses")  # packages whose lines are not a user's


class FlexjointError(Exception):
    """Root of every error raised on purpose by flexjoint."""


class RobotError(FlexjointError, ValueError):
    """A robot description is wrong: the message names the link or joint, the value and the remedy."""


class InputError(FlexjointError, ValueError):
    """An argument of an algorithm has a wrong shape, type or number; nothing was computed."""


class NonFiniteError(FlexjointError, ArithmeticError):
    """A single evaluation gave a result that is not finite; the message names the offending input."""


class ClusterError(FlexjointError, RuntimeError):
    """Workers or their scheduler are lost, or do not fit; what was stored stays, and the same call resumes."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a study before its last sample; `partial` is the study of the finished samples.

    What was finished is stored if the study has a folder: the same call resumes.
    """

    def __init__(self, partial: Any) -> None:
        super().__init__(f"interrupted; `partial` of this exception has what was finished: {partial!r}")
        self.partial = partial


class FlexjointWarning(UserWarning):
    """An input is legal but probably not what was meant: the message names the place, the value and the remedy.

    `warnings.simplefilter("error", fj.FlexjointWarning)` turns every such warning into an error, as `--strict` does on
    the command line.
    """


def warn(message: str) -> None:
    """Warn with a FlexjointWarning, located at the first line outside flexjoint that led here."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    if (notes := _noted.get()) is not None:
        notes.append(message)
    warnings.warn(message, FlexjointWarning, stacklevel=level)


@contextmanager
def noted_warnings() -> Iterator[list[str]]:
    """Collects the warnings given inside the context: a kernel from the cache repeats those of its trace."""
    notes: list[str] = []
    token = _noted.set(notes)
    try:
        yield notes
    finally:
        _noted.reset(token)


# What messages quote ------------------------------------------------------------------------------------------------


def quoted(text: object) -> str:
    """A text as it stands in a message: whole, or its first 200 characters."""
    text = str(text)
    return text if len(text) <= MOST_QUOTED else f"{text[: MOST_QUOTED - 3]}..."


class _Shown(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = MOST_QUOTED
        self.maxlong = 80
        self.maxlevel = 3

    def repr_int(self, x: int, level: int) -> str:
        digits = x.bit_length() * 1233 >> 12  # log10(2) = 1233/4096; Python refuses to write beyond 4300 digits
        return repr(x) if digits < self.maxlong else f"an integer of about {digits} digits"


def shown(value: object) -> str:
    """A value as it stands in a message: its repr, at most 200 characters long."""
    return quoted(_Shown().repr(value))


def listed(names: Iterable[object], mark: str = ", ", without: str = "none", most: int = MOST_LISTED) -> str:
    """Names with commas or another mark between them, at most `most`; `without` if there are none."""
    names = iter(names)
    first = [quoted(name) for name in islice(names, most)]
    more = sum(1 for _ in names)
    return (mark.join(first) + (f" and {more} more" if more else "")) or without
