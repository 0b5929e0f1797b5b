"""Command `excite`: a motion for identification, within all limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .parameters import check_files, files_of
from .progress import progress_bar
from .robot_options import RobotArgument, without_gear_losses
from .standard_output import STREAM, send_csv
from .tables import Table


@command()
def excite(
    robot: RobotArgument,
    duration: Annotated[float, typer.Option(help="Duration of the motion, s.")] = 15.0,
    harmonics: Annotated[int, typer.Option(help="Harmonics of the Fourier series, at least 4.")] = 6,
    margin: Annotated[float, typer.Option(help="Share of every limit that is left for the controller.")] = 0.1,
    reach: Annotated[float, typer.Option(help="Half range of joints without limits of position, rad or m.")] = 1.0,
    rate: Annotated[float, typer.Option(help="Samples per second of the controller and of the file, Hz.")] = 1000.0,
    iterations: Annotated[int, typer.Option(help="Steps of the search, for each of its two stages.")] = 60,
    seed: Annotated[int, typer.Option(help="Seed of the random start.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write: .csv, .npz, .parquet, .toml; - is CSV on standard output."),
    ] = None,
) -> CommandResult:
    """Find an exciting motion, for identification.

    It keeps all limits and starts and ends at rest. Ctrl-C ends the search with the best motion so far.
    """
    from ..identification import exciting_motion
    from ..results.files import WRITERS, check_path

    check_files((output, lambda path: check_path(path, (*WRITERS, ".toml"), "a motion")))
    model = without_gear_losses(robot, "inverse dynamics")
    options: dict[str, Any] = {"harmonics": harmonics, "margin": margin, "reach": reach, "rate": rate}
    with progress_bar() as progress:
        progress.add_task("searching", total=None)
        found = exciting_motion(model, duration, **options, iterations=iterations, seed=seed)
    if output == STREAM:
        send_csv(found)
    elif output is not None:
        found.write(output)
    rows = [
        [name, f"{x.duration:.4g}", f"{x.frequency.min():.3g} to {x.frequency.max():.3g}"]
        for name, x in found.pieces.items()
    ]
    lines: list[Any] = [
        f"{robot.name}: {found.trajectory.duration:.4g} s, {len(found.names)} parameters",
        f"condition of the scaled regressor: {found.condition:.3g}; random motions {found.random_condition:.3g}",
        f"deviations of the parameters: {found.deviation:.2f} of those from random motions",
        Table(["part", "duration, s", "frequencies, Hz"], rows, "parts", numbers=("duration, s",)),
        *found.notes,
    ]
    data = {
        "robot": robot.name,
        "duration_s": found.trajectory.duration,
        "condition": found.condition,
        "random_condition": found.random_condition,
        "deviation": found.deviation,
        "parameters": found.names,
        "parts": [{"part": name, "duration_s": x.duration} for name, x in found.pieces.items()],
        "notes": found.notes,
    }
    return CommandResult(lines, data, files_of(output))
