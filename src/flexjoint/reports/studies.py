"""A Monte-Carlo study in a report: quantiles of the errors, failures with their parameters, and the figure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ..plots.figures import shown_units
from ..plots.monte_carlo import failure_text, plot_monte_carlo
from ..studies import MonteCarlo, failure_probability
from ..studies.monte_carlo import LEVELS
from ..tables import Table, quantity
from .content import Content, content_of

SHOWN = 10  # failures


@content_of.register
def study_content(study: MonteCarlo) -> Content:
    """What a report shows of a MonteCarlo; without a figure if it was interrupted before the first sample."""
    figures = {"Distribution of the largest error of each joint.": partial(plot_monte_carlo, study)}
    return Content(
        f"Monte-Carlo study of {study.robot.name}",
        study_text(study),
        figures if study.samples.size else {},
        study.robot,
        {"varied": ", ".join(study.names), "samples": study.wanted, "step, s": study.step, "limit": study.limit},
    )


def study_text(study: MonteCarlo) -> list[str | Table]:
    """Quantiles of the errors per joint, and the first failures with their parameters."""
    failed = np.flatnonzero(study.failed)
    found: list[str | Table] = [f"{study.robot.name}: {study.counts}"]
    if not study.samples.size:
        return found
    headings = [*(f"{100 * x:g} %" for x in LEVELS), "at the end, 95 %"]
    largest, final = study.quantiles(), study.quantiles([0.95], "final")[0]
    rows = [
        [joint.name, *(quantity(factor * x, unit) for x in (*largest[:, i], final[i]))]
        for i, (joint, unit, factor) in enumerate(zip(study.robot.joints, *shown_units(study.robot)))
    ]
    note = f"∞, in the remaining runs: {failure_text(study)}" if np.isinf([*largest, final]).any() else ""
    title = "share of runs whose largest error is below"
    found.append(Table(["joint", *headings], rows, title, note, numbers=headings))
    found.append(f"probability that control fails: {failure_probability(study)}")
    if failed.size:
        found.append(failure_table(study, failed[:SHOWN].tolist()))
    if failed.size > SHOWN:
        found.append(f"and {failed.size - SHOWN} more")
    return found


def failure_table(study: MonteCarlo, rows: Sequence[int]) -> Table:
    """One row per failed sample."""
    joints, (units, factors) = study.robot.joints, shown_units(study.robot)
    found = []
    for row in rows:
        joint, worst = study.joint[row], study.largest[row].argmax()
        diverged = f"{joints[joint].name} diverged at {study.ended[row]:.3g} s"
        off = f"{joints[worst].name} off by {quantity(factors[worst] * study.largest[row, worst], units[worst])}"
        stiff = f"step too long for {joints[study.stiff_joint[row]].name}, stable up to {study.longest_step[row]:.3g} s"
        what = stiff if study.integrator_failed[row] else diverged if joint >= 0 else off
        found.append([str(study.samples[row]), what, *(f"{x:.4g}" for x in study.parameters[row])])
    return Table(["sample", "what", *study.names], found, "failures", numbers=["sample", *study.names])
