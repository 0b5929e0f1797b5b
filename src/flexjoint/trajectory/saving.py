"""Trajectories as files that `load_trajectory` reads: `save_trajectory`."""

from __future__ import annotations

import os
from typing import Any

from ..atomic import replacing
from ..errors import InputError, quoted
from ..formats.toml import path_text
from ..formats.writing import toml_value
from .base import Trajectory, a_trajectory
from .rest_to_rest import RestToRest
from .retimed import Retimed
from .sinusoid import Sinusoid
from .spline import Spline
from .time_law import TimeLaw

NAME = "save_trajectory"


def save_trajectory(trajectory: Trajectory, path: str | os.PathLike[str]) -> None:
    """Write a trajectory to a TOML file; reading it with `load_trajectory` gives a bit-identical motion.

    The write is atomic: after an error, an existing file is unchanged.

    Args:
        trajectory: a `RestToRest`, `Spline`, `Sinusoid`, `TimeLaw` or `Retimed` of these; sample another one first,
            `Spline(motion(t, order=0)[0], t)`.
        path: path of the file, `x.toml`.

    Raises:
        InputError: the trajectory is of another kind, or the file cannot be written.

    Example:
        >>> import flexjoint as fj
        >>> motion = fj.trajectory.Spline([[0.0] * 7, [0.3] * 7, [0.1] * 7], 2.0)
        >>> fj.trajectory.save_trajectory(motion, "motion.toml")
        >>> fj.trajectory.load_trajectory("motion.toml", fj.load("kuka_lwr"))
        Spline(n=7, 2 s, C^3)
    """
    place, text = check_trajectory_path(path), trajectory_text(a_trajectory(NAME, trajectory)).encode()
    try:
        with replacing(place) as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{quoted(place)}: the trajectory cannot be written: {error.strerror}") from error


def check_trajectory_path(path: str | os.PathLike[str]) -> str:
    """The path of a TOML file in a folder that exists; raises InputError otherwise."""
    place = path_text(path, "trajectory file (.toml)", InputError)
    if not place.lower().endswith(".toml"):
        raise InputError(f"{quoted(place)}: a trajectory is written as a .toml file")
    if not os.path.isdir(os.path.dirname(place) or "."):
        raise InputError(f"{quoted(place)}: the folder does not exist")
    return place


def trajectory_text(trajectory: Trajectory) -> str:
    """Contents of the file of a trajectory: a line per key."""
    return "".join(f"{key} = {value_text(value)}\n" for key, value in table_entries(trajectory).items())


def table_entries(trajectory: Trajectory) -> dict[str, Any]:
    """The keys of a trajectory in files."""
    x: Any = trajectory
    match trajectory:
        case RestToRest():
            keys = {"start": x.start, "goal": x.goal, "duration": x.duration, "smoothness": x.smoothness}
            return {"kind": "rest_to_rest", **keys}
        case Spline():
            smoothness = x.smoothness if x.ends == "rest" else x.degree - 1
            keys = {"ends": x.ends, "smoothness": smoothness, "degree": x.degree}
            return {"kind": "spline", **keys, "times": x.times, "points": x.points}
        case Sinusoid():
            keys = {"amplitude": x.amplitude, "frequency": x.frequency, "phase": x.phase, "offset": x.offset}
            return {"kind": "sinusoid", **keys, "duration": x.duration}
        case TimeLaw():
            return {"kind": "time_law", "degree": x.degree, "breaks": x.breaks, "slopes": x.slopes}
        case Retimed():
            return {"kind": "retimed", "path": table_entries(x.path), "law": table_entries(x.law)}
    raise InputError(
        f"{NAME}: a {type(trajectory).__name__} has no form in files; sample it first, "
        "fj.trajectory.Spline(motion(t, order=0)[0], t)"
    )


def value_text(value: Any) -> str:
    """A value in TOML; whole numbers as such, and a table on one line."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {value_text(x)}" for key, x in value.items()) + "}"
    return toml_value(value)
