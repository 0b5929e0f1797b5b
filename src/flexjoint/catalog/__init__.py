"""Built-in robots: one robot file (TOML) each, with the source of its numbers."""

from __future__ import annotations

from pathlib import Path

from ..boundary import public

_FOLDER = Path(__file__).parent


def builtin_robots() -> list[str]:
    """Names of the built-in robots, sorted; `load` takes each of them.

    Example:
        >>> import flexjoint as fj
        >>> "kuka_lwr" in fj.builtin_robots()
        True
    """
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def robot_file(name: str) -> Path:
    """Path of the robot file of a built-in robot."""
    return _FOLDER / f"{name}.toml"


public(__name__)
