"""Command `rotors`: errors of simpler rotor models along a trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .parameters import PlotFile, TrajectoryName, check_files, files_of
from .progress import progress_bar
from .robot_options import RobotArgument
from .tables import Table

if TYPE_CHECKING:
    from ..analysis.rotor_models import RotorComparison
    from ..robot import Robot
    from ..trajectory import Trajectory


@command()
def rotors(
    robot: RobotArgument,
    trajectory: TrajectoryName,
    plot: PlotFile = None,
    gear_ratio: Annotated[float | None, typer.Option(help="Gear ratio of motors that have none.")] = None,
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

    check_files((plot, check_plot_path))
    try:
        factors = [float(x) for x in speeds.split(",")]
    except ValueError:
        raise InputError(f"--speeds is {speeds!r}; give numbers with commas between them, such as 0.5,1,2") from None
    if not tolerance > 0:
        raise InputError(f"--tolerance is {tolerance:g}; it must be a positive number, in %, such as 1")
    model = complete(robot, gear_ratio)
    motion = smoothest_trajectory(trajectory, model)
    with progress_bar() as progress:
        progress.add_task("comparing models", total=None)
        options = {"speeds": factors, "samples": samples, "tolerance": tolerance / 100}
        found = compare_rotor_models(model, motion, **options)  # type: ignore[arg-type]
        if plot is not None:
            plot_rotor_models(found, plot)
    notes = [f"note: {' '.join(note.split())}" for note in found.notes]
    shown: list[str | Table] = [error_table(found), relative_table(found), *notes, found.verdict]
    return CommandResult(shown, comparison_data(found), files_of(plot))


def smoothest_trajectory(source: str, robot: Robot) -> Trajectory:
    """The trajectory, smooth enough for the complete model of the robot; if that fails, for rigid joints."""
    from ..errors import InputError
    from ..trajectory import load_trajectory

    try:
        return load_trajectory(source, robot)
    except InputError:
        return load_trajectory(source, robot.rigid())


def error_table(comparison: RotorComparison) -> Table:
    """Largest error per model and joint."""
    from ..analysis.torque_table import units

    rows = []
    for i, (joint, unit) in enumerate(zip(comparison.robot.joints, units(comparison.robot, "tau"))):
        errors = [f"{comparison.largest[model][i]:.3g} {unit}" for model in comparison.simpler]
        rows.append([joint.name, f"{comparison.peak[i]:.4g} {unit}", *errors])
    models = ["complete model", *comparison.simpler]
    title = f"{comparison.robot.name}: largest torques and errors in {comparison.t[-1]:g} s"
    return Table(["joint", *models], rows, title, numbers=models)


def relative_table(comparison: RotorComparison) -> Table:
    """Errors as a share of the peak torque, per joint and at the worst joint per speed; exponents of their growth."""
    from ..analysis.rotor_models import percent

    rows = [
        [joint.name, *(percent(comparison.relative[model][i]) for model in comparison.simpler)]
        for i, joint in enumerate(comparison.robot.joints)
    ]
    gaps = [len(rows), len(rows) + len(comparison.speeds)]
    for speed, worst in worst_errors(comparison):
        rows.append([f"worst joint, speed × {speed:g}", *map(percent, worst.values())])
    powers = growth(comparison).values()
    rows.append(["error grows as speed^", *("-" if x is None else f"{x[0]:.1f} to {x[1]:.1f}" for x in powers)])
    title = "errors, share of the joint's peak torque"
    return Table(["", *comparison.simpler], rows, title, numbers=comparison.simpler, gaps=gaps)


def worst_errors(comparison: RotorComparison) -> list[tuple[float, dict[str, float]]]:
    """Relative error of the worst joint by model, per speed."""
    from ..analysis.rotor_models import share

    return [
        (speed, {model: share(comparison.growth[model][k], comparison.peaks[k]).max() for model in comparison.simpler})
        for k, speed in enumerate(comparison.speeds.tolist())
    ]


def growth(comparison: RotorComparison) -> dict[str, tuple[float, float] | None]:
    """Smallest and largest exponent of speed with which errors grow, by model; None without errors."""
    import numpy as np

    powers = {model: comparison.exponents(model) for model in comparison.simpler}
    powers = {model: x[np.isfinite(x)] for model, x in powers.items()}
    return {model: (float(x.min()), float(x.max())) if x.size else None for model, x in powers.items()}


def comparison_data(comparison: RotorComparison) -> dict[str, Any]:
    """The result for programs."""
    from ..analysis.torque_table import units

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
