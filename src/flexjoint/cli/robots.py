"""Commands `robots`, `info` and `config`: built-in robots, contents of a robot, this installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .parameters import RobotName
from .tables import Table

if TYPE_CHECKING:
    from ..robot import Link, Robot


@command()
def robots() -> CommandResult:
    """List the built-in robots."""
    from ..catalog import builtin_robots
    from ..formats import load

    found = {name: load(name) for name in builtin_robots()}
    drives = {name: sorted({drive_kind(x.drive) for x in robot.joints}) for name, robot in found.items()}
    rows = [[name, joint_letters(robot), ", ".join(drives[name])] for name, robot in found.items()]
    data = [{"name": x, "joints": joint_letters(robot), "drives": drives[x]} for x, robot in found.items()]
    return CommandResult([Table(["name", "joints", "drives"], rows)], {"robots": data})


@command()
def info(
    robot: RobotName,
    operations: Annotated[bool, typer.Option("--operations", help="Count operations of the main algorithms.")] = False,
    parameters: Annotated[bool, typer.Option("--parameters", help="List the paths of all parameters.")] = False,
) -> CommandResult:
    """Show the links, joints, masses and drives of a robot."""
    from ..formats import load

    found = load(robot)
    mass = sum(link.mass for link in found.links)
    gravity = ", ".join(f"{x:g}" for x in found.gravity)
    about = f"{found.name}: {joint_letters(found)}, {mass:.4g} kg, gravity ({gravity}) m/s², tool '{found.tool}'"
    shown: list[str | Table] = [about, link_table(found)]
    data: dict[str, Any] = {"robot": found.name, "joints": joint_letters(found), "mass_kg": mass}
    data |= {"gravity_m_s2": found.gravity, "tool": found.tool, "links": [link_data(link) for link in found.links]}
    if operations:
        data["operations"] = operation_counts(found)
        rows = [[name, str(count)] for name, count in data["operations"].items()]
        shown.append(Table(["algorithm", "operations"], rows, numbers=["operations"]))
    if parameters:
        shown.append(parameter_table(found))
        data["parameters"] = parameter_data(found)
    return CommandResult(shown, data)


@command()
def config() -> CommandResult:
    """Show versions, processor and call path of this installation."""
    from ..algorithm.configuration import configuration, configuration_text

    found = configuration()
    return CommandResult([configuration_text(found)], found)


def link_table(robot: Robot) -> Table:
    """One row per link."""
    columns = ["link", "parent", "joint", "kind", "mass, kg", "drive", "B", "K", "D"]
    if not any(stiffness_of(link.joint.drive) for link in robot.links):
        columns.remove("K")
    if not any(link.joint.viscous_friction for link in robot.links):
        columns.remove("D")
    rows = [[link_cells(link)[column] for column in columns] for link in robot.links]
    units = {"B": "kg m² (sliding: kg)", "K": "Nm/rad (N/m)", "D": "Nm s/rad (N s/m)"}
    note = ", ".join(f"{column} in {units[column]}" for column in columns if column in units)
    return Table(columns, rows, note=note, numbers=("mass, kg", "B", "K", "D"))


def link_cells(link: Link) -> dict[str, str]:
    """Cells of a link by column."""
    joint = link.joint
    return {
        "link": link.name,
        "parent": link.parent,
        "joint": joint.name,
        "kind": joint.kind.name,
        "mass, kg": f"{link.mass:g}",
        "drive": drive_kind(joint.drive) if joint.moves else "",
        "B": ", ".join(f"{motor.inertia:g}" for motor in joint.drive.motors) if joint.drive else "",
        "K": stiffness_of(joint.drive),
        "D": f"{joint.viscous_friction:g}" if joint.moves else "",
    }


def link_data(link: Link) -> dict[str, Any]:
    """A link and its joint for programs; None for what a joint without a drive does not have."""
    joint, drive = link.joint, link.joint.drive
    stiffness = getattr(drive, "stiffness", None)
    return {
        "link": link.name,
        "parent": link.parent,
        "joint": joint.name,
        "kind": joint.kind.name,
        "mass_kg": link.mass,
        "drive": drive_kind(drive) if joint.moves else None,
        "motor_inertias": [motor.inertia for motor in drive.motors] if drive else [],
        "stiffness": stiffness if isinstance(stiffness, int | float) else None,
        "springs": stiffness_of(drive).split(", ") if not isinstance(stiffness, int | float) and drive else [],
        "viscous_friction": joint.viscous_friction,
        "units": {
            "motor_inertias": joint.kind.unit("kg m² | kg"),
            "stiffness": joint.kind.unit("Nm/rad | N/m"),
            "viscous_friction": joint.kind.unit("Nm s/rad | N s/m"),
        },
    }


def operation_counts(robot: Robot) -> dict[str, int]:
    """Operations per evaluation by algorithm."""
    from .. import forward_dynamics, inverse_dynamics, inverse_dynamics_step, jacobian, mass_matrix

    stiff = robot.rigid()
    step = any(robot.damped)
    inverse = inverse_dynamics_step if step else inverse_dynamics
    options = {"stiffness": 3, **({"warm_start": True} if step else {})} if any(robot.variable_stiffness) else {}
    rows: list[tuple[str, Any, Robot, dict[str, Any]]] = [
        (inverse.__name__, inverse, robot, options),
        ("mass_matrix", mass_matrix, robot, {}),
        ("forward_dynamics, rigid joints", forward_dynamics, stiff, {}),
        ("jacobian", jacobian, robot, {}),
    ]
    return {name: function.trace(x, function.structure(x, **how))[0].operations for name, function, x, how in rows}


def parameter_data(robot: Robot) -> list[dict[str, Any]]:
    """Parameters for programs."""
    from ..robot.parameters import robot_parameters

    return [{"path": x.path, "value": x.value, "unit": x.unit} for x in robot_parameters(robot).values()]


def parameter_table(robot: Robot) -> Table:
    """One row per parameter."""
    rows = [[x["path"], ", ".join(f"{y:g}" for y in x["value"].flat), x["unit"]] for x in parameter_data(robot)]
    return Table(["path", "value", "unit"], rows)


def drive_kind(drive: Any) -> str:
    """Kind of a drive, such as elastic."""
    return "none" if drive is None else type(drive).__name__.removesuffix("Drive").lower()


def stiffness_of(drive: Any) -> str:
    """Stiffness of a linear spring, name of another spring law."""
    if springs := getattr(drive, "springs", ()):
        return ", ".join(dict.fromkeys(spring.name for spring in springs))
    stiffness = getattr(drive, "stiffness", "")
    return f"{stiffness:g}" if isinstance(stiffness, int | float) else getattr(stiffness, "name", "")


def joint_letters(robot: Robot) -> str:
    """Kinds of the joints as letters, such as RRP."""
    return "".join(joint.kind.letter for joint in robot.joints) or "no joints"
