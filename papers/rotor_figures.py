"""Figures of [Hoepler sec. VI] and of its claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flexjoint.analysis.rotor_models import RotorComparison
from flexjoint.robot import Robot
from flexjoint.trajectory import Trajectory

from .report import BLUE, GREEN, RED, YELLOW, PaperFigure, new_figure, saved
from .rotor_couplings import Derivatives, Pattern

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 3  # joints in figures 4 and 5
COLOURS = (BLUE, RED, GREEN)
READINGS = {
    "geared": "rotors and rigid joints",
    "armature": "an armature in place of rotors",
    "no rotors": "no rotors, rigid joints",
}  # of what the paper calls the rigid model


def shaft_axis(robot: Robot, t: np.ndarray, title: str) -> tuple[Figure, Axes]:
    """A figure for motor torques over time: at the shaft on the left axis, after the reduction on the right axis."""
    figure, axis = new_figure(7.5, 4.2)
    eta = robot.gear_ratios[0]  # the same at all joints
    axis.set(title=title, xlabel="time, s", ylabel="τ/η, at the motor shaft, Nm", xlim=(t[0], t[-1]))
    right = axis.secondary_yaxis("right", functions=(lambda x: x * eta, lambda x: x / eta))
    right.set_ylabel("τ, after the reduction, Nm")
    return figure, axis


def torques_figure(folder: Path, robot: Robot, comparison: RotorComparison, motion: Trajectory) -> PaperFigure:
    """Figure 4."""
    figure, axis = shaft_axis(robot, comparison.t, "Fig. 4. Motor torques, elastic joints, complete model")
    shaft = comparison.torques["complete"] / robot.gear_ratios
    for i, colour in zip(range(SHOWN), COLOURS):
        axis.plot(comparison.t, shaft[:, i], color=colour, label=f"τ$_{i + 1}$")
    inset = axis.inset_axes((0.1, 0.14, 0.28, 0.36))
    inset.plot(comparison.t, motion(comparison.t, 0)[0, :, 0], color="black")
    inset.set(xlim=(0.0, comparison.t[-1]), ylabel="q$_i$, rad")
    inset.grid(alpha=0.3)
    caption = "Shaft torques of the first three motors, complete model; the inset shows the motion of every joint."
    return saved(figure, folder / "figure_4_torques.png", caption, "Fig. 4")


def difference_figure(folder: Path, robot: Robot, comparison: RotorComparison, model: str) -> PaperFigure:
    """Figure 5, for one reading of the rigid model."""
    figure, axis = shaft_axis(robot, comparison.t, f"Fig. 5. Elastic − rigid model ({READINGS[model]})")
    shaft = -comparison.errors[model] / robot.gear_ratios
    for i, colour in zip(range(SHOWN), COLOURS):
        axis.plot(comparison.t, shaft[:, i], color=colour, label=f"τ$_{i + 1}$")
    caption = f"Difference of the shaft torques to a rigid model: {READINGS[model]}. Note the scale of the axis."
    return saved(figure, folder / f"figure_5_{model.replace(' ', '_')}.png", caption, "Fig. 5")


def pattern_figure(folder: Path, pattern: Pattern) -> PaperFigure:
    """Figure of the elements of S, largest over random postures."""
    n = len(pattern.largest)
    figure, axis = new_figure(5.5, 4.5)
    axis.grid(visible=False)
    shown = np.ma.masked_equal(1e3 * pattern.largest, 0.0)
    image = axis.imshow(shown, cmap="viridis")
    figure.colorbar(image, ax=axis, label="largest |S$_{ij}$|, 10⁻³ kg m²")
    for i, j in np.argwhere(pattern.largest == 0):
        axis.text(j, i, "0", ha="center", va="center", color="gray")
    names = [str(k + 1) for k in range(n)]
    axis.set(title="S(q): zeros and sizes", xlabel="motor j", ylabel="link equation i")
    axis.set_xticks(range(n), names)
    axis.set_yticks(range(n), names)
    caption = (
        "Largest elements of S over random postures; 0 marks elements that are zero by structure. The first "
        "off-diagonal is empty, so 8 differentiations are enough."
    )
    return saved(figure, folder / "coupling.png", caption)


def growth_figure(folder: Path, comparison: RotorComparison) -> PaperFigure:
    """Figure of the largest difference of any joint, relative to its peak torque, over the speed."""
    figure, axis = new_figure(8.5, 4.0)
    styles = ((BLUE, "o-", 5), (GREEN, "s-", 2.5), (YELLOW, "o-", 2), (RED, "^:", 2))  # curves lie on each other
    for model, (colour, style, width) in zip((*READINGS, "Spong"), styles):
        worst = (comparison.growth[model] / comparison.peaks).max(axis=1)
        label = READINGS.get(model, "Spong's model, elastic")
        axis.plot(comparison.speeds, 100 * worst, style, color=colour, lw=width, ms=6, label=label)
    axis.set(xscale="log", yscale="log", xlabel="speed factor", ylabel="largest |Δτ|, % of the peak torque")
    axis.set(title="Largest difference to the complete elastic model")
    axis.set_xticks(comparison.speeds)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_major_formatter("{x:g}")
    axis.xaxis.minorticks_off()
    caption = (
        "Largest difference of any joint to the complete elastic model. Rigid joints cost more the faster the arm "
        "moves; the couplings that Spong's model leaves out cost the same share at every speed."
    )
    return saved(figure, folder / "growth_with_speed.png", caption)


def derivatives_figure(folder: Path, derivatives: Derivatives) -> PaperFigure:
    """Figure of the torque error without high derivatives of q."""
    figure, axis = new_figure(6.0, 3.6)
    axis.semilogy(list(derivatives.without), list(derivatives.without.values()), "o-", color=BLUE)
    axis.set(title="Torque error if derivatives of q beyond k are zero")
    axis.set(xlabel="k", ylabel="largest |Δτ|, of the peak torque")
    caption = "The model needs q to order 10, but along this motion the high derivatives hardly matter."
    return saved(figure, folder / "derivatives.png", caption)
