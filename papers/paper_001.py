"""Reproduction of [Hoepler sec. VI]: figures 4 and 5, the structure of S, the orders, and all claims.

The paper gives only length, mass and stiffness of its robot; the other parameters are chosen (`catalog/dlr_lbr2.toml`).
For the motion it gives the step, 2 rad, the order of the filter, 16, and the time shown, 2.5 s; here the filter has 16
equal poles such that a thousandth of the step remains at the end.  The "rigid model" of the paper may be one of three:
rotors and rigid joints, armature and rigid joints, or "standard rigid-body" dynamics without rotors.  All are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from flexjoint.analysis.rotor_models import RotorComparison, compare_rotor_models, percent
from flexjoint.dynamics.drivetrain.orders import Orders, derivative_orders, superscript
from flexjoint.dynamics.inverse import inverse_dynamics
from flexjoint.formats import load
from flexjoint.robot import Robot
from flexjoint.trajectory import FilteredStep

from .operation_counts import counted
from .report import AS_SAID, Claim, Grid, Report, claim_grid, verdict
from .rotor_couplings import Derivatives, Pattern, coupling_pattern, derivatives_that_matter, general_arm, replay
from .rotor_figures import (
    READINGS,
    derivatives_figure,
    difference_figure,
    growth_figure,
    pattern_figure,
    torques_figure,
)

STEP, DURATION, FILTER, LEFT = 2.0, 2.5, 16, 1e-3  # rad; s; order; share of the step that remains at the end
PAPER_ORDER = 12
SIZES = (2, 3, 4, 5, 6, 7)  # joints of the chains whose operations are counted
FEW = 4  # joints from which the count follows a power


def run(folder: Path, say: Callable[[str], Any]) -> Report:
    """Write the figures to a folder; the report."""
    robot = load("dlr_lbr2")
    motion = FilteredStep.settled(np.zeros(robot.n), np.full(robot.n, STEP), DURATION, FILTER, LEFT)
    say("torques along the motion, in all models")
    comparison = compare_rotor_models(robot, motion)
    say("S, and what it depends on")
    pattern = coupling_pattern(robot)
    orders, general = derivative_orders(robot), derivative_orders(general_arm(robot.n))
    derivatives = derivatives_that_matter(robot, motion, comparison.t)
    say("the torques replayed through forward dynamics")
    gap = replay(robot, motion)
    say("operations of chains of different lengths")
    counts = {n: counted(inverse_dynamics, general_arm(n)) for n in SIZES}
    say("figures")
    figures = (
        torques_figure(folder, robot, comparison, motion),
        *(difference_figure(folder, robot, comparison, model) for model in READINGS),
        pattern_figure(folder, pattern),
        growth_figure(folder, comparison),
        derivatives_figure(folder, derivatives),
    )
    claims = [
        *structure_claims(pattern, orders, general, derivatives),
        *motion_claims(comparison, motion, gap),
        cost_claim(counts, counted(inverse_dynamics, robot)),
    ]
    grids = (claim_grid(claims), difference_grid(comparison), order_grid(robot, orders))
    return Report("Paper 001, section VI: an arm like the DLR LBR 2", grids, figures, NOTES, CHOICES)


CHOICES = (
    "The paper prints neither masses, inertias, rotors nor reductions of the LBR 2, and its figures have no numbers in "
    "the text: figures 4 and 5 show the same motion of a similar arm, not the same curves.",
    "The filter is described by its order alone; equal poles and the remainder of 1/1000 at 2.5 s are chosen here.",
    "Which model the paper calls rigid: figure 5 is drawn for three readings.",
)
NOTES = (
    "12 differentiations are what follows if one zero of S, that of joints 6 and 7, saves two. But link equation 6 "
    "still contains θ' of motor 7 through C_rotor, so that this zero alone would leave 13; and all of the first "
    "off-diagonal is zero, which leaves 8: each equation contains θ'' of the second motor beyond it at the earliest.",
    "Motor torques are those of the shaft as in the paper, on the right side of the figure those after the reduction.",
)


# Structure ----------------------------------------------------------------------------------------------------------


def structure_claims(pattern: Pattern, orders: Orders, general: Orders, derivatives: Derivatives) -> list[Claim]:
    """Claims about S and the orders of derivatives."""
    n = len(pattern.largest)
    above = np.triu(np.ones((n, n), dtype=bool), 2)
    zero = pattern.largest == 0
    between = np.array([[[i < k < j for k in range(n)] for j in range(n)] for i in range(n)])
    exact = bool(np.all(zero[~above]) and not np.any(zero[above]))
    inside = not np.any(pattern.depends & ~between)
    return [
        Claim(
            "S(q) is upper triangular, and its first off-diagonal vanishes",
            "S_12 = S_23 = ... = 0",
            f"{int(zero.sum())} of {n * n} elements are exactly zero: the lower triangle, the diagonal and the first "
            "off-diagonal"
            if exact
            else f"{int(zero.sum())} zeros, elsewhere too",
            verdict(exact),
        ),
        Claim(
            "S_ij depends on no joints but those between i and j, (31)",
            "q_{i+1} ... q_{j−1}",
            f"{int(pattern.depends.sum())} dependences of {int((between & above[..., None]).sum())} possible ones, "
            f"{'none' if inside else 'some'} outside",
            verdict(inside),
        ),
        Claim(
            "differentiations of the equations of motion in general, sec. III",
            f"2N = {2 * n}; q to order 2(N + 1) = {2 * n + 2}",
            f"{general.differentiations}; q to order {general.motion}",
            verdict((general.differentiations, general.motion) == (2 * n, 2 * n + 2)),
        ),
        Claim(
            "differentiations for the LBR 2, sec. VI",
            str(PAPER_ORDER),
            f"{orders.differentiations} = N + 1; q to order {orders.motion}, as "
            f"∂τ₁/∂q_{n}⁽{superscript(orders.motion)}⁾ = {derivatives.last:.1e} kg m² s⁸",
            "fewer suffice",
        ),
        Claim(
            "not in the paper: derivatives of q that matter in this motion",
            "-",
            "; ".join(f"{x:.0e} without those beyond {k}" for k, x in derivatives.without.items() if k % 2 == 0)
            + f", of a joint's peak torque; the last one makes up {derivatives.share:.0e}",
            "few",
        ),
    ]


def order_grid(robot: Robot, orders: Orders) -> Grid:
    """Table of the orders per joint."""
    names = [joint.name for joint in robot.joints]
    rows = [
        [
            names[i],
            " ".join(names[j] for j in x.accelerations) or "-",
            " ".join(names[j] for j in x.velocities) or "-",
            str(x.differentiations),
            str(x.motion),
        ]
        for i, x in enumerate(orders.joints)
    ]
    headings = ["joint", "θ'' in its link equation", "θ' alone", "differentiations", "derivatives of q in τ"]
    return Grid("orders", headings, rows)


# The motion ---------------------------------------------------------------------------------------------------------


def motion_claims(comparison: RotorComparison, motion: FilteredStep, gap: float) -> list[Claim]:
    """Claims about the motion and its torques."""
    speed = np.rad2deg(np.abs(motion(comparison.t, 1)[1]).max())
    relative = comparison.relative
    shown = "; ".join(
        f"to the model of {READINGS[model]}: {percent(relative[model].min())} to {percent(relative[model].max())}"
        for model in READINGS
    )
    fast = comparison.speeds.argmax()
    growth = comparison.growth["geared"]
    ratio = growth[fast] / comparison.largest["geared"]
    powers = comparison.exponents("geared")
    return [
        Claim(
            "the motion satisfies limits of torque and speed",
            "limits not given",
            f"peak speed {speed:.0f} °/s, peak torques {comparison.peak.min():.2g} to {comparison.peak.max():.3g} Nm",
            "plausible",
        ),
        Claim(
            "torques of the elastic and the rigid model differ significantly (Fig. 5)",
            "no number",
            f"largest difference of a joint's peak torque, over the joints: {shown}",
            "as one reads it",
        ),
        Claim(
            "for faster motion this effect increases",
            "no number",
            f"at {comparison.speeds[fast]:g} times the speed {ratio.min():.2g} to {ratio.max():.3g} times as large, "
            f"growing as speed to the power {powers.min():.1f} to {powers.max():.1f}",
            verdict(ratio.min() > 1),
        ),
        Claim(
            "not in the paper: what the couplings alone do, complete − Spong's model",
            "-",
            f"{percent(relative['Spong'].min())} to {percent(relative['Spong'].max())} of a joint's peak torque",
            "small here",
        ),
        Claim(
            "not in the paper: the torques, replayed open loop, bring about the motion",
            "-",
            f"links within {gap:.0e} rad during the first two seconds, by an integrator with error control",
            "yes",
        ),
    ]


def difference_grid(comparison: RotorComparison) -> Grid:
    """Table of the difference to each reading of "rigid", per joint."""
    models = [*READINGS, "Spong"]
    rows = [
        [
            joint.name,
            f"{comparison.peak[i]:.4g}",
            *(f"{comparison.largest[x][i]:.2g} ({percent(comparison.relative[x][i])})" for x in models),
        ]
        for i, joint in enumerate(comparison.robot.joints)
    ]
    return Grid("differences_by_joint", ["joint", "peak torque, Nm", *(f"to '{x}', Nm" for x in models)], rows)


# Cost ---------------------------------------------------------------------------------------------------------------


def cost_claim(counts: dict[int, int], lbr: int) -> Claim:
    """Claim about the cost of Algorithm 1."""
    few, many = FEW, max(counts)
    power = np.log(counts[many] / counts[few]) / np.log(many / few)
    return Claim(
        "Algorithm 1 costs, without further simplification",
        "at the worst O(N³)",
        f"general position: {', '.join(f'{count} for N = {n}' for n, count in counts.items())}; N to the power "
        f"{power:.1f} from {few} to {many}; the LBR {lbr} operations",
        AS_SAID if power <= 3 else "grows faster",
    )
