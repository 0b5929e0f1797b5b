"""A comparison of rotor models in a report: errors per joint and speed, the verdict, and the figure."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..analysis.rotor_models import RotorComparison, percent, share
from ..analysis.torque_table import units
from ..plots.rotor_models import plot_rotor_models
from ..tables import Table
from .content import Content, content_of


@content_of.register
def rotor_content(found: RotorComparison) -> Content:
    """What a report shows of a RotorComparison."""
    notes = [f"note: {' '.join(note.split())}" for note in found.notes]
    return Content(
        f"Rotor models of {found.robot.name}",
        [error_table(found), relative_table(found), *notes, found.verdict],
        {"Errors of the motor torques of simpler rotor models.": partial(plot_rotor_models, found)},
        found.robot,
        {"duration, s": found.t[-1], "samples": found.t.size, "tolerance": percent(found.tolerance)},
    )


def error_table(comparison: RotorComparison) -> Table:
    """Largest error per model and joint."""
    rows = []
    for i, (joint, unit) in enumerate(zip(comparison.robot.joints, units(comparison.robot, "tau"))):
        errors = [f"{comparison.largest[model][i]:.3g} {unit}" for model in comparison.simpler]
        rows.append([joint.name, f"{comparison.peak[i]:.4g} {unit}", *errors])
    models = ["complete model", *comparison.simpler]
    title = f"{comparison.robot.name}: largest torques and errors in {comparison.t[-1]:g} s"
    return Table(["joint", *models], rows, title, numbers=models)


def relative_table(comparison: RotorComparison) -> Table:
    """Errors as a share of the peak torque, per joint and at the worst joint per speed; exponents of their growth."""
    rows = [
        [joint.name, *(percent(comparison.relative[model][i]) for model in comparison.simpler)]
        for i, joint in enumerate(comparison.robot.joints)
    ]
    gaps = [len(rows), len(rows) + len(comparison.speeds)]
    for speed, worst in worst_errors(comparison):
        rows.append([f"worst joint, speed × {speed:g}", *map(percent, worst.values())])
    powers = growth(comparison).values()
    rows.append(["error grows as speed^", *("-" if x is None else f"{x[0]:.1f} to {x[1]:.1f}" for x in powers)])
    title = "errors, share of the joint's peak torque"
    return Table(["", *comparison.simpler], rows, title, numbers=comparison.simpler, gaps=gaps)


def worst_errors(comparison: RotorComparison) -> list[tuple[float, dict[str, float]]]:
    """Relative error of the worst joint by model, per speed."""
    return [
        (speed, {model: share(comparison.growth[model][k], comparison.peaks[k]).max() for model in comparison.simpler})
        for k, speed in enumerate(comparison.speeds.tolist())
    ]


def growth(comparison: RotorComparison) -> dict[str, tuple[float, float] | None]:
    """Smallest and largest exponent of speed with which errors grow, by model; None without errors."""
    powers = {model: comparison.exponents(model) for model in comparison.simpler}
    powers = {model: x[np.isfinite(x)] for model, x in powers.items()}
    return {model: (float(x.min()), float(x.max())) if x.size else None for model, x in powers.items()}
