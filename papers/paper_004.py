"""Reproduction of [DeLuca]: the sixteen recursions, the time of C*, passivity-based control, and the residual.

The robot is the DLR LWR-III of Table I; its dynamic parameters are not published and are chosen in
`catalog/dlr_lwr3.toml`.  The paper shows no motion.  Here passivity-based control (sec. II-B) follows two motions, and
for the residual (sec. II-A) the arm moves from rest to rest under computed torque; joint 2 loses a part of its torque
for a while, and later a collision acts on link 6.

The paper gives CPU seconds per matrix C of MATLAB functions, which are interpreted: a closed-form expression as it
comes out of a symbolic toolbox, and seven sweeps.  The same is measured here with Python's interpreter, one scalar
operation after the other: of the closed form every operation of the expression written out, of the sweeps each once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from operator import add, mul, neg, sub, truediv
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexjoint import Robot, from_dh, load
from flexjoint.algorithm.compile import kernel_of
from flexjoint.compiler.ir.program import Array
from flexjoint.dynamics import coriolis_factorization, coriolis_torque, factorization_parameters
from flexjoint.dynamics.coriolis import coriolis_matrix, coriolis_transpose_product
from flexjoint.dynamics.energy import generalized_momentum, kinetic_energy
from flexjoint.dynamics.inertia import mass_matrix_rate
from flexjoint.dynamics.links import gravity_torque
from flexjoint.robot.random_robots import random_robot
from flexjoint.spatial import ca, sx
from flexjoint.types import Expression, FloatArray

from .operation_counts import operations
from .report import BLUE, GREEN, RED, YELLOW, Claim, Drawings, Grid, Report, least_time, verdict
from .rigid_runs import (
    COLLISION,
    CUTOFF,
    EFFICIENCY,
    FAULT,
    FAULTY,
    FORCE,
    GOAL,
    INADMISSIBLE,
    faulty_run,
    passivity_claims,
    passivity_courses,
    passivity_figure,
    residual_claims,
    residual_figure,
)
from .two_velocity_recursions import VARIANTS, by_sweeps, modified_recursion, nonzero

PAPER = "De Luca and Ferrajoli (2009)"
SKEW = {"0001", "1110"}  # published
CHAINS = ("RR", "RRR", "RRRRR", "RRRRRRR")
LENGTHS = (2, 3, 5, 7, 10)  # of the chains whose operations are counted
PAPER_SECONDS = (2.201, 0.105)  # Fig. 3: CPU time of the closed form, and of seven sweeps

CHOICES = (
    "The arm: L = 0.2 m, a_7 = 0.08 m, masses and shapes of the links, uniform as the paper says "
    "(catalog/dlr_lwr3.toml); the paper takes its parameters from a thesis and prints none.",
    f"The motions and gains: motor {FAULTY + 1} loses {100 * (1 - EFFICIENCY):.0f} % of its torque from {FAULT[0]:g} "
    f"to {FAULT[1]:g} s, a force of at most {np.hypot(*FORCE[1:]):.0f} N strikes link 6 from {COLLISION[0]:g} to "
    f"{COLLISION[1]:g} s, K = {CUTOFF:g}/s in the residual.",
    "The closed form is Christoffel's C from symbolic derivatives of the kinetic energy; the paper does not say how "
    "far its expression was simplified.",
)
NOTES = (
    "(22) is evaluated without rounding, in residues modulo a prime of 61 bits at a random state: a recursion that "
    "fails, fails; one that holds might be no identity with a probability below 1e-15.",
    "(22) is printed for i = 1 ... N − j + 1, which misses elements such as (N, N); all of i ≥ j are checked here.",
    "The paper's ratio of 21 compares interpreted functions, one of them an expression without common subexpressions; "
    "where these are computed once the ratio is far smaller.",
    "C* differs from Christoffel's C by X = Σ tr(Σ_c) Jωᵀ S(ω) Jω over the bodies, which vanishes unless a body turns "
    "about three independent axes.",
    "For simplicity the paper neglects friction; the functions here take it.",
)


def run(folder: Path, say: Callable[[str], Any]) -> Report:
    """Write the figures to a folder; return the report."""
    robot, drawings = load("dlr_lwr3"), Drawings(folder, PAPER)
    violated = {}
    for kinds in CHAINS:
        say(f"the sixteen recursions on {len(kinds)} general joints")
        violated[kinds] = {variant: violations(kinds, variant) for variant in VARIANTS}
    say("all factorizations")
    differences = {name: star_difference(x) for name, x in star_robots().items()}
    line = all_factorizations(robot)
    say("three ways to C")
    costs = ways_to_C(robot)
    counts = [counts_of(random_robot(n, 1, prismatic=0.0)) for n in LENGTHS]
    say("passivity-based control")
    courses = passivity_courses(robot)
    say("a fault and a collision")
    history = faulty_run(robot)
    drawings.robot(robot, 0.6 * GOAL, "The DLR LWR-III of Table I; its motors are coaxial with the joints.")
    costs_figure(drawings, costs)
    variants_figure(drawings, robot)
    factorization_figure(drawings, differences, line)
    passivity_figure(drawings, courses)
    residual_figure(drawings, history)
    claims = [
        variant_claim(violated),
        *factorization_claims(differences, line),
        *cost_claims(costs, counts),
        *passivity_claims(courses),
        *residual_claims(history),
    ]
    also = np.abs(courses["tracking", INADMISSIBLE].error[-1]).max()
    symbolic, sweeps, ours = costs.values()
    slow, fast = (operations(lambda q, v, f=f: f(robot, q, v), 7, 7) for f in (residual_by_sweeps, residual_terms))
    additions = [
        (
            "C from composite bodies",
            f"{symbolic.operations / ours.operations:.1f} times fewer operations than the closed form, "
            f"{sweeps.operations / ours.operations:.1f} than the sweeps; {ours.seconds * 1e6:.2f} µs per call.",
        ),
        ("p, g and Cᵀq' of the residual (6)", f"{slow} operations in N + 2 sweeps, {fast} with one sweep for Cᵀq'."),
        (f"NE*_{INADMISSIBLE} with strong gains", f"Tracks too, to {also:.0e} rad: damping hides the defect."),
    ]
    title = "Paper 004: sixteen recursions, passivity-based control, residuals"
    grids = (variants_grid(violated), growth_grid(counts))
    return Report(title, claims, additions, drawings.figures, grids, CHOICES, NOTES)


# The sixteen recursions -------------------------------------------------------------------------------------------


def violations(kinds: str, variant: str) -> int:
    """Number of elements i ≥ j of (22) that are not zero."""
    return int(np.tril(nonzero(kinds, variant)[0]).sum())


def variant_claim(violated: dict[str, dict[str, int]]) -> Claim:
    """Claim about the recursions that obey (22)."""
    general = set.intersection(*({x for x, count in row.items() if not count} for row in violated.values()))
    return Claim(
        "Recursions whose C* obeys (22) on every robot (sec. IV)",
        "0001 and 1110, up to 7 joints",
        f"{' and '.join(sorted(general))}, of chains with {', '.join(str(len(x)) for x in violated)} joints",
        verdict(general == SKEW),
    )


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
    values = np.array([[np.array(x) for x in f(*state)] for state in random_states(robot.n, 20)])
    return float(np.abs(values[:, 0] - values[:, 1]).max() / np.abs(values[:, 0]).max())


def random_states(n: int, count: int) -> FloatArray:
    """Random positions and velocities, (count, 2, n)."""
    return np.random.default_rng(0).normal(size=(count, 2, n))


def variants_figure(drawings: Drawings, robot: Robot) -> None:
    """Figure of the violation of (22) per recursion."""
    figure, (axis,) = drawings.panels(1, 7.5)
    for k, variant in enumerate(VARIANTS):
        size = violation(robot, variant)
        axis.bar(k, size, color=GREEN if variant in SKEW else BLUE)
        axis.annotate(f"{size:.2g}" if size >= 1 else f"{size:.1g}", (k, size), ha="center", va="bottom", size=8)
    axis.set_xticks(range(len(VARIANTS)), VARIANTS, rotation=60)
    axis.set(xlabel="recursion NE*", ylabel="largest |Ṁ − C* − C*ᵀ| / largest |Ṁ|", yscale="log", ylim=(1e-17, 30))
    caption = "Only 0001 and 1110 (green) give Ṁ − 2C skew; what is left of them is rounding."
    drawings.save(figure, "sixteen_recursions", "violation of (22) on the 7R arm", caption)


# All factorizations -----------------------------------------------------------------------------------------------


def star_robots() -> dict[str, Robot]:
    """Robots on which C* may equal Christoffel's C, and general ones."""
    shape: dict[str, Any] = {"mass": [1.0] * 3, "com": [[0.1, 0.02, 0.0]] * 3}
    shape["inertia"] = [np.diag([1.0, 2.0, 2.5])] * 3
    return {
        "planar 3R": from_dh("planar", [0.0] * 3, [0.4] * 3, [0.0] * 3, **shape),
        "spatial 2R": random_robot(2, 1, prismatic=0.0),
        "spatial 3R": random_robot(3, 1, prismatic=0.0),
        "LWR-III, 7R": load("dlr_lwr3"),
    }


