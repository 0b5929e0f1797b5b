"""Where the numbers of a robot come from, and how far they can be trusted.

A `Source` names numbers by their paths, as `robot_parameters` does; limits and rotations too, `joint3.limits.upper`,
`joint3.rotation`.  Patterns with *, ? or [...] are allowed, and a path stands for everything below it: `*.drive` is the
whole drive of every joint, `link7` the mass, centre of mass and inertia of link7.  Where several sources name one
number, the last one counts: state the rule first, then its exceptions.

Sources enter no computation: they belong neither to the digest nor to the equality of robots.  They follow the numbers
they were given for: a number that a transform changes or adds has no source until it is given one (`carried`).
"""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from ..checks import is_number
from ..errors import MOST_QUOTED, RobotError, listed, quoted, shown
from ..file_limits import require
from .parts import Joint, Link

if TYPE_CHECKING:
    from .model import Robot

Trust = Literal["placeholder", "chosen", "estimated", "data_sheet", "identified"]
TRUSTS: tuple[Trust, ...] = get_args(Trust)  # the worst first
NEEDS_ORIGIN = ("estimated", "data_sheet", "identified")  # claims that somebody else must be able to check
MOST_TEXT = 2_000  # characters of an origin or a note


@dataclasses.dataclass(frozen=True)
class Source:
    """Where some numbers of a robot come from.

    Args:
        of: Paths or patterns of the numbers, such as ("*.drive.stiffness", "link7.com"); one text is taken for a list
            of one.
        trust: "identified" (measured on this robot or its kind), "data_sheet" (stated by the manufacturer), "estimated"
            (derived from drawings, similar robots or assumptions), "chosen" (set by somebody for a purpose, such as a
            simulation) or "placeholder" (no value is known; this one lets the robot run).
        origin: A document, page, address or measurement. It may be left out for "chosen" and "placeholder".
        note: What a user should know about the numbers. Default "".

    Raises:
        RobotError: If the trust is unknown or a text is missing, empty or too long.

    Example:
        >>> Source("*.drive.stiffness", "data_sheet", "Harmonic Drive CSG-25, catalogue 2019, p. 14").of
        ('*.drive.stiffness',)
    """

    of: tuple[str, ...]
    trust: Trust
    origin: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        patterns = (self.of,) if isinstance(self.of, str) else self.of
        if not isinstance(patterns, Iterable) or not (patterns := tuple(patterns)):
            raise RobotError(f"a source is of {shown(self.of)}: give paths of numbers, such as '*.drive.stiffness'")
        for pattern in patterns:
            if not isinstance(pattern, str) or not 0 < len(pattern) <= 2 * MOST_QUOTED:
                raise RobotError(f"a source is of {shown(pattern)}: give paths of numbers, such as '*.drive.stiffness'")
        object.__setattr__(self, "of", patterns)
        if self.trust not in TRUSTS:
            raise RobotError(f"the trust of {self} is {shown(self.trust)}: it must be one of {listed(TRUSTS[::-1])}")
        for what in ("origin", "note"):
            text = getattr(self, what)
            if not isinstance(text, str) or len(text) > MOST_TEXT:
                raise RobotError(
                    f"the {what} of {self} is {shown(text)}: give a text of at most {MOST_TEXT} characters"
                )
        if not self.origin.strip() and self.trust in NEEDS_ORIGIN:
            raise RobotError(
                f"{self} has no origin: '{self.trust}' needs one, a document, page or measurement; numbers without "
                "are 'chosen' or a 'placeholder'"
            )

    def __str__(self) -> str:
        return f"the source of {listed(self.of, most=3)}"


