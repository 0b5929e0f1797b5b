"""Equations as a document: LaTeX, or executable code for SymPy or NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .notation import Name

TERMS_PER_LINE = 4  # of a sum in LaTeX
FUNCTIONS = ("cos", "sin", "tanh", "sqrt", "exp", "log", "sinh", "cosh", "tan", "atan", "asin", "acos")
NUMPY_NAMES = {"atan": "arctan", "asin": "arcsin", "acos": "arccos"}


@dataclass(frozen=True)
class Parameter:
    """A number of the robot that appears in the equations as a symbol.

    Attributes:
        symbol: The SymPy symbol.
        latex: Its name in LaTeX.
        path: Path of the number, such as "link1.mass" (docs/parameters.md).
        value: Its value in this robot; the sign of gravity is such that g is positive.
        unit: SI unit.
    """

    symbol: Any
    latex: str
    path: str
    value: float
    unit: str


@dataclass(frozen=True)
class Quantity:
    """A matrix, a vector or a number of the equations.

    Attributes:
        name: Name of the algorithm, with the field or order of a result behind it: "torque_derivatives_1".
        latex: Symbol in LaTeX, such as "M".
        inputs: Arrays it depends on, by name, each with its SymPy symbols.
        value: A SymPy Matrix; a vector is a column, a number 1 × 1.
        shape: Shape of the array: (n, n), (n,) or ().
    """

    name: str
    latex: str
    inputs: tuple[tuple[str, tuple[Any, ...]], ...]
    value: Any
    shape: tuple[int, ...]

    def entries(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Indices from 1, and the expression; of a symmetric mass matrix the upper half."""
        rows, columns = self.value.shape
        half = self.name == "mass_matrix"
        for i in range(rows):
            for j in range(i if half else 0, columns):
                yield (i + 1, j + 1)[: len(self.shape)], self.value[i, j]


@dataclass(frozen=True)
class Equations:
    """Equations of motion of a robot as SymPy expressions; `equations_of_motion` derives them.

    Attributes:
        robot: Name of the robot.
        quantities: In the order asked for.
        parameters: The symbols that stand for numbers of the robot.
        coordinates: LaTeX names of the symbols of inputs.

    `equations["mass_matrix"]` is the SymPy Matrix of a quantity.
    """

    robot: str
    quantities: tuple[Quantity, ...]
    parameters: tuple[Parameter, ...]
    coordinates: dict[Any, Name]

    def __getitem__(self, name: str) -> Any:
        from ...errors import InputError

        for quantity in self.quantities:
            if quantity.name == name:
                return quantity.value
        raise InputError(f"equations have no '{name}'; they have {', '.join(x.name for x in self.quantities)}")

    def __repr__(self) -> str:
        return f"Equations({self.robot!r}, {', '.join(x.name for x in self.quantities)})"

    # LaTeX ------------------------------------------------------------------------------------------------

    def latex(self) -> str:
        """An align environment per quantity, and a table of the symbols as comments."""
        about = [f"% equations of the robot {harmless(self.robot)}, written by flexjoint; needs the package amsmath"]
        about += [f"% {x.symbol}: {harmless(x.path)} = {x.value:.12g} {x.unit}" for x in self.parameters]
        return "\n".join([*about, *self.environments()]) + "\n"

    def _repr_latex_(self) -> str:
        """For notebooks."""
        return "\n".join(self.environments())

    def environments(self) -> list[str]:
        """An align environment per quantity."""
        names = {x.symbol: x.latex for x in self.parameters} | {x: name.latex for x, name in self.coordinates.items()}
        blocks = []
        for quantity in self.quantities:
            lines = []
            for index, value in quantity.entries():
                place = f"_{{{','.join(map(str, index))}}}" if index else ""
                lines.append(f"  {with_index(quantity.latex, place)} &= {broken(value, names)}")
            blocks.append("\n".join([rf"\begin{{align}} % {quantity.name}", " \\\\\n".join(lines), r"\end{align}"]))
        return blocks

    # Code -------------------------------------------------------------------------------------------------

    def sympy_code(self) -> str:
        """Python code that makes the same expressions with SymPy."""
        used = [str(x.symbol) for x in self.parameters] + [str(x) for x in self.coordinates]
        lines = [
            f'"""Equations of the robot {harmless(self.robot)}, written by flexjoint."""',
            "",
            *imports("sympy", self, False),
        ]
        lines += ["", *(f"{name} = Symbol({name!r})" for name in used), "", "parameters = {"]
        lines += [f"    {x.symbol}: {x.value!r},  # {harmless(x.path)}, {x.unit}" for x in self.parameters]
        lines.append("}")
        for quantity in self.quantities:
            lines += ["", f"{quantity.name} = Matrix(", *rows_of(quantity, sympy_integers=True), ")"]
        return "\n".join(lines) + "\n"

    def python_code(self) -> str:
        """A NumPy function per quantity, with the numbers of the robot; it takes arrays of one state, (n,) each."""
        lines = [
            f'"""Equations of the robot {harmless(self.robot)}, written by flexjoint."""',
            "",
            *imports("numpy", self, True),
        ]
        lines += ["", *(f"{x.symbol} = {x.value!r}  # {harmless(x.path)}, {x.unit}" for x in self.parameters)]
        for quantity in self.quantities:
            arguments = ", ".join(name for name, _ in quantity.inputs)
            lines += ["", "", f"def {quantity.name}({arguments}):"]
            for name, symbols in quantity.inputs:
                if used := quantity.value.free_symbols & set(symbols):
                    targets = ", ".join(str(x) if x in used else "_" for x in symbols)
                    one = len(symbols) == 1
                    lines.append(f"    ({targets},) = np.ravel({name})" if one else f"    {targets} = {name}")
            lines += ["    return np.array(", *(f"    {row}" for row in rows_of(quantity))]
            lines.append(f"    ).reshape({quantity.shape!r})")
        return "\n".join(lines) + "\n"

    def text(self) -> str:
        """One line per entry, for reading."""
        found = []
        for quantity in self.quantities:
            for index, value in quantity.entries():
                place = f"[{', '.join(map(str, index))}]" if index else ""
                found.append(f"{quantity.name}{place} = {code(value)}")
        return "\n".join(found)


