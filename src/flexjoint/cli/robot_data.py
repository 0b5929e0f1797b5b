"""The contents of a robot for programs: what `info --json` gives."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..analysis import Placement, RobotOverview
    from ..drives import Friction
    from ..robot import Joint, Link, Robot


def robot_data(found: RobotOverview) -> dict[str, Any]:
    """All that is known of a robot."""
    from ..formats import file_report

    robot = found.robot
    return {
        "robot": robot.name,
        "joints": joint_letters(robot),
        "mass_kg": found.mass,
        "gravity_m_s2": robot.gravity,
        "tool": robot.tool,
        "fidelity": robot.fidelity,
        "centre_of_mass_m": found.centre_of_mass,
        "orders": found.orders,
        "eigenfrequencies": found.frequencies and found.frequencies._asdict(),
        "stiffness_range": found.stiffness and found.stiffness._asdict(),
        "notes": [x for x in (found.order_note, found.frequency_note) if x],
        "links": [link_data(link, at) for link, at in zip(robot.links, found.placements)],
        "transmissions": [dataclasses.asdict(group) for group in robot.transmissions],
        **source_data(robot),
        "file_report": [x._asdict() for x in file_report(robot)],
    }


def placing_data(link: Link, placement: Placement) -> dict[str, Any]:
    """Where a link is, and how its mass is distributed."""
    return {
        "position_m": link.joint.position,
        "rotation": link.joint.rotation,
        "axis": link.joint.axis if link.joint.moves else None,
        "base_position_m": placement.position,
        "base_rotation": placement.rotation,
        "com_m": link.com,
        "inertia_kg_m2": link.inertia,
    }


def limit_data(joint: Joint) -> dict[str, Any]:
    """Limits of a joint, its motors and its springs; null where a bound is not known."""
    springs = getattr(joint.drive, "spring_limits", None)
    return {
        "limits": dataclasses.asdict(joint.limits) if joint.moves else None,
        "motor_limits": [dataclasses.asdict(motor.limits) for motor in joint.drive.motors] if joint.drive else [],
        "spring_limits": None if springs is None else dataclasses.asdict(springs),
    }


def drive_data(joint: Joint) -> dict[str, Any]:
    """Gears, damping and friction of a drive."""
    from ..drives import friction_law

    motors = joint.drive.motors if joint.drive else ()
    return {
        "gear_ratios": [motor.gear_ratio for motor in motors],
        "damping": getattr(joint.drive, "damping", None),
        "friction_law": dataclasses.asdict(friction_law(joint)) if joint.moves else None,
        "motor_friction_laws": [dataclasses.asdict(friction_law(motor)) for motor in motors],
    }


def link_data(link: Link, placement: Placement) -> dict[str, Any]:
    """A link and its joint for programs; None for what a joint without a drive does not have."""
    from ..robot.texts import stiffness_text

    joint, drive = link.joint, link.joint.drive
    stiffness = getattr(drive, "stiffness", None)
    return {
        "link": link.name,
        "parent": link.parent,
        "joint": joint.name,
        "kind": joint.kind.name,
        "mimic": dataclasses.asdict(joint.mimic) if joint.mimic is not None else None,
        "mass_kg": link.mass,
        "drive": drive_kind(drive) if joint.moves else None,
        "motor_inertias": [motor.inertia for motor in drive.motors] if drive else [],
        "stiffness": stiffness if isinstance(stiffness, int | float) else None,
        "springs": stiffness_text(drive).split(", ") if not isinstance(stiffness, int | float) and drive else [],
        "parallel_spring": parallel_data(joint),
        "hysteresis": hysteresis_data(joint),
        "backlash": getattr(drive, "backlash", None),
        "viscous_friction": viscous_frictions(joint)[0],
        "friction": friction_data(joint.friction),
        "motor_friction": [friction_data(motor.friction) for motor in drive.motors] if drive else [],
        **placing_data(link, placement),
        **limit_data(joint),
        **drive_data(joint),
        "units": {
            "motor_inertias": joint.kind.unit("kg m² | kg"),
            "stiffness": joint.kind.unit("Nm/rad | N/m"),
            "rest": joint.kind.unit("rad | m"),
            "backlash": joint.kind.unit("rad | m"),
            "viscous_friction": joint.kind.unit("Nm s/rad | N s/m"),
            "damping": joint.kind.unit("Nm s/rad | N s/m"),
        },
    }


def friction_data(law: Friction | None) -> dict[str, Any] | None:
    """The numbers of a friction law for programs, those of `backward` in a table of its own."""
    return None if law is None else dataclasses.asdict(law)


def viscous_frictions(joint: Joint) -> list[float]:
    """Viscous friction on the link side, forward and backward."""
    from ..drives import friction_law

    return [side.viscous for side in friction_law(joint).sides]


def source_data(robot: Robot) -> dict[str, Any]:
    """The sources for programs."""
    from ..robot import without_source, worst_trust

    sources = [dataclasses.asdict(source) for source in robot.sources]
    return {"worst_trust": worst_trust(robot), "sources": sources, "without_source": without_source(robot)}


def parallel_data(joint: Joint) -> dict[str, Any] | None:
    """The parallel spring of a joint for programs: a stiffness or the name of a law, and the rest position."""
    parallel = joint.parallel_spring
    if parallel is None:
        return None
    law: Any = parallel.stiffness
    linear = isinstance(law, int | float)
    return {"stiffness": law if linear else None, "spring": None if linear else law.name, "rest": parallel.rest}


def hysteresis_data(joint: Joint) -> dict[str, Any] | None:
    """The hysteresis of a joint for programs, its table in robot files."""
    from ..formats.drive_tables import hysteresis_entries

    law = getattr(joint.drive, "hysteresis", None)
    return None if law is None else hysteresis_entries(joint.name, law)


def parameter_data(robot: Robot) -> list[dict[str, Any]]:
    """Parameters for programs."""
    from ..robot.parameters import robot_parameters

    return [{"path": x.path, "value": x.value, "unit": x.unit} for x in robot_parameters(robot).values()]


def operation_counts(robot: Robot) -> dict[str, int]:
    """Operations per evaluation by algorithm."""
    from .. import forward_dynamics, inverse_dynamics, inverse_dynamics_step, jacobian, mass_matrix

    stiff = robot.rigid()
    step = any(robot.damped)
    inverse = inverse_dynamics_step if step else inverse_dynamics
    options = {"stiffness": 3, **({"warm_start": True} if step else {})} if any(robot.variable_stiffness) else {}
    rows: list[tuple[str, Any, Robot, dict[str, Any]]] = [
        (inverse.__name__, inverse, robot.without_gear_losses(), options),
        ("mass_matrix", mass_matrix, robot, {}),
        ("forward_dynamics, rigid joints", forward_dynamics, stiff, {}),
        ("jacobian", jacobian, robot, {}),
    ]
    return {name: function.trace(x, function.structure(x, **how))[0].operations for name, function, x, how in rows}


def drive_kind(drive: Any) -> str:
    """Kind of a drive, such as elastic."""
    return "none" if drive is None else type(drive).__name__.removesuffix("Drive").lower()


def joint_letters(robot: Robot) -> str:
    """Kinds of the joints as letters, such as RRP."""
    return "".join(joint.kind.letter for joint in robot.joints) or "no joints"
