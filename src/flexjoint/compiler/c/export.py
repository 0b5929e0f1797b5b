"""From a Program to C99: one function without allocation, global state or branches on data, for use without Python.

    %2 = mul %0, %1        ->   const double v2 = a[0] * b[0];

The file needs `fma`, `sqrt`, `floor`, `fabs` and `copysign` of <math.h> and nothing else; freestanding, it needs no
library at all (target.py).  Constants are hexadecimal floats, selections are masks on bits, and contraction is switched
off, so the function computes the bits of the compiled kernel, with the same instructions for every input.  (GCC ignores
the standard pragma; use -ffp-contract=off with other compilers.)  With `float32` every operation and constant is
rounded to float: the bits are those of `ir.reference.SingleArithmetic`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partialmethod
from pathlib import Path

from ...errors import InputError, shown
from ..ir.elementary import FUNCTIONS
from ..ir.number_formats import DOUBLE, SINGLE
from ..ir.program import ARITY, Array, Loop, Program
from ..ir.reference import apply
from ..passes.finite_check import with_finite_check
from ..runtime.kernel import Kernel
from .example import example
from .reading import harmless, sines_first, value_names, with_decimals
from .target import Target

TAKEN = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "fma sqrt fabs floor copysign fmaf sqrtf fabsf floorf copysignf"
)  # names that parameters cannot have

FMA_FLAGS = """\
# The multiply-add is one instruction with FMA and a slow library function without: seven times the time of a call.
# On x86-64 the compiler must be told (-mfma); it is if this machine has FMA. For another machine, with or without:
#     make FMA=-mfma
#     make FMA=
# Other processors, such as AArch64, need no flag. Results have the same bits either way.
FMA ?= $(if $(filter x86_64-% amd64-%,$(shell $(CC) -dumpmachine)),$(shell \
  (grep -qw fma /proc/cpuinfo || sysctl -n machdep.cpu.features | grep -qw FMA) 2>/dev/null && echo -mfma))

# No multiply-adds beyond those in the code: each would round once where the code rounds twice.
FLAGS = -std=c99 -Wall -Wextra -Wpedantic -Werror -ffp-contract=off $(FMA)
"""

MAKEFILE = f"""\
CC ?= cc
CFLAGS ?= -O2

{FMA_FLAGS}
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


# The sine and the cosine of an angle share most of their operations, which the compiler finds only if both are inlined:
# 106 instead of 149 ns for the rigid 7R inverse dynamics (gcc -O2 -mfma).
INLINE = """\
#ifdef __GNUC__
#define FJ_INLINE static inline __attribute__((always_inline))
#else
#define FJ_INLINE static inline
#endif
"""


class Emitter:
    """Arithmetic (see elementary.py) whose numbers are names of C variables; collects statements."""

    def __init__(self, target: Target) -> None:
        self.lines: list[str] = []
        self.target = target
        self.format = target.format
        self.count = 0

    def put(self, expression: str, kind: str = "") -> str:
        name = f"v{self.count}"
        self.count += 1
        self.lines.append(with_decimals(f"    const {kind or self.format.name} {name} = {expression};"))
        return name

    def taken(self) -> list[str]:
        """The statements since the last call."""
        lines, self.lines = self.lines, []
        return lines

    def call(self, value: str, name: str) -> str:
        """Give the value of the last statement another name."""
        self.lines[-1] = self.lines[-1].replace(f" {value} = ", f" {name} = ", 1)
        return name

    def const(self, x: float) -> str:
        return self.target.literal(x)

    def neg(self, a: str) -> str:
        return self.put(f"-{a}")

    def _infix(self, sign: str, a: str, b: str) -> str:
        return self.put(f"{a} {sign} {b}")

    def _comparison(self, sign: str, a: str, b: str) -> str:
        return self.put(f"{a} {sign} {b}", "int")

    def _mathematics(self, name: str, *args: str) -> str:
        """Of <math.h>, or of what replaces it."""
        return self.put(f"{self.target.function(name)}({', '.join(args)})")

    def _helper(self, name: str, *args: str) -> str:
        """Of those in target.py."""
        return self.put(f"fj_{name}({', '.join(args)})")

    add, sub = partialmethod(_infix, "+"), partialmethod(_infix, "-")
    mul, div = partialmethod(_infix, "*"), partialmethod(_infix, "/")
    lt, le, eq = partialmethod(_comparison, "<"), partialmethod(_comparison, "<="), partialmethod(_comparison, "==")
    fma, sqrt = partialmethod(_mathematics, "fma"), partialmethod(_mathematics, "sqrt")
    abs, floor = partialmethod(_mathematics, "fabs"), partialmethod(_mathematics, "floor")
    copysign = partialmethod(_mathematics, "copysign")
    select, xor = partialmethod(_helper, "select"), partialmethod(_helper, "xor")
    exponent, mantissa = partialmethod(_helper, "exponent"), partialmethod(_helper, "mantissa")
    pow2 = partialmethod(_helper, "pow2")


