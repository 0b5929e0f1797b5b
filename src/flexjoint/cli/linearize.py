"""Command `linearize`: poles, margins and frequency responses of a robot at rest, alone or under a controller."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import command
from .command_result import CommandResult
from .completion import controllers as known_controllers
from .controllers import named_controller
from .parameters import PlotFile, check_files, files_of
from .robot_options import RobotArgument, without_gear_losses
from .tables import Table

if TYPE_CHECKING:
    from ..analysis import LinearModel, LoopGain
    from ..control import Controller
    from ..types import FloatArray

FIGURES = ("bode", "nyquist", "step", "root_locus")


@command()
def linearize(
    robot: RobotArgument,
    at: Annotated[
        str, typer.Option(help="Configuration, rad or m: one number for all joints, or one per joint.")
    ] = "0",
    controller: Annotated[
        str, typer.Option(help="A controller, as in simulate.", autocompletion=known_controllers)
    ] = "",
    gains: Annotated[str, typer.Option(help="Gains of the controller in order, such as 1000,60.")] = "",
    poles: Annotated[str, typer.Option(help="One real closed-loop pole, 1/s, for controllers with poles.")] = "",
    period: Annotated[
        float | None, typer.Option(help="Sampling period of the controller, s; default continuous control.")
    ] = None,
    motor: Annotated[str, typer.Option(help="Motor at which bode and nyquist cut the loop; default the first.")] = "",
    inputs: Annotated[str, typer.Option("--input", help="Inputs, such as tau.joint1,load.* or reference.joint1.")] = "",
    outputs: Annotated[str, typer.Option("--output", help="Outputs, such as q.joint1,theta.joint1.")] = "",
    figure: Annotated[str, typer.Option(help="Figure of --plot: bode, nyquist, step, root_locus.")] = "bode",
    plot: PlotFile = None,
) -> CommandResult:
    """Show poles, margins and frequency response of a robot at rest.

    Under a controller without --input and --output, bode shows the loop gain at --motor with its margins.
    """
    import flexjoint as fj

    from ..plots.figures import check_plot_path

    check_files((plot, check_plot_path))
    if figure not in FIGURES:
        raise fj.InputError(f"--figure is {figure!r}; give one of {', '.join(FIGURES)}")
    if not controller and (figure in ("nyquist", "root_locus") or motor or period is not None or gains or poles):
        raise fj.InputError("nyquist, root_locus, --motor, --period, --gains and --poles need a --controller")
    model_robot = without_gear_losses(robot, "the linear model")
    law = named_controller(controller, model_robot, gains, poles, period or 0.0) if controller else None
    q = configuration(at, robot.n if law is None else law.width)
    model = fj.analysis.linearize(model_robot, q, controller=law, period=period)
    loops = [fj.analysis.loop_gain(model_robot, q, law, name, period) for name in model.inputs] if law else []
    if plot is not None:
        draw(figure, plot, model, loops, law, q, motor, split(inputs), split(outputs))
    verdict = "unstable" if not model.stable else "stable" if decays(model) else "marginally stable"
    text = f"{robot.name}: {len(model.states)} states, {verdict}"
    shown: list[str | Table] = [text, pole_table(model)]
    if loops:
        shown.append(margin_table(loops))
    return CommandResult(shown, data(model, loops), files_of(plot))


def decays(model: LinearModel) -> bool:
    """Whether all poles lie to the left of the imaginary axis, by more than rounding."""
    from ..analysis.linear_model import ROUNDING

    return bool((model.poles.real < -ROUNDING * model.frequencies.max(initial=0.0)).all())


def configuration(text: str, n: int) -> FloatArray:
    """The numbers of --at."""
    import numpy as np

    from ..errors import InputError

    try:
        values = np.array([float(x) for x in text.split(",")])
    except ValueError:
        values = np.zeros(0)
    if values.size not in (1, n) or not np.all(np.isfinite(values)):
        raise InputError(f"--at is {text!r}; give one number for all, or {n} numbers with commas between them")
    return np.broadcast_to(values, (n,)).copy()


def split(text: str) -> list[str]:
    """Names with commas between them."""
    return [x.strip() for x in text.split(",") if x.strip()]


def draw(
    figure: str,
    plot: Path,
    model: LinearModel,
    loops: list[LoopGain],
    law: Controller | None,
    q: FloatArray,
    motor: str,
    inputs: list[str],
    outputs: list[str],
) -> None:
    """Write the chosen figure."""
    from .. import plots
    from ..errors import InputError, listed

    named = {loop.motor: loop for loop in loops}
    if motor and motor not in named:
        raise InputError(f"--motor is {motor!r}; there are {listed(named)}")
    loop = named[motor or loops[0].motor] if loops else None
    if figure == "bode":
        plots.plot_bode(model if inputs or outputs or loop is None else loop, inputs or "", outputs or "", path=plot)
    elif figure == "step":
        plots.plot_step(model, inputs or "", outputs or "", path=plot)
    elif figure == "nyquist" and loop is not None:
        plots.plot_nyquist(loop, path=plot)
    elif law is not None:
        plots.plot_root_locus(model.robot, q, law, period=model.period or None, path=plot)


def pole_table(model: LinearModel) -> Table:
    """Poles, frequencies and damping ratios; of a conjugate pair one row."""
    from ..analysis.linear_model import ROUNDING

    least = ROUNDING * model.frequencies.max(initial=0.0)
    rows = []
    for pole, size, damping in zip(model.poles, model.frequencies, model.damping):
        if pole.imag >= 0:
            real = pole.real if abs(pole.real) > least else 0.0
            text = f"{real:.4g} ± {pole.imag:.4g}i" if pole.imag > least else f"{real:.4g}"
            rows.append([text, f"{size:.4g}", f"{size / (2 * math.pi):.4g}", f"{damping if real else 0:.3g}"])
    headings = ["pole, 1/s", "frequency, rad/s", "Hz", "damping ratio"]
    return Table(headings, rows, "poles", numbers=headings)


def margin_table(loops: list[LoopGain]) -> Table:
    """Stability margins per motor, all other loops closed."""
    rows = []
    for loop in loops:
        x = loop.margins()
        delay = f"{1e3 * x.delay:.3g} ms" if math.isfinite(x.delay) else "∞"
        phase = f"{math.degrees(x.phase):.3g}°" if math.isfinite(x.phase) else "∞"
        rows.append([loop.motor, f"{x.least_gain:.3g} to {x.gain:.3g}".replace("inf", "∞"), phase, delay])
        rows[-1].append(f"{x.modulus:.3g}")
    headings = ["gain factor", "phase", "delay", "modulus"]
    note = "" if loops[0].closed.stable else "the loop is unstable: its margins mean nothing"
    return Table(["motor", *headings], rows, "stability margins, one loop at a time", note=note, numbers=headings)


def data(model: LinearModel, loops: list[LoopGain]) -> dict[str, Any]:
    """The result for programs."""
    found: dict[str, Any] = {
        "robot": model.robot.name,
        "period_s": model.period or None,
        "stable": model.stable,
        "states": model.states,
        "poles": [{"real": x.real, "imaginary": x.imag} for x in model.poles],
    }
    if loops:
        found["margins"] = [{"motor": loop.motor, **loop.margins()._asdict()} for loop in loops]
    return found
