"""Cost of inverse dynamics and control with elastic joints, and the claims of [EJNEA sec. III to V]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexjoint.algorithm.compile import compile
from flexjoint.dynamics.inverse import inverse_dynamics
from flexjoint.dynamics.linearization import feedback_linearization
from flexjoint.dynamics.links import torque_derivatives
from flexjoint.robot import Robot
from flexjoint.types import FloatArray

from .operation_counts import Counts, Growth
from .report import AS_SAID, BLUE, GREEN, RED, YELLOW, Claim, PaperFigure, least_time, new_figure, saved, verdict

SECONDS = 33.258e-6  # per evaluation, published


class Seconds(NamedTuple):
    """Times, s: per call of EJNEA from Python, per sample in a batch, per call of the linearizing control law."""

    call: float
    sample: float
    law: float


def measured(robot: Robot, stack: FloatArray) -> Seconds:
    """Times along a motion [q, q', ...], (5, m, n)."""
    point = stack[:, stack.shape[1] // 3].copy()
    torque, rate = torque_derivatives(robot.without_drives(), *point[:4], order=1)
    names = {
        "ejnea": compile(inverse_dynamics, robot),
        "law": compile(feedback_linearization, robot, measured="q tau_e"),
        "point": list(point),
        "state": [point[0], point[1], torque, rate, point[4]],
        "stack": list(stack),
        "out": np.empty(robot.n),
        "outs": np.empty(stack.shape[1:]),
    }
    return Seconds(
        least_time("ejnea(*point, out=out)", names, 1000),
        least_time("ejnea(*stack, out=outs)", names, 10) / stack.shape[1],
        least_time("law(*state, out=out)", names, 1000),
    )


def time_claims(seconds: Seconds, samples: int, operations: int, lwr: Counts) -> list[Claim]:
    """Claims about times."""
    return [
        Claim(
            "time of one evaluation of EJNEA; of 4 s of motion",
            f"{SECONDS * 1e6:.3f} µs; 13 ms",
            f"{seconds.call * 1e6:.2f} µs per call from Python, {seconds.sample * 1e6:.2f} µs per sample in a batch; "
            f"{samples} samples in {seconds.sample * samples * 1e3:.2f} ms: {SECONDS / seconds.call:.0f} and "
            f"{SECONDS / seconds.sample:.0f} times less",
            "faster, on another computer",
        ),
        Claim(
            "the linearizing control law in real time",
            "for later work",
            f"{seconds.law * 1e6:.2f} µs per call from Python; {operations} operations in one kernel, {lwr.law} as a "
            "sum of its parts",
            "feasible",
        ),
    ]


def cost_claims(lwr: Counts, seven: Counts, growth: Growth) -> list[Claim]:
    """Claims about operations."""
    slope, offset = growth.polynomials["ejnea"]
    exponents = ", ".join(f"{growth.exponent('law', n):.1f} at N = {n}" for n in (10, 100, 1000))
    cubic = growth.first(lambda c: c.factorization > c.law / 2)
    rigid = growth.first(lambda c: c.aba < c.forward)
    elastic = growth.first(lambda c: c.law_by_aba < c.law)
    saving = lwr.ejnea2 - lwr.ejnea2_still + lwr.ejnea3 - lwr.ejnea3_still
    return [
        Claim(
            "EJNEA grows with the number of joints as",
            "O(N)",
            f"{slope:.0f} N − {-offset:.0f} operations, exactly; {lwr.ejnea} for the LWR, whose axes are orthogonal",
            AS_SAID,
        ),
        Claim(
            "the linearizing control law grows as",
            "O(N³)",
            f"locally as N to the power {exponents}; the cubic part is the factorization, "
            f"{100 * seven.factorization / seven.law:.1f} % of {seven.law} operations at N = 7 and half of them from "
            f"N = {cubic}",
            verdict(round(growth.exponent("law", 1000)) == 3),
        ),
        Claim(
            "rigid forward dynamics: articulated bodies cost more than composite bodies with factorization up to about",
            "N = 9",
            f"N = {rigid - 1}; at N = 7 {seven.aba} against {seven.forward} operations, on the LWR {lwr.aba} against "
            f"{lwr.forward}",
            verdict(abs(rigid - 1 - 9) <= 1),
        ),
        Claim(
            "elastic joints favour the factorization further: it is used twice, articulated bodies must run twice",
            "no number",
            f"articulated bodies cost less from N = {elastic} on; at N = 7 they make the law "
            f"{100 * (seven.law_by_aba / seven.law - 1):.0f} % more expensive, on the LWR "
            f"{100 * (lwr.law_by_aba / lwr.law - 1):.0f} %",
            verdict(elastic > rigid),
        ),
        Claim(
            "versions of EJNEA₂* and EJNEA₃* with q'' = 0 and q''' = 0 built in gain",
            "negligible",
            f"LWR: {lwr.ejnea2} → {lwr.ejnea2_still} and {lwr.ejnea3} → {lwr.ejnea3_still} operations, together "
            f"{100 * saving / (lwr.law + saving):.1f} % of the law",
            verdict(saving < 0.02 * lwr.law),
        ),
    ]


def growth_figure(folder: Path, chains: dict[int, Counts], symbolic: Sequence[Any]) -> PaperFigure:
    """Figure of operations over the number of joints, all of them counted.

    Args:
        chains: Counts by number of joints.
        symbolic: Robots with `joints` and operations `lagrangian` of their symbolic models.
    """
    parts = {
        "law": ("linearizing law", BLUE, "-"),
        "law_by_aba": ("the same, articulated bodies", BLUE, "--"),
        "ejnea": ("EJNEA", GREEN, "-"),
        "forward": ("rigid forward dynamics", RED, "-"),
        "aba": ("the same, articulated bodies", RED, "--"),
        "factorization": ("factorization alone", YELLOW, "-"),
    }
    figure, axis = new_figure(7.5, 4.5)
    for part, (label, colour, dashes) in parts.items():
        counted = [getattr(c, part) for c in chains.values()]
        axis.plot(list(chains), counted, f"o{dashes}", color=colour, ms=4, label=label)
    models = {len(x.joints): x.lagrangian for x in symbolic}
    axis.plot(list(models), list(models.values()), "k^", ms=5, label="torques of EJNEA from\na symbolic Lagrangian")
    axis.set(title="Operations of chains", xlabel="joints N", ylabel="operations")
    axis.set(xscale="log", yscale="log", xlim=(0.9, 1.1 * max(chains)))
    axis.set_xticks([1, 2, *chains])
    axis.xaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()
    caption = (
        "Counted operations over the number of joints. EJNEA is linear; the law becomes cubic through its "
        "factorization, which articulated bodies avoid at the price of two runs. Triangles: the torques of EJNEA from "
        "a Lagrangian by automatic differentiation, for the robots of increasing complexity."
    )
    return saved(figure, folder / "growth.png", caption)
