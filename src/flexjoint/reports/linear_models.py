"""Linear systems in a report: poles, stability margins, and figures of their responses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..analysis.linear_model import ROUNDING, LinearModel
from ..analysis.margins import LoopGain
from ..plots.linear_systems import plot_bode, plot_nyquist, plot_step
from ..tables import Table
from .content import Content, content_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@content_of.register
def linear_content(model: LinearModel) -> Content:
    """What a report shows of a LinearModel."""
    verdict = "unstable" if not model.stable else "stable" if decays(model) else "marginally stable"
    text = f"{model.robot.name}: {len(model.states)} states, {verdict}"
    return Content(
        f"Linear model of {model.robot.name}",
        [text, pole_table(model)],
        {"Bode plot.": partial(plot_bode, model), "Response to a unit step.": partial(plot_step, model)},
        model.robot,
        {"period, s": model.period or "continuous time", "states": ", ".join(model.states)},
    )


@content_of.register
def loop_content(loop: LoopGain) -> Content:
    """What a report shows of a LoopGain: its margins with the poles of the closed loop."""
    text, poles = linear_content(loop.closed).shown
    return Content(
        f"Loop gain of {loop.closed.robot.name} at {loop.motor}",
        [text, margin_table([loop]), poles],
        loop_figures(loop),
        loop.closed.robot,
        {"period, s": loop.closed.period or "continuous time", "motor": loop.motor},
    )


def loop_figures(loop: LoopGain) -> dict[str, partial[Figure]]:
    """Figures of a loop gain by caption."""
    where = f"of the loop gain at {loop.motor}, with its margins."
    return {f"Bode plot {where}": partial(plot_bode, loop), f"Nyquist plot {where}": partial(plot_nyquist, loop)}


def decays(model: LinearModel) -> bool:
    """Whether all poles lie to the left of the imaginary axis, by more than rounding."""
    return bool((model.poles.real < -ROUNDING * model.frequencies.max(initial=0.0)).all())


def pole_table(model: LinearModel) -> Table:
    """Poles, frequencies and damping ratios; one row per conjugate pair."""
    least = ROUNDING * model.frequencies.max(initial=0.0)
    rows = []
    for pole, size, damping in zip(model.poles, model.frequencies, model.damping):
        if pole.imag >= 0:
            real = pole.real if abs(pole.real) > least else 0.0
            text = f"{real:.4g} ± {pole.imag:.4g}i" if pole.imag > least else f"{real:.4g}"
            size = size if size > least else 0.0
            rows.append([text, f"{size:.4g}", f"{size / (2 * math.pi):.4g}", f"{damping if real else 0:.3g}"])
    headings = ["pole, 1/s", "frequency, rad/s", "Hz", "damping ratio"]
    return Table(headings, rows, "poles", numbers=headings)


def margin_table(loops: Sequence[LoopGain]) -> Table:
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
