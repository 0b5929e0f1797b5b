"""Sums of monomials times exponentials of angles: a canonical form of the dynamics of robots.

Every entry of M, c, g, S and of a torque is a polynomial in parameters, velocities and accelerations whose coefficients
are trigonometric polynomials of the joint angles.  With exponentials in place of sines and cosines

    Σ c · x_1^a x_2^b ... · exp(i (k_1 q_1 + k_2 q_2 + ...))

products are sums of exponents, so cos q_1 cos q_2 − sin q_1 sin q_2 becomes cos(q_1 + q_2) without any search: equal
functions have equal terms.  Exponents may be negative, so 1/K is a monomial.  Whatever is no polynomial, such as
tanh(q'/v_c), is a variable of its own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from functools import cache
from typing import TypeAlias

from ...errors import FlexjointError

Powers: TypeAlias = "tuple[tuple[int, int], ...]"  # (variable, exponent or multiple), sorted, without zeros
Term: TypeAlias = "tuple[Powers, Powers]"  # monomial, angle
Harmonics: TypeAlias = "dict[tuple[str, Powers], dict[Powers, float]]"  # polynomials by ("cos" or "sin", angle)
Factors: TypeAlias = "tuple[tuple[str, Powers], ...]"  # sines and cosines that multiply each other
SAME = 1e-12  # relative difference of coefficients that are taken for equal
ROUNDING = 1e-13  # of the largest coefficient: what cancels up to rounding is dropped
MOST_TERMS = 60_000  # of a sum: beyond, nobody reads the equations


class TooLarge(FlexjointError):
    """The terms or the time given are used up."""


class Budget:
    """Time that a derivation may take."""

    def __init__(self, seconds: float):
        self.end = time.monotonic() + seconds

    def check(self, terms: int = 0) -> None:
        """Raise TooLarge if the time has passed or a sum has too many terms."""
        if terms > MOST_TERMS:
            raise TooLarge(f"one of its sums has more than {MOST_TERMS} terms")
        if time.monotonic() > self.end:
            raise TooLarge("the time limit has passed")


@cache
def joined(a: Powers, b: Powers) -> Powers:
    """The product of two monomials, or the sum of two angles."""
    found = dict(a)
    for variable, k in b:
        found[variable] = found.get(variable, 0) + k
    return tuple(sorted((x, k) for x, k in found.items() if k))


class TrigonometricSum:
    """A real function in the canonical form; immutable."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Term, complex]):
        self.terms = terms

    @classmethod
    def number(cls, x: float) -> TrigonometricSum:
        return cls({((), ()): complex(x)} if x else {})

    @classmethod
    def variable(cls, k: int) -> TrigonometricSum:
        return cls({(((k, 1),), ()): 1.0 + 0.0j})

    def __add__(self, other: TrigonometricSum) -> TrigonometricSum:
        found = dict(self.terms)
        for key, c in other.terms.items():
            total = found.get(key, 0.0) + c
            if total:
                found[key] = total
            else:
                found.pop(key, None)
        return TrigonometricSum(found)

    def scaled(self, factor: float) -> TrigonometricSum:
        return TrigonometricSum({key: factor * c for key, c in self.terms.items()} if factor else {})

    def times(self, other: TrigonometricSum, budget: Budget) -> TrigonometricSum:
        """The product."""
        found: dict[Term, complex] = {}
        for (x, a), c in self.terms.items():
            budget.check(len(found))
            for (y, b), d in other.terms.items():
                key = joined(x, y), joined(a, b)
                found[key] = found.get(key, 0.0) + c * d
        most = max(map(abs, found.values()), default=0.0)
        return TrigonometricSum({key: c for key, c in found.items() if abs(c) > 1e-15 * most})

    @property
    def constant(self) -> float | None:
        """The number that the sum is, None if it is none."""
        if not self.terms:
            return 0.0
        return self.terms[(), ()].real if [*self.terms] == [((), ())] else None

    def inverse(self) -> TrigonometricSum | None:
        """1 over a single monomial, None of anything else."""
        if len(self.terms) != 1:
            return None
        (((x, angle), c),) = self.terms.items()
        return None if angle else TrigonometricSum({(tuple((k, -e) for k, e in x), ()): 1 / c})

    def as_angle(self) -> Powers | None:
        """The multiples of variables if the sum is k_1 x_1 + k_2 x_2 + ... with integers, None otherwise."""
        found = []
        for (x, angle), c in self.terms.items():
            if angle or len(x) != 1 or x[0][1] != 1 or c != int(c.real):
                return None
            found.append((x[0][0], int(c.real)))
        return tuple(sorted(found))

    def harmonics(self) -> Harmonics:
        """Polynomials by what they multiply: ("cos", angle), ("sin", angle), or ("cos", ()) for 1.

        The first multiple of every angle is positive.
        """
        most = max((abs(c) for c in self.terms.values()), default=0.0)
        found: Harmonics = {}
        for (x, angle), c in self.terms.items():
            if angle and angle[0][1] < 0:
                continue  # the conjugate of another term
            double = 2.0 if angle else 1.0
            for name, value in (("cos", double * c.real), ("sin", -double * c.imag)):
                if abs(value) > ROUNDING * most:
                    found.setdefault((name, angle), {})[x] = value
        return found


