"""Command `info`: what was understood of a robot."""

from __future__ import annotations

from typing import Annotated

import typer

from .app import command
from .command_result import CommandResult
from .parameters import PlotFile, check_files, files_of
from .robot_data import operation_counts, parameter_data, robot_data
from .robot_options import RobotArgument
from .robot_tables import ON_REQUEST, SECTIONS, overview, parameter_table
from .tables import Table


def section_names(incomplete: str) -> list[str]:
    """Sections for the completion of shells."""
    return [name for name in SECTIONS if name.startswith(incomplete)]


@command()
def info(
    robot: RobotArgument,
    section: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Show only this: {', '.join(SECTIONS)}; may be repeated.",
            autocompletion=section_names,
        ),
    ] = None,
    plot: PlotFile = None,
    operations: Annotated[bool, typer.Option("--operations", help="Count operations of the main algorithms.")] = False,
    parameters: Annotated[bool, typer.Option("--parameters", help="List the paths of all parameters.")] = False,
) -> CommandResult:
    """Show what was understood of a robot.

    The option --plot draws the robot at q = 0.
    """
    from ..analysis import robot_overview
    from ..errors import InputError, listed
    from ..plots.figures import check_plot_path

    for name in section or ():
        if name not in SECTIONS:
            raise InputError(f"--section is {name!r}; the sections are {listed(SECTIONS)}")
    check_files((plot, check_plot_path))
    found = robot_overview(robot)
    shown: list[str | Table] = overview(found)
    for name, show in SECTIONS.items():
        if name in section if section else name not in ON_REQUEST:
            shown += show(found)
    data = robot_data(found)
    if operations:
        data["operations"] = operation_counts(robot)
        rows = [[name, str(count)] for name, count in data["operations"].items()]
        shown.append(Table(["algorithm", "operations"], rows, numbers=["operations"]))
    if parameters:
        shown.append(parameter_table(robot))
        data["parameters"] = parameter_data(robot)
    if plot is not None:
        from ..viewer import plot_robot

        plot_robot(robot, plot)
    return CommandResult(shown, data, files_of(plot))
