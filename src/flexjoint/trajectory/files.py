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
Stiffnesses of joints over time are written alike, in Nm/rad or N/m.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import positive
from ..dynamics.inverse import needed_order
from ..errors import InputError, quoted
from ..formats import columns as headers
from ..formats.toml import Table, parse_table, path_text, read_bytes
from ..robot import Joint, Robot, a_robot
from .base import Trajectory, require_smoothness
from .filtered_step import FilteredStep
from .limits import warn_of_units
from .polynomial import RestToRest
from .samples import Samples
from .sinusoid import Sinusoid
from .spline import ENDS, Spline
from .tables import is_number, read_columns

STIFFNESS_ORDER = 2  # derivatives of a stiffness that motor torques depend on  [VSANEA sec. III-B]


@dataclass(frozen=True)
class Followers:
    """The joints that follow a trajectory, and how many of its derivatives they need."""

    robot: Robot
    joints: Sequence[Joint]
    order: int
    angles: bool = True  # whether it says where they are, not how stiff

    @property
    def n(self) -> int:
        return len(self.joints)

    @property
    def name(self) -> str:
        return self.robot.name

    def units(self, joint: Joint) -> Mapping[str, float]:
        turns = joint.kind == "revolute"
        if self.angles:
            return {"": 1.0, **(headers.ANGLES if turns else headers.LENGTHS)}
        return {"": 1.0, "Nm/rad" if turns else "N/m": 1.0}

    def check(self, trajectory: Trajectory) -> None:
        if self.angles:
            require_smoothness(trajectory, robot=self.robot)
            return warn_of_units(self.robot, trajectory)
        return require_smoothness(trajectory, self.order)


def load_trajectory(source: str | os.PathLike[str], robot: Robot) -> Trajectory:
    """The trajectory in a TOML file, in a CSV or NPZ file of samples, or in a text {kind = ..., ...}.

    It has as many joints as the robot, and is smooth enough for its drives; otherwise the error says what is missing.
    """
    joints = a_robot("load_trajectory", robot).joints
    return read(source, Followers(robot, joints, needed_order(robot)), "trajectory")


def load_stiffness(source: str | os.PathLike[str] | float, robot: Robot, duration: float = 1.0) -> Trajectory:
    """Stiffnesses over time, Nm/rad or N/m, of the joints that can change theirs: a column for each of them, in order.

    The source is as for `load_trajectory`, or a number (or its text): a constant stiffness of them all, for `duration`
    seconds.
    """
    joints = a_robot("load_stiffness", robot).joints
    chosen = [joint for joint, variable in zip(joints, robot.variable_stiffness) if variable]
    if not chosen:
        raise InputError(f"{robot.name} has no joint whose stiffness could be set: give it an AntagonisticDrive")
    if isinstance(source, int | float) or (isinstance(source, str) and is_number(source)):
        constant = np.full(len(chosen), positive("load_stiffness", "source", float(source), ", in Nm/rad or N/m"))
        return RestToRest(constant, constant, duration)
    return read(source, Followers(robot, chosen, STIFFNESS_ORDER, angles=False), "stiffness")


def read(source: str | os.PathLike[str], robot: Followers, what: str) -> Trajectory:
    text = path_text(source, f"{what} file (.toml, .csv or .npz)", InputError)
    if isinstance(source, str) and text.lstrip().startswith("{"):
        line = " ".join(text.split())
        outer = parse_table(f"{what} = {line}".encode(errors="surrogateescape"), what, what, InputError)
        outer.allow((what,))
        return read_table(outer.table(what), robot, Path())
    suffix = Path(text).suffix.lower()
    if suffix == ".toml":
        data = read_bytes(text, f"{what} file (.toml)", InputError)
        return read_table(parse_table(data, text, f"{what} file", InputError), robot, Path(text).parent)
    if suffix in (".csv", ".npz"):
        return checked(lambda: Samples(*read_columns(text, robot), order=robot.order), robot, text)
    if os.path.isdir(text):
        raise InputError(f"{quoted(text)} is a folder; give the path of a {what} (.toml, .csv or .npz)")
    raise InputError(f"{quoted(text)}: a {what} is a .toml, .csv or .npz file, or a text {{kind = ..., ...}}")


def read_table(table: Table, robot: Followers, folder: Path) -> Trajectory:
    keys, read_kind = KINDS[table.choice("kind", KINDS)]
    table.allow(("kind", *keys, *(f"{key}_deg" for key in keys if key in ANGLES and robot.angles)))
    return checked(lambda: read_kind(table, robot, folder), robot, table.place)


