"""Command `record`: the noise of a recorded motion, a cutoff, and the torque error it leaves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .parameters import PlotFile, check_files, files_of
from .progress import progress_bar
from .report_request import ReportFile, requested
from .robot_options import RobotArgument, without_gear_losses

if TYPE_CHECKING:
    from ..trajectory import RecordAssessment


@command()
def record(
    robot: RobotArgument,
    file: Annotated[Path, typer.Argument(help="Recorded positions: a .csv or .npz file.")],
    cutoff: Annotated[float | None, typer.Option(help="Cutoff, Hz; default the one with the smallest error.")] = None,
    stiffness: Annotated[
        str | None,
        typer.Option(help="Stiffness of joints with variable stiffness, Nm/rad or N/m: a number, or a trajectory."),
    ] = None,
    plot: PlotFile = None,
    report: ReportFile = None,
) -> CommandResult:
    """Measure the noise of a recorded motion, and propose a cutoff.

    Shows the noise per joint, the torque it makes, and the torque error that the cutoff leaves.
    """
    from ..plots import check_plot_path, plot_record
    from ..reports import check_report_path, content_of
    from ..trajectory import assess_record, load_record, load_stiffness

    check_files((plot, check_plot_path), (report, check_report_path))
    robot = without_gear_losses(robot, "inverse dynamics")
    samples = load_record(file, robot)
    held = None if stiffness is None else load_stiffness(stiffness, robot, samples.duration)
    with progress_bar() as progress:
        progress.add_task("filtering", total=None)
        found = assess_record(robot, samples, held, cutoff)
        if plot is not None:
            plot_record(found, plot)
    page = requested(report, found)
    return CommandResult(content_of(found).shown, data(found), files_of(plot), report=page)


def data(found: RecordAssessment) -> dict[str, Any]:
    """A record for programs."""
    robot, level, best = found.robot, found.level, found.best
    joints = [
        {"joint": joint.name, "noise": level.sigma[i], "step": level.step[i], "unit": joint.kind.unit("rad | m")}
        for i, joint in enumerate(robot.joints)
    ]
    motors = [
        {
            "motor": name,
            "unfiltered_noise_torque": found.unfiltered[k],
            "torque": best.torque[k],
            "error": best.total[k],
            "noise": best.noise[k],
            "bias": best.bias[k],
            "unit": robot.motor_kinds[k].unit("Nm | N"),
        }
        for k, name in enumerate(robot.motor_names)
    ]
    return {
        "robot": robot.name,
        "samples": found.record.times.size,
        "duration_s": found.record.duration,
        "noisy": found.noisy,
        "cutoff_hz": found.cutoff,
        "joints": joints,
        "motors": motors,
        "outliers": [x._asdict() for x in level.outliers],
        "gaps_s": level.gaps,
    }
