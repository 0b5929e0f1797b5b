"""Logs of a robot's sensors and motors: CSV, NPZ or Parquet, with any samples missing.

Columns are the time `t` and, for each joint, what was logged: `q` and `v` of the link, `theta` and `theta_v` of the
motor (after the reduction), `tau_e` on the link, `tau` of the motor.  A column is named `q.joint1`, `joint1.q`, `q1` or
`q_1`, with its unit in brackets if that is not SI: `q.joint1 [deg]`.  This is how simulations are written; other
columns are ignored.  In an NPZ file the arrays are named alike, or are `q` (m, n), ... with a column a joint.

An empty cell, or NaN, is a sample that was lost; velocities that were not logged are differences of positions.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError, listed, quoted
from ..loading.toml import path_text, read_bytes
from ..robot import Robot
from ..trajectory.headers import ANGLES, LENGTHS, SECONDS, TIME_NAMES, parts, scaled
from ..trajectory.npz import npz_arrays
from ..trajectory.tables import MAX_TABLE_BYTES
from .parquet import parquet_arrays

LINKS, MOTORS = ("q", "v", "tau_e"), ("theta", "theta_v", "tau")
RATES = {"v": "q", "theta_v": "theta"}
AT_RIGID_JOINTS = {"theta": "q", "theta_v": "v", "tau_e": "tau"}  # what stands for what was not logged
TORQUES, FORCES = {"Nm": 1.0, "mNm": 1e-3, "N m": 1.0, "kNm": 1e3}, {"N": 1.0, "mN": 1e-3, "kN": 1e3}
RUN = re.compile(r"run(_\d+)?")  # of a batch of simulations


@dataclass(frozen=True, eq=False)
class Log:
    """Times (m,), s, and what was logged, (m, n) or a column a motor, in SI units; None what was not.

    `differenced` names the velocities that were made of positions.
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

    @property
    def known(self) -> tuple[str, ...]:
        return tuple(name for name in (*LINKS, *MOTORS) if getattr(self, name) is not None)

    @property
    def period(self) -> float:
        """The usual time between two samples, s."""
        steps = np.diff(self.t[np.isfinite(self.t)])
        steps = steps[steps > 0]
        if not steps.size:
            raise InputError("no sample of the log is later than the one before it; sort the samples by time")
        return float(np.median(steps))


def read_log(path: str | os.PathLike[str], robot: Robot) -> Log:
    """The log of a robot in a CSV, NPZ or Parquet file."""
    place = path_text(path, f"log ({', '.join(READERS)})", InputError)
    suffix = Path(path).suffix.lower()
    if suffix not in READERS:
        raise InputError(f"{place}: a log is a file that ends in {', '.join(READERS)}")
    data = read_bytes(path, f"log ({', '.join(READERS)})", InputError, MAX_TABLE_BYTES)
    if len(data) > MAX_TABLE_BYTES:
        raise InputError(f"{place}: the file is larger than {MAX_TABLE_BYTES:,} bytes; cut it into several")
    return log_of(dict(READERS[suffix](data, place, robot)), place, robot)


def log_of(columns: dict[str, np.ndarray], place: str, robot: Robot) -> Log:
    """The log in named columns."""
    t = None
    found: dict[str, dict[int, np.ndarray]] = {}
    for header, values in columns.items():
        name, unit = parts(header)
        if RUN.fullmatch(name) and np.unique(values).size > 1:
            raise InputError(f"{place}: there are several runs in it, by '{quoted(name)}'; a log is one of them")
        if name in TIME_NAMES:
            t = scaled(values, unit, SECONDS, header, place)
        elif place_of := quantity(name, robot):
            what, i = place_of
            if i in found.setdefault(what, {}):
                raise InputError(f"{place}: there are two columns for {what} of '{labels(robot, what)[i]}'")
            found[what][i] = scaled(values, unit, units(robot, what, i), header, place)
    if t is None:
        raise InputError(f"{place}: no column 't'; there are {listed(columns)}")
    if t.ndim != 1 or t.size < 2:
        raise InputError(f"{place}: t has shape {t.shape}; a log has the times of at least two samples")
    for what, series in found.items():
        for values in series.values():
            if values.shape != t.shape:
                raise InputError(f"{place}: {what} has {values.shape[0]} samples and the time {t.size}")
    for i in (i for i, elastic in enumerate(robot.elastic) if not elastic):
        for what, of in AT_RIGID_JOINTS.items():
            if what in found and i in found.get(of, {}):
                found[what].setdefault(i, found[of][i])
    arrays = {what: complete(what, series, place, robot) for what, series in found.items()}
    if not arrays:
        raise InputError(
            f"{place}: no column is named after a joint of {robot.name}; there are {listed(columns)}, and it takes "
            f"such as q.{robot.joints[0].name} or q1"
        )
    made = {rate: differences(t, arrays[of]) for rate, of in RATES.items() if of in arrays and rate not in arrays}
    return Log(robot, t, **arrays, **made, differenced=tuple(made))


