"""The argument ROBOT and its options: one place for every command that takes a robot.

A command has the parameter `robot: RobotArgument` and gets the Robot, or `robot: RobotRequest` and gets what was asked
for, to load it itself.  The decorator `command` gives it the argument ROBOT and all `OPTIONS`, each of which is an
argument of `load`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .completion import drive_files, robots

if TYPE_CHECKING:
    from ..robot import Robot

RobotArgument = Annotated[Any, "robot"]
RobotRequest = Annotated[Any, "request"]
RobotName = Annotated[str, typer.Argument(help="A built-in robot or a robot file.", autocompletion=robots)]
OPTIONS: dict[str, Any] = {
    "drives": Annotated[
        Path | None,
        typer.Option(
            "--drives",
            help="Drive file: motors, springs, friction and limits of the joints.",
            autocompletion=drive_files,
        ),
    ],
    "locked": Annotated[
        list[str] | None,
        typer.Option("--locked", metavar="JOINT=VALUE", help="URDF, MJCF: hold a joint, in rad or m; may be repeated."),
    ],
    "root": Annotated[str | None, typer.Option("--root", metavar="LINK", help="URDF, MJCF: link that is the base.")],
    "tip": Annotated[str | None, typer.Option("--tip", metavar="LINK", help="URDF, MJCF: last link of the chain.")],
    "tool": Annotated[str | None, typer.Option("--tool", metavar="LINK", help="The tool link.")],
}  # by argument of `load`; the default is None


class Request(NamedTuple):
    """A robot of a command line: its name or path, and the options of `load`."""

    name: str
    options: dict[str, Any]


def loaded_robot(name: str, options: Mapping[str, Any]) -> Robot:
    """The robot of a command line."""
    from ..formats import load

    return load(name, **{**options, "locked": locked_joints(options.get("locked"))})


def locked_joints(texts: list[str] | None) -> dict[str, float] | None:
    """Positions by joint of the option --locked; 0 where only a name is given."""
    from ..errors import InputError

    found: dict[str, float] = {}
    for text in texts or ():
        name, sign, value = text.partition("=")
        try:
            found[name] = float(value) if sign else 0.0
        except ValueError:
            raise InputError(f"--locked is {text!r}; give a joint and its position, such as elbow=0.5") from None
    return found or None


def without_gear_losses(robot: Robot, who: str) -> Robot:
    """The robot without hysteresis and backlash, for models that cannot know them; a warning says so.

    Args:
        robot: The robot of the command line.
        who: What takes the model, such as "the controller".
    """
    from ..errors import listed, warn

    if not any(robot.gear_losses):
        return robot
    names = listed([joint.name for joint, losses in zip(robot.joints, robot.gear_losses) if losses], most=4)
    warn(f"{robot.name:.200}: {who} does not know the hysteresis and backlash of {names}: its model is without them")
    return robot.without_gear_losses()
