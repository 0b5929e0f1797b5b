"""What a call needs to know of a Program, stored with its object code: a kernel from disk needs no Program.

Description.of(program, (None,)).inputs        # (Array("q", (7,), "rad | m", ...), ...)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..ir.program import Array, Program
from ..llvm.kernel_ir import takes_strides


class Description(NamedTuple):
    """Names, shapes and units of inputs and outputs, and what error messages need."""

    name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    layers: tuple[int | None, ...]  # see `kernel.Result`
    operations: int
    angles: tuple[tuple[int, int], ...]  # input elements of which a sine or cosine is taken
    divisors: tuple[tuple[int, int], ...]  # ... and by which is divided
    strided: bool  # whether code for several rows takes strided outputs
    warnings: tuple[str, ...]  # raised while it was traced; a kernel from disk raises them again

    @classmethod
    def of(cls, program: Program, layers: tuple[int | None, ...], warnings: Sequence[str] = ()) -> Description:
        def inputs(*operations: str) -> tuple[tuple[int, int], ...]:
            """Elements of inputs that are the last operand of such operations."""
            leaves = {program.code[op.args[-1]] for op in program.code if op.name in operations}
            return tuple(sorted((leaf.args[0], leaf.args[1]) for leaf in leaves if leaf.name == "input"))

        return cls(
            program.name,
            program.inputs,
            program.outputs,
            layers,
            program.operations,
            angles=inputs("sin", "cos"),
            divisors=inputs("div"),
            strided=takes_strides(program),
            warnings=tuple(warnings),
        )

    @classmethod
    def from_json(cls, data: dict) -> Description:
        """From the JSON of the cache; raises any error if it is no description."""
        inputs, outputs = (
            tuple(Array(name, counts(shape), unit, tuple(labels)) for name, shape, unit, labels in data[side])
            for side in ("inputs", "outputs")
        )
        angles, divisors = (tuple((count(k), count(e)) for k, e in data[what]) for what in ("angles", "divisors"))
        rest = (count(data["operations"]), angles, divisors, bool(data["strided"]))
        warnings = tuple(map(str, data["warnings"]))
        layers = tuple(None if x is None else count(x) for x in data["layers"])
        if sum(x or 1 for x in layers) != len(outputs):
            raise ValueError("layers and outputs differ")
        return cls(str(data["name"]), inputs, outputs, layers, *rest, warnings)


def count(x: Any) -> int:
    """A whole number from 0."""
    if type(x) is not int or x < 0:
        raise TypeError(f"{x!r} counts nothing")
    return x


def counts(numbers: Iterable[Any]) -> tuple[int, ...]:
    """Whole numbers from 0."""
    return tuple(map(count, numbers))
