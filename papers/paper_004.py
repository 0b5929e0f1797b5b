"""Reproduction of [DeLuca]: the sixteen recursions, the time of C*, passivity-based control, and the residual.

The robot is the DLR LWR-III of Table I; its dynamic parameters are not published and are chosen in
`catalog/dlr_lwr3.toml`.  The paper shows no motion.  Here passivity-based control (sec. II-B) follows two motions
(`passivity_runs.py`).  For the residual (sec. II-A) the arm moves from rest to rest under computed torque; joint 2
loses a part of its torque for a while, and later a collision acts on link 6.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexjoint.control import ComputedTorque, gains_from_poles
from flexjoint.dynamics.inertia import mass_matrix_rate
from flexjoint.dynamics.recursion.kinematics import jacobian
from flexjoint.formats import load
from flexjoint.observers import Measurement, MomentumResidual
from flexjoint.robot import Robot
from flexjoint.simulation import simulate
from flexjoint.simulation.faults import FaultyActuators
from flexjoint.spatial import ca, sx
from flexjoint.trajectory import RestToRest

from .coriolis_cost import (
    by_sweeps,
    cost_claims,
    costs_figure,
    costs_grid,
    counts_over_n,
    growth_claims,
    growth_grid,
    residual_claim,
    ways_to_C,
)
from .passivity_runs import passivity_claims, passivity_courses, passivity_figure
from .report import BLUE, GREEN, RED, YELLOW, Claim, Grid, PaperFigure, Report, claim_grid, new_figure, saved, verdict
from .two_velocity_recursions import VARIANTS, nonzero

SKEW = {"0001", "1110"}  # published
CHAINS = ("RR", "RRR", "RRRRR", "RRRRRRR")
LENGTHS = (2, 3, 5, 7, 10)  # of the chains whose operations are counted

DURATION, PERIOD, CUTOFF = 3.0, 1e-3, 50.0  # s, s, rad/s
FAULTY, EFFICIENCY, FAULT = 1, 0.7, (0.6, 1.2)  # joint 2; share of its torque; s
STRUCK, FORCE, COLLISION = "link6", (0.0, 25.0, 30.0), (2.0, 2.2)  # peak force in base coordinates, N; s


def run(folder: Path, say: Callable[[str], Any]) -> Report:
    """Write the figures to a folder; the report."""
    robot = load("dlr_lwr3")
    violated = {}
    for kinds in CHAINS:
        say(f"the sixteen recursions on {len(kinds)} general joints")
        violated[kinds] = {variant: violations(kinds, variant) for variant in VARIANTS}
    say("three ways to C")
    costs = ways_to_C(robot)
    counts = counts_over_n(LENGTHS)
    say("passivity-based control")
    courses = passivity_courses(robot)
    say("a fault and a collision")
    history = faulty_run(robot)
    say("figures")
    figures = (
        variants_figure(folder, robot),
        costs_figure(folder, costs),
        passivity_figure(folder, courses),
        residual_figure(folder, history),
    )
    claims = [
        *variant_claims(violated),
        *cost_claims(costs, robot.n),
        *growth_claims(counts),
        *passivity_claims(courses),
        *residual_claims(history),
        residual_claim(robot),
    ]
    grids = (claim_grid(claims), variants_grid(violated), costs_grid(costs), growth_grid(counts))
    title = "Paper 004: sixteen recursions, the time of C, passivity-based control, residuals"
    return Report(title, grids, figures, NOTES, CHOICES)


CHOICES = (
    "The arm: L = 0.2 m, a_7 = 0.08 m, masses and shapes of the links, uniform as the paper says "
    "(catalog/dlr_lwr3.toml). The paper takes its parameters from a thesis and prints none.",
    f"The motions and gains: the paper has no simulation. Motor {FAULTY + 1} loses {100 * (1 - EFFICIENCY):.0f} % of "
    f"its torque from {FAULT[0]:g} to {FAULT[1]:g} s; a force of at most {np.hypot(*FORCE[1:]):.0f} N strikes link 6 "
    f"from {COLLISION[0]:g} to {COLLISION[1]:g} s; K = {CUTOFF:g}/s in the residual.",
    "The closed form is Christoffel's C from symbolic derivatives of the kinetic energy; the paper does not say how "
    "far its expression was simplified.",
)
NOTES = (
    "The paper checks (22) with MATLAB's symbolic toolbox. Here the same expressions are evaluated without rounding, "
    "in residues modulo a prime of 61 bits at a random state: a recursion that fails, fails; one that holds might "
    "still be no identity with a probability below 1e-15.",
    "(22) is printed for i = 1 ... N − j + 1, which misses elements such as (N, N); all of i ≥ j are checked here.",
    "The paper's ratio of 21 compares interpreted functions, one of them an expression without common subexpressions. "
    "In MATLAB a call of vprod costs 78 µs, which slows the sweeps; where both are plain operations the ratio is "
    "larger, where common subexpressions are computed once it is far smaller, and composite bodies are better than "
    "both.",
    "The paper has no figure of residuals; its equation r' = −K r + K u is what the figure is compared with.",
    "For simplicity the paper neglects friction; the functions here take it: D q_r' in (8), and the modelled friction "
    "does not show in the residual.",
)


# The sixteen recursions -------------------------------------------------------------------------------------------


def violations(kinds: str, variant: str) -> int:
    """Number of elements i ≥ j of (22) that are not zero."""
    defect, _ = nonzero(kinds, variant)
    return int(np.tril(defect).sum())


def variant_claims(violated: dict[str, dict[str, int]]) -> list[Claim]:
    """Claim about the recursions that obey (22)."""
    found = {len(kinds): {x for x, count in row.items() if not count} for kinds, row in violated.items()}
    general = set.intersection(*found.values())
    joints = ", ".join(map(str, found))
    return [
        Claim(
            "recursions whose C* obeys (22) on every robot",
            "0001 and 1110, up to 7 joints",
            f"{' and '.join(sorted(general))}, of chains with {joints} joints",
            verdict(general == SKEW),
        )
    ]


def variants_grid(violated: dict[str, dict[str, int]]) -> Grid:
    """Table of violated elements per recursion and number of joints."""
    rows = [[variant, *(str(row[variant]) for row in violated.values())] for variant in VARIANTS]
    headings = ["recursion", *(f"N = {len(x)}, of {len(x) * (len(x) + 1) // 2}" for x in violated)]
    return Grid("elements_that_violate_22", headings, rows)


def violation(robot: Robot, variant: str) -> float:
    """Largest element of Ṁ − C − Cᵀ relative to that of Ṁ, at random states of a robot, in floating point."""
    q, v = (ca.SX.sym(name, robot.n) for name in "qv")
    C = by_sweeps(robot, q, v, variant)
    f = ca.Function("f", [q, v], [mass_matrix_rate.function(robot, q, v), C + C.T])
    states = np.random.default_rng(0).normal(size=(20, 2, robot.n))
    found = np.array([[np.array(x) for x in f(*state)] for state in states])
    return float(np.abs(found[:, 0] - found[:, 1]).max() / np.abs(found[:, 0]).max())


def variants_figure(folder: Path, robot: Robot) -> PaperFigure:
    """Figure of the violation of (22) per recursion."""
    figure, axis = new_figure(7.5, 3.8)
    for k, variant in enumerate(VARIANTS):
        size = violation(robot, variant)
        axis.bar(k, size, color=GREEN if variant in SKEW else BLUE)
        axis.annotate(f"{size:.2g}" if size >= 1 else f"{size:.1g}", (k, size), ha="center", va="bottom", size=8)
    axis.bar(0, 0, color=GREEN, label="skew: rounding")
    axis.bar(0, 0, color=BLUE, label="not skew")
    axis.set_xticks(range(len(VARIANTS)), VARIANTS, rotation=60)
    axis.set(
        title="Largest |Ṁ − C* − C*ᵀ| relative to largest |Ṁ|, 7R arm",
        xlabel="recursion NE*",
        ylabel="relative violation of (22)",
        yscale="log",
        ylim=(1e-17, 30),
    )
    caption = "Only 0001 and 1110 give a factorization with Ṁ − 2C skew; what is left of them is rounding."
    return saved(figure, folder / "sixteen_recursions.png", caption)


# The residual -----------------------------------------------------------------------------------------------------


class History(NamedTuple):
    """Times (m,), s, and (m, n), Nm: the residual, the unmodelled torque, and the filtered unmodelled torque."""

    t: np.ndarray
    residual: np.ndarray
    force: np.ndarray
    filtered: np.ndarray


def faulty_run(robot: Robot) -> History:
    """The residual of a run with an actuator fault and a collision."""
    motion = RestToRest(np.zeros(robot.n), np.array([0.8, 0.9, -0.7, 1.1, 0.6, -0.9, 0.5]), DURATION)
    law = ComputedTorque(robot, gains_from_poles([-15.0, -15.0]))
    efficiency = np.where(np.arange(robot.n) == FAULTY, EFFICIENCY, 1.0)
    faulty = FaultyActuators(law, efficiency, begin=FAULT[0], end=FAULT[1], period=PERIOD)
    run = simulate(robot, faulty, motion, period=PERIOD, contact=strike)
    commanded = faulty.commanded(motion(run.t, law.order), run.states)
    sensed = Measurement(run.q, run.v, run.theta, run.theta_v, None)
    residual = MomentumResidual(robot, CUTOFF, PERIOD).run(run.t, sensed, commanded)["residual"]
    wrench = blow(run.t)[:, None] * np.array([*FORCE, 0.0, 0.0, 0.0])
    collision = np.einsum("mki,mk->mi", jacobian(robot, run.q, link=STRUCK), wrench)
    fault = run.tau - commanded
    return History(run.t, residual, fault + collision, filtered(fault, collision))


def strike(t: Any, state: Any) -> dict[str, Any]:
    """Wrench of the collision by link."""
    return {STRUCK: blow(t, ca) * sx([*FORCE, 0.0, 0.0, 0.0])}


def blow(t: Any, over: Any = np) -> Any:
    """Time profile sin² of the collision, from 0 to 1; `over` is NumPy or CasADi."""
    begin, end = COLLISION
    on = (t > begin) * (t < end)
    return on * over.sin(np.pi * (t - begin) / (end - begin)) ** 2


def filtered(held: np.ndarray, moving: np.ndarray) -> np.ndarray:
    """Solution of r' = −K r + K u for torques that are held between samples plus torques that change linearly."""
    fade = np.exp(-CUTOFF * PERIOD)
    r = np.zeros_like(held)
    for k in range(len(held) - 1):
        r[k + 1] = fade * r[k] + (1 - fade) * (held[k] + (moving[k] + moving[k + 1]) / 2)
    return r