def star_difference(robot: Robot) -> float:
    """Largest |C*_0001 − Christoffel's C| at random states relative to the largest |C|."""
    q, v = np.moveaxis(random_states(robot.n, 20), 1, 0)
    C, star = coriolis_matrix(robot, q, v), coriolis_matrix(robot, q, v, variant="0001")
    return float(np.abs(C - star).max() / np.abs(C).max())


class Line(NamedTuple):
    """Matrices C = C_christoffel + s (C_0001 − C_christoffel) + random skew ones; all relative to the largest |C|.

    Args:
        s: Parameters (m,): 1 is 0001, −1 is 1110.
        distance: Largest |C − C_christoffel|, (m,).
        defects: Largest |Ṁ − C − Cᵀ| and |C q' − c|, (m,) each; the last entries are of random members.
        freedom: Number of free functions of q.
    """

    s: FloatArray
    distance: FloatArray
    defects: tuple[FloatArray, FloatArray]
    freedom: int


def all_factorizations(robot: Robot, members: int = 100) -> Line:
    """Members of the set of all C along a line, and at random."""
    q, v = random_states(robot.n, 1)[0]
    C, rate, c = coriolis_matrix(robot, q, v), mass_matrix_rate(robot, q, v), coriolis_torque(robot, q, v)
    s, star = np.linspace(-1.5, 1.5, 30), factorization_parameters(robot, q)
    random = np.random.default_rng(1).normal(size=(members, star.size))
    found = np.array([coriolis_factorization(robot, q, v, x) for x in [*np.multiply.outer(s, star), *random]])
    largest = np.abs(C).max()
    defects = (
        np.abs(rate - found - found.transpose(0, 2, 1)).max(axis=(1, 2)) / largest,
        np.abs(found @ v - c).max(axis=1) / np.abs(c).max(),
    )
    return Line(s, np.abs(found[: s.size] - C).max(axis=(1, 2)) / largest, defects, star.size)


