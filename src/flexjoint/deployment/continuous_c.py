"""The differential equation of a component as C: its rates, and their derivatives in one direction.

void arm_rates(const arm_state *state, const arm_parameters *parameters, const arm_input *input,
               arm_state *derivative, arm_output *output);
void arm_directional(const double *state, const double *parameters, const double *inputs, const double *seeds,
                     double *found);
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from ..algorithm.compile import kernel_of
from ..compiler.c.export import source
from ..compiler.c.target import Target
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..spatial import ca
from ..types import Expression
from .c_code import Structs, filled, wrapped
from .component import Component

DECLARATIONS = """\
#ifndef @GUARD@
#define @GUARD@
#include "@NAME@.h"

/* Time derivatives of the state, and the outputs */
void @NAME@_rates(const @NAME@_state *state, const @NAME@_parameters *parameters, const @NAME@_input *input,
    @NAME@_state *derivative, @NAME@_output *output);

/* How these change with state and inputs: seeds are (state, inputs), found are (derivatives, outputs) */
void @NAME@_directional(const double *state, const double *parameters, const double *inputs, const double *seeds,
    double *found);
#endif
"""

RATES = """\

void @NAME@_rates(const @NAME@_state *state, const @NAME@_parameters *parameters, const @NAME@_input *input,
    @NAME@_state *derivative, @NAME@_output *output)
{
    (void)parameters;
    @NAME@_rates_law(@ARGUMENTS@);
}
"""

DIRECTIONAL = """\

void @NAME@_directional(const double *state, const double *parameters, const double *inputs, const double *seeds,
    double *found)
{
    (void)parameters;
    @NAME@_directional_law(@ARGUMENTS@);
}
"""


def continuous_files(component: Component, name: str) -> dict[str, str]:
    """The texts of NAME_continuous.h, NAME_rates.c and NAME_directional.c."""
    header, target = f"{name}_continuous", Target()
    structs = Structs.of(component)
    arguments = [
        *(x.address("state->") for x in structs.state),
        *(x.address("input->") for x in structs.input),
        *(x.address("parameters->") for x in structs.parameters),
        *(x.address("derivative->") for x in structs.state),
        *(x.address("output->") for x in structs.output),
    ]
    kernel = component.rates_kernel
    rates = source(kernel, kernel.program, f"{name}_rates_law", target, header=header)
    kernel = directional_kernel(component)
    pointers = [
        *places("state", component.state),
        *places("inputs", component.inputs),
        *places("parameters", component.parameters),
        *places("seeds", [*component.state, *component.inputs]),
        *places("found", [*component.state, *component.outputs]),
    ]
    directional = source(kernel, kernel.program, f"{name}_directional_law", target, header=header)
    return {
        f"{header}.h": filled(DECLARATIONS, {"GUARD": f"{header.upper()}_H", "NAME": name}),
        f"{name}_rates.c": rates + filled(RATES, {"NAME": name, "ARGUMENTS": wrapped(arguments)}),
        f"{name}_directional.c": directional + filled(DIRECTIONAL, {"NAME": name, "ARGUMENTS": wrapped(pointers)}),
    }


def places(owner: str, arrays: Sequence[Array]) -> list[str]:
    """Pointers to arrays that lie one after the other."""
    return [f"{owner} + {k}" for k in [0, *accumulate(x.size for x in arrays)][:-1]]


def directional_kernel(component: Component) -> Kernel:
    """The kernel (*state, *inputs, *parameters, *seeds) -> (*derivatives, *outputs), changes along the seeds."""
    directions = [x._replace(name=f"seed of {x.name}") for x in (*component.state, *component.inputs)]
    count = len(component.arguments)
    chosen = [k for k, x in enumerate(component.arguments) if x not in component.parameters]

    def function(*columns: Expression) -> list[tuple[Array, Expression]]:
        # Symbols of its own: those given are copies, which cannot be differentiated by.
        symbols = [ca.SX.sym(x.name, *c.shape) for x, c in zip(component.arguments, columns)]
        found = component.traced(component.rates, symbols)
        along = ca.vertcat(*(ca.vec(symbols[k]) for k in chosen))
        seeds = ca.vertcat(*(ca.vec(x) for x in columns[count:]))
        flat = ca.vertcat(*(ca.vec(x) for _, x in found))
        old, new = (ca.vertcat(*map(ca.vec, x)) for x in (symbols, columns[:count]))
        changes = ca.substitute(ca.jtimes(flat, along, seeds), old, new)
        edges = [0, *accumulate(array.size for array, _ in found)]
        return [(array, changes[a:b]) for (array, _), a, b in zip(found, edges, edges[1:])]

    return kernel_of(
        f"directional derivatives of {component.name}", [*component.arguments, *directions], function, loops=False
    )
