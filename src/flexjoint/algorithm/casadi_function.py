"""Algorithms as `casadi.Function`, for optimal control, estimation and code of others: `casadi_function`.

An algorithm of a robot is a graph of SX operations, so its Function is made of SX too, and CasADi differentiates it to
any order.  Only the roots that kernels search for (springs without a closed inverse, some drives of variable stiffness)
allow a choice:

    unrolled      every step of the search written out: SX, the same inputs and outputs
    rootfinder    casadi.rootfinder from there: MX, derivatives by the implicit function theorem
    unknowns      the roots are an input, their equations an output: SX for a solver with algebraic variables
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..compiler.ir.program import Array
from ..compiler.runtime.calling import COMPILER_STACK, with_stack
from ..errors import InputError, shown
from ..numerics.roots import Unknown, as_unknowns
from ..progress import activity
from ..robot import Robot
from ..spatial import ca
from ..types import Expression
from .algorithm import Algorithm

SEARCHES = ("unrolled", "rootfinder", "unknowns")
NEWTON = {"abstol": 0.0, "abstolStep": 1e-12, "max_iter": 8, "error_on_fail": False}  # from roots to rounding


class Graph(NamedTuple):
    """An algorithm of a robot in SX: names, symbols and expressions."""

    name: str
    input_names: list[str]
    inputs: list[Expression]
    output_names: list[str]
    outputs: list[Expression]
    unknowns: list[Unknown]  # roots that are symbols

    @property
    def roots(self) -> Expression:
        """Symbols of all roots, a column."""
        return ca.vertcat(*(x.x for x in self.unknowns))

    @property
    def equations(self) -> Expression:
        """Their equations, 0 at the roots, a column."""
        return ca.vertcat(*(x.residual for x in self.unknowns))


def casadi_function(
    algorithm: Algorithm,
    robot: Robot,
    arrays: int | None = None,
    *,
    searches: str = "unrolled",
    free: Sequence[str] = (),
    **keywords: Any,
) -> Any:
    """The `casadi.Function` of an algorithm for one robot; it takes numbers, SX and MX, and CasADi differentiates it.

    Inputs are those of the kernel that `compile` makes, in the same order: positional arrays, keyword arrays, free
    parameters.  Their names are those of the kernel with `_` in place of other characters: `q`, `wrenches_tool_0`,
    `link7_mass`.  A vector is a dense column (n, 1), a matrix keeps its shape and its structural zeros, a number is
    (1, 1).  An output that is a stack of derivatives is one output per order, `tau_0`, `tau_1`.  An output named like
    an input ends in `_out`.

    Args:
        algorithm: Such as `fj.inverse_dynamics`.
        robot: Its numbers are built in.
        arrays: Number of positional arrays where the algorithm takes further derivatives; by default as many as the
            robot needs.
        searches: What becomes of roots that a kernel searches for; without such roots the Functions are the same.
            "unrolled", the default: all steps of the search written out, SX.
            "rootfinder": `casadi.rootfinder`, MX, derivatives by the implicit function theorem.
            "unknowns": the roots are one more input `unknowns` (rad or m), their equations one more output `residuals`,
            zero where the unknowns are right, SX.  `casadi_search` computes them.
        free: Parameters of the robot that are inputs, by paths or patterns; see docs/parameters.md.
        keywords: As in `compile`: options, and keyword arrays by the lengths of their stacks, for example
            `wrenches={"tool": 1}`, `stiffness=3`.

    Returns:
        A `casadi.Function`.

    Raises:
        InputError: The algorithm does not take this robot or these keywords, or `searches` is not known.

    Example:
        >>> import flexjoint as fj
        >>> print(fj.algorithm.casadi_function(fj.gravity_torque, fj.load("kuka_lwr")))
        gravity_torque:(q[7])->(tau[7]) SXFunction
    """
    if searches not in SEARCHES:
        raise InputError(f"casadi_function: searches is {shown(searches)}; it must be one of {', '.join(SEARCHES)}")

    def made() -> Any:
        if searches == "unrolled":
            return function_of(traced("casadi_function", algorithm, robot, arrays, free, keywords))
        checked = searches == "rootfinder"
        with as_unknowns(checked) as unknowns:
            graph = traced("casadi_function", algorithm, robot, arrays, free, keywords)._replace(unknowns=unknowns)
        if searches == "rootfinder" and unknowns:
            return with_rootfinder(graph)
        return function_of(graph)

    return with_stack(COMPILER_STACK, made)


def casadi_search(
    algorithm: Algorithm, robot: Robot, arrays: int | None = None, *, free: Sequence[str] = (), **keywords: Any
) -> Any:
    """The `casadi.Function` from the inputs of an algorithm to the unknowns of `casadi_function(searches="unknowns")`.

    It is the search of the kernels written out in SX: a start for a solver, and the exact values where there are any.

    Args:
        algorithm, robot, arrays, free, keywords: As in `casadi_function`.

    Returns:
        A `casadi.Function` with one output `unknowns`, a column, rad or m; empty if nothing is searched for.

    Raises:
        InputError: The algorithm does not take this robot or these keywords.

    Example:
        >>> import flexjoint as fj
        >>> arm = fj.load("kuka_lwr")
        >>> fj.algorithm.casadi_search(fj.inverse_dynamics, arm).size1_out(0)
        0
    """

    def made() -> Any:
        with as_unknowns(checked=True) as unknowns:
            graph = traced("casadi_search", algorithm, robot, arrays, free, keywords)._replace(unknowns=unknowns)
        return search_of(graph)

    return with_stack(COMPILER_STACK, made)


def traced(
    owner: str,
    algorithm: Algorithm,
    robot: Robot,
    arrays: int | None,
    free: Sequence[str],
    keywords: dict[str, Any],
) -> Graph:
    """The algorithm run on symbols."""
    if not isinstance(algorithm, Algorithm):
        raise InputError(f"{owner} takes an algorithm such as fj.inverse_dynamics, not {shown(algorithm)}")
    if "derivatives" in keywords:
        raise InputError(f"{owner}: derivatives= is for kernels; differentiate the Function: function.jacobian()")
    structure = algorithm.structure(robot, arrays, free=free, **keywords)
    with activity(f"tracing {algorithm.__name__} of {robot.name}"):
        inputs, outputs = algorithm.expressions(robot, structure)
    layers = [
        (f"{output.array.name}[{k}]" if output.stacked else output.array.name, shaped(output.array, layer))
        for output in outputs
        for k, layer in enumerate(output.layers)
    ]
    input_names = identifiers(array.name for array, _ in inputs)
    output_names = identifiers(name for name, _ in layers)
    return Graph(
        identifiers([algorithm.__name__])[0],
        input_names,
        [symbol for _, symbol in inputs],
        [f"{name}_out" if name in input_names else name for name in output_names],
        [layer for _, layer in layers],
        [],
    )


def shaped(array: Array, layer: Expression) -> Expression:
    """An output as a dense column, or as a matrix, of the rows of an array if that has more dimensions."""
    return layer if len(array.shape) > 1 else ca.densify(layer)


def identifiers(names: Iterable[str]) -> list[str]:
    """Names with `_` in place of characters that an identifier cannot have; equal ones are numbered."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "x"
        plain = f"x_{plain}" if plain[0].isdigit() else plain
        chosen, count = plain, 1
        while chosen in found:
            count += 1
            chosen = f"{plain}_{count}"
        found.append(chosen)
    return found


