"""A robot under control, once or many times with parameters that vary."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import app, clean_errors, progress_bar, say

if TYPE_CHECKING:
    from ..robot import Joint, Robot
    from ..simulation import Simulation
    from ..studies import MonteCarlo
    from ..trajectory import Trajectory

SHOWN = 10  # failures on the screen
INTERRUPTED = 130  # exit code, as of a shell after Ctrl-C


@app.command()
@clean_errors
def simulate(
    robot: Annotated[str, typer.Argument(help="A built-in robot or a robot file.")],
    controller: Annotated[str, typer.Option(help="Such as motor_pd, feedback_linearization, computed_torque.")],
    trajectory: Annotated[str, typer.Option(help="A file (.toml, .csv, .npz) or a text {kind = ..., ...}.")],
    stiffness: Annotated[
        str | None, typer.Option(help="Of joints with two motors: a file or text as for --trajectory, or a number.")
    ] = None,
    gains: Annotated[str, typer.Option(help="Of laws with gains, in their order, such as 1000,60.")] = "",
    poles: Annotated[str, typer.Option(help="Of laws with poles: one real pole, in 1/s, for all.")] = "",
    period: Annotated[float, typer.Option(help="Between samples of the controller, in s.")] = 1e-3,
    duration: Annotated[float | None, typer.Option(help="In s; by default that of the trajectory.")] = None,
    integrator: Annotated[str, typer.Option(help="runge_kutta, euler or midpoint.")] = "runge_kutta",
    substeps: Annotated[int, typer.Option(help="Steps of the integrator a period.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="To write: .nc, .csv, .npz, .parquet; with --samples a folder."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot to write: .png, .pdf or .svg.")] = None,
    animate: Annotated[Path | None, typer.Option(help="Animation to write: .gif, .html or .mp4.")] = None,
    check: Annotated[bool, typer.Option(help="Refuse what is unstable by too long a period or step.")] = True,
    samples: Annotated[int | None, typer.Option(help="Monte-Carlo: how many robots.")] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="What differs among them: '*.drive.stiffness=10%', link1.mass=-20%..20%, payload=0..3."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the samples; the same seed gives the same samples.")] = 0,
    limit: Annotated[float | None, typer.Option(help="Largest error, rad or m, beyond which a sample fails.")] = None,
    threads: Annotated[int | None, typer.Option(help="Of --samples; by default all cores.")] = None,
) -> None:
    """Simulate a robot under a controller along a trajectory, and show how well it follows.

    With --samples and --vary, many robots that differ from the one the controller knows.  Ctrl-C keeps the samples that
    are finished in the folder given with -o, and the same command goes on from there.
    """
    import flexjoint as fj

    from ..results import check_animation_path, check_plot_path, check_results_path

    if (samples is not None) != bool(vary) or (samples is not None and animate is not None):
        raise fj.InputError("--samples and --vary belong together, and --animate shows one run without them")
    files = [(plot, check_plot_path), (animate, check_animation_path)]
    for path, check_path in [*files, (None if samples else output, check_results_path)]:
        if path is not None:
            check_path(path)
    model = fj.load(robot)
    law = named_controller(controller, model, gains, poles, period)
    setting = (model, law, loaded_reference(law, model, trajectory, stiffness), duration)
    options: dict[str, Any] = {"integrator": integrator, "substeps": substeps, "check": check, "period": period}
    if samples is None:
        simulate_once(setting, options, {fj.write_results: output, fj.plot_simulation: plot, fj.animate: animate})
    else:
        options |= {"samples": samples, "vary": variations(vary or []), "seed": seed, "limit": limit}
        simulate_many(setting, {**options, "threads": threads, "folder": output}, plot)


def loaded_reference(law: Any, robot: Robot, trajectory: str, stiffness: str | None) -> Trajectory:
    """The motion, and for a law that follows them the stiffnesses too."""
    import flexjoint as fj

    motion = fj.load_trajectory(trajectory, robot)
    if (law.width > robot.n) != (stiffness is not None):
        raise fj.InputError("--stiffness belongs to robots with two motors a joint, under variable_stiffness_tracking")
    if stiffness is None:
        return motion
    return fj.MotionAndStiffness(motion, fj.load_stiffness(stiffness, robot, motion.duration))


def simulate_once(setting: tuple, options: dict[str, Any], writers: dict[Callable[..., None], Path | None]) -> None:
    """One run: shown, and written where that is wanted."""
    import flexjoint as fj

    wanted = {write: path for write, path in writers.items() if path is not None}
    with progress_bar() as progress:
        progress.add_task("simulating", total=None)
        run = fj.simulate(*setting, **options)
        for write, path in wanted.items():
            progress.add_task(f"writing {path}", total=None)
            write(run, path)
    print_run(run)
    for path in wanted.values():
        typer.echo(f"wrote {path}")


def simulate_many(setting: tuple, options: dict[str, Any], plot: Path | None) -> None:
    """Samples, as many as there is time for."""
    import flexjoint as fj

    with progress_bar() as progress:
        advance = partial(progress.advance, progress.add_task("simulating", total=options["samples"]))
        study = fj.monte_carlo(*setting, **options, progress=advance)
        written = write_study(study, options["folder"], plot) if study.samples.size else []
    print_study(study)
    for path in written:
        typer.echo(f"wrote {path}")
    if not study.complete:
        remedy = "; the same command goes on" if options["folder"] else ""
        say(f"interrupted after {study.samples.size} of {study.wanted} samples{remedy}")
        raise typer.Exit(INTERRUPTED)


# Controllers by name ----------------------------------------------------------------------------------------------

Maker = Callable[["Robot", list[float], float], Any]


def makers() -> tuple[dict[str, Maker], dict[str, Maker]]:
    """Controllers by their names in snake case, from (robot, numbers, period): those with gains, those with poles."""
    import flexjoint as fj

    def of_gains(law: Any) -> Maker:
        return lambda robot, numbers, period: law(robot, numbers)

    def adaptive(robot: Robot, numbers: list[float], period: float) -> Any:
        bandwidth, damping, adaptation = counted(numbers, 3, 3)
        return fj.AdaptiveControl(robot.rigid(), bandwidth, damping, adaptation, period, robot.rigid())

    def adaptive_mixed(robot: Robot, numbers: list[float], period: float) -> Any:
        *gains, adaptation = counted(numbers, 5, 5)
        return fj.AdaptiveMixedControl(robot, gains, adaptation, period)  # type: ignore[arg-type]

    by_gains: dict[str, Maker] = {
        "motor_pd": of_gains(fj.MotorPD),
        "full_state_feedback": of_gains(fj.FullStateFeedback),
        "structure_preserving": of_gains(fj.StructurePreserving),
        "feedforward_pd": of_gains(fj.FeedforwardPD),
        "passivity_control": lambda robot, numbers, period: fj.PassivityControl(robot.rigid(), *counted(numbers, 2, 3)),
        "adaptive_control": adaptive,
        "mixed_inverse_dynamics": of_gains(fj.MixedInverseDynamics),
        "adaptive_mixed_control": adaptive_mixed,
    }
    by_poles: dict[str, Maker] = {
        "computed_torque": lambda robot, pole, period: fj.ComputedTorque(robot.rigid(), fj.gains_from_poles(pole * 2)),
        "feedback_linearization": lambda robot, pole, period: fj.FeedbackLinearization(
            robot, fj.gains_from_poles(pole * fj.chain_length(robot)), period
        ),
        "variable_stiffness_tracking": lambda robot, pole, period: fj.VariableStiffnessTracking.from_poles(
            robot, pole * 4, pole * 2, period
        ),
    }
    return by_gains, by_poles


def named_controller(name: str, robot: Robot, gains: str, poles: str, period: float) -> Any:
    """A controller with gains, or with one pole as often as it has integrators."""
    from ..errors import InputError

    by_gains, by_poles = makers()
    if name not in by_gains | by_poles:
        raise InputError(f"no controller '{name}'; there are {', '.join(by_gains | by_poles)}")
    text, what = (gains, "--gains") if name in by_gains else (poles, "--poles")
    try:
        numbers = [float(x) for x in text.split(",")]
    except ValueError:
        raise InputError(f"{name} takes {what}, numbers with commas between them, not {text!r}") from None
    if name in by_poles and len(numbers) != 1:
        raise InputError(f"--poles takes one number, not {text!r}")
    return (by_gains | by_poles)[name](robot, numbers, period)


def counted(numbers: list[float], least: int, most: int) -> list[Any]:
    from ..errors import InputError

    if not least <= len(numbers) <= most:
        raise InputError(
            f"--gains takes {' to '.join(dict.fromkeys(map(str, (least, most))))} numbers here, not {len(numbers)}"
        )
    return numbers


def variations(texts: list[str]) -> dict[str, str]:
    """path=variation, each path once."""
    from ..errors import InputError

    found: dict[str, str] = {}
    for text in texts:
        path, sign, variation = text.partition("=")
        if not sign or path in found:
            raise InputError(
                f"--vary takes PATH=VARIATION, each path once, such as '*.drive.stiffness=10%', not {text!r}"
            )
        found[path] = variation
    return found


# What is shown and written ----------------------------------------------------------------------------------------


def print_run(run: Simulation) -> None:
    """Errors and torques of each joint."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    last = int(run.periods)  # of a run that diverged, the last one that was well
    end = "error when it diverged" if run.diverged else "error at the end"
    table = Table("joint", "largest error", end, "largest torque")
    errors, torques = np.abs(run.error)[: last + 1], np.abs(run.tau)[: last + 1].max(axis=0)
    forces = [f"{x:.3g} {'Nm' if kind == 'revolute' else 'N'}" for x, kind in zip(torques, run.robot.motor_kinds)]
    for i, joint in enumerate(run.robot.joints):
        cells = [f"{x:.3g} {length_unit(joint)}" for x in (errors[:, i].max(), errors[-1, i])]
        own = [force for force, k in zip(forces, run.robot.motor_joints) if k == i]
        table.add_row(joint.name, *cells, ", ".join(own))
    Console().print(f"{run.robot.name}: {last} periods of {run.period:g} s")
    Console().print(table)


