"""The program beside an exported component that repeats steps of the Python kernel: `make check`.

    motor_pd_panda: 60 steps, 0 differences
    longest step: 1.2 us

Among the steps are samples that cannot be used: NaN, missing ones, stamps that go back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..compiler.c.target import Target
from ..compiler.ir.program import Array
from ..compiler.ir.reference import SingleArithmetic, evaluate_rows
from ..errors import InputError, NonFiniteError
from ..types import FloatArray
from .c_code import FLAGS, Structs, filled
from .component import Component

STEPS = 60
INVALID, MISSED, STALE = (20, 21), (30, 31), (40,)

MAIN = """\
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "@NAME@.h"

@TABLES@

static double seconds(void)
{
#ifdef CLOCK_MONOTONIC
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#else
    return (double)clock() / CLOCKS_PER_SEC;
#endif
}

int main(void)
{
    static @NAME@_state state;
    static @NAME@_parameters parameters;
    static @NAME@_input input;
    static @NAME@_output output;
    int bad = 0;
    double longest = 0.0;
    @NAME@_init(&state);
    @NAME@_defaults(&parameters);
    for (int k = 0; k < @STEPS@; k++) {
@FILL@
        const double begin = seconds();
        const int flags = @NAME@_step(&state, &parameters, &input, &output);
        const double passed = seconds() - begin;
        if (k > 0 && passed > longest) /* the first step fills the caches */
            longest = passed;
@COMPARE@
    }
    printf("@NAME@: @STEPS@ steps, %d differences\\n", bad);
    fprintf(stderr, "longest step: %.3g us\\n", 1e6 * longest);
    return bad != 0;
}
"""


def check_program(component: Component, name: str, target: Target) -> str:
    """The text of check.c."""
    target = target._replace(freestanding=False)  # this program prints
    structs, real = Structs.of(component), target.format.name
    inputs, outputs = steps(component, target)
    tables = [
        *(table(real, f"{x.name}_in", x.array, y, target) for x, y in zip(structs.input, inputs)),
        *(table(real, f"{x.name}_out", x.array, outputs[x.array.name], target) for x in structs.output),
    ]
    fill = [f"        memcpy(&input.{x.name}, {x.name}_in[k], sizeof input.{x.name});" for x in structs.input]
    names = [x.name for x in structs.output]
    compare = [f"        bad += memcmp(&output.{x}, {x}_out[k], sizeof output.{x}) != 0;" for x in names]
    if FLAGS in outputs:
        flags = ", ".join(str(int(x)) for x in outputs[FLAGS])
        tables.append(f"static const int flags_out[{STEPS}] = {{{flags}}};")
        compare.append("        bad += flags != flags_out[k];")
    else:
        compare.append("        bad += flags != 0;")
    texts = {
        "NAME": name,
        "STEPS": str(STEPS),
        "TABLES": "\n".join(tables),
        "FILL": "\n".join(fill),
        "COMPARE": "\n".join(compare),
    }
    return filled(MAIN, texts)


def steps(component: Component, target: Target) -> tuple[list[FloatArray], dict[str, FloatArray]]:
    """Inputs of some steps, one array per input, and outputs by name; inputs shrink if results overflow."""
    for size in (0.3, 0.03, 0.003, 0.0):
        inputs = samples(component, size, target)
        try:
            return inputs, repeated(component, inputs, target)
        except NonFiniteError:
            continue
    raise InputError(f"{component.name} has results that are not finite even if all inputs are 0")


def samples(component: Component, size: float, target: Target) -> list[FloatArray]:
    """Inputs of all steps: smooth ones, some of them NaN; the time with gaps and a step back."""
    rng = np.random.default_rng(0)
    order = np.arange(STEPS)
    order[MISSED[0] :] += 2
    t = order * component.period
    t[STALE[0]] = t[STALE[0] - 2]
    found = []
    for array in component.inputs:
        if array.name in ("t", "elapsed"):
            found.append((t if array.name == "t" else np.diff(t, prepend=0.0)).astype(target.number))
            continue
        first, slope = rng.uniform(-size, size, (2, array.size))
        x = first + slope * 0.01 * np.arange(STEPS)[:, None]
        if any(y.name in ("t", "elapsed") for y in component.inputs):
            x[INVALID[0] : INVALID[1], : 1 if array.name != "reference" else 0] = np.nan
        found.append(x.reshape(STEPS, *array.shape).astype(target.number))
    return found


def repeated(component: Component, inputs: Sequence[FloatArray], target: Target) -> dict[str, FloatArray]:
    """The outputs of all steps; in single precision by the interpreter."""
    names, state = [x.name for x in component.inputs], component.start()
    rows: list[dict[str, FloatArray]] = []
    for k in range(STEPS):
        given = {name: x[k] for name, x in zip(names, inputs)}
        if target.single:
            arrays = [np.asarray(x, np.float32)[None] for x in (*state, *given.values(), *component.nominal)]
            found = [x[0] for x in evaluate_rows(component.kernel.program, arrays, SingleArithmetic())]
            state = found[: len(state)]
            rows.append(dict(zip((x.name for x in component.outputs), found[len(state) :])))
            if not all(np.isfinite(x).all() for x in rows[-1].values()):
                raise NonFiniteError(component.name)
        else:
            state, outputs = component.step(state, given)
            rows.append(outputs)
    return {x.name: np.array([row[x.name] for row in rows]) for x in component.outputs}


def table(real: str, name: str, array: Array, data: FloatArray, target: Target) -> str:
    """A constant C array with a row per step."""
    rows = ",\n".join("    {" + ", ".join(map(target.literal, np.ravel(x))) + "}" for x in data)
    return f"static const {real} {name}[{len(data)}][{max(array.size, 1)}] = {{\n{rows}\n}};"
