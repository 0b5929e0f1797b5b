"""From CasADi SX expressions to a Program: each SX instruction becomes one operation, or a few.

    x + tan(y)        ->   %0 = input x[0];  %1 = input y[0];  %2 = sin %1;  %3 = cos %1;  %4 = div %2, %3;  ...

A scan (scan.py) appears in the expressions as fresh symbols; `Recorder` puts the loop that computes them there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial, wraps
from itertools import accumulate
from types import ModuleType
from typing import Any

import numpy as np

from ...errors import FlexjointError, InputError
from ...lazy import ca, is_symbolic, sx
from ...types import Expression
from . import packing
from .program import Array, Builder, Loop, Program
from .scan import Definition, Operation


def record(
    name: str,
    inputs: Sequence[tuple[Array, Expression]],
    outputs: Sequence[tuple[Array, Expression]],
    definitions: Mapping[int, Definition | Operation],
    known: Sequence[tuple[Expression, float]] = (),
    packs: Sequence[packing.Definition] = (),
) -> Program:
    """The Program that computes the SX expressions `outputs` from the SX symbols `inputs`, as CasADi lists it.

    Matrices are stored row by row, as NumPy does; CasADi stores columns.

    - `definitions`: the scans and operations that the expressions contain, by the symbols of their results
    - `known`: symbols that stand for numbers
    - `packs`: definitions of packed values and of lanes of them

    Raises InputError if an output has another size than its Array declares: a kernel writes as many numbers as were
    traced.
    """
    import casadi as ca

    outputs = [(array, declared(name, array, expression)) for array, expression in outputs]

    recorder = Recorder(name, [by_rows(ca, symbol) for _, symbol in inputs], definitions, packs)
    recorder.bind([symbol for symbol, _ in known], [partial(recorder.build.constant, x) for _, x in known])
    results = recorder.values([by_rows(ca, expression) for _, expression in outputs])
    return recorder.program([array for array, _ in inputs], [array for array, _ in outputs], results)


def declared(owner: str, array: Array, value: object) -> Expression:
    """`value` as SX, compared with the shape that its Array declares; `owner` is the function that returned it.

    A matrix may also be given as a row or a column of its elements, row by row, and a vector as a row.
    """
    try:
        found = as_expression(value)
    except (TypeError, ValueError, NotImplementedError, RuntimeError):
        found = None
    wanted = f"it must have shape {array.shape}"
    if array.labels and len(array.shape) == 1:
        wanted += f", one number for each of {', '.join(array.labels)[:200]}"
    if found is None:
        raise InputError(f"{owner} returned {type(value).__name__} for {array.name}; {wanted}, in SX or numbers")
    sizes = array.shape
    if found.shape not in {(math.prod(sizes[:k]), math.prod(sizes[k:])) for k in range(len(sizes) + 1)}:
        shape = found.shape if found.shape[1] != 1 else found.shape[:1]
        raise InputError(f"{owner} returned {array.name} with shape {shape}; {wanted}")
    return ca.vec(found) if len(sizes) == 1 else found


def declared_all(owner: str, what: str, arrays: Sequence[Array], values: Any) -> list[Expression]:
    """Several values, as many as there are arrays."""
    check_count(owner, what, [array.name for array in arrays], values)
    return [declared(owner, array, value) for array, value in zip(arrays, values)]


def declare_outputs(cls: type, **sizes: int) -> None:
    """Check the results of methods that a user's class overrides: so many SX scalars each."""
    for name, count in sizes.items():
        method = vars(cls).get(name)
        if callable(method) and not method.__module__.startswith("flexjoint."):
            setattr(cls, name, with_declared_output(method, f"{cls.__name__}.{name}", count))


def with_declared_output(method: Callable[..., Any], owner: str, count: int) -> Callable[..., Any]:
    """A method whose results for SX are compared with their declaration."""
    arrays = [Array(f"its result{f' {k}' if count > 1 else ''}", ()) for k in range(count)]

    @wraps(method)
    def checked(self: Any, *arguments: Any) -> Any:
        value = method(self, *arguments)
        if not any(map(is_symbolic, arguments)):
            return value
        return (
            declared(owner, arrays[0], value) if count == 1 else tuple(declared_all(owner, "its result", arrays, value))
        )

    return checked


def check_count(owner: str, what: str, names: Sequence[str], values: Any) -> None:
    if not isinstance(values, tuple | list) or len(values) != len(names):
        listed = f"a tuple of {len(names)}: {', '.join(names)}" if names else "an empty tuple"
        raise InputError(f"{owner} returned {counted(values)} as {what}; it must be {listed}")