def checked(make: Callable[[], Trajectory], robot: Followers, place: str) -> Trajectory:
    try:
        trajectory = make()
        robot.check(trajectory)
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


def angles(table: Table, robot: Followers, key: str, expected: str) -> np.ndarray:
    """The array `key`, or `key_deg` in degrees."""
    if (name := written(table, key)) == key:
        return table.array(key, expected)
    if sliding := [joint.name for joint in robot.joints if joint.kind == "prismatic"]:
        raise InputError(f"{table.place}: {name} is in degrees, but joint '{sliding[0]}' slides: give {key}")
    return np.deg2rad(table.array(name, expected))


def joints(table: Table, robot: Followers, key: str, default: float | None = None) -> np.ndarray:
    """A number for all joints, or one for each."""
    expected = f"one number for all joints or {robot.n}, one for each"
    name = written(table, key)
    value = angles(table, robot, key, expected) if name in table.data or default is None else np.array(default)
    if value.shape not in ((), (robot.n,)):
        raise table.wrong(name, expected)
    return np.broadcast_to(value, (robot.n,))


def matrix(table: Table, robot: Followers, key: str) -> np.ndarray:
    """A row of numbers, one a joint, for each point or harmonic."""
    expected = f"rows of {robot.n} numbers, one for each joint"
    value = angles(table, robot, key, expected)
    if value.ndim != 2 or value.shape[1] != robot.n:
        raise table.wrong(written(table, key), expected)
    return value


def optional(table: Table, key: str) -> Any:
    return table.number(key) if key in table.data else None


# Kinds --------------------------------------------------------------------------------------------------------------


def rest_to_rest(table: Table, robot: Followers, folder: Path) -> Trajectory:
    start, goal = joints(table, robot, "start", 0.0), joints(table, robot, "goal")
    smoothness = table.data.get("smoothness", max(3, robot.order - 1))
    return RestToRest(start, goal, table.number("duration"), smoothness)


def sinusoid(table: Table, robot: Followers, folder: Path) -> Trajectory:
    expected = "a number, one for each joint, or rows of them, one for each term"
    amplitude, frequency = angles(table, robot, "amplitude", expected), table.array("frequency", expected)
    phase = table.array("phase", expected) if "phase" in table.data else np.zeros(())
    offset = joints(table, robot, "offset", 0.0)
    return Sinusoid(amplitude, frequency, phase, offset, optional(table, "duration"))


def fourier(table: Table, robot: Followers, folder: Path) -> Trajectory:
    cosine, sine = matrix(table, robot, "cosine"), matrix(table, robot, "sine")
    offset, duration = joints(table, robot, "offset", 0.0), optional(table, "duration")
    return Sinusoid.fourier(table.number("frequency"), cosine, sine, offset, duration)


def spline(table: Table, robot: Followers, folder: Path) -> Trajectory:
    table.only_one("times", "duration")
    times = table.array("times", "a list of times") if "times" in table.data else np.array(table.number("duration"))
    smoothness = table.data.get("smoothness", max(3, robot.order - 1))
    ends = table.choice("ends", ENDS, "rest")
    return Spline(matrix(table, robot, "points"), times, smoothness, ends, table.data.get("degree"))  # type: ignore[arg-type]


def filtered_step(table: Table, robot: Followers, folder: Path) -> Trajectory:
    start, goal = joints(table, robot, "start", 0.0), joints(table, robot, "goal")
    order = table.data.get("order", max(16, robot.order))
    if "time_constant" in table.data:
        return FilteredStep(start, goal, table.number("time_constant"), order, optional(table, "duration"))
    return FilteredStep.settled(start, goal, table.number("duration"), order)


def samples(table: Table, robot: Followers, folder: Path) -> Trajectory:
    columns = read_columns(folder / table.text("file"), robot)
    return Samples(*columns, order=table.data.get("order", robot.order), cutoff=optional(table, "cutoff"))


ANGLES = ("start", "goal", "points", "amplitude", "offset", "cosine", "sine")
KINDS: dict[str, tuple[tuple[str, ...], Callable[[Table, Followers, Path], Trajectory]]] = {
    "rest_to_rest": (("start", "goal", "duration", "smoothness"), rest_to_rest),
    "sinusoid": (("amplitude", "frequency", "phase", "offset", "duration"), sinusoid),
    "fourier": (("frequency", "cosine", "sine", "offset", "duration"), fourier),
    "spline": (("points", "times", "duration", "smoothness", "degree", "ends"), spline),
    "filtered_step": (("start", "goal", "duration", "time_constant", "order"), filtered_step),
    "samples": (("file", "order", "cutoff"), samples),
}
