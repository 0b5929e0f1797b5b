"""What a motion asks of the motors."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .app import app, clean_errors, progress_bar

if TYPE_CHECKING:
    from rich.table import Table

    from ..results import MotorTable


@app.command()
@clean_errors
def torques(
    robot: Annotated[str, typer.Argument(help="A built-in robot or a robot file.")],
    trajectory: Annotated[str, typer.Argument(help="A .toml, .csv or .npz file, or '{kind = ..., ...}'.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Table to write: .csv, .npz, .parquet.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot to write: .png, .pdf or .svg.")] = None,
    period: Annotated[float, typer.Option(help="Sampling period, s.")] = 1e-3,
    rigid: Annotated[bool, typer.Option("--rigid", help="Compare with rigid joints.")] = False,
    wrench: Annotated[
        tuple[float, float, float, float, float, float] | None,
        typer.Option(help="Force, N, and moment, Nm, on the tool; constant in base coordinates.", metavar="6 NUMBERS"),
    ] = None,
) -> None:
    """Motor torques, motor positions and deflections along a motion of the links."""
    from rich.console import Console

    from ..loading import load
    from ..results import check_plot_path, check_table_path, motor_table, plot_motors, sample_times, write_table
    from ..trajectory import load_trajectory

    for path, check in ((output, check_table_path), (plot, check_plot_path)):
        if path is not None:
            check(path)
    model = load(robot)
    motion = load_trajectory(trajectory, model)
    samples = sample_times(motion.duration, period).size
    with progress_bar() as progress:
        advance = partial(progress.advance, progress.add_task("computing", total=samples))
        table = motor_table(model, motion, period, rigid=rigid, wrench=wrench, progress=advance)
        if output is not None:
            advance = partial(progress.advance, progress.add_task(f"writing {output}", total=samples))
            write_table(table, output, advance)
        if plot is not None:
            progress.add_task(f"drawing {plot}", total=None)
            plot_motors(table, plot)
    typer.echo(f"{model.name}: largest values of {samples} samples in {table.t[-1]:g} s")
    Console().print(peak_table(table))
    for path in (output, plot):
        if path is not None:
            typer.echo(f"wrote {path}")


def peak_table(table: MotorTable) -> Table:
    """The largest torque and deflection of each joint."""
    from rich.box import SIMPLE
    from rich.table import Table

    from ..results import panels

    shown = Table(box=SIMPLE)
    shown.add_column("joint")
    found = panels(table)
    for panel in found:
        shown.add_column(panel.title, justify="right")
    for i, joint in enumerate(table.robot.joints):
        shown.add_row(joint.name, *(f"{abs(x.values[:, i]).max():.4g} {x.units[i]}" for x in found))
    return shown
