"""Commands `study summary`, `study sobol`, `study worst` and `study gains`: what uncertain robots do under control."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import INTERRUPTED, app, command, help_without_command
from .command_result import CommandResult
from .controllers import named_controller, option, registration
from .parameters import PlotFile, check_files, files_of
from .progress import progress_bar
from .report_request import ReportFile, requested
from .robot_options import RobotArgument, without_gear_losses
from .standard_output import STREAM, send_csv
from .study_grid import grid_law, grid_values
from .study_task import (
    Confidence,
    ControllerName,
    Gains,
    Limit,
    Of,
    OfOrFailed,
    Poles,
    RunOptions,
    StudyTask,
    TableFile,
    TrajectoryOption,
    Vary,
)

if TYPE_CHECKING:
    from ..studies import GainSearch, SobolIndices, StudySummary, WorstCase

study = typer.Typer(
    help="Statistics, sensitivities, worst cases and gains.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
study.callback()(help_without_command)
app.add_typer(study, name="study")


@command(study)
def summary(
    samples: Annotated[
        Path, typer.Argument(help="Samples: .csv, .npz or .parquet, or the folder of 'simulate --samples -o FOLDER'.")
    ],
    of: Annotated[
        list[str] | None,
        typer.Option(help="Figure of merit: largest, rms, final, largest.JOINT or a column; may be repeated."),
    ] = None,
    level: Annotated[
        list[float] | None, typer.Option(help="Level of a quantile, such as 0.95; may be repeated.")
    ] = None,
    limit: Limit = None,
    confidence: Confidence = 0.95,
    output: TableFile = None,
    plot: PlotFile = None,
    report: ReportFile = None,
) -> CommandResult:
    """Show failure probability and quantiles of samples.

    With confidence intervals that hold for every distribution.
    """
    import flexjoint as fj

    from ..studies.summary import LEVELS

    check_outputs(output, plot, report)
    found = fj.studies.summarize(
        fj.studies.read_samples(samples), of or None, level or LEVELS, limit=limit, confidence=confidence
    )
    return written(found, summary_data(found), (output, plot, report), fj.plots.plot_study_summary)


@command(study, reference="trajectory")
def sobol(
    robot: RobotArgument,
    controller: ControllerName,
    trajectory: TrajectoryOption,
    vary: Vary,
    run: RunOptions,
    samples: Annotated[
        int, typer.Option(help="Base samples, a power of two; each takes one run per index and two more.")
    ] = 256,
    grouped: Annotated[bool, typer.Option("--grouped", help="One index per --vary, not per number.")] = False,
    of: OfOrFailed = "largest",
    limit: Limit = None,
    gains: Gains = "",
    poles: Poles = "",
    confidence: Confidence = 0.95,
    output: TableFile = None,
    plot: PlotFile = None,
    report: ReportFile = None,
) -> CommandResult:
    """Show which uncertain parameter decides the error.

    Sobol indices of first order and total, with confidence intervals. Ctrl-C shows those of the finished samples.
    """
    import flexjoint as fj

    check_outputs(output, plot, report)
    task = StudyTask.of(robot, trajectory, vary, run, of=of, limit=limit)
    law = named_controller(controller, without_gear_losses(robot, "the controller"), gains, poles, run.period)
    more = {"samples": samples, "grouped": grouped, "confidence": confidence}
    found = performed(fj.studies.sobol_indices, task, law, samples, more)
    result = written(found, sobol_data(found), (output, plot, report), fj.plots.plot_sobol)
    return interrupted(result, found.complete, f"after {found.samples} of {found.wanted} base samples")


@command(study, reference="trajectory")
def worst(
    robot: RobotArgument,
    controller: ControllerName,
    trajectory: TrajectoryOption,
    vary: Vary,
    run: RunOptions,
    runs: Annotated[int, typer.Option(help="Runs of the search at most.")] = 1000,
    of: Of = "largest",
    gains: Gains = "",
    poles: Poles = "",
    output: TableFile = None,
    plot: PlotFile = None,
    report: ReportFile = None,
) -> CommandResult:
    """Search for the robot with the worst error.

    Within the ranges of the variations. Ctrl-C shows the worst robot until then.
    """
    import flexjoint as fj

    check_outputs(output, plot, report)
    task = StudyTask.of(robot, trajectory, vary, run, of=of)
    law = named_controller(controller, without_gear_losses(robot, "the controller"), gains, poles, run.period)
    found = performed(fj.studies.worst_case, task, law, runs, {"runs": runs})
    result = written(found, worst_data(found), (output, plot, report), fj.plots.plot_worst_case)
    return interrupted(result, found.complete, f"after {found.runs} of {runs} runs")


@command(study, "gains", reference="trajectory")
def search_gains(
    robot: RobotArgument,
    controller: ControllerName,
    trajectory: TrajectoryOption,
    grid: Annotated[
        list[str],
        typer.Option(
            help="Values of a gain: K_P=100,200,400, K_P=100..400:5 or, with equal ratios, K_P=100..1600:5:log."
        ),
    ],
    vary: Vary,
    run: RunOptions,
    samples: Annotated[int, typer.Option(help="Number of robots, the same for all gains.")] = 100,
    of: Of = "largest",
    objective: Annotated[
        str, typer.Option(help="What is made small: level of the quantile of --of, such as 0.95, or failures.")
    ] = "0.95",
    limit: Limit = None,
    confidence: Confidence = 0.95,
    output: TableFile = None,
    plot: PlotFile = None,
    report: ReportFile = None,
) -> CommandResult:
    """Find the gains that are best for uncertain robots.

    All combinations of a grid, with the same robots for each. Ctrl-C shows the gains that were tried until then.
    """
    import math

    import flexjoint as fj

    check_outputs(output, plot, report)
    model = without_gear_losses(robot, "the controller")
    values = grid_values(controller, grid)
    make = grid_law(controller, model, run.period)
    task = StudyTask.of(robot, trajectory, vary, run, of=of, limit=limit)
    more = {"grid": values, "samples": samples, "objective": goal(objective), "confidence": confidence}
    first = make(**{name: x[0] for name, x in values.items()})
    points = math.prod(len(x) for x in values.values())
    found = performed(fj.studies.gain_search, task, make, points * samples, more, reference=task.reference(first))
    result = written(found, gain_data(found, controller), (output, plot, report), fj.plots.plot_gain_search)
    paste = f"paste: --controller {controller} {gain_option(controller, found)}"
    result = replace(result, shown=[*result.shown, paste])
    tried = points - int(sum(x != x for x in found.failures.ravel()))
    return interrupted(result, found.complete, f"after {tried} of {points} gains")


# What all of them do --------------------------------------------------------------------------------------------------


def check_outputs(output: Path | None, plot: Path | None, report: Path | None) -> None:
    """Check before a long computation that the files can be written."""
    from ..plots.figures import check_plot_path
    from ..reports import check_report_path
    from ..results import check_table_path

    check_files((output, check_table_path), (plot, check_plot_path), (report, check_report_path))


def performed(
    function: Callable[..., Any], task: StudyTask, law: Any, total: int, more: dict[str, Any], reference: Any = None
) -> Any:
    """A study with a progress bar; `total` is the number of runs, of `sobol` that of base samples."""
    import flexjoint as fj

    followed = task.reference(law) if reference is None else reference
    with progress_bar() as progress:
        if "grouped" in more:
            total *= 2 + (len(task.vary) if more["grouped"] else varied_numbers(task))
        advance = partial(progress.advance, progress.add_task("simulating", total=total))
        try:
            return function(task.robot, law, followed, task.duration, **task.keywords, **more, progress=advance)
        except fj.Interrupted as error:
            return error.partial


def varied_numbers(task: StudyTask) -> int:
    """Number of numbers that vary."""
    from ..studies.variation import Variations

    return len(Variations.of(task.robot, task.vary).names)


def written(
    found: Any,
    data: dict[str, Any],
    files: tuple[Path | None, Path | None, Path | None],
    draw: Callable[..., Any],
) -> CommandResult:
    """The result of a command, with its table, plot and report."""
    from ..reports import content_of
    from ..results import write_table

    output, plot, report = files
    if output == STREAM:
        send_csv(found)
    elif output is not None:
        write_table(found, output)
    if plot is not None:
        draw(found, plot)
    page = requested(report, found)
    return CommandResult(content_of(found).shown, data, files_of(output, plot), report=page)


def interrupted(result: CommandResult, complete: bool, after: str) -> CommandResult:
    """The result with the exit code of an interruption, if there was one."""
    return result if complete else replace(result, code=INTERRUPTED, trouble=f"interrupted {after}")


def goal(text: str) -> float | str:
    """The objective of --objective."""
    from ..errors import InputError

    if text == "failures":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--objective is {text!r}; give a level such as 0.95, or failures") from None


def gain_option(controller: str, found: GainSearch) -> str:
    """The option with the best gains, ready to paste."""
    law = registration(controller)
    return f"{option(law)}={','.join(f'{found.best[x.name]:.10g}' for x in law.numbers if x.name in found.best)}"


# Data for programs ----------------------------------------------------------------------------------------------------


def summary_data(found: StudySummary) -> dict[str, Any]:
    """A summary for programs."""
    rows = [{"of": of, "unit": found.units[of], **x._asdict()} for of, x in found.rows]
    outcomes = [{"outcome": name, "count": count} for name, count in found.outcomes.items()]
    failures = {f"failure_{name}": x for name, x in zip(("probability", "low", "high", "bound"), found.failures)}
    return {"samples": found.samples, "limit": found.limit, "outcomes": outcomes, **failures, "quantiles": rows}


def sobol_data(found: SobolIndices) -> dict[str, Any]:
    """Sobol indices for programs."""
    columns = found.arrays()
    indices = [{name: x[k] for name, x in columns.items()} for k in range(len(found.names))]
    shown = {"robot": found.robot.name, "of": found.of, "unit": found.unit, "mean": found.mean}
    counts = {"samples": found.samples, "wanted": found.wanted, "runs": found.runs, "complete": found.complete}
    return {**shown, "variance": found.variance, "confidence": found.confidence, **counts, "indices": indices}


def worst_data(found: WorstCase) -> dict[str, Any]:
    """A worst case for programs."""
    columns = found.arrays()
    parameters = [{name: x[k] for name, x in columns.items()} for k in range(len(found.names))]
    joint = found.robot.joints[found.joint].name if found.joint >= 0 else None
    shown = {"robot": found.robot.name, "of": found.of, "unit": found.unit, "value": found.value}
    shown |= {"nominal_value": found.nominal_value, "diverged_joint": joint, "ended_s": found.ended}
    counts = {"runs": found.runs, "left_out": found.unknown, "complete": found.complete}
    return {**shown, **counts, "parameters": parameters, "free": found.free}


def gain_data(found: GainSearch, controller: str) -> dict[str, Any]:
    """A gain search for programs."""
    columns = found.columns()
    points = [{x.name: x.values[k] for x in columns} for k in range(found.quantile.size)]
    shown = {"robot": found.robot.name, "controller": controller, "of": found.of, "unit": found.unit}
    best = {"best": found.best, "paste": gain_option(controller, found), "at_edge": found.edges}
    counts = {"samples": found.samples, "left_out": found.unknown, "complete": found.complete}
    return {**shown, "objective": found.aim, **best, **counts, "points": points}