def residual_claims(history: History) -> list[Claim]:
    """Claims about the residual."""
    error = np.abs(history.residual - history.filtered).max()
    share = error / np.abs(history.filtered).max()
    quiet = history.t < FAULT[0]
    before = np.abs(history.residual[quiet]).max()
    elsewhere = np.delete(np.arange(history.force.shape[1]), FAULTY)
    during = (history.t >= FAULT[0]) & (history.t < FAULT[1])
    faulty, isolated = (np.abs(history.residual[during][:, i]).max() for i in (FAULTY, elsewhere))
    within, beyond = (np.abs(x).max() for x in np.split(history.residual, [4], axis=1))
    return [
        Claim(
            "r' = −K r + K u: the residual is what acts on each joint, filtered",
            "shown by (1)-(7)",
            f"largest difference {error:.1e} Nm, {share:.0e} of the residual's peak, with samples every 1 ms; "
            f"{before:.0e} Nm before the fault",
            verdict(share < 1e-3),
        ),
        Claim(
            "components are decoupled: a fault of motor 2 shows at joint 2 only",
            "no number",
            f"{faulty:.1f} Nm there, {isolated:.0e} Nm elsewhere",
            verdict(isolated < 1e-3 * faulty),
        ),
        Claim(
            "a collision shows at the joints up to the link that was struck",
            "no number",
            f"link 6, struck on its axis: {within:.1f} Nm at joints 1 to 4, {beyond:.0e} Nm at 5 to 7",
            verdict(beyond < 1e-3 * within),
        ),
    ]


def residual_figure(folder: Path, history: History) -> PaperFigure:
    """Figure of the residual over time."""
    figure, axis = new_figure(8.0, 4.2)
    for begin, end, what in ((*FAULT, "motor 2 weak"), (*COLLISION, "link 6 struck")):
        axis.axvspan(begin, end, color="0.9")
        axis.annotate(what, ((begin + end) / 2, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom")
    for i, colour in enumerate((BLUE, RED, GREEN, YELLOW)):
        axis.plot(history.t, history.residual[:, i], color=colour, label=f"joint {i + 1}")
    axis.plot(history.t, history.residual[:, 4:], "--", color="0.4", label=["joints 5 to 7", None, None])
    axis.plot(history.t[::25], history.filtered[::25, FAULTY], "x", color="black", ms=4, label="u, filtered:\njoint 2")
    axis.set(xlabel="time t, s", ylabel="residual r, Nm", xlim=(0.0, DURATION))
    axis.set_title("Residual under an actuator fault and a collision", pad=22)
    caption = (
        "The residual of joint 2 is its filtered loss of torque and no other joint answers; the force through the "
        "wrist shows at joints 1 to 4 and has no moment about the axes of joints 5 to 7."
    )
    return saved(figure, folder / "residual.png", caption)
