"""Command `rotors`: errors of simpler rotor models along a trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .parameters import PlotFile, TrajectoryName, check_files, files_of
from .progress import progress_bar
from .report_request import ReportFile, requested
from .robot_options import RobotArgument

if TYPE_CHECKING:
    from ..analysis.rotor_models import RotorComparison
    from ..robot import Robot
    from ..trajectory import Trajectory


@command()
def rotors(
    robot: RobotArgument,
    trajectory: TrajectoryName,
    plot: PlotFile = None,
    report: ReportFile = None,
    gear_ratio: Annotated[float | None, typer.Option(help="Gear ratio for motors without a known one.")] = None,
    tolerance: Annotated[float, typer.Option(help="Largest acceptable error, % of the peak torque.")] = 1.0,
    speeds: Annotated[str, typer.Option(help="Speed factors of the trajectory.")] = "0.5,0.7,1,1.4,2",
    samples: Annotated[int, typer.Option(help="Samples along the trajectory.")] = 1001,
) -> CommandResult:
    """Compare rotor models along a trajectory.

    The simpler models are no rotors, armature (reflected inertia) and Spong's; each is compared with the complete one
    by the error of the motor torques.
    """
    from ..analysis.rotor_models import compare_rotor_models, complete
    from ..errors import InputError
    from ..plots.figures import check_plot_path
    from ..plots.rotor_models import plot_rotor_models
    from ..reports import check_report_path, content_of

    check_files((plot, check_plot_path), (report, check_report_path))
    try:
        factors = [float(x) for x in speeds.split(",")]
    except ValueError:
        raise InputError(f"--speeds is {speeds!r}; give numbers with commas between them, such as 0.5,1,2") from None
    if not tolerance > 0:
        raise InputError(f"--tolerance is {tolerance:g}; it must be a positive number, in %, such as 1")
    model = complete(robot, gear_ratio)
    motion = smoothest_trajectory(trajectory, model)
    options: dict[str, Any] = {"speeds": factors, "samples": samples, "tolerance": tolerance / 100}
    with progress_bar() as progress:
        progress.add_task("comparing models", total=None)
        found = compare_rotor_models(model, motion, **options)
        if plot is not None:
            plot_rotor_models(found, plot)
    shown = content_of(found).shown
    return CommandResult(shown, comparison_data(found), files_of(plot), report=requested(report, found))


def smoothest_trajectory(source: str, robot: Robot) -> Trajectory:
    """Return the trajectory, smooth enough for the complete model of the robot; if that fails, for rigid joints."""
    from ..errors import InputError
    from ..trajectory import load_trajectory

    try:
        return load_trajectory(source, robot)
    except InputError:
        return load_trajectory(source, robot.rigid())


def comparison_data(comparison: RotorComparison) -> dict[str, Any]:
    """The result for programs."""
    from ..analysis.torque_table import units
    from ..reports.rotor_models import growth, worst_errors

    def at(i: int, numbers: dict[str, Any]) -> dict[str, float]:
        return {model: numbers[model][i] for model in comparison.simpler}

    torques = units(comparison.robot, "tau")
    joints = [
        {
            "joint": joint.name,
            "unit": torques[i],
            "largest_torque": comparison.peak[i],
            "errors": at(i, comparison.largest),
            "relative_errors": at(i, comparison.relative),
        }
        for i, joint in enumerate(comparison.robot.joints)
    ]
    return {
        "robot": comparison.robot.name,
        "duration_s": comparison.t[-1],
        "models": comparison.simpler,
        "tolerance": comparison.tolerance,
        "joints": joints,
        "speeds": [{"speed": speed, "worst_relative_errors": x} for speed, x in worst_errors(comparison)],
        "powers_of_speed": growth(comparison),
        "notes": comparison.notes,
        "verdict": comparison.verdict,
    }
