"""Command `linearize`: poles, margins and frequency responses of a robot at rest, alone or under a controller."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .app import command
from .command_result import CommandResult
from .completion import controllers as known_controllers
from .controllers import named_controller
from .parameters import PlotFile, check_files, files_of, posture
from .report_request import ReportFile, requested
from .robot_options import RobotArgument, without_gear_losses

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    report: ReportFile = None,
) -> CommandResult:
    """Show poles and stability margins of a robot at rest.

    Under a controller without --input and --output, bode shows the loop gain at --motor with its margins.
    """
    import flexjoint as fj

    from ..plots.figures import check_plot_path
    from ..reports import check_report_path, content_of
    from ..reports.linear_models import margin_table

    check_files((plot, check_plot_path), (report, check_report_path))
    if figure not in FIGURES:
        raise fj.InputError(f"--figure is {figure!r}; give one of {', '.join(FIGURES)}")
    if not controller and (figure in ("nyquist", "root_locus") or motor or period is not None or gains or poles):
        raise fj.InputError("nyquist, root_locus, --motor, --period, --gains and --poles need a --controller")
    model_robot = without_gear_losses(robot, "the linear model")
    law = named_controller(controller, model_robot, gains, poles, period or 0.0) if controller else None
    q = posture("--at", at, robot.n if law is None else law.width)
    model = fj.analysis.linearize(model_robot, q, controller=law, period=period)
    loops = [fj.analysis.loop_gain(model_robot, q, law, name, period) for name in model.inputs] if law else []
    chosen = Drawing(model, loops, law, q, motor, split(inputs), split(outputs))
    if plot is not None:
        chosen.draw(figure, plot)
    margins = [margin_table(loops)] if loops else []
    drawings = {caption: partial(chosen.draw, name) for name, caption in chosen.captions.items()}
    page = requested(report, model, tables=margins, figures=drawings)
    return CommandResult([*content_of(model).shown, *margins], data(model, loops), files_of(plot), report=page)


def split(text: str) -> list[str]:
    """Names with commas between them."""
    return [x.strip() for x in text.split(",") if x.strip()]


class Drawing(NamedTuple):
    """What the figures show: the model, the loop gains, and the motor, inputs and outputs of the options."""

    model: LinearModel
    loops: list[LoopGain]
    law: Controller | None
    q: FloatArray
    motor: str
    inputs: list[str]
    outputs: list[str]

    @property
    def loop(self) -> LoopGain | None:
        """The loop gain at --motor; None without a controller."""
        from ..errors import InputError, listed

        named = {loop.motor: loop for loop in self.loops}
        if self.motor and self.motor not in named:
            raise InputError(f"--motor is {self.motor!r}; there are {listed(named)}")
        return named[self.motor or self.loops[0].motor] if self.loops else None

    @property
    def captions(self) -> dict[str, str]:
        """Captions of the figures of a report, by the name of the figure."""
        loop = self.loop
        if loop is None:
            return {"bode": "Bode plot.", "step": "Response to a unit step."}
        open_loop = f"of the loop gain at {loop.motor}, with its margins."
        return {
            "bode": "Bode plot." if self.inputs or self.outputs else f"Bode plot {open_loop}",
            "nyquist": f"Nyquist plot {open_loop}",
            "step": "Response of the closed loop to a unit step.",
            "root_locus": "Poles of the closed loop while a gain changes.",
        }

    def draw(self, figure: str, path: Path | None = None) -> Figure:
        """One of the figures, written to the path if there is one."""
        from .. import plots

        loop, names = self.loop, (self.inputs or "", self.outputs or "")
        if figure == "nyquist" and loop is not None:
            return plots.plot_nyquist(loop, path=path)
        if figure == "root_locus" and self.law is not None:
            period = self.model.period or None
            return plots.plot_root_locus(self.model.robot, self.q, self.law, period=period, path=path)
        if figure == "step":
            return plots.plot_step(self.model, *names, path=path)
        return plots.plot_bode(self.model if any(names) or loop is None else loop, *names, path=path)


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
