"""Summaries of studies, Sobol indices, worst cases and gain searches in a report: tables and figures."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..plots.gain_search import plot_gain_search
from ..plots.sobol import plot_sobol
from ..plots.study_summary import plot_study_summary
from ..plots.worst_case import plot_worst_case
from ..python_code import literal
from ..studies import GainSearch, SobolIndices, StudySummary, WorstCase
from ..studies.error_summary import merit_text
from ..studies.intervals import level_text, samples_needed
from ..tables import Table, quantity
from .content import Content, content_of

SHOWN = 20  # rows of a table of gains


@content_of.register
def summary_content(found: StudySummary) -> Content:
    """What a report shows of a StudySummary."""
    counts = ", ".join(f"{count} {outcome}" for outcome, count in found.outcomes.items())
    confidence = found.failures.confidence
    rows = [
        [merit_text(of), level_text(x.level), *(quantity(y, found.units[of], 4) for y in x[1:4])]
        for of, x in found.rows
    ]
    headings = ["figure of merit", "level", "quantile", "low", "high"]
    few = max((samples_needed(x.level, confidence) for _, x in found.rows if not np.isfinite(x.high)), default=0)
    note = f"an upper end of the interval needs at least {few} samples" if few > found.samples else ""
    title = f"quantiles with their {100 * confidence:g} % confidence intervals"
    return Content(
        "Summary of a Monte-Carlo study",
        [
            f"{found.samples} samples: {counts}",
            f"probability that control fails: {found.failures}",
            Table(headings, rows, title, note, numbers=headings[1:]),
        ],
        {"Quantiles of the figures of merit with their confidence intervals.": partial(plot_study_summary, found)},
        None,
        {"samples": found.samples, "limit": found.limit, "confidence": confidence},
    )


@content_of.register
def sobol_content(found: SobolIndices) -> Content:
    """What a report shows of SobolIndices."""
    order = np.argsort(-found.total, kind="stable")
    pairs = ((found.first, found.first_interval), (found.total, found.total_interval))
    rows = [[found.names[k], *(index_text(x[k], ends[k]) for x, ends in pairs)] for k in order]
    headings = ["parameter", "first order", "total"]
    size = quantity(found.mean, found.unit, 4)
    text = (
        f"{found.robot.name}: {merit_text(found.of)}, mean {size}, standard deviation {np.sqrt(found.variance):.3g}; "
        f"{found.runs} runs of {found.samples} base samples"
    )
    note = f"interactions explain {100 * max(found.interactions, 0.0):.2g} % of the variance"
    title = f"share of the variance, with {100 * found.confidence:g} % intervals"
    return Content(
        f"Sobol indices of {found.robot.name}",
        [text, Table(headings, rows, title, note, numbers=headings[1:])],
        {"First-order and total Sobol indices.": partial(plot_sobol, found)},
        found.robot,
        {"figure of merit": found.of, "base samples": found.wanted, "runs": found.runs},
    )


def index_text(x: float, ends: np.ndarray) -> str:
    """An index with its interval."""
    return f"{x:.3f} ({ends[0]:.3f} to {ends[1]:.3f})"


@content_of.register
def worst_content(found: WorstCase) -> Content:
    """What a report shows of a WorstCase."""
    columns = found.arrays()
    numbers = ("nominal", "low", "high", "worst")
    rows = []
    for k, name in enumerate(found.names):
        values = [quantity(columns[x][k], columns["unit"][k], 6) for x in numbers]
        rows.append([name, *values, f"{100 * found.places[k]:.0f} %"])
    headings = ["parameter", *numbers, "place"]
    lines: list[str | Table] = [f"{found.robot.name}: {found.text}"]
    if found.unknown:
        lines.append(f"{found.unknown} runs were left out: the step of the integrator was too long for them")
    return Content(
        f"Worst case of {found.robot.name}",
        [*lines, Table(headings, rows, "the worst robot that was found", numbers=headings[1:]), free_text(found)],
        {"The worst robot within the ranges, and the search.": partial(plot_worst_case, found)},
        found.robot,
        {"figure of merit": found.of, "runs": found.runs, "seed": found.seed},
    )


def free_text(found: WorstCase) -> str:
    """The worst robot, ready to paste into Python."""
    return f"to simulate it again: free={literal(found.free)}"


@content_of.register
def gain_content(found: GainSearch) -> Content:
    """What a report shows of a GainSearch: the best gains first."""
    columns = found.columns()
    headings = [x.header for x in columns]
    rows = [
        [f"{x.values[k]:.5g}" for x in columns] for k in found.order[:SHOWN] if not np.isnan(found.failures.flat[k])
    ]
    lines: list[str | Table] = [f"{found.robot.name}: {found.samples} robots, the same for all gains"]
    lines.append(f"best: {found.paste}: {found.text}")
    if found.edges:
        lines.append(f"at an end of the grid: {', '.join(found.edges)}; there may be better gains beyond it")
    title = "gains, the best first" + (f", {SHOWN} of {found.quantile.size}" if found.quantile.size > SHOWN else "")
    return Content(
        f"Gain search for {found.robot.name}",
        [*lines, Table(headings, rows, title, numbers=headings)],
        {"The objective over the gains.": partial(plot_gain_search, found)},
        found.robot,
        {"objective": found.aim, "robots": found.samples, "confidence": found.confidence},
    )
