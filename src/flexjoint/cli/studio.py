"""Command `studio`: an experiment in the browser, with sliders for its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .completion import controllers as known_controllers, trajectories
from .progress import progress_bar
from .robot_options import RobotArgument
from .view import serve


@command(motion="trajectory", numbers="gains", folder="output")
def studio(
    robot: RobotArgument,
    controller: Annotated[
        str | None,
        typer.Option(help="One of {controllers}; default one that suits the robot.", autocompletion=known_controllers),
    ] = None,
    trajectory: Annotated[
        str,
        typer.Option(
            help="rest to rest, sinusoid, filtered step; or a .toml, .csv or .npz file, or '{kind = ..., ...}'.",
            autocompletion=trajectories,
        ),
    ] = "rest to rest",
    gains: Annotated[str, typer.Option(help="First gains of the controller in order, such as 1000,60.")] = "",
    poles: Annotated[str, typer.Option(help="First real pole, 1/s, for controllers with poles.")] = "",
    stiffness: Annotated[
        float | None, typer.Option(help="First stiffness of joints with two motors, Nm/rad or N/m.")
    ] = None,
    period: Annotated[float, typer.Option(help="Sampling period of the controller, s.")] = 1e-3,
    substeps: Annotated[
        int | None, typer.Option(help="Integration steps per period; default enough for the stiffest setting.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the noise.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the files that buttons write; default none are written."),
    ] = None,
    magnify: Annotated[float, typer.Option(help="Factor by which deflections are drawn enlarged.")] = 10.0,
    bodies: Annotated[str, typer.Option(help="What is drawn: visual, collision or capsules.")] = "visual",
    radians: Annotated[bool, typer.Option("--radians", help="Curves in rad instead of degrees.")] = False,
    port: Annotated[int | None, typer.Option(help="Port on this machine; default the first free from 8080.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    until_closed: Annotated[
        bool, typer.Option("--until-closed", help="End when the page has been closed; default only with Ctrl-C.")
    ] = False,
    duration: Annotated[float | None, typer.Option(help="End after so many seconds.")] = None,
) -> CommandResult:
    """Try controllers, springs and pushes in the browser.

    Moving a slider simulates again at once. The page is served to this machine alone. Ctrl-C ends it. Needs the extra:
    pip install 'flexjoint[view]'.
    """
    import flexjoint as fj

    from ..checks import positive
    from ..errors import warn
    from ..viewer.server import require_viser

    require_viser()
    if duration is not None:
        positive("studio", "duration", duration)
    options: dict[str, Any] = {"stiffness": stiffness, "period": period, "substeps": substeps, "seed": seed}
    with progress_bar() as progress:
        progress.add_task("compiling", total=None)
        numbers = first_numbers(gains, poles)
        experiment = fj.studio.Experiment(robot, controller, trajectory, numbers=numbers, **options)
        page = fj.studio.serve(
            experiment, folder=output, magnify=magnify, bodies=bodies, radians=radians, port=port
        )
    with page:
        notes = [*experiment.notes, *page.viewer.missing]
        for note in notes:
            warn(note)
        serve(page.viewer, browser, duration, until_closed)
    data = {"robot": robot.name, "controller": experiment.controller_name, "values": experiment.values}
    data |= {"written": [str(x) for x in page.written], "notes": notes}
    return CommandResult([f"{robot.name}: {experiment.controller_name}"], data, [*page.written])


def first_numbers(gains: str, poles: str) -> list[float] | None:
    """The numbers that --gains or --poles give; None without both."""
    from ..errors import InputError

    if gains and poles:
        raise InputError("--gains and --poles belong to different controllers: give one of them")
    if not gains and not poles:
        return None
    try:
        return [float(x) for x in (gains or poles).split(",")]
    except ValueError:
        option = "--gains" if gains else "--poles"
        raise InputError(f"{option} is {gains or poles!r}; give numbers with commas between them") from None
