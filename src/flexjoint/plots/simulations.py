"""Figure of simulations: positions with their reference, errors, torques, deflections, stiffness; one row per joint.

A batch is shown by its median and the band from 5 to 95 % of the runs; runs that diverged count until then.  A second
motor is shown if its position counts from the link; other second motors have another unit.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.torque_table import units
from ..dynamics.drivetrain.coupling import matrices
from ..simulation.result import Simulation
from ..types import FloatArray
from .figures import (
    DEFLECTION,
    ERROR,
    LINK,
    MOST_POINTS,
    MOTOR,
    REFERENCE,
    STIFFNESS,
    TORQUE,
    Curve,
    Panel,
    check_plot_path,
    limits_of,
    panel_figure,
    second_motors,
    shown_units,
    write_figure,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EDGES = (0.05, 0.5, 0.95)


def plot_simulation(run: Simulation, path: str | os.PathLike[str] | None = None) -> Figure:
    """Figure of a simulation: positions with the reference, errors, torques, deflections, stiffness where it varies.

    Args:
        run: One run or a batch, as `simulate` returns it.
        path: File to write, .png, .pdf or .svg; by default none.

    Returns:
        The matplotlib Figure, one row per joint.

    Raises:
        InputError: The path has another suffix or no file can be written there.
    """
    place = check_plot_path(path)
    count = int(np.prod(run.q.shape[:-2]))
    many = f"{count} runs" if run.q.ndim > 2 else "one run"
    title = (
        f"{run.robot.name}: {many} of {run.t[-1] - run.t[0]:g} s under {run.provenance.get('controller', 'control')}"
    )
    step = max(1, run.t.size // MOST_POINTS)
    return write_figure(panel_figure(run.robot, run.t[::step], simulation_panels(run, step), title), place)


def simulation_panels(run: Simulation, step: int = 1) -> list[Panel]:
    """Panels of a simulation, every `step`-th sample, in ° and mm."""
    robot, torque = run.robot, units(run.robot, "tau")
    labels, factors = shown_units(robot)
    q, reference = run.q[..., ::step, :], run.reference[::step, : robot.n]
    first, *second = at_joints(run, run.theta[..., ::step, :])
    taus = at_joints(run, run.tau[..., ::step, :])
    others = [Curve("reference", reference * factors, REFERENCE, "--")]
    if run.q.ndim == 2:
        others.append(Curve("motor θ", first * factors, MOTOR))
        others += [Curve("second motor", x * factors, MOTOR, ":") for x in second]
    position = batch_panel("position", labels, q * factors, LINK)
    found = [
        position._replace(
            label="link q" if position.band is None else "median",
            others=others,
            limits=limits_of(robot, "position", factors),
        ),
        batch_panel("error q_d − q", labels, run.error[..., ::step, :] * factors, ERROR),
        batch_panel("motor torque", torque, taus[0], TORQUE, taus[1:])._replace(limits=limits_of(robot, "torque")),
    ]
    if any(robot.compliant):
        phi = [(x - q) * factors for x in (first, *second)]
        if robot.transmissions:  # of the springs, φ = T_b⁻¹θ − T_a q
            T = matrices(robot)
            phi[0] = (first @ T.near_motors_inverse.T - q @ T.near_links.T) * factors
        title = "deflection θ − q" if not robot.transmissions else "deflection φ"
        deflection = batch_panel(title, labels, phi[0], DEFLECTION, phi[1:])
        found.append(deflection._replace(limits=limits_of(robot, "deflection", factors)))
    if any(robot.variable_stiffness):
        stiffness = batch_panel("stiffness", units(robot, "sigma"), run.stiffness[..., ::step, :], STIFFNESS)
        asked = run.reference[::step, robot.n :]
        wanted = np.full((len(asked), robot.n), np.nan)
        if asked.shape[1]:
            wanted[:, list(robot.motor_joints[robot.n :])] = asked
        found.append(stiffness._replace(others=[Curve("", wanted, REFERENCE, "--")]))
    return found


def at_joints(run: Simulation, values: FloatArray) -> list[FloatArray]:
    """Values per motor as values per joint: of first motors, then of second ones, NaN where a joint has none."""
    n, beside = run.robot.n, second_motors(run.robot)
    second = np.full((*values.shape[:-1], n), np.nan)
    second[..., list(beside.values())] = values[..., list(beside)]
    return [values[..., :n], second] if beside else [values[..., :n]]


def batch_panel(
    title: str, labels: list[str], values: FloatArray, colour: str, others: Sequence[FloatArray] = ()
) -> Panel:
    """Panel of one run, or of the median and band of a batch; `others` are the curves of second motors."""
    middle, band = middle_and_band(values)
    further = [Curve("", middle_and_band(x)[0], colour, ":") for x in others]
    return Panel(title, labels, middle, colour, others=further, band=band)


def middle_and_band(values: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """One run itself; of a batch the median (m, n) and the band (2, m, n)."""
    if values.ndim == 2:
        return values, None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        low, middle, high = np.nanquantile(values.reshape(-1, *values.shape[-2:]), EDGES, axis=0)
    return middle, np.stack([low, high])
