"""What a motion asks of the motors."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import app, clean_errors, progress_bar

if TYPE_CHECKING:
    from rich.table import Table

    from ..results import JointTable
    from ..robot import Robot
    from ..trajectory import Trajectory


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
    stiffness: Annotated[
        str | None, typer.Option(help="Of joints with variable stiffness: a number, or as the trajectory.")
    ] = None,
    sensitivity: Annotated[
        list[str] | None,
        typer.Option(help="An uncertain parameter, such as '*.mass=5%'; may be repeated.", metavar="PATH=DEVIATION"),
    ] = None,
) -> None:
    """Motor torques, motor positions and deflections along a motion of the links."""
    from rich.console import Console

    from ..loading import load
    from ..results import check_plot_path, check_table_path, plot_motors, sample_times, write_table
    from ..trajectory import load_trajectory

    for path, check in ((output, check_table_path), (plot, check_plot_path)):
        if path is not None:
            check(path)
    model = load(robot)
    motion = load_trajectory(trajectory, model)
    samples = sample_times(motion.duration, period).size
    with progress_bar() as progress:
        advance = partial(progress.advance, progress.add_task("computing", total=samples))
        options = {"wrench": wrench, "uncertain": uncertain(sensitivity or []), "progress": advance}
        table = computed(model, motion, stiffness, period, rigid, options)
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


def computed(
    robot: Robot, motion: Trajectory, stiffness: str | None, period: float, rigid: bool, options: dict[str, Any]
) -> JointTable:
    """The table of a robot with one motor a joint, or of one with joints of variable stiffness."""
    from ..errors import InputError
    from ..results import motor_table, stiffness_table
    from ..trajectory import load_stiffness

    if stiffness is None:
        if any(robot.antagonistic):
            raise InputError(f"{robot.name} has joints of variable stiffness; say how stiff with --stiffness")
        return motor_table(robot, motion, period, rigid=rigid, **options)
    if rigid:
        raise InputError("--rigid compares torques of one motor a joint; leave it out with --stiffness")
    return stiffness_table(robot, motion, load_stiffness(stiffness, robot, motion.duration), period, **options)


def uncertain(given: list[str]) -> dict[str, str]:
    """Deviations by path or pattern."""
    from ..errors import InputError

    found: dict[str, str] = {}
    for text in given:
        path, equals, deviation = (part.strip() for part in text.rpartition("="))
        if not equals or not path or path in found:
            raise InputError(f"--sensitivity {text}: give a parameter once, as '*.mass=5%' or 'link1.mass=0.2'")
        found[path] = deviation
    return found


def peak_table(table: JointTable) -> Table:
    """The largest of what is plotted of each joint: of one motor or the other, and of errors their bound."""
    from rich.box import SIMPLE
    from rich.table import Table

    from ..results import panels

    shown = Table(box=SIMPLE)
    shown.add_column("joint")
    found = panels(table)
    for panel in found:
        shown.add_column(panel.title, justify="right")
    for i, joint in enumerate(table.robot.joints):
        shown.add_row(joint.name, *(f"{x.largest(i):.4g} {x.units[i]}" for x in found))
    return shown