def function_of(graph: Graph) -> Any:
    """The Function of a graph, its unknowns an input."""
    inputs, outputs = list(zip(graph.input_names, graph.inputs)), list(zip(graph.output_names, graph.outputs))
    if graph.unknowns:
        inputs.append(("unknowns", graph.roots))
        outputs.append(("residuals", graph.equations))
    return ca.Function(
        graph.name, [x for _, x in inputs], [x for _, x in outputs], [x for x, _ in inputs], [x for x, _ in outputs]
    )


def search_of(graph: Graph) -> Any:
    """The Function from inputs to unknowns."""
    found: list[Expression] = []
    for k, unknown in enumerate(graph.unknowns):  # a search may need the unknowns before it
        found += ca.substitute([unknown.search], [x.x for x in graph.unknowns[:k]], found) if k else [unknown.search]
    outputs = [ca.vertcat(*found) if found else ca.SX(0, 1)]
    return ca.Function(f"{graph.name}_search", graph.inputs, outputs, graph.input_names, ["unknowns"])


def with_rootfinder(graph: Graph) -> Any:
    """The Function in MX whose unknowns a rootfinder gives; it starts at the roots that the search finds."""
    search, function = search_of(graph), function_of(graph)
    given = ca.vertcat(*map(ca.vec, graph.inputs))
    equations = {"x": graph.roots, "p": given, "g": graph.equations}
    solver = ca.rootfinder(f"{graph.name}_roots", "fast_newton", equations, NEWTON)
    inputs = [ca.MX.sym(name, *symbol.shape) for name, symbol in zip(graph.input_names, graph.inputs)]
    roots = solver(search(*inputs), ca.vertcat(*map(ca.vec, inputs)))
    *outputs, _ = function.call([*inputs, roots])
    return ca.Function(graph.name, inputs, outputs, graph.input_names, graph.output_names)
