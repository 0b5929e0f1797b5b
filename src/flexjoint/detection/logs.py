"""Logs of a robot's sensors and motors, read from CSV, NPZ, Parquet or NetCDF files.

Columns are the time `t` and, per joint, what was logged: `q` and `v` of the link, `theta` and `theta_v` of the motor
(after the reduction), torque `tau_e` on the link, motor torque `tau`.  A header is `q.joint1`, `joint1.q`, `q1` or
`q_1`, with the unit in brackets if that is not SI: `q.joint1 [deg]`; `log_columns.py` has all names.  Simulations are
written with these headers.  Other columns are ignored and listed in `Log.ignored`.  An NPZ file may hold arrays with
these names, or `q` (m, n) and so on with one column per joint.

An empty cell or NaN is a lost sample.  Velocities that were not logged are computed as differences of positions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ..errors import InputError, listed
from ..formats.columns import SECONDS, parts, scaled
from ..formats.csv_tables import MAX_TABLE_BYTES, read_csv
from ..formats.npz import npz_arrays
from ..formats.toml import path_text, read_bytes
from ..html import table
from ..observers.stamps import classify_stamps
from ..results.netcdf import netcdf_arrays
from ..results.parquet import parquet_arrays
from ..robot import Robot
from ..types import FloatArray
from .log_columns import (
    QUANTITIES,
    Assignment,
    Used,
    assign_columns,
    labels,
    name_and_unit,
    names_in_use,
    numbered,
    units,
)
from .log_times import check_times

RATES = {"v": "q", "theta_v": "theta"}
AT_RIGID_JOINTS = {"theta": "q", "theta_v": "v", "tau_e": "tau"}  # substitutes for what was not logged


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """A log of m samples of a robot, in SI units; None for a quantity that was not logged, NaN for a lost sample.

    Args:
        robot: The robot.
        t: Times, (m,), s.
        q, v: Link positions and velocities, (m, n), rad and rad/s, or m and m/s.
        theta, theta_v: Motor positions and velocities after the reduction, (m, number of motors).
        tau_e: Torque on the links, from joint torque sensors, (m, n), Nm or N.
        tau: Motor torques after the reduction, (m, number of motors), Nm or N.
        differenced: Names of velocities that were computed from positions.
        ignored: Headers of columns that were not read.
        sensors: Whether `tau_e` was logged, per joint; if not, the motor torque stands for it.  None without `tau_e`.
    """

    robot: Robot
    t: FloatArray
    q: FloatArray | None = None
    v: FloatArray | None = None
    theta: FloatArray | None = None
    theta_v: FloatArray | None = None
    tau_e: FloatArray | None = None
    tau: FloatArray | None = None
    differenced: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    sensors: tuple[bool, ...] | None = None

    def __repr__(self) -> str:
        return f"<Log of {self.robot.name}: {self._size()}; {', '.join(self.known)}>"

    def _repr_html_(self) -> str:
        rows = [(name, self._source(name), self._lost(name)) for name in self.known]
        return table(rows, ("quantity", "source", "lost samples"), caption=f"{self.robot.name}, log: {self._size()}")

    def _size(self) -> str:
        """Number of samples, and the interval of the finite times."""
        times = self.t[np.isfinite(self.t)]
        span = f" from {times[0]:.4g} to {times[-1]:.4g} s" if times.size else ""
        return f"{self.t.size} samples{span}"

    def _source(self, name: str) -> str:
        return "differences of positions" if name in self.differenced else "log"

    def _lost(self, name: str) -> int:
        """Number of samples with a number that is not finite."""
        return int(np.count_nonzero(~np.all(np.isfinite(getattr(self, name)), axis=1)))

    @property
    def known(self) -> tuple[str, ...]:
        """Names of the quantities that the log has."""
        return tuple(name for name in QUANTITIES if getattr(self, name) is not None)

    @property
    def period(self) -> float:
        """Median time between two samples, s."""
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
    """The log of a robot from a CSV, NPZ or Parquet file, or from a NetCDF file of a simulation.

    Args:
        path: A file that ends in .csv, .npz, .parquet or .nc.
        robot: The robot; its joints have the names in the headers.
        time_unit: S, ms, us or ns, if the header of the time has no unit; default s.
        columns: Names of quantities in this file, such as {"t": "stamp", "tau": "effort"}, followed in the file by a
            number or a joint: effort1 or effort.joint1; default those of docs/detection.md.

    Returns:
        A Log, in SI units.

    Raises:
        InputError: The file cannot be read, a column is ambiguous or missing, or the times are not plausible.

    Example:
        >>> import flexjoint as fj
        >>> fj.detection.read_log("log.csv", fj.load("kuka_lwr"), time_unit="ms")  # doctest: +SKIP
    """
    place = path_text(path, f"log ({', '.join(READERS)})", InputError)
    suffix = Path(path).suffix.lower()
    if suffix not in READERS:
        raise InputError(f"{place}: a log is a file that ends in {', '.join(READERS)}")
    if time_unit is not None and time_unit not in SECONDS:
        known = ", ".join(x for x in SECONDS if x)
        raise InputError(f"time_unit is {str(time_unit)[:40]!r}; it must be one of {known}")
    chosen, found = READERS[suffix](place, robot, columns)
    return log_of(chosen, found, place, robot, time_unit)


def log_of(chosen: Assignment, found: Mapping[int, FloatArray], place: str, robot: Robot, time_unit: str | None) -> Log:
    """The log from its columns by number."""
    for run in chosen.runs:
        if np.unique(found[run.column]).size > 1:
            by = parts(run.header)[0]
            raise InputError(f"{place}: the file has several runs, by '{by}'; a log is a single run")
    t = seconds(chosen.time, found[chosen.time.column], place, time_unit)
    if t.ndim != 1 or t.size < 2:
        raise InputError(f"{place}: t has shape {t.shape}; a log has the times of at least two samples")
    used = chosen.used
    for what, series in used.items():
        for x in series.values():
            if found[x.column].shape != t.shape:
                raise InputError(f"{place}: {what} has {found[x.column].shape[0]} samples and the time {t.size}")
    sensors = tuple(i in used["tau_e"] for i in range(robot.n)) if "tau_e" in used else None
    coupled = {i for joints in robot.transmission_joints for i in joints}  # there θ is not q
    for i in (i for i, elastic in enumerate(robot.compliant) if not elastic and i not in coupled):
        for what, of in AT_RIGID_JOINTS.items():
            if what in used and i in used.get(of, {}):
                used[what].setdefault(i, used[of][i])
    arrays = {what: complete(what, series, found, place, robot) for what, series in used.items()}
    made = {rate: differences(t, arrays[of]) for rate, of in RATES.items() if of in arrays and rate not in arrays}
    log = Log(robot, t, **arrays, **made, differenced=tuple(made), ignored=chosen.ignored, sensors=sensors)
    if not chosen.time.unit and time_unit is None:
        check_times(log, place, chosen.time.header)
    return log


def seconds(time: Used, values: FloatArray, place: str, given: str | None) -> FloatArray:
    """Times in s, by the unit in the header or the one given."""
    if given is not None and time.unit not in ("", given):
        raise InputError(
            f"{place}: the time is '{time.header[:80]}', in {time.unit}, but time_unit is {given}; leave it out, or "
            "change the header"
        )
    return scaled(values, given or time.unit, SECONDS, time.header[:80], place)


def complete(
    what: str, series: Mapping[int, Used], found: Mapping[int, FloatArray], place: str, robot: Robot
) -> FloatArray:
    """The columns of a quantity side by side, (m, number of joints or motors), in SI units."""
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


def differences(t: FloatArray, x: FloatArray) -> FloatArray:
    """Velocities by central differences; NaN where a neighbour or its time stamp is lost."""
    stamps = classify_stamps(t)
    known = np.where(stamps.kept, t, np.nan)
    found = np.full_like(x, np.nan)
    step = np.where(stamps.clock_set[2:] | stamps.clock_set[1:-1], np.nan, known[2:] - known[:-2])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found[1:-1] = np.where((step > 0)[:, None], (x[2:] - x[:-2]) / step[:, None], np.nan)
    return found


# Formats ----------------------------------------------------------------------------------------------------------

Found = tuple[Assignment, dict[int, FloatArray]]  # which column is what, and the columns by number
ArrayReader = Callable[[bytes, str, Callable[[list[str]], list[str]]], dict[str, FloatArray]]


def csv_log(place: str, robot: Robot, columns: Mapping[str, str] | None) -> Found:
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

    table = read_csv(place, f"log ({', '.join(READERS)})", choose, lost=True, most=MAX_TABLE_BYTES).numbers
    return chosen[0], dict(zip(chosen[0].columns, table.T))


def file_bytes(place: str) -> bytes:
    """Content of a file; raises InputError if it is too large."""
    data = read_bytes(place, f"log ({', '.join(READERS)})", InputError, MAX_TABLE_BYTES)
    if len(data) > MAX_TABLE_BYTES:
        raise InputError(f"{place}: the file is larger than {MAX_TABLE_BYTES:,} bytes; cut it into several")
    return data


def array_log(read: ArrayReader, place: str, robot: Robot, columns: Mapping[str, str] | None) -> Found:
    """Columns of a file of arrays, each (m,) for one joint or (m, n) for all."""
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
        chosen.append(assign_columns(headers, robot, place, columns))
        return list(dict.fromkeys(sources[j][0] for j in chosen[0].columns))

    arrays = read(file_bytes(place), place, ours)
    found = {}
    for j in chosen[0].columns:
        name, i = sources[j]
        array, width = arrays[name], sum(x == name for x, _ in sources)
        if array.ndim != (1 if i is None else 2) or (i is not None and array.shape[1] != width):
            wanted = "(m,), one number" if i is None else f"(m, {width}), one row"
            raise InputError(f"{place}: {name[:80]} has shape {array.shape}; it must be {wanted} per sample")
        found[j] = array if i is None else array[:, i]
    return chosen[0], found


READERS: dict[str, Callable[[str, Robot, Mapping[str, str] | None], Found]] = {
    ".csv": csv_log,
    ".npz": partial(array_log, npz_arrays),
    ".parquet": partial(array_log, parquet_arrays),
    ".nc": partial(array_log, netcdf_arrays),
}
