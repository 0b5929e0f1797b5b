"""Options of a controller under which a log was made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from .completion import controllers as known_controllers, measured_states, trajectories
from .controllers import named_controller

if TYPE_CHECKING:
    from ..identification import ControlLoop
    from ..robot import Robot


class KnownLoopOptions(NamedTuple):
    """The controller of a log, if it is known, with its reference and sensors."""

    controller: Annotated[
        str,
        typer.Option(
            help="Controller of the log, as that of simulate: it gives torques that are not logged, and closes the "
            "loop of --method output-error.",
            autocompletion=known_controllers,
        ),
    ] = ""
    trajectory: Annotated[
        str,
        typer.Option(help="What that controller followed, as in simulate.", autocompletion=trajectories),
    ] = ""
    gains: Annotated[str, typer.Option(help="Gains of the controller in order, such as 1000,60.")] = ""
    poles: Annotated[str, typer.Option(help="One real closed-loop pole, 1/s, for controllers with poles.")] = ""
    measured: Annotated[
        str,
        typer.Option(help="What feedback_linearization reads, such as 'q tau_e'.", autocompletion=measured_states),
    ] = ""
    period: Annotated[
        float | None, typer.Option(help="Sampling period of the controller, s; default that of the log.")
    ] = None
    sensor: Annotated[
        list[str] | None,
        typer.Option(help="What the controller saw: velocities=differenced, delay=1; may be repeated."),
    ] = None


def known_loop(robot: Robot, options: KnownLoopOptions, log_period: float) -> ControlLoop | None:
    """The loop that the options describe; None without a controller.

    Args:
        robot: The robot that the controller knows.
        options: Those of the command.
        log_period: Sampling period of the log, s.

    Raises:
        InputError: Options of a loop are given without --controller, or --trajectory is missing.
    """
    from ..errors import InputError
    from ..identification import ControlLoop
    from ..trajectory import load_trajectory
    from .simulate import chosen_sensors

    if not options.controller:
        given = [f"--{name}" for name in options._fields if getattr(options, name)]
        if given:
            raise InputError(f"{given[0]} belongs to the controller of the log; give --controller too")
        return None
    if not options.trajectory:
        raise InputError("--controller needs --trajectory: what it followed, at the times of the log")
    period = options.period or log_period
    law = named_controller(options.controller, robot, options.gains, options.poles, period, options.measured)
    motion = load_trajectory(options.trajectory, robot)
    return ControlLoop(law, motion, period, chosen_sensors(options.sensor or []))
