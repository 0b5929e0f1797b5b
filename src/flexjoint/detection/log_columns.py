"""Assignment of the columns of a log to quantities and joints, by the headers.

A header has the name of a quantity (or another name for it, NAMES) and of a joint: `q.joint1`, `joint1.q`, `q_joint1`;
or a number: `q1`, `q_1`, `q[0]`.  Numbers start at 1, or at 0 if a column has the number 0.  An ambiguous header is an
error that says what to type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import InputError, listed
from ..formats.columns import ANGLES, LENGTHS, SECONDS, parts
from ..robot import Robot

LINKS, MOTORS = ("q", "v", "tau_e"), ("theta", "theta_v", "tau")
QUANTITIES = (*LINKS, *MOTORS)
TIMES = ("t", "time", "timestamp", "duration")
NAMES = {
    "q": ("q",),
    "v": ("v", "dq", "qdot", "q_dot"),
    "tau_e": ("tau_e", "tau_J"),
    "theta": ("theta",),
    "theta_v": ("theta_v", "dtheta", "theta_dot"),
    "tau": ("tau", "tau_m"),
}
TORQUES, FORCES = {"Nm": 1.0, "mNm": 1e-3, "N m": 1.0, "kNm": 1e3}, {"N": 1.0, "mN": 1e-3, "kN": 1e3}
MOST_SHOWN = 8  # headers in a message
RUN = re.compile(r"run(_\d+)?")  # number of a run of a batch of simulations
NUMBERED = re.compile(r"(?P<name>.*?)_?(?P<k>[0-9]{1,6})")
INDEXED = re.compile(r"(?P<name>[^\[\]]*)\[(?P<k>[0-9]{1,6})\]\s*(?P<unit>\[[^\]]*\])?")
UNIT = re.compile(r"\s*\(([^()]*)\)\s*$")


@dataclass(frozen=True)
class Used:
    """A column that is read: its number, header and unit."""

    column: int
    header: str
    unit: str


@dataclass
class Assignment:
    """Columns of a log.

    Args:
        time: The column of the time.
        used: Columns by quantity and joint or motor.
        runs: Columns that number the runs of a batch.
        ignored: Headers of the other columns.
    """

    time: Used
    used: dict[str, dict[int, Used]] = field(default_factory=dict)
    runs: list[Used] = field(default_factory=list)
    ignored: tuple[str, ...] = ()

    @property
    def columns(self) -> list[int]:
        """Numbers of all columns that are read, increasing."""
        each = [x for series in self.used.values() for x in series.values()]
        return sorted({x.column for x in (self.time, *each, *self.runs)})


def column_names(text: str) -> dict[str, str]:
    """Names by quantity, from a text such as `t=stamp,tau=effort`."""
    found = {}
    for item in filter(None, (x.strip() for x in text.split(","))):
        what, mark, name = (x.strip() for x in item.partition("="))
        if not mark or not name or what not in ("t", *QUANTITIES):
            known = ", ".join(("t", *QUANTITIES))
            raise InputError(f"--columns has {item[:80]!r}; give QUANTITY=NAME, such as t=stamp,tau=effort, of {known}")
        found[what] = name
    return found


def labels(robot: Robot, what: str) -> list[str]:
    """Names of the joints or motors that have the quantity."""
    return [joint.name for joint in robot.joints] if what in LINKS else list(robot.motor_names)


def units(robot: Robot, what: str, i: int) -> dict[str, float]:
    """Units that a column may have, with their sizes in SI units; no unit means SI."""
    kind = robot.motor_kinds[i]  # first motors have the order of the joints
    position, force = (ANGLES, TORQUES) if kind.angular else (LENGTHS, FORCES)
    if what in ("tau", "tau_e"):
        return {"": 1.0, **force}
    if what in ("q", "theta"):
        return {"": 1.0, **position}
    turns = {"rpm": 2 * np.pi / 60, "1/min": 2 * np.pi / 60} if kind.angular else {}
    return {"": 1.0, **{f"{unit}/s": size for unit, size in position.items()}, **turns}


def assign_columns(
    headers: Sequence[str], robot: Robot, place: str, columns: Mapping[str, str] | None = None
) -> Assignment:
    """Quantity and joint of each column.

    Args:
        headers: Of all columns of the file.
        robot: The robot.
        place: Name of the file, for messages.
        columns: Names of quantities, or t, in this file; by default those of NAMES.

    Raises:
        InputError: A header is ambiguous, occurs twice, or no header fits.
    """
    columns = columns or {}
    names = names_in_use(columns, place)
    there = listed((f"{x:.40}" for x in headers), most=MOST_SHOWN)
    known: dict[str, set[tuple[str, int]]] = {}
    for what, i, word in words(robot, names):
        known.setdefault(word, set()).add((what, i))
    times: list[Used] = []
    found: list[tuple[str, int, str, Used]] = []  # quantity, joint or number, column
    ignored: list[str] = []
    runs: list[Used] = []
    for j, header in enumerate(headers):
        name, unit = (header, "") if header in known else name_and_unit(header)
        here = Used(j, header, unit)
        bare, number = numbered(name)
        meant = {(what, i, "") for what, i in known.get(name, ())}
        if number and len(number) < 9:
            meant |= {(what, int(number), number) for what in QUANTITIES if bare in names[what]}
        if len(meant) > 1:
            meant = {x for x in meant if x[0] in columns} or meant
        if len(meant) > 1:
            raise InputError(ambiguous(header, sorted(meant), robot, place))
        if meant:
            found.append((*meant.pop(), here))
        elif used := time_of(here, name, names["t"]):
            times.append(used)
        elif RUN.fullmatch(name):
            runs.append(here)
        elif header:
            ignored.append(header)
    result = Assignment(one_time(times, there, place), runs=runs)
    base = 0 if any(number and not k for _, k, number, _ in found) else 1
    for what, k, number, here in found:
        i, count = k - base if number else k, len(labels(robot, what))
        if number and i == count and not base:
            raise InputError(
                f"{place}: columns are numbered from 0, and '{here.header[:80]}' is one too many for {robot.name}; "
                "number all of them from 1, or name them after the joints"
            )
        if i >= count:
            ignored.append(here.header)
            continue
        series = result.used.setdefault(what, {})
        if i in series:
            raise InputError(twice(what, labels(robot, what)[i], series[i].header, here.header, place))
        series[i] = here
    if asked := [what for what in columns if what != "t" and what not in result.used]:
        raise InputError(
            f"{place}: there are no columns {columns[asked[0]][:80]!r} for {asked[0]}, followed by a number or a "
            f"joint; there are {there}"
        )
    if not result.used:
        raise InputError(
            f"{place}: no column has the name of a joint of {robot.name}; there are {there}, and a log has "
            f"columns such as q.{robot.joints[0].name} or q1"
        )
    result.ignored = tuple(ignored)
    return result


def names_in_use(columns: Mapping[str, str], place: str) -> dict[str, tuple[str, ...]]:
    """Names that a quantity may have in this file."""
    names = {"t": TIMES, **NAMES}
    if unknown := [what for what in columns if what not in names]:
        raise InputError(f"{place}: columns are given for {unknown[0]!r}; it must be one of {', '.join(names)}")
    taken = set(columns.values())
    return {x: (columns[x],) if x in columns else tuple(y for y in names[x] if y not in taken) for x in names}


def words(robot: Robot, names: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, int, str]]:
    """Quantity, joint or motor, and header, for all headers with the name of a joint."""
    for what in QUANTITIES:
        for i, label in enumerate(labels(robot, what)):
            for name in names[what]:
                yield what, i, f"{name}.{label}"
                yield what, i, f"{label}.{name}"
                yield what, i, f"{name}_{label}"


def name_and_unit(header: str) -> tuple[str, str]:
    """Name and unit of a header: q1 or q_0 and the unit of `q1 [deg]`, `q1 (deg)`, `q[0] [deg]`, `state.q[0]`."""
    bare = UNIT.sub(r" [\1]", header.strip()).removeprefix("state.")
    index = INDEXED.fullmatch(bare)
    return parts(f"{index['name']}_{index['k']} {index['unit'] or ''}" if index else bare)


def numbered(name: str) -> tuple[str, str]:
    """Name and number of `q1` or `q_1`; an empty number if there is none."""
    matched = NUMBERED.fullmatch(name)
    return (matched["name"], matched["k"]) if matched else (name, "")


def time_of(here: Used, name: str, times: Sequence[str]) -> Used | None:
    """The column if it is the time, such as `t`, `Time` or `time_ms`, else None."""
    stem, _, unit = name.rpartition("_")
    if name in times or (len(name) > 1 and name.lower() in times):
        return here
    return Used(here.column, here.header, unit) if stem in times and unit in SECONDS and not here.unit else None


def ambiguous(header: str, meant: Sequence[tuple[str, int, str]], robot: Robot, place: str) -> str:
    """Message for a header that fits several quantities."""
    said = " or ".join(f"{what} number {i}" if k else f"{what} of '{labels(robot, what)[i]}'" for what, i, k in meant)
    what = meant[0][0]
    return (
        f"{place}: '{header[:80]}' may be {said}; say what {what} is called, such as --columns {what}={NAMES[what][0]} "
        f"(in Python columns={{'{what}': '{NAMES[what][0]}'}}), or name the columns {what}.JOINT"
    )


def one_time(times: list[Used], there: str, place: str) -> Used:
    """The only column of the time; raises InputError if there is none or more than one."""
    if not times:
        raise InputError(f"{place}: no column 't'; there are {there}")
    if len(times) > 1:
        both = [x.header[:80] for x in times[:2]]
        if parts(both[0])[0] == parts(both[1])[0]:
            raise InputError(f"{place}: there are two columns '{both[0]}'; remove or rename one of them")
        raise InputError(
            f"{place}: both '{both[0]}' and '{both[1]}' may be the time; say which with --columns "
            f"t={parts(both[0])[0]} (in Python columns={{'t': '{parts(both[0])[0]}'}})"
        )
    return times[0]


def twice(what: str, label: str, one: str, other: str, place: str) -> str:
    """Message for two columns of the same quantity and joint."""
    one, other = one[:80], other[:80]
    if one == other:
        return f"{place}: there are two columns '{one}'; remove or rename one of them"
    return (
        f"{place}: there are two columns for {what} of '{label}', '{one}' and '{other}'; remove one of them, or say "
        f"what {what} is called, such as --columns {what}={numbered(name_and_unit(other)[0])[0]} "
        f"(in Python columns={{'{what}': ...}})"
    )
