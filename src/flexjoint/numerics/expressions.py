"""Values of SX expressions, by the reference interpreter: CasADi's own evaluation calls the C library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..compiler.ir.program import Program
from ..compiler.ir.reference import NumpyArithmetic, interpret
from ..compiler.ir.scan import Definition, Operation
from ..compiler.ir.trace import FUNCTIONS, Recorder, by_rows, unsupported_functions
from ..compiler.pipeline import optimise
from ..lazy import ca
from ..types import Expression, FloatArray


def unsupported(expressions: Sequence[Expression]) -> str:
    """What is wrong with expressions that no kernel can compute, such as "uses erf, which ..."; "" if nothing is."""
    found = unsupported_functions(expressions)
    return f"uses {', '.join(found)}, which no kernel has; write it with {', '.join(FUNCTIONS)}" if found else ""


class Rows(NumpyArithmetic):
    """Arrays over the rows, constants too."""

    def const(self, value: float) -> Any:
        return np.array([value])


def evaluate(
    symbols: Sequence[Expression],
    values: Sequence[Any],
    expressions: Sequence[Expression],
    definitions: Mapping[int, Definition | Operation] | None = None,
) -> list[FloatArray]:
    """Values of expressions, (rows, *shape) each.

    symbols, expressions: SX matrices
    values: (rows, ...) numbers per symbol.  CasADi folds its constants itself, with other bits: give numbers here
    definitions: the loops met while the expressions were made, see `tracing`; none by default
    """
    inputs = [np.asarray(x, dtype=float) for x in values]
    rows = len(inputs[0])
    recorder = Recorder("evaluate", [by_rows(ca, x) for x in symbols], definitions or {})
    results = tuple(tuple(x) for x in recorder.values([by_rows(ca, x) for x in expressions]))
    program = Program("evaluate", (), (), tuple(recorder.build.code), results).with_loop_bodies(optimise)
    with np.errstate(all="ignore"):
        found = interpret(program, [x.reshape(rows, math.prod(x.shape[1:])).T for x in inputs], Rows())
    shapes = [x.shape for x in expressions]
    return [
        np.array([np.broadcast_to(x, rows) for x in part]).T.reshape(rows, *shape) for part, shape in zip(found, shapes)
    ]
