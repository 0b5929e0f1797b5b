"""Figures of linear systems: Bode and Nyquist plots with their margins, step responses."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..analysis.linear_model import LinearModel, Names, chosen
from ..analysis.margins import LoopGain, Margins, sweep
from ..checks import duration as checked_duration, finite
from ..errors import InputError, shown
from ..types import ComplexArray, FloatArray
from .figures import CURVES, GREY, LONGEST, ORANGE, check_plot_path, drawn_into, name_text, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CURVES = len(CURVES)
SIGNAL = LONGEST + len("reference.")  # characters of the name of a signal of a joint
GROWTH = 5  # time constants of the fastest growing pole: length of an unstable step response
TIME_CONSTANTS = 8  # of the slowest pole: length of a step response


def plot_bode(
    system: LinearModel | LoopGain,
    inputs: Names = "",
    outputs: Names = "",
    omega: ArrayLike | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Bode plot: magnitude and phase over frequency, one curve per input and output.

    Args:
        system: What `linearize` returns, or the loop gain of `loop_gain`, whose margins are marked.
        inputs: A name, a pattern such as "tau.*", or a list of them; default the first motor.  Not of a loop gain.
        outputs: Likewise; default the position of the first joint.  Not of a loop gain.
        omega: Frequencies (m,), rad/s, ascending; default around the poles, of a sampled loop up to π/period.
        path: File to write, .png, .pdf or .svg; by default none.

    Returns:
        The matplotlib Figure.

    Raises:
        InputError: A name matches nothing, there are more than 8 curves, or no file can be written there.

    Example:
        >>> import flexjoint as fj
        >>> model = fj.analysis.linearize(fj.load("hua_3r"), [0.2, 0.5, -0.4])
        >>> figure = fj.plots.plot_bode(model, "tau.joint3", ["q.joint3", "theta.joint3"])
    """
    place = check_plot_path(path)
    from matplotlib.figure import Figure
    from matplotlib.ticker import MultipleLocator

    model = model_of(system)
    w = frequencies(system) if omega is None else ascending("plot_bode", omega)
    figure = Figure(figsize=(7.2, 5.6), layout="constrained")
    magnitude, phase = figure.subplots(2, 1, sharex=True)
    for (label, response), colour in zip(responses(system, inputs, outputs, w), CURVES):
        magnitude.plot(w, np.abs(response), color=colour, linewidth=1.4, label=label)
        angles = np.degrees(unwrapped(response))
        phase.plot(w, angles, color=colour, linewidth=1.4)
    if isinstance(system, LoopGain):
        mark_margins(system, system.margins(), magnitude, phase)
    magnitude.set(xscale="log", yscale="log", ylabel="magnitude")
    phase.set(xscale="log", ylabel="phase, °", xlabel="frequency, rad/s", xlim=(w[0], w[-1]))
    phase.yaxis.set_major_locator(MultipleLocator(phase_step(*phase.get_ylim())))
    for axis in (magnitude, phase):
        axis.grid(alpha=0.3, which="both")
    legend_below(figure, magnitude)
    figure.suptitle(title_of(model, system))
    return write_figure(figure, place)


def plot_nyquist(
    loop: LoopGain, omega: ArrayLike | None = None, path: str | os.PathLike[str] | None = None, ax: Axes | None = None
) -> Figure:
    """Nyquist plot of a loop gain L(iω) around −1, for ω > 0 and, dashed, ω < 0; its margins are marked.

    Outside the circle of radius 3 the curve is drawn at the radius 3 + log(|L|/3), so that resonances stay visible.

    Args:
        loop: What `loop_gain` returns.
        omega: Frequencies (m,), rad/s, ascending; default around the poles.
        path: File to write, .png, .pdf or .svg; by default none.
        ax: Axes to draw into; default a new figure.

    Returns:
        The matplotlib Figure.

    Raises:
        InputError: The argument is no LoopGain, or no file can be written there.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> loop = fj.analysis.loop_gain(robot, [0.2, 0.5, -0.4], fj.control.MotorPD(robot, [500.0, 50.0]), "joint3")
        >>> figure = fj.plots.plot_nyquist(loop)
    """
    place = check_plot_path(path)
    if not isinstance(loop, LoopGain):
        raise InputError(
            f"plot_nyquist: loop is {shown(loop)}; give fj.analysis.loop_gain(robot, q, controller, motor)"
        )
    w = loop.frequencies() if omega is None else ascending("plot_nyquist", omega)
    figure, axis = drawn_into(ax, (6.0, 6.0))
    L, margins = compressed(loop(w)), loop.margins()
    axis.plot(L.real, L.imag, color=CURVES[0], linewidth=1.4, label="L(iω)")
    axis.plot(L.real, -L.imag, color=CURVES[0], linewidth=1.0, linestyle="--", label="L(−iω)")
    turn = np.exp(1j * np.linspace(0, 2 * math.pi, 181))
    axis.plot(turn.real, turn.imag, color=GREY, linewidth=0.8, linestyle=":")
    axis.plot(-1 + margins.modulus * turn.real, margins.modulus * turn.imag, color=ORANGE, linewidth=0.8)
    axis.plot([-1], [0], color=ORANGE, marker="+", markersize=10, linestyle="none", label="−1")
    axis.set(xlabel="real part", ylabel="imaginary part", aspect="equal")
    axis.grid(alpha=0.3)
    if ax is None:
        figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    axis.set_title(f"{title_of(loop.opened, loop)}\n{margin_text(margins)}", fontsize=10)
    return write_figure(figure, place)