def source_of(robot: Robot, path: str) -> Source | None:
    """The source of a number of a robot.

    Args:
        robot: A Robot.
        path: Path of a number, such as "joint3.drive.stiffness", or of one of its elements, "link7.com.z".

    Returns:
        The last source that names it, or None if no source does.

    Raises:
        RobotError: If the robot has no such number.

    Example:
        >>> import flexjoint as fj
        >>> fj.robot.source_of(fj.load("kuka_lwr"), "joint3.drive.stiffness").trust
        'chosen'
    """
    found = sources_by_path(robot, [number.path for number in numbers(robot)])
    for wanted in (path, path.rpartition(".")[0]) if isinstance(path, str) else ():
        if wanted in found:
            return found[wanted]
    raise RobotError(f"{robot.name}: {no_number(path, [*found])}")


def worst_trust(robot: Robot) -> Trust | None:
    """The worst trust among the numbers of a robot: of all that differ from the default of their field.

    Args:
        robot: A Robot.

    Returns:
        "placeholder" if there is one; otherwise None if a number has no source; otherwise the worst trust, in the order
        placeholder, chosen, estimated, data_sheet, identified.

    Example:
        >>> import flexjoint as fj
        >>> fj.robot.worst_trust(fj.load("kuka_lwr"))
        'chosen'
    """
    found = [source.trust if source else None for source in stated_sources(robot).values()]
    if "placeholder" in found:
        return "placeholder"
    return min((x for x in found if x), key=TRUSTS.index, default=None) if None not in found else None


def without_source(robot: Robot) -> tuple[str, ...]:
    """Paths of the numbers of a robot that no source names, in the order of the robot; defaults are left out.

    Args:
        robot: A Robot.

    Example:
        >>> import flexjoint as fj
        >>> fj.robot.without_source(fj.load("kuka_lwr").with_payload(2.0))
        ('payload.mass',)
    """
    return tuple(path for path, source in stated_sources(robot).items() if source is None)


def stated_sources(robot: Robot) -> dict[str, Source | None]:
    """The source of each number that differs from the default of its field, by path."""
    return sources_by_path(robot, [number.path for number in numbers(robot) if number.stated])


def sources_by_path(robot: Robot, paths: list[str]) -> dict[str, Source | None]:
    """The last source that names each path, or None."""
    found: dict[str, Source | None] = dict.fromkeys(paths)
    below = by_prefix(paths)
    for source in robot.sources:
        for pattern in source.of:
            found |= dict.fromkeys(matching(pattern, paths, below), source)
    return found


def by_prefix(paths: Iterable[str]) -> dict[str, list[str]]:
    """The paths at and below each name: "link7.com" under "link7" and "link7.com"."""
    found: dict[str, list[str]] = {}
    for path in paths:
        words = path.split(".")
        for k in range(len(words)):
            found.setdefault(".".join(words[: k + 1]), []).append(path)
    return found


def matching(pattern: str, paths: list[str], below: dict[str, list[str]]) -> list[str]:
    """The paths that a pattern names, or that lie below what it names."""
    return below.get(pattern) or [*fnmatch.filter(paths, pattern), *fnmatch.filter(paths, f"{pattern}.*")]


# Robots with sources ------------------------------------------------------------------------------------------------


def check_sources(robot: Robot) -> None:
    """Refuse sources of a wrong type, and paths that the robot does not have."""
    if not isinstance(robot.sources, tuple) or not all(isinstance(x, Source) for x in robot.sources):
        raise RobotError(f"{robot.name}: the sources are {shown(robot.sources)}: give a list of Source(...)")
    if not robot.sources:
        return
    paths = [number.path for number in numbers(robot)]
    below = by_prefix(paths)
    patterns = [x for source in robot.sources for x in source.of if x not in below]
    require("source_patterns", len(patterns), robot.name, RobotError)
    for pattern in patterns:
        if not matching(pattern, paths, below):
            raise RobotError(
                f"{robot.name}: a source names '{quoted(pattern)}', but there is {no_number(pattern, paths)}"
            )


