"""Command `resonances`: resonance, antiresonance and stiffness of each joint from logs of its motor alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .completion import logs as log_files
from .log_options import MeasuredTorque, ReadingOptions
from .parameters import PlotFile, check_files, files_of
from .robot_options import RobotArgument, without_gear_losses

if TYPE_CHECKING:
    from ..identification import Resonance
    from ..robot import Robot
    from ..tables import Table


@command(held="measured_torque")
def resonances(
    robot: RobotArgument,
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            help=".csv, .npz, .parquet, .mcap or .nc files: t, theta.JOINT, tau.JOINT.",
            autocompletion=log_files,
        ),
    ],
    reading: ReadingOptions,
    bandwidth: Annotated[
        float | None, typer.Option(help="Highest frequency that is fitted, Hz; by default 2.5 resonances.")
    ] = None,
    measured_torque: MeasuredTorque = False,
    plot: PlotFile = None,
) -> CommandResult:
    """Estimate resonances and stiffness from motors alone.

    Needs motion near the resonance, such as a chirp of one joint while the others hold.
    """
    from ..identification import find_resonances
    from ..logs import read_log
    from ..plots.figures import check_plot_path
    from ..plots.resonances import plot_resonances

    check_files((plot, check_plot_path))
    model = without_gear_losses(robot, "the identification")
    how = reading.keywords
    options: dict[str, Any] = {"bandwidth": bandwidth, "held": not measured_torque}
    found = find_resonances(model, [read_log(path, model, **how) for path in logs], **options)
    if plot is not None:
        plot_resonances(model, found, plot)
    shown: list[str | Table] = [resonance_table(model, found)]
    shown += [f"{x.joint}: {x.reason}" for x in found if not x.seen]
    return CommandResult(shown, resonance_data(model, found), files_of(plot))


def resonance_table(robot: Robot, found: list[Resonance]) -> Table:
    """The table that is shown."""
    from ..identification.estimates import with_deviation
    from ..tables import Table

    rows = [
        (
            x.joint,
            with_deviation(x.antiresonance, x.antiresonance_deviation),
            with_deviation(x.resonance, x.resonance_deviation),
            with_deviation(x.stiffness, x.stiffness_deviation),
            stiffness_unit(robot, x),
            "yes" if x.seen else "no",
        )
        for x in found
    ]
    columns = ("joint", "antiresonance, Hz", "resonance, Hz", "stiffness", "unit", "seen")
    return Table(columns, rows, title="resonances", numbers=columns[1:4])


def stiffness_unit(robot: Robot, x: Resonance) -> str:
    """Nm/rad or N/m."""
    return next(joint.kind.unit("Nm/rad | N/m") for joint in robot.joints if joint.name == x.joint)


def resonance_data(robot: Robot, found: list[Resonance]) -> dict[str, Any]:
    """The result for programs."""
    joints = [
        {
            "joint": x.joint,
            "antiresonance_hz": x.antiresonance,
            "antiresonance_deviation_hz": x.antiresonance_deviation,
            "resonance_hz": x.resonance,
            "resonance_deviation_hz": x.resonance_deviation,
            "stiffness": x.stiffness,
            "stiffness_deviation": x.stiffness_deviation,
            "unit": stiffness_unit(robot, x),
            "link_inertia": x.link_inertia,
            "motor_inertia": x.motor_inertia,
            "seen": x.seen,
            "reason": x.reason,
        }
        for x in found
    ]
    return {"robot": robot.name, "joints": joints}
