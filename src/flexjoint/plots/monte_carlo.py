"""Figure of the tracking errors of a Monte-Carlo study: their distribution per joint."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..studies.monte_carlo import MonteCarlo
from ..types import FloatArray
from .figures import ERROR, LIMIT, check_plot_path, name_text, shown_units, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPREAD = 30  # largest over median error, beyond which the scale is logarithmic
LABELS = {"largest": ("largest error", "-"), "final": ("error at the end", ":")}
MOST_ROWS = 10  # from which on joints stand in several columns


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
    columns = math.ceil(len(joints) / MOST_ROWS)
    rows = math.ceil(len(joints) / columns)
    figure = Figure(figsize=(1.6 + 5.4 * columns**0.8, 1.35 + 1.2 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).T.ravel()  # joints run down the columns
    valid = ~study.diverged & ~study.integrator_failed
    share = np.arange(1 + np.count_nonzero(valid)) / max(1, len(study.samples))
    for axis in axes[len(joints) :]:
        axis.set_axis_off()
    for i, (axis, joint) in enumerate(zip(axes, joints)):
        for kind, (label, style) in LABELS.items():
            errors = np.sort(getattr(study, kind)[valid, i] * factors[i])
            axis.plot([0.0, *errors], share, style, label=label, color=ERROR, linewidth=1.6, drawstyle="steps-post")
        if share[-1] < 1:  # what no error reaches
            axis.axhspan(share[-1], 1.0, color=LIMIT, alpha=0.12, linewidth=0, label=failure_text(study))
        axis.set(ylim=(0, 1.04), yticks=[0, 0.5, 1])
        axis.set_title(f"{name_text(joint.name)}, {labels[i]}", loc="left", fontsize=9, fontweight="bold", pad=3)
        axis.grid(alpha=0.3)
        if not np.any(valid):
            axis.set_xticks([])
        elif far_apart(study.largest[valid, i]):
            axis.set_xscale("log")
        else:
            axis.set_xlim(left=0)
            axis.locator_params(axis="x", nbins=7)
            axis.ticklabel_format(axis="x", useOffset=False, scilimits=(-2, 4), useMathText=True)
    figure.suptitle(f"{name_text(study.robot.name)}: {study.counts}")
    below: Any = {"loc": "outside lower center", "ncols": 3, "frameon": False, "fontsize": 9}
    figure.legend(*axes[0].get_legend_handles_labels(), **below)
    for k, axis in enumerate(axes[: len(joints)]):
        if k % rows == rows - 1 or k == len(joints) - 1:
            axis.set_xlabel("error |q − q_d| of the link")
    figure.supylabel("share of runs below", fontsize=10)
    return write_figure(figure, place)


def failure_text(study: MonteCarlo) -> str:
    """Why some runs have no finite error."""
    stiff = study.integrator_failed
    why = ["diverged"] * bool(np.any(study.diverged & ~stiff)) + ["step too long"] * bool(np.any(stiff))
    return " or ".join(why)


def far_apart(errors: FloatArray) -> bool:
    """Whether a few runs err so much more than the others that a linear scale would hide these."""
    seen = errors[np.isfinite(errors) & (errors > 0)]
    return seen.size > 1 and float(seen.max()) > SPREAD * float(np.median(seen))
