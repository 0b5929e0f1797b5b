"""A simulation in a report: errors and torques per joint, and the figure."""

from __future__ import annotations

import numpy as np

from ..plots.figures import MOST_POINTS, shown_units
from ..plots.panels import page_figures
from ..plots.simulations import simulation_panels, title_of
from ..simulation import Simulation
from ..tables import Table
from ..types import FloatArray
from .content import Content, content_of, exceeded_tables


@content_of.register
def run_content(run: Simulation) -> Content:
    """What a report shows of a Simulation, one run or a batch."""
    law = run.provenance.get("controller", "")
    single, step = run.q.ndim == 2, max(1, run.t.size // MOST_POINTS)
    about = f"{run.robot.name}: {int(run.periods)} periods of {run.period:g} s" if single else repr(run)[1:-1]
    caption = "Links, motors and reference, errors and torques, one row per joint."
    return Content(
        f"Simulation of {run.robot.name}{f' under {law}' if law else ''}",
        [about, run_table(run)],
        page_figures(
            run.robot,
            run.t[::step],
            simulation_panels(run, step),
            title_of(run),
            caption if single else f"{caption} Median and spread of all runs.",
        ),
        run.robot,
        {"period, s": run.period, "duration, s": run.t[-1] - run.t[0], **run.provenance},
        below=exceeded_tables(run.exceeded),
    )


def run_table(run: Simulation) -> Table:
    """Errors and torques per joint: of a batch the worst run, of a diverged run up to its end.

    In open loop there is no motion to err from: torques only.
    """
    end = "error when it diverged" if np.any(run.diverged) else "error at the end"
    largest, final, torques = run_errors(run)
    forces = [f"{x:.3g} {kind.unit('Nm | N')}" for x, kind in zip(torques, run.robot.motor_kinds)]
    rows = []
    for i, (joint, unit, factor) in enumerate(zip(run.robot.joints, *shown_units(run.robot))):
        own = [force for force, k in zip(forces, run.robot.motor_joints) if k == i]
        errors = [f"{factor * x[i]:.3g} {unit}" for x in (largest, final)] if run.tracks else []
        rows.append([joint.name, *errors, ", ".join(own)])
    headings = ["joint", *(["largest error", end] if run.tracks else []), "largest torque"]
    return Table(headings, rows, numbers=headings[1:])


def run_errors(run: Simulation) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Largest and last error per joint, (n,), and largest torque per motor, over all runs until they end."""
    place = np.asarray(run.periods - round(run.t[0] / run.period), dtype=int)[..., None, None]
    errors, torques = np.abs(run.error), np.abs(run.tau)
    final = np.take_along_axis(errors, place, -2)
    largest, last, most = (np.fmax.reduce(x.reshape(-1, x.shape[-1])) for x in (errors, final, torques))  # without NaN
    return largest, last, most
