"""Command `view`: a robot in the browser, posed by hand or along runs, logs and trajectories."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import CURRENT, CommonOptions, command, say
from .command_result import CommandResult
from .completion import motions
from .log_options import ColumnNames, TimeUnit, Topic
from .parameters import check_files, files_of
from .progress import progress_bar
from .robot_options import RobotArgument

if TYPE_CHECKING:
    from ..viewer import Viewer


@command()
def view(
    robot: RobotArgument,
    motion: Annotated[
        list[str] | None,
        typer.Argument(
            help="Runs of simulate -o, logs or trajectories, shown side by side; none: pose the robot by hand.",
            autocompletion=motions,
        ),
    ] = None,
    magnify: Annotated[float, typer.Option(help="Factor by which deflections are drawn enlarged.")] = 1.0,
    speed: Annotated[float, typer.Option(help="Playback speed relative to real time.")] = 1.0,
    bodies: Annotated[str, typer.Option(help="What is drawn: visual, collision or capsules.")] = "visual",
    stiffness: Annotated[
        str | None, typer.Option(help="Stiffness of joints with two motors along a trajectory: a number, or a file.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Compute the residual of a log, as detect --threshold does, and show it.")
    ] = None,
    time_unit: TimeUnit = None,
    columns: ColumnNames = "",
    topic: Topic = None,
    radians: Annotated[bool, typer.Option("--radians", help="Sliders in rad instead of degrees.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write a self-contained page instead of opening a browser: .html.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port on this machine; default the first free from 8080.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    until_closed: Annotated[
        bool, typer.Option("--until-closed", help="End when the page has been closed; default only with Ctrl-C.")
    ] = False,
    duration: Annotated[float | None, typer.Option(help="End after so many seconds.")] = None,
) -> CommandResult:
    """Show a robot and its motions in the browser.

    Without a motion, sliders move the joints. The page is served to this machine alone. Ctrl-C ends it. Needs the
    extra: pip install 'flexjoint[view]'.
    """
    import flexjoint as fj

    from ..checks import positive
    from ..errors import warn
    from ..logs.columns import column_names
    from ..viewer.recording import check_page_path
    from ..viewer.server import require_viser

    require_viser()
    check_files((html, check_page_path))
    if duration is not None:
        positive("view", "duration", duration)
    with progress_bar() as progress:
        progress.add_task("reading", total=None)
        options: dict[str, Any] = {"stiffness": stiffness, "threshold": threshold, "time_unit": time_unit}
        options |= {"columns": column_names(columns), "topic": topic}
        found = [fj.viewer.read_motion(x, robot, **options) for x in motion or ()]
        shown: Any = found or None
        viewer = fj.viewer.view(
            *(robot, shown), magnify=magnify, speed=speed, bodies=bodies, radians=radians, port=0 if html else port
        )
    with viewer:
        for note in viewer.missing:
            warn(note)
        if html is not None:
            viewer.write_html(html)
        else:
            serve(viewer, browser, duration, until_closed)
    data: dict[str, Any] = {"robot": robot.name, "motions": [x.title for x in found]}
    data |= {"samples": [len(x.t) for x in found], "notes": list(viewer.missing)}
    lines = [f"{robot.name}: {len(x.t)} samples of {x.title}, {x.duration:.4g} s" for x in found]
    return CommandResult(lines or [f"{robot.name}: {robot.n} joints"], data, files_of(html))


def serve(viewer: Viewer, browser: bool, duration: float | None, until_closed: bool) -> None:
    """Show the page until somebody ends it; Ctrl-C is a way to do so, not an error."""
    with suppress(KeyboardInterrupt):
        if not CURRENT.get(CommonOptions()).quiet:
            say(f"{viewer.url} shows the robot; Ctrl-C ends it")
        if viewer.motions:
            viewer.play()
        if browser:
            import webbrowser

            webbrowser.open(viewer.url)
        viewer.wait(duration, until_closed)