def factorization_claims(differences: Mapping[str, float], line: Line) -> list[Claim]:
    """Claims about C* and the set of all C."""
    equal = [name for name, x in differences.items() if x < 1e-12]
    other = [f"{x:.1g} on the {name}" for name, x in differences.items() if name not in equal]
    worst = max(x.max() for x in line.defects)
    return [
        Claim(
            "C* equals Christoffel's C on specific manipulators, and differs on others (sec. IV)",
            "no example",
            f"Equal on the {' and '.join(equal)}; relative difference {' and '.join(other)}",
            verdict(equal and other),
        ),
        Claim(
            "The complete set of all such matrices (sec. VI)",
            "future work",
            f"C + A with any totally antisymmetric A: {line.freedom} free functions of q for 7 joints, of which 100 "
            f"random members satisfy C q' = c and Ṁ = C + Cᵀ to {worst:.0e}",
            "solved here",
        ),
    ]


def factorization_figure(drawings: Drawings, differences: Mapping[str, float], line: Line) -> None:
    """Figure of C* against Christoffel's C, and of the set of all C."""
    figure, (left, right) = drawings.panels(2, 5.6)
    for k, x in enumerate(differences.values()):
        left.bar(k, max(x, 2e-17), color=GREEN if x < 1e-12 else BLUE)
        left.annotate(f"{x:.1g}", (k, max(x, 2e-17)), ha="center", va="bottom", size=8)
    left.set_xticks(range(len(differences)), [x.replace(" ", "\n") for x in differences])
    left.set(ylabel="largest |C* − C| / largest |C|", yscale="log", ylim=(1e-17, 10))
    left.set_title("C*_0001 and Christoffel's C", fontsize=10)
    size = line.s.size
    right.plot(line.s, line.distance, color=BLUE, label="|C − Christoffel's C|")
    right.plot(line.s, np.maximum(line.defects[0][:size], 1e-17), "--", color=GREEN, label="|Ṁ − C − Cᵀ|")
    right.plot(line.s, np.maximum(line.defects[1][:size], 1e-17), ":", color=RED, label="|C q' − c|")
    right.set(xlabel="member of the line", yscale="log", ylabel="relative to the largest |C|", ylim=(1e-17, 10))
    right.set_xticks([-1, 0, 1], ["1110", "Christoffel", "0001"])
    right.set_title("a line through the set of all C, 7R arm", fontsize=10)
    caption = (
        "C* is Christoffel's C where no body turns about three independent axes. Every matrix of the line satisfies "
        "both conditions to rounding; Christoffel's lies midway between the paper's two."
    )
    drawings.save(figure, "all_factorizations", "the set of all factorizations", caption)


