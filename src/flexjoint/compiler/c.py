"""From a Program to C99: one function without allocation, global state, loops or branches, for use without Python.

The file needs `fma`, `sqrt`, `floor`, `fabs` and `copysign` of <math.h> and nothing else.  Constants are written as
hexadecimal floats, selections are masks on bits, and contraction is switched off, so the function computes the bits
of the compiled kernel, with the same instructions whatever its input.  (GCC ignores the standard pragma; use
-ffp-contract=off with other compilers.)
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from ..errors import InputError
from .elementary import POW2_MAGIC
from .kernel import Kernel
from .llvm import with_finite_check
from .program import ARITY, Array
from .reference import apply

HELPERS = """\
typedef union { double x; uint64_t u; } fj_bits;

static inline double fj_select(int c, double x, double y)
{
    fj_bits a, b;
    const uint64_t mask = UINT64_C(0) - (uint64_t)(c != 0);
    a.x = x;
    b.x = y;
    a.u = (a.u & mask) | (b.u & ~mask);
    return a.x;
}

static inline double fj_exponent(double x)
{
    fj_bits a;
    a.x = x;
    return (double)(int64_t)((a.u >> 52) & 0x7FF) - 1023.0;
}

static inline double fj_mantissa(double x)
{
    fj_bits a;
    a.x = x;
    a.u = (a.u & UINT64_C(0x000FFFFFFFFFFFFF)) | UINT64_C(0x3FF0000000000000);
    return a.x;
}

static inline double fj_pow2(double k)
{
    fj_bits a;
    a.x = k + @MAGIC@;
    a.u <<= 52;
    return a.x;
}
"""

MAKEFILE = """\
CC ?= cc
CFLAGS ?= -O2
FLAGS = -std=c99 -Wall -Wextra -Wpedantic -Werror -ffp-contract=off

.PHONY: check clean

check: example
\t./example

example: example.c @NAME@.c @NAME@.h
\t$(CC) $(CFLAGS) $(FLAGS) -o $@ example.c @NAME@.c -lm

clean:
\trm -f example
"""


class Emitter:
    """Arithmetic (see elementary.py) whose numbers are names of C variables; collects statements."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def put(self, expression: str, kind: str = "double") -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"    const {kind} {name} = {expression};")
        return name

    def const(self, x: float) -> str:
        if math.isnan(x):
            return "(double)NAN"
        if math.isinf(x):
            return f"{'-' if x < 0 else ''}(double)INFINITY"
        return float(x).hex() if math.copysign(1.0, x) > 0 else f"({float(x).hex()})"

    def add(self, a: str, b: str) -> str:
        return self.put(f"{a} + {b}")

    def sub(self, a: str, b: str) -> str:
        return self.put(f"{a} - {b}")

    def mul(self, a: str, b: str) -> str:
        return self.put(f"{a} * {b}")

    def div(self, a: str, b: str) -> str:
        return self.put(f"{a} / {b}")

    def neg(self, a: str) -> str:
        return self.put(f"-{a}")

    def fma(self, a: str, b: str, c: str) -> str:
        return self.put(f"fma({a}, {b}, {c})")

    def sqrt(self, a: str) -> str:
        return self.put(f"sqrt({a})")

    def abs(self, a: str) -> str:
        return self.put(f"fabs({a})")

    def floor(self, a: str) -> str:
        return self.put(f"floor({a})")

    def copysign(self, magnitude: str, sign: str) -> str:
        return self.put(f"copysign({magnitude}, {sign})")

    def lt(self, a: str, b: str) -> str:
        return self.put(f"{a} < {b}", "int")

    def le(self, a: str, b: str) -> str:
        return self.put(f"{a} <= {b}", "int")

    def eq(self, a: str, b: str) -> str:
        return self.put(f"{a} == {b}", "int")

    def select(self, mask: str, a: str, b: str) -> str:
        return self.put(f"fj_select({mask}, {a}, {b})")

    def exponent(self, x: str) -> str:
        return self.put(f"fj_exponent({x})")

    def mantissa(self, x: str) -> str:
        return self.put(f"fj_mantissa({x})")

    def pow2(self, k: str) -> str:
        return self.put(f"fj_pow2({k})")


