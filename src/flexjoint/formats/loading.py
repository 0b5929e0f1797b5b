"""Robots by the name of a built-in robot or by the path of a file.

A format registers its reader under each suffix, in its own file: `@READERS.register(".toml")` on a function that takes
the path of a file and returns its `Robot`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ..catalog import builtin_robots, robot_file
from ..errors import RobotError, quoted
from ..registry import Registry
from ..robot import Robot
from .toml import path_text, suggestion

READERS: Registry[Callable[[str], Robot]] = Registry("robot format")  # by suffix, in lower case
DEFAULT_SUFFIX = ".toml"  # the format of a file with an unknown suffix
OTHER_FORMATS = {
    ".json": "JSON",
    ".mjcf": "MJCF",
    ".sdf": "SDF",
    ".urdf": "URDF",
    ".usd": "USD",
    ".xacro": "xacro",
    ".xml": "MJCF and URDF",
    ".yaml": "YAML",
    ".yml": "YAML",
}  # known formats without a reader
WANTED = "robot file (.toml)"


def load(robot: str | os.PathLike[str]) -> Robot:
    """The built-in robot with a name, or the robot in a file.

    Args:
        robot: name of a built-in robot (see `builtin_robots`), or the path of a robot file.  A text is a path if it
            contains a separator or ends like a file, such as "arm.toml".

    Returns:
        The validated `Robot`.

    Raises:
        RobotError: there is no such robot or file, or the file is wrong; the message names the place in the file.

    Example:
        >>> import flexjoint as fj
        >>> fj.load("hua_3r").n
        3
    """
    name = path_text(robot, f"{WANTED}, or the name of a built-in robot")
    known = builtin_robots()
    if not isinstance(robot, str) or is_path(name) or (name not in known and os.path.isdir(name)):
        return read_robot(name)
    if name not in known:
        close = suggestion(name, known)
        raise RobotError(f"no built-in robot '{quoted(name)}'; {close}; a file is given by its path, x.toml")
    return read_robot(robot_file(name))


def read_robot(path: str | os.PathLike[str]) -> Robot:
    """The robot in a file; its suffix selects the format.

    Args:
        path: path of the file; a file with an unknown suffix is read as TOML.

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
    return READERS.get(suffix, READERS[DEFAULT_SUFFIX])(place)


def is_path(name: str) -> bool:
    """Whether a text can only be a path, by a separator or by its suffix."""
    suffix = Path(name).suffix.lower()
    return suffix in READERS or suffix in OTHER_FORMATS or "/" in name or os.sep in name
