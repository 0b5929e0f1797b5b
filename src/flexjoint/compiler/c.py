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
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from .c_helpers import needed
from .formats import DOUBLE, SINGLE, Format
from .kernel import Kernel
from .llvm import with_finite_check
from .program import ARITY, Array
from .reference import SingleArithmetic, apply, evaluate_rows
from .rounding import error_bounds

SLACK = 1.000001  # the kernel's own rounding, in double, beside that of single precision

MAKEFILE = """\
CC ?= cc
CFLAGS ?= -O2
FLAGS = -std=c99 -Wall -Wextra -Wpedantic -Werror -ffp-contract=off

.PHONY: check clean

check: example
\t./example

example: example.c @NAME@.h @NAME@.o
\t$(CC) $(CFLAGS) $(FLAGS) -o $@ example.c @NAME@.o@LIBRARIES@

@NAME@.o: @NAME@.c @NAME@.h
\t$(CC) $(CFLAGS) $(FLAGS)@FLAGS@ -c -o $@ @NAME@.c

clean:
\trm -f example @NAME@.o
"""

HEAD = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#else
#pragma STDC FP_CONTRACT OFF
#endif
#include <float.h>
#include <math.h>
#include <stdint.h>
#include "@NAME@.h"

#if FLT_EVAL_METHOD @EXTENDED@ || defined(__FAST_MATH__)
#error "IEEE 754 arithmetic is needed: no extended precision (-mfpmath=sse), no -ffast-math"
#endif
"""


class Target(NamedTuple):
    """What the C is written for: a number format, and a machine with or without a C library."""

    format: Format = DOUBLE
    freestanding: bool = False

    @property
    def single(self) -> bool:
        return self.format is SINGLE

    @property
    def number(self) -> type[np.floating]:
        return np.float32 if self.single else np.float64

    def literal(self, x: float) -> str:
        """A number as C writes it, rounded once."""
        value = float(self.number(x))
        if math.isfinite(x) and not math.isfinite(value):
            raise InputError(f"the constant {x:g} is beyond single precision; export in double")
        if not math.isfinite(value):
            return self._not_finite(value)
        text = value.hex() + "f" * self.single
        return text if math.copysign(1.0, value) > 0 else f"({text})"

    def _not_finite(self, x: float) -> str:
        if self.freestanding:
            word = 32 if self.single else 64
            return f"fj_number(UINT{word}_C(0x{self.number(x).tobytes()[::-1].hex().upper()}))"
        return f"({self.format.name}){'NAN' if math.isnan(x) else 'INFINITY' if x > 0 else '-INFINITY'}"

    def function(self, name: str) -> str:
        """The C name of a function of <math.h>, or of what replaces it."""
        return f"fj_{name}" if self.freestanding else name + "f" * self.single


class Emitter:
    """Arithmetic (see elementary.py) whose numbers are names of C variables; collects statements."""

    def __init__(self, target: Target) -> None:
        self.lines: list[str] = []
        self.target = target
        self.format = target.format

    def put(self, expression: str, kind: str = "") -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"    const {kind or self.format.name} {name} = {expression};")
        return name

    def call(self, name: str, *args: str) -> str:
        return self.put(f"{self.target.function(name)}({', '.join(args)})")

    def const(self, x: float) -> str:
        return self.target.literal(x)

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
        return self.call("fma", a, b, c)

    def sqrt(self, a: str) -> str:
        return self.call("sqrt", a)

    def abs(self, a: str) -> str:
        return self.call("fabs", a)

    def floor(self, a: str) -> str:
        return self.call("floor", a)

    def copysign(self, magnitude: str, sign: str) -> str:
        return self.call("copysign", magnitude, sign)

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


def export(
    kernel: Kernel, name: str, folder: Path, about: str, *, float32: bool = False, freestanding: bool = False
) -> list[Path]:
    """Write NAME.h, NAME.c, a self-checking example.c and its Makefile; returns their paths."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise InputError(f"{name!r} is no name of a C function; use letters, digits and underscores")
    target = Target(SINGLE if float32 else DOUBLE, freestanding)
    makefile = MAKEFILE.replace("@NAME@", name).replace("@LIBRARIES@", "" if freestanding else " -lm")
    files = {
        f"{name}.h": header(kernel, name, about, target),
        f"{name}.c": source(kernel, name, target),
        "example.c": example(kernel, name, target),
        "Makefile": makefile.replace("@FLAGS@", " -ffreestanding -fno-math-errno" if freestanding else ""),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (folder / file).write_text(text)
    return [folder / file for file in files]


def parameters(kernel: Kernel, target: Target) -> list[tuple[Array, str, str]]:
    """(array, C name, declaration) of every parameter; several outputs of one name are numbered."""
    found, taken = [], set()
    real = target.format.name
    for array, kind in [(x, f"const {real}") for x in kernel.inputs] + [(x, real) for x in kernel.outputs]:
        base = re.sub(r"[^A-Za-z0-9_]+", "_", array.name).strip("_")
        name = next(x for x in [base, *(f"{base}_{k}" for k in range(1, 200))] if x not in taken)
        taken.add(name)
        found.append((array, name, f"{kind} {name}[{max(array.size, 1)}]"))
    return found


def signature(kernel: Kernel, name: str, target: Target) -> str:
    return f"int {name}(" + ", ".join(declaration for _, _, declaration in parameters(kernel, target)) + ")"


def header(kernel: Kernel, name: str, about: str, target: Target) -> str:
    guard = f"{name.upper()}_H"
    lines = [f" * {line}".rstrip() for line in about.splitlines()]
    for k, (array, c_name, _) in enumerate(parameters(kernel, target)):
        side = "in " if k < len(kernel.inputs) else "out"
        order = ", ".join(array.labels) if array.labels else "row by row"
        shape = " x ".join(map(str, array.shape)) or "1"
        lines.append(f" *   {side} {c_name}: {shape}, {array.unit}; {order}")
    body = "\n".join(lines).replace("*/", "* /")  # names are the user's
    return (
        f"#ifndef {guard}\n#define {guard}\n\n/*\n{body}\n *\n"
        " * Returns 0, or 1 if a result is not finite. Arrays must not overlap.\n"
        f" * Sines and cosines reach to {target.format.sin_range:g} rad; beyond they are not finite.\n"
        f" */\n{signature(kernel, name, target)};\n\n#endif\n"
    )


def source(kernel: Kernel, name: str, target: Target) -> str:
    program, check = with_finite_check(kernel.program)
    names = [c_name for _, c_name, _ in parameters(kernel, target)]
    emit = Emitter(target)
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
    finite = f"    return !({value[check]} == {target.literal(0.0)});"
    head = HEAD.replace("@NAME@", name).replace("@EXTENDED@", "!= 0" if target.single else "> 1")
    if target.freestanding:
        head = head.replace("#include <math.h>\n", "").replace('off")', 'off", "no-math-errno")')
    body = "\n".join([signature(kernel, name, target), "{", *unused, *emit.lines, *stores, finite, "}", ""])
    return "\n".join([head, needed(body, target.format) + body])


def example(kernel: Kernel, name: str, target: Target, count: int = 8) -> str:
    """A program that compares the function with results of Python.

    In double precision these are the kernel's, bit for bit.  In single precision they are the reference
    interpreter's, bit for bit, and beside them the kernel's, which are met within the bounds of rounding.py.
    """
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1.0, 1.0, (count, *array.shape)).astype(target.number) for array in kernel.inputs]
    exact = kernel_outputs(kernel, inputs)
    every = parameters(kernel, target)
    results_at = every[len(kernel.inputs) :]
    outputs, tables, checks = exact, [], []
    if target.single:
        outputs = evaluate_rows(kernel.program, inputs, SingleArithmetic())
        if not all(np.all(np.isfinite(x)) for x in outputs):
            raise InputError(f"{kernel.name} overflows in single precision; export in double")
        bounds = [SLACK * x for x in error_bounds(kernel.program, inputs)]
        for (array, c_name, _), x, bound in zip(results_at, exact, bounds):
            for kind, data in (("exact", x), ("bound", bound)):
                tables.append(table("double", f"{c_name}_{kind}", array, data, Target()))
            checks += [
                f"        for (int e = 0; e < {array.size}; e++) {{",
                f"            const double error = (double){c_name}[e] - {c_name}_exact[k][e];",
                "            const double size = error < 0.0 ? -error : error;",
                f"            bad += !(size <= {c_name}_bound[k][e]);",
                f"            if (size > worst * {c_name}_bound[k][e])",
                f"                worst = size / {c_name}_bound[k][e];",
                "        }",
            ]
    real = target.format.name
    tables = [
        *(table(real, f"{x}_table", array, data, target) for (array, x, _), data in zip(every, [*inputs, *outputs])),
        *tables,
    ]
    arguments = [f"{c_name}_table[k]" for _, c_name, _ in every[: len(kernel.inputs)]]
    closing = f'    printf("{name}: {count} states, %d differences\\n", bad);'
    if target.single:
        closing = (
            f'    printf("{name}: {count} states, %d differences, errors up to %.2f of their bounds\\n", bad, worst);'
        )
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
        *["    double worst = 0.0;"] * target.single,
        f"    for (int k = 0; k < {count}; k++) {{",
        *(f"        {real} {c_name}[{max(array.size, 1)}];" for array, c_name, _ in results_at),
        f"        bad += {name}({', '.join([*arguments, *(c_name for _, c_name, _ in results_at)])});",
        *(
            f"        bad += memcmp({c_name}, {c_name}_table[k], {array.size} * sizeof({real})) != 0;"
            for array, c_name, _ in results_at
        ),
        *checks,
        "    }",
        closing,
        "    return bad != 0;",
        "}",
        "",
    ]
    return "\n".join(lines)


def kernel_outputs(kernel: Kernel, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The outputs of the Program for a batch, stacks of derivatives taken apart."""
    value = kernel(*inputs)
    results = list(value) if kernel.result.type is not None else [value]
    outputs: list[np.ndarray] = []
    for layers, result in zip(kernel.result.layers, results):
        outputs += [result] if layers is None else list(result)
    return outputs


def table(kind: str, name: str, array: Array, data: np.ndarray, target: Target) -> str:
    """A constant C array, one row a state."""
    rows = ("    {" + ", ".join(map(target.literal, np.ravel(row))) + "}" for row in data)
    joined = ",\n".join(rows)
    return f"static const {kind} {name}[{len(data)}][{max(array.size, 1)}] = {{\n{joined}\n}};"
