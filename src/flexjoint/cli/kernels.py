"""Compiled algorithms: what they are, as C code, and those kept on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import app, clean_errors

if TYPE_CHECKING:
    from ..api import Algorithm


@app.command()
@clean_errors
def kernel(
    robot: Annotated[str, typer.Argument(help="A built-in robot or a robot file.")],
    algorithm: Annotated[str, typer.Argument(help="The name of an algorithm, such as inverse_dynamics.")],
    program: Annotated[bool, typer.Option("--program", help="List its operations.")] = False,
    ir: Annotated[bool, typer.Option("--ir", help="Print its LLVM IR.")] = False,
    assembly: Annotated[bool, typer.Option("--assembly", help="Print its machine code as text.")] = False,
    order: Annotated[int | None, typer.Option(help="Highest derivative, where the algorithm has one.")] = None,
    link: Annotated[str | None, typer.Option(help="A link, where the algorithm takes one.")] = None,
) -> None:
    """Show what a compiled algorithm takes, returns and costs, or the code itself."""
    import flexjoint as fj

    found = fj.compile(known_algorithm(algorithm), fj.load(robot), **given_options(order, link))
    if not (program or ir or assembly):
        typer.echo(found.describe())
    if program:
        typer.echo(str(found.program))
    if ir:
        typer.echo(found.ir)
    if assembly:
        typer.echo(found.assembly)


@app.command("export-c")
@clean_errors
def export_c(
    robot: Annotated[str, typer.Argument(help="A built-in robot or a robot file.")],
    algorithm: Annotated[str, typer.Argument(help="The name of an algorithm, such as inverse_dynamics.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    name: Annotated[str, typer.Option(help="The name of the C function; by default of algorithm and robot.")] = "",
    order: Annotated[int | None, typer.Option(help="Highest derivative, where the algorithm has one.")] = None,
    link: Annotated[str | None, typer.Option(help="A link, where the algorithm takes one.")] = None,
    free: Annotated[list[str] | None, typer.Option(help="A parameter that stays an input, such as tool.mass.")] = None,
    float32: Annotated[bool, typer.Option("--float32", help="Compute in single precision.")] = False,
    freestanding: Annotated[bool, typer.Option("--freestanding", help="Use no C library.")] = False,
) -> None:
    """Write an algorithm for one robot as a C99 function with a self-checking example (run `make check` there)."""
    import flexjoint as fj

    function, model = known_algorithm(algorithm), fj.load(robot)
    options = given_options(order, link) | {"free": free or ()}
    paths = fj.export_c(function, model, output, name, float32=float32, freestanding=freestanding, **options)
    for path in paths:
        typer.echo(str(path))


def given_options(order: int | None, link: str | None) -> dict[str, Any]:
    return {key: x for key, x in (("order", order), ("link", link)) if x is not None}


def known_algorithm(name: str) -> Algorithm:
    import flexjoint as fj

    function = getattr(fj, name, None)
    if not isinstance(function, fj.Algorithm):
        known = ", ".join(x for x in fj.__all__ if isinstance(getattr(fj, x), fj.Algorithm))
        raise fj.InputError(f"no algorithm '{name}'; there are {known}")
    return function


kept = typer.Typer(help="Compiled kernels kept on disk.", no_args_is_help=True)
app.add_typer(kept, name="cache")


@kept.command("info")
@clean_errors
def cache_info() -> None:
    """Where kernels are kept, how many, and how much room they take."""
    from ..compiler.cache import info

    place, count, size = info()
    typer.echo(f"{place}: {count} kernels, {size / 1e6:.1f} MB" if place else "no kernels are kept")


@kept.command("clear")
@clean_errors
def cache_clear() -> None:
    """Remove all of them."""
    from ..compiler.cache import clear

    typer.echo(f"removed {clear()} kernels")
