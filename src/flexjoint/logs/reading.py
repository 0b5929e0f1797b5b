"""Logs of a robot's sensors and motors, read from CSV, NPZ, Parquet, MCAP or NetCDF files.

Columns are the time `t` and, per joint, what was logged: `q` and `v` of the link, `theta` and `theta_v` of the motor
(after the reduction), torque `tau_e` on the link, motor torque `tau` or current, and what was commanded.  A header is
`q.joint1`, `joint1.q`, `q1` or `q_1`, with the unit in brackets if that is not SI: `q.joint1 [deg]`; `quantities.py`
and `header_words.py` have all names.  Simulations are written with these headers.  Other columns are ignored and listed
in `Log.ignored`.

An empty cell or NaN is a lost sample.  Quantities whose rows are others, as in the merged files of two recorders, are
interpolated to the stamps of the slowest.  Velocities that were not logged are computed as differences of positions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, listed
from ..formats.columns import SECONDS, parts, scaled
from ..formats.toml import path_text
from ..observers.stamps import classify_stamps
from ..robot import Robot
from ..types import FloatArray
from .columns import Assignment, Used
from .currents import torques_of_currents
from .delays import without_delays
from .files import READERS
from .log import Log
from .quantities import RATES, labels, units
from .streams import aligned
from .time_columns import TimeColumn
from .times import check_stamps, check_times

AT_RIGID_JOINTS = {"theta": "q", "theta_v": "v", "tau_e": "tau"}  # substitutes for what was not logged


def read_log(
    path: str | os.PathLike[str],
    robot: Robot,
    *,
    time_unit: str | None = None,
    columns: Mapping[str, str] | None = None,
    torque_constant: ArrayLike | None = None,
    gear_ratio: ArrayLike | None = None,
    topic: str | None = None,
    late: Mapping[str, float] | None = None,
) -> Log:
    """The log of a robot from a CSV, NPZ, Parquet or MCAP file, or from a NetCDF file of a simulation.

    Args:
        path: A file that ends in .csv, .npz, .parquet, .mcap or .nc.
        robot: The robot; its joints have the names or the numbers in the headers.
        time_unit: S, ms, us or ns, if the header of the time has no unit; default s, or what the logger is known for.
        columns: Names of quantities in this file, such as {"t": "stamp", "tau": "effort"}, followed in the file by a
            number or a joint: effort1 or effort.joint1; default those of docs/logs.md.
        torque_constant: Of the motors, Nm/A before the reduction: a number, or one per motor; motor torques are then
            computed from the currents.  Default None: currents are read, but make no torques.
        gear_ratio: Reduction for these torques, a number or one per motor; default that of the robot's motors.
        topic: Of an MCAP file, default the one with the most columns of the robot; several with commas between.
        late: Delays of quantities to take out, s, such as {"theta": 0.005}; default none.

    Returns:
        A Log, in SI units.

    Raises:
        InputError: The file cannot be read, a column is ambiguous or missing, or the times are not plausible.

    Example:
        >>> import flexjoint as fj
        >>> fj.logs.read_log("log.csv", fj.load("kuka_lwr"), time_unit="ms")  # doctest: +SKIP
    """
    place = path_text(path, f"log ({', '.join(READERS)})", InputError)
    suffix = Path(path).suffix.lower()
    if suffix not in READERS:
        raise InputError(f"{place}: a log is a file that ends in {', '.join(READERS)}")
    if time_unit is not None and time_unit not in SECONDS:
        known = ", ".join(x for x in SECONDS if x)
        raise InputError(f"time_unit is {str(time_unit)[:40]!r}; it must be one of {known}")
    if topic is not None and suffix != ".mcap":
        raise InputError(f"{place}: topic is {topic[:80]!r}, but only .mcap files have topics; leave it out")
    chosen, found = READERS[suffix](place, robot, columns, topic)
    log = log_of(chosen, found, place, robot, time_unit)
    if torque_constant is None and gear_ratio is not None:
        raise InputError("read_log: gear_ratio is given without torque_constant, which makes torques of currents")
    if torque_constant is not None:
        log = torques_of_currents(log, torque_constant, gear_ratio, place)
    return without_delays(log, late) if late else log


def log_of(chosen: Assignment, found: Mapping[int, FloatArray], place: str, robot: Robot, time_unit: str | None) -> Log:
    """The log from its columns by number."""
    for run in chosen.runs:
        if np.unique(found[run.column]).size > 1:
            by = parts(run.header)[0]
            raise InputError(f"{place}: the file has several runs, by '{by}'; a log is a single run")
    t = seconds(chosen.time, found, place, time_unit)
    if t.ndim != 1 or t.size < 2:
        raise InputError(f"{place}: t has shape {t.shape}; a log has the times of at least two samples")
    used = chosen.used
    for what, series in used.items():
        for x in series.values():
            if found[x.column].shape != t.shape:
                raise InputError(f"{place}: {what} has {found[x.column].shape[0]} samples and the time {t.size}")
    headers = {what: tuple(series[i].header for i in sorted(series)) for what, series in used.items()}
    sensors = tuple(i in used["tau_e"] for i in range(robot.n)) if "tau_e" in used else None
    coupled = {i for joints in robot.transmission_joints for i in joints}  # there θ is not q
    for i in (i for i, elastic in enumerate(robot.compliant) if not elastic and i not in coupled):
        for what, of in AT_RIGID_JOINTS.items():
            if what in used and i in used.get(of, {}):
                used[what].setdefault(i, used[of][i])
    t, arrays, interpolated = aligned(
        t, {what: complete(what, series, found, place, robot) for what, series in used.items()}
    )
    check_stamps(t, arrays, place, chosen.time.header)
    made = {rate: differences(t, arrays[of]) for rate, of in RATES.items() if of in arrays and rate not in arrays}
    log = Log(
        robot,
        t,
        **arrays,
        **made,
        differenced=tuple(made),
        ignored=chosen.ignored,
        sensors=sensors,
        headers=headers,
        interpolated=interpolated,
    )
    if not chosen.time.unit and time_unit is None:
        check_times(log, place, chosen.time.header)
    return log


def seconds(time: TimeColumn, found: Mapping[int, FloatArray], place: str, given: str | None) -> FloatArray:
    """Times in s, by the unit in the header, the one given, or the habit of the logger."""
    if given is not None and time.unit not in ("", given):
        raise InputError(
            f"{place}: the time is '{time.header[:80]}', in {time.unit}, but time_unit is {given}; leave it out, or "
            "change the header"
        )
    whole = scaled(found[time.column], given or time.unit or time.habit, SECONDS, time.header[:80], place)
    return whole if time.nanoseconds is None else whole + 1e-9 * found[time.nanoseconds]


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
