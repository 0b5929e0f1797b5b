"""Bounds on the error of a Program in single precision: running error analysis [Higham ch. 3].

    (x, e) · (y, f)        ->   (x·y, |x| f + |y| e + e f + u |x·y|)

`ErrorArithmetic` is one more arithmetic for the interpreter.  Its numbers are pairs of an exact value (in double, whose
own rounding is 2⁻²⁹ of what is bounded here) and a bound on the distance of the value that single precision computes.
Each operation passes on the errors of its operands, by how much it can magnify them at these very values, and adds
its own rounding: half a unit in the last place, two for an elementary function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..ir.number_formats import SINGLE
from ..ir.program import Program
from ..ir.reference import Numbers, NumpyArithmetic, interpret

UNIT = 2.0**-SINGLE.digits  # half a unit in the last place of 1
SMALLEST = SINGLE.min_normal * UNIT  # the same of a denormal number
LARGEST = float(np.finfo(np.float32).max)


class Bounded(NamedTuple):
    """A value, and a bound on the error of what single precision computes."""

    value: Numbers
    error: Numbers


class Truth(NamedTuple):
    """A comparison, and whether single precision must decide it alike."""

    value: Numbers
    certain: Numbers


def error_bounds(program: Program, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """For float32 inputs (rows, *shape): bounds (rows, *shape) on |single precision − exact| of every output;
    infinite where single precision may overflow or leave the range of a function."""
    rows = len(arrays[0])
    columns = [[Bounded(column, 0.0) for column in np.asarray(x, dtype=np.float64).reshape(rows, -1).T] for x in arrays]
    with np.errstate(all="ignore"):
        results = interpret(program, columns, ErrorArithmetic())
    return [
        np.array([np.broadcast_to(x.error, rows) for x in row]).T.reshape(rows, *array.shape)
        for row, array in zip(results, program.outputs)
    ]


def rounded(value: Numbers, error: Numbers, units: int = 1) -> Bounded:
    """What an operation yields whose operands make it err by `error`, before it rounds."""
    reached = np.abs(value) + error
    return Bounded(value, np.where(reached < LARGEST, error + units * np.maximum(UNIT * reached, SMALLEST), np.inf))


def product_error(a: Bounded, b: Bounded) -> Numbers:
    return np.abs(a.value) * b.error + np.abs(b.value) * a.error + a.error * b.error


def increasing(function: Callable, units: int = 1) -> Callable[[Numbers, Bounded], Bounded]:
    """An increasing function errs most at an end of its argument's interval."""

    def operation(_: Numbers, a: Bounded) -> Bounded:
        y = function(a.value)
        error = np.fmax(function(a.value + a.error) - y, y - function(a.value - a.error))
        return rounded(y, error, units)

    return operation


FUNCTION = 4  # two units in the last place


