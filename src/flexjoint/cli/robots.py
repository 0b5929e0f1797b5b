"""Robots, what is in them, and this installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import app, clean_errors

if TYPE_CHECKING:
    from rich.table import Table

    from ..robot import Link, Robot


@app.command()
@clean_errors
def robots() -> None:
    """List the built-in robots."""
    from rich.console import Console
    from rich.table import Table

    from ..loading import builtin_robots, load

    table = Table("name", "joints", "drives")
    for name in builtin_robots():
        robot = load(name)
        table.add_row(name, joint_letters(robot), ", ".join(sorted({drive_kind(x.drive) for x in robot.joints})))
    Console().print(table)


@app.command()
@clean_errors
def info(
    robot: Annotated[str, typer.Argument(help="A built-in robot, or the path of a robot file.")],
    operations: Annotated[bool, typer.Option("--operations", help="Count those of the main algorithms.")] = False,
    parameters: Annotated[bool, typer.Option("--parameters", help="List the paths of all its numbers.")] = False,
) -> None:
    """Show the links, joints, masses and drives of a robot."""
    from rich.console import Console

    from ..loading import load

    found = load(robot)
    console = Console()
    mass = sum(link.mass for link in found.links)
    gravity = ", ".join(f"{x:g}" for x in found.gravity)
    console.print(f"{found.name}: {joint_letters(found)}, {mass:.4g} kg, gravity ({gravity}) m/s², tool '{found.tool}'")
    console.print(link_table(found))
    if operations:
        console.print(operation_table(found))
    if parameters:
        console.print(parameter_table(found))


@app.command()
@clean_errors
def config() -> None:
    """Show versions, processor and call path of this installation."""
    from ..api import show_config

    show_config()


def link_table(robot: Robot) -> Table:
    from rich.box import SIMPLE
    from rich.table import Table

    columns = ["link", "parent", "joint", "kind", "mass, kg", "drive", "B", "K", "D"]
    if not any(stiffness_of(link.joint.drive) for link in robot.links):
        columns.remove("K")
    if not any(link.joint.viscous_friction for link in robot.links):
        columns.remove("D")
    table = Table(box=SIMPLE)
    for column in columns:
        table.add_column(column, justify="right" if column in ("mass, kg", "B", "K", "D") else "left")
    for link in robot.links:
        cells = link_cells(link)
        table.add_row(*(cells[column] for column in columns))
    units = {"B": "kg m² (sliding: kg)", "K": "Nm/rad (N/m)", "D": "Nm s/rad (N s/m)"}
    table.caption = ", ".join(f"{column} in {units[column]}" for column in columns if column in units)
    return table


def link_cells(link: Link) -> dict[str, str]:
    joint = link.joint
    return {
        "link": link.name,
        "parent": link.parent,
        "joint": joint.name,
        "kind": joint.kind,
        "mass, kg": f"{link.mass:g}",
        "drive": drive_kind(joint.drive) if joint.moves else "",
        "B": ", ".join(f"{motor.inertia:g}" for motor in joint.drive.motors) if joint.drive else "",
        "K": stiffness_of(joint.drive),
        "D": f"{joint.viscous_friction:g}" if joint.moves else "",
    }


def operation_table(robot: Robot) -> Table:
    """Additions and multiplications of one evaluation."""
    from rich.table import Table

    from .. import (
        damped_inverse_dynamics,
        forward_dynamics,
        inverse_dynamics,
        jacobian,
        mass_matrix,
        variable_stiffness_inverse_dynamics,
    )

    table = Table("algorithm", "operations")
    stiff = robot.rigid()
    inverse = damped_inverse_dynamics if any(robot.damped) else inverse_dynamics
    if any(robot.antagonistic):
        inverse = variable_stiffness_inverse_dynamics
    rows = [(inverse.__name__, inverse, robot), ("mass_matrix", mass_matrix, robot)]
    rows += [("forward_dynamics, rigid joints", forward_dynamics, stiff), ("jacobian", jacobian, robot)]
    for name, algorithm, subject in rows:
        program, _ = algorithm.trace(subject, algorithm.structure(subject))
        table.add_row(name, str(program.operations))
    return table


def parameter_table(robot: Robot) -> Table:
    """What may be free in a kernel."""
    from rich.box import SIMPLE
    from rich.table import Table

    from ..paths import parameters

    table = Table("path", "value", "unit", box=SIMPLE)
    for parameter in parameters(robot).values():
        value = ", ".join(f"{x:g}" for x in parameter.value.flat)
        table.add_row(parameter.path, value, parameter.unit)
    return table


def drive_kind(drive: Any) -> str:
    return "none" if drive is None else type(drive).__name__.removesuffix("Drive").lower()


def stiffness_of(drive: Any) -> str:
    """Of a linear spring its number, of another law its name."""
    if springs := getattr(drive, "springs", ()):
        return ", ".join(dict.fromkeys(spring.name for spring in springs))
    stiffness = getattr(drive, "stiffness", "")
    return f"{stiffness:g}" if isinstance(stiffness, int | float) else getattr(stiffness, "name", "")


def joint_letters(robot: Robot) -> str:
    return "".join("R" if joint.kind == "revolute" else "P" for joint in robot.joints) or "no joints"
