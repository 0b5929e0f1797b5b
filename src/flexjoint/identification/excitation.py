"""Exciting motions: short motions within all limits along which the parameters of a robot show in its torques."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic import replacing
from ..checks import is_number, positive, whole
from ..dynamics.requirements import lossless_gears, require
from ..errors import InputError, shown
from ..html import table
from ..results import write_table
from ..results.columns import Column
from ..results.files import check_path
from ..robot import Robot, a_robot, numeric
from ..trajectory import Joined, Sinusoid, Trajectory
from ..types import FloatArray
from .excitation_search import NAME, Search, with_reach
from .fourier_motion import LEAST_HARMONICS
from .resonance_motion import resonance_motion, spring_lines

RESONANCE_SHARE = 0.25  # of the duration, for the springs of elastic joints


@dataclass(frozen=True, eq=False, repr=False)
class ExcitingMotion:
    """A motion for identification.

    Args:
        robot: The robot.
        trajectory: The motion: first the springs, then the links; it starts and ends at rest at the same pose.
        pieces: Its parts: "springs", if the robot has elastic joints, and "links".
        condition: Condition number of the regressor of links, friction and motors along "links", with columns of
            length 1.
        random_condition: Median of that of random motions of the same kind within the same limits.
        deviation: Geometric mean of the parameters' standard deviations, relative to these random motions (median), for
            the same noise of the torques.
        names: Parameters that the regressor has columns for.
        notes: What was left out, a sentence each.
        rate: Samples per second of its table, Hz.
    """

    robot: Robot
    trajectory: Trajectory
    pieces: dict[str, Sinusoid]
    condition: float
    random_condition: float
    deviation: float
    names: tuple[str, ...]
    notes: tuple[str, ...]
    rate: float

    def __repr__(self) -> str:
        return (
            f"<ExcitingMotion of {self.robot.name}: {self.trajectory.duration:.4g} s, condition {self.condition:.3g} "
            f"(random motions {self.random_condition:.3g}), deviations {self.deviation:.2f} of theirs>"
        )

    def _repr_html_(self) -> str:
        rows = [(name, f"{x.duration:.4g}") for name, x in self.pieces.items()]
        return table(rows, ("part", "duration, s"), caption=repr(self)[1:-1])

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the motion: samples as .csv, .npz or .parquet, or the sines themselves as a .toml trajectory."""
        if Path(path).suffix.lower() == ".toml":
            with replacing(check_path(path, (".toml",), "a trajectory")) as file:
                file.write(self.toml.encode())
        else:
            write_table(self, path)

    @property
    def toml(self) -> str:
        """The motion as a trajectory file, which `load_trajectory` reads back bit for bit."""
        blocks = [f'# exciting motion of {self.robot.name}, {self.trajectory.duration:g} s\nkind = "joined"\n']
        for name, piece in self.pieces.items():
            lines = ["[[pieces]]", f"# {name}", 'kind = "sinusoid"', f"duration = {piece.duration!r}"]
            arrays = {key: getattr(piece, key).tolist() for key in ("offset", "frequency", "amplitude", "phase")}
            blocks.append("\n".join([*lines, *(f"{key} = {value}" for key, value in arrays.items())]) + "\n")
        return "\n".join(blocks)

    @property
    def times(self) -> FloatArray:
        """Times of the table, (m,), s."""
        return np.arange(round(self.trajectory.duration * self.rate) + 1) / self.rate

    def arrays(self) -> dict[str, Any]:
        """Arrays by name: t (m,), q, v, a (m, n), and the names of the joints."""
        times = np.minimum(self.times, self.trajectory.duration)
        q, v, a = self.trajectory(times, 2)
        return {"t": times, "q": q, "v": v, "a": a, "joints": np.array([x.name for x in self.robot.joints])}

    def columns(self) -> list[Column]:
        """Columns of a file: t and, per joint, q, v and a; a log and a trajectory for `simulate` too."""
        arrays = self.arrays()
        found = [Column("t", "s", arrays["t"])]
        for name, unit in (("q", "rad | m"), ("v", "rad/s | m/s"), ("a", "rad/s² | m/s²")):
            for i, joint in enumerate(self.robot.joints):
                found.append(Column(f"{name}.{joint.name}", joint.kind.unit(unit), arrays[name][:, i]))
        return found


