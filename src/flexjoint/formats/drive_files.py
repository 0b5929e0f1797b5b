"""Drive files (`*.drives.toml`): motors, transmissions, friction and limits of a robot that is described elsewhere.

    format = "flexjoint-drives"
    version = 1

    [[joint]]
    name = "panda_joint*"                   # a joint, a pattern, or a list of them
    drive = {kind = "elastic", stiffness = 7000}
    trust = "placeholder"                   # where the numbers of this table come from
    origin = "franka_description, dynamics.yaml"

    [[joint]]
    name = "panda_joint[1-4]"
    drive.motor_inertia = 0.606

A [[joint]] table has the keys of a [[link]] in robot files that belong to the drivetrain: drive, limits, friction and
others.  Keys are merged in this order: what the robot says, then the tables from the first to the last; so rules come
first and exceptions after them.  A table that changes the kind of a drive or spring keeps only the keys that the new
kind has too; `kind = "none"` removes a drive.  `trust`, `origin` and `note` hold for all numbers of their table.
[[transmission]] tables, as in robot files, come in place of those of the robot.  [[source]] tables, as in robot files,
name numbers of the whole robot by their paths.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple

from ..atomic import replacing
from ..drives import DRIVES
from ..errors import RobotError, listed, quoted, shown, warn
from ..file_limits import require
from ..robot import FIDELITIES, Robot, Source, numeric
from ..robot.sources import by_prefix, matching, numbers
from .drive_merging import (
    JOINT_KEYS,
    NO_DRIVE,
    changed_link,
    keys_of_kind,
    kind_of,
    leaves,
    merged_entries,
    number_path,
)
from .robot_files import DRIVE_FORMAT, read_source, read_sources, read_transmissions, spring_points
from .toml import Table, parse_table, path_text, read_bytes, suggestion
from .writing import toml_value

VERSION = 1
WANTED = "drive file (.drives.toml)"
TOP_KEYS = (
    *("format", "version", "robot", "description", "fidelity", "rotors_in_links"),
    *("joint", "transmission", "source"),
)
SOURCE_KEYS = ("trust", "origin", "note")


class JointTable(NamedTuple):
    """A [[joint]] table, counted from 1: its line, the joints it is for, its keys, and the source of its numbers."""

    number: int
    line: int  # 0 if it is not known
    place: str
    names: tuple[str, ...]
    data: dict[str, Any]
    source: Source | None


@dataclass(frozen=True)
class DriveFile:
    """The contents of a drive file; changes keep comments and order.

    Args:
        text: contents of the file, TOML.
        place: name of the file, which begins every message; "drive file" by default.

    Raises:
        RobotError: the contents are wrong; the message names the place in the file.

    Example:
        >>> import flexjoint as fj
        >>> file = fj.formats.DriveFile.new(fj.load("kuka_lwr"))
        >>> softer = file.with_value("joint3", "drive.stiffness", 800.0)
        >>> softer.applied(fj.load("kuka_lwr")).joints[2].drive.stiffness
        800.0
    """

    text: str
    place: str = "drive file"

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise RobotError(f"the text of a drive file is {shown(self.text)}: give its contents as a str")
        _ = self.tables  # checks everything that needs no robot

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> DriveFile:
        """The drive file at a path.

        Args:
            path: path of the file, `x.drives.toml`.

        Raises:
            RobotError: the file cannot be read, or its contents are wrong.
        """
        place = path_text(path, WANTED)
        data = read_bytes(place, WANTED)
        parse_table(data, place, "drive file")  # refuses what is too large or not UTF-8
        return cls(data.decode(), place)

    @classmethod
    def new(cls, robot: Robot) -> DriveFile:
        """A commented template with what a robot already says: every joint, every key, its unit and meaning.

        Args:
            robot: any robot whose drives and spring laws have a name in robot files.
        """
        from .drive_template import template

        return cls(template(numeric("DriveFile.new", robot)), f"drives of {robot.name}")

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file; after an error an existing file is unchanged.

        Args:
            path: path of the file, `x.drives.toml`.

        Raises:
            RobotError: the file cannot be written.
        """
        place = path_text(path, WANTED)
        try:
            with replacing(place) as file:
                file.write(self.text.encode())
        except OSError as error:
            raise RobotError(f"{quoted(place)}: the drive file cannot be written: {error.strerror}") from error

    # Contents -------------------------------------------------------------------------------------------

    @cached_property
    def top(self) -> Table:
        """The whole file, with a known format and version."""
        writes = "`flexjoint drives new ROBOT -o x.drives.toml` writes one"
        if self.text.lstrip().startswith("<"):
            raise RobotError(f"{self.place}: this is an XML file, not a drive file; {writes}")
        table = parse_table(self.text.encode(errors="surrogatepass"), self.place, "drive file")
        if "format" not in table.data and "link" in table.data:
            raise RobotError(f"{self.place}: this is a robot file: give it as the robot, and drives in a {WANTED}")
        if table.data.get("format") != DRIVE_FORMAT:
            said = f'it does not say format = "{DRIVE_FORMAT}"'
            raise RobotError(f"{self.place}: this is not a drive file: {said}; {writes}")
        version = table.data.get("version")
        if type(version) is not int or version < 1:
            raise table.wrong("version", f"the version of the format, {VERSION}")
        if version > VERSION:
            raise RobotError(
                f"{self.place}: version {shown(version)} is newer than this flexjoint knows, {VERSION}: update it"
            )
        table.allow(TOP_KEYS)
        for key in ("robot", "description"):
            table.text(key, "")
        table.choice("fidelity", FIDELITIES, "spong")
        table.flag("rotors_in_links", True)
        if "transmission" in table.data:
            read_transmissions(table)
        read_sources(table)
        return table

    @cached_property
    def tables(self) -> tuple[JointTable, ...]:
        """The [[joint]] tables, in the order of the file."""
        tables = self.top.tables("joint")
        lines = [i + 1 for i, x in enumerate(self.text.split("\n")) if x.strip().startswith("[[joint]]")]
        lines = lines if len(lines) == len(tables) else [0] * len(tables)
        found = tuple(joint_table(x, i + 1, lines[i], self.place) for i, x in enumerate(tables))
        require("joint_names", sum(len(table.names) for table in found), self.place, RobotError, "use patterns")
        return found

    # Application ----------------------------------------------------------------------------------------

    def applied(self, robot: Robot) -> Robot:
        """The robot with the drives, friction and limits of this file, and with their sources.

        Warns with a FlexjointWarning if a moving joint has no drive afterwards, or if the file is for another robot.

        Args:
            robot: the robot, whose joints are named in the file.

        Raises:
            InputError: `robot` is not a `Robot`.
            RobotError: a name or pattern matches no joint, or the numbers make no valid robot.
        """
        before = numeric("DriveFile.applied", robot)
        matched = [matching_joints(before, table) for table in self.tables]
        given = {
            joint: [table for table, joints in zip(self.tables, matched) if joint in joints]
            for joint in dict.fromkeys(x for joints in matched for x in joints)
        }
        merged = {
            link.joint.name: merged_entries(link, [table.data for table in tables])
            for link in before.links
            if (tables := given.get(link.joint.name))
        }
        points = sum(spring_points(Table(x, "")) for x in merged.values())
        require("spring_numbers", points, self.place, RobotError)
        try:
            links = [
                changed_link(link, merged[link.joint.name], self.joint_place(link.joint.name, given))
                if link.joint.name in merged
                else link
                for link in before.links
            ]
            top: dict[str, Any] = {
                key: self.top.data[key] for key in ("fidelity", "rotors_in_links") if key in self.top.data
            }
            if "transmission" in self.top.data:
                top["transmissions"] = read_transmissions(self.top)
            after = before.replace(links=links, **top)
            further = (*read_sources(self.top), *self.sources(after, merged, given))
            after = after.with_sources((*after.sources, *further))
        except RobotError as error:
            if str(error).startswith(self.place):
                raise
            raise RobotError(f"{self.place}: {error}") from error
        self.report(after, merged)
        return after

    def joint_place(self, joint: str, given: Mapping[str, Sequence[JointTable]]) -> str:
        """Place of the merged keys of a joint, for messages."""
        tables = listed(table.number for table in given[joint])
        lines = f", line {listed(table.line for table in given[joint])}" if given[joint][0].line else ""
        return f"{self.place}, joint '{quoted(joint)}' (joint table {tables}{lines})"

    def sources(
        self, robot: Robot, merged: Mapping[str, Mapping[str, Any]], given: Mapping[str, Sequence[JointTable]]
    ) -> Iterator[Source]:
        """The source of each table that has one, for the numbers that are its own after merging."""
        paths = [number.path for number in numbers(robot)]
        below = by_prefix(paths)
        drives = {x.joint.name: x.joint.drive for x in robot.moving_joints}
        owned: dict[int, dict[str, list[str]]] = {}  # number of a table -> path after the joint -> joints
        for joint, entries in merged.items():
            own = [(table, {*leaves(table.data)}) for table in reversed(given[joint])]
            for keys in leaves(entries):
                table = next((table for table, known in own if keys in known), None)
                end = number_path(keys, drives.get(joint))
                if table is not None and table.source is not None and f"{joint}.{end}" in below:
                    owned.setdefault(table.number, {}).setdefault(end, []).append(joint)
        for table in self.tables:
            named: list[str] = []
            for end, joints in owned.get(table.number, {}).items():
                wanted = [path for joint in joints for path in below[f"{joint}.{end}"]]
                short = [f"{name}.{end}" for name in table.names]
                covered = [path for pattern in short for path in matching(pattern, paths, below)]
                named += short if sorted({*covered}) == sorted(wanted) else [f"{joint}.{end}" for joint in joints]
            if named and table.source is not None:
                yield dataclasses.replace(table.source, of=tuple(named))

    def report(self, robot: Robot, merged: Mapping[str, Mapping[str, Any]]) -> None:
        """Warn of joints without a drive, and of a file for another robot."""
        intended = self.top.text("robot", robot.name)
        if intended != robot.name:
            warn(f"{self.place}: the drives are for the robot '{quoted(intended)}', not for '{robot.name}'")
        wanted_without = {name for name, entries in merged.items() if kind_of(entries.get("drive")) == NO_DRIVE}
        bare = [x.name for x in robot.joints if x.drive is None and x.name not in wanted_without]
        if bare:
            warn(
                f"{self.place}: no drive for joint {listed(bare)} of '{robot.name}': give its [[joint]] table a drive, "
                'or drive = {kind = "none"} if it is meant to have no motor'
            )

    # Changes --------------------------------------------------------------------------------------------

    def with_value(self, name: str, key: str, value: Any) -> DriveFile:
        """The file with another value of one key; comments and order stay.

        The key is changed in the last [[joint]] table with exactly this name that has it; otherwise it is added to the
        last table with this name, or to a new one at the end.

        Args:
            name: name or pattern as it stands in the file, such as "panda_joint*".
            key: key with dots, such as "drive.stiffness" or "limits.velocity".
            value: number, text, list or mapping.

        Raises:
            RobotError: the key is unknown, or the value cannot stand in a TOML file.

        Example:
            >>> import flexjoint as fj
            >>> file = fj.formats.DriveFile.new(fj.load("hua_3r"))
            >>> "damping = 0.5" in file.with_value("joint3", "drive.damping", 0.5).text
            True
        """
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        words = key.split(".") if isinstance(key, str) else [""]
        try:
            document = tomlkit.parse(self.text)
            tables = [x for x in document["joint"] if names_of(x.get("name")) == (name,)]
            table = next((x for x in reversed(tables) if has_key(x, words)), tables[-1] if tables else None)
            if table is None:
                table = tomlkit.table()
                table["name"] = name
                document["joint"].append(table)
            for word in words[:-1]:
                if word not in table:
                    table[word] = tomlkit.inline_table()
                table = table[word]
            table[words[-1]] = tomlkit.value(toml_value(value))
            text = tomlkit.dumps(document)
        except (TOMLKitError, TypeError, ValueError, AttributeError) as error:
            what = f"{shown(key)} of '{quoted(name)}' cannot be {shown(value)}"
            raise RobotError(f"{self.place}: {what}: {error}") from error
        return DriveFile(text, self.place)

    def with_table(self, name: str | Sequence[str], entries: Mapping[str, Any]) -> DriveFile:
        """The file with a further [[joint]] table at its end, which wins over the others.

        Args:
            name: name or pattern of joints, one or several.
            entries: values by key, such as {"drive": {"stiffness": 800.0}, "trust": "identified", "origin": "log 12"}.

        Raises:
            RobotError: a key is unknown, or a value is wrong.
        """
        lines = {"name": name if isinstance(name, str) else list(name), **entries}
        try:
            table = "".join(f"{key} = {toml_value(value)}\n" for key, value in lines.items())
        except (TypeError, ValueError) as error:
            raise RobotError(f"{self.place}: {shown(entries)} cannot stand in a drive file: {error}") from error
        return DriveFile(f"{self.text.rstrip()}\n\n[[joint]]\n{table}", self.place)


