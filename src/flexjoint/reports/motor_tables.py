"""Motor torques along a trajectory in a report: the largest values per joint, and the figure."""

from __future__ import annotations

from ..analysis.torque_table import JointTable
from ..plots.motor_tables import panels, panels_with_limits, title_of
from ..plots.panels import page_figures
from ..tables import Table
from .content import Content, content_of, exceeded_tables

CAPTION = "Motors along the trajectory, one row per joint."


@content_of.register
def motor_content(table: JointTable) -> Content:
    """What a report shows of a MotorTable or StiffnessTable."""
    summary = f"{table.robot.name}: largest values of {table.t.size} samples in {table.t[-1]:g} s"
    return Content(
        f"Motor torques of {table.robot.name}",
        [summary, peak_table(table)],
        page_figures(table.robot, table.t, panels_with_limits(table), title_of(table), CAPTION),
        table.robot,
        {"samples": table.t.size, "duration, s": table.t[-1]},
        below=exceeded_tables(table.exceeded),
    )


def peak_table(table: JointTable) -> Table:
    """Largest value per joint of each panel of the plot; for errors, their bound."""
    found = panels(table)
    rows = [
        [joint.name, *(f"{x.largest(i):.4g} {x.units[i]}" for x in found)] for i, joint in enumerate(table.robot.joints)
    ]
    titles = [x.title for x in found]
    return Table(["joint", *titles], rows, numbers=titles)