def export(kernel: Kernel, name: str, folder: Path, about: str) -> list[Path]:
    """Write NAME.h, NAME.c, a self-checking example.c and its Makefile; returns their paths."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise InputError(f"{name!r} is no name of a C function; use letters, digits and underscores")
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        f"{name}.h": header(kernel, name, about),
        f"{name}.c": source(kernel, name),
        "example.c": example(kernel, name),
        "Makefile": MAKEFILE.replace("@NAME@", name),
    }
    for file, text in files.items():
        (folder / file).write_text(text)
    return [folder / file for file in files]


def parameters(kernel: Kernel) -> list[tuple[Array, str, str]]:
    """(array, C name, declaration) of every parameter; several outputs of one name are numbered."""
    found, taken = [], set()
    for array, kind in [(x, "const double") for x in kernel.inputs] + [(x, "double") for x in kernel.outputs]:
        base = re.sub(r"[^A-Za-z0-9_]+", "_", array.name).strip("_")
        name = next(x for x in [base, *(f"{base}_{k}" for k in range(1, 200))] if x not in taken)
        taken.add(name)
        found.append((array, name, f"{kind} {name}[{max(array.size, 1)}]"))
    return found


def signature(kernel: Kernel, name: str) -> str:
    return f"int {name}(" + ", ".join(declaration for _, _, declaration in parameters(kernel)) + ")"


def header(kernel: Kernel, name: str, about: str) -> str:
    guard = f"{name.upper()}_H"
    lines = [f" * {line}".rstrip() for line in about.splitlines()]
    for k, (array, c_name, _) in enumerate(parameters(kernel)):
        side = "in " if k < len(kernel.inputs) else "out"
        order = ", ".join(array.labels) if array.labels else "row by row"
        shape = " x ".join(map(str, array.shape)) or "1"
        lines.append(f" *   {side} {c_name}: {shape}, {array.unit}; {order}")
    body = "\n".join(lines).replace("*/", "* /")  # names are the user's
    return (
        f"#ifndef {guard}\n#define {guard}\n\n/*\n{body}\n *\n"
        " * Returns 0, or 1 if a result is not finite. Arrays must not overlap.\n"
        f" */\n{signature(kernel, name)};\n\n#endif\n"
    )


def source(kernel: Kernel, name: str) -> str:
    program, check = with_finite_check(kernel.program)
    names = [c_name for _, c_name, _ in parameters(kernel)]
    emit = Emitter()
    value: dict[int, str] = {}
    for i, op in enumerate(program.code):
        if op.name == "const":
            value[i] = emit.const(op.constant)
        elif op.name == "input":
            value[i] = f"{names[op.args[0]]}[{op.args[1]}]"
        else:
            assert op.name in ARITY
            value[i] = apply(emit, op.name, [value[x] for x in op.args])
    stores = [
        f"    {names[len(kernel.inputs) + k]}[{e}] = {value[x]};"
        for k, row in enumerate(program.results)
        for e, x in enumerate(row)
    ]
    used = {i for op in program.code if op.name == "input" for i in op.args[:1]}
    unused = [f"    (void){names[k]};" for k in range(len(kernel.inputs)) if k not in used]
    return "\n".join(
        [
            "#if defined(__GNUC__) && !defined(__clang__)",
            '#pragma GCC optimize("fp-contract=off")',
            "#else",
            "#pragma STDC FP_CONTRACT OFF",
            "#endif",
            "#include <math.h>",
            "#include <stdint.h>",
            f'#include "{name}.h"',
            "",
            needed_helpers("\n".join(emit.lines)),
            signature(kernel, name),
            "{",
            *unused,
            *emit.lines,
            *stores,
            f"    return !({value[check]} == 0.0);",
            "}",
            "",
        ]
    )


def needed_helpers(body: str) -> str:
    """The helper functions that the body calls: an unused static function would be a warning."""
    typedef, *functions = HELPERS.replace("@MAGIC@", float(POW2_MAGIC).hex()).split("\n\n")
    used = [f for f in functions if re.search(r"(fj_\w+)\(", f).group(1) + "(" in body]  # type: ignore[union-attr]
    return "\n\n".join([typedef, *used, ""]) if used else ""


def example(kernel: Kernel, name: str, count: int = 8) -> str:
    """A program that compares the function with results of the Python kernel, bit for bit."""
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1.0, 1.0, (count, *array.shape)) for array in kernel.inputs]
    value = kernel(*inputs)
    results = list(value) if kernel.result.type is not None else [value]
    outputs: list[np.ndarray] = []
    for layers, result in zip(kernel.result.layers, results):
        outputs += [result] if layers is None else list(result)
    every = parameters(kernel)
    tables = [
        f"static const double {c_name}_table[{count}][{max(array.size, 1)}] = {{\n{rows(data)}\n}};"
        for (array, c_name, _), data in zip(every, [*inputs, *outputs])
    ]
    results_at = every[len(kernel.inputs) :]
    arguments = [f"{c_name}_table[k]" for _, c_name, _ in every[: len(kernel.inputs)]]
    lines = [
        "#include <stdio.h>",
        "#include <string.h>",
        f'#include "{name}.h"',
        "",
        *tables,
        "",
        "int main(void)",
        "{",
        "    int bad = 0;",
        f"    for (int k = 0; k < {count}; k++) {{",
        *(f"        double {c_name}[{max(array.size, 1)}];" for array, c_name, _ in results_at),
        f"        bad += {name}({', '.join([*arguments, *(c_name for _, c_name, _ in results_at)])});",
        *(
            f"        bad += memcmp({c_name}, {c_name}_table[k], {array.size} * sizeof(double)) != 0;"
            for array, c_name, _ in results_at
        ),
        "    }",
        f'    printf("{name}: {count} states, %d differences\\n", bad);',
        "    return bad != 0;",
        "}",
        "",
    ]
    return "\n".join(lines)


def rows(data: np.ndarray) -> str:
    """C initialisers, one row a state."""
    return ",\n".join("    {" + ", ".join(float(x).hex() for x in np.ravel(row)) + "}" for row in data)