# Cost -------------------------------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """Cost of one matrix C.

    Args:
        operations: With common subexpressions computed once.
        seconds: Time of a compiled call from Python, s.
        interpreted: CPU time of the operations in Python's interpreter, s: of the closed form written out.
    """

    operations: int
    seconds: float
    interpreted: float


def by_christoffel(robot: Robot, q: Expression, v: Expression) -> Expression:
    """C_ij = ½ Σ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) q_k', with M from the kinetic energy, symbolically."""
    n = robot.n
    M = ca.jacobian(ca.gradient(kinetic_energy.function(robot, q, v), v), v)
    slopes = ca.jacobian(ca.vec(M), q)
    D = [ca.reshape(slopes[:, k], n, n) for k in range(n)]
    C = ca.SX.zeros(n, n)
    for i in range(n):
        for j in range(n):
            C[i, j] = sum(((D[k][i, j] + D[j][i, k] - D[i][j, k]) * v[k] for k in range(n)), sx(0.0)) / 2
    return C


WAYS: dict[str, Callable[[Robot, Expression, Expression], Expression]] = {
    "closed form": by_christoffel,
    "sweeps NE*_0001": by_sweeps,
    "composite bodies": coriolis_matrix.function,
}


def ways_to_C(robot: Robot) -> dict[str, Cost]:
    """Cost of each method by name."""
    state, n = random_states(robot.n, 1)[0], robot.n
    costs, inputs, matrix = {}, [Array("q", (n,)), Array("v", (n,))], Array("C", (n, n))
    for name, way in WAYS.items():
        kernel = kernel_of(name, inputs, lambda q, v, way=way: [(matrix, way(robot, q, v))], loops=False)
        names = {"kernel": kernel, "q": state[0].copy(), "v": state[1].copy(), "out": (np.empty((n, n)),)}
        symbols = [ca.SX.sym(x, n) for x in "qv"]
        f = ca.Function("f", symbols, [ca.densify(way(robot, *symbols))])
        seconds = least_time("kernel(q, v, out=out)", names, 1000)
        interpreted, _ = interpreted_time(f, state, written_out=way is by_christoffel)
        costs[name] = Cost(kernel.operations, seconds, interpreted)
    return costs


