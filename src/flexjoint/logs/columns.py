"""Assignment of the columns of a log to quantities and joints, by the headers.

A header has the name of a quantity (NAMES, or words that `header_words` knows) and of a joint: `q.joint1`, `joint1.q`,
`/joint_states/joint1/position`; or a number: `q1`, `actual_q_0`, `position[0]`.  Numbers start at 1, or at 0 if a
column has the number 0.  An ambiguous header is an error that says what to type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import InputError, listed
from ..robot import Robot
from .header_words import (
    INDEXED,
    MOTOR,
    SENSOR,
    UNDECIDED,
    name_and_unit,
    numbered,
    quantity_of,
    without_unit,
    words_of,
)
from .quantities import COMMANDS, NAMED, NAMES, QUANTITIES, labels
from .time_columns import TimeColumn, find_time

MOST_SHOWN = 8  # headers in a message
RUN = re.compile(r"run(_\d+)?")  # number of a run of a batch of simulations
TOPIC = re.compile(r"^/?.*\b(joint_states?|franka_states?|lbr_states?|robot_states?|state)[/.](?=.)")
JOINT_WORDS = {"joint", "j", "axis", "a", "jnt"}  # as in joint_1_position or A1.torque


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

    time: TimeColumn
    used: dict[str, dict[int, Used]] = field(default_factory=dict)
    runs: list[Used] = field(default_factory=list)
    ignored: tuple[str, ...] = ()

    @property
    def columns(self) -> list[int]:
        """Numbers of all columns that are read, increasing."""
        each = [x for series in self.used.values() for x in series.values()]
        return sorted({*self.time.columns, *(x.column for x in (*each, *self.runs))})


class Meaning(NamedTuple):
    """What a header may mean: a quantity, and a joint or, with a number, the number of a joint or motor.

    `exact` is False if the quantity was recognised in other words than those of NAMES.
    """

    what: str
    place: int
    number: str = ""
    exact: bool = True


def column_names(text: str) -> dict[str, str]:
    """Names by quantity, from a text such as `t=stamp,tau=effort`."""
    found = {}
    for item in filter(None, (x.strip() for x in text.split(","))):
        what, mark, name = (x.strip() for x in item.partition("="))
        if not mark or not name or what not in ("t", *NAMED):
            known = ", ".join(("t", *NAMED))
            raise InputError(f"--columns has {item[:80]!r}; give QUANTITY=NAME, such as t=stamp,tau=effort, of {known}")
        found[what] = name
    return found


def assign_columns(
    headers: Sequence[str], robot: Robot, place: str, columns: Mapping[str, str] | None = None
) -> Assignment:
    """Quantity and joint of each column.

    Args:
        headers: Of all columns of the file.
        robot: The robot.
        place: Name of the file, for messages.
        columns: Names of quantities, or t, in this file; by default those of NAMES and header_words.

    Raises:
        InputError: A header is ambiguous, occurs twice, or no header fits.
    """
    reader = HeaderReader(robot, columns or {}, place)
    there = listed((f"{x:.40}" for x in headers), most=MOST_SHOWN)
    read = [(reader.read(header), j, header) for j, header in enumerate(headers)]
    others = [Used(j, header, unit) for (meaning, unit), j, header in read if meaning is None]
    runs = [x for x in others if RUN.fullmatch(x.header)]
    time = find_time([(x.column, x.header, x.unit) for x in others if x not in runs], reader.times, there, place)
    result = Assignment(time, runs=runs)
    exact = {meaning.what for (meaning, _), _, _ in read if meaning is not None and meaning.exact}
    found = [
        (meaning, Used(j, header, unit))
        for (meaning, unit), j, header in read
        if meaning is not None and (meaning.exact or meaning.what not in exact)
    ]
    base = 0 if any(x.number and not x.place for x, _ in found) else 1
    for meaning, here in found:
        i, count = meaning.place - base if meaning.number else meaning.place, len(labels(robot, meaning.what))
        if meaning.number and i == count and not base and not INDEXED.match(here.header):
            raise InputError(
                f"{place}: columns are numbered from 0, and '{here.header[:80]}' is one too many for {robot.name}; "
                "number all of them from 1, or name them after the joints"
            )
        series = result.used.setdefault(meaning.what, {})
        if i >= count or (i in series and meaning.what in COMMANDS):  # loggers repeat commands
            continue
        if i in series:
            raise InputError(twice(meaning.what, labels(robot, meaning.what)[i], series[i].header, here.header, place))
        series[i] = here
    decide_efforts(result.used, robot, reader.columns, place)
    drop_incomplete(result.used, robot)
    if asked := [what for what in reader.columns if what != "t" and what not in result.used]:
        raise InputError(
            f"{place}: there are no columns {reader.columns[asked[0]][:80]!r} for {asked[0]}, followed by a number or "
            f"a joint; there are {there}"
        )
    if not set(result.used) & set(QUANTITIES):
        raise InputError(
            f"{place}: no column has the name of a joint of {robot.name}; there are {there}, and a log has "
            f"columns such as q.{robot.joints[0].name} or q1"
        )
    kept = set(result.columns)
    result.ignored = tuple(header for j, header in enumerate(headers) if header and j not in kept)
    return result


def decide_efforts(used: dict[str, dict[int, Used]], robot: Robot, columns: Mapping[str, str], place: str) -> None:
    """Make torques of unknown origin (effort, torque) those of the motors of a rigid robot.

    Raises:
        InputError: The robot has springs, so that torques of motors and of sensors differ, and the log has no others.
    """
    efforts = used.pop(UNDECIDED, {})
    if not efforts or {"tau", "tau_e"} & {*used, *columns}:
        return
    if any(robot.compliant):
        header = next(iter(efforts.values())).header[:80]
        name = numbered(name_and_unit(header)[0])[0]
        raise InputError(
            f"{place}: '{header}' may be the torque of the motors or of joint torque sensors, which differ by the "
            f"motors' inertia and friction; say --columns tau={name} or --columns tau_e={name} (in Python "
            f"columns={{'tau_e': '{name}'}}); drivers of Franka and KUKA iiwa give sensors"
        )
    used["tau"] = efforts


def drop_incomplete(used: dict[str, dict[int, Used]], robot: Robot) -> None:
    """Leave out commands and currents that are not there for all joints or motors."""
    for what, series in list(used.items()):
        if not series or (what not in QUANTITIES and len(series) < len(labels(robot, what))):
            used.pop(what)


class HeaderReader:
    """Meaning of the headers of one file."""

    def __init__(self, robot: Robot, columns: Mapping[str, str], place: str) -> None:
        self.robot, self.columns, self.place = robot, columns, place
        self.names = names_in_use(columns, place)
        self.times = self.names["t"]
        self.known: dict[str, set[tuple[str, int]]] = {}
        for what, i, word in words(robot, self.names):
            self.known.setdefault(word, set()).add((what, i))
        joints = {name: i for i, name in reversed(list(enumerate(robot.motor_names)))}  # first those of the joints
        self.joints = sorted(joints.items(), key=lambda x: -len(x[0]))

    def read(self, header: str) -> tuple[Meaning | None, str]:
        """Meaning and unit of a header; None if it is no quantity of a joint."""
        name, unit = (header, "") if header in self.known else name_and_unit(header)
        bare, number = numbered(name)
        meant = {Meaning(what, i) for what, i in self.known.get(name, ())}
        if number:
            meant |= {Meaning(what, int(number), number) for what in NAMED if bare in self.names[what]}
        if len(meant) > 1:
            meant = {x for x in meant if x.what in self.columns} or meant
        if len(meant) > 1:
            raise InputError(ambiguous(header, sorted(meant), self.robot, self.place))
        if meant:
            return meant.pop(), unit
        if bare in self.columns.values() or name in self.columns.values():
            return None, unit
        spoken, own = self.spoken(TOPIC.sub("", name))
        if spoken is not None and spoken.what not in self.columns:
            return spoken, unit or own
        return None, unit

    def matrix(self, name: str) -> str | None:
        """The quantity of an array with one column per joint or motor; None if its name is no quantity."""
        for what in NAMED:
            if name in self.names[what]:
                return what
        if name in self.columns.values():
            return None
        found = quantity_of(words_of(without_unit(TOPIC.sub("", name))[0]))
        return None if found in self.columns else found

    def spoken(self, text: str) -> tuple[Meaning | None, str]:
        """Meaning of a name in other words, and the unit among them."""
        text, unit = without_unit(text)
        for joint, i in self.joints:
            before, after = around(text, joint)
            if before is not None and (what := quantity_of([*words_of(before), *words_of(after)])):
                return (Meaning(what, i, exact=False), unit) if i < len(labels(self.robot, what)) else (None, unit)
        found = words_of(without_robot(text, self.robot.name))
        numbers = [k for k, word in enumerate(found) if word.isdecimal()]
        if len(numbers) != 1 or len(found[numbers[0]]) > 6:
            return None, unit
        k = numbers[0]
        if 0 < k < len(found) - 1 and found[k - 1].lower() not in JOINT_WORDS | MOTOR and not quantity_of(found[:k]):
            return None, unit  # a number amid other words, unlike q1_dot or tau1_cmd
        marked = k > 0 and found[k - 1].lower() in JOINT_WORDS and not is_sensor(found, k - 1)
        what = quantity_of([*found[: k - marked], *found[k + 1 :]])
        return (Meaning(what, int(found[k]), found[k], exact=False) if what else None), unit


def is_sensor(words: Sequence[str], k: int) -> bool:
    """Whether the word before a number belongs to tau_J, not to the joint."""
    return words[k] in SENSOR and k > 0 and words[k - 1].lower() == "tau"


def around(text: str, name: str) -> tuple[str | None, str]:
    """The text before and after a name that stands by itself, in any case of letters; None if it does not."""
    matched = re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text, re.IGNORECASE)
    return (text[: matched.start()], text[matched.end() :]) if matched else (None, "")


def without_robot(text: str, name: str) -> str:
    """The text without the name of the robot in front."""
    before, after = around(text, name)
    return after if before is not None and not before.strip("/._ ") else text


def names_in_use(columns: Mapping[str, str], place: str) -> dict[str, tuple[str, ...]]:
    """Names that a quantity may have in this file."""
    if unknown := [what for what in columns if what not in NAMES]:
        raise InputError(f"{place}: columns are given for {unknown[0]!r}; it must be one of {', '.join(NAMES)}")
    taken = set(columns.values())
    return {x: (columns[x],) if x in columns else tuple(y for y in NAMES[x] if y not in taken) for x in NAMES}


def words(robot: Robot, names: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, int, str]]:
    """Quantity, joint or motor, and header, for all headers with the name of a joint."""
    for what in NAMED:
        for i, label in enumerate(labels(robot, what)):
            for name in names[what]:
                yield what, i, f"{name}.{label}"
                yield what, i, f"{label}.{name}"
                yield what, i, f"{name}_{label}"


def ambiguous(header: str, meant: Sequence[Meaning], robot: Robot, place: str) -> str:
    """Message for a header that fits several quantities."""
    said = " or ".join(
        f"{x.what} number {x.place}" if x.number else f"{x.what} of '{labels(robot, x.what)[x.place]}'" for x in meant
    )
    what = meant[0].what
    return (
        f"{place}: '{header[:80]}' may be {said}; say what {what} is called, such as --columns {what}={NAMES[what][0]} "
        f"(in Python columns={{'{what}': '{NAMES[what][0]}'}}), or name the columns {what}.JOINT"
    )


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
