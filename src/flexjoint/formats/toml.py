"""TOML files as tables that check the type of every value read; messages begin with the place in the file.

Files are data: nothing in them is executed, and files that would take too much time or memory are refused.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from ..errors import FlexjointError, RobotError, listed, quoted, shown
from ..file_limits import CURE, most, require
from ..types import FloatArray

WORD = re.compile(rb"[\w.+-]+")
DECIMAL = re.compile(rb"[+-]?[0-9_]+\.[0-9_]+([eE][+-]?[0-9_]+)?")


def read_bytes(
    path: str | os.PathLike[str],
    what: str,
    error: type[FlexjointError] = RobotError,
    limit: str = "toml_bytes",
    cure: str = CURE,
) -> bytes:
    """Contents of a file up to a limit.

    Args:
        path: path of the file.
        what: what the file should be, for messages, such as "robot file (.toml)".
        error: class of the errors.
        limit: name of the limit of its size.
        cure: how to make it smaller, for the message.

    Raises:
        error: there is no such file, it is too large, or it cannot be read.
    """
    place = path_text(path, what, error)
    if os.path.isdir(place):  # accepts any name
        raise error(f"{quoted(place)} is a folder; give the path of a {what}")
    try:
        if not Path(place).is_file():
            raise error(f"{quoted(place)}: there is no such file: give the path of a {what}")
        with open(place, "rb") as file:
            require(limit, os.fstat(file.fileno()).st_size, quoted(place), error, cure)
            return file.read(most(limit))
    except OSError as problem:
        raise error(f"{quoted(place)}: the {what.split(' (')[0]} cannot be read: {problem.strerror}") from problem


def path_text(path: object, what: str, error: type[FlexjointError] = RobotError) -> str:
    """A path as a text; `what` says which file is wanted, for the message."""
    try:
        return os.fsdecode(path)  # type: ignore[arg-type]  # that is what is checked
    except TypeError:
        raise error(f"{shown(path)} is no path: give that of a {what}") from None


def parse_table(data: bytes, place: str, what: str, error: type[FlexjointError] = RobotError) -> Table:
    """The table in the contents of a TOML file; `place` begins every message."""
    require("toml_bytes", len(data), place, error)
    check_dots(data, place, error)
    import tomllib

    try:
        return Table(tomllib.loads(data.decode()), place, error)
    except RecursionError:
        raise error(f"{place}: the file is nested too deeply to be a {what}") from None
    except ValueError as problem:  # TOMLDecodeError, UnicodeDecodeError, endless integers
        why = "an integer has thousands of digits" if "int_max_str_digits" in str(problem) else quoted(problem)
        raise error(f"{place}: not valid TOML: {why}") from problem


def parse_inline(text: str, what: str, error: type[FlexjointError] = RobotError) -> Table:
    """The table of a text {key = value, ...}, such as one given on the command line; `what` names it in messages."""
    line = " ".join(text.split())
    outer = parse_table(f"{what} = {line}".encode(errors="surrogateescape"), what, what, error)
    outer.allow((what,))
    return replace(outer.table(what), place=what)


def check_dots(data: bytes, place: str, error: type[FlexjointError]) -> None:
    """Refuse keys so deep or so many that reading them takes minutes or gigabytes."""
    if data.count(b".") > (least := most("toml_line_dots")):
        long = [line for line in data.splitlines() if line.count(b".") > least]
        require("toml_line_dots", max(map(key_dots, long), default=0), place, error, "do not nest tables so deeply")
        require("toml_dots", key_dots(data), place, error)


def key_dots(line: bytes) -> int:
    """Number of dots that may belong to keys: all except those of decimal numbers."""
    return sum(word.count(b".") for word in WORD.findall(line) if not DECIMAL.fullmatch(word))


@dataclass(frozen=True, slots=True)
class Table:
    """A TOML table that checks the type of every value read.

    Args:
        data: the table.
        place: its place in the file, which begins every message.
        error: class of the errors.
    """

    data: dict[str, Any]
    place: str
    error: type[FlexjointError] = RobotError

    def named(self) -> Table:
        """The table with its own `name` in its place."""
        name = self.data.get("name")
        return Table(self.data, f"{self.place} '{quoted(name)}'", self.error) if isinstance(name, str) else self

    def wrong(self, key: str, expected: str) -> FlexjointError:
        """The error for a missing or wrong value; `expected` says what to give."""
        if key not in self.data:
            return self.error(f"{self.place}: the key '{key}' is missing: give {expected}")
        return self.error(f"{self.place}: {key} must be {expected}, not {shown(self.data[key])}")

    def allow(self, keys: Iterable[str]) -> None:
        """Refuse all other keys."""
        keys = tuple(keys)
        for key in self.data:
            if key not in keys:
                raise self.error(f"{self.place}: unknown key '{quoted(key)}'; {suggestion(key, keys)}")

    def number(self, key: str, default: float | None = None) -> float:
        """A number."""
        value = self.data.get(key, default)
        if not _is_number(value):
            raise self.wrong(key, "a number")
        return float(value)

    def text(self, key: str, default: str | None = None) -> str:
        """A text."""
        value = self.data.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "a string")
        return value

    def texts(self, key: str, expected: str) -> tuple[str, ...]:
        """A list of texts, or one text."""
        value = self.data.get(key)
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not found or any(not isinstance(x, str) for x in found):
            raise self.wrong(key, expected)
        return tuple(found)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def choice(self, key: str, choices: Iterable[str], default: str | None = None) -> str:
        """One of several texts."""
        value = self.data.get(key, default)
        if not isinstance(value, str) or value not in choices:
            raise self.wrong(key, "one of " + ", ".join(f'"{x}"' for x in choices))
        return value

    def vector(self, key: str, default: Iterable[float] | None = None) -> FloatArray:
        """Three numbers, (3,)."""
        value = self.data.get(key, default)
        if not _is_triple(value) or not all(map(_is_number, value)):
            raise self.wrong(key, "three numbers [x, y, z]")
        return np.array(value, dtype=float)

    def matrix(self, key: str) -> FloatArray:
        """Three rows of three numbers, (3, 3)."""
        value = self.data.get(key)
        if not _is_triple(value) or not all(_is_triple(row) and all(map(_is_number, row)) for row in value):
            raise self.wrong(key, "a 3x3 matrix, three rows of three numbers")
        return np.array(value, dtype=float)

    def array(self, key: str, expected: str) -> FloatArray:
        """A number, a list of numbers, or a list of such lists of one length."""
        value = self.data.get(key)
        try:
            if not _is_nested(value, depth=2):
                raise ValueError
            return np.array(value, dtype=float)
        except ValueError:  # also for rows of different length
            raise self.wrong(key, expected) from None

    def table(self, key: str) -> Table:
        """A table inside this one; empty without the key."""
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, "a table {key = value, ...}")
        return Table(value, f"{self.place}, {key}", self.error)

    def tables(self, key: str) -> list[dict[str, Any]]:
        """The [[key]] tables, one or more."""
        value = self.data.get(key)
        if not isinstance(value, list) or not value or any(not isinstance(x, dict) for x in value):
            raise self.wrong(key, f"one [[{key}]] table or more")
        require("links", len(value), f"{self.place}, {key}", self.error)
        return value

    def radians(self, key: str, default: float) -> float:
        """The angle `key`, in rad, or `key_deg`, in degrees."""
        self.only_one(key, f"{key}_deg")
        return math.radians(self.number(f"{key}_deg")) if f"{key}_deg" in self.data else self.number(key, default)

    def only_one(self, *keys: str) -> None:
        """Refuse a table with more than one of these keys."""
        if len(given := [key for key in keys if key in self.data]) > 1:
            raise self.error(f"{self.place}: {' and '.join(given)} are both given: keep one")


def suggestion(word: str, known: Iterable[str]) -> str:
    """The end of a message: the known word closest to a wrong one, then all known words."""
    known = sorted(known)
    import difflib

    close = difflib.get_close_matches(quoted(word), known, n=1)
    return (f"did you mean '{close[0]}'? " if close else "") + f"known are: {listed(known)}"


def _is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a TOML integer or float, not a boolean, and not beyond the doubles."""
    return isinstance(value, float) or (type(value) is int and abs(value) < 2**1000)


def _is_nested(value: Any, depth: int) -> bool:
    """Whether a value is a number, or lists of numbers of at most this depth."""
    return _is_number(value) or (depth > 0 and isinstance(value, list) and all(_is_nested(x, depth - 1) for x in value))


def _is_triple(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list of three."""
    return isinstance(value, list | tuple) and len(value) == 3
