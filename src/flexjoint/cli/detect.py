"""Command `detect`: collisions and actuator faults in a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .log_options import LogFile, MeasuredTorque, ReadingOptions
from .parameters import PlotFile, check_files, files_of
from .report_request import ReportFile, requested
from .robot_options import RobotArgument, without_gear_losses
from .standard_output import STREAM, send_csv

if TYPE_CHECKING:
    from ..detection.detection import DetectionReport, Event


@command(thresholds="threshold", held="measured_torque")
def detect(
    robot: RobotArgument,
    log: LogFile,
    reading: ReadingOptions,
    threshold: Annotated[float | None, typer.Option(help="Alarm threshold for every residual, in Nm or N.")] = None,
    quiet: Annotated[
        str,
        typer.Option("--quiet-part", metavar="BEGIN:END", help="Fault-free part of the log, s, to learn thresholds."),
    ] = "",
    calibration: Annotated[Path | None, typer.Option(help="Another, fault-free log, to learn thresholds.")] = None,
    per_hour: Annotated[float, typer.Option(help="False alarms per hour by noise, for learnt thresholds.")] = 1.0,
    cutoff: Annotated[float, typer.Option(help="Cutoff of the filters of the residuals, rad/s.")] = 30.0,
    confirmation: Annotated[float, typer.Option(help="Time that a residual must exceed its threshold, s.")] = 0.0,
    measured_torque: MeasuredTorque = False,
    residual: Annotated[
        str,
        typer.Option(help="best: the best that the columns allow; link: from joint torque sensors tau_e."),
    ] = "best",
    detectable: Annotated[
        float | None, typer.Option(help="Torque, Nm or N, that must be detected if it acts for 0.1 s, else a warning.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Residuals to write: .csv, .npz, .parquet; - is CSV on standard output."),
    ] = None,
    plot: PlotFile = None,
    report: ReportFile = None,
) -> CommandResult:
    """Find collisions and actuator faults in a log.

    Also lists the intervals in which the residual is unknown.
    """
    from ..detection.detection import detect as detected
    from ..errors import InputError
    from ..logs import read_log
    from ..plots.detections import plot_detections
    from ..plots.figures import check_plot_path
    from ..reports import check_report_path, content_of
    from ..results import check_table_path, write_table

    if sum((threshold is not None, bool(quiet), calibration is not None)) != 1:
        raise InputError(
            "give one of --threshold, --quiet-part (a fault-free part of the log) and --calibration (a fault-free log)"
        )
    check_files((output, check_table_path), (plot, check_plot_path), (report, check_report_path))
    model = without_gear_losses(robot, "the residual")
    options: dict[str, Any] = {
        "thresholds": threshold,
        "quiet": interval(quiet) if quiet else None,
        "per_hour": per_hour,
        "cutoff": cutoff,
        "confirmation": confirmation,
        "held": not measured_torque,
        "residual": residual,
        "detectable": detectable,
    }
    how = reading.keywords
    quiet_log = None if calibration is None else read_log(calibration, model, **how)
    watched = read_log(log, model, **how)
    found = detected(watched, calibration=quiet_log, **options)
    if output == STREAM:
        send_csv(found)
    elif output is not None:
        write_table(found, output)
    if plot is not None:
        plot_detections(found, plot)
    page = requested(report, found)
    return CommandResult(content_of(found).shown, detection_data(found), files_of(output, plot), report=page)


def interval(text: str) -> tuple[float, float]:
    """Begin and end of --quiet-part, s."""
    from ..errors import InputError

    try:
        begin, end = (float(x) for x in text.split(":"))
    except ValueError:
        raise InputError(f"--quiet-part is {text!r}; it must be two times in s, such as 0:2.5") from None
    if not begin < end:
        raise InputError(f"--quiet-part is {text!r}; the second time must come after the first")
    return begin, end


def detection_data(found: DetectionReport) -> dict[str, Any]:
    """The result for programs."""
    from ..observers import Status

    log = found.log
    return {
        "robot": found.robot.name,
        "samples": log.t.size,
        "period_s": log.period,
        "residual": type(found.residual).__name__,
        "known": log.known,
        "commands": log.commands,
        "differenced": log.differenced,
        "ignored_columns": log.ignored,
        "saturated_samples": int((found.status == Status.SATURATED).sum()),
        "thresholds": {
            name: {found.label(name, i): float(x) for i, x in enumerate(levels)}
            for name, levels in found.thresholds.items()
        },
        "smallest_detectable": {
            name: {found.label(name, i): float(x) for i, x in enumerate(torques)}
            for name, torques in found.smallest.items()
        },
        "dead_encoders": [x.text(log) for x in found.dead_encoders],
        "detections": [
            {
                "begin_s": x.begin,
                "end_s": x.end,
                "links_or_beyond": found.struck(x),
                "events": [event_data(found, event) for event in x.events],
            }
            for x in found.detections
        ],
        "blind": [{"begin_s": x.begin, "end_s": x.end, "samples": x.samples, "why": x.why} for x in found.blind],
    }


def event_data(found: DetectionReport, event: Event) -> dict[str, Any]:
    """An alarm for programs."""
    channel, entry = event.channel, event.entry
    return {
        "begin_s": event.begin,
        "end_s": event.end,
        "channel": channel,
        "what": found.cause(event),
        "at": found.label(channel, entry),
        "largest_residual": event.peak,
        "threshold": float(found.thresholds[channel][entry]),
        "unit": found.unit(channel, entry),
    }
