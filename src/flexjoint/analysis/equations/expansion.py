"""CasADi SX expressions as trigonometric sums: the instruction list of SX, one operation after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...spatial import ca
from ...types import Expression
from .trigonometric_sums import Budget, TooLarge, TrigonometricSum, cosine, is_whole, sine

FUNCTIONS = ("tanh", "sqrt", "exp", "log", "sinh", "cosh", "tan", "atan", "asin", "acos")  # of CasADi and SymPy
MOST_POWER = 12


class Variables:
    """Variables of sums: symbols, and functions of sums that are no polynomials."""

    def __init__(self, count: int):
        self.made: list[tuple[str, TrigonometricSum]] = []  # function and argument, behind `count` symbols
        self.count = count
        self.known: dict[Any, int] = {}

    def function(self, name: str, x: TrigonometricSum) -> TrigonometricSum:
        """A function of a sum, as a variable."""
        key = name, frozenset(x.terms.items())
        if key not in self.known:
            self.known[key] = self.count + len(self.made)
            self.made.append((name, x))
        return TrigonometricSum.variable(self.known[key])


def expanded(
    symbols: Sequence[Expression], outputs: Sequence[Expression], budget: Budget
) -> tuple[list[list[TrigonometricSum]], Variables]:
    """The elements of every output, row by row, as sums over the symbols, which are numbered in their order."""
    rows = [ca.densify(x).T.nonzeros() for x in outputs]
    function = ca.Function("f", [ca.vertcat(*symbols)], [ca.vertcat(*row) for row in rows])
    variables = Variables(len(symbols))
    rules = operations(variables, budget)
    work: dict[int, TrigonometricSum] = {}
    found = [[TrigonometricSum({})] * len(row) for row in rows]
    for k in range(function.n_instructions()):
        code, into, args = function.instruction_id(k), function.instruction_output(k), function.instruction_input(k)
        budget.check()
        if code == ca.OP_CONST:
            work[into[0]] = TrigonometricSum.number(function.instruction_constant(k))
        elif code == ca.OP_INPUT:
            work[into[0]] = TrigonometricSum.variable(args[1])
        elif code == ca.OP_OUTPUT:
            found[into[0]][into[1]] = work[args[0]]
        elif code in rules:
            work[into[0]] = rules[code](*(work[x] for x in args))
        else:
            raise TooLarge("it has branches or searches for a root, which no formula shows")
    return found, variables


def operations(variables: Variables, budget: Budget) -> dict[int, Callable[..., TrigonometricSum]]:
    """What every SX operation does to sums."""

    def times(x: TrigonometricSum, y: TrigonometricSum) -> TrigonometricSum:
        return x.times(y, budget)

    def over(x: TrigonometricSum, y: TrigonometricSum) -> TrigonometricSum:
        inverse = y.inverse()
        return times(x, variables.function("inverse", y) if inverse is None else inverse)

    def power(x: TrigonometricSum, y: TrigonometricSum) -> TrigonometricSum:
        exponent = y.constant
        if exponent is None or not is_whole(exponent) or abs(exponent) > MOST_POWER:
            raise TooLarge("it has a power that is no polynomial")
        found = TrigonometricSum.number(1.0)
        for _ in range(abs(int(exponent))):
            found = times(found, x)
        return over(TrigonometricSum.number(1.0), found) if exponent < 0 else found

    def turned(name: str, function: Callable[..., TrigonometricSum]) -> Callable[[TrigonometricSum], TrigonometricSum]:
        def of(x: TrigonometricSum) -> TrigonometricSum:
            angle = x.as_angle()
            return variables.function(name, x) if angle is None else function(angle)

        return of

    def opaque(name: str) -> Callable[[TrigonometricSum], TrigonometricSum]:
        return lambda x: variables.function(name, x)

    one = TrigonometricSum.number(1.0)
    return {getattr(ca, f"OP_{name.upper()}"): opaque(name) for name in FUNCTIONS} | {
        ca.OP_ASSIGN: lambda x: x,
        ca.OP_ADD: lambda x, y: x + y,
        ca.OP_SUB: lambda x, y: x + y.scaled(-1.0),
        ca.OP_MUL: times,
        ca.OP_DIV: over,
        ca.OP_NEG: lambda x: x.scaled(-1.0),
        ca.OP_SQ: lambda x: times(x, x),
        ca.OP_TWICE: lambda x: x.scaled(2.0),
        ca.OP_INV: lambda x: over(one, x),
        ca.OP_CONSTPOW: power,
        ca.OP_POW: power,
        ca.OP_SIN: turned("sin", sine),
        ca.OP_COS: turned("cos", cosine),
    }
