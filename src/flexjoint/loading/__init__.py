"""File → Robot, and back.  `load` takes a built-in name or a path."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import RobotError, quoted
from ..robot import Robot
from .dh import from_dh
from .robot_files import parse_robot, read_robot
from .toml import path_text, suggestion
from .writing import write_robot

__all__ = ["builtin_robots", "from_dh", "load", "read_robot", "write_robot"]

_ROBOTS = Path(__file__).parent.parent / "robots"


def builtin_robots() -> list[str]:
    """The names `load` knows, sorted."""
    return sorted(path.stem for path in _ROBOTS.glob("*.toml"))


def load(robot: str | os.PathLike[str]) -> Robot:
    """A built-in robot by name, or a robot file by path (with a separator in it, or ending in .toml)."""
    name = path_text(robot, "robot file (.toml), or the name of a built-in robot")
    if not isinstance(robot, str) or name.endswith(".toml") or "/" in name or os.sep in name:
        return read_robot(name)
    known = builtin_robots()
    if name not in known:
        close = suggestion(name, known)
        raise RobotError(f"no built-in robot '{quoted(name)}'; {close}; a file is given by its path, x.toml")
    return parse_robot((_ROBOTS / f"{name}.toml").read_bytes(), name)
