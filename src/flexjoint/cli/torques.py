"""What a motion asks of the motors."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .completion import robots, trajectories
from .progress import progress_bar
from .standard_output import STREAM, standard_output
from .tables import Table

if TYPE_CHECKING:
    from ..analysis.torque_table import JointTable
    from ..robot import Robot
    from ..trajectory import Trajectory


@command(uncertain="sensitivity")
def torques(
    robot: Annotated[str, typer.Argument(help="A built-in robot or a robot file.", autocompletion=robots)],
    trajectory: Annotated[
        str,
        typer.Argument(help="A .toml, .csv or .npz file, or '{kind = ..., ...}'.", autocompletion=trajectories),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Table to write: .csv, .npz, .parquet; - is CSV on standard output."),
    ] = None,
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
) -> CommandResult:
    """Compute motor torques and deflections along a motion."""
    from ..analysis.torque_table import sample_times
    from ..formats import load
    from ..plots import check_plot_path, plot_motors
    from ..results import check_table_path, write_csv, write_table
    from ..trajectory import load_trajectory

    for path, check in ((output, check_table_path), (plot, check_plot_path)):
        if path is not None and path != STREAM:
            check(path)
    model = load(robot)
    motion = load_trajectory(trajectory, model)
    samples = sample_times(motion.duration, period).size
    with progress_bar() as progress:
        advance = partial(progress.advance, progress.add_task("computing", total=samples))
        options = {"wrench": wrench, "uncertain": uncertain(sensitivity or []), "progress": advance}
        table = computed(model, motion, stiffness, period, rigid, options)
        if output is not None and output != STREAM:
            advance = partial(progress.advance, progress.add_task(f"writing {output}", total=samples))
            write_table(table, output, advance)
        if plot is not None:
            progress.add_task(f"drawing {plot}", total=None)
            plot_motors(table, plot)
    if output == STREAM:
        with standard_output() as file:
            write_csv(table, file)
    summary = f"{model.name}: largest values of {samples} samples in {table.t[-1]:g} s"
    files = [path for path in (output, plot) if path is not None and path != STREAM]
    return CommandResult([summary, peak_table(table)], peaks(table), files)


def computed(
    robot: Robot, motion: Trajectory, stiffness: str | None, period: float, rigid: bool, options: dict[str, Any]
) -> JointTable:
    """The table of a robot with one motor a joint, or of one with joints of variable stiffness."""
    from ..analysis.torque_table import motor_table
    from ..analysis.variable_stiffness_table import stiffness_table
    from ..errors import InputError
    from ..trajectory import load_stiffness

    if stiffness is None:
        if any(robot.variable_stiffness):
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
    from ..plots import panels

    found = panels(table)
    rows = [
        [joint.name, *(f"{x.largest(i):.4g} {x.units[i]}" for x in found)] for i, joint in enumerate(table.robot.joints)
    ]
    titles = [x.title for x in found]
    return Table(["joint", *titles], rows, numbers=titles)


def peaks(table: JointTable) -> dict[str, Any]:
    """The largest absolute value of each quantity in the table, joint by joint, with its unit."""
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
    return {"robot": robot.name, "samples": table.t.size, "duration_s": table.t[-1], "joints": joints}
