"""Columns of a log from CSV, NPZ, Parquet, NetCDF and MCAP files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from ..errors import InputError, listed
from ..formats.csv_tables import read_csv
from ..formats.npz import npz_arrays
from ..formats.toml import read_bytes
from ..results.netcdf import netcdf_arrays
from ..results.parquet import parquet_arrays
from ..robot import Robot
from ..types import FloatArray
from .columns import Assignment, HeaderReader, assign_columns
from .header_words import name_and_unit, numbered
from .mcap_files import mcap_tables, merged
from .quantities import COMMANDS, labels

Found = tuple[Assignment, dict[int, FloatArray]]  # which column is what, and the columns by number
ArrayReader = Callable[[bytes, str, Callable[[list[str]], list[str]]], dict[str, FloatArray]]


def csv_log(place: str, robot: Robot, columns: Mapping[str, str] | None, topic: str | None) -> Found:
    """Columns of a CSV file."""
    chosen: list[Assignment] = []

    def choose(header: list[str] | None, width: int) -> list[int]:
        if header is None:
            raise InputError(
                f"{place}: the first line has no names; a log needs a header such as t,q1,...,tau1,..., as nothing is "
                "read by position"
            )
        chosen.append(assign_columns(header, robot, place, columns))
        return chosen[0].columns

    table = read_csv(place, f"log ({', '.join(READERS)})", choose, lost=True).numbers
    return chosen[0], dict(zip(chosen[0].columns, table.T))


def file_bytes(place: str) -> bytes:
    """Content of a file; raises InputError if it is too large."""
    return read_bytes(place, f"log ({', '.join(READERS)})", InputError, "table_bytes")


def array_log(
    read: ArrayReader, place: str, robot: Robot, columns: Mapping[str, str] | None, topic: str | None
) -> Found:
    """Columns of a file of arrays, each (m,) for one joint or (m, n) for all."""
    reader = HeaderReader(robot, columns or {}, place)
    chosen: list[Assignment] = []
    headers: list[str] = []
    sources: list[tuple[str, int | None]] = []  # the array of each header, and which column of it

    def ours(stored: list[str]) -> list[str]:
        whole = {reader.matrix(name_and_unit(x)[0]) for x in stored}
        for array in stored:
            name, unit = name_and_unit(array)
            bare, number = numbered(name)
            if number and (what := reader.matrix(bare)) is not None and what in whole:
                continue  # such as theta_1 of both motors of a joint, beside theta
            what = reader.matrix(name)
            for i, joint in enumerate([None] if what is None else labels(robot, what)):
                headers.append(array if joint is None else f"{name}.{joint}" + f" [{unit}]" * bool(unit))
                sources.append((array, None if joint is None else i))
        chosen.append(assign_columns(headers, robot, place, columns))
        arrays = dict(zip(headers, (name for name, _ in sources)))
        chosen[0].ignored = tuple(dict.fromkeys(arrays[header] for header in chosen[0].ignored))
        return list(dict.fromkeys(sources[j][0] for j in chosen[0].columns))

    arrays = read(file_bytes(place), place, ours)
    samples = arrays[sources[chosen[0].time.column][0]].size
    found = {}
    commands = {x.column for what in COMMANDS for x in chosen[0].used.get(what, {}).values()}
    for j in chosen[0].columns:
        name, i = sources[j]
        array, width = arrays[name], sum(x == name for x, _ in sources)
        array = with_samples_first(array, width if i is not None else 1, samples)
        if j in commands and array.ndim == 2:
            array = array[:, :width]  # a reference may have more columns, as for the stiffness of joints
        if i is None and array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if i is not None and width == 1 and array.ndim == 1:
            array = array[:, None]
        if array.ndim != (1 if i is None else 2) or (i is not None and array.shape[1] != width):
            wanted = "(m,), one number" if i is None else f"(m, {width}), one row"
            raise InputError(f"{place}: {name[:80]} has shape {array.shape}; it must be {wanted} per sample")
        found[j] = array if i is None else array[:, i]
    return chosen[0], found


def with_samples_first(array: FloatArray, width: int, samples: int) -> FloatArray:
    """An array (m, width) of m samples, also if it is stored as (width, m)."""
    return array.T if array.shape == (width, samples) != (samples, width) else array


def mcap_log(place: str, robot: Robot, columns: Mapping[str, str] | None, topic: str | None) -> Found:
    """Columns of the chosen topics of an MCAP file, or of the one with the most columns of the robot."""
    tables = mcap_tables(file_bytes(place), place)
    asked = [x.strip() for x in topic.split(",")] if topic is not None else []
    if unknown := [x for x in asked if x not in tables]:
        raise InputError(f"{place}: there is no topic {unknown[0][:80]!r} with numbers; there are {listed(tables)}")
    if topic is not None and len(asked) > 1:
        tables = {topic: merged({x: tables[x] for x in asked}), **{x: y for x, y in tables.items() if x not in asked}}
    found: dict[str, Assignment] = {}
    problems: list[str] = []
    for name in tables if topic is None else [topic]:
        try:
            found[name] = assign_columns(["t [s]", *tables[name].columns], robot, place, columns)
        except InputError as error:
            problems.append(f"{name[:80]}: {str(error).removeprefix(f'{place}: ')}")
    if not found:
        raise InputError(
            f"{place}: no topic is a log of {robot.name}. {listed(problems, most=3) or 'No topic is read'}"
        )
    sizes = {name: sum(len(series) for series in x.used.values()) for name, x in found.items()}
    best = [name for name, size in sizes.items() if size == max(sizes.values())]
    if len(best) > 1:
        raise InputError(f"{place}: the topics {listed(best)} have the same columns; say which with topic={best[0]!r}")
    chosen, table = found[best[0]], tables[best[0]]
    headers = list(table.columns)
    arrays = {j: table.column(headers[j - 1]) for j in chosen.columns if j}
    rows = ~np.all([np.isnan(x) for x in arrays.values()], axis=0)  # other messages of the topic, as of a gripper
    chosen.ignored = (*chosen.ignored, *(f"{name} (topic)" for name in tables if name != best[0]))
    return chosen, {0: table.times[rows], **{j: x[rows] for j, x in arrays.items()}}


READERS: dict[str, Callable[[str, Robot, Mapping[str, str] | None, str | None], Found]] = {
    ".csv": csv_log,
    ".tsv": csv_log,
    ".txt": csv_log,
    ".npz": partial(array_log, npz_arrays),
    ".parquet": partial(array_log, parquet_arrays),
    ".mcap": mcap_log,
    ".nc": partial(array_log, netcdf_arrays),
}
