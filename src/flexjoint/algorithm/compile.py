"""Kernels from algorithms and from functions of SX: `compile`, and for parts of flexjoint `kernel_of`, `program_of`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..compiler.ir.program import Array, Program
from ..compiler.ir.scan import tracing
from ..compiler.pipeline import cached, trace
from ..compiler.runtime.kernel import Kernel, Result
from ..errors import InputError
from ..progress import activity
from ..robot import Robot
from ..spatial import ca
from ..types import Expression
from .algorithm import Algorithm
from .derivatives import in_a_tuple

Outputs: TypeAlias = Sequence[tuple[Array, Expression]]


def compile(
    algorithm: Algorithm,
    robot: Robot,
    arrays: int | None = None,
    *,
    free: Sequence[str] = (),
    derivatives: Sequence[tuple[str, str]] = (),
    **keywords: Any,
) -> Kernel:
    """The kernel of an algorithm for one robot, the fastest way to call it many times.

    Options are passed as to the algorithm; groups by the number of derivatives in each stack, for example
    `compile(fj.inverse_dynamics, robot, wrenches={"tool": 3})`.  The kernel takes the arrays in order, then the
    group members in the order given, then the free parameters.

    `free` names parameters of the robot that are given at each call instead of being built in, by paths or patterns
    such as `("link7.mass", "*.drive.stiffness")`; see `parameters` and docs/parameters.md.  `kernel.nominal` holds
    their values in this robot.

    With `derivatives`, pairs (output, input) such as `[("tau", "q"), ("tau", "link7.mass")]`, the kernel returns
    these derivatives instead, each (*output, *input): an array if it is one, else a tuple of arrays.  The input may be
    a path or pattern that is not free: the derivative is then taken at the robot's own value.
    """
    if not isinstance(algorithm, Algorithm):
        raise InputError(f"compile takes an algorithm such as fj.inverse_dynamics, not {algorithm!r}")
    structure = algorithm.structure(robot, arrays, free=free, derivatives=derivatives, **keywords)
    return algorithm.kernel(robot, structure)


def kernel_of(
    name: str,
    inputs: Sequence[Array],
    function: Callable[..., Outputs],
    key: str | None = None,
    type: Any = in_a_tuple,
    loops: bool = True,
) -> Kernel:
    """The kernel of a function of SX, see `program_of`; in the cache under the key, if there is one."""

    def traced() -> tuple[Program, Result]:
        program = program_of(name, inputs, function, loops)
        return program, Result([None] * len(program.outputs), type)

    return cached(key, traced, type)


def program_of(name: str, inputs: Sequence[Array], function: Callable[..., Outputs], loops: bool = True) -> Program:
    """Of a function of SX that takes a matrix for each input and returns the outputs with their expressions.

    An array of more than two dimensions is the matrix of its rows; `loops` must be False where the function takes
    derivatives.
    """
    with activity(f"tracing {name}"):
        symbols = [ca.SX.sym(x.name, *flattened(x.shape)) for x in inputs]
        with tracing(loops) as definitions:
            outputs = function(*map(ca.SX, symbols))  # copies: SX can be written into
        return trace(name, list(zip(inputs, symbols)), outputs, definitions)


def flattened(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape if len(shape) <= 2 else (math.prod(shape[:-1]), shape[-1])