# Reading ------------------------------------------------------------------------------------------------------------


def joint_table(data: dict[str, Any], number: int, line: int, file: str) -> JointTable:
    """A [[joint]] table whose keys are known; their values are read when they are merged."""
    table = Table(data, f"{file}, line {line}, joint table {number}" if line else f"{file}, joint table {number}")
    names = table.texts("name", 'a joint or a pattern, such as "panda_joint*", or a list of them')
    place = f"{table.place} '{quoted(listed(names, most=3))}'"
    table = Table(data, place)
    of_drives = {key for kind in DRIVES for key in keys_of_kind(kind)} - {*JOINT_KEYS}
    if misplaced := [key for key in data if key in of_drives]:
        raise RobotError(f"{place}: {misplaced[0]} is a key of the drive: write drive.{misplaced[0]} = ...")
    table.allow(("name", *JOINT_KEYS, *SOURCE_KEYS))
    drive = table.table("drive")
    kinds = [drive.choice("kind", [*sorted(DRIVES), NO_DRIVE])] if "kind" in drive.data else [*DRIVES]
    drive.allow({key for kind in kinds for key in keys_of_kind(kind)})
    source = None
    if given := {key: data[key] for key in SOURCE_KEYS if key in data}:
        source = read_source(Table({"of": "*", **given}, place))
    return JointTable(number, line, place, names, {key: data[key] for key in JOINT_KEYS if key in data}, source)


def matching_joints(robot: Robot, table: JointTable) -> list[str]:
    """The moving joints that a table is for; a pattern leaves out joints that follow others."""
    moving = {link.joint.name: link.joint for link in robot.links if link.joint.moves}
    found: list[str] = []
    for name in table.names:
        matched = [x for x, joint in moving.items() if fnmatchcase(x, name) and joint.mimic is None]
        matched = [name] if name in moving else matched
        if not matched:
            fixed = name in [link.joint.name for link in robot.links]
            why = "the joint is fixed" if fixed else f"no moving joint matches; {suggestion(name, moving)}"
            raise RobotError(f"{table.place}: '{quoted(name)}' of robot '{robot.name}': {why}")
        found += matched
    return found


# Changing -----------------------------------------------------------------------------------------------------------


def names_of(name: Any) -> tuple[Any, ...]:
    """The names of a [[joint]] table."""
    return tuple(name) if isinstance(name, list) else (name,)


def has_key(table: Any, words: Sequence[str]) -> bool:
    """Whether nested tables have a key."""
    for word in words:
        if not isinstance(table, Mapping) or word not in table:
            return False
        table = table[word]
    return True
