"""What makes exported C readable: names of inputs' sines and of results, and decimal constants.

    const double cos_q_3 = fj_cos(q[2]);
    const double tau_3 = fma(0x1.fae147ae147aep+0, v1411, v1398); /* 1.98 */

For code with a name for every quantity see `analysis/equations/recursion_code.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from ..ir.program import Program
from ..passes.scheduling import reordered

SHORT = 6  # digits: constants with so few are written in decimal
HEX = re.compile(r"-?0x[01]\.[0-9a-f]+p[+-]\d+")


def of_joint_angle(program: Program, i: int) -> bool:
    """Whether a value is the sine or cosine of an element of q."""
    op = program.code[i]
    if op.name not in ("sin", "cos") or program.code[op.args[0]].name != "input":
        return False
    return program.inputs[program.code[op.args[0]].args[0]].name == "q"


def sines_first(program: Program) -> Program:
    """The same operations with the sines and cosines of joint angles, which wait for nothing, at the start.

    Their long operations overlap: 237 ns instead of 293 for the elastic 7R inverse dynamics (gcc -O2 -mfma).
    """
    angles = {i for i in range(len(program.code)) if of_joint_angle(program, i)}
    angles |= {x for i in angles for x in program.code[i].operands}
    return reordered(program, sorted(range(len(program.code)), key=lambda i: (i not in angles, i)))


def harmless(text: str) -> str:
    """A line of a comment without what ends or begins one, or continues a line: names in it are the user's."""
    plain = "".join(x if x.isprintable() and x != "\\" else "?" for x in text)
    return re.sub(r"\?(?=\?)", "? ", plain.replace("*/", "* /").replace("/*", "/ *"))


def value_names(program: Program, outputs: Sequence[str], inputs: Sequence[str], taken: set[str]) -> dict[int, str]:
    """C names of values: results by the output, sines and cosines by the angle.

    outputs, inputs: C names of the arrays.
    taken: Names that are used otherwise; those given here are added.
    """
    names: dict[int, str] = {}
    for i, text in wanted_names(program, outputs, inputs):
        if i in names or not program.code[i].computed:
            continue
        base = re.sub(r"\W", "_", text, flags=re.ASCII)
        name, k = base, 2
        while name in taken:
            name, k = f"{base}__{k}", k + 1
        taken.add(name)
        names[i] = name
    return names


def wanted_names(program: Program, outputs: Sequence[str], inputs: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Values with the names they should have, the most important first."""
    for output, array, row in zip(outputs, program.outputs, program.results):
        for e, x in enumerate(row):
            place = [e // array.shape[-1], e % array.shape[-1]] if len(array.shape) == 2 else [e]
            yield x, "_".join([output, *(str(k + 1) for k in place)]) if array.shape else f"{output}_"
    for i, op in enumerate(program.code):
        if of_joint_angle(program, i):
            angle, element = program.code[op.args[0]].args
            yield i, f"{op.name}_{inputs[angle]}_{element + 1}"


def decimal(value: float) -> str | None:
    """A constant in decimal, if few digits give it exactly: every compiler reads them alike."""
    digits = Decimal(value).as_tuple()
    return repr(value) if len(digits.digits) <= SHORT and abs(int(digits.exponent)) <= SHORT else None


def with_decimals(line: str) -> str:
    """A line of C with the values of its hexadecimal constants behind it."""
    found = [f"{float.fromhex(x):.9g}" for x in HEX.findall(line)]
    return f"{line} /* {', '.join(found)} */" if found else line
