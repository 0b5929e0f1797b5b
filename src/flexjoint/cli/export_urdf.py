"""Command `export-urdf`: a robot as URDF and drive file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .parameters import files_of
from .robot_options import Request, RobotRequest, loaded_robot


@command(name="export-urdf", drives="drives_out")
def export_urdf(
    robot: RobotRequest,
    file: Annotated[Path, typer.Argument(help="URDF to write.", metavar="FILE.urdf")],
    drives_out: Annotated[
        Path | None, typer.Option("--drives-out", metavar="FILE", help="Drive file for what URDF cannot say.")
    ] = None,
) -> CommandResult:
    """Write a robot as a URDF file and a drive file.

    Both together give the same robot back: flexjoint info FILE.urdf --drives FILE. What the files do not hold is
    shown. Visual and collision bodies of a URDF are kept.
    """
    from ..formats import write_urdf

    asked: Request = robot
    known = loaded_robot(*asked)
    report = write_urdf(known, file, drives_out, **described_bodies(asked))
    lost = [{"what": x.what, "reason": x.reason} for x in report]
    return CommandResult([str(x) for x in report], {"robot": known.name, "lost": lost}, files_of(file, drives_out))


def described_bodies(asked: Request) -> dict[str, Any]:
    """Root and geometry of a robot that is a URDF file itself."""
    import warnings

    from ..errors import FlexjointWarning
    from ..formats import read_urdf
    from .robot_options import locked_joints

    if Path(asked.name).suffix.lower() not in (".urdf", ".xacro"):
        return {}
    options = {key: x for key, x in asked.options.items() if key != "drives"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlexjointWarning)  # given when the robot was loaded
        found = read_urdf(asked.name, **{**options, "locked": locked_joints(options.get("locked"))})
    links = {link.name for link in found.robot.links} | {found.root}
    return {"root": found.root, "geometry": {name: x for name, x in found.geometry.items() if name in links}}
