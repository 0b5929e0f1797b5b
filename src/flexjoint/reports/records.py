"""A recorded motion in a report: noise per joint, torques of noise and motion per motor, and the figure."""

from __future__ import annotations

from functools import partial

from ..plots.records import plot_record
from ..tables import Table
from ..trajectory import RecordAssessment
from ..trajectory.record import named_outliers
from .content import Content, content_of


@content_of.register
def record_content(found: RecordAssessment) -> Content:
    """What a report shows of a RecordAssessment."""
    t, level = found.record.times, found.level
    rate = (t.size - 1) / found.record.duration
    state = "noisy: give it a cutoff" if found.noisy else "clean: no cutoff is needed"
    lines: list[str | Table] = [
        f"{found.robot.name}: {t.size} samples at {rate:.4g} Hz, {found.record.duration:g} s; {state}"
    ]
    if level.outliers:
        lines.append(f"outliers: {named_outliers(found.robot, level.outliers)}")
    if level.gaps.size:
        lines.append(f"gaps: {len(level.gaps)}, the first from {level.gaps[0, 0]:.6g} to {level.gaps[0, 1]:.6g} s")
    lines.append(f"cutoff {found.cutoff:g} Hz, errors farther than {found.edge:.2g} s from the ends (rms):")
    caption = "Record and filtered motion, what the filter removes, spectra, and the torque error by cutoff."
    settings = {"samples": t.size, "rate, Hz": rate, "order": found.record.order, "cutoff, Hz": found.cutoff}
    return Content(
        f"Recorded motion of {found.robot.name}",
        [*lines, record_table(found)],
        {caption: partial(plot_record, found)},
        found.robot,
        settings,
    )


def record_table(found: RecordAssessment) -> Table:
    """Noise and torques per motor."""
    robot, rows = found.robot, []
    for k, name in enumerate(robot.motor_names):
        i = robot.motor_joints[k]
        unit, force = robot.joints[i].kind.unit("rad | m"), robot.motor_kinds[k].unit("Nm | N")
        step = f"{found.level.step[i]:.3g} {unit}" if found.level.step[i] else ""
        torques = [
            found.unfiltered[k],
            found.best.torque[k],
            found.best.total[k],
            found.best.noise[k],
            found.best.bias[k],
        ]
        rows.append([name, f"{found.level.sigma[i]:.3g} {unit}", step, *(f"{x:.3g} {force}" for x in torques)])
    headings = [
        "motor",
        "noise",
        "encoder step",
        "unfiltered noise torque",
        "torque",
        "error left",
        "noise left",
        "bias",
    ]
    if not found.level.step.any():
        headings.remove("encoder step")
        rows = [[*row[:2], *row[3:]] for row in rows]
    return Table(headings, rows, numbers=headings[1:])
