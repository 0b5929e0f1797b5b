"""Figure of the poles of a controlled robot while a gain changes: a root locus."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..analysis.linearization import linearize
from ..control.base import Controller
from ..errors import InputError, listed
from ..robot import Robot
from .figures import GREY, ORANGE, check_plot_path, drawn_into, name_text, write_figure
from .linear_systems import ascending

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_root_locus(
    robot: Robot,
    state: ArrayLike,
    controller: Controller,
    gain: str = "",
    factors: ArrayLike | None = None,
    period: float | None = None,
    path: str | os.PathLike[str] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Poles of a controlled robot while a gain of the controller changes.

    Args:
        robot: Any robot that can be simulated.
        state: The reference at which the loop rests, one number per column of the reference, rad or m.
        controller: A controller without estimator and sensors.
        gain: Name of the gain that changes, at all joints, such as "K_D"; default all gains.
        factors: Factors (m,) on this gain; default 41 of them from 0.1 to 10.
        period: Sampling period of the controller, s; by default the law acts continuously.
        path: File to write, .png, .pdf or .svg; by default none.
        ax: Axes to draw into; default a new figure.

    Returns:
        The matplotlib Figure.  Poles with the given gains are circles; unstable ones lie to the right of the line.

    Raises:
        InputError: There is no such gain, or no file can be written there.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> law = fj.control.MotorPD(robot, [500.0, 50.0])
        >>> figure = fj.plots.plot_root_locus(robot, [0.2, 0.5, -0.4], law, "K_D")
    """
    from matplotlib.ticker import FixedLocator, NullLocator

    place = check_plot_path(path)
    names = controller.gain_names
    if gain and gain not in names:
        raise InputError(f"plot_root_locus: {type(controller).__name__} has no gain '{gain}'; it has {listed(names)}")
    scale = np.geomspace(0.1, 10, 41) if factors is None else ascending("plot_root_locus", factors)
    rows = np.array([[not gain or name == gain] for name in names])
    figure, axis = drawn_into(ax, (7.2, 5.4))
    found = []
    for factor in scale:
        scaled: Any = replace(controller, gains=np.where(rows, factor, 1.0) * controller.gains)  # type: ignore[type-var]
        found.append(linearize(robot, state, controller=scaled, period=period).poles)
    poles, own = np.array(found), linearize(robot, state, controller=controller, period=period).poles
    drawn = axis.scatter(
        poles.real, poles.imag, c=np.repeat(np.log10(scale)[:, None], poles.shape[1], 1), s=8, cmap="viridis"
    )
    axis.scatter(own.real, own.imag, s=36, facecolors="none", edgecolors=ORANGE, label="given gains")
    bar = figure.colorbar(drawn, ax=axis)
    bar.set_label(f"log₁₀ of the factor on {gain or 'all gains'}")
    axis.axvline(0.0, color=GREY, linewidth=0.8)
    reach = np.abs(own[np.isfinite(own)]).max(initial=1.0)
    widest = float(np.nanmax(np.abs(poles)))
    near = 10.0 ** (math.floor(math.log10(reach)) - 3)  # linear up to here
    for scale_of, one in ((axis.set_xscale, axis.xaxis), (axis.set_yscale, axis.yaxis)):
        scale_of("symlog", linthresh=near, linscale=0.3)
        one.set_major_locator(FixedLocator(decades(near, widest)))
        one.set_minor_locator(NullLocator())
    axis.set(xlabel="real part, 1/s", ylabel="imaginary part, rad/s")
    highest = 2 * max(float(np.nanmax(np.abs(poles.imag))), near)
    axis.set_ylim(-highest, highest)
    axis.set_xlim(right=max(3 * poles.real.max(), 3e-3 * reach))
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, fontsize=9)
    axis.set_title(f"{name_text(robot.name)}: poles under {type(controller).__name__}")
    return write_figure(figure, place)


def decades(near: float, far: float) -> list[float]:
    """Ticks of a scale that is linear up to `near` and logarithmic beyond: 0, and powers of ten of both signs."""
    count = max(1, math.ceil(math.log10(max(far, near) / near)) + 1)
    found = [near * 10.0**k for k in range(1, count + 1, max(1, count // 4))]
    return [*(-x for x in reversed(found)), 0.0, *found]
