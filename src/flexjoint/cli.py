"""The command line: robots and what is in them, torques along a motion, results of the papers, C code.

Everything but typer is imported inside the commands, so that `flexjoint --help` answers at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table

    from .api import Algorithm
    from .results import MotorTable
    from .robot import Link, Robot
    from .simulation import Simulation

app = typer.Typer(
    name="flexjoint",
    help="Dynamics of robots with rigid and elastic joints.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


def clean_errors(command: Callable[..., None]) -> Callable[..., None]:
    """A mistake is one line on stderr and exit code 2, without a traceback; a warning is one line too."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        import warnings

        from .errors import FlexjointError

        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_: say(f"warning: {message}")
                command(*args, **kwargs)
        except FlexjointError as error:
            say(str(error))
            raise typer.Exit(2) from None
        except OSError as error:
            say(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error))
            raise typer.Exit(2) from None

    return run


def say(message: str) -> None:
    typer.echo(f"flexjoint: {' '.join(message.split())}", err=True)


def print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"flexjoint {version('flexjoint')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=print_version, is_eager=True, help="Version.")] = False,
) -> None:
    pass


@app.command()
@clean_errors
def robots() -> None:
    """List the built-in robots."""
    from rich.console import Console
    from rich.table import Table

    from .loading import builtin_robots, load

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

    from .loading import load

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
    from .api import show_config

    show_config()


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


@app.command()
@clean_errors
def simulate(
    robot: Annotated[str, typer.Argument(help="A built-in robot or a robot file.")],
    controller: Annotated[str, typer.Option(help="Such as motor_pd, feedback_linearization, computed_torque.")],
    trajectory: Annotated[str, typer.Option(help="A file (.toml, .csv, .npz) or a text {kind = ..., ...}.")],
    gains: Annotated[str, typer.Option(help="Of laws with gains, in their order, such as 1000,60.")] = "",
    poles: Annotated[str, typer.Option(help="Of laws with poles: one real pole, in 1/s, for all.")] = "",
    period: Annotated[float, typer.Option(help="Between samples of the controller, in s.")] = 1e-3,
    duration: Annotated[float | None, typer.Option(help="In s; by default that of the trajectory.")] = None,
    integrator: Annotated[str, typer.Option(help="runge_kutta, euler or midpoint.")] = "runge_kutta",
    substeps: Annotated[int, typer.Option(help="Steps of the integrator a period.")] = 1,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A .csv or .npz file to write.")] = None,
    check: Annotated[bool, typer.Option(help="Refuse what is unstable by too long a period or step.")] = True,
) -> None:
    """Simulate a robot under a controller along a trajectory, and show how well it follows."""
    import flexjoint as fj

    if output is not None and output.suffix not in (".csv", ".npz"):
        raise fj.InputError(f"--output is {output}; it must end in .csv or .npz")
    model = fj.load(robot)
    law = named_controller(controller, model, gains, poles, period)
    motion = fj.load_trajectory(trajectory, model)
    options = {"integrator": integrator, "substeps": substeps, "check": check, "period": period}
    run = fj.simulate(model, law, motion, duration, **options)  # type: ignore[arg-type]
    print_run(run)
    if output is not None:
        (run.to_csv if output.suffix == ".csv" else run.to_npz)(output)
        typer.echo(f"written to {output}")


def named_controller(name: str, robot: Robot, gains: str, poles: str, period: float) -> Any:
    """A controller from its name in snake case, with gains, or with one pole as often as it has integrators."""
    import flexjoint as fj

    by_gains: dict[str, Any] = {
        "motor_pd": fj.MotorPD,
        "full_state_feedback": fj.FullStateFeedback,
        "structure_preserving": fj.StructurePreserving,
        "feedforward_pd": fj.FeedforwardPD,
    }
    by_poles = ("computed_torque", "feedback_linearization")
    if name not in (*by_gains, *by_poles):
        raise fj.InputError(f"no controller '{name}'; there are {', '.join((*by_gains, *by_poles))}")
    text, what = (gains, "--gains") if name in by_gains else (poles, "--poles")
    try:
        numbers = [float(x) for x in text.split(",")]
    except ValueError:
        raise fj.InputError(f"{name} takes {what}, numbers with commas between them, not {text!r}") from None
    if name in by_gains:
        return by_gains[name](robot, numbers)
    if len(numbers) != 1:
        raise fj.InputError(f"--poles takes one number, not {text!r}")
    if name == "computed_torque":
        return fj.ComputedTorque(robot.rigid(), fj.gains_from_poles(numbers * 2))
    return fj.FeedbackLinearization(robot, fj.gains_from_poles(numbers * fj.chain_length(robot)), period)


