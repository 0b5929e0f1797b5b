"""Reads a stored study back, without the script that made it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, RobotError
from ..formats.robot_files import parse_robot
from ..formats.writing import robot_text
from ..robot import Robot
from .block_files import Block
from .places import Place, place_of
from .store import SETTINGS, Store, read_settings

if TYPE_CHECKING:
    from .monte_carlo import MonteCarlo
    from .sweep import SweepTable

ROBOT = "robot.toml"


def read(
    folder: str | os.PathLike[str], *, robot: Robot | None = None, limit: float | None = None
) -> MonteCarlo | SweepTable:
    """The study in a store, as `monte_carlo` or `sweep` returns it, with the samples that are stored.

    Args:
        folder: A folder or URL, as it was given to `monte_carlo` or `sweep`.
        robot: Of a Monte-Carlo study whose robot has no form in a robot file; by default that of the store.
        limit: Largest error above which a run fails, rad or m; by default only divergence is a failure.

    Returns:
        A MonteCarlo or a SweepTable; damaged blocks are left out, with a warning.

    Raises:
        InputError: There is no store, or it cannot be read.

    Example:
        >>> import flexjoint as fj
        >>> study = fj.studies.read("samples")  # doctest: +SKIP
    """
    place = place_of(folder)
    if not place.exists(SETTINGS):
        raise InputError(f"{place} holds no study: there is no {SETTINGS}")
    found = read_settings(place)
    columns = stored_columns(place, found)
    if found.get("kind") == "sweep":
        from .sweep import SweepTable

        return SweepTable(tuple(found["axes"]), columns, dict(found["columns"]), len(next(iter(columns.values()))))
    from .monte_carlo import study_of

    known = robot if robot is not None else stored_robot(place)
    return study_of(known, tuple(found["names"]), columns, columns["sample"].size, float(found["step"]), limit)


def stored_columns(place: Place, found: dict[str, Any]) -> Block:
    """Columns of all blocks of a store, one after the other."""
    store = Store(str(place), found["settings"], {key: x for key, x in found.items() if key != "settings"})
    blocks = [block for first in store.firsts() if (block := store.load(first)) is not None]
    if not blocks:
        raise InputError(f"{place} holds no samples yet")
    return {name: np.concatenate([x[name] for x in blocks]) for name in found["columns"]}


def store_robot(robot: Robot, place: Place | None) -> None:
    """Write the robot of a study into its store; a robot without a form in robot files is left out."""
    if place is not None and not place.exists(ROBOT):
        with suppress(RobotError):
            place.create(ROBOT, robot_text(robot).encode())


def stored_robot(place: Place) -> Robot:
    """The robot in a store."""
    if not place.exists(ROBOT):
        raise InputError(f"{place} has no {ROBOT}, since its robot has no form in robot files; give robot=")
    return parse_robot(place.read(ROBOT), f"{place}/{ROBOT}")
