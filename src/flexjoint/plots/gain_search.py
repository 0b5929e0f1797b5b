"""Figure of a gain search: a curve over one gain, a heat map over two."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..studies import GainSearch
from ..types import FloatArray
from .figures import BLUE, LIMIT, check_plot_path, drawn_into, name_text, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WRITTEN = 150  # cells of a heat map that have their numbers written into them
CURVE = 5  # shortest ratio of the ends of a grid that is drawn on a logarithmic axis


def plot_gain_search(
    search: GainSearch, path: str | os.PathLike[str] | None = None, *, ax: Axes | None = None
) -> Figure:
    """Figure of the objective over the gains: a curve with its interval, or a heat map.

    Args:
        search: What `gain_search` returns.
        path: File to write, .png, .pdf or .svg; by default none.
        ax: Axes to draw into; by default new ones.

    Returns:
        The matplotlib Figure.  Of more than two gains with several values the heat map is over the first two, the
        others have their best values.  A cross marks gains whose objective is infinite: too many runs diverge.

    Raises:
        InputError: The path has another suffix or no file can be written there.
    """
    place = check_plot_path(path)
    shown = [k for k, x in enumerate(search.grid.values()) if len(x) > 1][:2] or [0]
    names, values = list(search.grid), [*search.grid.values()]
    others = tuple(slice(None) if k in shown else best for k, best in enumerate(search.place))
    figure, axis = drawn_into(ax, (7.2, 4.2 if len(shown) == 1 else 1.9 + 0.42 * len(values[shown[1]])))
    draw = curve if len(shown) == 1 else heat_map
    draw(axis, search, [values[k] for k in shown], others)
    axis.set_xlabel(name_text(names[shown[0]]))
    if len(shown) == 2:
        axis.set_ylabel(name_text(names[shown[1]]))
    best = ", ".join(f"{name_text(name)} = {x:.5g}" for name, x in search.best.items())
    axis.set_title(f"{name_text(search.robot.name)}, {search.samples} robots\nbest: {best}", loc="left", fontsize=10)
    return write_figure(figure, place)


def objective_label(search: GainSearch) -> str:
    """The objective with its unit."""
    unit = f", {search.unit}" if search.unit and search.level is not None else ""
    return f"{name_text(search.aim, 60)}{unit}"


def curve(axis: Any, search: GainSearch, values: list[FloatArray], others: tuple[Any, ...]) -> None:
    """The objective over one gain, with its interval."""
    order = np.argsort(values[0])
    x = values[0][order]
    y, low, high = (array[others][order] for array in (search.objective, search.low, search.high))
    known = np.isfinite(y)
    top = np.where(np.isfinite(high), high, y)
    axis.fill_between(x[known], low[known], top[known], color=BLUE, alpha=0.15, linewidth=0)
    axis.plot(x[known], y[known], "o-", color=BLUE, markersize=4)
    k = int(np.nanargmin(y))
    axis.plot(x[k], y[k], "*", color=LIMIT, markersize=11)
    for k, bad in enumerate(x[~known]):
        label = "too many runs diverge" if k == 0 else None
        axis.axvline(bad, color=LIMIT, linestyle=":", linewidth=1.0, label=label)
    if not np.all(known):
        axis.legend(frameon=False, fontsize=9)
    if x[0] > 0 and x[-1] > CURVE * x[0]:
        axis.set_xscale("log")
    axis.set_ylabel(f"{objective_label(search)}\nwith {100 * search.confidence:g} % interval")
    axis.grid(alpha=0.3)


def heat_map(axis: Any, search: GainSearch, values: list[FloatArray], others: tuple[Any, ...]) -> None:
    """The objective over two gains, one cell per pair."""
    orders = [np.argsort(x) for x in values]
    cells = search.objective[others][np.ix_(*orders)].T
    picture = axis.pcolormesh(np.where(np.isfinite(cells), cells, np.nan), cmap="viridis_r", edgecolors="face")
    bar = axis.get_figure().colorbar(picture, ax=axis, label=objective_label(search))
    bar.solids.set_rasterized(False)
    for k, set_ticks in enumerate((axis.set_xticks, axis.set_yticks)):
        set_ticks(np.arange(len(values[k])) + 0.5, [f"{x:.4g}" for x in values[k][orders[k]]])
    middle = np.nanmean([*picture.get_clim()])
    for (i, j), x in np.ndenumerate(cells):
        if not np.isfinite(x):
            axis.text(j + 0.5, i + 0.5, "×" if np.isinf(x) else "", ha="center", va="center", color=LIMIT, fontsize=12)
        elif cells.size <= WRITTEN:
            colour = "white" if x > middle else "black"
            axis.text(j + 0.5, i + 0.5, f"{x:.3g}", ha="center", va="center", fontsize=8, color=colour)
    place = [search.place[k] for k, x in enumerate(search.grid.values()) if any(x is y for y in values)]
    column, row = (int(np.flatnonzero(order == k)[0]) for order, k in zip(orders, place))
    from matplotlib.patches import Rectangle

    axis.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=LIMIT, linewidth=2.5, clip_on=False))