def plot_step(
    model: LinearModel,
    inputs: Names = "",
    outputs: Names = "",
    duration: float | None = None,
    path: str | os.PathLike[str] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Response to a unit step, one curve per input and output.

    Args:
        model: What `linearize` returns.
        inputs: A name, a pattern or a list of them; default the reference of the first joint under a controller,
            otherwise the first motor.
        outputs: Likewise; default the position of the first joint.
        duration: In s; default until the curves have settled.
        path: File to write, .png, .pdf or .svg; by default none.
        ax: Axes to draw into; default a new figure.

    Returns:
        The matplotlib Figure.

    Raises:
        InputError: A name matches nothing, there are more than 8 curves, or no file can be written there.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> law = fj.control.MotorPD(robot, [500.0, 50.0])
        >>> model = fj.analysis.linearize(robot, [0.2, 0.5, -0.4], controller=law)
        >>> figure = fj.plots.plot_step(model, "reference.joint3", ["q.joint3", "theta.joint3"])
    """
    place = check_plot_path(path)
    if not isinstance(model, LinearModel):
        raise InputError(f"plot_step: model is {shown(model)}; give fj.analysis.linearize(robot, q, ...)")
    ins, outs = names_of(model, inputs, outputs)
    end = settled(model, ins, outs) if duration is None else checked_duration("plot_step", "duration", duration)
    t = np.linspace(0.0, end, 1001)
    y = model.step(t, ins, outs)
    figure, axis = drawn_into(ax, (7.2, 4.2))
    pairs = [(o, i) for o in range(len(outs)) for i in range(len(ins))]
    for (o, i), colour in zip(limited(pairs), CURVES):
        style = "steps-post" if model.period else "default"
        axis.plot(t, y[:, o, i], color=colour, linewidth=1.4, label=label_of(outs[o], ins[i]), drawstyle=style)
    axis.set(xlabel="time, s", ylabel="response to a unit step", xlim=(0, end))
    axis.grid(alpha=0.3)
    if ax is None:
        legend_below(figure, axis)
    axis.set_title(title_of(model, model))
    return write_figure(figure, place)


# Parts --------------------------------------------------------------------------------------------------------------


def model_of(system: LinearModel | LoopGain) -> LinearModel:
    """The linear model of a system, or of a loop cut at its motor."""
    if isinstance(system, LoopGain):
        return system.opened
    if not isinstance(system, LinearModel):
        raise InputError(f"plot_bode: system is {shown(system)}; give fj.analysis.linearize(robot, q, ...)")
    return system


def names_of(model: LinearModel, inputs: Names, outputs: Names) -> tuple[list[str], list[str]]:
    """Names of inputs and outputs, by default one each."""
    joint = model.robot.joints[0].name
    reference = f"reference.{joint}"
    first = reference if reference in model.columns else f"tau.{model.inputs[0]}"
    return chosen(inputs or first, list(model.columns)), chosen(outputs or f"q.{joint}", list(model.rows))


def responses(
    system: LinearModel | LoopGain, inputs: Names, outputs: Names, w: FloatArray
) -> list[tuple[str, ComplexArray]]:
    """Label and frequency response of each curve."""
    if isinstance(system, LoopGain):
        if inputs or outputs:
            raise InputError("plot_bode: a loop gain has one input and one output; leave inputs and outputs out")
        return [(f"loop gain at {name_text(system.motor)}", system(w))]
    ins, outs = names_of(system, inputs, outputs)
    G = system.response(w, ins, outs)
    pairs = [(o, i) for o in range(len(outs)) for i in range(len(ins))]
    return [(label_of(outs[o], ins[i]), G[:, o, i]) for o, i in limited(pairs)]


def limited(pairs: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """The pairs; an InputError if there are more than a figure can show."""
    if len(pairs) > MOST_CURVES:
        raise InputError(
            f"there are {len(pairs)} curves, at most {MOST_CURVES} are drawn: give fewer inputs or outputs"
        )
    return pairs


def label_of(output: str, given: str) -> str:
    """Label of a curve."""
    return f"{name_text(output, SIGNAL)} / {name_text(given, SIGNAL)}"


def title_of(model: LinearModel, system: LinearModel | LoopGain) -> str:
    """Title of a figure."""
    loop = f", loop cut at {name_text(system.motor)}" if isinstance(system, LoopGain) else ""
    sampled = f", sampled every {model.period:g} s" if model.period else ""
    return f"{name_text(model.robot.name)}{loop}{sampled}"


def frequencies(system: LinearModel | LoopGain) -> FloatArray:
    """Frequencies that show a system."""
    w = system.frequencies() if isinstance(system, LoopGain) else sweep(system.frequencies, system.period)
    return w[(w >= 10 * w[0]) & (w <= w[-1] / (1 if model_of(system).period else 10))]


def ascending(name: str, values: ArrayLike) -> FloatArray:
    """At least two positive ascending numbers."""
    found = finite(name, "frequencies or factors", values)
    if found.ndim != 1 or found.size < 2 or found[0] <= 0 or np.any(np.diff(found) <= 0):
        raise InputError(f"{name}: give at least two positive ascending numbers, such as np.geomspace(1, 1000, 500)")
    return found


def unwrapped(response: ComplexArray) -> FloatArray:
    """Phase without jumps of 2π, beginning between −π and π."""
    angle = np.unwrap(np.angle(response))
    return angle - 2 * math.pi * np.round(angle[0] / (2 * math.pi))


def compressed(L: ComplexArray) -> ComplexArray:
    """Numbers with their magnitude beyond 3 drawn at 3 + log(|L|/3)."""
    size = np.maximum(np.abs(L), 1e-300)
    return np.where(size > 3, L / size * (3 + np.log(np.maximum(size, 3) / 3)), L)


def phase_step(low: float, high: float) -> float:
    """Distance of ticks of a phase, °: a fraction or a multiple of a quarter turn."""
    return next((x for x in (15, 30, 45, 90, 180, 360) if (high - low) / x <= 7), 90.0 * math.ceil((high - low) / 630))


def settled(model: LinearModel, inputs: Sequence[str], outputs: Sequence[str]) -> float:
    """1.5 times the duration after which all curves stay within 1 % of their span, s."""
    end = slowest(model)
    for _ in range(6):  # each look is finer, as the samples of a long one are far apart
        t = np.linspace(0.0, end, 1001)
        y = model.step(t, inputs, outputs)
        moving = np.abs(y - y[-1]) > 0.01 * np.ptp(y, axis=0)
        last = int(np.flatnonzero(moving.any(axis=(1, 2))).max(initial=0))
        if last > 500:
            break
        end = max(1.5 * float(t[last + 1]), 2 * model.period)
    return end


def slowest(model: LinearModel) -> float:
    """Duration that shows the slowest decaying pole, s; of undamped systems ten periods of the slowest mode.

    Of unstable systems it ends before their growth hides the beginning.
    """
    poles = model.poles
    least = 1e-6 * np.abs(poles).max(initial=0.0)
    if (growing := poles.real[poles.real > least]).size:
        return float(GROWTH / growing.max())
    decaying, moving = -poles.real[poles.real < -least], np.abs(poles.imag)[np.abs(poles.imag) > least]
    if decaying.size:
        return float(TIME_CONSTANTS / decaying.min())
    return float(20 * math.pi / moving.min()) if moving.size else 1.0


def margin_text(margins: Margins) -> str:
    """Margins in one line."""
    if not margins.stable:
        return "unstable"
    gains = f"×{margins.gain:.3g}" if math.isfinite(margins.gain) else "∞"
    phase = f"{math.degrees(margins.phase):.3g}°" if math.isfinite(margins.phase) else "∞"
    delay = f", delay {1e3 * margins.delay:.3g} ms" if math.isfinite(margins.delay) else ""
    return f"gain margin {gains}, phase margin {phase}{delay}, modulus {margins.modulus:.3g}"


def mark_margins(loop: LoopGain, margins: Margins, magnitude: Axes, phase: Axes) -> None:
    """Mark the crossovers of a loop gain."""
    magnitude.axhline(1.0, color=GREY, linewidth=0.8)
    magnitude.set_title(margin_text(margins), fontsize=10)
    for w in margins.gain_crossovers:
        for axis in (magnitude, phase):
            axis.axvline(w, color=ORANGE, linewidth=0.8, linestyle="--")
    for w in margins.phase_crossovers[margins.phase_crossovers > 0]:
        magnitude.plot([w, w], [1.0, abs(complex(loop(w)))], color=ORANGE, linewidth=1.4)
    for angle in (-180, 180):
        phase.axhline(angle, color=GREY, linewidth=0.8, linestyle=":")


def legend_below(figure: Figure, axis: Axes) -> None:
    """A legend outside the axes, in two columns where the labels are short; the figure grows with it."""
    drawn, labels = axis.get_legend_handles_labels()
    width, height = figure.get_size_inches()
    columns = 2 if max(map(len, labels)) < 5 * width else 1  # characters
    figure.set_size_inches(width, height + 0.2 * math.ceil(len(labels) / columns))
    figure.legend(drawn, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
