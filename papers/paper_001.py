"""Reproduction of [Hoepler sec. VI]: figures 4 and 5, the structure of S, the orders, and all claims.

The paper gives only length, mass and stiffness of its robot; the other parameters are chosen (`catalog/dlr_lbr2.toml`).
For the motion it gives the step, 2 rad, the order of the filter, 16, and the time shown, 2.5 s; here the filter has 16
equal poles such that a thousandth of the step remains at the end.  The "rigid model" of the paper may be one of three:
rotors and rigid joints, armature and rigid joints, or "standard rigid-body" dynamics without rotors.  All are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexjoint import ElasticDrive, Motor, Robot, compile, forward_dynamics, inverse_dynamics, load, motor_motion
from flexjoint.analysis.rotor_models import RotorComparison, compare_rotor_models, percent
from flexjoint.dynamics.drivetrain.orders import Orders, derivative_orders, superscript
from flexjoint.dynamics.drivetrain.rotors import rotor_coupling
from flexjoint.dynamics.inverse import needed_order
from flexjoint.robot.random_robots import random_robot
from flexjoint.trajectory import FilteredStep, Trajectory

from .operation_counts import counted
from .report import BLACK, BLUE, GREEN, RED, YELLOW, Claim, Drawings, Grid, Report, integrate, verdict

PAPER = "Höpler and Thümmel (2004)"
STEP, DURATION, FILTER, REMAINDER = 2.0, 2.5, 16, 1e-3  # rad; s; order; fraction of the step that remains at the end
PAPER_ORDER = 12
SIZES = (2, 3, 4, 5, 6, 7)  # joints of the chains whose operations are counted
FIT_FROM = 4  # joints from which the count follows a power
COLOURS = (BLUE, RED, GREEN)  # of the three joints in figures 4 and 5
READINGS = {
    "geared": "rotors and rigid joints",
    "armature": "an armature in place of rotors",
    "no rotors": "no rotors, rigid joints",
}  # of what the paper calls the rigid model

CHOICES = (
    "The paper prints neither masses, inertias, rotors nor reductions of the LBR 2, so figures 4 and 5 show the same "
    "motion of a similar arm, not the same curves.",
    "The filter is described by its order alone; equal poles and the remainder of 1/1000 at 2.5 s are chosen here.",
    "Which model the paper calls rigid: figure 5 is drawn for three readings.",
)
NOTES = (
    "12 differentiations are what follows if one zero of S, that of joints 6 and 7, saves two; but link equation 6 "
    "still contains θ' of motor 7 through C_rotor, so that this zero alone would leave 13.",
    "All of the first off-diagonal is zero, which leaves 8: each equation contains θ'' of the second motor beyond it "
    "at the earliest.",
    "Motor torques are those of the shaft as in the paper, on the right side of the figure those after the reduction.",
)


def run(folder: Path, say: Callable[[str], Any]) -> Report:
    """Write the figures to a folder; return the report."""
    robot, drawings = load("dlr_lbr2"), Drawings(folder, PAPER)
    motion = FilteredStep.settled(np.zeros(robot.n), np.full(robot.n, STEP), DURATION, FILTER, REMAINDER)
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
    drawings.robot(robot, motion(1.25, 0)[0], "An arm like the DLR LBR 2: each motor is coaxial with its joint.")
    torque_figures(drawings, comparison, motion)
    pattern_figure(drawings, pattern)
    growth_figure(drawings, comparison)
    derivatives_figure(drawings, derivatives)
    claims = [
        *structure_claims(pattern, orders, general, derivatives),
        *motion_claims(comparison, motion),
        cost_claim(counts),
    ]
    few = "; ".join(f"{x:.0e} without those beyond {k}" for k, x in derivatives.without.items() if k % 2 == 0)
    spong = comparison.relative["Spong"]
    additions = [
        ("Torque error without the high derivatives of q, of a joint's peak torque", f"{few}."),
        (
            "Couplings alone: complete − Spong's model, of a joint's peak torque",
            f"{percent(spong.min())} to {percent(spong.max())}.",
        ),
        (
            "Torques replayed open loop through forward dynamics",
            f"The links follow within {gap:.0e} rad during the first two seconds.",
        ),
        ("Operations for the LBR 2", f"{counted(inverse_dynamics, robot)}, as its axes are orthogonal."),
    ]
    grids = (difference_grid(comparison), order_grid(robot, orders))
    title = "Paper 001: an arm like the DLR LBR 2 with complete rotors"
    return Report(title, claims, additions, drawings.figures, grids, CHOICES, NOTES)


# Structure --------------------------------------------------------------------------------------------------------


class Pattern(NamedTuple):
    """Structure of S.

    Args:
        largest: Largest |S_ij| at random postures, (n, n), kg m².
        depends: Whether S_ij depends on q_k, (n, n, n).
    """

    largest: np.ndarray
    depends: np.ndarray


def coupling_pattern(robot: Robot, postures: int = 20) -> Pattern:
    """Structure of S at random postures."""
    rng = np.random.default_rng(0)
    q = rng.uniform(-np.pi, np.pi, (postures, robot.n))
    S = rotor_coupling(robot, q)
    depends = np.zeros((robot.n,) * 3, dtype=bool)
    for k in range(robot.n):
        moved = q.copy()
        moved[:, k] += rng.uniform(0.5, 2.5, postures)
        depends[:, :, k] = np.abs(rotor_coupling(robot, moved) - S).max(axis=0) > 1e-14 * np.abs(S).max()
    return Pattern(np.abs(S).max(axis=0), depends)


def general_arm(n: int) -> Robot:
    """A chain of elastic joints in general position; each motor is coaxial with its joint, on the preceding link."""
    motor = Motor.from_rotor(1e-4, 100.0)
    arm = random_robot(n, seed=1, prismatic=0.0).replace(rotors_in_links=False)
    return arm.with_drives([ElasticDrive(1e4, motor)] * n).with_fidelity("complete")


class Derivatives(NamedTuple):
    """Influence of the derivatives of q on the torques.

    Args:
        last: ∂τ₁/∂q_N⁽ᵏ⁾ for the highest needed k.
        without: Largest error of any joint relative to its peak torque if all derivatives above k are zero, by k.
    """

    last: float
    without: dict[int, float]


def derivatives_that_matter(robot: Robot, motion: Trajectory, t: np.ndarray) -> Derivatives:
    """Influence of the derivatives of q along a trajectory."""
    order = needed_order(robot)
    stack = motion(t, order)
    tau = inverse_dynamics(robot, *stack)
    peak = np.abs(tau).max(axis=0)
    without = {}
    for k in range(2, order):
        cut = stack.copy()
        cut[k + 1 :] = 0.0
        without[k] = float((np.abs(inverse_dynamics(robot, *cut) - tau).max(axis=0) / peak).max())
    # τ₁ is linear in the highest derivative, so a very large value shows its factor
    middle, huge = motion(t[t.size // 2], order), 1e40
    middle[order, :-1], middle[order, -1] = 0.0, huge
    return Derivatives(float(inverse_dynamics(robot, *middle)[0] / huge), without)


def replay(robot: Robot, motion: Trajectory, until: float = 2.0) -> float:
    """Largest error of the links when the torques of a trajectory are replayed open loop up to a time, rad."""
    n, order = robot.n, needed_order(robot)
    inverse, forward = compile(motor_motion, robot), compile(forward_dynamics, robot)

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        q, theta, v, theta_v = y.reshape(4, n)
        tau = inverse(*motion(t, order)).tau
        return np.concatenate([v, theta_v, *forward(q, v, theta, theta_v, tau)])

    start, stack, t = inverse(*motion(0.0, order)), motion(0.0, 1), np.linspace(0.0, until, 201)
    y = integrate(rate, np.concatenate([stack[0], start.theta, stack[1], start.theta_v]), t, 1e-10, 1e-12)
    return float(np.abs(y[:n].T - motion(t, 0)[0]).max())


def structure_claims(pattern: Pattern, orders: Orders, general: Orders, derivatives: Derivatives) -> list[Claim]:
    """Claims about S and the orders of derivatives."""
    n = len(pattern.largest)
    above = np.triu(np.ones((n, n), dtype=bool), 2)
    zero = pattern.largest == 0
    between = np.array([[[i < k < j for k in range(n)] for j in range(n)] for i in range(n)])
    return [
        Claim(
            "S(q) is upper triangular, and its first off-diagonal vanishes (sec. VI)",
            "S_12 = S_23 = ... = 0",
            f"{int(zero.sum())} of {n * n} elements are exactly zero, among them all below the second off-diagonal",
            verdict(np.all(zero[~above]) and not np.any(zero[above])),
        ),
        Claim(
            "S_ij depends on no joints but those between i and j (31)",
            "q_{i+1} ... q_{j−1}",
            f"{int(pattern.depends.sum())} dependences of {int((between & above[..., None]).sum())} possible ones, "
            f"{int((pattern.depends & ~between).sum())} others",
            verdict(not np.any(pattern.depends & ~between)),
        ),
        Claim(
            "Differentiations of the equations of motion in general (sec. III)",
            f"2N = {2 * n}; q to order 2(N + 1) = {2 * n + 2}",
            f"{general.differentiations}; q to order {general.motion}",
            verdict((general.differentiations, general.motion) == (2 * n, 2 * n + 2)),
        ),
        Claim(
            "Differentiations for the LBR 2 (sec. VI)",
            str(PAPER_ORDER),
            f"{orders.differentiations} = N + 1; q to order {orders.motion}, as "
            f"∂τ₁/∂q_{n}⁽{superscript(orders.motion)}⁾ = {derivatives.last:.1e} kg m² s⁸",
            "fewer suffice",
        ),
    ]


def order_grid(robot: Robot, orders: Orders) -> Grid:
    """Table of the orders per joint."""
    names = [joint.name for joint in robot.joints]

    def motors(indices: Any) -> str:
        return " ".join(names[j] for j in indices) or "-"

    rows = [
        [name, motors(x.accelerations), motors(x.velocities), str(x.differentiations), str(x.motion)]
        for name, x in zip(names, orders.joints)
    ]
    headings = ["joint", "θ'' in its link equation", "θ' alone", "differentiations", "derivatives of q in τ"]
    return Grid("orders", headings, rows)


# The motion -------------------------------------------------------------------------------------------------------


def motion_claims(comparison: RotorComparison, motion: FilteredStep) -> list[Claim]:
    """Claims about the motion and its torques."""
    speed = np.rad2deg(np.abs(motion(comparison.t, 1)[1]).max())
    fast = comparison.speeds.argmax()
    ratio = comparison.growth["geared"][fast] / comparison.largest["geared"]
    powers = comparison.exponents("geared")
    return [
        Claim(
            "The motion satisfies limits of torque and speed",
            "no number",
            f"Peak speed {speed:.0f} °/s, peak torques {comparison.peak.min():.2g} to {comparison.peak.max():.3g} Nm",
            "plausible",
        ),
        *(
            Claim(
                f"Elastic and rigid torques differ significantly (Fig. 5), if rigid means {reading}",
                "no number",
                f"By up to {percent(comparison.relative[model].max())} of a joint's peak torque",
                "reproduced" if comparison.relative[model].max() > 0.1 else "small here",
            )
            for model, reading in READINGS.items()
        ),
        Claim(
            "For faster motion this effect increases",
            "no number",
            f"{ratio.min():.2g} to {ratio.max():.3g} times as large at {comparison.speeds[fast]:g} times the speed, as "
            f"speed to the power {powers.min():.1f} to {powers.max():.1f}",
            verdict(ratio.min() > 1),
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


def cost_claim(counts: dict[int, int]) -> Claim:
    """Claim about the cost of Algorithm 1."""
    many = max(counts)
    power = np.log(counts[many] / counts[FIT_FROM]) / np.log(many / FIT_FROM)
    return Claim(
        "Algorithm 1 costs, without further simplification",
        "at the worst O(N³)",
        f"N to the power {power:.1f} from {FIT_FROM} to {many} joints in general position, with {counts[many]} "
        f"operations for {many}",
        verdict(power <= 3),
    )


# Figures ----------------------------------------------------------------------------------------------------------


def torque_figures(drawings: Drawings, comparison: RotorComparison, motion: Trajectory) -> None:
    """Figures 4 and 5: torques at the shaft on the left axis, after the reduction on the right axis."""
    t, eta = comparison.t, comparison.robot.gear_ratios[0]  # the same at all joints
    caption = "Shaft torques of the first three motors, complete model; the inset shows the motion of every joint."
    three = (
        "Difference of the shaft torques to three models that the paper may call rigid. Note the scales: without "
        "rotors the difference is their inertia, else the elasticity."
    )
    differences = {reading: -comparison.errors[model] for model, reading in READINGS.items()}
    for number, curves, width, title, text in (
        (4, {"": comparison.torques["complete"]}, 7.0, "motor torques, elastic joints", caption),
        (5, differences, 4.8, "elastic − rigid model", three),
    ):
        figure, axes = drawings.panels(len(curves), width)
        for axis, (reading, torque) in zip(axes, curves.items()):
            for i, colour in enumerate(COLOURS):
                dashes = ("-", "--", "-.")[i]
                axis.plot(t, torque[:, i] / eta, dashes, color=colour, label=f"τ$_{i + 1}$")
            axis.set_title(reading, fontsize=10)
            axis.set(xlabel="time, s", ylabel="τ/η, at the motor shaft, Nm", xlim=(t[0], t[-1]))
            right = axis.secondary_yaxis("right", functions=(lambda x: x * eta, lambda x: x / eta))
            right.set_ylabel("τ, after the reduction, Nm")
        if number == 4:
            inset = axes[0].inset_axes((0.1, 0.14, 0.28, 0.36))
            inset.plot(t, motion(t, 0)[0, :, 0], color=BLACK)
            inset.set(xlim=(0.0, t[-1]), ylabel="q$_i$, rad")
            inset.grid(alpha=0.3)
        drawings.save(figure, f"figure_{number}", title, text, f"Fig. {number}")


def pattern_figure(drawings: Drawings, pattern: Pattern) -> None:
    """Figure of the elements of S, largest over random postures."""
    n = len(pattern.largest)
    figure, (axis,) = drawings.panels()
    axis.grid(visible=False)
    image = axis.imshow(np.ma.masked_equal(1e3 * pattern.largest, 0.0), cmap="viridis")
    figure.colorbar(image, ax=axis, label="largest |S$_{ij}$|, 10⁻³ kg m²")
    for i, j in np.argwhere(pattern.largest == 0):
        axis.text(j, i, "0", ha="center", va="center", color="gray")
    axis.set(xlabel="motor j", ylabel="link equation i")
    names = [str(k + 1) for k in range(n)]
    axis.set_xticks(range(n), names)
    axis.set_yticks(range(n), names)
    caption = "Largest elements of S over random postures; 0 marks elements that are zero by structure."
    drawings.save(figure, "coupling", "zeros and sizes of S(q)", caption)


def growth_figure(drawings: Drawings, comparison: RotorComparison) -> None:
    """Figure of the largest difference of any joint, relative to its peak torque, over the speed."""
    figure, (axis,) = drawings.panels(1, 7.0)
    styles = ((BLUE, "o-", 7), (GREEN, "s--", 5), (YELLOW, "o-", 5), (RED, "^:", 5))
    for k, (model, (colour, style, size)) in enumerate(zip((*READINGS, "Spong"), styles)):
        worst = (comparison.growth[model] / comparison.peaks).max(axis=1)
        label = READINGS.get(model, "Spong's model, elastic")
        axis.plot(comparison.speeds * 1.015**k, 100 * worst, style, color=colour, ms=size, label=label)
    axis.set(xscale="log", yscale="log", xlabel="speed factor", ylabel="largest |Δτ|, % of the peak torque")
    axis.set_xticks(comparison.speeds)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_major_formatter("{x:g}")
    axis.xaxis.minorticks_off()
    caption = (
        "Rigid joints cost more accuracy the faster the arm moves; the couplings that Spong's model leaves out cost "
        "the same fraction at every speed. Points are shifted sideways by 1.5 % each."
    )
    drawings.save(figure, "growth_with_speed", "largest difference to the complete elastic model", caption)


def derivatives_figure(drawings: Drawings, derivatives: Derivatives) -> None:
    """Figure of the torque error without high derivatives of q."""
    figure, (axis,) = drawings.panels(1, 6.5, 3.6)
    axis.semilogy(list(derivatives.without), list(derivatives.without.values()), "o-", color=BLUE)
    axis.set(xlabel="highest derivative of q that is not set to zero", ylabel="largest |Δτ|, of the peak torque")
    caption = "The model needs q to order 10, but along this motion the high derivatives hardly matter."
    drawings.save(figure, "derivatives", "torque error without the high derivatives", caption)
