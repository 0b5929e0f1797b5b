"""Detections in a report: what the log has, the largest residual, detections, blind intervals, and the figure."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..detection.detection import DetectionReport
from ..logs.header_words import shortened
from ..observers import Status
from ..plots.detections import plot_detections
from ..tables import Table
from .content import Content, content_of


@content_of.register
def detection_content(found: DetectionReport) -> Content:
    """What a report shows of a DetectionReport."""
    tables = [
        *([detection_table(found)] if found.detections else []),
        *([blind_table(found)] if found.blind else []),
    ]
    levels = {
        f"threshold of {name} at {found.label(name, i)}": f"{x:.4g} {found.unit(name, i)}"
        for name, levels in found.thresholds.items()
        for i, x in enumerate(levels)
    }
    return Content(
        f"Collisions and faults of {found.robot.name}",
        [*summary(found), *tables],
        {"Residuals and thresholds; alarms are shaded, blind intervals hatched.": partial(plot_detections, found)},
        found.robot,
        {"residual": type(found.residual).__name__, "sampling period, s": found.log.period, **levels},
    )


def summary(found: DetectionReport) -> list[str]:
    """Lines about the log, the largest residual, unknown intervals and detections."""
    log, status = found.log, found.status
    name, lost = type(found.residual).__name__, sum(x.samples for x in found.blind)
    lines = [f"{found.robot.name}: {log.t.size} samples, about {log.period:g} s apart; {name}, {', '.join(log.known)}"]
    if log.ignored:
        lines.append(f"ignored columns: {shortened(log.ignored)}")
    if log.differenced:
        lines.append(f"not in the log, computed as differences of positions: {', '.join(log.differenced)}")
    if count := int((status == Status.SATURATED).sum()):
        lines.append(f"motor torques above the limits, limited: {count} samples")
    lines += [f"clock set back from {before:.4f} s to {after:.4f} s" for before, after in found.clock_changes]
    if found.outliers:
        lines.append(f"impossible numbers, left out: {len(found.outliers)}")
    if found.calibration_outliers:
        lines.append(f"outliers of the fault-free part, left out: {len(found.calibration_outliers)}")
    lines += [encoder.text(log) for encoder in found.dead_encoders]
    top = found.largest()
    level, unit = found.thresholds[top.channel][top.entry], found.unit(top.channel, top.entry)
    where = f"{found.label(top.channel, top.entry)} at {top.t:.3f} s, threshold {level:.3g} {unit}"
    lines.append(f"largest residual: {top.value:.3g} {unit}, {where}")
    for name, torques in found.smallest.items():
        each = [f"{found.label(name, i)} {x:.3g} {found.unit(name, i)}" for i, x in enumerate(torques) if x < np.inf]
        lines.append(f"smallest detectable torque, acting for 0.1 s, {name}: {', '.join(each)}")
    seconds = sum(x.seconds for x in found.blind)
    lines.append(f"blind: {seconds:.4g} s, {lost} samples" if found.blind else "blind: never")
    lines.append(f"detections: {len(found.detections)}")
    return lines


def detection_table(found: DetectionReport) -> Table:
    """One row per detection."""
    rows = []
    for x in found.detections:
        top = found.largest(x)
        where = dict.fromkeys(found.label(event.channel, event.entry) for event in x.events)
        unit = found.unit(top.channel, top.entry)
        rows.append(
            [
                f"{x.begin:.3f}",
                f"{x.end:.3f}",
                "; ".join(dict.fromkeys(found.cause(event) for event in x.events)),
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
