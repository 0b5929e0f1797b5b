"""Figure of a recorded motion: what was recorded, what a filter removes, spectra, and the torque error by cutoff."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError, shown
from ..trajectory import RecordAssessment
from ..trajectory.filter_trial import rms, scale
from ..types import FloatArray
from .figures import (
    BLUE,
    GREEN,
    GREY,
    MOST_POINTS,
    ORANGE,
    check_plot_path,
    literal,
    shortened,
    shown_units,
    tidy,
    write_figure,
    write_name,
    write_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FLOOR = 1e-3  # of the noise floor: the lowest density shown


def plot_record(found: RecordAssessment, path: str | os.PathLike[str] | None = None) -> Figure:
    """Figure of a recorded motion: positions, what the filter removes, spectra with noise and cutoff, torque errors.

    Args:
        found: What `assess_record` returns.
        path: File to write, .png, .pdf or .svg; by default none.

    Returns:
        The matplotlib Figure, one row per joint; the last row shows the torque error by cutoff.

    Raises:
        InputError: `found` is no RecordAssessment, or no file can be written there.
    """
    place = check_plot_path(path)
    if not isinstance(found, RecordAssessment):
        raise InputError(f"plot_record: found is {shown(found)}; give what assess_record returns")
    from matplotlib.figure import Figure

    robot, record = found.robot, found.record
    height = 3.6 + 1.3 * robot.n
    figure = Figure(figsize=(12.0, height), layout="constrained")
    grid = figure.add_gridspec(robot.n + 1, 3, height_ratios=[1.0] * robot.n + [1.6])
    t = record.times - record.first_time
    step = max(1, t.size // MOST_POINTS)
    with np.errstate(all="ignore"):
        smooth = found.filtered(np.clip(t, 0.0, found.filtered.duration), 0)[0]
    labels, factors = shown_units(robot)
    for i, joint in enumerate(robot.joints):
        position, removed, spectrum = (figure.add_subplot(grid[i, k]) for k in range(3))
        write_name(position, joint.name)
        position.plot(t[::step], factors[i] * record.positions[::step, i], color=GREY, linewidth=1.0, label="recorded")
        position.plot(t[::step], factors[i] * smooth[::step, i], color=BLUE, linewidth=1.2, label="filtered")
        removed.plot(
            t[::step], factors[i] * (record.positions - smooth)[::step, i], color=ORANGE, linewidth=0.6, label="removed"
        )
        for axis in (position, removed):
            tidy(axis)
            if len(set(labels)) > 1:
                write_unit(axis, labels[i])
        draw_spectrum(spectrum, found, t, smooth, i)
        if i == 0:
            unit = f", {labels[0]}" if len(set(labels)) == 1 else ""
            position.set_title(f"position{unit}")
            removed.set_title(f"what the filter removes{unit}")
            spectrum.set_title("amplitude density, rad/√Hz or m/√Hz")
        for axis in (position, removed, spectrum):
            axis.tick_params(labelbottom=i == robot.n - 1)
    for axis, label in zip((position, removed, spectrum), ("time, s", "time, s", "frequency, Hz")):
        axis.set_xlabel(label)
    draw_errors(figure.add_subplot(grid[robot.n, :]), found)
    drawn = dict(zip(*reversed(position.get_legend_handles_labels())))
    drawn |= dict(zip(*reversed(spectrum.get_legend_handles_labels())))
    figure.legend([*drawn.values()], [*drawn], loc="outside lower center", ncols=len(drawn), frameon=False, fontsize=9)
    state = "noisy" if found.noisy else "clean"
    figure.suptitle(literal(f"{shortened(robot.name)}: a {state} record of {t[-1]:g} s, cutoff {found.cutoff:g} Hz"))
    return write_figure(figure, place)


def draw_spectrum(axis: Axes, found: RecordAssessment, t: FloatArray, smooth: FloatArray, i: int) -> None:
    """Spectra of joint i as recorded and filtered, with the noise floor and the cutoff."""
    rate = (t.size - 1) / t[-1]
    floor = found.level.sigma[i] * (2.0 / rate) ** 0.5
    for x, colour, label in ((found.record.positions, GREY, "recorded"), (smooth, BLUE, "filtered")):
        f, density = amplitude_density(t, x[:, i])
        axis.loglog(f, np.maximum(density, FLOOR * floor or 1e-20), color=colour, linewidth=0.8, label=label)
    if floor:
        axis.axhline(floor, color=GREEN, linewidth=1.0, label="noise level")
    axis.axvline(found.cutoff, color=ORANGE, linestyle="--", linewidth=1.0, label="cutoff")
    axis.grid(alpha=0.3)


def amplitude_density(t: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Frequencies, in Hz, and amplitude density of a record without the line from its start to its end."""
    even = np.linspace(t[0], t[-1], t.size)
    y = np.interp(even, t, x)
    y = y - y[0] - (y[-1] - y[0]) * (even - even[0]) / (even[-1] - even[0])
    window = np.blackman(t.size)
    rate = (t.size - 1) / (t[-1] - t[0])
    density = np.abs(np.fft.rfft(window * y)) * (2.0 / (rate * np.sum(window**2))) ** 0.5
    return np.fft.rfftfreq(t.size, 1 / rate)[1:], density[1:]


def draw_errors(axis: Axes, found: RecordAssessment) -> None:
    """Torque error relative to the torque, root mean square over the motors, by cutoff: noise, bias and both."""
    trials = [x for x in found.trials if np.all(np.isfinite(x.total))]
    cutoffs = [x.cutoff for x in trials]
    size = scale(found.best.torque)
    for name, colour, style in (("noise", GREEN, ":"), ("bias", ORANGE, ":"), ("total", BLUE, "-")):
        share = [100 * float(rms(getattr(x, name) / size)) for x in trials]
        label = {"noise": "noise that passes", "bias": "motion removed", "total": "both"}[name]
        points = [(x, y) for x, y in zip(cutoffs, share) if y > 0]
        if points:
            axis.loglog(*np.array(points).T, color=colour, linestyle=style, marker="o", markersize=3, label=label)
    axis.axvline(found.cutoff, color=ORANGE, linestyle="--", linewidth=1.0)
    axis.set(xlabel="cutoff, Hz", ylabel="torque error, % of torque")
    axis.grid(alpha=0.3, which="both")
    axis.legend(frameon=False, fontsize=9)
