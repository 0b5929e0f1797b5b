"""Trajectories from files and from the command line.

    kind = "rest_to_rest"                  # goal, duration; start, smoothness
    kind = "sinusoid"                      # amplitude, frequency (Hz); phase, offset, duration
    kind = "fourier"                       # frequency (Hz), cosine, sine (a row a harmonic); offset, duration
    kind = "spline"                        # points (a row each), times or duration; smoothness, degree, ends
    kind = "filtered_step"                 # goal, duration or time_constant; start, order
    kind = "samples"                       # file (CSV or NPZ, beside this one); order, cutoff (Hz)

What belongs to joints is one number for all of them or one for each, in rad or m, or in degrees under the key with _deg
(start_deg, goal_deg, points_deg, amplitude_deg, offset_deg, cosine_deg, sine_deg).  What is left out is chosen smooth
enough for the robot.  On the command line the same stands in braces: {kind = "rest_to_rest", goal = 0.8, duration = 2}.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms.elastic import needed_order
from ..errors import InputError
from ..loading.toml import Table, parse_table, read_bytes
from ..robot import Robot
from .base import Trajectory, require_smoothness
from .filtered_step import FilteredStep
from .polynomial import RestToRest
from .samples import Samples
from .sinusoid import Sinusoid
from .spline import ENDS, Spline
from .tables import read_columns


def load_trajectory(source: str | os.PathLike[str], robot: Robot) -> Trajectory:
    """The trajectory in a TOML file, in a CSV or NPZ file of samples, or in a text {kind = ..., ...}.

    It has as many joints as the robot, and is smooth enough for its drives; otherwise the error says what is missing.
    """
    text = os.fspath(source)
    if isinstance(source, str) and text.lstrip().startswith("{"):
        line = " ".join(text.split())
        outer = parse_table(f"trajectory = {line}".encode(), "trajectory", "trajectory", InputError)
        outer.allow(("trajectory",))
        return read_table(outer.table("trajectory"), robot, Path())
    suffix = Path(text).suffix.lower()
    if suffix == ".toml":
        data = read_bytes(text, "trajectory file (.toml)", InputError)
        return read_table(parse_table(data, text, "trajectory file", InputError), robot, Path(text).parent)
    if suffix in (".csv", ".npz"):
        return checked(lambda: Samples(*read_columns(text, robot), order=needed_order(robot)), robot, text)
    raise InputError(f"{text}: a trajectory is a .toml, .csv or .npz file, or a text {{kind = ..., ...}}")


def read_table(table: Table, robot: Robot, folder: Path) -> Trajectory:
    keys, read = KINDS[table.choice("kind", KINDS)]
    table.allow(("kind", *keys, *(f"{key}_deg" for key in keys if key in ANGLES)))
    return checked(lambda: read(table, robot, folder), robot, table.place)


def checked(make: Callable[[], Trajectory], robot: Robot, place: str) -> Trajectory:
    try:
        trajectory = make()
        require_smoothness(trajectory, robot=robot)
    except InputError as error:
        if str(error).startswith(place):
            raise
        raise InputError(f"{place}: {error}") from error
    return trajectory


# Keys ---------------------------------------------------------------------------------------------------------------


def written(table: Table, key: str) -> str:
    """The key as it stands in the file: itself, or with _deg."""
    table.only_one(key, f"{key}_deg")
    return f"{key}_deg" if f"{key}_deg" in table.data else key


def angles(table: Table, robot: Robot, key: str, expected: str) -> np.ndarray:
    """The array `key`, or `key_deg` in degrees."""
    if (name := written(table, key)) == key:
        return table.array(key, expected)
    if sliding := [joint.name for joint in robot.joints if joint.kind == "prismatic"]:
        raise InputError(f"{table.place}: {name} is in degrees, but joint '{sliding[0]}' slides: give {key}")
    return np.deg2rad(table.array(name, expected))


def joints(table: Table, robot: Robot, key: str, default: float | None = None) -> np.ndarray:
    """A number for all joints, or one for each."""
    expected = f"one number for all joints or {robot.n}, one for each"
    name = written(table, key)
    value = angles(table, robot, key, expected) if name in table.data or default is None else np.array(default)
    if value.shape not in ((), (robot.n,)):
        raise table.wrong(name, expected)
    return np.broadcast_to(value, (robot.n,))


def matrix(table: Table, robot: Robot, key: str) -> np.ndarray:
    """A row of numbers, one a joint, for each point or harmonic."""
    expected = f"rows of {robot.n} numbers, one for each joint"
    value = angles(table, robot, key, expected)
    if value.ndim != 2 or value.shape[1] != robot.n:
        raise table.wrong(written(table, key), expected)
    return value


def optional(table: Table, key: str) -> Any:
    return table.number(key) if key in table.data else None


# Kinds --------------------------------------------------------------------------------------------------------------


def rest_to_rest(table: Table, robot: Robot, folder: Path) -> Trajectory:
    start, goal = joints(table, robot, "start", 0.0), joints(table, robot, "goal")
    smoothness = table.data.get("smoothness", max(3, needed_order(robot) - 1))
    return RestToRest(start, goal, table.number("duration"), smoothness)


def sinusoid(table: Table, robot: Robot, folder: Path) -> Trajectory:
    expected = "a number, one for each joint, or rows of them, one for each term"
    amplitude, frequency = angles(table, robot, "amplitude", expected), table.array("frequency", expected)
    phase = table.array("phase", expected) if "phase" in table.data else np.zeros(())
    offset = joints(table, robot, "offset", 0.0)
    return Sinusoid(amplitude, frequency, phase, offset, optional(table, "duration"))


def fourier(table: Table, robot: Robot, folder: Path) -> Trajectory:
    cosine, sine = matrix(table, robot, "cosine"), matrix(table, robot, "sine")
    offset, duration = joints(table, robot, "offset", 0.0), optional(table, "duration")
    return Sinusoid.fourier(table.number("frequency"), cosine, sine, offset, duration)


def spline(table: Table, robot: Robot, folder: Path) -> Trajectory:
    table.only_one("times", "duration")
    times = table.array("times", "a list of times") if "times" in table.data else np.array(table.number("duration"))
    smoothness = table.data.get("smoothness", max(3, needed_order(robot) - 1))
    ends = table.choice("ends", ENDS, "rest")
    return Spline(matrix(table, robot, "points"), times, smoothness, ends, table.data.get("degree"))  # type: ignore[arg-type]


def filtered_step(table: Table, robot: Robot, folder: Path) -> Trajectory:
    start, goal = joints(table, robot, "start", 0.0), joints(table, robot, "goal")
    order = table.data.get("order", max(16, needed_order(robot)))
    if "time_constant" in table.data:
        return FilteredStep(start, goal, table.number("time_constant"), order, optional(table, "duration"))
    return FilteredStep.settled(start, goal, table.number("duration"), order)


def samples(table: Table, robot: Robot, folder: Path) -> Trajectory:
    columns = read_columns(folder / table.text("file"), robot)
    return Samples(*columns, order=table.data.get("order", needed_order(robot)), cutoff=optional(table, "cutoff"))


ANGLES = ("start", "goal", "points", "amplitude", "offset", "cosine", "sine")
KINDS: dict[str, tuple[tuple[str, ...], Callable[[Table, Robot, Path], Trajectory]]] = {
    "rest_to_rest": (("start", "goal", "duration", "smoothness"), rest_to_rest),
    "sinusoid": (("amplitude", "frequency", "phase", "offset", "duration"), sinusoid),
    "fourier": (("frequency", "cosine", "sine", "offset", "duration"), fourier),
    "spline": (("points", "times", "duration", "smoothness", "degree", "ends"), spline),
    "filtered_step": (("start", "goal", "duration", "time_constant", "order"), filtered_step),
    "samples": (("file", "order", "cutoff"), samples),
}
