"""Command `detect`: collisions and actuator faults in a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .completion import logs
from .parameters import PlotFile, check_files, files_of
from .robot_options import RobotArgument, without_gear_losses
from .standard_output import STREAM, send_csv
from .tables import Table

if TYPE_CHECKING:
    from ..detection.detection import DetectionReport, Event


@command(thresholds="threshold", held="measured_torque")
def detect(
    robot: RobotArgument,
    log: Annotated[
        Path,
        typer.Argument(
            help="A .csv, .npz, .parquet or .nc file: t, q.JOINT, v.JOINT, ..., tau.JOINT.", autocompletion=logs
        ),
    ],
    threshold: Annotated[float | None, typer.Option(help="Alarm threshold for every residual, in Nm or N.")] = None,
    quiet: Annotated[
        str,
        typer.Option("--quiet-part", metavar="BEGIN:END", help="Fault-free part of the log, s, to learn thresholds."),
    ] = "",
    calibration: Annotated[Path | None, typer.Option(help="Another, fault-free log, to learn thresholds.")] = None,
    per_hour: Annotated[float, typer.Option(help="False alarms per hour by noise, for learnt thresholds.")] = 1.0,
    cutoff: Annotated[float, typer.Option(help="Cutoff of the filters of the residuals, rad/s.")] = 30.0,
    confirmation: Annotated[float, typer.Option(help="Time that a residual must exceed its threshold, s.")] = 0.0,
    measured_torque: Annotated[
        bool, typer.Option("--measured-torque", help="tau was measured at t, not commanded at t and held.")
    ] = False,
    residual: Annotated[
        str,
        typer.Option(help="best: the best that the columns allow; link: from joint torque sensors tau_e."),
    ] = "best",
    time_unit: Annotated[
        str | None, typer.Option(help="Unit of the time if its header has none: s, ms, us or ns.")
    ] = None,
    columns: Annotated[str, typer.Option(help="Names of quantities in the log, such as t=stamp,tau=effort.")] = "",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Residuals to write: .csv, .npz, .parquet; - is CSV on standard output."),
    ] = None,
    plot: PlotFile = None,
) -> CommandResult:
    """Find collisions and actuator faults in a log.

    Also lists the intervals in which the residual is unknown.
    """
    from ..detection.detection import detect as detected
    from ..detection.log_columns import column_names
    from ..detection.logs import read_log
    from ..errors import InputError
    from ..plots.detections import plot_detections
    from ..plots.figures import check_plot_path
    from ..results import check_table_path, write_table

    if sum((threshold is not None, bool(quiet), calibration is not None)) != 1:
        raise InputError(
            "give one of --threshold, --quiet-part (a fault-free part of the log) and --calibration (a fault-free log)"
        )
    check_files((output, check_table_path), (plot, check_plot_path))
    model, names = without_gear_losses(robot, "the residual"), column_names(columns)
    found = detected(
        read_log(log, model, time_unit=time_unit, columns=names),
        thresholds=threshold,
        quiet=interval(quiet) if quiet else None,
        calibration=None if calibration is None else read_log(calibration, model, time_unit=time_unit, columns=names),
        per_hour=per_hour,
        cutoff=cutoff,
        confirmation=confirmation,
        held=not measured_torque,
        residual=residual,
    )
    if output == STREAM:
        send_csv(found)
    elif output is not None:
        write_table(found, output)
    if plot is not None:
        plot_detections(found, plot)
    tables = [
        *([detection_table(found)] if found.detections else []),
        *([blind_table(found)] if found.blind else []),
    ]
    return CommandResult([*summary(found), *tables], detection_data(found), files_of(output, plot))


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


def summary(found: DetectionReport) -> list[str]:
    """Lines about the log, the largest residual, unknown intervals and detections."""
    from ..detection.log_columns import listed
    from ..observers import Status

    log, status = found.log, found.status
    name, lost = type(found.residual).__name__, sum(x.samples for x in found.blind)
    lines = [f"{found.robot.name}: {log.t.size} samples, about {log.period:g} s apart; {name}, {', '.join(log.known)}"]
    if log.ignored:
        lines.append(f"ignored columns: {listed(log.ignored)}")
    if log.differenced:
        lines.append(f"not in the log, computed as differences of positions: {', '.join(log.differenced)}")
    if count := int((status == Status.SATURATED).sum()):
        lines.append(f"motor torques above the limits, limited: {count} samples")
    lines += [f"clock set back from {before:.4f} s to {after:.4f} s" for before, after in found.clock_changes]
    if found.outliers:
        lines.append(f"impossible numbers, left out: {len(found.outliers)}")
    top = found.largest()
    level, unit = found.thresholds[top.channel][top.entry], found.unit(top.channel, top.entry)
    where = f"{found.label(top.channel, top.entry)} at {top.t:.3f} s, threshold {level:.3g} {unit}"
    lines.append(f"largest residual: {top.value:.3g} {unit}, {where}")
    seconds = sum(x.seconds for x in found.blind)
    lines.append(f"blind: {seconds:.4g} s, {lost} samples" if found.blind else "blind: never")
    lines.append(f"detections: {len(found.detections)}")
    return lines


def detection_table(found: DetectionReport) -> Table:
    """One row per detection."""
    rows = []
    for x in found.detections:
        names = list(dict.fromkeys(event.channel for event in x.events))
        top = found.largest(x)
        where = dict.fromkeys(found.label(event.channel, event.entry) for event in x.events)
        unit = found.unit(top.channel, top.entry)
        rows.append(
            [
                f"{x.begin:.3f}",
                f"{x.end:.3f}",
                "; ".join(found.residual.causes.get(name, name) for name in names),
                ", ".join(where),
                ", ".join(f"{link} or beyond" for link in found.struck(x)),
                f"{top.value:.3g} {unit} at {found.label(top.channel, top.entry)}",
                f"{found.thresholds[top.channel][top.entry]:.3g} {unit}",
            ]
        )
    headings = ["from, s", "to, s", "what", "felt at", "on link", "largest residual", "threshold"]
    return Table(headings, rows, "detections", numbers=("from, s", "to, s", "threshold"))


def blind_table(found: DetectionReport) -> Table:
    """One row per interval without a residual."""
    rows = [[f"{x.begin:.3f}", f"{x.end:.3f}", str(x.samples), x.why] for x in found.blind]
    return Table(["from, s", "to, s", "samples", "why"], rows, "blind", numbers=("from, s", "to, s", "samples"))


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
        "differenced": log.differenced,
        "saturated_samples": int((found.status == Status.SATURATED).sum()),
        "thresholds": {
            name: {found.label(name, i): float(x) for i, x in enumerate(levels)}
            for name, levels in found.thresholds.items()
        },
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
        "what": found.residual.causes.get(channel, channel),
        "at": found.label(channel, entry),
        "largest_residual": event.peak,
        "threshold": float(found.thresholds[channel][entry]),
        "unit": found.unit(channel, entry),
    }
