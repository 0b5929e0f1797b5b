"""Panels over time with one row per joint, each row with its own scale; limits of the robot and what exceeds them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..robot import Robot
from ..trajectory.limits import ROUNDING, LimitedQuantity, limited_quantities
from ..types import FloatArray
from .figures import BLUE, LIMIT, MOST_POINTS, name_text, shown_units
from .joint_rows import JointRows, drawn_in, heading_of, tidy, write_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_COLUMNS = 4  # of a figure in a page
NEAR_LIMIT = 0.5  # share of a limit: closer curves show it
EDGES = (0.05, 0.5, 0.95)
BAND = "5 to 95 % of the runs"


class Curve(NamedTuple):
    """One more curve per joint in a panel; `values` is (m, n), `limits` (2, n) if the curve has some."""

    label: str
    values: FloatArray
    colour: str
    style: str = "-"
    limits: FloatArray | None = None


class Shade(NamedTuple):
    """A shaded band `values` ± `width`, both (m, n)."""

    label: str
    values: FloatArray
    width: FloatArray
    colour: str
    alpha: float


class Bounded(NamedTuple):
    """A curve (m,) with its lower and upper limit."""

    values: FloatArray
    lower: float
    upper: float


class Panel(NamedTuple):
    """One column of a figure: title, unit per joint, main curve (m, n); more curves, a band, shades, limits."""

    title: str
    units: Sequence[str]
    values: FloatArray
    colour: str = BLUE
    label: str = ""
    others: Sequence[Curve] = ()
    band: FloatArray | None = None  # (2, m, n): lower and upper edge
    shades: Sequence[Shade] = ()
    limits: FloatArray | None = None  # (2, n): lower and upper limit, drawn dashed where a curve comes near

    @property
    def heading(self) -> str:
        """The title, with the unit if all joints have the same."""
        return heading_of(self.title, self.units)

    @property
    def mixed(self) -> bool:
        """Whether joints have different units."""
        return len(set(self.units)) > 1

    def largest(self, joint: int) -> float:
        """Largest absolute value of the joint's curves, or of its shades if the curves are zero; 0 without any."""
        curves = [self.values, *(curve.values for curve in self.others)]
        shown = curves if np.any(self.values) else [shade.width for shade in self.shades] or curves
        return float(np.nan_to_num(np.abs([x[:, joint] for x in shown])).max())

    def bounded(self, joint: int) -> list[Bounded]:
        """Curves of the joint that have limits, edges of its band too."""
        edges = () if self.band is None else self.band
        pairs = [(x, self.limits) for x in (self.values, *edges)]
        pairs += [(curve.values, curve.limits) for curve in self.others]
        return [Bounded(x[:, joint], float(y[0, joint]), float(y[1, joint])) for x, y in pairs if y is not None]


