"""Trajectories from files and from the command line.

    kind = "rest_to_rest"                  # goal, duration; start, smoothness
    kind = "trapezoid"                     # goal, duration; start, ramp, smoothness
    kind = "sinusoid"                      # amplitude, frequency (Hz); phase, offset, duration
    kind = "fourier"                       # frequency (Hz), cosine, sine (one row per harmonic); offset, duration
    kind = "spline"                        # points (one row each), times or duration; smoothness, degree, ends
    kind = "filtered_step"                 # goal, duration or time_constant; start, order
    kind = "samples"                       # file (CSV or NPZ, in the same folder); order, cutoff (Hz, "auto" or "off")
    kind = "shaped"                        # motion ({kind = ..., ...}); shaper, modes, at, frequency (Hz), damping
    kind = "joined"                        # pieces, each a table with a kind, one after another
    kind = "retimed"                       # path and law, tables of a motion and of its time law, such as
    kind = "time_law"                      # breaks, slopes, degree

The kinds line, arc, pose_spline and cartesian move a frame along a path: `cartesian/reading.py`.
A position is one number for all joints or one per joint, in rad or m, or in degrees under the key with _deg (goal_deg,
points_deg, ...).  Smoothness that is not given is sufficient for the robot.  On the command line the same stands in
braces: {kind = "rest_to_rest", goal = 0.8, duration = 2}.  Stiffnesses over time have the same form, in Nm/rad or N/m.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..checks import positive
from ..dynamics.inverse import needed_order
from ..dynamics.moving_base import POSE
from ..errors import InputError, quoted
from ..file_limits import one_file, spend
from ..formats.toml import Table, parse_inline, parse_table, path_text, read_bytes
from ..robot import Joint, Robot, a_robot
from .base import Trajectory, require_smoothness
from .kinds import KINDS, MotionTable, MovedJoints
from .record import require_clean
from .rest_to_rest import RestToRest
from .sample_files import is_number, read_samples
from .samples import Samples
from .unit_warnings import warn_of_units

STIFFNESS_ORDER = 2  # derivatives of a stiffness that motor torques depend on  [VSANEA sec. III-B]
BASE_ORDER = 2  # derivatives of the pose of the base that accelerations depend on


def load_trajectory(source: str | os.PathLike[str], robot: Robot) -> Trajectory:
    """The trajectory in a file or in a text, checked against the robot.

    Args:
        source: path of a TOML file, or of a CSV or NPZ file of samples; or a text {kind = ..., ...}.
        robot: the robot that follows the trajectory.

    Returns:
        A trajectory with one column per joint, smooth enough for the drives of the robot.

    Raises:
        InputError: the source is wrong, or the trajectory is not smooth enough; the message says what to change.

    Example:
        >>> import flexjoint as fj
        >>> fj.trajectory.load_trajectory('{kind = "rest_to_rest", goal_deg = 45, duration = 2}', fj.load("kuka_lwr"))
        RestToRest(n=7, 2 s, C^3)
    """
    joints = a_robot("load_trajectory", robot).joints
    return read(source, MovedJoints(robot, joints, needed_order(robot)), "trajectory")


def load_record(path: str | os.PathLike[str], robot: Robot) -> Samples:
    """The recorded motion in a file, through every sample, noisy or not, for `assess_record`.

    Args:
        path: path of a CSV or NPZ file.
        robot: the robot that moved.

    Raises:
        InputError: the file cannot be read, or lacks a column.
    """
    order = needed_order(robot)
    return Samples(*read_samples(path, MovedJoints(a_robot("load_record", robot), robot.joints, order)), order=order)


def load_stiffness(source: str | os.PathLike[str] | float, robot: Robot, duration: float = 1.0) -> Trajectory:
    """The stiffnesses of all joints with variable stiffness over time, from a file, a text or a number.

    Args:
        source: as for `load_trajectory`, in Nm/rad or N/m; or a number, or a string with one: a constant stiffness of
            all these joints.
        robot: the robot that follows the stiffnesses.
        duration: duration of a constant stiffness, in s; 1 by default.

    Returns:
        A trajectory with one column per joint of variable stiffness, in the order of the joints.

    Raises:
        InputError: the robot has no such joint, the source is wrong, or the stiffness is not smooth enough.

    Example:
        >>> import flexjoint as fj
        >>> fj.trajectory.load_stiffness(900.0, fj.load("vsa_3r"), duration=2.0)
        RestToRest(n=3, 2 s, C^3)
    """
    joints = a_robot("load_stiffness", robot).joints
    chosen = [joint for joint, variable in zip(joints, robot.variable_stiffness) if variable]
    if not chosen:
        raise InputError(f"{robot.name} has no joint whose stiffness could be set: give it an AntagonisticDrive")
    if isinstance(source, int | float) or (isinstance(source, str) and is_number(source)):
        constant = np.full(len(chosen), positive("load_stiffness", "source", float(source), ", in Nm/rad or N/m"))
        return RestToRest(constant, constant, duration)
    return read(source, MovedJoints(robot, chosen, STIFFNESS_ORDER, stiffnesses=True), "stiffness")


def load_base(source: str | os.PathLike[str], robot: Robot) -> Trajectory:
    """The pose of a moving base over time, from a file or a text, as `simulate(..., base=)` takes it.

    Args:
        source: as for `load_trajectory`, with the columns x, y, z, in m, and roll, pitch, yaw, in rad.
        robot: the robot on the base.

    Returns:
        A trajectory with six columns.

    Raises:
        InputError: the source is wrong, or the trajectory is not smooth enough; the message says what to change.

    Example:
        >>> import flexjoint as fj
        >>> ship = '{kind = "sinusoid", amplitude = [0, 0, 0.5, 0.1, 0, 0], frequency = 0.2}'
        >>> fj.trajectory.load_base(ship, fj.load("kuka_lwr"))
        Sinusoid(n=6, 5 s, C^inf)
    """
    joints = [Joint(name, kind) for name, kind in zip(POSE, ["prismatic"] * 3 + ["revolute"] * 3)]  # type: ignore[arg-type]
    return read(source, MovedJoints(a_robot("load_base", robot), joints, needed_order(robot), pose=True), "base")


def read(source: str | os.PathLike[str], joints: MovedJoints, what: str) -> Trajectory:
    """A trajectory for given joints; `what` names it in messages."""
    with one_file():
        return read_file(source, joints, what)


def read_file(source: str | os.PathLike[str], joints: MovedJoints, what: str) -> Trajectory:
    """The trajectory in a file or a text, without new limits of its work."""
    text = path_text(source, f"{what} file (.toml, .csv or .npz)", InputError)
    if isinstance(source, str) and text.lstrip().startswith("{"):
        return read_table(parse_inline(text, what, InputError), joints, Path())
    suffix = Path(text).suffix.lower()
    if suffix == ".toml":
        data = read_bytes(text, f"{what} file (.toml)", InputError)
        return read_table(parse_table(data, text, f"{what} file", InputError), joints, Path(text).parent)
    if suffix in (".csv", ".npz"):
        return checked(lambda: Samples(*read_samples(text, joints), order=joints.order), joints, text, text)
    if os.path.isdir(text):
        raise InputError(f"{quoted(text)} is a folder; give the path of a {what} (.toml, .csv or .npz)")
    raise InputError(f"{quoted(text)}: a {what} is a .toml, .csv or .npz file, or a text {{kind = ..., ...}}")


def read_table(table: Table, joints: MovedJoints, folder: Path) -> Trajectory:
    """The trajectory in a table {kind = ..., ...}; paths in it are relative to the folder."""
    spend("motions", 1, table.place)
    spend("nested_motions", 1, table.place)
    kind = KINDS[table.choice("kind", sorted(KINDS))]
    table.allow(kind.all_keys(degrees=not joints.stiffnesses))
    motion = MotionTable(table.data, table.place, table.error, joints=joints, folder=folder)
    file = table.data.get("file")
    found = checked(lambda: kind.read(motion), joints, table.place, file if isinstance(file, str) else "")
    spend("nested_motions", -1, table.place)
    return found


def checked(make: Callable[[], Trajectory], joints: MovedJoints, place: str, file: str) -> Trajectory:
    """A trajectory that is smooth enough for the joints, and not noisy; `place` begins every message.

    `file` is the name of a file of samples.
    """
    try:
        trajectory = make()
        if joints.stiffnesses or joints.pose:
            require_smoothness(trajectory, BASE_ORDER if joints.pose else joints.order)
        elif not joints.depth:
            require_smoothness(trajectory, robot=joints.robot)
            warn_of_units(joints.robot, trajectory)
            if isinstance(trajectory, Samples):
                require_clean(joints.robot.without_gear_losses(), trajectory, file=file)
    except InputError as error:
        if str(error).startswith(place):
            raise
        raise InputError(f"{place}: {error}") from error
    return trajectory