def paired(harmonics: Harmonics) -> dict[Factors, dict[Powers, float]]:
    """Harmonics with the same coefficient as one product, where the half angles are whole:

    cos A + cos B = 2 cos((A + B)/2) cos((A − B)/2), so 1 + cos 2q = 2 cos² q, and likewise for differences and sines.
    """
    by_monomial: dict[Powers, list[tuple[str, Powers, float]]] = {}
    for (name, angle), polynomial in harmonics.items():
        for monomial, c in polynomial.items():
            by_monomial.setdefault(monomial, []).append((name, angle, c))
    found: dict[Factors, dict[Powers, float]] = {}
    for monomial, terms in by_monomial.items():
        waiting = sorted(terms, key=lambda x: (len(x[1]), x[1], x[0]))
        while waiting:
            name, angle, c = waiting.pop(0)
            factors: Factors = ((name, angle),)
            for k, (other, b, d) in enumerate(waiting):
                halves = half(joined(angle, b)), half(joined(angle, opposite(b)))
                if name == other and abs(abs(c) - abs(d)) <= SAME * abs(c) and None not in halves:
                    factors, c = product_of_halves(name, halves, c, d)  # type: ignore[arg-type]
                    del waiting[k]
                    break
            place = found.setdefault(tuple(sorted(x for x in factors if x[1])), {})
            place[monomial] = place.get(monomial, 0.0) + c
    return found


def product_of_halves(name: str, halves: tuple[Powers, Powers], c: float, d: float) -> tuple[Factors, float]:
    """c f(A) + d f(B) with d = ±c, from (A + B)/2 and (A − B)/2."""
    kinds = {
        ("cos", True): ("cos", "cos", 2 * c),
        ("cos", False): ("sin", "sin", -2 * c),
        ("sin", True): ("sin", "cos", 2 * c),
        ("sin", False): ("cos", "sin", 2 * c),
    }
    *functions, factor = kinds[name, c * d > 0]
    factors = []
    for function, angle in zip(functions, halves):
        if angle and angle[0][1] < 0:
            angle = opposite(angle)
            factor = -factor if function == "sin" else factor
        factors.append((str(function), angle))
    return tuple(factors), float(factor)


def half(angle: Powers) -> Powers | None:
    """Half of an angle, None if that is no whole multiple."""
    return None if any(k % 2 for _, k in angle) else tuple((x, k // 2) for x, k in angle)


def cosine(angle: Powers) -> TrigonometricSum:
    """cos of an angle."""
    return TrigonometricSum({((), angle): 0.5 + 0j, ((), opposite(angle)): 0.5 + 0j} if angle else {((), ()): 1 + 0j})


def sine(angle: Powers) -> TrigonometricSum:
    """sin of an angle."""
    return TrigonometricSum({((), angle): -0.5j, ((), opposite(angle)): 0.5j} if angle else {})


def opposite(angle: Powers) -> Powers:
    return tuple((x, -k) for x, k in angle)


def is_whole(x: float) -> bool:
    return math.isfinite(x) and x == int(x)
