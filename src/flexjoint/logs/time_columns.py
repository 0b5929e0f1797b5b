"""The column of the time, and its unit: by its name, by the habits of loggers, or from seconds and nanoseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import InputError
from ..formats.columns import SECONDS, parts
from .header_words import name_and_unit, words_of

Header = tuple[int, str, str]  # number of the column, header, unit
HABITS = {"%time": "ns", "utime": "us"}  # rostopic echo -p; LCM messages of Drake
LIBFRANKA = ("success rate", "success_rate", "control_command_success_rate")  # beside times in ms


class TimeColumn(NamedTuple):
    """The column of the time.

    Args:
        column: Its number.
        header: Its header.
        unit: Unit in the header; "" if there is none.
        habit: Unit by the habits of the logger; "" if unknown.
        nanoseconds: Number of the column with the nanoseconds of stamps in two columns, else None.
    """

    column: int
    header: str
    unit: str
    habit: str = ""
    nanoseconds: int | None = None

    @property
    def columns(self) -> tuple[int, ...]:
        """Numbers of the columns that make the time."""
        return (self.column,) if self.nanoseconds is None else (self.column, self.nanoseconds)


def find_time(headers: Sequence[Header], names: Sequence[str], there: str, place: str) -> TimeColumn:
    """The time among the headers that are no quantity.

    Args:
        headers: Number, header and unit of each column.
        names: Names that the time may have.
        there: All headers, for messages.
        place: Name of the file, for messages.

    Raises:
        InputError: There is no time, or more than one.
    """
    milliseconds = any(parts(header)[0].strip().lower() in LIBFRANKA for _, header, _ in headers)
    times = [x for header in headers if (x := time_of(*header, names))]
    if not times and names[0] == "t":
        times = [x for header in headers if (x := stamp_of(*header))][:1]
        times = times or stamp_parts(headers)
    if not times:
        raise InputError(
            f"{place}: no column 't'; there are {there}. Say which is the time, such as --columns t=stamp (in Python "
            "columns={'t': 'stamp'})"
        )
    if len(times) > 1:
        both = [x.header[:80] for x in times[:2]]
        if parts(both[0])[0] == parts(both[1])[0]:
            raise InputError(f"{place}: there are two columns '{both[0]}'; remove or rename one of them")
        raise InputError(
            f"{place}: both '{both[0]}' and '{both[1]}' may be the time; say which with --columns "
            f"t={parts(both[0])[0]} (in Python columns={{'t': '{parts(both[0])[0]}'}})"
        )
    return times[0]._replace(habit="ms") if milliseconds and not times[0].habit else times[0]


def time_of(column: int, header: str, unit: str, names: Sequence[str]) -> TimeColumn | None:
    """The column if it is the time, such as `t`, `Time` or `time_ms`, else None."""
    name = name_and_unit(header)[0]
    stem, _, suffix = name.rpartition("_")
    if name in names or (len(name) > 1 and name.lower() in names):
        return TimeColumn(column, header, unit, HABITS.get(name, ""))
    if stem in names and suffix in SECONDS and not unit:
        return TimeColumn(column, header, suffix)
    return None


def stamp_of(column: int, header: str, unit: str) -> TimeColumn | None:
    """The column if it is the stamp of a message, such as `/joint_states/header/stamp`, else None."""
    words = [word.lower() for word in words_of(parts(header)[0])]
    if words[-1:] in (["stamp"], ["timestamp"]) or words[-2:] == ["time", "stamp"]:
        return TimeColumn(column, header, unit, "ns" if words[:1] in (["field"], ["rosbag"]) else "")
    return None


def stamp_parts(headers: Sequence[Header]) -> list[TimeColumn]:
    """The time in two columns, seconds and nanoseconds, such as `time_stamp_sec` and `time_stamp_nano_sec`."""
    found: dict[str, int] = {}
    names: dict[str, str] = {}
    for column, header, _ in headers:
        text = "".join(words_of(header)).lower().replace("nanosec", "nsec")
        if "stamp" not in text:
            continue
        kind = "ns" if text.endswith(("nsec", "nsecs")) else "s" if text.endswith(("sec", "secs")) else ""
        if kind and kind not in found:
            found[kind], names[kind] = column, header
    return [TimeColumn(found["s"], names["s"], "s", nanoseconds=found["ns"])] if len(found) == 2 else []
