"""Command `torques`: motor torque, position and deflection along a trajectory."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .parameters import PlotFile, StiffnessName, ToolWrench, TrajectoryName, check_files, files_of, key_values
from .progress import progress_bar
from .report_request import ReportFile, requested
from .robot_options import RobotArgument, without_gear_losses
from .standard_output import STREAM, send_csv

if TYPE_CHECKING:
    from ..analysis.torque_table import JointTable
    from ..robot import Robot
    from ..trajectory import Trajectory


@command(uncertain="sensitivity")
def torques(
    robot: RobotArgument,
    trajectory: TrajectoryName,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Table to write: .csv, .npz, .parquet; - is CSV on standard output."),
    ] = None,
    plot: PlotFile = None,
    report: ReportFile = None,
    period: Annotated[float, typer.Option(help="Sampling period, s.")] = 1e-3,
    rigid: Annotated[bool, typer.Option("--rigid", help="Compare with the robot with rigid joints.")] = False,
    wrench: ToolWrench = None,
    stiffness: StiffnessName = None,
    sensitivity: Annotated[
        list[str] | None,
        typer.Option(help="Uncertain parameter, such as '*.mass=5%'; may be repeated.", metavar="PATH=DEVIATION"),
    ] = None,
) -> CommandResult:
    """Compute motor torques and deflections along a trajectory."""
    from ..analysis.torque_table import sample_times
    from ..plots import check_plot_path, plot_motors
    from ..reports import check_report_path, content_of
    from ..results import check_table_path, write_table
    from ..trajectory import load_trajectory

    check_files((output, check_table_path), (plot, check_plot_path), (report, check_report_path))
    robot = without_gear_losses(robot, "inverse dynamics")
    motion = load_trajectory(trajectory, robot)
    samples = sample_times(motion.duration, period).size
    with progress_bar() as progress:
        advance = partial(progress.advance, progress.add_task("computing", total=samples))
        deviations = key_values("--sensitivity", sensitivity or [], "'*.mass=5%' or link1.mass=0.2")
        options: dict[str, Any] = {"wrench": wrench, "uncertain": deviations, "progress": advance}
        table = computed(robot, motion, stiffness, period, rigid, options)
        if output is not None and output != STREAM:
            advance = partial(progress.advance, progress.add_task(f"writing {output}", total=samples))
            write_table(table, output, advance)
        if plot is not None:
            progress.add_task(f"drawing {plot}", total=None)
            plot_motors(table, plot)
    if output == STREAM:
        send_csv(table)
    page = requested(report, table)
    return CommandResult(content_of(table).shown, peaks(table), files_of(output, plot), report=page)


def computed(
    robot: Robot, motion: Trajectory, stiffness: str | None, period: float, rigid: bool, options: dict[str, Any]
) -> JointTable:
    """The table of a robot with one motor per joint, or of one with variable stiffness."""
    from ..analysis.torque_table import motor_table
    from ..analysis.variable_stiffness_table import stiffness_table
    from ..errors import InputError
    from ..trajectory import load_stiffness

    if stiffness is None:
        if any(robot.variable_stiffness):
            raise InputError(f"{robot.name} has joints with variable stiffness; give their stiffness with --stiffness")
        return motor_table(robot, motion, period, rigid=rigid, **options)
    if rigid:
        raise InputError("--rigid compares torques of one motor per joint; leave it out with --stiffness")
    return stiffness_table(robot, motion, load_stiffness(stiffness, robot, motion.duration), period, **options)


def peaks(table: JointTable) -> dict[str, Any]:
    """Largest absolute value per quantity and joint, with its unit."""
    from ..analysis.torque_table import units

    robot, largest = table.robot, table.largest()
    names = {name: units(robot, name) for name in largest}
    joints = [
        {
            "joint": joint.name,
            "largest": {name: x[i] for name, x in largest.items() if table.has(i, name)},
            "units": {name: x[i] for name, x in names.items() if table.has(i, name)},
        }
        for i, joint in enumerate(robot.joints)
    ]
    found = {"robot": robot.name, "samples": table.t.size, "duration_s": table.t[-1], "joints": joints}
    return {**found, "violations": [asdict(x) for x in table.exceeded.violations]}
