"""Poses from files and from the command line.

    {position = [0.4, 0, 0.5], rpy_deg = [180, 0, 0]}      a text: one pose
    poses.toml                                              [[pose]] tables with the same keys
    poses.csv                                               columns x, y, z and at most one orientation

A CSV file has a header.  The orientation is qw, qx, qy, qz, or roll, pitch, yaw; a unit other than m and rad follows
the name: `x [mm]`, `roll [deg]`.  Other columns may be among them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..errors import InputError, listed, quoted
from ..formats.columns import ANGLES, LENGTHS, parts, scaled
from ..formats.csv_tables import read_csv
from ..formats.toml import Table, parse_table, path_text, read_bytes
from ..types import FloatArray
from .pose import Pose, parse_pose, read_pose

WHAT = "file of poses (.csv or .toml)"
POSITION, QUATERNION, RPY = ("x", "y", "z"), ("qw", "qx", "qy", "qz"), ("roll", "pitch", "yaw")


def load_poses(source: str | os.PathLike[str]) -> Pose:
    """The poses in a file or a text.

    Args:
        source: path of a CSV or TOML file, or a text {position = ..., ...}.

    Returns:
        A single pose for a text, otherwise one pose per row or table, (rows,).

    Raises:
        InputError: the source is wrong; the message names the place and what to give.

    Example:
        >>> import flexjoint as fj
        >>> fj.kinematics.load_poses("{position = [0.4, 0, 0.5], quaternion = [0, 1, 0, 0]}")
        Pose(position=[0.4, 0, 0.5], rpy_deg=[180, 0, 0])
    """
    text = path_text(source, WHAT, InputError)
    if isinstance(source, str) and text.lstrip().startswith("{"):
        return parse_pose(text)
    suffix = Path(text).suffix.lower()
    if suffix == ".toml":
        file = parse_table(read_bytes(text, WHAT, InputError), text, "file of poses", InputError)
        file.allow(("pose",))
        tables = [Table(x, f"{text}: pose {k + 1}", InputError) for k, x in enumerate(file.tables("pose"))]
        return stacked([read_pose(x) for x in tables], text)
    if suffix == ".csv":
        return read_pose_columns(text)
    raise InputError(f"{quoted(text)}: poses are a .csv or .toml file, or a text {{position = ..., ...}}")


def stacked(poses: list[Pose], place: str) -> Pose:
    """Single poses as one of many; all of them with an orientation, or none."""
    free = [pose.rotation is None for pose in poses]
    if any(free) and not all(free):
        raise InputError(f"{place}: pose {free.index(True) + 1} has no orientation, others have: give all or none one")
    positions = np.stack([pose.position for pose in poses])
    return Pose(positions, None if free[0] else np.stack([pose.oriented for pose in poses]))


def read_pose_columns(place: str) -> Pose:
    """The poses in a CSV file."""
    names: list[str] = []

    def choose(header: list[str] | None, width: int) -> list[int]:
        found = {parts(x)[0].lower(): k for k, x in enumerate(header or [])}
        turned = [x for x in (QUATERNION, RPY) if any(name in found for name in x)]
        if len(turned) > 1:
            raise InputError(f"{place}: both {', '.join(QUATERNION)} and {', '.join(RPY)} are given: keep one")
        wanted = [*POSITION, *(turned[0] if turned else ())]
        if missing := [name for name in wanted if name not in found]:
            known = listed(header or [], without="no header")
            raise InputError(f"{place}: no column {', '.join(missing)}; the file has {known}")
        names[:] = [(header or [])[found[name]] for name in wanted]
        return [found[name] for name in wanted]

    numbers = read_csv(place, WHAT, choose).numbers

    def columns(first: int, last: int, known: Mapping[str, float]) -> FloatArray:
        """Some columns in SI units."""
        some = [(numbers[:, k], parts(names[k])[1], names[k]) for k in range(first, last)]
        return np.column_stack([scaled(x, unit, {"": 1.0, **known}, name, place) for x, unit, name in some])

    try:
        position = columns(0, 3, LENGTHS)
        if len(names) == 7:
            return Pose.from_quaternion(position, columns(3, 7, {}))
        return Pose.from_rpy(position, columns(3, 6, ANGLES)) if len(names) == 6 else Pose(position)
    except InputError as problem:
        if str(problem).startswith(place):
            raise
        raise InputError(f"{place}: {str(problem).removeprefix('Pose: ')}") from None
