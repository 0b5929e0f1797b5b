"""Cost of three methods for the Coriolis matrix C, and of the residual's terms: the claims of [DeLuca sec. IV-A, V].

The paper gives CPU seconds per matrix of MATLAB functions, which are interpreted: a closed-form expression as it comes
out of a symbolic toolbox, and seven sweeps.  The same is measured here with Python's interpreter, one scalar operation
after the other: of the closed form every operation of the expression written out, of the sweeps every operation once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import add, mul, neg, sub, truediv
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexjoint.algorithm.compile import kernel_of
from flexjoint.compiler.ir.program import Array
from flexjoint.dynamics.coriolis import coriolis_matrix, coriolis_transpose_product
from flexjoint.dynamics.energy import generalized_momentum, kinetic_energy
from flexjoint.dynamics.links import gravity_torque
from flexjoint.robot import Robot
from flexjoint.robot.random_robots import random_robot
from flexjoint.spatial import ca, sx
from flexjoint.types import Expression, FloatArray

from .operation_counts import operations
from .report import BLUE, GREEN, YELLOW, Claim, Grid, PaperFigure, least_time, new_figure, saved, verdict
from .two_velocity_recursions import modified_recursion

PAPER_SECONDS = (2.201, 0.105)  # Fig. 3: CPU time of the closed form, and of seven sweeps
PAPER_RATIO = PAPER_SECONDS[0] / PAPER_SECONDS[1]
VECTOR_PRODUCTS = 490  # Fig. 3: calls of vprod in seven sweeps


class Cost(NamedTuple):
    """Cost of one matrix C.

    Args:
        operations: With common subexpressions computed once.
        expanded: With the expression written out.
        seconds: Time of a compiled call from Python, s.
        interpreted: CPU time of the operations in Python's interpreter, s: of the closed form written out.
    """

    operations: int
    expanded: int
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


def by_sweeps(robot: Robot, q: Expression, v: Expression, variant: str = "0001") -> Expression:
    """C*, one recursion per column  [DeLuca (19), (24)]."""
    unit, still = ca.SX.eye(robot.n), ca.SX.zeros(robot.n)
    columns = [modified_recursion(robot, q, v, unit[:, j], still, variant=variant) for j in range(robot.n)]
    return ca.horzcat(*columns)


WAYS: dict[str, Callable[[Robot, Expression, Expression], Expression]] = {
    "Christoffel symbols, by symbolic derivatives of M": by_christoffel,
    "NE*_0001, one recursion per column": by_sweeps,
    "coriolis_matrix, composite bodies": coriolis_matrix.function,
}


def ways_to_C(robot: Robot) -> dict[str, Cost]:
    """Cost of each method by name."""
    state = np.random.default_rng(0).normal(size=(2, robot.n))
    return {name: cost(robot, name, way, state) for name, way in WAYS.items()}


def cost(
    robot: Robot, name: str, way: Callable[[Robot, Expression, Expression], Expression], state: FloatArray
) -> Cost:
    """Cost of one method; `state` is (2, n)."""
    inputs, matrix = [Array("q", (robot.n,)), Array("v", (robot.n,))], Array("C", (robot.n, robot.n))
    kernel = kernel_of(name, inputs, lambda q, v: [(matrix, way(robot, q, v))], loops=False)
    names = {"kernel": kernel, "q": state[0].copy(), "v": state[1].copy(), "out": (np.empty(matrix.shape),)}
    symbols = [ca.SX.sym(name, robot.n) for name in "qv"]
    f = ca.Function("f", symbols, [ca.densify(way(robot, *symbols))])
    return Cost(
        kernel.operations,
        expanded_size(f),
        least_time("kernel(q, v, out=out)", names, 1000),
        interpreted_time(f, state, written_out=way is by_christoffel)[0],
    )


def expanded_size(f: Any) -> int:
    """Operations of a CasADi Function with one output without common subexpressions: its size as trees."""
    size: dict[int, int] = {}
    whole = 0
    for k in range(f.n_instructions()):
        kind, at, to = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
        if kind == ca.OP_OUTPUT:
            whole += size[at[0]]
        else:
            size[to[0]] = 0 if kind in (ca.OP_INPUT, ca.OP_CONST) else 1 + sum(size[i] for i in at)
    return whole


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
    nodes: list[Any] = []  # numbers, and (function, argument) or (function, argument, argument) by index
    written: dict[int, int] = {}  # the node in each place of the work vector
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
    found = np.zeros(f.numel_out(0))
    begin = time.process_time()
    values = nodes if written_out else once(nodes)
    for place, node in outputs:
        found[place] = tree_value(nodes, node) if written_out else values[node]
    return time.process_time() - begin, found.reshape(f.size_out(0), order="F")


def once(nodes: Sequence[Any]) -> list[float]:
    """Value of every node."""
    values: list[float] = []
    for x in nodes:
        values.append(x if type(x) is float else x[0](*[values[i] for i in x[1:]]))
    return values


def tree_value(nodes: Sequence[Any], k: int) -> float:
    """Value of a node, computed from the leaves."""
    x = nodes[k]
    if type(x) is float:
        return x
    return x[0](*[tree_value(nodes, i) for i in x[1:]])


# The residual's terms -----------------------------------------------------------------------------------------------


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


def residual_claim(robot: Robot) -> Claim:
    """Claim about the cost of the residual."""
    inputs, terms = [Array("q", (robot.n,)), Array("v", (robot.n,))], Array("terms", (3 * robot.n,))
    sweeps, ours = (
        kernel_of(way.__name__, inputs, lambda q, v, way=way: [(terms, way(robot, q, v))], loops=False).operations
        for way in (residual_by_sweeps, residual_terms)
    )
    return Claim(
        "the residual (6) needs N + 2 sweeps, O(N²)",
        "no number",
        f"p, g and Cᵀq' in {sweeps} operations for N = {robot.n}; {ours} with Cᵀq' from one velocity and one momentum "
        "sweep, O(N)",
        "cheaper here",
    )


# Over the number of joints ------------------------------------------------------------------------------------------


class CountsOverN(NamedTuple):
    """Operations for a general chain of n revolute joints, common subexpressions computed once."""

    n: int
    closed_form: int
    sweeps: int  # C by n sweeps
    composite: int
    one_sweep: int  # NE*(q, q', q_a', q'') with gravity

    @property
    def ratio(self) -> float:
        """Of the closed form to n sweeps."""
        return self.closed_form / self.sweeps


def counts_over_n(lengths: Sequence[int]) -> list[CountsOverN]:
    """Counts for chains of these lengths."""
    return [counts_of(random_robot(n, 1, prismatic=0.0)) for n in lengths]


def counts_of(robot: Robot) -> CountsOverN:
    """Counts for a robot."""

    def sweep(*motion: Expression) -> Expression:
        return modified_recursion(robot, *motion, variant="0001", gravity=robot.gravity)

    n = robot.n
    symbolic, sweeps, composite = (
        operations(lambda q, v, way=way: ca.vec(way(robot, q, v)), n, n) for way in WAYS.values()
    )
    return CountsOverN(n, symbolic, sweeps, composite, operations(sweep, n, n, n, n))


def growth_claims(counts: Sequence[CountsOverN]) -> list[Claim]:
    """Claims about the number of joints."""
    ratios = ", ".join(f"{x.ratio:.1f}" for x in counts)
    joints = ", ".join(str(x.n) for x in counts)
    slopes = {(y.one_sweep - x.one_sweep) / (y.n - x.n) for x, y in pairwise(counts)}
    linear = f"{slopes.pop():g} operations per joint" if len(slopes) == 1 else "not linear"
    rising = all(x.ratio < y.ratio for x, y in pairwise(counts))
    return [
        Claim(
            "the advantage over the closed form grows with N (sec. VI)",
            "expected",
            f"general chains with {joints} joints: {ratios} times fewer operations",
            verdict(rising),
        ),
        Claim(
            "law (25) in a single sweep, O(N) (sec. IV-A)",
            "O(N)",
            f"{linear}: {', '.join(str(x.one_sweep) for x in counts)} operations",
            verdict("per joint" in linear),
        ),
    ]


def growth_grid(counts: Sequence[CountsOverN]) -> Grid:
    """Table of the counts over N."""
    headings = ["N", "C, closed form", "C, N sweeps", "ratio", "C, composite bodies", "one sweep NE*"]
    rows = [
        [str(x.n), str(x.closed_form), str(x.sweeps), f"{x.ratio:.1f}", str(x.composite), str(x.one_sweep)]
        for x in counts
    ]
    return Grid("operations_over_N", headings, rows)


# Claims, table and figure -------------------------------------------------------------------------------------------


def cost_claims(costs: dict[str, Cost], n: int) -> list[Claim]:
    """Claims about the cost."""
    symbolic, sweeps, ours = costs.values()
    return [
        Claim(
            f"time of C* by {n} recursions NE* against the symbolic C by Christoffel symbols",
            f"{PAPER_RATIO:.0f} times less",
            f"{symbolic.seconds / sweeps.seconds:.1f} times less ({symbolic.seconds * 1e6:.2f} and "
            f"{sweeps.seconds * 1e6:.2f} µs), {symbolic.operations / sweeps.operations:.1f} times fewer operations "
            f"({symbolic.operations} and {sweeps.operations}) with common subexpressions computed once; without, the "
            f"symbolic expression has {symbolic.expanded:.1e} operations, "
            f"{symbolic.expanded / sweeps.operations:.0f} times as many as the recursions",
            "faster, by less",
        ),
        Claim(
            "the same in the paper's unit: CPU seconds per C in an interpreter (Fig. 3)",
            f"{PAPER_SECONDS[0]:g} and {PAPER_SECONDS[1]:g} s, MATLAB, 1.83 GHz",
            f"{symbolic.interpreted:.2g} and {sweeps.interpreted:.2g} s in Python, "
            f"{symbolic.interpreted / sweeps.interpreted:.0f} times less: the closed form written out, the sweeps "
            f"without calls of functions; compiled {symbolic.seconds:.1e} and {sweeps.seconds:.1e} s",
            "faster, by more",
        ),
        Claim(
            "vector products in the seven sweeps (Fig. 3, calls of vprod)",
            f"{VECTOR_PRODUCTS}",
            f"{vector_products(n)}: ten per link as printed, but none with f_N+1 = 0",
            "nearly",
        ),
        Claim(
            "C from composite bodies, beyond the paper",
            "",
            f"{symbolic.operations / ours.operations:.1f} times fewer operations than the symbolic C, "
            f"{sweeps.operations / ours.operations:.1f} than the recursions; {ours.seconds * 1e6:.2f} µs per call",
            "faster still",
        ),
    ]


def vector_products(n: int) -> int:
    """Vector products of the n sweeps of `modified_recursion` over n revolute links."""
    return n * (10 * n - 1)


def costs_grid(costs: dict[str, Cost]) -> Grid:
    """Table of the costs."""
    headings = ["C of the 7R arm by", "operations", "written out", "compiled, per call, s", "interpreted, CPU s"]
    rows = [
        [x, str(y.operations), f"{y.expanded:.2g}", f"{y.seconds:.2e}", f"{y.interpreted:.2e}"]
        for x, y in costs.items()
    ]
    return Grid("ways_to_C", headings, rows)


def costs_figure(folder: Path, costs: dict[str, Cost]) -> PaperFigure:
    """Figure of the times per C: the paper's, interpreted, compiled."""
    figure, axis = new_figure(7.5, 3.8)
    symbolic, sweeps, ours = costs.values()
    series: dict[str, tuple[str, list[float | None]]] = {
        "MATLAB, the paper": (YELLOW, [*PAPER_SECONDS, None]),
        "Python's interpreter": (BLUE, [x.interpreted for x in (symbolic, sweeps, ours)]),
        "compiled": (GREEN, [x.seconds for x in (symbolic, sweeps, ours)]),
    }
    for k, (name, (colour, seconds)) in enumerate(series.items()):
        for at, value in enumerate(seconds):
            if value is not None:
                axis.bar(at + 0.28 * (k - 1), value, 0.26, color=colour, label=name if at == 0 else None)
                axis.annotate(
                    f"{value:.3g}" if value > 1e-3 else f"{value:.0e}",
                    (at + 0.28 * (k - 1), value),
                    ha="center",
                    va="bottom",
                    size=8,
                )
    axis.set_xticks(range(3), ["closed form,\nChristoffel", "seven sweeps\nNE*_0001", "composite\nbodies"])
    axis.set(title="Time of one matrix C of the 7R arm", ylabel="CPU time per C, s", yscale="log", ylim=(1e-7, 30))
    caption = (
        "Time of one matrix C. Interpreted, the closed form is written out and the recursion wins by far, as in the "
        "paper; compiled with common subexpressions computed once, it wins by little, and composite bodies win over "
        "both. The paper has no third method."
    )
    return saved(figure, folder / "time_of_C.png", caption, "Fig. 3")