def counted(value: object) -> str:
    return f"{type(value).__name__} of {len(value)}" if isinstance(value, tuple | list) else type(value).__name__


def as_expression(value: Any) -> Expression | None:
    """SX of SX, of numbers, and of lists and arrays of both; None of anything else."""
    if is_symbolic(value):
        return value
    if isinstance(value, ca.DM):
        return ca.SX(value)
    if isinstance(value, list | tuple) and any(map(is_symbolic, value)):
        return sx(list(value))
    array = np.asarray(value)
    if array.dtype == object and array.ndim in (1, 2) and all(map(is_symbolic, array.flat)):
        return ca.vertcat(*(ca.horzcat(*row) for row in array.reshape(len(array), -1).tolist()))
    return sx(array) if array.dtype.kind in "fiub" and array.ndim <= 2 else None


def by_rows(ca: ModuleType, matrix: Expression) -> list[Expression]:
    """The elements of a matrix, row by row."""
    return ca.densify(matrix).T.nonzeros()


class Recorder:
    """Records expressions of known symbols, one operation after the other."""

    def __init__(
        self,
        name: str,
        inputs: Sequence[Sequence[Expression]],
        definitions: Mapping[int, Definition | Operation],
        packs: Sequence[packing.Definition] = (),
    ):
        self.name = name
        self.definitions = definitions
        self.packs = packs
        self.build = Builder()
        self.symbols: dict[int, Expression] = {}  # those with a value
        self.value: list[Callable[[], int]] = []
        self.needed: dict[int, list[Expression]] = {}  # by a loop, named by its first result
        for k, symbols in enumerate(inputs):
            self.bind(symbols, [partial(self.build.input, k, e) for e in range(len(symbols))])

    def program(self, inputs: Sequence[Array], outputs: Sequence[Array], results: Sequence[Sequence[int]]) -> Program:
        code, rows = tuple(self.build.code), tuple(tuple(row) for row in results)
        return Program(self.name, tuple(inputs), tuple(outputs), code, rows)

    def bind(self, symbols: Sequence[Expression], values: Sequence[Callable[[], int]]) -> None:
        """Give symbols the values that these functions record, when they are first needed."""
        self.symbols |= {symbol.element_hash(): symbol for symbol in symbols}
        self.value += values

    def values(self, outputs: Sequence[Sequence[Expression]]) -> list[list[int]]:
        """The values of lists of scalar expressions.

        CasADi works through them in their order: what packs are made of comes first, so that each is known where its
        symbol is met.  Packs must not depend on loops.
        """
        import casadi as ca

        if not self.packs and all(x.is_symbolic() for row in outputs for x in row):
            return self.values_of_symbols(outputs)
        rows = [[x for pack in self.packs for x in pack.args], *outputs]
        starts = list(accumulate((len(pack.args) for pack in self.packs), initial=0))
        expressions = [column(row) for row in rows]
        self.link(symbols_of(expressions))
        known = len(self.symbols)
        symbols = column([*self.symbols.values(), *(pack.symbol for pack in self.packs)])
        function = ca.Function("traced", [symbols], expressions)
        rules = _rules()
        work: dict[int, int] = {}
        results = [[self.build.constant(0.0)] * len(row) for row in rows]
        for k in range(function.n_instructions()):
            code = function.instruction_id(k)
            into, args = function.instruction_output(k), function.instruction_input(k)
            if code == ca.OP_CONST:
                work[into[0]] = self.build.constant(function.instruction_constant(k))
            elif code == ca.OP_INPUT and args[1] >= known:
                pack = args[1] - known
                made_of = results[0][starts[pack] : starts[pack + 1]]
                work[into[0]] = self.build.emit(self.packs[pack].name, *made_of)
            elif code == ca.OP_INPUT:
                work[into[0]] = self.value[args[1]]()
            elif code == ca.OP_OUTPUT:
                results[into[0]][into[1]] = work[args[0]]
            elif code in rules:
                work[into[0]] = rules[code](self.build, *(work[x] for x in args))
            else:
                what = f"no kernel has the function {_name(ca, code)}"
                raise FlexjointError(f"{self.name}: {what}; it can use {', '.join(FUNCTIONS)}")
        return results[1:]

    def values_of_symbols(self, outputs: Sequence[Sequence[Expression]]) -> list[list[int]]:
        """The values of lists of symbols, without CasADi: what a loop takes and gives is thousands of them."""
        self.link([x for row in outputs for x in row])
        value = dict(zip(self.symbols, self.value))
        return [[value[x.element_hash()]() for x in row] for row in outputs]

    def link(self, symbols: Sequence[Expression]) -> None:
        """Give a value to those symbols that are results of loops."""
        packed = {pack.symbol.element_hash() for pack in self.packs}
        for symbol in symbols:
            key = symbol.element_hash()
            if key in self.symbols or key in packed:
                continue
            if key not in self.definitions:
                what = f"the symbol '{symbol.name()[:200]}' in its result is none of its arguments"
                raise InputError(f"{self.name}: {what}; use only what it is called with, and numbers")
            found = self.definitions[key]
            self.bind(found.results, self.loop(found) if isinstance(found, Definition) else self.operation(found))

    def operation(self, found: Operation) -> list[Callable[[], int]]:
        (args,) = self.values([found.args])
        value = self.build.emit(found.name, *args)
        return [lambda: value]

    def loop(self, scan: Definition) -> list[Callable[[], int]]:
        """A scan, and the values of its results."""
        shared = self.shared(scan)
        constant = [j for j, column in enumerate(zip(*scan.xs)) if all(x.is_constant() for x in column)]
        varying = [j for j in range(len(scan.x)) if j not in constant]
        table = tuple(tuple(float(row[j]) for j in constant) for row in scan.xs)
        inputs = {
            "carry": scan.carry,
            "x": [scan.x[j] for j in varying],
            "table": [scan.x[j] for j in constant],
            "shared": shared,
        }
        outputs = {"carry": scan.carry_out, "y": scan.y}
        body = Recorder(self.name, list(inputs.values()), self.definitions)
        results = body.values(list(outputs.values()))
        into, out_of = ([Array(name, (len(x),)) for name, x in side.items()] for side in (inputs, outputs))
        loop = Loop(len(scan.xs), body.program(into, out_of, results), table, scan.reverse)
        rows = [[row[j] for j in varying] for row in scan.xs]
        args = self.values([scan.start, [x for row in rows for x in row], shared])
        value = self.build.scan(loop, [x for part in args for x in part])
        return [partial(self.build.item, value, k) for k in range(loop.results)]

    def shared(self, scan: Definition) -> list[Expression]:
        """Symbols from outside the loop that its step uses; loops inside it that do not depend on it are outside."""
        own = {symbol.element_hash() for symbol in (*scan.carry, *scan.x)}

        @cache
        def inner(key: int) -> bool:
            if key in own:
                return True
            found = self.definitions.get(key)
            return found is not None and any(inner(x.element_hash()) for x in self.needs(found))

        found: dict[int, Expression] = {}
        waiting = symbols_of([*scan.carry_out, *scan.y])
        while waiting:
            symbol = waiting.pop()
            key = symbol.element_hash()
            if not inner(key):
                found[key] = symbol
            elif key not in own:
                waiting += self.needs(self.definitions[key])
        return list(found.values())

    def needs(self, scan: Definition | Operation) -> list[Expression]:
        """Symbols outside a loop that its results depend on."""
        if isinstance(scan, Operation):
            return symbols_of(scan.args)
        key = scan.results[0].element_hash()
        if key not in self.needed:
            given = [*scan.start, *(x for row in scan.xs for x in row)]
            self.needed[key] = [*symbols_of(given), *self.shared(scan)]
        return self.needed[key]