def carried(old: Robot, new: Robot) -> tuple[Source, ...]:
    """The sources of a robot after a transform: those of the numbers that the new robot has unchanged.

    A pattern that would also name changed or added numbers is replaced by the paths that it still holds for.
    """
    if not old.sources:
        return ()
    shared = frozenset(map(id, old.links)) & frozenset(map(id, new.links))
    before = {x.path: x.value for x in numbers(old, without=shared)}
    after = {x.path: x for x in numbers(new, without=shared)}
    other = [x.path for x in after.values() if x.stated and not (x.path in before and same(x.value, before[x.path]))]
    touched = by_prefix(other)
    if before.keys() <= after.keys() and not any(matching(y, other, touched) for x in old.sources for y in x.of):
        return old.sources
    stated = {x.path: x.stated for x in numbers(new)}
    below = by_prefix(stated)
    found = []
    for source in old.sources:
        kept: list[str] = []
        for pattern in source.of:
            matched = matching(pattern, [*stated], below)
            whole = matched and not matching(pattern, other, touched)
            rest = [path for path in matched if stated[path] and path not in touched]
            kept += [pattern] if whole else shortened(rest, [path for path in stated if stated[path]])
        if kept:
            found.append(dataclasses.replace(source, of=tuple(dict.fromkeys(kept))))
    return tuple(found)


def shortened(paths: list[str], known: list[str]) -> list[str]:
    """Paths, those of several parts as one pattern, "link*.mass", if it names no other of the known paths."""
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(path.partition(".")[2], []).append(path)
    found = []
    for end, group in groups.items():
        first, last = min(group), max(group)
        same_start = next((k for k, (x, y) in enumerate(zip(first, last)) if x != y), 0)
        pattern = f"{first[:same_start].partition('.')[0]}*.{end}"
        alone = len(group) > 1 and {*fnmatch.filter(known, pattern)} == {*group}
        found += [pattern] if alone else group
    return found


# Numbers by path ----------------------------------------------------------------------------------------------------


class Number(NamedTuple):
    """A number or an array of numbers of a robot; `stated` says whether it differs from the default of its field."""

    path: str
    value: Any
    stated: bool


def numbers(item: Any, prefix: str = "", without: frozenset[int] = frozenset()) -> Iterator[Number]:
    """All numbers of a robot, or of a part of it, by the paths of `robot/parameters.py`; limits and rotations too.

    `without`: ids of links that are left out.
    """
    for field in dataclasses.fields(item):
        if not field.init:
            continue
        value, path = getattr(item, field.name), prefix + field.name
        if is_numbers(value):
            yield Number(path, value, not same(value, default_of(field)))
        elif isinstance(value, tuple):
            for k, part in enumerate(value):
                if id(part) not in without:
                    yield from part_numbers(part, f"{path}.{k}")
        else:
            yield from part_numbers(value, path)


def part_numbers(part: Any, path: str) -> Iterator[Number]:
    """The numbers of a part: links and joints go by their own name."""
    if dataclasses.is_dataclass(part) and not isinstance(part, Source):
        yield from numbers(part, f"{part.name if isinstance(part, Link | Joint) else path}.")


def is_numbers(value: Any) -> bool:
    """Whether a value is a number, an array, or numbers in tuples."""
    nested = isinstance(value, tuple) and value != () and all(map(is_numbers, value))
    return is_number(value) or isinstance(value, np.ndarray) or nested


def default_of(field: dataclasses.Field[Any]) -> Any:
    """The default of a field, None without one."""
    if field.default is not dataclasses.MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else None


def same(value: Any, other: Any) -> bool:
    """Whether two numbers or arrays are equal."""
    if isinstance(value, float | int):
        return isinstance(other, float | int) and value == other
    return other is not None and np.array_equal(value, other)


def no_number(pattern: object, paths: list[str]) -> str:
    """Why a path is wrong, and which may be meant."""
    from difflib import get_close_matches

    text = quoted(pattern)
    names = dict.fromkeys("*." + path.partition(".")[2] for path in paths if "." in path)
    close = get_close_matches(text, [*names] if text.startswith("*.") else paths, n=2)
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    return f"no number '{text}'; {meant}there are {listed(paths, most=12)}"
