"""Cost of three methods for the Coriolis matrix C, and the claims of [DeLuca sec. V]."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..dynamics.coriolis import coriolis_matrix
from ..dynamics.energy import kinetic_energy
from ..robot import Robot
from ..spatial import ca, sx
from ..types import Expression, FloatArray
from .report import Claim, Grid
from .timing import least_time
from .two_velocity_recursions import modified_recursion

PAPER_RATIO = 2.201 / 0.105  # Fig. 3


class Cost(NamedTuple):
    """Operations with common subexpressions computed once, and fully expanded; time per call, s."""

    operations: int
    expanded: int
    seconds: float


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
    return Cost(
        kernel.operations,
        expanded_size(symbols, way(robot, *symbols)),
        least_time("kernel(q, v, out=out)", names, 1000),
    )


def expanded_size(symbols: list[Expression], expression: Expression) -> int:
    """Operations without common subexpressions: the size of the expression as a tree."""
    f = ca.Function("f", symbols, [ca.densify(expression)])
    size: dict[int, int] = {}
    whole = 0
    for k in range(f.n_instructions()):
        kind, at, to = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
        if kind == ca.OP_OUTPUT:
            whole += size[at[0]]
        else:
            size[to[0]] = 0 if kind in (ca.OP_INPUT, ca.OP_CONST) else 1 + sum(size[i] for i in at)
    return whole


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
            "C from composite bodies, beyond the paper",
            "",
            f"{symbolic.operations / ours.operations:.1f} times fewer operations than the symbolic C, "
            f"{sweeps.operations / ours.operations:.1f} than the recursions; {ours.seconds * 1e6:.2f} µs per call",
            "faster still",
        ),
    ]


def costs_grid(costs: dict[str, Cost]) -> Grid:
    """Table of the costs."""
    headings = ["C of the 7R arm by", "operations", "fully expanded", "per call from Python, µs"]
    rows = [[x, str(y.operations), f"{y.expanded:.2g}", f"{y.seconds * 1e6:.2f}"] for x, y in costs.items()]
    return Grid("ways_to_C", headings, rows)
