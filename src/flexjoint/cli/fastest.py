"""Command `fastest`: the fastest motion along a path, or between two postures."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .completion import trajectories
from .parameters import PlotFile, ToolWrench, check_files, files_of, posture
from .report_request import ReportFile, requested
from .robot_options import RobotArgument, without_gear_losses
from .tables import Table

if TYPE_CHECKING:
    from ..robot import Robot
    from ..trajectory import FastestMotion, Trajectory

SAMPLES = 500  # periods of the figure and of the report


@command()
def fastest(
    robot: RobotArgument,
    path: Annotated[
        str,
        typer.Argument(
            help="Path: a .toml, .csv or .npz file, or '{kind = ..., ...}'; its times do not count.",
            autocompletion=trajectories,
        ),
    ] = "",
    start: Annotated[
        str, typer.Option("--from", help="First posture, rad or m: one number for all joints, or one per joint.")
    ] = "",
    goal: Annotated[str, typer.Option("--to", help="Last posture, as --from; the path between is free.")] = "",
    free: Annotated[bool, typer.Option("--free", help="Keep only the ends of PATH; the way between is free.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Trajectory to write: .toml, for all other commands.")
    ] = None,
    plot: PlotFile = None,
    report: ReportFile = None,
    intervals: Annotated[int | None, typer.Option(help="Intervals of the splines; default 40 or more.")] = None,
    wrench: ToolWrench = None,
) -> CommandResult:
    """Find the fastest motion along a path or between two postures.

    Ctrl-C ends the search: the motion so far is made feasible and shown.
    """
    from ..analysis.torque_table import motor_table
    from ..plots import check_plot_path, plot_motors
    from ..reports import check_report_path
    from ..trajectory import save_trajectory, time_optimal
    from ..trajectory.saving import check_trajectory_path

    check_files((output, check_trajectory_path), (plot, check_plot_path), (report, check_report_path))
    robot = without_gear_losses(robot, "inverse dynamics")
    motion = given_path(robot, path, start, goal)
    options: dict[str, Any] = {"free": free or not path, "wrench": wrench, "intervals": intervals}
    found = time_optimal(robot, motion, **options)
    if output is not None:
        save_trajectory(found.trajectory, output)
    active = active_table(found)
    page = None
    if plot is not None or report is not None:
        table = motor_table(robot, found.trajectory, found.duration / SAMPLES, wrench=wrench)
        if plot is not None:
            plot_motors(table, plot)
        page = requested(report, table, tables=[active])
    summary = [
        f"{robot.name}: fastest motion {found.duration:.7g} s, {found.gain:.4g} times faster than by uniform scaling, "
        f"{found.uniform:.7g} s",
        f"largest violation of a limit at {found.certificate.samples} times: {found.certificate.excess:.2g}; "
        f"IPOPT: {found.status}, {found.iterations} iterations",
    ]
    return CommandResult([*summary, active], data(robot, found), files_of(output, plot), report=page)


def given_path(robot: Robot, path: str, start: str, goal: str) -> Trajectory | list[Any]:
    """Return the path of PATH, or the postures of --from and --to."""
    from ..errors import InputError
    from ..trajectory import load_trajectory

    if bool(path) == bool(start or goal) or bool(start) != bool(goal):
        raise InputError("give a PATH, or --from and --to")
    if path:
        return load_trajectory(path, robot)
    return [posture("--from", start, robot.n), posture("--to", goal, robot.n)]


def active_table(found: FastestMotion) -> Table:
    """When which limit is active."""
    rows = [[x.quantity, x.joint, f"{x.start:.4g} s", f"{x.end:.4g} s"] for x in found.certificate.active]
    return Table(["limit within 1 %", "joint", "from", "to"], rows)


def data(robot: Robot, found: FastestMotion) -> dict[str, Any]:
    """The result for programs."""
    return {
        "robot": robot.name,
        "duration_s": found.duration,
        "uniform_duration_s": found.uniform,
        "gain": found.gain,
        "status": found.status,
        "iterations": found.iterations,
        "certificate": asdict(found.certificate),
    }
