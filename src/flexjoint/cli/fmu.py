"""Command `export-fmu`: a robot, a controller or an algorithm as a functional mock-up unit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import command
from .command_result import CommandResult
from .completion import algorithms, integrators
from .kernels import given_options, known_algorithm
from .online_loops import LoopOptions, component_data, component_summary, loop_of
from .parameters import LinkName, Order, check_files
from .robot_options import RobotArgument


@command(name="export-fmu", observers="observer", wrenches="wrench")
def export_fmu(
    robot: RobotArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write: .fmu.")],
    loop: LoopOptions,
    algorithm: Annotated[
        str,
        typer.Argument(help="Such as inverse_dynamics; default the simulated robot.", autocompletion=algorithms),
    ] = "",
    name: Annotated[str, typer.Option(help="Identifier of the model; by default made of its name.")] = "",
    order: Order = None,
    link: LinkName = None,
    integrator: Annotated[
        str, typer.Option(help="Integrator of the robot: runge_kutta, euler or midpoint.", autocompletion=integrators)
    ] = "runge_kutta",
    substeps: Annotated[int, typer.Option(help="Integration steps per period.")] = 1,
    stiffness: Annotated[
        float | None, typer.Option(help="Stiffness of joints with two motors at the start, Nm/rad or N/m.")
    ] = None,
    wrench: Annotated[
        list[str] | None, typer.Option(help="Link with a force and moment as inputs; may be repeated.")
    ] = None,
) -> CommandResult:
    """Write a robot, a controller or an algorithm as an FMU.

    FMI 2.0: co-simulation with a communication step of one period, and model exchange for the robot. The file has the
    sources and a binary for this machine; a C compiler is needed.
    """
    import flexjoint as fj

    from ..errors import InputError
    from ..results.files import check_path

    check_files((output, lambda path: check_path(path, (".fmu",), "an FMU")))
    if algorithm and loop.given:
        raise InputError("give an ALGORITHM, or --controller, --observer or --detector, or none for the robot")
    if loop.given:
        component = loop_of(robot, loop)
    elif algorithm:
        options = given_options(order, link)
        component = fj.deployment.algorithm_component(
            known_algorithm(algorithm), robot, loop.period, free=loop.free or (), **options
        )
    else:
        component = fj.deployment.plant_component(
            robot,
            loop.period,
            stiffness=stiffness,
            integrator=integrator,
            substeps=substeps,
            wrenches=wrench or (),
            free=loop.free or (),
        )
    path = fj.deployment.export_fmu(component, output, name)
    return CommandResult([component_summary(component)], component_data(component) | {"robot": robot.name}, [path])
