"""The measurements behind constants of the code: `python -m benchmarks.studies`.

FEW_JOINTS (algorithms/mass_matrix.py): operations of the mass matrix and of forward dynamics by either way.
CHUNK (compiler/llvm.py): compile and run time of one mass matrix for several lengths of a function.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
from rich.console import Console
from rich.table import Table

import flexjoint as fj
from flexjoint.algorithms.articulated_body import by_articulated_bodies
from flexjoint.algorithms.bodies import moving_bodies
from flexjoint.algorithms.mass_matrix import by_factorization, by_projection, by_walking
from flexjoint.compiler import llvm
from flexjoint.compiler.program import Array
from flexjoint.compiler.trace import trace

from .timing import FULL, interleaved

JOINTS = (2, 4, 7, 10, 12, 14, 16, 20, 30)
CHUNKS = (340, 500, 1000, 2000, 4000, 8000)


def operations(function: Callable[..., Any], n: int, arrays: int) -> str:
    inputs = [(Array(f"x{k}", (n,)), ca.SX.sym(f"x{k}", n)) for k in range(arrays)]
    result = function(*(symbol for _, symbol in inputs))
    return str(trace("study", inputs, [(Array("result", (result.numel(),)), result)]).operations)


def elements(way: Callable[..., Any], robot: fj.Robot, q: Any) -> Any:
    """The mass matrix as a vector."""
    return ca.vertcat(*(x for row in way(moving_bodies(robot), q) for x in row.values()))


def two_ways() -> Table:
    """Random chains of turning joints."""
    table = Table("joints", "M, walking", "M, projection", "factorization", "articulated bodies")
    table.title = "Operations of the mass matrix and of forward dynamics"
    for n in JOINTS:
        robot = fj.random_robot(n, seed=n, prismatic=0.0)
        matrices = [operations(partial(elements, way, robot), n, 1) for way in (by_walking, by_projection)]
        dynamics = [operations(partial(way, robot), n, 3) for way in (by_factorization, by_articulated_bodies)]
        table.add_row(str(n), *matrices, *dynamics)
    return table


def chunk_lengths(n: int = 60) -> Table:
    robot = fj.random_robot(n, seed=n, prismatic=0.0)
    program, result = fj.mass_matrix.trace(robot, fj.mass_matrix.structure(robot))
    table = Table("operations a function", "compile, s", "run, µs")
    table.title = f"Mass matrix of {n} joints, {program.operations} operations"
    kernels, compiled = {}, {}
    default = llvm.CHUNK
    for length in CHUNKS:
        llvm.CHUNK = length
        start = time.process_time()
        kernels[length] = fj.Kernel(program, result)
        compiled[length] = time.process_time() - start
    llvm.CHUNK = default
    names = {f"k{length}": kernel for length, kernel in kernels.items()}
    names |= {"q": np.zeros(n), "M": np.empty((n, n))}
    times = interleaved([f"k{length}(q, out=M)" for length in CHUNKS], names, FULL)
    for length, seconds in zip(CHUNKS, times):
        table.add_row(str(length), f"{compiled[length]:.2f}", f"{seconds * 1e6:.1f}")
    return table


if __name__ == "__main__":
    for study in (two_ways, chunk_lengths):
        Console().print(study())
