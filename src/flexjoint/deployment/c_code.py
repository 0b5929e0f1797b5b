"""A component as C99: structs for state, parameters, inputs and outputs, and the functions `defaults`, `init`, `step`.

    typedef struct { double memory0[7]; ... } motor_pd_state;

    int motor_pd_step(motor_pd_state *state, const motor_pd_parameters *parameters,
                      const motor_pd_input *input, motor_pd_output *output);

The arithmetic is the Program of the component, written by `compiler.c`.  Nothing is allocated, there is no global
variable, and every step takes the same instructions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..compiler.c.export import c_names, source
from ..compiler.c.reading import harmless
from ..compiler.c.target import Target
from ..compiler.ir.program import Array
from .component import Component
from .samples import Flag

FLAGS = "flags"  # the output that a step returns

FLAG_TEXTS = {
    Flag.FIRST: "the laws started",
    Flag.MISSED: "samples are missing before this one",
    Flag.STALE: "ignored: not later than the sample before",
    Flag.INVALID: "ignored: a number is not finite",
    Flag.HELD: "the torque is that of the step before",
    Flag.RELEASED: "the torque is zero: no usable sample for too long",
    Flag.RESTARTED: "the clock was set back",
    Flag.UNKNOWN: "an output is not finite; the torque is",
    Flag.LIMITED: "the torque is cut off at a limit of torque or torque rate",
    Flag.IMPLAUSIBLE: "ignored: the robot cannot have this position or velocity",
}

HEADER = """\
#ifndef @GUARD@
#define @GUARD@

/*
@ABOUT@
 */

#ifdef __cplusplus
extern "C" {
#endif

@STRUCTS@

/* Sum of these, returned by @NAME@_step */
enum {
@FLAGS@
};

/* Time between two steps, s */
#define @MACRO@_PERIOD @PERIOD@

/* Nominal values of the parameters */
void @NAME@_defaults(@NAME@_parameters *parameters);

/* State before the first step */
void @NAME@_init(@NAME@_state *state);

/* One step. Arguments must not overlap. Returns the flags above, 0 if all is well. */
int @NAME@_step(@NAME@_state *state, const @NAME@_parameters *parameters, const @NAME@_input *input,
    @NAME@_output *output);

#ifdef __cplusplus
}
#endif

#endif
"""

FUNCTIONS = """\

void @NAME@_defaults(@NAME@_parameters *parameters)
{
@DEFAULTS@
}

void @NAME@_init(@NAME@_state *state)
{
@INIT@
}

