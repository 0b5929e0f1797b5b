"""The robots that come with flexjoint: one robot file (TOML) each."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent


def builtin_robots() -> list[str]:
    """Names of the built-in robots, sorted: what `load` accepts beside a path."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def robot_file(name: str) -> Path:
    """Path of the robot file of a built-in robot."""
    return _FOLDER / f"{name}.toml"
