"""Command `drives new`: a drive file to fill in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import app, command, help_without_command
from .command_result import CommandResult
from .parameters import files_of
from .robot_options import RobotArgument
from .standard_output import STREAM, standard_output

drives = typer.Typer(help="Write files of motors and springs.", invoke_without_command=True, rich_markup_mode=None)
drives.callback()(help_without_command)
app.add_typer(drives, name="drives")


@command(drives, "new")
def new_drives(
    robot: RobotArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write, such as x.drives.toml; - is standard output.")
    ] = None,
) -> CommandResult:
    """Write a drive file with every joint and key.

    It has the numbers of the robot; keys that the robot does not have are commented out. An existing file is not
    replaced.
    """
    from ..errors import InputError
    from ..formats import DriveFile

    if output is not None and output != STREAM and output.exists():
        raise InputError(f"{output} exists already: give another name, or remove it first")
    file = DriveFile.new(robot)
    if output == STREAM:
        with standard_output() as stream:
            stream.write(file.text.encode())
    elif output is not None:
        file.write(output)
    shown = [file.text.rstrip("\n")] if output is None else []
    return CommandResult(shown, {"robot": robot.name, "text": file.text}, files_of(output))
