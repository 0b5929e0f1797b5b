"""Compiled algorithms: what they are, as C code, and those kept on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import app, command, help_without_command
from .command_result import CommandResult
from .completion import algorithms, robots
from .standard_output import STREAM, send_folder

if TYPE_CHECKING:
    from ..algorithm.algorithm import Algorithm
    from ..compiler.ir.program import Array
    from ..compiler.runtime.kernel import Kernel


@command()
def kernel(
    robot: Annotated[str, typer.Argument(help="A built-in robot or a robot file.", autocompletion=robots)],
    algorithm: Annotated[
        str, typer.Argument(help="The name of an algorithm, such as inverse_dynamics.", autocompletion=algorithms)
    ],
    program: Annotated[bool, typer.Option("--program", help="List its operations.")] = False,
    ir: Annotated[bool, typer.Option("--ir", help="Print its LLVM IR.")] = False,
    assembly: Annotated[bool, typer.Option("--assembly", help="Print its machine code as text.")] = False,
    order: Annotated[int | None, typer.Option(help="Highest derivative, where the algorithm has one.")] = None,
    link: Annotated[str | None, typer.Option(help="A link, where the algorithm takes one.")] = None,
) -> CommandResult:
    """Show what a compiled algorithm takes and costs, or its code."""
    import flexjoint as fj

    model = fj.load(robot)
    found = fj.compile(known_algorithm(algorithm), model, **given_options(order, link))
    wanted = {"program": program, "ir": ir, "assembly": assembly}
    texts = {name: str(getattr(found, name)) for name, asked in wanted.items() if asked}
    return CommandResult([*texts.values()] or [found.describe()], {"robot": model.name, **kernel_data(found), **texts})


def kernel_data(kernel: Kernel) -> dict[str, Any]:
    def described(array: Array) -> dict[str, Any]:
        return {"name": array.name, "shape": array.shape, "unit": array.unit, "entries": array.labels}

    return {
        "algorithm": kernel.name,
        "operations": kernel.operations,
        "object_code_bytes": kernel.code_size,
        "counts": kernel.program.counts,
        "inputs": [described(x) for x in kernel.inputs],
        "outputs": [described(x) for x in kernel.outputs],
    }


@command(name="export-c", folder="output")
def export_c(
    robot: Annotated[str, typer.Argument(help="A built-in robot or a robot file.", autocompletion=robots)],
    algorithm: Annotated[
        str, typer.Argument(help="The name of an algorithm, such as inverse_dynamics.", autocompletion=algorithms)
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder to write; - is a tar archive on standard output.")
    ],
    name: Annotated[str, typer.Option(help="The name of the C function; by default of algorithm and robot.")] = "",
    order: Annotated[int | None, typer.Option(help="Highest derivative, where the algorithm has one.")] = None,
    link: Annotated[str | None, typer.Option(help="A link, where the algorithm takes one.")] = None,
    free: Annotated[list[str] | None, typer.Option(help="A parameter that stays an input, such as tool.mass.")] = None,
    float32: Annotated[bool, typer.Option("--float32", help="Compute in single precision.")] = False,
    freestanding: Annotated[bool, typer.Option("--freestanding", help="Use no C library.")] = False,
) -> CommandResult:
    """Write an algorithm for one robot as a C99 function.

    With it comes an example that checks it: run `make check` in the folder.
    """
    import flexjoint as fj

    function, model = known_algorithm(algorithm), fj.load(robot)
    options = given_options(order, link) | {"free": free or ()}

    def write(folder: Path) -> list[Path]:
        return fj.export_c(function, model, folder, name, float32=float32, freestanding=freestanding, **options)

    about = {"robot": model.name, "algorithm": algorithm}
    if output == STREAM:
        send_folder(write)
        return CommandResult([], about)
    return CommandResult([], about, write(output))


def given_options(order: int | None, link: str | None) -> dict[str, Any]:
    return {key: x for key, x in (("order", order), ("link", link)) if x is not None}


def known_algorithm(name: str) -> Algorithm:
    import flexjoint as fj

    function = getattr(fj, name, None)
    if not isinstance(function, fj.Algorithm):
        known = ", ".join(x for x in fj.__all__ if isinstance(getattr(fj, x), fj.Algorithm))
        raise fj.InputError(f"no algorithm '{name}'; there are {known}")
    return function


kept = typer.Typer(help="Compiled kernels kept on disk.", invoke_without_command=True, rich_markup_mode=None)
kept.callback()(help_without_command)
app.add_typer(kept, name="cache")


@command(kept, "info")
def cache_info() -> CommandResult:
    """Where kernels are kept, how many, and how much room they take."""
    from ..compiler.runtime.cache import info

    place, count, size = info()
    text = f"{place}: {count} kernels, {size / 1e6:.1f} MB" if place else "no kernels are kept"
    return CommandResult([text], {"folder": place, "kernels": count, "bytes": size})


@command(kept, "clear")
def cache_clear() -> CommandResult:
    """Remove all of them."""
    from ..compiler.runtime.cache import clear

    count = clear()
    return CommandResult([f"removed {count} kernels"], {"removed": count})