class ErrorArithmetic:
    """The operations of a Program on `Bounded` numbers."""

    def const(self, value: float) -> Bounded:
        return Bounded(np.float64(value), np.abs(np.float64(np.float32(value)) - value))

    def add(self, a: Bounded, b: Bounded) -> Bounded:
        return rounded(a.value + b.value, a.error + b.error)

    def sub(self, a: Bounded, b: Bounded) -> Bounded:
        return rounded(a.value - b.value, a.error + b.error)

    def mul(self, a: Bounded, b: Bounded) -> Bounded:
        return rounded(a.value * b.value, product_error(a, b))

    def div(self, a: Bounded, b: Bounded) -> Bounded:
        quotient = a.value / b.value
        left = np.maximum(np.abs(b.value) - b.error, 0.0)  # of the divisor
        return rounded(quotient, (a.error + np.abs(quotient) * b.error) / left)

    def fma(self, a: Bounded, b: Bounded, c: Bounded) -> Bounded:
        return rounded(a.value * b.value + c.value, product_error(a, b) + c.error)

    def neg(self, a: Bounded) -> Bounded:
        return Bounded(-a.value, a.error)

    def abs(self, a: Bounded) -> Bounded:
        return Bounded(np.abs(a.value), a.error)

    def sin(self, a: Bounded) -> Bounded:
        return rounded(np.sin(a.value), self._turned(a), FUNCTION)

    def cos(self, a: Bounded) -> Bounded:
        return rounded(np.cos(a.value), self._turned(a), FUNCTION)

    def _turned(self, a: Bounded) -> Numbers:
        """By how much an angle can err, infinitely out of the range of sin and cos."""
        return np.where(np.abs(a.value) + a.error <= SINGLE.sin_range, np.minimum(a.error, 2.0), np.inf)

    def atan2(self, a: Bounded, b: Bounded) -> Bounded:
        radius, error = np.hypot(a.value, b.value), np.hypot(a.error, b.error)
        turn = np.where(error < radius, np.arcsin(np.minimum(error / radius, 1.0)), 2.0 * np.pi)
        cut = (b.value - b.error < 0.0) & (np.abs(a.value) <= a.error) & (a.error > 0.0)  # −π and π are one direction
        return rounded(np.arctan2(a.value, b.value), np.where(cut, 2.0 * np.pi, turn), FUNCTION)

    def xor(self, a: Bounded, b: Bounded) -> Bounded:
        """Exact of whole numbers; of others it can be anything."""
        whole = (a.error + b.error == 0.0) & (np.floor(a.value) == a.value) & (np.floor(b.value) == b.value)
        return Bounded(NumpyArithmetic().xor(np.asarray(a.value), np.asarray(b.value)), np.where(whole, 0.0, np.inf))

    sqrt = increasing(lambda x: np.sqrt(np.maximum(x, 0.0)))
    floor = increasing(np.floor, 0)
    exp, tanh, cbrt, sinh = (increasing(f, FUNCTION) for f in (np.exp, np.tanh, np.cbrt, np.sinh))
    log = increasing(lambda x: np.log(np.maximum(x, 0.0)), FUNCTION)

    def cosh(self, a: Bounded) -> Bounded:
        """Errs most at the end of the interval that is farther from 0."""
        y, far = np.cosh(a.value), np.cosh(np.abs(a.value) + a.error)
        return rounded(y, far - y, FUNCTION)

    def asin(self, a: Bounded) -> Bounded:
        return self._arc(np.arcsin, a)

    def acos(self, a: Bounded) -> Bounded:
        return self._arc(np.arccos, a)

    def _arc(self, function: Callable, a: Bounded) -> Bounded:
        """A monotonic function on [-1, 1]; infinite error where single precision may leave the interval."""
        y, ends = function(a.value), [function(np.clip(a.value + e, -1.0, 1.0)) for e in (-a.error, a.error)]
        error = np.fmax(np.abs(ends[0] - y), np.abs(ends[1] - y))
        return rounded(y, np.where(np.abs(a.value) + a.error <= 1.0, error, np.inf), FUNCTION)

    def lt(self, a: Bounded, b: Bounded) -> Truth:
        return Truth(a.value < b.value, self._apart(a, b))

    def le(self, a: Bounded, b: Bounded) -> Truth:
        return Truth(a.value <= b.value, self._apart(a, b))

    def eq(self, a: Bounded, b: Bounded) -> Truth:
        return Truth(a.value == b.value, self._apart(a, b))

    def _apart(self, a: Bounded, b: Bounded) -> Numbers:
        return (np.abs(a.value - b.value) > a.error + b.error) | (a.error + b.error == 0.0)

    def select(self, mask: Truth, a: Bounded, b: Bounded) -> Bounded:
        value = np.where(mask.value, a.value, b.value)
        either = np.abs(a.value - b.value) + np.maximum(a.error, b.error)
        return Bounded(value, np.where(mask.certain, np.where(mask.value, a.error, b.error), either))
