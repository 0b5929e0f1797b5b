"""Command `ik`: joint positions at which a frame of the robot reaches given poses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import UNSOLVED, command
from .command_result import CommandResult
from .completion import pose_files
from .parameters import check_files, files_of, posture
from .progress import progress_bar
from .robot_options import RobotArgument
from .standard_output import STREAM, send_csv
from .tables import Table

if TYPE_CHECKING:
    from ..kinematics import Postures
    from ..robot import Robot

LISTED = 20  # poses without solution that are shown


@command()
def ik(
    robot: RobotArgument,
    poses: Annotated[
        str,
        typer.Argument(
            help="'{position = [0.4, 0, 0.5], rpy_deg = [180, 0, 0]}', or a .csv or .toml file of poses.",
            autocompletion=pose_files,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Table to write: .csv, .npz, .parquet; - is CSV on standard output."),
    ] = None,
    link: Annotated[str | None, typer.Option(help="Name of the link; default the tool.")] = None,
    frame: Annotated[str | None, typer.Option(help="Frame on the link, '{position = ..., rpy_deg = ...}'.")] = None,
    counting: Annotated[
        str, typer.Option("--position", help="Coordinates of the position that count, such as xy.", metavar="XYZ")
    ] = "xyz",
    orientation: Annotated[
        str | None, typer.Option(help="What counts of the orientation: full, free, x, y or z.", metavar="WHAT")
    ] = None,
    nearest_to: Annotated[
        str | None,
        typer.Option(help="Prefer postures near this one, rad or m: one number, or one per joint.", metavar="Q"),
    ] = None,
    away_from_limits: Annotated[bool, typer.Option("--away-from-limits", help="Prefer the middle of limits.")] = False,
    tolerance: Annotated[float, typer.Option(help="Greatest error of a solution, m and rad.")] = 1e-10,
    attempts: Annotated[int, typer.Option(help="Greatest number of starts per pose.")] = 100,
    threads: Annotated[int, typer.Option(help="Number of threads.")] = 1,
) -> CommandResult:
    """Find joint positions at which the tool reaches poses.

    Exit code 4 if a pose has no solution: out of reach, which is proved, or not found.
    """
    from ..kinematics import inverse_kinematics, load_poses, parse_pose
    from ..results import PostureTable, check_table_path, write_table

    check_files((output, check_table_path))
    with progress_bar():
        found = inverse_kinematics(
            robot,
            load_poses(poses),
            link=link,
            frame=None if frame is None else parse_pose(frame, "--frame"),
            position=counting,
            orientation=orientation,
            nearest_to=None if nearest_to is None else posture("--nearest-to", nearest_to, robot.n),
            away_from_limits=away_from_limits,
            tolerance=tolerance,
            attempts=attempts,
            threads=threads,
        )
    table = PostureTable(robot, found)
    if output == STREAM:
        send_csv(table)
    elif output is not None:
        write_table(table, output)
    shown = one_pose(robot, found) if not found.status.shape else many_poses(found)
    unsolved = int(found.solved.size - found.solved.sum())
    trouble = f"{unsolved} of {found.solved.size} poses without solution" if unsolved else ""
    return CommandResult(shown, data_of(robot, link, found), files_of(output), UNSOLVED if unsolved else 0, trouble)


def one_pose(robot: Robot, found: Postures) -> list[str | Table]:
    """The status, and the posture joint by joint; the best one if there is no solution."""
    errors = f"errors {float(found.position_error):.2g} m and {float(found.rotation_error):.2g} rad"
    starts = f"after {int(found.starts)} start{'s' * (int(found.starts) != 1)}"
    best = "" if found.solved.all() else "; the best posture found:"
    rows = []
    for joint, x in zip(robot.joints, found.best.tolist()):
        unit, size = ("°", math.pi / 180) if joint.kind.angular else (" mm", 1e-3)
        ends = joint.limits.lower, joint.limits.upper
        limits = [f"{y / size:.6g}{unit}" if math.isfinite(y) else "" for y in ends]
        rows.append([joint.name, f"{x:.10g} {joint.kind.unit('rad | m')}", f"{x / size:.6f}{unit}", *limits])
    columns = zip(["joint", "q", "position", "lower", "upper"], zip(*rows))
    headings, cells = zip(*((name, column) for name, column in columns if any(column)))  # without those of no limits
    table = Table(headings, [list(row) for row in zip(*cells)], numbers=headings[1:])
    return [f"{robot.name}: {found.status} {starts}, {errors}{best}", table]


def many_poses(found: Postures) -> list[str | Table]:
    """How many poses have each status, and the first ones without solution."""
    import numpy as np

    from ..kinematics.postures import STATUSES

    counts = [[name, str(int(np.sum(found.status == name)))] for name in STATUSES]
    solved = found.solved
    shown: list[str | Table] = [Table(["status", "poses"], counts, numbers=["poses"])]
    if solved.any():
        errors = [float(np.max(x[solved])) for x in (found.position_error, found.rotation_error)]
        shown.append(f"largest errors of solutions: {errors[0]:.2g} m and {errors[1]:.2g} rad")
    unsolved = np.flatnonzero(~solved)
    if unsolved.size:
        rows = [
            [str(k + 1), str(found.status[k]), f"{found.position_error[k]:.4g} m", f"{found.rotation_error[k]:.4g} rad"]
            for k in unsolved[:LISTED].tolist()
        ]
        note = f"and {unsolved.size - LISTED} more" if unsolved.size > LISTED else ""
        headings = ["pose", "status", "best misses by", "and by"]
        shown.append(Table(headings, rows, "poses without solution:", note, ["pose", *headings[2:]]))
    return shown


def data_of(robot: Robot, link: str | None, found: Postures) -> dict[str, Any]:
    """The result for programs: one entry per pose."""
    poses = zip(
        found.status.ravel().tolist(),
        found.q.reshape(-1, robot.n).tolist(),
        found.best.reshape(-1, robot.n).tolist(),
        found.position_error.ravel().tolist(),
        found.rotation_error.ravel().tolist(),
        found.starts.ravel().tolist(),
    )
    keys = ("status", "q", "best", "position_error_m", "rotation_error_rad", "starts")
    return {
        "robot": robot.name,
        "link": robot.links[robot.link_index(link)].name,
        "joints": [joint.name for joint in robot.joints],
        "units": [joint.kind.unit("rad | m") for joint in robot.joints],
        "solved": int(found.solved.sum()),
        "poses": [dict(zip(keys, pose)) for pose in poses],
    }
