"""The robot in a report: its joints and drives, and how far its numbers can be trusted."""

from __future__ import annotations

from .. import html
from ..robot import Robot, without_source, worst_trust
from ..robot.texts import drive_name, kind_text, limits_text, stiffness_text
from ..tables import Table

NUMBERS = ("mass, kg", "motor inertia", "stiffness", "gear ratio")


def robot_section(robot: Robot) -> str:
    """A section of a page: the robot, its joints, and the sources of its numbers."""
    mass, gravity = sum(link.mass for link in robot.links), ", ".join(f"{x:g}" for x in robot.gravity)
    lines = [f"{robot.name}: {robot.n} joints, {mass:.4g} kg, tool '{robot.tool}', gravity ({gravity}) m/s²"]
    lines.append(f"Worst trust of any number: {trust_text(robot)}")
    joints, parts = joint_table(robot), ["".join(map(html.paragraphs, lines))]
    parts.append(html.table(joints.rows, joints.headings, numbers=joints.numbers))
    parts.append(html.paragraphs(joints.note, note=True))
    if robot.sources:
        rows = [(", ".join(x.of), x.trust, x.origin, x.note) for x in robot.sources]
        parts.append(html.table(rows, ("source of", "trust", "origin", "note"), caption="Sources of the numbers"))
    return html.section("Robot", "".join(parts))


def trust_text(robot: Robot) -> str:
    """The worst trust of any number of a robot, and how many have no source."""
    missing = len(without_source(robot))
    found = worst_trust(robot) or "not stated"
    return f"{found}; {missing} numbers have no source" if missing else found


def joint_table(robot: Robot) -> Table:
    """Joints, links and drives; columns without any entry are left out."""
    rows = []
    for link in robot.links:
        joint, drive = link.joint, link.joint.drive
        motors = drive.motors if drive is not None else ()
        ratios = dict.fromkeys(motor.gear_ratio for motor in motors if motor.gear_ratio is not None)
        rows.append(
            {
                "joint": joint.name,
                "kind": kind_text(joint),
                "link": link.name,
                "mass, kg": f"{link.mass:g}",
                "drive": drive_name(drive) if joint.moves else "",
                "motor inertia": ", ".join(f"{motor.inertia:.4g}" for motor in motors),
                "stiffness": stiffness_text(drive),
                "gear ratio": ", ".join(f"{x:g}" for x in ratios),
                "limits": limits_text(joint),
            }
        )
    headings = [name for name in rows[0] if any(row[name] for row in rows)]
    units = "Motor inertias after the reduction in kg m² or kg, stiffness in Nm/rad or N/m."
    note = units if "motor inertia" in headings else ""
    return Table(headings, [[row[x] for x in headings] for row in rows], note=note, numbers=NUMBERS)