def exciting_motion(
    robot: Robot,
    duration: float = 15.0,
    *,
    harmonics: int = 6,
    margin: float = 0.1,
    reach: float = 1.0,
    rate: float = 1000.0,
    iterations: int = 60,
    seed: int = 0,
) -> ExcitingMotion:
    """A motion within all limits along which the parameters of links, friction, motors and springs can be identified.

    Its main part is a Fourier series that starts and ends at rest.  The search makes the determinant of the information
    matrix of the joint torques large, over base parameters of the links, viscous and Coulomb friction, and motor
    inertias.  For elastic joints a part around the resonances of the springs comes first.  Ctrl-C ends the search with
    the best motion so far.

    Args:
        robot: The robot with its limits; not with variable stiffness.
        duration: Of the whole motion, s; default 15.
        harmonics: Of the Fourier series, at least 4; default 6.
        margin: Share of every limit that is left for the controller; default 0.1.
        reach: Half range of joints without limits of position, rad or m; default 1.
        rate: Of the robot's controller, Hz: bounds the frequencies, and is that of the table; default 1000.
        iterations: Of the search, for each of its two stages; default 60.
        seed: Of the random start; the same seed gives the same motion on the same machine.

    Returns:
        An ExcitingMotion; `trajectory` goes to `simulate`; `write` writes it as CSV, NPZ, Parquet or TOML.

    Raises:
        InputError: The robot has variable stiffness, an argument is wrong, or the limits leave no room for a motion.

    Example:
        >>> import flexjoint as fj
        >>> found = fj.identification.exciting_motion(fj.load("hua_3r"), duration=8.0, iterations=5)
        >>> found.trajectory.duration, found.condition < found.random_condition
        (8.0, True)
    """
    require(NAME, numeric(NAME, a_robot(NAME, robot)), lossless_gears)
    if any(robot.variable_stiffness):
        raise InputError(f"{NAME}: {robot.name} has joints with variable stiffness; give the robot with fixed springs")
    positive(NAME, "duration", duration, ", in s")
    positive(NAME, "rate", rate, ", in Hz")
    positive(NAME, "reach", reach, ", in rad or m")
    whole(NAME, "harmonics", harmonics, least=LEAST_HARMONICS)
    whole(NAME, "iterations", iterations, least=0)
    if not is_number(margin) or not 0 <= margin < 1:
        raise InputError(f"{NAME}: margin is {shown(margin)}; it must be a share from 0 to below 1")
    middle = [(x.lower + x.upper) / 2 for x in with_reach(robot, reach).joint_limits]
    lines, notes = spring_lines(robot, np.array(middle), duration * RESONANCE_SHARE, rate)
    search = Search(robot, duration * (1 - RESONANCE_SHARE * bool(lines)), harmonics, margin, reach)
    random = np.random.default_rng(whole(NAME, "seed", seed))
    best, others = search.run(random, iterations)
    pieces = {"links": best}
    if lines:
        pose = best(0.0, 0)[0]
        shaken, notes = resonance_motion(search.penalty, pose, duration * RESONANCE_SHARE, rate)
        pieces = {"springs": shaken, **pieces} if shaken is not None else pieces
    parts = tuple(pieces.values())
    trajectory: Trajectory = parts[0] if len(parts) == 1 else Joined(parts)
    random_condition, usual = (
        float(np.median([*map(measure, others)])) if others else math.inf
        for measure in (search.condition, search.information_of)
    )
    return ExcitingMotion(
        robot=robot,
        trajectory=trajectory,
        pieces=pieces,
        condition=search.condition(best),
        random_condition=random_condition,
        deviation=math.exp((search.information_of(best) - usual) / 2),
        names=search.information.names,
        notes=tuple(notes),
        rate=rate,
    )