def length_unit(joint: Joint) -> str:
    return "rad" if joint.kind == "revolute" else "m"


def write_study(study: MonteCarlo, folder: Path | None, plot: Path | None) -> list[Path]:
    """Samples, failures and errors as files of the folder of samples; the plot there, or where it is wanted."""
    from ..results import write_table
    from ..studies import SampleTable, plot_monte_carlo

    written = []
    if folder is not None:
        written = [folder / "samples.csv", folder / "failures.csv"]
        for path, failures in zip(written, (False, True)):
            write_table(SampleTable(study, failures), path)
    picture = plot if plot is not None else folder / "errors.png" if folder is not None else None
    if picture is not None:
        plot_monte_carlo(study, picture)
        written.append(picture)
    return written


def print_study(study: MonteCarlo) -> None:
    """Quantiles of the errors of each joint, and the first failures with their parameters."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from ..studies.monte_carlo import LEVELS
    from ..studies.report import counts

    console, failed = Console(), np.flatnonzero(study.failed)
    console.print(f"{study.robot.name}: {counts(study)}")
    if not study.samples.size:
        return
    levels = [f"{100 * x:g} %" for x in LEVELS]
    table = Table("joint", "unit", *levels, "at the end, 95 %", title="share of runs whose largest error is below")
    largest, final = study.quantiles(), study.quantiles([0.95], "final")[0]
    for i, joint in enumerate(study.robot.joints):
        table.add_row(joint.name, length_unit(joint), *(f"{x:.3g}" for x in (*largest[:, i], final[i])))
    console.print(table)
    if failed.size:
        console.print(failure_table(study, failed[:SHOWN]))
        if failed.size > SHOWN:
            console.print(f"and {failed.size - SHOWN} more")


def failure_table(study: MonteCarlo, rows: Any) -> Any:
    from rich.table import Table

    joints = study.robot.joints
    table = Table("sample", "what", *study.names, title="failures")
    for row in rows:
        joint = study.joint[row]
        worst = study.largest[row].argmax()
        diverged = f"{joints[joint].name} diverged at {study.ended[row]:.3g} s"
        off = f"{joints[worst].name} off by {study.largest[row, worst]:.3g} {length_unit(joints[worst])}"
        stiff = f"step too long for {joints[study.stiff_joint[row]].name}, stable up to {study.longest_step[row]:.3g} s"
        what = stiff if study.integrator_failed[row] else diverged if joint >= 0 else off
        table.add_row(str(study.samples[row]), what, *(f"{x:.4g}" for x in study.parameters[row]))
    return table
