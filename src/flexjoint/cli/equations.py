"""Command `equations`: equations of motion as LaTeX, SymPy or Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .completion import algorithms
from .parameters import files_of
from .progress import progress_bar
from .robot_options import RobotArgument
from .standard_output import STREAM, standard_output

if TYPE_CHECKING:
    from ..analysis.equations import Equations


@command()
def equations(
    robot: RobotArgument,
    latex: Annotated[bool, typer.Option("--latex", help="Write LaTeX.")] = False,
    sympy: Annotated[bool, typer.Option("--sympy", help="Write code for SymPy.")] = False,
    python: Annotated[bool, typer.Option("--python", help="Write functions for NumPy.")] = False,
    recursion: Annotated[
        str | None,
        typer.Option(
            metavar="LANGUAGE",
            help="Write inverse dynamics of a robot of any size as a recursion with named quantities, python or c.",
        ),
    ] = None,
    quantity: Annotated[
        list[str] | None,
        typer.Option(
            help="Algorithm such as mass_matrix; may be repeated. Default the terms of the equations of motion.",
            autocompletion=algorithms,
        ),
    ] = None,
    order: Annotated[int, typer.Option(help="Highest time derivative of torque_derivatives.")] = 0,
    numbers: Annotated[bool, typer.Option("--numbers", help="Keep the numbers of the robot; no symbols.")] = False,
    symbols: Annotated[
        str | None,
        typer.Option(help="Numbers that become symbols: paths and patterns with commas, such as '*.mass,gravity'."),
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Time after which the derivation stops, s.")] = 60.0,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write; - is standard output.")] = None,
) -> CommandResult:
    """Derive the equations of motion of a small robot.

    Every number of the robot that is not 0 becomes a symbol, such as m_1 and l_1. Needs SymPy. With --recursion write
    inverse dynamics of a robot of any size instead, with its numbers; needs no SymPy.
    """
    from ..analysis.equations import equations_of_motion, recursion_code
    from ..atomic import replacing
    from ..errors import InputError

    if latex + sympy + python + (recursion is not None) > 1:
        raise InputError("--latex, --sympy, --python and --recursion exclude each other; choose one")
    if numbers and symbols is not None:
        raise InputError("--numbers and --symbols exclude each other; choose one")
    if recursion is not None:
        if quantity or order or symbols is not None:
            raise InputError(
                "--recursion writes inverse_dynamics with the numbers of the robot; leave out "
                "--quantity, --order and --symbols"
            )
        text = recursion_code(robot, recursion)
        data: dict[str, Any] = {"robot": robot.name, "language": recursion}
    else:
        chosen = [] if numbers else None if symbols is None else [x.strip() for x in symbols.split(",") if x.strip()]
        with progress_bar() as progress:
            progress.add_task("deriving", total=None)
            found = equations_of_motion(robot, quantity, symbols=chosen, order=order, time_limit=time_limit)
        code = found.sympy_code() if sympy else found.python_code() if python else found.text()
        text = found.latex() if latex else code
        data = equations_data(found)
    content = text.rstrip("\n") + "\n"
    if output == STREAM:
        with standard_output() as file:
            file.write(content.encode())
    elif output is not None:
        with replacing(output) as file:
            file.write(content.encode())
    shown = [content.rstrip("\n")] if output is None else []
    return CommandResult(shown, data | {"text": content}, files_of(output))


def equations_data(equations: Equations) -> dict[str, Any]:
    """The equations for programs."""
    from ..analysis.equations.document import code

    return {
        "robot": equations.robot,
        "quantities": [
            {
                "name": x.name,
                "shape": x.shape,
                "inputs": [name for name, _ in x.inputs],
                "entries": [{"index": index, "expression": code(value)} for index, value in x.entries()],
            }
            for x in equations.quantities
        ],
        "parameters": [
            {"symbol": str(x.symbol), "path": x.path, "value": x.value, "unit": x.unit} for x in equations.parameters
        ],
    }