int @NAME@_step(@NAME@_state *state, const @NAME@_parameters *parameters, const @NAME@_input *input,
    @NAME@_output *output)
{
    @NAME@_state next;
@LOCALS@    (void)parameters;
    const int bad = @NAME@_law(@ARGUMENTS@);
@COPY@
    return @RESULT@;
}
"""


class Field(NamedTuple):
    """A member of a struct."""

    array: Array
    name: str

    def declaration(self, real: str) -> str:
        """As in the struct, with a comment."""
        size = f"[{self.array.size}]" if self.array.shape else ""
        rows = " x ".join(map(str, self.array.shape)) + ", row by row" if len(self.array.shape) > 1 else ""
        about = "; ".join(x for x in (self.array.unit, rows, ", ".join(self.array.labels)) if x)
        return f"    {real} {self.name}{size};" + (f" /* {harmless(about)} */" if about else "")

    def address(self, owner: str) -> str:
        """A pointer to its first number; `owner` ends with -> or a dot."""
        return f"{owner}{self.name}" if self.array.shape else f"&{owner}{self.name}"

    def elements(self) -> list[str]:
        """Its numbers, row by row, as C writes them."""
        return [f"{self.name}[{k}]" for k in range(self.array.size)] if self.array.shape else [self.name]


class Structs(NamedTuple):
    """The members of the four structs."""

    state: list[Field]
    parameters: list[Field]
    input: list[Field]
    output: list[Field]

    @classmethod
    def of(cls, component: Component) -> Structs:
        outputs = [x for x in component.outputs if x.name != FLAGS]
        groups = (component.state, component.parameters, component.inputs, outputs)
        return cls(*([*map(Field, arrays, c_names([x.name for x in arrays]))] for arrays in groups))


def header(component: Component, name: str, about: Sequence[str], target: Target) -> str:
    """The text of NAME.h."""
    structs, real = Structs.of(component), target.format.name
    texts = {
        "state": "What goes from step to step",
        "parameters": "May change between two steps",
        "input": "What a step takes",
        "output": "What a step gives",
    }
    written = [
        f"/* {text} */\n{struct(f'{name}_{part}', getattr(structs, part), real)}" for part, text in texts.items()
    ]
    flags = [f"    {name.upper()}_{flag.name} = {flag.value}, /* {text} */" for flag, text in FLAG_TEXTS.items()]
    return filled(
        HEADER,
        {
            "GUARD": f"{name.upper()}_H",
            "ABOUT": "\n".join(f" * {harmless(line)}".rstrip() for line in (*about, *component.notes)),
            "STRUCTS": "\n\n".join(written),
            "FLAGS": "\n".join(flags),
            "MACRO": name.upper(),
            "PERIOD": target.literal(component.period),
            "NAME": name,
        },
    )


def struct(name: str, members: Sequence[Field], real: str) -> str:
    """A type; a struct of C has at least one member."""
    lines = [x.declaration(real) for x in members] or [f"    {real} unused;"]
    return "\n".join(["typedef struct {", *lines, f"}} {name};"])


def code(component: Component, name: str, target: Target) -> str:
    """The text of NAME.c."""
    structs, real = Structs.of(component), target.format.name
    law = source(component.kernel, component.kernel.program, f"{name}_law", target, header=name)
    outputs = {x.array.name: x for x in structs.output}
    flagged = any(x.name == FLAGS for x in component.outputs)
    results = [f"{FLAGS}" if x.name == FLAGS else outputs[x.name].address("output->") for x in component.outputs]
    arguments = [
        *(x.address("state->") for x in structs.state),
        *(x.address("input->") for x in structs.input),
        *(x.address("parameters->") for x in structs.parameters),
        *(x.address("next.") for x in structs.state),
        *results,
    ]
    unknown = f"(bad ? {int(Flag.UNKNOWN)} : 0)"
    texts = {
        "NAME": name,
        "DEFAULTS": assignments("parameters", structs.parameters, component.nominal_values, target),
        "INIT": assignments(
            "state", structs.state, dict(zip((x.name for x in component.state), component.initial)), target
        ),
        "LOCALS": f"    {real} {FLAGS}[1];\n" if flagged else "",
        "ARGUMENTS": wrapped(arguments),
        "COPY": "\n".join(f"    state->{x} = next.{x};" for field in structs.state for x in field.elements())
        or "    (void)next;",
        "RESULT": f"(int){FLAGS}[0] + {unknown}" if flagged else unknown,
    }
    return law + filled(FUNCTIONS, texts)


def assignments(owner: str, members: Sequence[Field], values: Mapping[str, object], target: Target) -> str:
    """Statements that give the members their values."""
    import numpy as np

    lines = [
        f"    {owner}->{element} = {target.literal(float(x))};"
        for member in members
        for element, x in zip(member.elements(), np.ravel(np.asarray(values[member.array.name], dtype=float)))
    ]
    return "\n".join(lines) or f"    (void){owner};"


def wrapped(arguments: Sequence[str], width: int = 108) -> str:
    """Arguments of a call, in lines."""
    lines, line = [], ""
    for argument in arguments:
        if line and len(line) + len(argument) > width:
            lines.append(line.rstrip())
            line = ""
        line += f"{argument}, "
    return "\n        ".join(["", *lines, line[:-2]]) if arguments else ""


def filled(text: str, values: Mapping[str, str]) -> str:
    """A template with its places filled."""
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text
