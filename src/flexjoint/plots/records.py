"""Figure of a recorded motion: what was recorded, what a filter removes, spectra, and the torque error by cutoff."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError, shown
from ..trajectory import RecordAssessment
from ..trajectory.filter_trial import rms, scale
from ..types import FloatArray
from .figures import BLUE, GREEN, GREY, MOST_POINTS, ORANGE, check_plot_path, name_text, shown_units, write_figure
from .joint_rows import JointRows, drawn_in, heading_of, tidy, write_unit

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
    robot, record = found.robot, found.record
    t = record.times - record.first_time
    step = max(1, t.size // MOST_POINTS)
    with np.errstate(all="ignore"):
        smooth = found.filtered(np.clip(t, 0.0, found.filtered.duration), 0)[0]
    labels, factors = shown_units(robot)
    rows = JointRows([*(joint.name for joint in robot.joints), "torque error"], 3, height=1.4, share=False)
    for i, (position, removed, spectrum) in enumerate(rows.axes[:-1]):
        recorded, filtered = (factors[i] * x[::step, i] for x in (record.positions, smooth))
        position.plot(t[::step], recorded, color=GREY, linewidth=1.0, label="recorded")
        position.plot(t[::step], filtered, color=BLUE, linewidth=1.2, label="filtered")
        removed.plot(t[::step], recorded - filtered, color=ORANGE, linewidth=0.6, label="removed")
        for axis in (position, removed):
            tidy(axis)
            if len(set(labels)) > 1:
                write_unit(axis, labels[i])
        draw_spectrum(spectrum, found, t, smooth, i)
        for axis in (position, removed, spectrum):
            axis.tick_params(labelbottom=i == robot.n - 1)
    legend = drawn_in(rows.axes)
    for axis, label in zip(rows.axes[-2], ("time, s", "time, s", "frequency, Hz")):
        axis.set_xlabel(label)
    for axis in rows.axes[-1]:
        axis.set_axis_off()
    errors = rows.figure.add_subplot(rows.axes[-1, 0].get_gridspec()[-1, :])
    draw_errors(errors, found)
    headings = [heading_of(x, labels) for x in ("position", "what the filter removes")]
    state = "noisy" if found.noisy else "clean"
    title = f"{name_text(robot.name)}: a {state} record of {t[-1]:g} s, cutoff {found.cutoff:g} Hz"
    figure = rows.finish(title, [*headings, "amplitude density, rad/√Hz or m/√Hz"], [""] * 3, legend)
    left, bottom, width, height = errors.get_position().bounds
    errors.set_position((left, bottom, width, 0.65 * height))  # the rest is for the labels of the row above
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
    axis.set_xlabel("cutoff, Hz")
    write_unit(axis, "% of the torque")
    axis.grid(alpha=0.3, which="both")
    axis.legend(frameon=False, fontsize=9, ncols=3, loc="lower right")
