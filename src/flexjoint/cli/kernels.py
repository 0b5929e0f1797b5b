"""Commands `kernel`, `export-c` and `cache`: compiled algorithms, as C code, and on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import app, command, help_without_command
from .command_result import CommandResult
from .completion import algorithms
from .online_loops import LoopOptions, component_data, component_summary, loop_of
from .parameters import AlgorithmName, LinkName, Order
from .robot_options import RobotArgument
from .standard_output import STREAM, send_folder

if TYPE_CHECKING:
    from ..algorithm.algorithm import Algorithm
    from ..compiler.ir.program import Array
    from ..compiler.runtime.kernel import Kernel


@command()
def kernel(
    robot: RobotArgument,
    algorithm: AlgorithmName,
    program: Annotated[bool, typer.Option("--program", help="Print its operations.")] = False,
    ir: Annotated[bool, typer.Option("--ir", help="Print its LLVM IR.")] = False,
    assembly: Annotated[bool, typer.Option("--assembly", help="Print its machine code as text.")] = False,
    order: Order = None,
    link: LinkName = None,
) -> CommandResult:
    """Show inputs, outputs, cost or code of a compiled algorithm."""
    import flexjoint as fj

    found = fj.compile(known_algorithm(algorithm), robot, **given_options(order, link))
    wanted = {"program": program, "ir": ir, "assembly": assembly}
    texts = {name: str(getattr(found, name)) for name, asked in wanted.items() if asked}
    return CommandResult([*texts.values()] or [found.describe()], {"robot": robot.name, **kernel_data(found), **texts})


def kernel_data(kernel: Kernel) -> dict[str, Any]:
    """A kernel for programs."""

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


@command(name="export-c", folder="output", observers="observer", fold="fold")
def export_c(
    robot: RobotArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder to write; - is a tar archive on standard output.")
    ],
    loop: LoopOptions,
    algorithm: Annotated[
        str,
        typer.Argument(help="Such as inverse_dynamics; none with --controller.", autocompletion=algorithms),
    ] = "",
    name: Annotated[str, typer.Option(help="Name of the C function; by default algorithm and robot.")] = "",
    order: Order = None,
    link: LinkName = None,
    float32: Annotated[bool, typer.Option("--float32", help="Compute in single precision.")] = False,
    freestanding: Annotated[bool, typer.Option("--freestanding", help="Use no C library.")] = False,
) -> CommandResult:
    """Write an algorithm or a controller as C99 code.

    An algorithm is a function. A controller, with observers and detectors, has a state, a step and a C++ class. The
    folder has a test too: run `make check` in it.
    """
    import flexjoint as fj

    from ..errors import InputError

    if bool(algorithm) == loop.given:
        raise InputError("give an ALGORITHM, or --controller, --observer or --detector")
    target = {"float32": float32, "freestanding": freestanding}
    if algorithm:
        function, options = known_algorithm(algorithm), given_options(order, link) | {"free": loop.free or ()}

        def write(folder: Path) -> list[Path]:
            return fj.export_c(function, robot, folder, name, **target, **options)

        about: dict[str, Any] = {"robot": robot.name, "algorithm": algorithm}
    else:
        component = loop_of(robot, loop, stamps=not float32)

        def write(folder: Path) -> list[Path]:
            return fj.deployment.export_component(component, folder, name, **target)

        about = component_data(component) | {"robot": robot.name}
    lines = [] if algorithm else [component_summary(component)]
    if output == STREAM:
        send_folder(write)
        return CommandResult([], about)
    files = write(output)
    return CommandResult(lines, about, files)


def given_options(order: int | None, link: str | None) -> dict[str, Any]:
    """Options of the algorithm that are given."""
    return {key: x for key, x in (("order", order), ("link", link)) if x is not None}


def known_algorithm(name: str) -> Algorithm:
    """The algorithm with this name; raises InputError if there is none."""
    from ..errors import InputError

    known = all_algorithms()
    if name not in known:
        raise InputError(f"no algorithm '{name}'; there are {', '.join(known)}")
    return known[name]


def all_algorithms() -> dict[str, Algorithm]:
    """Algorithms of flexjoint by name, sorted."""
    from .. import control, dynamics  # noqa: F401  each algorithm registers itself
    from ..algorithm.algorithm import ALGORITHMS

    return dict(sorted(ALGORITHMS.items()))


kept = typer.Typer(help="Show or remove compiled kernels on disk.", invoke_without_command=True, rich_markup_mode=None)
kept.callback()(help_without_command)
app.add_typer(kept, name="cache")


@command(kept, "info")
def cache_info() -> CommandResult:
    """Show folder, number and size of the compiled kernels on disk."""
    from ..compiler.runtime.cache import info

    place, count, size = info()
    text = f"{place}: {count} kernels, {size / 1e6:.1f} MB" if place else "no kernels are kept"
    return CommandResult([text], {"folder": place, "kernels": count, "bytes": size})


@command(kept, "clear")
def cache_clear() -> CommandResult:
    """Remove all compiled kernels from disk."""
    from ..compiler.runtime.cache import clear

    count = clear()
    return CommandResult([f"removed {count} kernels"], {"removed": count})