class CallingEmitter(Emitter):
    """Elementary functions are calls of C functions (`elementary_function`)."""


for _name in FUNCTIONS:
    setattr(CallingEmitter, _name, partialmethod(Emitter._helper, _name))


def elementary_function(name: str, target: Target) -> str:
    """The C function that computes an elementary function."""
    emit, real, arguments = Emitter(target), target.format.name, ["x", "y"][: ARITY[name]]
    result = FUNCTIONS[name](emit, *arguments)
    head = f"FJ_INLINE {real} fj_{name}({', '.join(f'{real} {x}' for x in arguments)})"
    return "\n".join([head, "{", *emit.lines, f"    return {result};", "}", ""])


def export(
    kernel: Kernel,
    name: str,
    folder: Path,
    about: str,
    *,
    float32: bool = False,
    freestanding: bool = False,
) -> list[Path]:
    """Writes NAME.h, NAME.c, a self-checking example.c and its Makefile; returns their paths.

    - `name`: of the C function
    - `about`: lines of the comment in the header
    - `float32`: computes in single precision
    - `freestanding`: needs no C library
    """
    check_c_name(name)
    target = Target(SINGLE if float32 else DOUBLE, freestanding)
    makefile = MAKEFILE.replace("@NAME@", name).replace("@LIBRARIES@", "" if freestanding else " -lm")
    files = {
        f"{name}.h": header(kernel, name, about, target),
        f"{name}.c": source(kernel, kernel.program, name, target),
        "example.c": example(kernel, kernel.program, name, target, parameters(kernel, target)),
        "Makefile": makefile.replace("@FLAGS@", " -ffreestanding -fno-math-errno" if freestanding else ""),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (folder / file).write_text(text)
    return [folder / file for file in files]


def parameters(kernel: Kernel, target: Target) -> list[tuple[Array, str, str]]:
    """(array, C name, declaration) of every parameter; names that are taken are numbered."""
    real = target.format.name
    kinds = [f"const {real}"] * len(kernel.inputs) + [real] * len(kernel.outputs)
    arrays = [*kernel.inputs, *kernel.outputs]
    named = zip(arrays, kinds, c_names([array.name for array in arrays]))
    return [(array, name, f"{kind} {name}[{max(array.size, 1)}]") for array, kind, name in named]


def c_names(names: Sequence[str]) -> list[str]:
    """Identifiers of C for names of any kind, all different."""
    found, taken = [], set(TAKEN.split())
    for name in names:
        base = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "x"
        base = f"x_{base}" if re.match(r"\d|v\d|fj_", base) else base  # v0, v1, ... are the values
        found.append(next(x for x in [base, *(f"{base}_{k}" for k in range(1, 200))] if x not in taken))
        taken.add(found[-1])
    return found


def check_c_name(name: str) -> None:
    """Raises InputError unless a function of C can have this name."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,239}", name):
        raise InputError(f"{shown(name)} is no name of a C function; use letters, digits and underscores, at most 240")


def signature(kernel: Kernel, name: str, target: Target) -> str:
    return f"int {name}(" + ", ".join(declaration for _, _, declaration in parameters(kernel, target)) + ")"


def header(kernel: Kernel, name: str, about: str, target: Target) -> str:
    guard = f"{name.upper()}_H"
    lines = about.splitlines()
    for k, (array, c_name, _) in enumerate(parameters(kernel, target)):
        side = "in " if k < len(kernel.inputs) else "out"
        order = ", ".join(array.labels) if array.labels else "row by row"
        shape = " x ".join(map(str, array.shape)) or "1"
        lines.append(f"  {side} {c_name}: {shape}, {array.unit}; {order}")
    body = "\n".join(f" * {harmless(line)}".rstrip() for line in lines)
    return (
        f"#ifndef {guard}\n#define {guard}\n\n/*\n{body}\n *\n"
        " * Returns 0, or 1 if a result is not finite. Arrays must not overlap.\n"
        f" * Sines and cosines reach to {target.format.sin_range:g} rad; beyond they are not finite.\n"
        f" */\n{signature(kernel, name, target)};\n\n#endif\n"
    )


def source(
    kernel: Kernel, program: Program, name: str, target: Target, header: str = ""
) -> str:
    """The text of a C file with the function; static, if the header of another one is given."""
    program = with_finite_check(sines_first(program))
    names = [c_name for _, c_name, _ in parameters(kernel, target)]
    loops: list[str] = []
    lines, value = statements(program, names, target, name, loops)
    finite = f"    return !({value[len(program.code) - 1]} == {target.literal(0.0)});"
    head = HEAD.replace("@NAME@", header or name).replace("@EXTENDED@", "!= 0" if target.single else "> 1")
    if target.freestanding:
        head = head.replace("#include <math.h>\n", "").replace('off")', 'off", "no-math-errno", @COPIES@)')
        head = head.replace("@COPIES@", '"no-tree-loop-distribute-patterns"')  # no memcpy in place of a loop
    opening = "static " * bool(header) + signature(kernel, name, target)
    body = "\n".join([*loops, opening, "{", *lines, finite, "}", ""])
    functions = {"FJ_INLINE": INLINE} | {f"fj_{x}": elementary_function(x, target) for x in FUNCTIONS}
    return "\n".join([head, target.helpers(body, functions) + body])


def statements(
    program: Program,
    names: Sequence[str],
    target: Target,
    symbol: str,
    loops: list[str],
) -> tuple[list[str], dict[int, str]]:
    """The body of a function with arrays of these names, and what its values are called.

    The functions of its loops are added to `loops`; a loop's arguments and results lie in one array, fj_loopN.
    """
    emit = CallingEmitter(target)
    value: dict[int, str] = {}
    lines: dict[int, list[str]] = {}
    used = {op.args[0] for op in program.code if op.name == "input"}
    unused = [f"    (void){names[k]};" for k in range(len(program.inputs)) if k not in used]
    inputs, outputs = names[: len(program.inputs)], names[len(program.inputs) :]
    called = value_names(program, outputs, inputs, {*names, *TAKEN.split()})
    for i, op in enumerate(program.code):
        if op.name == "const":
            value[i] = emit.const(op.constant)
        elif op.name == "input":
            value[i] = f"{names[op.args[0]]}[{op.args[1]}]"
        elif op.name == "item":
            scan, k = op.args
            value[i] = f"fj_loop{scan}[{len(program.code[scan].args) + k}]"
        elif op.loop:
            loops.append(loop_functions(op.loop, f"{symbol}_loop{i}", target, loops))
            emit.lines.append(f"    {target.format.name} fj_loop{i}[{len(op.args) + op.loop.results}];")
            emit.lines += [f"    fj_loop{i}[{k}] = {value[x]};" for k, x in enumerate(op.args)]
            emit.lines.append(f"    {symbol}_loop{i}(fj_loop{i}, fj_loop{i} + {len(op.args)});")
        elif op.name == "neg" and i not in called:
            value[i] = f"(-{value[op.args[0]]})"
        else:
            value[i] = apply(emit, op.name, [value[x] for x in op.args])
            if i in called:
                value[i] = emit.call(value[i], called[i])
        lines[i] = emit.taken()
    elements = [(f"{output}[{e}]", x) for output, row in zip(outputs, program.results) for e, x in enumerate(row)]
    stores = [f"    {element} = {value[x]};" for element, x in elements]
    return [*unused, *(line for part in lines.values() for line in part), *stores], value


LOOP = """\
static void @SYMBOL@_step(const REAL *carry, const REAL *x, const REAL *table, const REAL *shared, REAL *next, REAL *y)
{
@STEP@
}

static void @SYMBOL@(const REAL *args, REAL *results)
{
    static const REAL table[] = {@TABLE@};
    REAL carry[2][@CARRY@];
    const REAL *now = args;
    for (int k = 0; k < @TURNS@; k++) {
        const int row = @ROW@;
        REAL *next = carry[k & 1];
        @SYMBOL@_step(now, args + @START@ + row * @X@, table + row * @COLUMNS@, args + @START@ + @TURNS@ * @X@, next,
                      results + @START@ + row * @Y@);
        now = next;
    }
    for (int k = 0; k < @START@; k++)
        results[k] = now[k];
}
"""


def loop_functions(loop: Loop, symbol: str, target: Target, loops: list[str]) -> str:
    """A loop and its step; the carry goes to and fro between two arrays."""
    sizes = loop.sizes
    lines, _ = statements(loop.body, ["carry", "x", "table", "shared", "next", "y"], target, f"{symbol}_step", loops)
    unused = [f"    (void){name};" for name, array in zip(("next", "y"), loop.body.outputs) if not array.size]
    table = [target.literal(x) for row in loop.table for x in row] or [target.literal(0.0)]
    numbers = {
        "SYMBOL": symbol,
        "STEP": "\n".join([*unused, *lines]),
        "TABLE": ", ".join(table),
        "CARRY": max(sizes["carry"], 1),
        "START": sizes["carry"],
        "X": sizes["x"],
        "COLUMNS": sizes["table"],
        "Y": sizes["y"],
        "TURNS": loop.turns,
        "ROW": f"{loop.turns - 1} - k" if loop.reverse else "k",
    }
    text = LOOP.replace("REAL", target.format.name)
    for name, number in numbers.items():
        text = text.replace(f"@{name}@", str(number))
    return text
