"""File → Robot, and back.  `load` takes a built-in name or a path."""

from __future__ import annotations

import os
from pathlib import Path

from ..catalog import builtin_robots, robot_file
from ..errors import RobotError, quoted
from ..robot import Robot
from .dh import from_dh
from .robot_files import OTHER_FORMATS, parse_robot, read_robot
from .toml import path_text, suggestion
from .writing import write_robot

__all__ = ["from_dh", "load", "read_robot", "write_robot"]


def is_path(name: str) -> bool:
    """Whether a text can only be the path of a file, by a separator or by how it ends."""
    suffix = Path(name).suffix.lower()
    return suffix == ".toml" or suffix in OTHER_FORMATS or "/" in name or os.sep in name


def load(robot: str | os.PathLike[str]) -> Robot:
    """A built-in robot by name, or a robot file by path (with a separator in it, or ending in .toml)."""
    name = path_text(robot, "robot file (.toml), or the name of a built-in robot")
    known = builtin_robots()
    if not isinstance(robot, str) or is_path(name) or (name not in known and os.path.isdir(name)):
        return read_robot(name)
    if name not in known:
        close = suggestion(name, known)
        raise RobotError(f"no built-in robot '{quoted(name)}'; {close}; a file is given by its path, x.toml")
    return parse_robot(robot_file(name).read_bytes(), name)
