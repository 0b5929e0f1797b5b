"""Command `identify`: stiffness, inertia, friction and link parameters from logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, listed
from .app import command
from .command_result import CommandResult
from .completion import logs as log_files
from .known_loop import KnownLoopOptions, known_loop
from .log_options import MeasuredTorque, ReadingOptions
from .parameters import PlotFile, check_files, files_of
from .report_request import ReportFile, requested
from .robot_options import RobotArgument, without_gear_losses
from .standard_output import STREAM, standard_output

if TYPE_CHECKING:
    from ..identification import Identification
    from ..robot import Robot

OPTION_OF = {"links": "--links", "spring": "--spring", "method": "--method", "priors": "--use-priors"}


@command(held="measured_torque", check="no_check", priors="use_priors")
def identify(
    robot: RobotArgument,
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            help=".csv, .npz, .parquet, .mcap or .nc files: t, q.JOINT, theta.JOINT, tau.JOINT.",
            autocompletion=log_files,
        ),
    ],
    reading: ReadingOptions,
    known: KnownLoopOptions,
    validate: Annotated[
        list[Path] | None, typer.Option(help="A log that is not used, to test the prediction; repeat.")
    ] = None,
    links: Annotated[
        str, typer.Option(help="base: estimate their base parameters; payload; known; auto: base with tau or tau_e.")
    ] = "auto",
    friction: Annotated[
        str,
        typer.Option(help="Of the motors: viscous, coulomb, stribeck, the last two also with _by_direction; or auto."),
    ] = "auto",
    spring: Annotated[
        str,
        typer.Option(help="Law: linear, cubic, piecewise; auto: the robot's, cubic where the residuals ask for it."),
    ] = "auto",
    measured_torque: MeasuredTorque = False,
    delay: Annotated[
        float | None, typer.Option(help="Delay of the positions against tau, s; by default estimated.")
    ] = None,
    bandwidth: Annotated[
        float | None, typer.Option(help="Highest frequency that is fitted, Hz; by default 1/20 of the rate, up to 50.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="least-squares; or output-error, which refines its result by simulations.")
    ] = "least-squares",
    use_priors: Annotated[
        bool,
        typer.Option("--use-priors", help="Drives of the robot file enter the estimates, by their trust."),
    ] = False,
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Estimate even if units, signs or the order of joints seem wrong.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Drive file to write: .drives.toml; - is standard output."),
    ] = None,
    robot_output: Annotated[
        Path | None, typer.Option(help="Robot file to write, with drives and links as identified: .toml.")
    ] = None,
    plot: PlotFile = None,
    report: ReportFile = None,
) -> CommandResult:
    """Estimate stiffness, motor inertia and friction from logs.

    Every number has a standard deviation and a verdict; the drive and the robot file load as they are.  Of joints with
    two motors the laws of both springs are estimated.
    """
    from ..identification import identify as identified, identify_variable_stiffness
    from ..logs import read_log
    from ..plots.figures import check_plot_path
    from ..plots.identifications import plot_identification
    from ..reports import check_report_path, content_of
    from ..results.files import check_path

    check_files(
        (output, lambda path: check_path(path, (".toml",), "a drive file")),
        (robot_output, lambda path: check_path(path, (".toml",), "a robot file")),
        (plot, check_plot_path),
        (report, check_report_path),
    )
    model = without_gear_losses(robot, "the identification")
    how = reading.keywords
    options: dict[str, Any] = {
        "links": links,
        "friction": friction.replace("-", "_"),
        "spring": spring,
        "held": not measured_torque,
        "delay": delay,
        "bandwidth": bandwidth,
        "method": method.replace("-", "_"),
        "priors": "drives" if use_priors else "vague",
        "check": not no_check,
    }
    function: Callable[..., Identification] = identified
    if any(model.variable_stiffness):
        options = variable_stiffness_options(model, options, robot_output, known.controller)
        function = identify_variable_stiffness
    used, unused = ([read_log(path, model, **how) for path in paths] for paths in (logs, validate or []))
    if (loop := known_loop(model, known, used[0].period)) is not None:
        options["loop"] = loop
    found = function(model, used, validate=unused, **options)
    if output == STREAM:
        with standard_output() as stream:
            stream.write(found.drive_file.text.encode())
    elif output is not None:
        found.write_drives(output)
    if robot_output is not None:
        found.write_robot(robot_output)
    if plot is not None:
        plot_identification(found, plot)
    page = requested(report, found)
    return CommandResult(
        content_of(found).shown, identification_data(found), files_of(output, robot_output, plot), report=page
    )


def variable_stiffness_options(
    robot: Robot, options: dict[str, Any], robot_output: Path | None, controller: str
) -> dict[str, Any]:
    """Options for a robot with joints of two motors.

    Raises:
        InputError: An option is for other joints.
    """
    others = {"links": "auto", "spring": "auto", "method": "least_squares", "priors": "vague"}
    wrong = [OPTION_OF[name] for name, default in others.items() if options[name] != default]
    wrong += ["--robot-output"] * (robot_output is not None) + ["--controller"] * bool(controller)
    if wrong:
        raise InputError(
            f"{robot.name} has joints with two motors, whose laws are estimated without the links: leave out "
            f"{listed(wrong)}, which {'are' if len(wrong) > 1 else 'is'} for rigid and elastic joints; -o writes the "
            "drives"
        )
    found = {name: x for name, x in options.items() if name not in others}
    return found | {
        "friction": "coulomb" if found["friction"] == "auto" else found["friction"],
        "delay": found["delay"] or 0.0,
    }


def identification_data(found: Identification) -> dict[str, Any]:
    """The result for programs."""
    joints = [joint.name for joint in found.prior.joints]
    return {
        "robot": found.prior.name,
        "bandwidth_hz": found.bandwidth,
        "condition": found.condition,
        "converged": found.fit.converged,
        "passed": found.passed,
        "estimates": [
            {
                "name": x.name,
                "value": x.value,
                "deviation": x.deviation,
                "unit": x.unit,
                "prior": x.prior,
                "verdict": x.verdict,
                "reason": x.reason,
            }
            for x in found.estimates
        ],
        "residuals": [
            {"joint": joints[x.joint], "equation": x.equation, "rms": x.rms, "misfit": x.misfit, "passed": x.passed}
            for x in found.tests
        ],
        "missing": [
            {"joint": joints[x.joint], "what": x.what, "deviations": x.deviations} for x in found.scores if x.asked
        ],
        "gear_losses": [
            {"joint": joints[x.joint], "kind": x.kind, "width": x.width, "deviation": x.deviation, "unit": x.unit}
            for x in found.gear_losses
        ],
        "validation": found.validation,
        "notes": found.notes,
        "doubts": found.doubts,
    }
