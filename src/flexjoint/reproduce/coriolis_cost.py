"""Three ways to C, and what they cost, beside the claims of [DeLuca sec. V]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..dynamics.coriolis import coriolis_matrix
from ..dynamics.energy import kinetic_energy
from ..robot import Robot
from ..spatial import ca, sx
from .report import Claim, Grid
from .timing import least_time
from .two_velocity_recursions import modified_recursion

PAPER_RATIO = 2.201 / 0.105  # Fig. 3


class Cost(NamedTuple):
    """Operations with common parts computed once, and expanded; time of a call, s."""

    operations: int
    expanded: int
    seconds: float


def by_christoffel(robot: Robot, q: Any, v: Any) -> Any:
    """C_ij = ½ Σ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) q_k', of M from the kinetic energy, by symbolic derivatives."""
    n = robot.n
    M = ca.jacobian(ca.gradient(kinetic_energy.function(robot, q, v), v), v)
    slopes = ca.jacobian(ca.vec(M), q)
    D = [ca.reshape(slopes[:, k], n, n) for k in range(n)]
    C = ca.SX.zeros(n, n)
    for i in range(n):
        for j in range(n):
            C[i, j] = sum(((D[k][i, j] + D[j][i, k] - D[i][j, k]) * v[k] for k in range(n)), sx(0.0)) / 2
    return C


def by_sweeps(robot: Robot, q: Any, v: Any, variant: str = "0001") -> Any:
    """C* a column a sweep  [DeLuca (19), (24)]."""
    unit, still = ca.SX.eye(robot.n), ca.SX.zeros(robot.n)
    columns = [modified_recursion(robot, q, v, unit[:, j], still, variant=variant) for j in range(robot.n)]
    return ca.horzcat(*columns)


WAYS: dict[str, Callable[[Robot, Any, Any], Any]] = {
    "Christoffel's symbols, by symbolic derivatives of M": by_christoffel,
    "NE*_0001, one sweep a column": by_sweeps,
    "coriolis_matrix, composite bodies": coriolis_matrix.function,
}


def ways_to_C(robot: Robot) -> dict[str, Cost]:
    state = np.random.default_rng(0).normal(size=(2, robot.n))
    return {name: cost(robot, name, way, state) for name, way in WAYS.items()}


def cost(robot: Robot, name: str, way: Callable[[Robot, Any, Any], Any], state: np.ndarray) -> Cost:
    inputs, matrix = [Array("q", (robot.n,)), Array("v", (robot.n,))], Array("C", (robot.n, robot.n))
    kernel = kernel_of(name, inputs, lambda q, v: [(matrix, way(robot, q, v))], loops=False)
    names = {"kernel": kernel, "q": state[0].copy(), "v": state[1].copy(), "out": (np.empty(matrix.shape),)}
    symbols = [ca.SX.sym(name, robot.n) for name in "qv"]
    return Cost(
        kernel.operations,
        expanded_size(symbols, way(robot, *symbols)),
        least_time("kernel(q, v, out=out)", names, 1000),
    )


def expanded_size(symbols: list[Any], expression: Any) -> int:
    """Operations if no part of the expression is shared: its size as a tree."""
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
    symbolic, sweeps, ours = costs.values()
    return [
        Claim(
            f"C* by {n} sweeps of NE* against the symbolic C of Christoffel, time",
            f"{PAPER_RATIO:.0f} times less",
            f"{symbolic.seconds / sweeps.seconds:.1f} times less ({symbolic.seconds * 1e6:.2f} and "
            f"{sweeps.seconds * 1e6:.2f} µs), {symbolic.operations / sweeps.operations:.1f} times fewer operations "
            f"({symbolic.operations} and {sweeps.operations}) where common parts are computed once; the symbolic "
            f"expression without that has {symbolic.expanded:.1e} operations, "
            f"{symbolic.expanded / sweeps.operations:.0f} times as many as the sweeps",
            "faster, by less",
        ),
        Claim(
            "C from composite bodies, beyond the paper",
            "",
            f"{symbolic.operations / ours.operations:.1f} times fewer operations than the symbolic C, "
            f"{sweeps.operations / ours.operations:.1f} than the sweeps; {ours.seconds * 1e6:.2f} µs a call",
            "faster still",
        ),
    ]


def costs_grid(costs: dict[str, Cost]) -> Grid:
    headings = ["C of the 7R arm by", "operations", "without sharing", "a call from Python, µs"]
    rows = [[x, str(y.operations), f"{y.expanded:.2g}", f"{y.seconds * 1e6:.2f}"] for x, y in costs.items()]
    return Grid("ways_to_C", headings, rows)
