"""TOML files as tables whose contents are checked as they are taken; errors begin with the place in the file.

Files are data: nothing in them is executed, and they are refused before their size could do harm.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from ..errors import FlexjointError, RobotError, listed, quoted, shown

MAX_BYTES = 2_000_000  # tomllib reads about 1 MB/s
MAX_LINKS = 1_000
MAX_DOTS = 100  # in one line beside those of numbers: over a long dotted key tomllib takes minutes, quadratic in it
MAX_ALL_DOTS = 20_000  # likewise in the file: tomllib keeps about 5 kB for each of those in headers
WORD = re.compile(rb"[\w.+-]+")
DECIMAL = re.compile(rb"[+-]?[0-9_]+\.[0-9_]+([eE][+-]?[0-9_]+)?")


def read_bytes(
    path: str | os.PathLike[str], what: str, error: type[FlexjointError] = RobotError, most: int = MAX_BYTES
) -> bytes:
    """The contents of a file; one byte beyond `most` says that there is more."""
    place = path_text(path, what, error)
    if os.path.isdir(place):  # which takes any name
        raise error(f"{quoted(place)} is a folder; give the path of a {what}")
    try:
        if not Path(place).is_file():
            raise error(f"{quoted(place)}: there is no such file: give the path of a {what}")
        with open(place, "rb") as file:
            return file.read(most + 1)
    except OSError as problem:
        raise error(f"{quoted(place)}: the {what.split(' (')[0]} cannot be read: {problem.strerror}") from problem


def path_text(path: Any, what: str, error: type[FlexjointError] = RobotError) -> str:
    """A path as a string."""
    try:
        return os.fsdecode(path)
    except TypeError:
        raise error(f"{shown(path)} is no path: give that of a {what}") from None


def parse_table(data: bytes, place: str, what: str, error: type[FlexjointError] = RobotError) -> Table:
    """The contents of a TOML file; `place` begins every error message."""
    if len(data) > MAX_BYTES:
        raise error(f"{place}: the file is larger than {MAX_BYTES:,} bytes, which no {what} should be")
    import tomllib

    try:
        check_dots(data)
        return Table(tomllib.loads(data.decode()), place, error)
    except RecursionError:
        raise error(f"{place}: the file is nested too deeply to be a {what}") from None
    except ValueError as problem:  # TOMLDecodeError, UnicodeDecodeError, integers without end
        why = "an integer has thousands of digits" if "int_max_str_digits" in str(problem) else quoted(problem)
        raise error(f"{place}: not valid TOML: {why}") from problem


def check_dots(data: bytes) -> None:
    """Refuse keys nested so deeply, or so many of them, that reading them takes minutes or gigabytes."""
    if data.count(b".") <= MAX_DOTS:
        return
    long = [line for line in data.splitlines() if line.count(b".") > MAX_DOTS]
    if any(key_dots(line) > MAX_DOTS for line in long) or key_dots(data) > MAX_ALL_DOTS:
        raise RecursionError


def key_dots(line: bytes) -> int:
    """How many dots of a line may belong to keys: all but those of decimal numbers."""
    return sum(word.count(b".") for word in WORD.findall(line) if not DECIMAL.fullmatch(word))


@dataclass(frozen=True, slots=True)
class Table:
    """A TOML table and its place in the file; whatever is taken from it has been checked for its type."""

    data: dict[str, Any]
    place: str
    error: type[FlexjointError] = RobotError

    def named(self) -> Table:
        name = self.data.get("name")
        return Table(self.data, f"{self.place} '{quoted(name)}'", self.error) if isinstance(name, str) else self

    def wrong(self, key: str, expected: str) -> FlexjointError:
        if key not in self.data:
            return self.error(f"{self.place}: the key '{key}' is missing: give {expected}")
        return self.error(f"{self.place}: {key} must be {expected}, not {shown(self.data[key])}")

    def allow(self, keys: Iterable[str]) -> None:
        keys = tuple(keys)
        for key in self.data:
            if key not in keys:
                raise self.error(f"{self.place}: unknown key '{quoted(key)}'; {suggestion(key, keys)}")

    def number(self, key: str, default: float | None = None) -> float:
        value = self.data.get(key, default)
        if not _is_number(value):
            raise self.wrong(key, "a number")
        return float(value)

    def text(self, key: str, default: str | None = None) -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "a string")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def choice(self, key: str, choices: Iterable[str], default: str | None = None) -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str) or value not in choices:
            raise self.wrong(key, "one of " + ", ".join(f'"{x}"' for x in choices))
        return value

    def vector(self, key: str, default: Iterable[float] | None = None) -> np.ndarray:
        value = self.data.get(key, default)
        if not _is_triple(value) or not all(map(_is_number, value)):
            raise self.wrong(key, "three numbers [x, y, z]")
        return np.array(value, dtype=float)

    def matrix(self, key: str) -> np.ndarray:
        value = self.data.get(key)
        if not _is_triple(value) or not all(_is_triple(row) and all(map(_is_number, row)) for row in value):
            raise self.wrong(key, "a 3x3 matrix, three rows of three numbers")
        return np.array(value, dtype=float)

    def array(self, key: str, expected: str) -> np.ndarray:
        """A number, or lists of numbers, or lists of them."""
        value = self.data.get(key)
        try:
            if not _is_nested(value, depth=2):
                raise ValueError
            return np.array(value, dtype=float)
        except ValueError:  # also for rows of different length
            raise self.wrong(key, expected) from None

    def table(self, key: str) -> Table:
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, "a table {key = value, ...}")
        return Table(value, f"{self.place}, {key}", self.error)

    def tables(self, key: str) -> list[dict[str, Any]]:
        value = self.data.get(key)
        if not isinstance(value, list) or not value or any(not isinstance(x, dict) for x in value):
            raise self.wrong(key, f"one [[{key}]] table or more")
        if len(value) > MAX_LINKS:
            raise self.error(f"{self.place}: {len(value)} links; at most {MAX_LINKS} are read")
        return value

    def radians(self, key: str, default: float) -> float:
        """The angle `key`, in rad, or `key_deg`, in degrees."""
        self.only_one(key, f"{key}_deg")
        return math.radians(self.number(f"{key}_deg")) if f"{key}_deg" in self.data else self.number(key, default)

    def only_one(self, *keys: str) -> None:
        if len(given := [key for key in keys if key in self.data]) > 1:
            raise self.error(f"{self.place}: {' and '.join(given)} are both given: keep one")


def suggestion(word: str, known: Iterable[str]) -> str:
    """The closest known words first, then all of them."""
    known = sorted(known)
    import difflib

    close = difflib.get_close_matches(quoted(word), known, n=1)
    return (f"did you mean '{close[0]}'? " if close else "") + f"known are: {listed(known)}"


def _is_number(value: Any) -> TypeGuard[float]:
    """A TOML integer or float, but no boolean and no integer beyond the floats."""
    return isinstance(value, float) or (type(value) is int and abs(value) < 2**1000)


def _is_nested(value: Any, depth: int) -> bool:
    return _is_number(value) or (depth > 0 and isinstance(value, list) and all(_is_nested(x, depth - 1) for x in value))


def _is_triple(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple) and len(value) == 3
