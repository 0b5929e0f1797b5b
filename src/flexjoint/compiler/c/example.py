"""The program beside exported C that checks it against results of Python: `make check`.

    inverse_dynamics_kuka_lwr: 8 states, 0 differences

In double precision the results are the kernel's, bit for bit.  In single precision they are the reference
interpreter's, bit for bit, and beside them the double-precision kernel's: each must be met within its own bound on
rounding in single precision, computed for that state by running error analysis (rounding.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...errors import InputError
from ..ir.program import Array, Program
from ..ir.reference import SingleArithmetic, evaluate_rows
from ..runtime.kernel import Kernel
from .rounding import error_bounds
from .target import Target

STATES = 8
LARGEST = 1e5  # of the numbers tried
SLACK = 1.000001  # the kernel's own rounding, in double, beside that of single precision

MAIN = """\
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "@NAME@.h"

@TABLES@
int main(void)
{
    int bad = 0;
@DECLARE@    for (int k = 0; k < @STATES@; k++) {
@CALL@
@COMPARE@
    }
    printf("@NAME@: @STATES@ states, %d differences@MORE@);
    return bad != 0;
}
"""

BOUND = """\
        for (int e = 0; e < @SIZE@; e++) {
            const double error = fabs((double)@X@[e] - @X@_exact[k][e]);
            bad += !(error <= @X@_bound[k][e]);
            if (error > worst * @X@_bound[k][e])
                worst = error / @X@_bound[k][e];
        }"""


def example(
    kernel: Kernel, program: Program, name: str, target: Target, parameters: list[tuple[Array, str, str]]
) -> str:
    """The text of example.c; `parameters` are (array, C name, declaration), inputs first."""
    inputs, exact = states(kernel, program, target)
    arrays = [(array, c_name) for array, c_name, _ in parameters]
    results = arrays[len(inputs) :]
    computed = evaluate_rows(program, inputs, SingleArithmetic()) if target.single else exact
    real = target.format.name
    tables = [table(real, f"{x}_table", array, y, target) for (array, x), y in zip(arrays, [*inputs, *computed])]
    arguments = ", ".join([*(f"{x}_table[k]" for _, x in arrays[: len(inputs)]), *(x for _, x in results)])
    call = [f"        {real} {x}[{max(array.size, 1)}];" for array, x in results]
    call.append(f"        bad += {name}({arguments});")
    compare = [f"        bad += memcmp({x}, {x}_table[k], {array.size} * sizeof({real})) != 0;" for array, x in results]
    if target.single:
        for (array, x), values, bounds in zip(results, exact, error_bounds(program, inputs)):
            tables.append(table("double", f"{x}_exact", array, values, Target()))
            tables.append(table("double", f"{x}_bound", array, SLACK * bounds, Target()))
            compare.append(BOUND.replace("@X@", x).replace("@SIZE@", str(array.size)))
    texts = {
        "NAME": name,
        "TABLES": "\n".join(tables) + "\n",
        "STATES": str(len(exact[0])),
        "DECLARE": "    double worst = 0.0;\n" if target.single else "",
        "CALL": "\n".join(call),
        "COMPARE": "\n".join(compare),
        "MORE": ', errors up to %.2f of their bounds\\n", bad, worst' if target.single else '\\n", bad',
    }
    text = MAIN if target.single else MAIN.replace("#include <math.h>\n", "")
    for key, value in texts.items():
        text = text.replace(f"@{key}@", value)
    return text


def states(kernel: Kernel, program: Program, target: Target) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Random inputs for which the results are finite, in both precisions, and the kernel's results."""
    for inputs in candidates(kernel, target):
        exact = kernel.result.arrays(kernel(*inputs))
        tried = [*exact, *(evaluate_rows(program, inputs, SingleArithmetic()) if target.single else [])]
        good = np.logical_and.reduce([np.isfinite(x).reshape(len(x), -1).all(axis=1) for x in tried])
        if good.any():
            rows = np.flatnonzero(good)[:STATES]
            return [x[rows] for x in inputs], [x[rows] for x in exact]
    where = "single precision; export in double" if target.single else "double precision"
    raise InputError(f"{kernel.name} is not finite at any of {8 * STATES} random states in {where}")


def candidates(kernel: Kernel, target: Target) -> Iterator[list[np.ndarray]]:
    """Numbers of size 1; then, one array after the other, positive ones of any size: a stiffness must be large."""
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1.0, 1.0, (8 * STATES, *array.shape)).astype(target.number) for array in kernel.inputs]
    yield inputs
    sizes = np.geomspace(1.0, LARGEST, 8 * STATES)
    for k, x in enumerate(inputs):
        large = (1 + 0.1 * x) * sizes.reshape(-1, *[1] * (x.ndim - 1))
        yield [*inputs[:k], large.astype(target.number), *inputs[k + 1 :]]


def table(kind: str, name: str, array: Array, data: np.ndarray, target: Target) -> str:
    """A constant C array, one row a state."""
    rows = ",\n".join("    {" + ", ".join(map(target.literal, np.ravel(row))) + "}" for row in data)
    return f"static const {kind} {name}[{len(data)}][{max(array.size, 1)}] = {{\n{rows}\n}};"