# Names and units --------------------------------------------------------------------------------------------------


def labels(robot: Robot, what: str) -> list[str]:
    return [joint.name for joint in robot.joints] if what in LINKS else list(robot.motor_names)


def quantity(name: str, robot: Robot) -> tuple[str, int] | None:
    """What a column holds, and of which joint or motor; None if it is none of ours."""
    for what in (*LINKS, *MOTORS):
        for i, label in enumerate(labels(robot, what)):
            if name in (f"{what}.{label}", f"{label}.{what}", f"{what}{i + 1}", f"{what}_{i + 1}"):
                return what, i
    return None


def units(robot: Robot, what: str, i: int) -> dict[str, float]:
    """Units of a column and their sizes in SI; none is SI."""
    kind = robot.motor_kinds[i]  # those of joints are the first
    position, force = (ANGLES, TORQUES) if kind == "revolute" else (LENGTHS, FORCES)
    if what in ("tau", "tau_e"):
        return {"": 1.0, **force}
    if what in ("q", "theta"):
        return {"": 1.0, **position}
    turns = {"rpm": 2 * np.pi / 60, "1/min": 2 * np.pi / 60} if kind == "revolute" else {}
    return {"": 1.0, **{f"{unit}/s": size for unit, size in position.items()}, **turns}


def complete(what: str, series: dict[int, np.ndarray], place: str, robot: Robot) -> np.ndarray:
    """The columns of a quantity side by side."""
    names = labels(robot, what)
    if missing := [name for i, name in enumerate(names) if i not in series]:
        raise InputError(
            f"{place}: {what} is missing for {listed(missing)}; give a column such as {what}.{missing[0]} for each, "
            f"or leave out {what} altogether"
        )
    return np.column_stack([series[i] for i in range(len(names))])


def differences(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Velocities by central differences; lost where a neighbour is."""
    found = np.full_like(x, np.nan)
    step = t[2:] - t[:-2]
    with np.errstate(divide="ignore", invalid="ignore"):
        found[1:-1] = np.where((step > 0)[:, None], (x[2:] - x[:-2]) / step[:, None], np.nan)
    return found


# Formats ----------------------------------------------------------------------------------------------------------


def csv_columns(data: bytes, place: str, robot: Robot) -> Iterator[tuple[str, np.ndarray]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not a text file: {error}") from None
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if len(lines) < 2:
        raise InputError(f"{place}: a header and at least one sample are needed")
    mark = max(",;\t", key=lines[0].count)
    header = [cell.strip() for cell in next(csv.reader(lines[:1], delimiter=mark))]
    if repeated := [name for name in header if header.count(name) > 1]:
        raise InputError(f"{place}: there are two columns '{quoted(repeated[0])}'")
    try:
        table = np.loadtxt(lines[1:], delimiter=mark, comments=None, ndmin=2)
    except ValueError:  # an empty cell, or a mistake: slower, and says where
        rows = csv.reader(lines[1:], delimiter=mark)
        table = np.array([numbers(row, k, header, place) for k, row in enumerate(rows, start=1)])
    if table.shape[1] != len(header):
        raise InputError(f"{place}: the samples have {table.shape[1]} cells, the header {len(header)}")
    yield from zip(header, table.T)


def numbers(row: list[str], k: int, header: list[str], place: str) -> list[float]:
    """The cells of a sample; what is empty is NaN."""
    if len(row) != len(header):
        raise InputError(f"{place}: sample {k} has {len(row)} cells, the header {len(header)}")
    found = []
    for cell, name in zip(row, header):
        try:
            found.append(float(cell) if cell.strip() else np.nan)
        except ValueError:
            raise InputError(f"{place}: sample {k} of '{quoted(name)}' is {cell[:40]!r}, not a number") from None
    return found


def npz_columns(data: bytes, place: str, robot: Robot) -> Iterator[tuple[str, np.ndarray]]:
    def ours(names: list[str]) -> list[str]:
        known = {name: parts(name)[0] for name in names}
        return [x for x, y in known.items() if y in (*TIME_NAMES, *LINKS, *MOTORS) or quantity(y, robot)]

    for name, array in npz_arrays(data, place, ours).items():
        what, _ = parts(name)
        if array.ndim == 1:
            yield name, array
        elif what in (*LINKS, *MOTORS):
            width = len(labels(robot, what))
            if array.ndim != 2 or array.shape[1] != width:
                wanted = f"it must be (m, {width}), a row a sample"
                raise InputError(f"{place}: {quoted(name)} has shape {array.shape}; {wanted}")
            unit = name[len(what) :]
            yield from ((f"{what}{i + 1}{unit}", array[:, i]) for i in range(width))


def parquet_columns(data: bytes, place: str, robot: Robot) -> Iterator[tuple[str, np.ndarray]]:
    yield from parquet_arrays(data, place, lambda names: names).items()


READERS = {".csv": csv_columns, ".npz": npz_columns, ".parquet": parquet_columns}