def panel_figure(robot: Robot, t: FloatArray, shown: Sequence[Panel], title: str) -> Figure:
    """A figure with one row per joint and one column per panel, and a legend of the curves that have labels.

    Panels that are zero at all joints and times are left out, except the first.

    Args:
        robot: The robot.
        t: Times (m,), s.
        shown: The panels.
        title: What the figure shows, without the name of the robot.
    """
    shown = not_zero(robot, shown)
    step = max(1, t.size // MOST_POINTS)
    rows = JointRows([joint.name for joint in robot.joints], len(shown))
    for i, row in enumerate(rows.axes):
        for axis, panel in zip(row, shown):
            if not panel.largest(i) and panel is not shown[0]:
                axis.set_axis_off()  # a joint without this quantity, such as the deflection of a rigid one
                continue
            if panel.mixed:
                write_unit(axis, panel.units[i])
            draw(axis, t, panel, i, step)
            tidy(axis)
            if not panel.largest(i):
                axis.set(ylim=(-1, 1), yticks=[0])
    below = ["time, s"] * len(shown)
    title = f"{name_text(robot.name)}: {title}"
    return rows.finish(title, [x.heading for x in shown], below, drawn_in(rows.axes))


def not_zero(robot: Robot, shown: Sequence[Panel]) -> list[Panel]:
    """The panels that are not zero at all joints and times, and the first."""
    return [x for k, x in enumerate(shown) if k == 0 or any(x.largest(i) for i in range(robot.n))]


def page_figures(
    robot: Robot, t: FloatArray, shown: Sequence[Panel], title: str, caption: str
) -> dict[str, Callable[[], Figure]]:
    """Functions that draw figures of at most four panels, by caption, for pages that show them side by side."""
    shown = not_zero(robot, shown)
    count = math.ceil(len(shown) / MOST_COLUMNS)
    edges = [round(k * len(shown) / count) for k in range(count + 1)]
    captions = [caption, *(f"{caption} Continued, {k}." for k in range(2, count + 1))]
    parts = [shown[a:b] for a, b in pairwise(edges)]
    return {text: partial(panel_figure, robot, t, part, title) for text, part in zip(captions, parts)}


def draw(axis: Axes, t: FloatArray, panel: Panel, i: int, step: int) -> None:
    """Draw the curves of joint i, every `step`-th sample."""
    now = t[::step]
    if panel.band is not None:
        axis.fill_between(now, *panel.band[:, ::step, i], color=panel.colour, alpha=0.25, linewidth=0, label=BAND)
    for shade in panel.shades:
        lower, upper = ((shade.values + sign * shade.width)[::step, i] for sign in (-1, 1))
        axis.fill_between(
            now, lower, upper, label=shade.label or None, color=shade.colour, alpha=shade.alpha, linewidth=0
        )
    axis.plot(now, panel.values[::step, i], color=panel.colour, linewidth=1.4, label=panel.label or None, zorder=3)
    for curve in panel.others:
        if np.any(np.isfinite(curve.values[:, i])):
            above = 2 if curve.style == "-" else 4  # a dashed curve stays visible on a solid one
            style: dict[str, Any] = {"color": curve.colour, "linestyle": curve.style, "linewidth": 1.2}
            axis.plot(now, curve.values[::step, i], label=curve.label or None, zorder=above, **style)
    draw_limits(axis, t, panel, i, step)


# Limits -------------------------------------------------------------------------------------------------------------


def draw_limits(axis: Axes, t: FloatArray, panel: Panel, i: int, step: int) -> None:
    """Draw the limits of joint i that a curve comes near, and mark samples beyond them."""
    found = panel.bounded(i)
    for limit in sorted({y for x in found for y in near_limits(*x)}):
        axis.axhline(limit, color=LIMIT, linestyle=(0, (5, 3)), linewidth=1.0, zorder=1, label="limit")
    for side, farthest in (("lower", np.fmin), ("upper", np.fmax)):
        for limit in {getattr(x, side) for x in found if math.isfinite(getattr(x, side))}:
            curves = [x.values for x in found if getattr(x, side) == limit]
            edge: FloatArray = farthest.reduce([np.full(t.shape, limit), *curves])
            beyond = np.abs(edge - limit)
            k = int(beyond.argmax())
            if beyond[k] > ROUNDING * abs(limit):
                style: dict[str, Any] = {"color": LIMIT, "alpha": 0.3, "linewidth": 0, "zorder": 2}
                axis.fill_between(t[::step], limit, edge[::step], label="beyond a limit", **style)
                axis.plot(t[k], edge[k], "o", color=LIMIT, markersize=4, zorder=5)  # a short peak is too thin to see


def near_limits(values: FloatArray, lower: float, upper: float) -> list[float]:
    """The limits that a curve comes near."""
    values = values[np.isfinite(values)]
    if not values.size:
        return []
    found = [lower] if math.isfinite(lower) and values.min() <= lower + NEAR_LIMIT * abs(lower) else []
    return [*found, upper] if math.isfinite(upper) and values.max() >= upper - NEAR_LIMIT * abs(upper) else found


def limits_of(robot: Robot, name: str, factors: FloatArray | float = 1.0) -> FloatArray | None:
    """Lower and upper limits of a quantity of `limited_quantities` per joint, (2, n), in shown units; None without."""
    quantity = limited_quantities(robot).get(name)
    return None if quantity is None else bounds(quantity)[:, : robot.n] * factors


def second_limits(robot: Robot, name: str, factors: FloatArray | float = 1.0) -> FloatArray | None:
    """Limits of second motors per joint, (2, n); infinite where a joint has none; None without any limit."""
    quantity = limited_quantities(robot).get(name)
    if quantity is None or len(quantity.upper) == robot.n:
        return None
    found = np.tile([[-math.inf], [math.inf]], robot.n)
    beside = second_motors(robot)
    found[:, list(beside.values())] = bounds(quantity)[:, list(beside)]
    return found * factors


def bounds(quantity: LimitedQuantity) -> FloatArray:
    """Lower and upper limits, (2, columns)."""
    return np.stack([quantity.lower, quantity.upper])


def exceeded_panels(robot: Robot, values: Mapping[str, FloatArray], shown: Sequence[str]) -> list[Panel]:
    """One panel per quantity beyond its limit that no other panel shows.

    Args:
        robot: The robot.
        values: Of the quantities whose limits are exceeded, (..., m, columns) by name, SI units.
        shown: Names of the quantities that have a panel.
    """
    found = []
    for name, quantity in limited_quantities(robot).items():
        given = values.get(name)
        if given is None or name in shown or np.any(np.isinf(given)):  # the jerk of a motion that has none
            continue
        units, factors = quantity.units(robot)[: robot.n], np.ones(robot.n)
        if name == "position":
            units, factors = shown_units(robot)
        first, *second = (x * factors for x in at_joints(robot, given))
        limits = limits_of(robot, name, factors), second_limits(robot, name, factors)
        found.append(batch_panel(name, units, first, BLUE, second, *limits))
    return found


# Batches and second motors ------------------------------------------------------------------------------------------


def batch_panel(
    title: str,
    units: Sequence[str],
    values: FloatArray,
    colour: str,
    others: Sequence[FloatArray] = (),
    limits: FloatArray | None = None,
    other_limits: FloatArray | None = None,
) -> Panel:
    """Panel of one run, or of the median and band of a batch; `others` are the curves of second motors."""
    middle, band = middle_and_band(values)
    further = [Curve("", middle_and_band(x)[0], colour, ":", other_limits) for x in others]
    return Panel(title, units, middle, colour, others=further, band=band, limits=limits)


def middle_and_band(values: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """A run unchanged; for a batch the median (m, n) and the band (2, m, n)."""
    if values.ndim == 2:
        return values, None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        low, middle, high = np.nanquantile(values.reshape(-1, *values.shape[-2:]), EDGES, axis=0)
    return middle, np.stack([low, high])


def at_joints(robot: Robot, values: FloatArray) -> list[FloatArray]:
    """Values per joint; of motors those of first motors, then of second ones, NaN where a joint has none."""
    beside = second_motors(robot)
    if not beside or values.shape[-1] == robot.n:
        return [values[..., : robot.n]]
    second = np.full((*values.shape[:-1], robot.n), np.nan)
    second[..., list(beside.values())] = values[..., list(beside)]
    return [values[..., : robot.n], second]


def second_motors(robot: Robot) -> dict[int, int]:
    """Joint of each second motor whose position counts from the link, by motor."""
    pairs: list[tuple[int, Any]] = [(i, robot.joints[i].drive) for i in robot.motor_joints[robot.n :]]
    return {k: i for k, (i, drive) in enumerate(pairs, robot.n) if drive.follows}
