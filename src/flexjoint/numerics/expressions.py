"""SX expressions in numbers: by the reference interpreter, as CasADi's own evaluation calls the C library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..compiler.ir.program import Program
from ..compiler.ir.reference import NumpyArithmetic, interpret
from ..compiler.ir.trace import Recorder, by_rows
from ..compiler.pipeline import optimise
from ..lazy import ca


class Rows(NumpyArithmetic):
    """Arrays over the rows, constants too."""

    def const(self, value: float) -> Any:
        return np.array([value])


def evaluate(
    symbols: Sequence[Any],
    values: Sequence[Any],
    expressions: Sequence[Any],
    definitions: Mapping[int, Any] | None = None,
) -> list[np.ndarray]:
    """The expressions for each row of `values`, which holds (rows, ...) numbers for every symbol: (rows, *shape) each.

    `symbols` and `expressions` are SX matrices; `definitions` are the loops met while they were made, see `tracing`.
    What is a constant to CasADi is folded by CasADi: give numbers as values of symbols.
    """
    inputs = [np.asarray(x, dtype=float) for x in values]
    rows = len(inputs[0])
    recorder = Recorder("evaluate", [by_rows(ca, x) for x in symbols], definitions or {})
    results = tuple(tuple(x) for x in recorder.values([by_rows(ca, x) for x in expressions]))
    program = Program("evaluate", (), (), tuple(recorder.build.code), results).with_loop_bodies(optimise)
    with np.errstate(all="ignore"):
        found = interpret(program, [x.reshape(rows, -1).T for x in inputs], Rows())
    shapes = [x.shape for x in expressions]
    return [
        np.array([np.broadcast_to(x, rows) for x in part]).T.reshape(rows, *shape) for part, shape in zip(found, shapes)
    ]
