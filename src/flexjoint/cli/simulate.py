"""Command `simulate`: a robot under a controller, one run or a Monte-Carlo study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .app import DIVERGED, INTERRUPTED, command
from .command_result import CommandResult
from .completion import controllers as known_controllers, integrators, measured_states, trajectories
from .controllers import compensated_controller, named_controller
from .parameters import PlotFile, ToolWrench, check_files, key_values
from .progress import progress_bar
from .report_request import ReportFile, requested
from .robot_options import RobotArgument, without_gear_losses
from .standard_output import STREAM, send_csv
from .study_options import ClusterAddress, Kept, SampleNumber, StudyOptions, Workers, study_folder
from .tables import Table
from .vibration import AFTERWARDS, shaped_reference, shaping, with_vibration

if TYPE_CHECKING:
    from ..control import Controller
    from ..robot import Robot
    from ..simulation import Sensors, Simulation
    from ..studies import MonteCarlo
    from ..trajectory import Trajectory

MEASURED = (
    "columns measured.* are the samples of the sensors; log, detect and identify read the true values beside them: "
    "q, v, theta, theta_v"
)


@command(folder="output", reference="trajectory", share="friction_share")
def simulate(
    robot: RobotArgument,
    controller: Annotated[
        str,
        typer.Option(
            help="One of {controllers}; 'flexjoint controllers' lists the numbers they take.",
            autocompletion=known_controllers,
        ),
    ],
    trajectory: Annotated[
        str,
        typer.Option(help="A .toml, .csv or .npz file, or '{kind = ..., ...}'.", autocompletion=trajectories),
    ],
    stiffness: Annotated[
        str | None, typer.Option(help="Stiffness of joints with two motors: a number, or as --trajectory.")
    ] = None,
    gains: Annotated[str, typer.Option(help="Gains of the controller in order, such as 1000,60.")] = "",
    poles: Annotated[str, typer.Option(help="One real closed-loop pole, 1/s, for controllers with poles.")] = "",
    compensate_friction: Annotated[
        str | None,
        typer.Option(
            help="Compensate the robot's friction at the desired or the measured velocity: desired, measured."
        ),
    ] = None,
    friction_share: Annotated[float, typer.Option(help="Compensated share of the friction.")] = 1.0,
    measured: Annotated[
        str,
        typer.Option(
            help="What feedback_linearization reads: 'q theta', 'q tau_e' or 'theta tau_e'.",
            autocompletion=measured_states,
        ),
    ] = "",
    sensor: Annotated[
        list[str] | None,
        typer.Option(help="Property of the sensors: torque_noise=0.05, torque_rates=differenced; may be repeated."),
    ] = None,
    shaper: Annotated[
        str | None,
        typer.Option(help="Shape the trajectory so that it excites no vibration of the loop: zv, zvd or ei."),
    ] = None,
    modes: Annotated[int, typer.Option(help="Number of modes for --shaper, the slowest.")] = 2,
    vibration: Annotated[
        bool, typer.Option("--vibration", help="Measure the vibration after the motion; simulates 2 s more.")
    ] = False,
    base: Annotated[
        str | None,
        typer.Option(help="Pose of a moving base, x, y, z in m, roll, pitch, yaw in rad; given as --trajectory."),
    ] = None,
    wrench: ToolWrench = None,
    payload: Annotated[float | None, typer.Option(help="Point mass at the tool, kg.")] = None,
    known: Annotated[
        bool, typer.Option("--known", help="The controller knows --base, --wrench and --payload.")
    ] = False,
    period: Annotated[float, typer.Option(help="Sampling period of the controller, s.")] = 1e-3,
    duration: Annotated[float | None, typer.Option(help="Duration, s; default that of the trajectory.")] = None,
    integrator: Annotated[
        str, typer.Option(help="Integrator: runge_kutta, euler or midpoint.", autocompletion=integrators)
    ] = "runge_kutta",
    substeps: Annotated[int, typer.Option(help="Integration steps per period.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write: .nc, .csv, .npz, .parquet; with --samples a folder; - is CSV on standard output.",
        ),
    ] = None,
    plot: PlotFile = None,
    report: ReportFile = None,
    animate: Annotated[Path | None, typer.Option(help="Animation to write: .gif, .html or .mp4.")] = None,
    check: Annotated[bool, typer.Option(help="Refuse a period or step that is too long for stability.")] = True,
    samples: Annotated[int | None, typer.Option(help="Number of robots of a Monte-Carlo study.")] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="Varied parameter: '*.drive.stiffness=10%', link1.mass=-20%..20%, payload=0..3."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the samples and of the noise.")] = 0,
    limit: Annotated[float | None, typer.Option(help="Error, rad or m, above which a sample fails.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads for --samples; default all cores.")] = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    keep: Kept = None,
    sample: SampleNumber = None,
) -> CommandResult:
    """Simulate a robot under a controller along a trajectory.

    With --samples and --vary it is a Monte-Carlo study: many robots whose parameters the controller does not know.
    Ctrl-C keeps finished samples in the folder of -o, and the same command resumes from there.  --sample K in place of
    --samples simulates one of them again.
    """
    import flexjoint as fj

    from ..plots.figures import check_plot_path
    from ..reports import check_report_path, content_of
    from ..results import check_results_path
    from ..viewer.animation import check_animation_path

    if samples is not None and sample is not None:
        raise fj.InputError("--samples runs a study, --sample one of its samples; give one of them")
    if (samples is not None or sample is not None) != bool(vary) or (samples is not None and animate is not None):
        raise fj.InputError("--samples and --vary belong together, and --animate shows a single run without them")
    how = StudyOptions(workers, cluster, keep)
    how.check(samples, threads, output)
    single = None if samples else output
    check_files((plot, check_plot_path), (animate, check_animation_path), (single, check_results_path))
    check_files((report, check_report_path))
    if vibration and samples is not None:
        raise fj.InputError("--vibration measures a single run; leave out --samples")
    if known and base is wrench is payload is None:
        raise fj.InputError("--known belongs to --base, --wrench or --payload")
    if compensate_friction is None and friction_share != 1:
        raise fj.InputError("--friction-share belongs to --compensate-friction")
    loaded = robot if payload is None else robot.with_payload(payload)
    base_motion = None if base is None else fj.trajectory.load_base(base, robot)
    model = without_gear_losses(loaded if known else robot, "the controller")
    numbers = (controller, model, gains, poles, period, measured)
    law = (
        named_controller(*numbers)
        if compensate_friction is None
        else compensated_controller(*numbers, compensate_friction, friction_share)
    )
    reference = loaded_reference(law, robot, trajectory, stiffness)
    if known:
        law = informed(law, base_motion is not None, wrench)
    shape = None if shaper is None else shaping(law, reference, shaper, modes, period)
    if shape is not None:
        reference = shaped_reference(reference, law, shape, period)
    if vibration and duration is None:
        duration = reference.duration + AFTERWARDS
    task = Task(loaded, law, reference, duration)
    options: dict[str, Any] = {"integrator": integrator, "substeps": substeps, "check": check, "period": period}
    options |= {"sensors": chosen_sensors(sensor or []), "seed": seed}
    options |= {"base": base_motion, "contact": None if wrench is None else constant_wrench(robot, wrench)}
    varied = key_values("--vary", vary or [], "'*.drive.stiffness=10%'")
    if sample is not None:
        options |= {"vary": varied, "number": sample}
    if samples is None:
        writers: dict[Callable[..., Any], Path | None] = {
            fj.results.write_results: output,
            fj.plots.plot_simulation: plot,
            fj.viewer.animate: animate,
        }
        found = simulate_once(task, options, writers)
    else:
        options |= {"samples": samples, "vary": varied, "limit": limit, "threads": threads}
        found = simulate_many(task, options, how, output, plot)
    if not vibration or isinstance(found.result, fj.studies.MonteCarlo):
        return replace(found.command, report=requested(report, found.result))
    remaining = fj.analysis.residual_vibration(found.result)
    tables = [x for x in content_of(remaining).shown if isinstance(x, Table)]
    page = requested(report, found.result, tables=tables)
    return replace(with_vibration(found.command, remaining), report=page)


class Task(NamedTuple):
    """What is simulated: the first four arguments of `simulate` and `monte_carlo`."""

    robot: Robot
    controller: Controller
    reference: Trajectory
    duration: float | None


class Found(NamedTuple):
    """A run or a study, and what the command shows of it."""

    result: Simulation | MonteCarlo
    command: CommandResult


def informed(law: Controller, base: bool, wrench: Sequence[float] | None) -> Controller:
    """The controller that knows the moving base, and the wrench on its tool."""
    from ..control import REGISTRY
    from ..control.base import ControllerWrapper
    from ..control.surroundings import KnowsSurroundings, KnowsWrenches
    from ..errors import InputError

    if isinstance(law, ControllerWrapper):
        return replace(law, controller=informed(law.controller, base, wrench))  # type: ignore[type-var]
    named = law.registration.name if law.registration else type(law).__name__
    for given, kind, option in ((base, KnowsSurroundings, "--base"), (wrench is not None, KnowsWrenches, "--wrench")):
        if given and not isinstance(law, kind):
            able = [name for name, x in sorted(REGISTRY.items()) if issubclass(x, kind)]
            raise InputError(f"{named} cannot know {option}; leave out --known, or take one of {', '.join(able)}")
    known: dict[str, Any] = {} if wrench is None else {"wrenches": {law.robot.tool: wrench}}
    return replace(law, **known, **({"base": True} if base else {}))  # type: ignore[type-var]


def constant_wrench(robot: Robot, wrench: Sequence[float]) -> Callable[..., Any]:
    """The contact function of a constant wrench on the tool."""
    from ..checks import finite
    from ..spatial import sx

    constant, tool = finite("simulate", "wrench", wrench), robot.tool  # numbers, which can be sent to other processes
    return lambda t, state: {tool: sx(constant)}


def chosen_sensors(texts: list[str]) -> Sensors | None:
    """The sensors that --sensor describes; None without it."""
    from dataclasses import fields

    from ..errors import InputError
    from ..formats.toml import suggestion
    from ..simulation import Sensors

    if not texts:
        return None
    given = key_values("--sensor", texts, "torque_noise=0.05", "name")
    defaults: dict[str, Any] = {x.name: x.default for x in fields(Sensors)}
    values: dict[str, Any] = {}
    for name, text in given.items():
        if name not in defaults:
            raise InputError(f"--sensor: there is no '{name}'; {suggestion(name, defaults)}")
        try:
            values[name] = text if isinstance(defaults[name], str) else sensor_numbers(text, type(defaults[name]))
        except ValueError:
            whole = isinstance(defaults[name], int)
            expected = "a whole number of periods" if whole else "a number, or one per joint, as 0.05,0.02"
            raise InputError(f"--sensor: {name} is {text!r}; give {expected}") from None
    try:
        return Sensors(**values)
    except InputError as error:
        raise InputError(f"--sensor: {str(error).removeprefix('Sensors: ')}") from None


def sensor_numbers(text: str, kind: type) -> Any:
    """A number, or several with commas between them, of this kind; raises ValueError otherwise."""
    numbers = [kind(x) for x in text.split(",")]
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


def loaded_reference(law: Controller, robot: Robot, trajectory: str, stiffness: str | None) -> Trajectory:
    """The trajectory, with the stiffness for a controller that tracks it."""
    import flexjoint as fj

    motion = fj.trajectory.load_trajectory(trajectory, robot)
    if (law.width > robot.n) != (stiffness is not None):
        raise fj.InputError("--stiffness belongs to robots with two motors per joint under variable_stiffness_tracking")
    if stiffness is None:
        return motion
    return fj.trajectory.MotionAndStiffness(motion, fj.trajectory.load_stiffness(stiffness, robot, motion.duration))


def simulate_once(task: Task, options: dict[str, Any], writers: dict[Callable[..., Any], Path | None]) -> Found:
    """One run, written to the given files."""
    import flexjoint as fj

    from ..reports import content_of
    from ..results.simulation_table import SimulationTable

    wanted = {write: path for write, path in writers.items() if path is not None and path != STREAM}
    with progress_bar() as progress:
        progress.add_task("simulating", total=None)
        run = (fj.studies.simulate_sample if "number" in options else fj.simulate)(*task, **options)
        for write, path in wanted.items():
            progress.add_task(f"writing {path}", total=None)
            write(run, path)
    if STREAM in writers.values():
        send_csv(SimulationTable(run))
    code = DIVERGED if run.diverged else 0
    stored = writers.get(fj.results.write_results) is not None and any(x.startswith("measured.") for x in run.more)
    shown = [*content_of(run).shown, *([MEASURED] if stored else [])]
    return Found(run, CommandResult(shown, run_data(run), [*wanted.values()], code))


def simulate_many(
    task: Task, options: dict[str, Any], how: StudyOptions, output: Path | None, plot: Path | None
) -> Found:
    """A Monte-Carlo study; after Ctrl-C of the finished samples."""
    import flexjoint as fj

    from ..reports import content_of
    from ..studies import SampleTable

    folder, kept = study_folder(output), how.keep_worst
    with how.executor() as executor, progress_bar() as progress:
        advance = partial(progress.advance, progress.add_task("simulating", total=options["samples"]))
        options = {**options, "folder": folder, "executor": executor, "keep_worst": kept}
        try:
            study = fj.studies.monte_carlo(*task, **options, progress=advance)
        except fj.Interrupted as error:
            study = error.partial
        written = write_study(study, folder, plot) if study.samples.size else []
    if output == STREAM:
        send_csv(SampleTable(study))
    result = CommandResult(content_of(study).shown, study_data(study), written)
    if study.complete:
        return Found(study, result)
    remedy = "; the same command resumes" if folder else ""
    trouble = f"interrupted after {study.samples.size} of {study.wanted} samples{remedy}"
    return Found(study, replace(result, code=INTERRUPTED, trouble=trouble))


# Text, data and files -----------------------------------------------------------------------------------------------


def run_data(run: Simulation) -> dict[str, Any]:
    """A run for programs."""
    from ..reports.simulations import run_errors

    robot = run.robot
    largest, final, torques = run_errors(run)
    joints = [
        {
            "joint": joint.name,
            "largest_error": largest[i],
            "final_error": final[i],
            "error_unit": joint.kind.unit("rad | m"),
            "motors": [
                {"motor": robot.motor_names[k], "largest_torque": torques[k], "unit": kind.unit("Nm | N")}
                for k, kind in enumerate(robot.motor_kinds)
                if robot.motor_joints[k] == i
            ],
        }
        for i, joint in enumerate(robot.joints)
    ]
    return {
        "robot": robot.name,
        "controller": run.provenance["controller"],
        "period_s": run.period,
        "periods": int(run.periods),
        "ended_s": float(run.ended),
        "diverged": bool(run.diverged),
        "diverged_joint": robot.joints[int(run.joint)].name if run.diverged else None,
        "joints": joints,
        "violations": [asdict(x) for x in run.exceeded.violations],
    }


def write_study(study: MonteCarlo, place: str | Path | None, plot: Path | None) -> list[Path]:
    """Write samples and failures to the folder, and the plot there or to its own path; the files written.

    At a URL there are only the blocks of samples.
    """
    from ..plots import plot_monte_carlo
    from ..results import write_table
    from ..studies import SampleTable

    written = []
    folder = None if isinstance(place, str) else place
    if folder is not None:
        written = [folder / "samples.csv", folder / "failures.csv"]
        for path, failures in zip(written, (False, True)):
            write_table(SampleTable(study, failures), path)
    picture = plot if plot is not None else folder / "errors.png" if folder is not None else None
    if picture is not None:
        plot_monte_carlo(study, picture)
        written.append(picture)
    return written


def study_data(study: MonteCarlo) -> dict[str, Any]:
    """A study for programs."""
    import numpy as np

    from ..studies.monte_carlo import LEVELS

    robot, some = study.robot, study.samples.size > 0
    units = [joint.kind.unit("rad | m") for joint in robot.joints]
    kinds = {f"{kind}_error_quantiles": study.quantiles(LEVELS, kind) for kind in ("largest", "final") if some}
    joints = [
        {
            "joint": joint.name,
            "error_unit": units[i],
            **{name: {f"{x:g}": y for x, y in zip(LEVELS, found[:, i])} for name, found in kinds.items()},
        }
        for i, joint in enumerate(robot.joints)
    ]
    failures = [
        {
            "sample": study.samples[row],
            "diverged_joint": robot.joints[study.joint[row]].name if study.joint[row] >= 0 else None,
            "ended_s": study.ended[row],
            "integrator_failed": study.integrator_failed[row],
            "longest_stable_step_s": study.longest_step[row],
            "largest_errors": study.largest[row],
            "parameters": dict(zip(study.names, study.parameters[row])),
        }
        for row in np.flatnonzero(study.failed)
    ]
    return {
        "robot": robot.name,
        "samples": study.samples.size,
        "wanted": study.wanted,
        "complete": study.complete,
        "failed": len(failures),
        "joints": joints,
        "failures": failures,
    }
