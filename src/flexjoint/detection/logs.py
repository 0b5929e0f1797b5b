"""Logs of a robot's sensors and motors: CSV, NPZ, Parquet or NetCDF, with any samples missing.

Columns are the time `t` and, for each joint, what was logged: `q` and `v` of the link, `theta` and `theta_v` of the
motor (after the reduction), `tau_e` on the link, `tau` of the motor.  A column is named `q.joint1`, `joint1.q`, `q1` or
`q_1`, with its unit in brackets if that is not SI: `q.joint1 [deg]`; `log_columns.py` has all names.  This is how
simulations are written; other columns are ignored, and named in `Log.ignored`.  In an NPZ file the arrays are named
alike, or are `q` (m, n), ... with a column a joint.

An empty cell, or NaN, is a sample that was lost; velocities that were not logged are differences of positions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError, listed
from ..formats.columns import SECONDS, parts, scaled
from ..formats.csv_tables import MAX_TABLE_BYTES, read_csv
from ..formats.npz import npz_arrays
from ..formats.toml import path_text, read_bytes
from ..observers.stamps import judged_stamps
from ..results.netcdf import netcdf_arrays
from ..results.parquet import parquet_arrays
from ..robot import Robot
from .log_columns import QUANTITIES, Assignment, Used, assigned, labels, name_and_unit, names_in_use, numbered, units
from .log_times import check_times

RATES = {"v": "q", "theta_v": "theta"}
AT_RIGID_JOINTS = {"theta": "q", "theta_v": "v", "tau_e": "tau"}  # what stands for what was not logged


@dataclass(frozen=True, eq=False)
class Log:
    """Times (m,), s, and what was logged, (m, n) or a column a motor, in SI units; None what was not.

    `differenced` names the velocities that were made of positions, `ignored` the columns that were not understood,
    `sensors` says of each joint whether its `tau_e` was logged; if not, the motor torque stands for it.
    """

    robot: Robot
    t: np.ndarray
    q: np.ndarray | None = None
    v: np.ndarray | None = None
    theta: np.ndarray | None = None
    theta_v: np.ndarray | None = None
    tau_e: np.ndarray | None = None
    tau: np.ndarray | None = None
    differenced: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    sensors: tuple[bool, ...] | None = None

    @property
    def known(self) -> tuple[str, ...]:
        return tuple(name for name in QUANTITIES if getattr(self, name) is not None)

    @property
    def period(self) -> float:
        """The usual time between two samples, s."""
        steps = np.diff(self.t[np.isfinite(self.t)])
        steps = steps[steps > 0]
        if not steps.size:
            raise InputError("no sample of the log is later than the one before it; sort the samples by time")
        return float(np.median(steps))


def read_log(
    path: str | os.PathLike[str],
    robot: Robot,
    *,
    time_unit: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Log:
    """The log of a robot in a CSV, NPZ or Parquet file, or in a NetCDF file of a simulation.

    path: a file that ends in .csv, .npz, .parquet or .nc
    robot: whose joints the columns are named after
    time_unit: s, ms, us or ns, where the header of the time has no unit
    columns: what quantities are called in this file, such as {"t": "stamp", "tau": "effort"}; the number or the joint
        stands behind: effort1 or effort.joint1
    """
    place = path_text(path, f"log ({', '.join(READERS)})", InputError)
    suffix = Path(path).suffix.lower()
    if suffix not in READERS:
        raise InputError(f"{place}: a log is a file that ends in {', '.join(READERS)}")
    if time_unit is not None and time_unit not in SECONDS:
        known = ", ".join(x for x in SECONDS if x)
        raise InputError(f"the unit of the time is {str(time_unit)[:40]!r}; it must be one of {known}")
    chosen, found = READERS[suffix](place, robot, columns)
    return log_of(chosen, found, place, robot, time_unit)


def log_of(chosen: Assignment, found: Mapping[int, np.ndarray], place: str, robot: Robot, time_unit: str | None) -> Log:
    """The log in numbered columns."""
    for run in chosen.runs:
        if np.unique(found[run.column]).size > 1:
            by = parts(run.header)[0]
            raise InputError(f"{place}: there are several runs in it, by '{by}'; a log is one of them")
    t = seconds(chosen.time, found[chosen.time.column], place, time_unit)
    if t.ndim != 1 or t.size < 2:
        raise InputError(f"{place}: t has shape {t.shape}; a log has the times of at least two samples")
    used = chosen.used
    for what, series in used.items():
        for x in series.values():
            if found[x.column].shape != t.shape:
                raise InputError(f"{place}: {what} has {found[x.column].shape[0]} samples and the time {t.size}")
    sensors = tuple(i in used["tau_e"] for i in range(robot.n)) if "tau_e" in used else None
    for i in (i for i, elastic in enumerate(robot.compliant) if not elastic):
        for what, of in AT_RIGID_JOINTS.items():
            if what in used and i in used.get(of, {}):
                used[what].setdefault(i, used[of][i])
    arrays = {what: complete(what, series, found, place, robot) for what, series in used.items()}
    made = {rate: differences(t, arrays[of]) for rate, of in RATES.items() if of in arrays and rate not in arrays}
    log = Log(robot, t, **arrays, **made, differenced=tuple(made), ignored=chosen.ignored, sensors=sensors)
    if not chosen.time.unit and time_unit is None:
        check_times(log, place, chosen.time.header)
    return log


def seconds(time: Used, values: np.ndarray, place: str, given: str | None) -> np.ndarray:
    if given is not None and time.unit not in ("", given):
        raise InputError(
            f"{place}: the time is '{time.header[:80]}', in {time.unit}, and the unit given is {given}; give none, or "
            "change the header"
        )
    return scaled(values, given or time.unit, SECONDS, time.header[:80], place)


def complete(
    what: str, series: Mapping[int, Used], found: Mapping[int, np.ndarray], place: str, robot: Robot
) -> np.ndarray:
    """The columns of a quantity side by side."""
    names = labels(robot, what)
    if missing := [name for i, name in enumerate(names) if i not in series]:
        raise InputError(
            f"{place}: {what} is missing for {listed(missing)}; give a column such as {what}.{missing[0]} for each, "
            f"or leave out {what} altogether"
        )
    whole = np.empty((found[series[0].column].size, len(names)))
    for i, x in series.items():
        whole[:, i] = scaled(found[x.column], x.unit, units(robot, what, i), x.header[:80], place)
    return whole


def differences(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Velocities by central differences; lost where a neighbour is, or its time stamp."""
    stamps = judged_stamps(t)
    known = np.where(stamps.kept, t, np.nan)
    found = np.full_like(x, np.nan)
    step = np.where(stamps.anew[2:] | stamps.anew[1:-1], np.nan, known[2:] - known[:-2])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found[1:-1] = np.where((step > 0)[:, None], (x[2:] - x[:-2]) / step[:, None], np.nan)
    return found


