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
    """The kernel of an algorithm for one robot: the fastest way to call it many times.

    The kernel takes the positional arrays in order, then the keyword arrays, then the free parameters.

    Args:
        algorithm: Such as `fj.inverse_dynamics`.
        robot: Its numbers are built in.
        arrays: Number of positional arrays where the algorithm takes further derivatives; by default as many as the
            robot needs.
        free: Parameters of the robot that are given at each call instead, by paths or patterns such as
            `("link7.mass", "*.drive.stiffness")`; see `parameters` and docs/parameters.md.  `kernel.nominal` holds
            their values in this robot.
        derivatives: Pairs (output, input) such as `[("tau", "q"), ("tau", "link7.mass")]`: the kernel returns these
            derivatives instead, each (*output, *input), an array if it is one, else a tuple.  The input may be a path
            or pattern that is not free: the derivative is then taken at the robot's own value.
        keywords: Options as the algorithm takes them; keyword arrays by the lengths of their stacks, or True, for
            example `wrenches={"tool": 3}`, `stiffness=3`, `warm_start=True`.

    Returns:
        A Kernel.

    Raises:
        InputError: The algorithm does not take this robot or these keywords.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> kernel = fj.compile(fj.inverse_dynamics, fj.load("kuka_lwr"))
        >>> kernel(*np.zeros((5, 7))).shape
        (7,)
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
    """The kernel of a function of SX (see `program_of`); kept on disk under the key, if there is one."""

    def traced() -> tuple[Program, Result]:
        program = program_of(name, inputs, function, loops)
        return program, Result([None] * len(program.outputs), type)

    return cached(key, traced, type)


def program_of(name: str, inputs: Sequence[Array], function: Callable[..., Outputs], loops: bool = True) -> Program:
    """The Program of a function of SX that takes a matrix per input and returns the outputs with their expressions.

    An array of more than two dimensions is the matrix of its rows; `loops` must be False where the function takes
    derivatives.
    """
    with activity(f"tracing {name}"):
        symbols = [ca.SX.sym(x.name, *flattened(x.shape)) for x in inputs]
        with tracing(loops) as definitions:
            outputs = function(*map(ca.SX, symbols))  # copies: SX can be written into
        return trace(name, list(zip(inputs, symbols)), outputs, definitions)


def flattened(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a matrix that holds such an array."""
    return shape if len(shape) <= 2 else (math.prod(shape[:-1]), shape[-1])
