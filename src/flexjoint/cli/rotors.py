"""Armature or full rotor?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .app import app, clean_errors, progress_bar

if TYPE_CHECKING:
    from rich.table import Table

    from ..results import RotorComparison
    from ..robot import Robot
    from ..trajectory import Trajectory


@app.command()
@clean_errors
def rotors(
    robot: Annotated[str, typer.Argument(help="A built-in robot or a robot file.")],
    trajectory: Annotated[str, typer.Argument(help="A .toml, .csv or .npz file, or '{kind = ..., ...}'.")],
    plot: Annotated[Path | None, typer.Option(help="Plot to write: .png, .pdf or .svg.")] = None,
    gear_ratio: Annotated[float | None, typer.Option(help="Assumed for motors whose own is not known.")] = None,
    tolerance: Annotated[float, typer.Option(help="Error that is good enough, in % of the peak torque.")] = 1.0,
    speeds: Annotated[str, typer.Option(help="Further speeds, as multiples of the motion's own.")] = "0.5,0.7,1,1.4,2",
    samples: Annotated[int, typer.Option(help="Samples along the motion.")] = 1001,
) -> None:
    """What simpler models of the rotors cost along a motion: no rotors, an armature, Spong's model."""
    from rich.console import Console

    from ..errors import InputError
    from ..loading import load
    from ..results import check_plot_path, compare_rotor_models, plot_rotor_models
    from ..results.rotor_models import complete

    if plot is not None:
        check_plot_path(plot)
    try:
        factors = [float(x) for x in speeds.split(",")]
    except ValueError:
        raise InputError(f"--speeds is {speeds!r}; give numbers with commas between them, such as 0.5,1,2") from None
    model = complete(load(robot), gear_ratio)
    motion = as_smooth_as_can_be(trajectory, model)
    with progress_bar() as progress:
        progress.add_task("comparing models", total=None)
        options = {"speeds": factors, "samples": samples, "tolerance": tolerance / 100}
        found = compare_rotor_models(model, motion, **options)  # type: ignore[arg-type]
        if plot is not None:
            plot_rotor_models(found, plot)
    console = Console()
    console.print(error_table(found))
    console.print(relative_table(found))
    for note in found.notes:
        typer.echo(f"note: {' '.join(note.split())}")
    typer.echo(found.verdict)
    if plot is not None:
        typer.echo(f"wrote {plot}")


def as_smooth_as_can_be(source: str, robot: Robot) -> Trajectory:
    """The motion, smooth enough for the complete model of the robot; if it cannot be, for its rigid joints."""
    from ..errors import InputError
    from ..trajectory import load_trajectory

    try:
        return load_trajectory(source, robot)
    except InputError:
        return load_trajectory(source, robot.rigid())


def error_table(comparison: RotorComparison) -> Table:
    """The largest error of each model at each joint."""
    from rich.box import SIMPLE
    from rich.table import Table

    from ..results.table import units

    table = Table(box=SIMPLE, title=f"{comparison.robot.name}: largest torques and errors along {comparison.t[-1]:g} s")
    for heading in ("joint", "complete model", *comparison.simpler):
        table.add_column(heading, justify="left" if heading == "joint" else "right", no_wrap=True)
    for i, (joint, unit) in enumerate(zip(comparison.robot.joints, units(comparison.robot, "tau"))):
        errors = [f"{comparison.largest[model][i]:.3g}" for model in comparison.simpler]
        table.add_row(joint.name, f"{comparison.peak[i]:.4g} {unit}", *errors)
    return table


def relative_table(comparison: RotorComparison) -> Table:
    """Errors of the peak torque, of each joint and of the worst one at each speed; powers of the speed they grow as."""
    import numpy as np
    from rich.box import SIMPLE
    from rich.table import Table

    from ..results.rotor_models import percent, share

    table = Table(box=SIMPLE, title="errors, of the joint's largest torque")
    for heading in ("", *comparison.simpler):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for i, joint in enumerate(comparison.robot.joints):
        table.add_row(joint.name, *(percent(comparison.relative[model][i]) for model in comparison.simpler))
    table.add_section()
    for k, speed in enumerate(comparison.speeds):
        worst = [share(comparison.growth[model][k], comparison.peaks[k]).max() for model in comparison.simpler]
        table.add_row(f"worst, speed × {speed:g}", *map(percent, worst))
    table.add_section()
    powers = [comparison.exponents(model) for model in comparison.simpler]
    powers = [x[np.isfinite(x)] for x in powers]
    table.add_row("Nm grow as speed^", *(f"{x.min():.1f} to {x.max():.1f}" if x.size else "-" for x in powers))
    return table
