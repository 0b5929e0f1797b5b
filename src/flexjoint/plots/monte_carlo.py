"""Figure of the tracking errors of a Monte-Carlo study: their distribution per joint."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..studies.monte_carlo import MonteCarlo
from ..types import FloatArray
from .figures import BLUE, ORANGE, check_plot_path, literal, shown_units, write_figure, write_name, write_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPREAD = 30  # largest over median error, beyond which the scale is logarithmic
LABELS = {"largest": ("largest error", BLUE), "final": ("error at the end", ORANGE)}


def plot_monte_carlo(study: MonteCarlo, path: str | os.PathLike[str] | None = None) -> Figure:
    """Figure of the share of runs whose error stays below a bound, per joint: the largest and the final error.

    Args:
        study: What `monte_carlo` returns.
        path: File to write, .png, .pdf or .svg; by default none.

    Returns:
        The matplotlib Figure, one row per joint.  Runs that diverged, or whose integrator failed, count as runs with an
        infinite error.

    Raises:
        InputError: The path has another suffix or no file can be written there.
    """
    place = check_plot_path(path)
    from matplotlib.figure import Figure

    joints, labels, factors = study.robot.joints, *shown_units(study.robot)
    mixed = len(set(labels)) > 1
    height = 1.4 + 1.25 * len(joints)
    figure = Figure(figsize=(6.4, height))
    axes = figure.subplots(len(joints), 1, squeeze=False)[:, 0]
    valid = ~study.diverged & ~study.integrator_failed
    share = np.arange(1 + np.count_nonzero(valid)) / max(1, len(study.samples))
    for i, (axis, joint) in enumerate(zip(axes, joints)):
        for kind, (label, colour) in LABELS.items():
            errors = np.sort(getattr(study, kind)[valid, i] * factors[i])
            axis.plot([0.0, *errors], share, label=label, color=colour, linewidth=1.4, drawstyle="steps-post")
        axis.set(ylim=(0, 1.02), yticks=[0, 0.5, 1])
        write_name(axis, joint.name)
        axis.grid(alpha=0.3)
        if far_apart(study.largest[valid, i]):
            axis.set_xscale("log")
        else:
            axis.set_xlim(left=0)
            axis.locator_params(axis="x", nbins=7)
            axis.ticklabel_format(axis="x", useOffset=False, scilimits=(-2, 4), useMathText=True)
        if mixed:
            write_unit(axis, labels[i])
        if not np.any(valid):
            axis.set_xticks([])
            reason = "step too long for all" if np.all(study.integrator_failed) else "all diverged"
            axis.annotate(reason, (0.5, 0.5), xycoords="axes fraction", ha="center", va="center")
    figure.suptitle(literal(f"{study.robot.name}: {study.counts}"), y=1 - 0.15 / height)
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="upper center",
        ncols=2,
        frameon=False,
        bbox_to_anchor=(0.5, 1 - 0.3 / height),
    )
    figure.supxlabel("error |q − q_d| of the links" + ("" if mixed else f", {labels[0]}"), fontsize=10)
    figure.supylabel("share of runs below", fontsize=10)
    figure.subplots_adjust(0.17, 0.65 / height, 0.93, 1 - 0.75 / height, hspace=0.75)
    return write_figure(figure, place)


def far_apart(errors: FloatArray) -> bool:
    """Whether a few runs err so much more than the others that a linear scale would hide these."""
    seen = errors[np.isfinite(errors) & (errors > 0)]
    return seen.size > 1 and float(seen.max()) > SPREAD * float(np.median(seen))