def interpreted_time(f: Any, inputs: FloatArray, written_out: bool) -> tuple[float, FloatArray]:
    """CPU time, s, and value of a CasADi Function with one output in Python's interpreter.

    Args:
        f: The function.
        inputs: Its arguments, one row each.
        written_out: Whether a subexpression is computed wherever it occurs; otherwise once.
    """
    functions: dict[int, Callable[..., float]] = {
        **{ca.OP_ADD: add, ca.OP_SUB: sub, ca.OP_MUL: mul, ca.OP_DIV: truediv, ca.OP_NEG: neg},
        **{ca.OP_SIN: math.sin, ca.OP_COS: math.cos, ca.OP_SQ: lambda x: x * x, ca.OP_TWICE: lambda x: x + x},
    }
    nodes: list[Any] = []  # values, and (function, argument) or (function, argument, argument) by index
    written: dict[int, int] = {}  # the node at each index of the work vector
    outputs: list[tuple[int, int]] = []
    for k in range(f.n_instructions()):
        kind, at, to = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
        if kind == ca.OP_OUTPUT:
            outputs.append((to[1], written[at[0]]))
            continue
        if kind == ca.OP_CONST:
            nodes.append(f.instruction_constant(k))
        elif kind == ca.OP_INPUT:
            nodes.append(float(inputs[at[0]][at[1]]))
        else:
            nodes.append((functions[kind], *(written[i] for i in at)))
        written[to[0]] = len(nodes) - 1

    def tree_value(k: int) -> float:
        x = nodes[k]
        return x if type(x) is float else x[0](*[tree_value(i) for i in x[1:]])

    values: list[float] = []
    matrix = np.zeros(f.numel_out(0))
    begin = time.process_time()
    if not written_out:
        for x in nodes:
            values.append(x if type(x) is float else x[0](*[values[i] for i in x[1:]]))
    for index, node in outputs:
        matrix[index] = tree_value(node) if written_out else values[node]
    return time.process_time() - begin, matrix.reshape(f.size_out(0), order="F")


def residual_by_sweeps(robot: Robot, q: Expression, v: Expression) -> Expression:
    """p, g and Cᵀv of the links in N + 2 sweeps  [DeLuca (26)-(28)]."""
    still = ca.SX.zeros(robot.n)
    p = modified_recursion(robot, q, still, still, v, variant="0001")
    g = modified_recursion(robot, q, still, still, still, variant="0001", gravity=robot.gravity)
    return ca.vertcat(p, g, by_sweeps(robot, q, v).T @ v)


def residual_terms(robot: Robot, q: Expression, v: Expression) -> Expression:
    """The same by one velocity and one momentum sweep, and one for gravity."""
    p = generalized_momentum.function(robot.without_drives(), q, v)
    return ca.vertcat(p, gravity_torque.function(robot, q), coriolis_transpose_product.function(robot, q, v))


class CountsOverN(NamedTuple):
    """Operations for a general chain of n revolute joints, common subexpressions computed once."""

    n: int
    closed_form: int
    sweeps: int  # C by n sweeps
    composite: int
    one_sweep: int  # NE*(q, q', q_a', q'') with gravity


def counts_of(robot: Robot) -> CountsOverN:
    """Counts for a robot."""

    def sweep(*motion: Expression) -> Expression:
        return modified_recursion(robot, *motion, variant="0001", gravity=robot.gravity)

    n = robot.n
    ways = [operations(lambda q, v, way=way: ca.vec(way(robot, q, v)), n, n) for way in WAYS.values()]
    return CountsOverN._make([n, *ways, operations(sweep, n, n, n, n)])


