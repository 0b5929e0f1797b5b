"""Limits of files: how large they may be, and how much work they may cause; all readers use this table.

A reader calls `require` where it knows how much a file holds, before it unpacks or computes anything, and `spend` where
work adds up over a file.  Limits are raised by name: FLEXJOINT_LIMITS="turns=5000,path_points=1e5".
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import NamedTuple

from .errors import FlexjointError, InputError, quoted

VARIABLE = "FLEXJOINT_LIMITS"
CURE = "make it smaller"


class Limit(NamedTuple):
    """At most so many of something, in words that follow the number."""

    most: int
    unit: str


LIMITS = {
    "toml_bytes": Limit(2_000_000, "bytes in a TOML file"),  # tomllib reads about 1 MB/s
    "toml_line_dots": Limit(100, "dots in the keys of a line of TOML"),  # the time grows with their square
    "toml_dots": Limit(20_000, "dots in the keys of a TOML file"),  # tomllib keeps about 5 kB for each
    "links": Limit(1_000, "links, joints or bodies of a robot, or poses or segments of a path"),
    "checked_joints": Limit(30, "joints, whose natural frequencies and effects of parameters take minutes"),
    "variable_stiffness": Limit(100, "joints of variable stiffness of a robot"),  # 5 to 40 ms each
    "spring_points": Limit(500, "points of a spring"),  # one branch per piece in its kernel
    "spring_numbers": Limit(10_000, "numbers in the tables of springs"),
    "joint_names": Limit(2_000, "names of joints in a drive file"),  # each is compared with every joint
    "source_patterns": Limit(100, "patterns in the sources of a robot"),  # each is compared with every path
    "xml_bytes": Limit(8_000_000, "bytes in a URDF or MJCF file and those it includes"),  # 40 times the largest URDF
    "xml_elements": Limit(200_000, "elements in a URDF or MJCF file"),
    "urdf_levels": Limit(50, "levels of elements in a URDF"),
    "mjcf_levels": Limit(200, "levels of elements in an MJCF file"),  # MuJoCo's own limit is 500
    "mjcf_files": Limit(100, "files included in an MJCF file"),
    "mjcf_mesh": Limit(100, "vertices along an edge of a built-in mesh in an MJCF file"),
    "motions": Limit(2_000, "motions in a file, each counted once for every impulse of its shapers"),
    "nested_motions": Limit(8, "motions inside one another in a file"),
    "turns": Limit(100, "turns of the arcs in a file"),
    "path_points": Limit(4_000, "points at which the paths in a file are followed"),  # about 1 ms each
    "harmonics": Limit(10_000, "coefficients of sinusoids in a file"),
    "motion_numbers": Limit(5_000_000, "numbers in a sampled motion"),  # a spline through them takes 0.6 GB
    "table_bytes": Limit(500_000_000, "bytes in a table or log"),
    "csv_columns": Limit(4_096, "columns in a CSV file"),
    "csv_line_bytes": Limit(1_000_000, "bytes in a line of a CSV file"),
    "csv_comments": Limit(1_000_000, "lines of comments in a CSV file"),
    "csv_numbers": Limit(40_000_000, "numbers in the used columns of a CSV file"),  # 320 MB
    "packed_bytes": Limit(250_000_000, "bytes in an NPZ or Parquet file"),
    "packed_columns": Limit(1_000, "arrays in an NPZ file, columns in a Parquet file or in a topic of an MCAP file"),
    "packed_numbers": Limit(25_000_000, "numbers read from an NPZ, Parquet or MCAP file"),  # 200 MB
    "unpacked_bytes": Limit(1_000_000_000, "bytes after unpacking a Parquet or MCAP file"),
    "mcap_chunk": Limit(64_000_000, "bytes after unpacking a chunk of an MCAP file"),  # recorders: 1 to 4 MB
    "mcap_expansion": Limit(100, "times its bytes after unpacking an MCAP file, above 10 MB"),
    "mcap_messages": Limit(2_000_000, "messages read from an MCAP file"),  # about 10 µs each
    "mesh_bytes": Limit(30_000_000, "bytes in a mesh file"),
    "mesh_faces": Limit(300_000, "triangles in a mesh file"),
    "mesh_instances": Limit(2_000, "geometries placed by a DAE file"),
    "robot_faces": Limit(1_500_000, "triangles in the meshes of a robot"),
}
_spent: ContextVar[Counter[str] | None] = ContextVar("work of the file that is being read", default=None)


def most(name: str) -> int:
    """The limit of this name, by default or as $FLEXJOINT_LIMITS sets it."""
    return settings(os.environ.get(VARIABLE, "")).get(name, LIMITS[name].most)


@lru_cache(16)
def settings(text: str) -> dict[str, int]:
    """Limits in a text such as "turns=5000,path_points=1e5"."""
    found = {}
    for part in filter(None, text.replace(" ", "").split(",")):
        name, _, value = part.partition("=")
        try:
            found[name] = int(float(value))
        except (ValueError, OverflowError):
            raise InputError(f"{VARIABLE}: {quoted(part)} must be name=number, such as turns=5000") from None
        if name not in LIMITS:
            raise InputError(f"{VARIABLE}: there is no limit {quoted(name)}; the limits are {', '.join(LIMITS)}")
    return found


def skipped(name: str, amount: int) -> str:
    """Why something is left out; empty if the amount is within the limit."""
    if amount <= (limit := most(name)):
        return ""
    return f"skipped: {amount:,} {LIMITS[name].unit}; at most {limit:,} without {VARIABLE}={name}={amount}"


def require(name: str, amount: float, place: str, error: type[FlexjointError] = InputError, cure: str = CURE) -> None:
    """Raise an error if an amount exceeds a limit.

    Args:
        name: name of the limit.
        amount: what the file holds or has caused so far.
        place: the file and the place in it, which begins the message.
        error: class of the error.
        cure: what to change in the file, for the message.
    """
    if amount > (limit := most(name)):
        digits = 10 ** max(len(str(int(amount))) - 2, 0)
        raise error(
            f"{place}: {math.ceil(amount):,} {LIMITS[name].unit}; at most {limit:,} are accepted: {cure}, or, if you "
            f"trust it, raise the limit: {VARIABLE}={name}={math.ceil(amount / digits) * digits}"
        )


@contextmanager
def one_file() -> Iterator[None]:
    """Context in which `spend` counts: all that one file causes, with what it contains."""
    token = _spent.set(_spent.get() or Counter())
    try:
        yield
    finally:
        _spent.reset(token)


def spend(name: str, amount: int, place: str, cure: str = "cut it into several") -> int:
    """Count work that the file being read causes, up to a limit; work that no file causes is not counted.

    Returns:
        The work so far.
    """
    if (spent := _spent.get()) is None:
        return 0
    spent[name] += amount
    require(name, spent[name], place, cure=cure)
    return spent[name]