# Formats ----------------------------------------------------------------------------------------------------------

Found = tuple[Assignment, dict[int, np.ndarray]]
ArrayReader = Callable[[bytes, str, Callable[[list[str]], list[str]]], dict[str, np.ndarray]]


def csv_log(place: str, robot: Robot, columns: Mapping[str, str] | None) -> Found:
    chosen: list[Assignment] = []

    def choose(header: list[str] | None, width: int) -> list[int]:
        if header is None:
            raise InputError(
                f"{place}: the first line has no names; a log needs a header such as t,q1,...,tau1,..., as nothing is "
                "read by position"
            )
        chosen.append(assigned(header, robot, place, columns))
        return chosen[0].columns

    table = read_csv(place, f"log ({', '.join(READERS)})", choose, lost=True, most=MAX_TABLE_BYTES).numbers
    return chosen[0], dict(zip(chosen[0].columns, table.T))


def file_bytes(place: str) -> bytes:
    data = read_bytes(place, f"log ({', '.join(READERS)})", InputError, MAX_TABLE_BYTES)
    if len(data) > MAX_TABLE_BYTES:
        raise InputError(f"{place}: the file is larger than {MAX_TABLE_BYTES:,} bytes; cut it into several")
    return data


def npz_log(place: str, robot: Robot, columns: Mapping[str, str] | None) -> Found:
    return log_of_arrays(npz_arrays, place, robot, columns)


def netcdf_log(place: str, robot: Robot, columns: Mapping[str, str] | None) -> Found:
    return log_of_arrays(netcdf_arrays, place, robot, columns)


def log_of_arrays(read: ArrayReader, place: str, robot: Robot, columns: Mapping[str, str] | None) -> Found:
    """Arrays (m,) of a joint each, or (m, n) of all."""
    names = names_in_use(columns or {}, place)
    matrices = {name: what for what in QUANTITIES for name in names[what]}
    chosen: list[Assignment] = []
    headers: list[str] = []
    sources: list[tuple[str, int | None]] = []  # the array of each header, and which column of it

    def ours(stored: list[str]) -> list[str]:
        whole = {matrices[name_and_unit(x)[0]] for x in stored if name_and_unit(x)[0] in matrices}
        for array in stored:
            name, unit = name_and_unit(array)
            bare, number = numbered(name)
            if number and matrices.get(bare) in whole:  # such as theta_1 of both motors of a joint, beside theta
                continue
            joints = labels(robot, matrices[name]) if name in matrices else [None]
            for i, joint in enumerate(joints):
                headers.append(array if joint is None else f"{name}.{joint}" + f" [{unit}]" * bool(unit))
                sources.append((array, None if joint is None else i))
        chosen.append(assigned(headers, robot, place, columns))
        return list(dict.fromkeys(sources[j][0] for j in chosen[0].columns))

    arrays = read(file_bytes(place), place, ours)
    found = {}
    for j in chosen[0].columns:
        name, i = sources[j]
        array, width = arrays[name], sum(x == name for x, _ in sources)
        if array.ndim != (1 if i is None else 2) or (i is not None and array.shape[1] != width):
            wanted = "(m,), a number" if i is None else f"(m, {width}), a row"
            raise InputError(f"{place}: {name[:80]} has shape {array.shape}; it must be {wanted} a sample")
        found[j] = array if i is None else array[:, i]
    return chosen[0], found


def parquet_log(place: str, robot: Robot, columns: Mapping[str, str] | None) -> Found:
    return log_of_arrays(parquet_arrays, place, robot, columns)


READERS: dict[str, Callable[[str, Robot, Mapping[str, str] | None], Found]] = {
    ".csv": csv_log,
    ".npz": npz_log,
    ".parquet": parquet_log,
    ".nc": netcdf_log,
}
