"""Figures of an experiment: its motion, and its residual with the threshold."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.torque_table import units
from ..errors import InputError
from ..plots import plot_simulation
from ..plots.figures import RESIDUAL as RESIDUAL_COLOUR, THRESHOLD, write_figure
from ..plots.panels import Curve, Panel, panel_figure
from ..simulation.result import Simulation
from .detection import RESIDUAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .experiment import Experiment


def write_figures(experiment: Experiment, folder: str | os.PathLike[str], stem: str) -> list[Path]:
    """Write the figures; see `Experiment.write_figures`."""
    run, place = experiment.result, Path(folder)
    if run is None:
        raise InputError("write_figures: no run has ended well yet; call run()")
    if not place.is_dir():
        raise InputError(f"write_figures: {place} is no folder; make it first")
    found = [place / f"{stem}_motion.png"]
    plot_simulation(run, found[0])
    if RESIDUAL in run.more:
        found.append(place / f"{stem}_residual.png")
        write_figure(residual_figure(run, experiment["threshold"]), found[1])
    return found


def residual_figure(run: Simulation, threshold: float) -> Figure:
    """The residual of each joint with the threshold on both sides."""
    residual = run.more[RESIDUAL]
    level = np.full(residual.shape, threshold)
    both = [Curve("threshold", level, THRESHOLD, "--"), Curve("", -level, THRESHOLD, "--")]
    unit, colour = units(run.robot, "tau"), RESIDUAL_COLOUR
    panel = Panel("residual of the links", unit, residual, colour, label="residual", others=both)
    return panel_figure(run.robot, run.t, [panel], "residual")
