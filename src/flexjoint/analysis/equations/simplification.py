"""Trigonometric sums as SymPy expressions in the form a person would write.

Terms are grouped by their denominators, such as 1/K_1, then by their sines and cosines; two of these with the same
coefficient become one product.  What multiplies them is factored; a sum that has no factors is collected by
accelerations, then by masses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from .expansion import Variables
from .trigonometric_sums import Budget, Factors, Powers, TrigonometricSum, paired

MOST_FACTORED = 40  # terms of a polynomial that SymPy factors; beyond, only common factors are taken out
LARGEST_DENOMINATOR = 48  # of a fraction where all numbers of the robot are symbols; other numbers are decimals
DIGITS = 12


class Writer:
    """Makes SymPy expressions of sums over variables.

    symbols: one per variable of the sums, before the functions.
    rates, masses: those of them that sums are collected by.
    fractions: whether numbers such as 1/2 stay fractions; else they are decimals.
    """

    def __init__(
        self,
        symbols: Sequence[Any],
        variables: Variables,
        rates: Sequence[Any],
        masses: Sequence[Any],
        fractions: bool,
        budget: Budget,
    ):
        import sympy

        self.sympy, self.budget, self.rates, self.masses = sympy, budget, list(rates), list(masses)
        self.largest = LARGEST_DENOMINATOR if fractions else 1
        self.variables = [*symbols]
        self.functions: dict[Any, Any] = {}  # by the symbol in their place: SymPy is slow with nested fractions
        for name, argument in variables.made:  # arguments use earlier variables only
            x = self.expression(argument)
            self.variables.append(sympy.Dummy(name))
            self.functions[self.variables[-1]] = 1 / x if name == "inverse" else getattr(sympy, name)(x)

    def expression(self, x: TrigonometricSum) -> Any:
        """A sum as an expression."""
        groups: dict[Powers, list[Any]] = {}
        waves = x.harmonics()
        products = paired(waves) if self.largest > 1 else {tuple(y for y in (k,) if y[1]): p for k, p in waves.items()}
        for factors, polynomial in sorted(products.items(), key=lambda item: order(item[0])):
            parts: dict[Powers, dict[Powers, float]] = {}
            for powers, c in polynomial.items():
                below = tuple((k, e) for k, e in powers if e < 0)
                parts.setdefault(below, {})[tuple((k, e) for k, e in powers if e > 0)] = c
            for below, part in parts.items():
                self.budget.check()
                wave = self.sympy.Mul(*(getattr(self.sympy, name)(self.angle(angle)) for name, angle in factors))
                groups.setdefault(below, []).append(wave * self.polynomial(part))
        add, outer = self.sympy.Add, []
        for below, terms in groups.items():
            inner = add(*terms)
            outer.append(self.sympy.factor_terms(inner, radical=False) * self.monomial(below) if below else inner)
        return self.decimals(add(*outer)).xreplace(self.functions)

    def polynomial(self, terms: Mapping[Powers, float]) -> Any:
        """A polynomial with rational coefficients, factored or collected."""
        found = self.sympy.Add(*(rational(self.sympy, c) * self.monomial(x) for x, c in terms.items()))
        if not 1 < len(terms) <= MOST_FACTORED:
            return self.sympy.factor_terms(found)
        factored = self.sympy.factor(found)
        if factored.is_Mul:
            return self.sympy.Mul(*(self.collected(x) for x in factored.args))
        return self.collected(factored)

    def collected(self, x: Any) -> Any:
        """A sum collected: (I_2 + m_2 l_c2²) a_1, m_2 (l_1² + l_c2²)."""
        if not x.is_Add:
            return x
        rates = [y for y in self.rates if y in x.free_symbols]
        if len(rates) and x.free_symbols - set(rates):
            return self.sympy.collect(x, rates, func=lambda y: self.sympy.collect(y, self.masses))
        return self.sympy.collect(x, self.masses)

    def monomial(self, powers: Powers) -> Any:
        return self.sympy.Mul(*(self.variables[k] ** e for k, e in powers))

    def angle(self, multiples: Powers) -> Any:
        return self.sympy.Add(*(k * self.variables[x] for x, k in multiples))

    def decimals(self, x: Any) -> Any:
        """Fractions that are decimals in the data as decimals again."""
        sympy = self.sympy
        wide = {y: sympy.Float(float(y), DIGITS) for y in x.atoms(sympy.Rational) if y.q > self.largest}
        return x.xreplace(wide) if wide else x


def order(factors: Factors) -> tuple[Any, ...]:
    return len(factors), [(len(angle), angle, name) for name, angle in factors]


def rational(sympy: Any, x: float) -> Any:
    """A coefficient as a fraction with a small denominator, or as the nearest decimal of 12 digits."""
    near = Fraction(x).limit_denominator(LARGEST_DENOMINATOR)
    if abs(near - Fraction(x)) > 10**-DIGITS * abs(Fraction(x)):
        near = Fraction(f"{x:.{DIGITS}g}")
    return sympy.Rational(near.numerator, near.denominator)
