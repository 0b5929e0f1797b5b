"""Command `export-mjcf`: a robot with its motors and springs for MuJoCo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .parameters import files_of
from .robot_options import RobotArgument
from .standard_output import STREAM, standard_output
from .tables import Table


@command(name="export-mjcf")
def export_mjcf(
    robot: RobotArgument,
    output: Annotated[Path, typer.Argument(metavar="FILE", help="File to write, x.xml; - is standard output.")],
    timestep: Annotated[float, typer.Option(help="Step of MuJoCo, s.")] = 1e-3,
    limits: Annotated[bool, typer.Option(help="Write limits of position and effort.")] = True,
    coulomb: Annotated[str, typer.Option(help="Coulomb friction: frictionloss or none.")] = "frictionloss",
    geometry: Annotated[bool, typer.Option(help="Write meshes and bodies of the robot file.")] = True,
    contacts: Annotated[bool, typer.Option("--contacts", help="Let collision geometry touch.")] = False,
) -> CommandResult:
    """Write a robot with its motors and springs for MuJoCo.

    What MuJoCo cannot express is listed; --strict makes it an error.
    """
    from ..errors import warn
    from ..formats import mjcf_model, write_mjcf
    from ..formats.mjcf.writing import summary

    options: dict[str, Any] = {"timestep": timestep, "limits": limits, "coulomb": coulomb, "contacts": contacts}
    if not geometry:
        options["geometry"] = {}
    if output == STREAM:
        model = mjcf_model(robot, **options)
        if message := summary(robot, model.report):
            warn(message)
        with standard_output() as stream:
            stream.write(model.text.encode())
    else:
        model = write_mjcf(robot, output, **options)
    places: dict[tuple[str, str, str], list[str]] = {}
    for x in model.report:
        places.setdefault((x.level, x.what, x.reason), []).append(x.where)
    rows = [[level, what, reason, ", ".join(where)] for (level, what, reason), where in places.items()]
    shown: list[str | Table] = [f"joints in qpos: {', '.join(model.joints)}"]
    if rows:
        shown.append(Table(["", "what", "reason", "where"], rows, title="different in MuJoCo"))
    data = {"robot": robot.name, "joints": model.joints, "report": [x._asdict() for x in model.report]}
    return CommandResult(shown, data, files_of(output))
