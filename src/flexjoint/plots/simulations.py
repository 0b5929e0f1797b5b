"""Figure of simulations: positions with their reference, errors, torques, deflections, stiffness; one row per joint.

Quantities beyond a limit of the robot have a panel of their own.  A batch is shown by its median and the band from 5 to
95 % of the runs; runs that diverged count until then.  A second motor is shown if its position counts from the link;
other second motors have another unit.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.torque_table import units
from ..dynamics.drivetrain.coupling import matrices
from ..simulation.result import Simulation
from .figures import (
    DEFLECTION,
    ERROR,
    LINK,
    MOST_POINTS,
    MOTOR,
    REFERENCE,
    STIFFNESS,
    TORQUE,
    check_plot_path,
    shown_units,
    write_figure,
)
from .panels import Curve, Panel, at_joints, batch_panel, exceeded_panels, limits_of, panel_figure, second_limits

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    step = max(1, run.t.size // MOST_POINTS)
    return write_figure(panel_figure(run.robot, run.t[::step], simulation_panels(run, step), title_of(run)), place)


def title_of(run: Simulation) -> str:
    """What the figure shows."""
    many = f"{int(np.prod(run.q.shape[:-2]))} runs" if run.q.ndim > 2 else "one run"
    return f"{many} of {run.t[-1] - run.t[0]:g} s under {run.provenance.get('controller', 'control')}"


def simulation_panels(run: Simulation, step: int = 1) -> list[Panel]:
    """Panels of a simulation, every `step`-th sample, in ° and mm; of a robot in open loop without a reference."""
    robot, torque = run.robot, units(run.robot, "tau")
    labels, factors = shown_units(robot)
    q, reference = run.q[..., ::step, :], run.reference[::step, : robot.n]
    first, *second = at_joints(robot, run.theta[..., ::step, :])
    taus = at_joints(robot, run.tau[..., ::step, :])
    range_of_links = limits_of(robot, "position", factors)
    others = [Curve("reference", reference * factors, REFERENCE, "--", range_of_links)] if run.tracks else []
    if run.q.ndim == 2:
        others.append(Curve("motor θ", first * factors, MOTOR))
        others += [Curve("second motor", x * factors, MOTOR, ":") for x in second]
    position = batch_panel("position", labels, q * factors, LINK, limits=range_of_links)
    found = [position._replace(label="link q" if position.band is None else "median", others=others)]
    if run.tracks:
        found.append(batch_panel("error q_d − q", labels, run.error[..., ::step, :] * factors, ERROR))
    limits = limits_of(robot, "torque"), second_limits(robot, "torque")
    found.append(batch_panel("motor torque", torque, taus[0], TORQUE, taus[1:], *limits))
    if any(robot.compliant):
        phi = [(x - q) * factors for x in (first, *second)]
        if robot.transmissions:  # of the springs, φ = T_b⁻¹θ − T_a q
            T = matrices(robot)
            phi[0] = (first @ T.near_motors_inverse.T - q @ T.near_links.T) * factors
        title = "deflection θ − q" if not robot.transmissions else "deflection φ"
        limits = limits_of(robot, "deflection", factors), second_limits(robot, "deflection", factors)
        found.append(batch_panel(title, labels, phi[0], DEFLECTION, phi[1:], *limits))
    if any(robot.variable_stiffness):
        stiffness = batch_panel("stiffness", units(robot, "sigma"), run.stiffness[..., ::step, :], STIFFNESS)
        asked = run.reference[::step, robot.n :]
        if run.tracks and asked.shape[1]:
            wanted = np.full((len(asked), robot.n), np.nan)
            wanted[:, list(robot.motor_joints[robot.n :])] = asked
            stiffness = stiffness._replace(others=[Curve("", wanted, REFERENCE, "--")])
        found.append(stiffness)
    beyond = {name: x[..., ::step, :] for name, x in run.exceeded.values.items()}
    return [*found, *exceeded_panels(robot, beyond, ("position", "torque", "deflection"))]
