"""Checks of a robot as it is read: what stops its reader, what it warns of, and the lines where parts stand."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ...catalog import builtin_robots, robot_file
from ...errors import FlexjointError, FlexjointWarning
from ...findings import LEVELS, Finding, Level
from ...formats import Geometry, file_report, read_mjcf, read_urdf
from ...formats.toml import parse_table, read_bytes
from ...formats.xml import parse_xml
from ...robot import Robot
from .check import check_robot
from .geometry import geometry_findings

LINE = re.compile(r"\bline (\d+)")
LEVEL: dict[str, Level] = {"unused": "warning", "suspicious": "warning", "chosen": "note"}  # by that of a file's report
SUMMARY = "not used or suspicious, first in"  # part of the warning that stands for the whole report


def check_file(name: str, load: Callable[[], Robot], rate: float | None = None) -> tuple[Finding, ...]:
    """What is wrong or probably wrong with a robot that is read: also what its reader says.

    Args:
        name: the robot as a user names it, for the places of findings.
        load: reads it.
        rate: as of `check_robot`.
    """
    file = str(robot_file(name)) if name in builtin_robots() else name
    lines = lines_of_parts(file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FlexjointWarning)
        try:
            robot = load()
        except FlexjointError as error:
            return (said_by_reader("error", str(error), file, lines),)
    found = (*check_robot(robot, rate), *geometry_findings(robot, geometry_of(file)))
    known = {text for x in found for text in (x.reason, f"{x.reason}: {x.fix}")}
    said = dict.fromkeys(str(x.message) for x in caught if issubclass(x.category, FlexjointWarning))
    others = [x for x in said if x.removeprefix(f"{robot.name}: ") not in known]
    placed = [x._replace(file=file, line=x.line or lines.get(x.part)) for x in found]
    report = file_report(robot)
    for x in report:
        where = str(Path(file).parent / x.file) if x.file else file
        placed.append(Finding(LEVEL[x.level], "file", "", f"{x.what}: {x.reason}", file=where, line=x.line))
    placed += [said_by_reader("warning", x, file, lines) for x in others if not (report and SUMMARY in x)]
    return tuple(sorted(placed, key=lambda x: LEVELS.index(x.level)))


def geometry_of(file: str) -> Mapping[str, Sequence[Geometry]]:
    """The geometry of the links in a URDF or MJCF; empty for other formats, and for files that are read in part."""
    read = {".urdf": read_urdf, ".xml": read_mjcf, ".mjcf": read_mjcf}.get(Path(file).suffix.lower())
    if read is None:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlexjointWarning)  # given when the robot was read
        try:
            return read(file).geometry  # type: ignore[operator]
        except FlexjointError:
            return {}


def said_by_reader(level: Level, message: str, file: str, lines: Mapping[str, int]) -> Finding:
    """A message of a reader, at the line that it names, or at that of the part that it names."""
    part, line = named_part(message, lines), LINE.search(message)
    return Finding(level, "file", part, message, file=file, line=int(line[1]) if line else lines.get(part))


def lines_of_parts(file: str) -> dict[str, int]:
    """Line of each link and joint of a robot file or URDF; empty if they cannot be told."""
    suffix = Path(file).suffix.lower()
    if suffix not in (".toml", ".urdf"):
        return {}
    try:
        data = read_bytes(file, "robot file")
        if suffix == ".urdf":
            parts = [x for x in parse_xml(data, file).children if x.tag in ("joint", "link")]
            return {x.attributes.get("name", ""): x.line for x in parts}
        tables = parse_table(data, file, "robot file").tables("link")
    except FlexjointError:
        return {}
    lines = [i + 1 for i, line in enumerate(data.splitlines()) if line.strip().startswith(b"[[link]]")]
    found: dict[str, int] = {}
    for i, (table, line) in enumerate(zip(tables, lines if len(lines) == len(tables) else ())):
        name = str(table.get("name", f"link{i + 1}"))
        joint = str(table.get("joint", f"{name}_joint" if "name" in table else f"joint{i + 1}"))
        found |= {name: line, joint: line}
    return found


def named_part(message: str, parts: Iterable[str]) -> str:
    """The first link or joint that a message names; "" without one."""
    return next((part for part in parts if f"'{part}'" in message), "")
