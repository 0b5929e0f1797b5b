"""Figure of motor torques and deflections along a trajectory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..analysis.torque_table import JointTable, MotorTable, difference, units
from ..analysis.variable_stiffness_table import StiffnessTable
from ..errors import InputError, shown as shown_value
from ..types import FloatArray
from .figures import DEFLECTION, GREY, REFERENCE, STIFFNESS, TORQUE, check_plot_path, shown_units, write_figure
from .panels import Curve, Panel, Shade, exceeded_panels, limits_of, panel_figure, second_limits, second_motors

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_motors(table: JointTable, path: str | os.PathLike[str] | None = None) -> Figure:
    """Figure of motor torques, deflections and, where the table has it, the difference to rigid joints.

    Args:
        table: A MotorTable or a StiffnessTable.
        path: File to write, .png, .pdf or .svg; by default none.

    Returns:
        The matplotlib Figure, one row per joint.

    Raises:
        InputError: The path has another suffix or no file can be written there.

    Example:
        >>> import flexjoint as fj
        >>> from flexjoint.analysis import motor_table
        >>> from flexjoint.plots import plot_motors
        >>> motion = fj.trajectory.RestToRest([0.0] * 7, [0.5] * 7, 2.0)
        >>> figure = plot_motors(motor_table(fj.load("kuka_lwr"), motion, 0.01))
    """
    place = check_plot_path(path)
    return write_figure(panel_figure(table.robot, table.t, panels_with_limits(table), title_of(table)), place)


def title_of(table: JointTable) -> str:
    """What the figure shows."""
    return f"motors along a trajectory of {table.t[-1]:g} s"


def panels_with_limits(table: JointTable) -> list[Panel]:
    """Panels of a table, and one more per quantity beyond its limit."""
    return [*panels(table), *exceeded_panels(table.robot, table.exceeded.values, ("torque", "deflection"))]


def panels(table: JointTable) -> list[Panel]:
    """Panels of a table, in ° and mm where these are more familiar than SI units."""
    if isinstance(table, StiffnessTable):
        return stiffness_panels(table)
    if isinstance(table, MotorTable):
        return motor_panels(table)
    raise InputError(f"plot_motors: table is {shown_value(table)}; give a MotorTable or a StiffnessTable")


def motor_panels(table: MotorTable) -> list[Panel]:
    """Panels of a robot with one motor per joint."""
    torques = units(table.robot, "tau")
    label, bound = "torque" if table.bands else "", limits_of(table.robot, "torque")
    found = [Panel("motor torque", torques, table.tau, TORQUE, label=label, limits=bound)]
    if any(table.robot.compliant):
        labels, factors = shown_units(table.robot)
        title = "deflection φ" if table.robot.transmissions else "deflection θ − q"
        bound = limits_of(table.robot, "deflection", factors)
        found.append(Panel(title, labels, table.deflection * factors, DEFLECTION, limits=bound))
    if table.tau_rigid is not None:
        found.append(Panel("torque, elastic − rigid", torques, difference(table.tau, table.tau_rigid), TORQUE))
    return with_errors(table, found, {"tau": TorqueCurve("error of the torque", table.tau, TORQUE)})


def stiffness_panels(table: StiffnessTable) -> list[Panel]:
    """Panels of a robot with variable stiffness; both motors of a joint share a panel.

    A second motor whose position does not count from the link has another unit: it is in the table only.
    """
    robot, (labels, factors) = table.robot, shown_units(table.robot)
    there, beside = np.where(robot.variable_stiffness, 1.0, np.nan), np.full(robot.n, np.nan)
    beside[list(second_motors(robot).values())] = 1.0
    torques, phi = (table.tau_1, beside * table.tau_2), (table.phi_1 * factors, beside * table.phi_2 * factors)
    least = Curve("least stiffness", there * table.sigma_lower, REFERENCE, "--")
    found = [
        Panel(
            "motor torques",
            units(robot, "tau"),
            torques[0],
            TORQUE,
            "motor 1",
            [Curve("motor 2", torques[1], TORQUE, ":", second_limits(robot, "torque"))],
            limits=limits_of(robot, "torque"),
        ),
        Panel(
            "deflections",
            labels,
            phi[0],
            DEFLECTION,
            others=[Curve("", phi[1], DEFLECTION, ":", second_limits(robot, "deflection", factors))],
            limits=limits_of(robot, "deflection", factors),
        ),
        Panel("stiffness", units(robot, "sigma"), there * table.sigma, STIFFNESS, others=[least]),
    ]
    bands = {
        "tau_1": TorqueCurve("error of torque 1", torques[0], TORQUE),
        "tau_2": TorqueCurve("error of torque 2", torques[1], TORQUE),
    }
    return with_errors(table, found, bands)


class TorqueCurve(NamedTuple):
    """A torque with an error band: title of the panel of the error, torque (m, n), colour."""

    title: str
    torque: FloatArray
    colour: str


def with_errors(table: JointTable, found: list[Panel], torques: dict[str, TorqueCurve]) -> list[Panel]:
    """The panels, with error bands around the torques of the first one and one more panel per error band."""
    if not table.bands:
        return found
    first, *rest = found
    for name, curve in torques.items():
        first = first._replace(shades=[*first.shades, *shades(table, name, curve.torque, curve.colour)])
        zero = np.zeros_like(curve.torque)
        around_zero = shades(table, name, zero, curve.colour)
        rest.append(Panel(curve.title, units(table.robot, name), zero, GREY, shades=around_zero))
    return [first, *rest]


def shades(table: JointTable, name: str, centre: FloatArray, colour: str) -> list[Shade]:
    """Bound and standard deviation of the error of a torque, as bands around a centre."""
    kinds = {"bound of the error": ("bound", 0.2), "standard deviation": ("spread", 0.35)}
    return [Shade(label, centre, table.bands[f"{name}_{key}"], colour, alpha) for label, (key, alpha) in kinds.items()]
