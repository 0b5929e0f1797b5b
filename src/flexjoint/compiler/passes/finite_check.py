"""The check that all results are finite: Σ 0·x is 0 if every x is finite, and NaN otherwise.

y1, y2        ->   y1, y2, check = 0·y1 + 0·y2
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from ..ir.program import Op, Program


def with_finite_check(program: Program, excluded: Container[tuple[int, int]] = ()) -> Program:
    """The Program with Σ 0·x over its results as its last value, in four partial sums.

    `excluded` are elements (output, element) that are checked elsewhere.
    """
    code = list(program.code)
    checked = [x for k, row in enumerate(program.results) for e, x in enumerate(row) if (k, e) not in excluded]
    zero = len(code)
    code.append(Op("const", (), 0.0))
    sums = [zero] * 4
    for k, x in enumerate(dict.fromkeys(checked)):
        code.append(Op("fma", (x, zero, sums[k % 4])))
        sums[k % 4] = len(code) - 1
    for x in sums[1:]:
        code.append(Op("add", (sums[0], x)))
        sums[0] = len(code) - 1
    return replace(program, code=tuple(code))
