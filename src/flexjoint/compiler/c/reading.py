"""What makes exported C readable: the order of its sections, names of values, comments and decimal constants.

    /* outward sweep, joint 3 ("elbow"): motion of link 3, and the load that accelerates it alone */
    const double omega_3_x = fma(cos_q_3, omega_2_x, v57);

Labels (ir/labels.py) say which section a value belongs to; one without a label belongs to the first section that uses
it.  An operand is then never in a later section than its user, so sorting by sections is a valid order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from ..ir.labels import Section
from ..ir.program import Program
from ..passes.scheduling import reordered

SHORT = 6  # digits: constants with so few are written in decimal
HEX = re.compile(r"-?0x[01]\.[0-9a-f]+p[+-]\d+")


def sections_of(program: Program) -> list[int]:
    """The section of each value: -1 of the sines and cosines of joint angles, which wait for nothing; of what comes
    behind the last section, their number."""
    last = len(program.sections)
    section = [last] * len(program.code)
    for i in range(len(program.code) - 1, -1, -1):
        if i in program.labels:
            section[i] = min(section[i], program.labels[i].section)
        if of_joint_angle(program, i):
            section[i] = -1
        for x in program.code[i].operands:
            section[x] = min(section[x], section[i])
    return section


def of_joint_angle(program: Program, i: int) -> bool:
    """Whether a value is the sine or cosine of an element of q."""
    op = program.code[i]
    if op.name not in ("sin", "cos") or program.code[op.args[0]].name != "input":
        return False
    return program.inputs[program.code[op.args[0]].args[0]].name == "q"


def by_sections(program: Program) -> Program:
    """The same operations, section after section."""
    if not program.labels:
        return program
    section = sections_of(program)
    return reordered(program, sorted(range(len(program.code)), key=lambda i: (section[i], i)))


def title(section: Section, joints: Sequence[str]) -> str:
    """The comment above a section."""
    number = "" if section.body is None else str(section.body + 1)
    where = f", link {number}" if number and "#" not in section.title else ""
    if section.joint is not None and section.joint < len(joints):
        where = f', joint {section.joint + 1} ("{joints[section.joint]}")'
    text = section.title.replace("#", number) + where
    return comment(f"{text}: {section.words.replace('#', number)}" if section.words else text)


def comment(text: str) -> str:
    """A C comment of one line."""
    return f"/* {harmless(text)} */"


def harmless(text: str) -> str:
    """A line of a comment without what ends or begins one, or continues a line: names in it are the user's."""
    plain = "".join(x if x.isprintable() and x != "\\" else "?" for x in text)
    return re.sub(r"\?(?=\?)", "? ", plain.replace("*/", "* /").replace("/*", "/ *"))


def value_names(program: Program, outputs: Sequence[str], inputs: Sequence[str], taken: set[str]) -> dict[int, str]:
    """C names of values: results by the output, sines and cosines by the angle, others by their labels.

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
    for i, label in program.labels.items():
        yield i, label.text


def decimal(value: float) -> str | None:
    """A constant in decimal, if few digits give it exactly: every compiler reads them alike."""
    digits = Decimal(value).as_tuple()
    return repr(value) if len(digits.digits) <= SHORT and abs(int(digits.exponent)) <= SHORT else None


def with_decimals(line: str) -> str:
    """A line of C with the values of its hexadecimal constants behind it."""
    found = [f"{float.fromhex(x):.9g}" for x in HEX.findall(line)]
    return f"{line} /* {', '.join(found)} */" if found else line


def with_titles(
    lines: Mapping[int, list[str]], sections: Sequence[int], program: Program, joints: Sequence[str], rest: str
) -> list[str]:
    """The lines of values in their order, each section under its title; `rest` is the title of the last."""
    found: list[str] = []
    now = None
    for i, part in lines.items():
        if part and sections[i] != now and program.labels:
            now = sections[i]
            text = title(program.sections[now], joints) if 0 <= now < len(program.sections) else comment(rest)
            text = comment("sines and cosines of the joint angles") if now < 0 else text
            found += [""] * bool(found) + [f"    {text}"]
        found += part
    return found