def symbols_of(expressions: Sequence[Expression]) -> list[Expression]:
    import casadi as ca

    return ca.symvar(ca.veccat(ca.SX(), *expressions))


def column(scalars: Iterable[Expression]) -> Expression:
    """A vector, of no elements if there are none."""
    import casadi as ca

    return ca.densify(ca.vertcat(ca.SX(0, 1), *scalars))


@cache
def _rules() -> dict[int, Callable[..., int]]:
    """One expansion for every SX operation that has a meaning here."""
    import casadi as ca

    def op(name: str) -> Callable[..., int]:
        return lambda b, *x: b.emit(name, *x)

    def one(b: Builder) -> int:
        return b.constant(1.0)

    def zero(b: Builder) -> int:
        return b.constant(0.0)

    def negated(b: Builder, x: int) -> int:
        return b.emit("eq", x, zero(b))

    def truth(b: Builder, x: int) -> int:
        return b.emit("select", x, one(b), zero(b))

    def minimum(b: Builder, x: int, y: int) -> int:  # NaN if either is NaN
        return b.emit("select", b.emit("le", x, y), x, b.emit("select", b.emit("eq", x, x), y, x))

    def sign(b: Builder, x: int) -> int:
        minus = b.emit("select", b.emit("lt", x, zero(b)), b.constant(-1.0), x)
        return b.emit("select", b.emit("lt", zero(b), x), one(b), minus)

    def power(b: Builder, x: int, y: int) -> int:
        exponent = b.code[y]
        if exponent.name == "const" and abs(exponent.constant) <= 64 and exponent.constant == int(exponent.constant):
            value = repeated_squares(b, x, abs(int(exponent.constant)))
            return b.emit("div", one(b), value) if exponent.constant < 0 else value
        if exponent.name == "const" and exponent.constant == 1 / 3:  # the real root, of negative numbers too
            return b.emit("cbrt", x)
        # of positive bases only; NaN otherwise
        return b.emit("exp", b.emit("mul", y, b.emit("log", x)))

    def square(b: Builder, x: int) -> int:
        return b.emit("mul", x, x)

    rules: dict[int, Callable[..., int]] = {
        ca.OP_ASSIGN: lambda b, x: x,
        ca.OP_ADD: op("add"),
        ca.OP_SUB: op("sub"),
        ca.OP_MUL: op("mul"),
        ca.OP_DIV: op("div"),
        ca.OP_NEG: op("neg"),
        ca.OP_SQ: square,
        ca.OP_TWICE: lambda b, x: b.emit("add", x, x),
        ca.OP_INV: lambda b, x: b.emit("div", one(b), x),
        ca.OP_SQRT: op("sqrt"),
        ca.OP_FABS: op("abs"),
        ca.OP_FLOOR: op("floor"),
        ca.OP_CEIL: lambda b, x: b.emit("neg", b.emit("floor", b.emit("neg", x))),
        ca.OP_SIN: op("sin"),
        ca.OP_COS: op("cos"),
        ca.OP_TAN: lambda b, x: b.emit("div", b.emit("sin", x), b.emit("cos", x)),
        ca.OP_ATAN2: op("atan2"),
        ca.OP_ATAN: lambda b, x: b.emit("atan2", x, one(b)),
        ca.OP_ASIN: op("asin"),
        ca.OP_ACOS: op("acos"),
        ca.OP_EXP: op("exp"),
        ca.OP_LOG: op("log"),
        ca.OP_TANH: op("tanh"),
        ca.OP_SINH: op("sinh"),
        ca.OP_COSH: op("cosh"),
        ca.OP_POW: power,
        ca.OP_CONSTPOW: power,
        ca.OP_LT: op("lt"),
        ca.OP_LE: op("le"),
        ca.OP_EQ: op("eq"),
        ca.OP_NE: lambda b, x, y: negated(b, b.emit("eq", x, y)),
        ca.OP_NOT: negated,
        ca.OP_AND: lambda b, x, y: b.emit("select", x, truth(b, y), zero(b)),
        ca.OP_OR: lambda b, x, y: b.emit("select", x, one(b), truth(b, y)),
        ca.OP_IF_ELSE_ZERO: lambda b, c, x: b.emit("select", c, x, zero(b)),
        ca.OP_FMIN: minimum,
        ca.OP_FMAX: lambda b, x, y: b.emit("neg", minimum(b, b.emit("neg", x), b.emit("neg", y))),
        ca.OP_SIGN: sign,
    }
    return rules


def repeated_squares(b: Builder, x: int, n: int) -> int:
    value = b.constant(1.0)
    while n:
        if n & 1:
            value = b.emit("mul", value, x)
        x, n = b.emit("mul", x, x), n >> 1
    return value


FUNCTIONS = (
    "sqrt", "exp", "log", "pow", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh",
    "fabs", "sign", "floor", "ceil", "fmin", "fmax", "if_else",
)  # of CasADi, beside arithmetic, comparisons and logic  # fmt: skip


def unsupported_functions(expressions: Sequence[Expression]) -> list[str]:
    """Functions in SX expressions that no kernel has, by their names in CasADi."""
    import casadi as ca

    listing = ca.Function("listing", symbols_of(expressions), [ca.SX(x) for x in expressions])
    codes = dict.fromkeys(listing.instruction_id(k) for k in range(listing.n_instructions()))
    known = {ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT, *_rules()}
    return [_name(ca, code) for code in codes if code not in known]


def _name(ca: ModuleType, code: int) -> str:
    return next((x[3:].lower() for x in dir(ca) if x.startswith("OP_") and getattr(ca, x) == code), str(code))
