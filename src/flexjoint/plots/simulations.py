"""Plots of simulations: positions with their reference, errors, torques and deflections, joint by joint.

Of a batch the median is drawn, in the band of nine tenths of the runs; of those that diverged, what comes before.  A
second motor is drawn where it counts from the link; others have units of their own.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..analysis.torque_table import units
from ..simulation.result import Simulation
from .figures import (
    BLUE,
    GREEN,
    GREY,
    MOST_POINTS,
    ORANGE,
    Curve,
    Panel,
    check_plot_path,
    panel_figure,
    second_motors,
    shown_units,
    write_figure,
)

EDGES = (0.05, 0.5, 0.95)


def plot_simulation(run: Simulation, path: str | os.PathLike[str]) -> None:
    """Positions of links and motors with the reference, errors, torques and deflections: .png, .pdf or .svg."""
    path = check_plot_path(path)
    write_figure(simulation_figure(run), path)


def simulation_figure(run: Simulation) -> Any:
    count = int(np.prod(run.q.shape[:-2]))
    many = f"{count} runs" if run.q.ndim > 2 else "a run"
    title = (
        f"{run.robot.name}: {many} of {run.t[-1] - run.t[0]:g} s under {run.provenance.get('controller', 'control')}"
    )
    step = max(1, run.t.size // MOST_POINTS)
    return panel_figure(run.robot, run.t[::step], simulation_panels(run, step), title)


def simulation_panels(run: Simulation, step: int = 1) -> list[Panel]:
    """Of every `step`-th sample; in degrees and millimetres."""
    robot, torque = run.robot, units(run.robot, "tau")
    labels, factors = shown_units(robot)
    q, reference = run.q[..., ::step, :], run.reference[::step, : robot.n]
    first, *second = at_joints(run, run.theta[..., ::step, :])
    taus = at_joints(run, run.tau[..., ::step, :])
    others = [Curve("reference", reference * factors, GREY, "--")]
    if run.q.ndim == 2:
        others.append(Curve("motor θ", first * factors, ORANGE))
        others += [Curve("second motor", x * factors, GREEN) for x in second]
    position = batch_panel("position", labels, q * factors, BLUE)
    found = [
        position._replace(label="link q" if position.band is None else "median", others=others),
        batch_panel("error q_d − q", labels, run.error[..., ::step, :] * factors, BLUE),
        batch_panel("motor torque", torque, taus[0], BLUE, taus[1:]),
    ]
    if any(robot.compliant):
        phi = [(x - q) * factors for x in (first, *second)]
        found.append(batch_panel("deflection θ − q", labels, phi[0], ORANGE, phi[1:]))
    return found


def at_joints(run: Simulation, values: np.ndarray) -> list[np.ndarray]:
    """One number a motor as one a joint: of the first motors, then of the second ones, NaN where there is none."""
    n, beside = run.robot.n, second_motors(run.robot)
    second = np.full((*values.shape[:-1], n), np.nan)
    second[..., list(beside.values())] = values[..., list(beside)]
    return [values[..., :n], second] if beside else [values[..., :n]]


def batch_panel(
    title: str, labels: list[str], values: np.ndarray, colour: str, others: Sequence[np.ndarray] = ()
) -> Panel:
    """The curve of a run, or median and band of a batch; `others` are those of second motors."""
    middle, band = middle_and_band(values)
    further = [Curve("", middle_and_band(x)[0], GREEN) for x in others]
    return Panel(title, labels, middle, colour, others=further, band=band)


def middle_and_band(values: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    if values.ndim == 2:
        return values, None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        low, middle, high = np.nanquantile(values.reshape(-1, *values.shape[-2:]), EDGES, axis=0)
    return middle, np.stack([low, high])
