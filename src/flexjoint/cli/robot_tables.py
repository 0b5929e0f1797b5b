"""The contents of a robot as tables.  A column appears where it says something about at least one row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import listed
from ..tables import interval
from .robot_cells import (
    axis_text,
    friction_cells,
    law_text,
    limit_cells,
    nonzero,
    numbers,
    parallel_text,
    roll_pitch_yaw,
    rounded,
    spring_laws,
)
from .robot_data import drive_kind, joint_letters, parameter_data, source_data
from .tables import Table

if TYPE_CHECKING:
    from ..analysis import RobotOverview
    from ..drives.friction import Rubbing
    from ..robot import Joint, Robot

UNITS = {
    "B": "kg m² | kg",
    "K": "Nm/rad | N/m",
    "position": "rad | m",
    "velocity": "rad/s | m/s",
    "acceleration": "rad/s² | m/s²",
    "jerk": "rad/s³ | m/s³",
    "effort": "Nm | N",
    "torque rate": "Nm/s | N/s",
    "motor torque": "Nm | N",
    "motor torque rate": "Nm/s | N/s",
    "motor speed": "rad/s | m/s",
    "rms torque": "Nm | N",
    "motor power": "W",
    "spring torque": "Nm | N",
    "deflection": "rad | m",
    "σ": "Nm/rad | N/m",
    "damping": "Nm s/rad | N s/m",
    "backlash": "rad | m",
    "K_p": "Nm/rad | N/m",
    "rest": "rad | m",
    "D": "Nm s/rad | N s/m",
    "F_c": "Nm | N",
    "v_c": "rad/s | m/s",
    "F_s": "Nm | N",
    "v_s": "rad/s | m/s",
    "τ_0": "Nm | N",
}  # of columns, angular and linear
MEANINGS = {
    "B": "motor inertia",
    "K": "stiffness",
    "σ": "stiffness that the motors can set",
    "K_p": "parallel spring",
    "rest": "where it is relaxed",
    "D": "viscous",
    "F_c": "Coulomb",
    "v_c": "where it changes its sign",
    "F_s": "static",
    "v_s": "Stribeck velocity",
    "μ": "per torque of the load",
    "τ_0": "load from which it grows",
}
RIGHT = {*UNITS, "μ", "mass, kg", "gear ratio", "mode", "at q = 0, Hz", "least", "greatest"} - {"K_p"}  # numbers
MOST_MODES = 10  # eigenfrequencies in one line


# Overview -------------------------------------------------------------------------------------------------------------


def overview(found: RobotOverview) -> list[str | Table]:
    """A few lines: joints, mass, orders, eigenfrequencies, trust."""
    from ..robot import worst_trust

    robot = found.robot
    lines = [
        f"{robot.name}: {joint_letters(robot)}, {found.mass:.4g} kg, gravity ({numbers(robot.gravity)}) m/s², "
        f"tool '{robot.tool}'"
    ]
    if found.centre_of_mass is not None:
        lines.append(f"centre of mass at q = 0: ({numbers(rounded(found.centre_of_mass))}) m in the base frame")
    if robot.fidelity != "spong":
        lines.append("rotors: complete model, with their coupling to the links that carry them")
    lines += order_lines(found)
    lines += frequency_lines(found)
    if robot.sources:
        lines.append(f"worst trust of any number: {worst_trust(robot) or 'not stated, some have no source'}")
    return ["\n".join(lines)]


def order_lines(found: RobotOverview) -> list[str]:
    """The derivative of the motion that the motor torques need."""
    if found.orders is None:
        return [f"inverse dynamics: {found.order_note}"]
    if not found.orders:
        return []
    names = {2: "accelerations", 3: "jerks", 4: "fourth derivatives"}
    top = max(found.orders)
    each = "" if len(set(found.orders)) == 1 else f"; per joint {numbers(found.orders)}"
    return [f"motor torques need a motion q with {names.get(top, f'{top}th derivatives')} (order {top}{each})"]


def frequency_lines(found: RobotOverview) -> list[str]:
    """Eigenfrequencies at q = 0 and over the workspace."""
    if found.frequencies is None:
        return [f"eigenfrequencies: {found.frequency_note}"] if found.frequency_note else []
    zero, least, greatest, count = found.frequencies
    at_zero = listed([hertz(x) for x in zero], most=MOST_MODES)
    band = interval(least.min() / (2 * math.pi), greatest.max() / (2 * math.pi), "Hz")
    return [
        f"eigenfrequencies at rest at q = 0: {at_zero} Hz",
        f"  over the workspace: {band} ({count} configurations within the limits)",
    ]


def hertz(omega: float) -> str:
    """A frequency in rad/s as a text in Hz."""
    return f"{omega / (2 * math.pi):.3g}"


# Sections -------------------------------------------------------------------------------------------------------------


def link_table(found: RobotOverview) -> list[str | Table]:
    """The tree: links, joints and masses."""
    from ..robot.texts import kind_text

    rows = []
    for link in found.robot.links:
        rows.append(
            {
                "link": link.name,
                "parent": link.parent,
                "joint": link.joint.name,
                "kind": kind_text(link.joint),
                "mass, kg": f"{link.mass:g}",
            }
        )
    return table(found.robot, "links", rows)


def frame_table(found: RobotOverview) -> list[str | Table]:
    """Where the frames of the links are, and their joint axes."""
    rows = []
    for link, placement in zip(found.robot.links, found.placements):
        joint = link.joint
        turned = numbers(rounded(roll_pitch_yaw(joint.rotation), 7))
        rows.append(
            {
                "link": link.name,
                "axis": axis_text(joint.axis) if joint.moves else "",
                "origin in parent, m": numbers(rounded(joint.position)),
                "roll, pitch, yaw, °": "" if turned == "0, 0, 0" else turned,
                "origin in base, m": numbers(rounded(placement.position)),
            }
        )
    return table(found.robot, "frames at q = 0; axis: of the joint, in the link's frame", rows)


def body_table(found: RobotOverview) -> list[str | Table]:
    """Centres of mass and inertias."""
    rows = []
    for link in found.robot.links:
        if link.mass:
            xx, yy, zz = (float(link.inertia[k, k]) for k in range(3))
            products = [float(link.inertia[i, j]) for i, j in ((0, 1), (0, 2), (1, 2))]
            rows.append(
                {
                    "link": link.name,
                    "centre of mass, m": numbers(rounded(link.com)),
                    "Ixx, Iyy, Izz, kg m²": ", ".join(f"{x:.4g}" for x in (xx, yy, zz)),
                    "Ixy, Ixz, Iyz": ", ".join(f"{x:.4g}" for x in products) if any(products) else "",
                }
            )
    return table(found.robot, "bodies, in the frames of their links; inertias about the centre of mass", rows)


def limit_table(found: RobotOverview) -> list[str | Table]:
    """Limits of joints, motors and springs."""
    rows = [{"joint": joint.name, **limit_cells(joint)} for joint in moving_joints(found.robot)]
    return table(found.robot, "limits", rows)


def drive_table(found: RobotOverview) -> list[str | Table]:
    """Motors, springs and gears, and parallel springs."""
    from ..robot.texts import stiffness_text

    robot, ranges = found.robot, {}
    if found.stiffness is not None:
        bands = zip(robot.joints, found.stiffness.lower, found.stiffness.upper)
        ranges = {joint.name: f"{low:.3g} to {high:.3g}" for joint, low, high in bands if math.isfinite(low)}
    driven = any(joint.drive for joint in robot.joints)
    rows = []
    for joint in moving_joints(robot):
        drive: Any = joint.drive
        ratios = [motor.gear_ratio for motor in drive.motors] if drive else []
        losses, parallel = getattr(drive, "hysteresis", None), joint.parallel_spring
        rows.append(
            {
                "joint": joint.name,
                "drive": drive_kind(drive) if driven else "",
                "B": numbers([motor.inertia for motor in drive.motors]) if drive else "",
                "K": "" if spring_laws(drive) else stiffness_text(drive),
                "gear ratio": numbers(dict.fromkeys(x for x in ratios if x is not None)),
                "spring": "; ".join(dict.fromkeys(map(law_text, spring_laws(drive)))),
                "σ": ranges.get(joint.name, ""),
                "damping": nonzero(getattr(drive, "damping", 0.0)),
                "hysteresis": law_text(losses) if losses else "",
                "backlash": nonzero(getattr(drive, "backlash", 0.0)),
                "K_p": parallel_text(parallel) if parallel else "",
                "rest": f"{parallel.rest:g}" if parallel else "",
            }
        )
    return table(found.robot, "drives", rows)


def friction_table(found: RobotOverview) -> list[str | Table]:
    """Friction of joints and motors, a row per direction where they differ."""
    from ..drives import friction_law

    rows = []
    for joint in moving_joints(found.robot):
        motors = joint.drive.motors if joint.drive else ()
        sides: list[tuple[str, Rubbing]] = [("", joint)]
        sides += [(" motor" if len(motors) == 1 else f" motor {k}", x) for k, x in enumerate(motors, 1)]
        for side, item in sides:
            law = friction_law(item)
            for way, cells in friction_cells(law):
                if any(cells.values()):
                    rows.append({"friction of": f"{joint.name}{side}{way}", **cells})
    return table(found.robot, "friction", rows)


def transmission_table(found: RobotOverview) -> list[str | Table]:
    """The coupled transmissions."""
    robot = found.robot
    rows = [
        {
            "coupled joints": ", ".join(group.joints),
            "T, a row per motor": "; ".join(map(numbers, group.matrix)),
            "springs at": group.springs if any(robot.compliant[i] for i in joints) else "",
        }
        for group, joints in zip(robot.transmissions, robot.transmission_joints)
    ]
    return table(robot, "coupled transmissions", rows)


def frequency_table(found: RobotOverview) -> list[str | Table]:
    """Eigenfrequencies mode by mode."""
    if found.frequencies is None:
        return []
    zero, least, greatest, _ = found.frequencies
    rows = [
        {"mode": str(k), "at q = 0, Hz": hertz(x), "least": hertz(low), "greatest": hertz(high)}
        for k, (x, low, high) in enumerate(zip(zero, least, greatest), 1)
    ]
    return table(found.robot, "eigenfrequencies of the joint springs over the workspace", rows)


def source_table(found: RobotOverview) -> list[str | Table]:
    """The sources, and how many numbers have none; nothing for a robot without sources."""
    robot = found.robot
    rows = [{"source of": ", ".join(x.of), "trust": x.trust, "origin": x.origin, "note": x.note} for x in robot.sources]
    missing = source_data(robot)["without_source"]
    return table(robot, "sources", rows, f"no source for {listed(missing, most=8)}" if missing else "")


def file_table(found: RobotOverview) -> list[str | Table]:
    """What of a URDF or MJCF was not used, is suspicious or was chosen."""
    from ..formats import file_report
    from ..formats.report import grouped

    rows = [
        [listed(lines, most=4), what, level, reason] for level, what, reason, lines in grouped(file_report(found.robot))
    ]
    title = "what the file says that was not used, is suspicious, or had to be chosen"
    return [Table(["line", "in the file", "", "reason"], rows, title=title)] if rows else []


SECTIONS = {
    "links": link_table,
    "frames": frame_table,
    "bodies": body_table,
    "limits": limit_table,
    "drives": drive_table,
    "friction": friction_table,
    "transmissions": transmission_table,
    "sources": source_table,
    "file": file_table,
    "frequencies": frequency_table,
}  # by name, in the order of the page
ON_REQUEST = ("frequencies",)  # the overview has them in two lines


def parameter_table(robot: Robot) -> Table:
    """One row per parameter."""
    rows = [[x["path"], numbers(x["value"].flat), x["unit"]] for x in parameter_data(robot)]
    return Table(["path", "value", "unit"], rows)


# Cells ----------------------------------------------------------------------------------------------------------------


def table(robot: Robot, title: str, rows: Sequence[Mapping[str, str]], note: str = "") -> list[str | Table]:
    """A table without empty columns and rows; nothing if only the first column is left."""
    used = [key for key in (rows[0] if rows else ()) if any(row[key] for row in rows)]
    if len(used) < 2:
        return []
    kept = [[row[key] for key in used] for row in rows if any(row[key] for key in used[1:])]
    below = [f"{key}: {explanation(robot, key)}" for key in used if key in {*UNITS, *MEANINGS}]
    right = [key for key in used if key in RIGHT]
    return [Table(used, kept, title=title, note=note or "; ".join(below), numbers=right)]


def explanation(robot: Robot, column: str) -> str:
    """What a column shows, and its unit; both units if there are angular and linear joints."""
    angular, _, linear = UNITS.get(column, "").partition(" | ")
    kinds = {joint.kind.angular for joint in moving_joints(robot)}
    unit = angular if kinds == {True} or not linear else linear if kinds == {False} else f"{angular} ({linear})"
    return ", ".join(filter(None, (MEANINGS.get(column, ""), unit)))


def moving_joints(robot: Robot) -> list[Joint]:
    """All joints that move, followers among them."""
    return [link.joint for link in robot.links if link.joint.moves]