def harmless(name: str) -> str:
    """A name as it may stand in a comment or a docstring: printable, without quotes and backslashes."""
    return "".join(x if x.isprintable() and x not in '"\\' else "?" for x in name)


def with_index(symbol: str, place: str) -> str:
    r"""\tau_e with an index: \tau_{e,1}."""
    if place and "_" in symbol:
        head, _, tail = symbol.rpartition("_")
        return f"{head}_{{{tail.strip('{}')},{place[2:-1]}}}"
    return symbol + place


def code(value: Any, sympy_integers: bool = False) -> str:
    """An expression as Python code."""
    from sympy import Rational, sstr

    exact = sympy_integers and any(x.q > 1 for x in value.atoms(Rational))  # 1/2 would be a double
    return sstr(value, full_prec=False, sympy_integers=exact)


def rows_of(quantity: Quantity, sympy_integers: bool = False) -> list[str]:
    """The lines of a nested list with the entries of a quantity."""
    rows, columns = quantity.value.shape
    lines = ["    ["]
    for i in range(rows):
        lines.append("        [")
        lines += [f"            {code(quantity.value[i, j], sympy_integers)}," for j in range(columns)]
        lines.append("        ],")
    return [*lines, "    ]"]


def imports(library: str, equations: Equations, renamed: bool) -> list[str]:
    """Import statements for the functions that the equations use."""
    from sympy import Function, Pow, Rational

    values = [quantity.value for quantity in equations.quantities]
    found = {type(x).__name__ for value in values for x in value.atoms(Function)}
    if any(abs(power.exp) == Rational(1, 2) for value in values for power in value.atoms(Pow)):
        found.add("sqrt")
    used = [name for name in FUNCTIONS if name in found]
    if not renamed:
        return [f"from {library} import {', '.join(['Matrix', 'S', 'Symbol', *used])}"]
    names = [f"{NUMPY_NAMES[x]} as {x}" if x in NUMPY_NAMES else x for x in used]
    return ["import numpy as np", *([f"from {library} import {', '.join(names)}"] if names else [])]


def broken(value: Any, names: dict[Any, str]) -> str:
    """An expression in LaTeX, a long sum over several lines."""
    from sympy import Add, latex

    terms: Sequence[Any] = value.as_ordered_terms() if value.is_Add else [value]
    pieces = [
        latex(Add(*terms[k : k + TERMS_PER_LINE]), symbol_names=names, order="none" if len(terms) > 1 else None)
        for k in range(0, len(terms), TERMS_PER_LINE)
    ]
    first, *rest = pieces
    return first + "".join(f" \\nonumber \\\\\n    &\\quad {x if x.startswith('-') else '+ ' + x}" for x in rest)


def size(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of the matrix of an array; a vector is a column."""
    return (1, 1) if not shape else (shape[0], math.prod(shape[1:]))
