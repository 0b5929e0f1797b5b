"""Robots by the name of a built-in robot or by the path of a file.

A format registers its reader under each suffix, in its own file: `@READERS.register(".toml")` on a function that takes
the path of a file and returns its `Robot`.  Its keyword-only parameters are those options of `load` that it takes.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar
from weakref import finalize

from ..catalog import builtin_robots, robot_file
from ..errors import InputError, RobotError, listed, quoted
from ..registry import Registry
from ..robot import Robot
from .toml import path_text, suggestion

T = TypeVar("T")


class OfRobots(Generic[T]):
    """What is known of robots that were loaded, by the robot itself: an equal robot may come from another file.

    It is forgotten with the robot.
    """

    def __init__(self) -> None:
        self._by_id: dict[int, T] = {}

    def __setitem__(self, robot: Robot, value: T) -> None:
        if id(robot) not in self._by_id:
            finalize(robot, self._by_id.pop, id(robot), None).atexit = False
        self._by_id[id(robot)] = value

    def get(self, robot: Robot, default: T) -> T:
        """The value of a robot, or the default."""
        return self._by_id.get(id(robot), default)


READERS: Registry[Callable[..., Robot]] = Registry("robot format")  # by suffix, in lower case
REPORTS: OfRobots[tuple[Any, ...]] = OfRobots()
GEOMETRY: OfRobots[Mapping[str, tuple[Any, ...]]] = OfRobots()
DEFAULT_SUFFIX = ".toml"  # the format of a file with an unknown suffix
OTHER_FORMATS = {
    ".json": "JSON",
    ".sdf": "SDF",
    ".usd": "USD",
    ".yaml": "YAML",
    ".yml": "YAML",
}  # known formats without a reader
WANTED = "robot file (.toml, .urdf, .xml)"


def load(
    robot: str | os.PathLike[str],
    drives: str | os.PathLike[str] | None = None,
    *,
    locked: Mapping[str, float] | Iterable[str] | None = None,
    root: str | None = None,
    tip: str | None = None,
    tool: str | None = None,
    packages: Mapping[str, str] | Sequence[str] | str | None = None,
) -> Robot:
    """The built-in robot with this name, or the robot in a file, optionally with the drives of a drive file.

    Args:
        robot: name of a built-in robot (see `builtin_robots`), or the path of a robot file.  A string is a path if it
            contains a separator or has a file suffix, such as "arm.toml", "arm.urdf" or "arm.xml".
        drives: path of a drive file, `x.drives.toml`, whose motors, springs, friction and limits replace those of the
            robot (docs/drive-files.md); none by default.
        locked: of a URDF or MJCF, joints that do not move: positions by name, in rad or m, or names, for 0; none by
            default.
        root, tip: of a URDF or MJCF, names of the links where the robot begins and ends; the whole file by default.
        tool: name of the tool link; that of the file, or the last link, by default.
        packages: of a URDF, folders of the packages that it names, see `formats.read_urdf`.

    Returns:
        The validated `Robot`.

    Raises:
        RobotError: there is no such robot or file, or the file is wrong; the message names the place in the file.
        InputError: an option names what is not in the file, or the format of the file has no such option.

    Warns:
        FlexjointWarning: entries of a URDF or MJCF are not used; `formats.read_urdf(path).report` or
            `formats.read_mjcf(path).report` lists them.

    Example:
        >>> import flexjoint as fj
        >>> fj.load("hua_3r").n
        3
    """
    options = {"locked": locked, "root": root, "tip": tip, "tool": tool, "packages": packages}
    if drives is not None:
        from .drive_files import DriveFile

        bare = load(robot, **options)  # type: ignore[arg-type]
        driven = DriveFile.read(drives).applied(bare)
        REPORTS[driven] = file_report(bare)
        GEOMETRY[driven] = file_geometry(bare)
        return driven
    name = path_text(robot, f"{WANTED}, or the name of a built-in robot")
    known = builtin_robots()
    if not isinstance(robot, str) or is_path(name) or (name not in known and os.path.isdir(name)):
        return read_robot(name, **options)
    if name not in known:
        close = suggestion(name, known)
        raise RobotError(f"no built-in robot '{quoted(name)}'; {close}; a file is given by its path, such as arm.urdf")
    return read_robot(robot_file(name), **options)


def file_report(robot: Robot) -> tuple[Any, ...]:
    """What of the file of a loaded robot was not used or was chosen, as `formats.Finding`; empty for most formats."""
    return REPORTS.get(robot, ())


def file_geometry(robot: Robot) -> Mapping[str, tuple[Any, ...]]:
    """Shapes and meshes of the links of a loaded robot, in the link frames; empty if its file has none.

    Args:
        robot: as `load` returned it; a robot derived from it has none.

    Returns:
        Tuples of `formats.Geometry` by name of the link, those of the base under "base".

    Example:
        >>> import flexjoint as fj
        >>> fj.formats.file_geometry(fj.load("kuka_lwr"))
        {}
    """
    return GEOMETRY.get(robot, {})


def read_robot(path: str | os.PathLike[str], **options: Any) -> Robot:
    """The robot in a file; its suffix selects the format.

    Args:
        path: path of the file; a file with an unknown suffix is read as TOML.
        options: as in `load`; None for a default.

    Returns:
        The validated `Robot`.

    Raises:
        RobotError: the format has no reader, or the file is wrong; the message names the place in the file.
    """
    place = path_text(path, WANTED)
    suffix = Path(place).suffix.lower()
    if suffix in OTHER_FORMATS and suffix not in READERS and not os.path.isdir(place):
        raise RobotError(
            f"{quoted(place)}: {OTHER_FORMATS[suffix]} files are not read yet; a robot is a TOML file (.toml) with DH "
            "parameters or frames, see docs/getting-started.md, or the name of a built-in robot"
        )
    reader = READERS.get(suffix, READERS[DEFAULT_SUFFIX])
    given = {name: value for name, value in options.items() if value is not None}
    known = {x.name for x in inspect.signature(reader).parameters.values() if x.kind is x.KEYWORD_ONLY}
    if unknown := sorted(given.keys() - known - {"tool"}):
        raise InputError(f"{quoted(place)}: {listed(unknown)}: these are options of URDF and MJCF; leave them out")
    tool = None if "tool" in known else given.pop("tool", None)
    robot = reader(place, **given)
    if tool is None:
        return robot
    changed = robot.replace(tool=tool)
    REPORTS[changed], GEOMETRY[changed] = file_report(robot), file_geometry(robot)
    return changed


def is_path(name: str) -> bool:
    """Whether a text can only be a path, by a separator or by its suffix."""
    suffix = Path(name).suffix.lower()
    return suffix in READERS or suffix in OTHER_FORMATS or "/" in name or os.sep in name
