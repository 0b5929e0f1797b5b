"""Motions from files: runs of `flexjoint simulate -o`, logs, and trajectories."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..detection import detect
from ..dynamics.moving_base import POSE
from ..errors import InputError, quoted
from ..formats.columns import parts
from ..formats.csv_tables import read_csv
from ..formats.npz import npz_arrays
from ..formats.toml import path_text
from ..logs import Log, read_log
from ..logs.files import READERS as LOG_READERS, file_bytes
from ..results.netcdf import netcdf_arrays
from ..results.parquet import parquet_arrays
from ..robot import Robot
from ..simulation.moving_base import BASE_POSE
from ..trajectory import load_stiffness, load_trajectory
from ..types import FloatArray
from .motion import RESIDUALS, Motion, of_log, of_trajectory, with_residual

RESIDUAL = re.compile(rf"(?P<name>.+\.(?:{'|'.join(RESIDUALS)}))(?:\.\d+)?")
ARRAY_READERS = {".npz": npz_arrays, ".parquet": parquet_arrays, ".nc": netcdf_arrays}


def read_motion(
    source: str | os.PathLike[str],
    robot: Robot,
    *,
    stiffness: Any = None,
    threshold: float | None = None,
    time_unit: str | None = None,
    columns: Mapping[str, str] | None = None,
    topic: str | None = None,
) -> Motion:
    """The motion in a file of a run, in a log or in a trajectory, as `view` shows it.

    A table with motors or torques is a run or a log; one with positions alone is a trajectory, if it is smooth enough.

    Args:
        source: .nc, .parquet, .csv, .npz or .mcap of a run or log; .toml, .csv or .npz of a trajectory, or
            '{kind = ...}'.
        robot: The robot; its joints have the names in the file.
        stiffness: Of a trajectory of a robot with variable stiffness, as `load_stiffness` takes it; default none.
        threshold: Alarm threshold in Nm or N: the residual of a log is computed by `detect`; default it is not.
        time_unit, columns, topic: Of a log, as `logs.read_log` takes them.

    Returns:
        A Motion of at most 4000 samples.

    Raises:
        InputError: The file cannot be read; the message says why.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("kuka_lwr")
        >>> fj.viewer.read_motion('{kind = "rest_to_rest", goal = 0.5, duration = 1}', robot).q.shape
        (1001, 7)
    """
    text = path_text(source, "run, log or trajectory", InputError)
    suffix = Path(text).suffix.lower()
    braces = isinstance(source, str) and text.lstrip().startswith("{")
    log: Log | None = None
    if not braces and suffix in LOG_READERS:
        try:
            log = read_log(
                text, robot, time_unit=time_unit, columns=columns, topic=topic if suffix == ".mcap" else None
            )
        except InputError:
            if suffix not in (".csv", ".npz"):  # these may hold a trajectory
                raise
    measured = log is not None and {"theta", "tau", "tau_e"} & set(log.known)
    if log is not None and (measured or suffix not in (".csv", ".npz")):
        return of_measured(log, text, threshold)
    try:
        return read_trajectory(text, robot, stiffness)
    except InputError:
        if log is None:
            raise
        return of_measured(log, text, threshold)


def read_trajectory(text: str, robot: Robot, stiffness: Any) -> Motion:
    """A trajectory with the motors that it needs."""
    motion = load_trajectory(text, robot)
    sigma = None if stiffness is None else load_stiffness(stiffness, robot, motion.duration)
    if sigma is None and any(robot.variable_stiffness):
        raise InputError(f"{robot.name:.200} has joints of variable stiffness: give stiffness=, in Nm/rad or N/m")
    title = "trajectory" if text.lstrip().startswith("{") else Path(text).name
    return of_trajectory(robot, motion, sigma, title)


def of_measured(log: Log, place: str, threshold: float | None) -> Motion:
    """A log or run with what simulations write beside it: residual, pose of the base."""
    motion = of_log(log, Path(place).name, **beside(place, log))
    return motion if threshold is None else with_residual(motion, detect(log, thresholds=threshold))


def beside(place: str, log: Log) -> dict[str, FloatArray]:
    """Arrays of a Motion that a file has beside those of a log; those of another length are left out."""
    found: dict[str, list[FloatArray]] = {}
    for name, values in extra_arrays(place).items():
        residual = RESIDUAL.fullmatch(name)
        key = "residual" if residual else name.partition(".")[0]
        if residual and found.get("residual name", [residual["name"]])[0] != residual["name"]:
            continue  # of another observer
        if residual:
            found["residual name"] = [residual["name"]]  # type: ignore[list-item]
        found.setdefault(key, []).append(values.reshape(len(values), -1))
    found.pop("residual name", None)
    arrays = {key: np.concatenate(x, axis=1) for key, x in found.items() if all(len(y) == log.t.size for y in x)}
    sizes = {"residual": log.robot.n, BASE_POSE: len(POSE)}
    return {key: x[:, : sizes[key]] for key, x in arrays.items() if x.shape[1] >= sizes[key]}


def extra_arrays(place: str) -> dict[str, FloatArray]:
    """Columns or arrays of a file by name: the residual, the pose of the base."""

    def chosen(names: list[str]) -> list[str]:
        kept = []
        for header in names:
            name = parts(header)[0]
            if name.partition(".")[0] == BASE_POSE or RESIDUAL.fullmatch(name):
                kept.append(header)
        return kept

    suffix = Path(place).suffix.lower()
    if suffix == ".mcap":
        return {}
    if suffix in ARRAY_READERS:
        read: Callable[..., dict[str, FloatArray]] = ARRAY_READERS[suffix]
        return {parts(name)[0]: x for name, x in read(file_bytes(place), place, chosen).items()}
    kept: list[str] = []

    def columns(header: list[str] | None, width: int) -> list[int]:
        wanted = chosen(header or [])
        kept.extend(parts(name)[0] for name in wanted)
        return [k for k, name in enumerate(header or []) if name in wanted]

    table = read_csv(place, f"log {quoted(place)}", columns, lost=True).numbers
    return dict(zip(kept, table.T))
