"""Samples as a table, and as a plot of how the errors are distributed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..plots.figures import BLUE, ORANGE, check_plot_path, literal, shown_units, write_figure, write_unit
from ..results.columns import Column
from ..robot.parameters import parameters
from .monte_carlo import MonteCarlo


@dataclass(frozen=True, eq=False)
class SampleTable:
    """A row per sample: its parameters, its errors, which joint diverged when, and the joint too stiff for the step.

    All samples, or only failures.
    """

    study: MonteCarlo
    failures: bool = False

    def columns(self) -> list[Column]:
        study = self.study
        rows = study.failed if self.failures else slice(None)
        joints = study.robot.joints
        found = [Column("sample", "", study.samples[rows])]
        found += [Column(name, unit_of(study, name), study.parameters[rows, i]) for i, name in enumerate(study.names)]
        for kind in ("largest", "rms", "final"):
            errors = getattr(study, kind)[rows]
            units = ["m" if joint.kind == "prismatic" else "rad" for joint in joints]
            found += [Column(f"{kind}.{x.name}", units[i], errors[:, i]) for i, x in enumerate(joints)]
        names = np.array(["", *(joint.name for joint in joints)])
        found += [Column("ended", "s", study.ended[rows]), Column("diverged", "", names[study.joint[rows] + 1])]
        found += [Column("integrator_failed", "", names[study.stiff_joint[rows] + 1])]
        return [*found, Column("longest_step", "s", study.longest_step[rows])]

    def arrays(self) -> dict[str, Any]:
        return {column.name: column.values for column in self.columns()}


def counts(study: MonteCarlo) -> str:
    """How many samples there are and failed, those of the integrator by themselves."""
    count, failed, stiff = study.samples.size, study.control_failed.sum(), study.integrator_failed.sum()
    text = f"{count} sample{'s' * (count != 1)}, {failed} failed"
    return f"{text}, step too long for {stiff}" if stiff else text


def unit_of(study: MonteCarlo, path: str) -> str:
    known = parameters(study.robot)
    return known[path if path in known else path.rsplit(".", 1)[0]].unit


def plot_monte_carlo(study: MonteCarlo, path: str | os.PathLike[str]) -> None:
    """For each joint the share of runs whose error, the largest and that at the end, stays below a bound."""
    path = check_plot_path(path)
    from matplotlib.figure import Figure

    joints, labels, factors = study.robot.joints, *shown_units(study.robot)
    mixed = len(set(labels)) > 1
    height = 1.4 + 1.25 * len(joints)
    figure = Figure(figsize=(6.4, height))
    axes = figure.subplots(len(joints), 1, squeeze=False)[:, 0]
    count, well = len(study.samples), ~study.diverged & ~study.integrator_failed
    share = np.arange(1 + np.count_nonzero(well)) / max(1, count)
    for i, (axis, joint) in enumerate(zip(axes, joints)):
        for kind, colour in (("largest", BLUE), ("final", ORANGE)):
            errors = np.sort(getattr(study, kind)[well, i] * factors[i])
            style = {"color": colour, "linewidth": 1.4, "drawstyle": "steps-post"}
            axis.plot([0.0, *errors], share, label=NAMES[kind], **style)
        axis.set(ylim=(0, 1.02), yticks=[0, 0.5, 1])
        axis.set_ylabel(literal(joint.name), fontweight="bold")
        axis.set_xlim(left=0)
        axis.grid(alpha=0.3)
        axis.locator_params(axis="x", nbins=7)
        axis.ticklabel_format(axis="x", useOffset=False, scilimits=(-2, 4), useMathText=True)
        if mixed:
            write_unit(axis, labels[i])
        if not np.any(well):
            axis.set_xticks([])
            what = "step too long for all" if np.all(study.integrator_failed) else "all diverged"
            axis.annotate(what, (0.5, 0.5), xycoords="axes fraction", ha="center", va="center")
    figure.suptitle(literal(f"{study.robot.name}: {counts(study)}"), y=1 - 0.15 / height)
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
    write_figure(figure, path)


NAMES = {"largest": "largest error", "final": "error at the end"}
