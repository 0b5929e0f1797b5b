"""Derivatives of what an algorithm computes, by CasADi's automatic differentiation.

The derivative of an output y by an input x has the shape (*y.shape, *x.shape).  CasADi takes forward or reverse sweeps,
whichever are fewer, several columns in one sweep where the Jacobian's zeros allow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..compiler.ir.program import Array
from ..spatial import ca


class Output(NamedTuple):
    """A result of an algorithm: its expression, or one for each order if it is a stack."""

    array: Array
    layers: list[Any]
    stacked: bool


def derivatives(
    outputs: Sequence[Output], inputs: Sequence[tuple[Array, Any]], wanted: Sequence[tuple[str, str]]
) -> list[Output]:
    """Those wanted, as pairs of names (of an output, by an input)."""
    y = {output.array.name: output for output in outputs}
    x = {array.name: (array, symbol) for array, symbol in inputs}
    return [derivative(y[of], *x[by]) for of, by in wanted]


def derivative(y: Output, x: Array, symbol: Any) -> Output:
    """∂y/∂x, of every layer of a stack."""
    wanted = ca.vec(symbol.T)  # row by row, as arrays are stored
    layers = [ca.jacobian(ca.vec(ca.densify(layer).T), wanted) for layer in y.layers]
    return Output(quotient(y.array, x), layers, y.stacked)


def quotient(y: Array, x: Array) -> Array:
    """Name, shape, unit and labels of ∂y/∂x."""
    labels = tuple(f"{a} / {b}" for a in element_names(y) for b in element_names(x))
    return Array(f"d{y.name}/d{x.name}", (*y.shape, *x.shape), f"{bracketed(y.unit)} / {bracketed(x.unit)}", labels)


def bracketed(unit: str) -> str:
    return unit if unit.isalnum() else f"({unit})"


def element_names(array: Array) -> tuple[str, ...]:
    """Names of the elements, where they have any."""
    return array.labels if array.shape else (array.name,)


def at_values(outputs: list[Output], known: Sequence[tuple[Any, float]]) -> list[Output]:
    """The outputs with numbers in place of some symbols."""
    flat = [layer for output in outputs for layer in output.layers]
    if known:
        symbols, numbers = zip(*known)
        flat = ca.substitute(flat, [ca.vertcat(*symbols)], [ca.SX(ca.DM(numbers))])
    found = iter(flat)
    return [output._replace(layers=[next(found) for _ in output.layers]) for output in outputs]


def in_a_tuple(*results: Any) -> tuple:
    """The type of a call's value where several derivatives were asked for."""
    return results
