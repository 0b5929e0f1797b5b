"""Files of samples: CSV with the columns t, q1, ..., qn, or NPZ with the arrays t and q.

A header is optional.  If it names the time and all joints, as `joint1`, `q.joint1`, `joint1.q`, `q1` or `q_1`, the
columns may have any order, and other columns may be among them.  A unit other than SI follows the name: `joint1 [deg]`.
An NPZ file has `q`, (m, n), or one array per joint, by name.  Files are data: nothing in them is executed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ..errors import InputError, listed, quoted
from ..file_limits import spend
from ..formats.columns import SECONDS, TIME_NAMES, parts, scaled, unnamed_order, warn_of_milliseconds
from ..formats.csv_tables import read_csv
from ..formats.npz import npz_arrays
from ..formats.toml import path_text, read_bytes
from ..robot import Joint
from ..types import FloatArray


class Joints(Protocol):
    """The joints whose columns a file has, in order."""

    @property
    def name(self) -> str: ...

    @property
    def joints(self) -> Sequence[Joint]: ...

    @property
    def n(self) -> int: ...

    def units(self, joint: Joint) -> Mapping[str, float]:
        """Units of a column, each with its size in SI."""
        ...


class SampledColumns(NamedTuple):
    """Times, (m,), in s, and positions, (m, n), in rad or m."""

    times: FloatArray
    positions: FloatArray


def read_samples(path: str | os.PathLike[str], robot: Joints) -> SampledColumns:
    """The samples in a CSV or NPZ file.

    Args:
        path: path of the file.
        robot: the joints whose positions are read, in this order.

    Raises:
        InputError: the file cannot be read, lacks a column, or has a number that is not finite or a time that does not
            increase.
    """
    place = path_text(path, "file of samples (.csv or .npz)", InputError)
    names, table = (npz_columns if place.lower().endswith(".npz") else csv_columns)(place, robot.n)
    spend("motion_numbers", table.size, place, "take every second sample, or cut it into several")
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        i, j = bad[0].tolist()
        raise InputError(
            f"{place}: sample {i + 1} of column {j + 1} ('{quoted(names[j])}') is {table[i, j]}; remove or replace it"
        )
    joints = {joint.name for joint in robot.joints}
    labels, units = zip(*((name, "") if name in joints else parts(name) for name in names))
    first = next((j for j, label in enumerate(labels) if label.lower() in TIME_NAMES), 0)
    times = scaled(table[:, first], units[first], SECONDS, names[first], place)
    late = np.flatnonzero(np.diff(times) <= 0)
    if late.size:
        i = int(late[0])
        raise InputError(
            f"{place}: the time of sample {i + 2}, {times[i + 1]}, does not come after that of sample {i + 1}, "
            f"{times[i]}; times must increase"
        )
    if not units[first]:
        warn_of_milliseconds(times, labels[first], place)
    others = [j for j in range(len(names)) if j != first]
    order = [others[k] for k in joint_order([labels[j] for j in others], robot, place)]
    wanted = [scaled(table[:, j], units[j], robot.units(x), names[j], place) for j, x in zip(order, robot.joints)]
    return SampledColumns(times, np.column_stack(wanted))


def csv_columns(place: str, n: int) -> tuple[list[str], FloatArray]:
    """Names and columns of a CSV file."""

    def choose(header: list[str] | None, width: int) -> range:
        if width < n + 1 or (width > n + 1 and header is None):
            wanted = f"{n + 1}: the time and one for each of {n} joints"
            raise InputError(f"{place}: {width} columns; there must be {wanted}")
        return range(width)

    header, table = read_csv(place, "file of samples (.csv or .npz)", choose)
    return header or ["t", *(f"q{j + 1}" for j in range(n))], table


def npz_columns(place: str, n: int) -> tuple[list[str], FloatArray]:
    """Names and columns of an NPZ file."""
    data = read_bytes(place, "file of samples (.csv or .npz)", InputError, "table_bytes")
    return parse_npz(data, place, n)


def parse_npz(data: bytes, place: str, n: int) -> tuple[list[str], FloatArray]:
    """Names and columns of the contents of an NPZ file."""
    arrays = npz_arrays(data, place, lambda names: [*TIME_NAMES, "q"] if "q" in names else names)
    time = next((name for name in TIME_NAMES if name in arrays), None)
    if time is None:
        raise InputError(f"{place}: no array 't'; the file holds {listed(sorted(arrays), without='nothing')}")
    t = arrays.pop(time)
    named = "q" not in arrays
    if not named and arrays["q"].ndim != 2:
        raise InputError(f"{place}: q has shape {arrays['q'].shape}; it must be ({t.size}, {n}), one row per sample")
    columns = list(arrays.values()) if named else list(arrays["q"].T)
    names = list(arrays) if named else [f"q{j + 1}" for j in range(len(columns))]
    if len(columns) != n:
        raise InputError(f"{place}: {len(columns)} columns beside {time}; there must be {n}, one for each joint")
    for name, column in zip([time, *names], [t, *columns]):
        if column.shape != (t.size,):
            wanted = f"it must be ({t.size},), one number per sample"
            raise InputError(f"{place}: {quoted(name)} has shape {column.shape}; {wanted}")
    return [time, *names], np.column_stack([t, *columns])


def joint_order(names: Sequence[str], robot: Joints, place: str) -> list[int]:
    """The column of each joint: by name or number if the names are those of joints, otherwise in their order."""
    joints = [joint.name for joint in robot.joints]
    for form in ("{0}", "q.{0}", "{0}.q", "q{1}", "q_{1}"):
        known = [form.format(joint, j) for j, joint in enumerate(joints, start=1)]
        if sorted(names) == sorted(known) or (len(names) > robot.n and set(known) <= set(names)):
            return [names.index(label) for label in known]
    if set(names) & set(joints):
        strange = [name for name in names if name not in joints] or names
        raise InputError(
            f"{place}: some columns are named after joints of {robot.name} and some are not: {listed(strange)}; "
            f"the joints are {listed(joints)}"
        )
    if len(names) != robot.n:
        raise InputError(
            f"{place}: {len(names) + 1} columns; there must be {robot.n + 1}: the time and one for each of {robot.n} "
            f"joints; further columns are allowed if those are named, such as q.{joints[0]}"
        )
    return unnamed_order(names, joints, robot.name, place)


def is_number(cell: str) -> bool:
    """Whether a text is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