def print_run(run: Simulation) -> None:
    """Errors and torques of each joint."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    table = Table("joint", "largest error", "error at the end", "largest torque")
    errors, torques = np.abs(run.q - run.reference), np.nanmax(np.abs(run.tau), axis=0)
    for i, joint in enumerate(run.robot.joints):
        turning = joint.kind == "revolute"
        cells = [f"{x:.3g} {'rad' if turning else 'm'}" for x in (np.nanmax(errors[:, i]), errors[-1, i])]
        table.add_row(joint.name, *cells, f"{torques[i]:.3g} {'Nm' if turning else 'N'}")
    Console().print(f"{run.robot.name}: {len(run.t) - 1} periods of {run.period:g} s")
    Console().print(table)


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
def cache_info() -> None:
    """Where kernels are kept, how many, and how much room they take."""
    from .compiler.cache import info

    place, count, size = info()
    typer.echo(f"{place}: {count} kernels, {size / 1e6:.1f} MB" if place else "no kernels are kept")


@kept.command("clear")
def cache_clear() -> None:
    """Remove all of them."""
    from .compiler.cache import clear

    typer.echo(f"removed {clear()} kernels")


@app.command()
@clean_errors
def torques(
    robot: Annotated[str, typer.Argument(help="A built-in robot or a robot file.")],
    trajectory: Annotated[str, typer.Argument(help="A .toml, .csv or .npz file, or '{kind = ..., ...}'.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Table to write: .csv, .npz, .parquet.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot to write: .png, .pdf or .svg.")] = None,
    period: Annotated[float, typer.Option(help="Sampling period, s.")] = 1e-3,
    rigid: Annotated[bool, typer.Option("--rigid", help="Compare with rigid joints.")] = False,
    wrench: Annotated[
        tuple[float, float, float, float, float, float] | None,
        typer.Option(help="Force, N, and moment, Nm, on the tool; constant in base coordinates.", metavar="6 NUMBERS"),
    ] = None,
) -> None:
    """Motor torques, motor positions and deflections along a motion of the links."""
    from rich.console import Console

    from .loading import load
    from .results import check_plot_path, check_table_path, motor_table, plot_motors, sample_times, write_table
    from .trajectory import load_trajectory

    for path, check in ((output, check_table_path), (plot, check_plot_path)):
        if path is not None:
            check(path)
    model = load(robot)
    motion = load_trajectory(trajectory, model)
    samples = sample_times(motion.duration, period).size
    with progress_bar() as progress:
        advance = partial(progress.advance, progress.add_task("computing", total=samples))
        table = motor_table(model, motion, period, rigid=rigid, wrench=wrench, progress=advance)
        if output is not None:
            advance = partial(progress.advance, progress.add_task(f"writing {output}", total=samples))
            write_table(table, output, advance)
        if plot is not None:
            progress.add_task(f"drawing {plot}", total=None)
            plot_motors(table, plot)
    typer.echo(f"{model.name}: largest values of {samples} samples in {table.t[-1]:g} s")
    Console().print(peak_table(table))
    for path in (output, plot):
        if path is not None:
            typer.echo(f"wrote {path}")


@app.command()
@clean_errors
def reproduce(
    paper: Annotated[str, typer.Argument(help="Number of the paper: 000.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for figures and tables.")] = Path("out"),
) -> None:
    """Compute the results of a paper anew: its figures, and a table of what it claims and what comes out here."""
    from rich.console import Console

    from .reproduce import reproduce as computed
    from .reproduce.report import on_screen

    with progress_bar() as progress:
        task = progress.add_task("starting", total=None)
        report = computed(paper, output, lambda what: progress.update(task, description=what))
    console = Console()
    for grid in report.grids:
        console.print(on_screen(grid, report.title if grid is report.grids[0] else ""))
    for note in report.notes:
        console.print(f"- {note}", highlight=False, markup=False)
    console.print(
        f"{len(report.files)} files in {output}: {', '.join(path.name for path in report.files)}", markup=False
    )


def progress_bar() -> Progress:
    """On a terminal, for as long as the work lasts; elsewhere nothing."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)


def peak_table(table: MotorTable) -> Table:
    """The largest torque and deflection of each joint."""
    from rich.box import SIMPLE
    from rich.table import Table

    from .results import panels

    shown = Table(box=SIMPLE)
    shown.add_column("joint")
    found = panels(table)
    for panel in found:
        shown.add_column(panel.title, justify="right")
    for i, joint in enumerate(table.robot.joints):
        shown.add_row(joint.name, *(f"{abs(x.values[:, i]).max():.4g} {x.units[i]}" for x in found))
    return shown


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

    from . import (
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

    from .paths import parameters

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