def growth_grid(counts: Sequence[CountsOverN]) -> Grid:
    """Table of the counts over N."""
    headings = ["N", *WAYS, "one sweep NE*"]
    return Grid("operations_for_C_over_N", headings, [list(map(str, x)) for x in counts])


def cost_claims(costs: dict[str, Cost], counts: Sequence[CountsOverN]) -> list[Claim]:
    """Claims about the cost."""
    symbolic, sweeps, _ = costs.values()
    ratios = [x.closed_form / x.sweeps for x in counts]
    slopes = {(y.one_sweep - x.one_sweep) / (y.n - x.n) for x, y in pairwise(counts)}
    n = len(GOAL)
    return [
        Claim(
            "CPU seconds per C in an interpreter: closed form, seven sweeps (Fig. 3)",
            f"{PAPER_SECONDS[0]:g} and {PAPER_SECONDS[1]:g} s, 21 times less",
            f"{symbolic.interpreted:.2g} and {sweeps.interpreted:.2g} s, "
            f"{symbolic.interpreted / sweeps.interpreted:.0f} times less",
            "faster, by more",
        ),
        Claim(
            "The same compiled, with common subexpressions computed once",
            "not considered",
            f"{symbolic.seconds / sweeps.seconds:.1f} times less time and "
            f"{symbolic.operations / sweeps.operations:.1f} times fewer operations",
            "faster, by less",
        ),
        Claim(
            "Vector products in the seven sweeps (Fig. 3, calls of vprod)",
            "490",
            f"{vector_products(n)}: ten per link as printed, but none with f_N+1 = 0",
            "nearly",
        ),
        Claim(
            "The advantage over the closed form grows with N (sec. VI)",
            "expected",
            f"{', '.join(f'{x:.1f}' for x in ratios)} times fewer operations for {', '.join(map(str, LENGTHS))} joints",
            verdict(all(x < y for x, y in pairwise(ratios))),
        ),
        Claim(
            "The controller (25) needs a single sweep, O(N) (sec. IV-A)",
            "O(N)",
            f"{', '.join(f'{x:g}' for x in sorted(slopes))} operations per joint",
            verdict(len(slopes) == 1),
        ),
    ]


def vector_products(n: int) -> int:
    """Vector products of the n sweeps of `modified_recursion` over n revolute links."""
    return n * (10 * n - 1)


def costs_figure(drawings: Drawings, costs: dict[str, Cost]) -> None:
    """Figure of the times per C: the paper's, interpreted, compiled."""
    figure, (axis,) = drawings.panels(1, 7.5)
    series: dict[str, tuple[str, Sequence[float]]] = {
        "MATLAB, the paper": (YELLOW, PAPER_SECONDS),
        "Python's interpreter": (BLUE, [x.interpreted for x in costs.values()]),
        "compiled": (GREEN, [x.seconds for x in costs.values()]),
    }
    for k, (name, (colour, seconds)) in enumerate(series.items()):
        for at, value in enumerate(seconds):
            x = at + 0.28 * (k - 1)
            axis.bar(x, value, 0.26, color=colour, label=name if at == 0 else None)
            text = f"{value:.3g}" if value > 1e-3 else f"{value:.0e}"
            axis.annotate(text, (x, value), ha="center", va="bottom", size=8)
    axis.set_xticks(range(3), ["closed form,\nChristoffel", "seven sweeps\nNE*_0001", "composite bodies,\nadded here"])
    axis.set(ylabel="CPU time per C, s", yscale="log", ylim=(1e-7, 30))
    caption = (
        "Interpreted, the closed form is written out and the recursion wins by far, as in the paper; compiled with "
        "common subexpressions computed once, it wins by little."
    )
    drawings.save(figure, "figure_3_time_of_C", "time of one matrix C of the 7R arm", caption, "Fig. 3")
