"""The reference interpreter: the meaning of every operation of a Program, over any number type.

    evaluate(program, 3.0)        # [array(9.)], if the program squares its input

`apply` defines each operation through the primitives of an `Arithmetic` (elementary.py) and is used by the
compiled backends too.  The arithmetics here are Python floats, NumPy arrays in double and single precision, and mpmath.
Floats and arrays round every operation once, as IEEE 754 asks, and give the bits that compiled code gives; mpmath
computes with as many bits as wanted and takes elementary functions from mpmath itself.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .elementary import FUNCTIONS, POW2_MAGIC
from .number_formats import DOUBLE, SINGLE
from .program import ARITY, Loop, Program

Number: TypeAlias = Any  # a float, an array, a number of mpmath, or the name of a value in generated code
Numbers: TypeAlias = Any  # an array or scalar of NumPy, or a sequence of numbers
AnyArithmetic: TypeAlias = Any  # `elementary.Arithmetic`, with further operations or functions of its own


def apply(m: AnyArithmetic, name: str, args: Sequence[Number]) -> Number:
    """One operation of a Program: comparisons give 1 or 0, `select` takes its second argument unless the first is 0."""
    if name in ("lt", "le", "eq"):
        return m.select(getattr(m, name)(*args), m.const(1.0), m.const(0.0))
    if name == "select":
        condition, x, y = args
        return m.select(m.eq(condition, m.const(0.0)), y, x)
    if name in FUNCTIONS and not hasattr(m, name):
        return FUNCTIONS[name](m, *args)
    return getattr(m, name)(*args)


def interpret(program: Program, inputs: Sequence[Numbers], m: AnyArithmetic) -> list[list[Number]]:
    """The results of a Program, element by element; `inputs[k][e]` is element e of input k, flattened."""
    values: list[Number] = []
    for op in program.code:
        if op.name == "const":
            values.append(m.const(op.constant))
        elif op.name == "input":
            array, element = op.args
            values.append(inputs[array][element])
        elif op.name == "item":
            scan, k = op.args
            values.append(values[scan][k])
        elif op.loop:
            values.append(repeat(op.loop, [values[x] for x in op.args], m))
        else:
            assert len(op.args) == ARITY[op.name]
            values.append(apply(m, op.name, [values[x] for x in op.args]))
    return [[values[x] for x in row] for row in program.results]


def repeat(loop: Loop, args: Sequence[Number], m: AnyArithmetic) -> list[Number]:
    """The results of a scan: the last carry, then the ys row by row."""
    carry, xs, shared = loop.split(args)
    ys: list[list[Number]] = [[]] * loop.turns
    for k in loop.rows:
        table = [m.const(x) for x in loop.table[k]]
        carry, ys[k] = interpret(loop.body, [carry, xs[k], table, shared], m)
    return [*carry, *(y for row in ys for y in row)]


def evaluate(program: Program, *arrays: ArrayLike) -> list[np.ndarray]:
    """A Program on float arrays of its input shapes, by the float interpreter."""
    floats = [[float(x) for x in np.asarray(array, dtype=float).ravel()] for array in arrays]
    results = interpret(program, floats, FloatArithmetic())
    return [np.array(row).reshape(array.shape) for row, array in zip(results, program.outputs)]


def evaluate_rows(program: Program, arrays: Sequence[Any], m: NumpyArithmetic) -> list[np.ndarray]:
    """A Program on batches (rows, *shape) of its inputs, by a NumPy interpreter."""
    columns = [np.asarray(x, dtype=m.number).reshape(len(x), -1).T for x in arrays]
    rows = len(arrays[0])
    with np.errstate(all="ignore"):
        results = interpret(program, columns, m)
    return [
        np.array([np.broadcast_to(x, rows) for x in row], dtype=m.number).T.reshape(rows, *array.shape)
        for row, array in zip(results, program.outputs)
    ]


@cache
def fused_multiply_add() -> Callable[..., Number]:
    """libm's fma: one rounding.  (Python has math.fma from 3.13 on.)"""
    import ctypes
    import ctypes.util

    process = ctypes.CDLL(None)  # Python itself has the C library; looking it up by name starts another program
    function = process.fma if hasattr(process, "fma") else ctypes.CDLL(ctypes.util.find_library("m")).fma
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_double] * 3
    return function


def bits(x: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def from_bits(u: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", u))[0]


class FloatArithmetic:
    """The primitive operations on Python floats."""

    format = DOUBLE

    def const(self, value: float) -> float:
        return float(value)

    def add(self, a: float, b: float) -> float:
        return a + b

    def sub(self, a: float, b: float) -> float:
        return a - b

    def mul(self, a: float, b: float) -> float:
        return a * b

    def div(self, a: float, b: float) -> float:
        if b != 0.0:
            return a / b
        return math.nan if a == 0.0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)

    def neg(self, a: float) -> float:
        return -a

    def fma(self, a: float, b: float, c: float) -> float:
        return fused_multiply_add()(a, b, c)

    def sqrt(self, a: float) -> float:
        return math.nan if a < 0.0 else math.sqrt(a)

    def abs(self, a: float) -> float:
        return abs(a)

    def floor(self, a: float) -> float:
        return math.copysign(math.floor(a), a) if math.isfinite(a) else a

    def lt(self, a: float, b: float) -> bool:
        return a < b

    def le(self, a: float, b: float) -> bool:
        return a <= b

    def eq(self, a: float, b: float) -> bool:
        return a == b

    def select(self, mask: bool, a: float, b: float) -> float:
        return a if mask else b

    def copysign(self, magnitude: float, sign: float) -> float:
        return math.copysign(magnitude, sign)

    def exponent(self, a: float) -> float:
        return float((bits(a) >> 52 & 0x7FF) - 1023)

    def mantissa(self, a: float) -> float:
        return from_bits(bits(a) & (1 << 52) - 1 | 1023 << 52)

    def pow2(self, k: float) -> float:
        return from_bits(bits(k + POW2_MAGIC) << 52 & (1 << 64) - 1)

    def xor(self, a: float, b: float) -> float:
        unit = 2.0**52  # to which whole numbers are added, their bits are the last ones of the sum
        return from_bits(bits(a + unit) ^ bits(b + unit) | bits(unit)) - unit


class NumpyArithmetic:
    """The primitive operations on float64 arrays; run it under np.errstate(all="ignore")."""

    format = DOUBLE
    number: type[np.floating] = np.float64
    integer: type[np.unsignedinteger] = np.uint64

    add, sub, mul, div = np.add, np.subtract, np.multiply, np.divide
    neg, sqrt, abs, floor = np.negative, np.sqrt, np.abs, np.floor
    lt, le, eq, select, copysign = np.less, np.less_equal, np.equal, staticmethod(np.where), np.copysign

    def const(self, value: float) -> np.floating:
        return self.number(value)

    def fma(self, a: Numbers, b: Numbers, c: Numbers) -> Numbers:
        return np.frompyfunc(fused_multiply_add(), 3, 1)(a, b, c).astype(float)

    def exponent(self, a: Numbers) -> Numbers:
        field = (a.view(self.integer) >> self._fraction_bits) & self.integer(2 * self.format.bias + 1)
        return field.astype(self.number) - self.number(self.format.bias)

    def mantissa(self, a: Numbers) -> Numbers:
        one = self.number(1.0).view(self.integer)
        fraction = a.view(self.integer) & ((self.integer(1) << self._fraction_bits) - self.integer(1))
        return (fraction | one).view(self.number)

    def pow2(self, k: Numbers) -> Numbers:
        return ((k + self.number(self.format.pow2_magic)).view(self.integer) << self._fraction_bits).view(self.number)

    def xor(self, a: Numbers, b: Numbers) -> Numbers:
        unit = self.number(2.0 ** (self.format.digits - 1))
        found = (a + unit).view(self.integer) ^ (b + unit).view(self.integer)
        return (found | unit.view(self.integer)).view(self.number) - unit

    @property
    def _fraction_bits(self) -> np.unsignedinteger:
        return self.integer(self.format.digits - 1)


class SingleArithmetic(NumpyArithmetic):
    """The same on float32 arrays."""

    format = SINGLE
    number = np.float32
    integer = np.uint32

    def fma(self, a: Numbers, b: Numbers, c: Numbers) -> Numbers:
        """In double the product is exact.  The sum is rounded to odd there, which keeps what it lost visible to the
        one rounding that matters, the last [BoldoMelquiond]."""
        product, addend = np.multiply(a, b, dtype=np.float64), np.asarray(c, dtype=np.float64)
        total = product + addend
        back = total - product
        lost = (product - (total - back)) + (addend - back)
        even = (total.view(np.uint64) & np.uint64(1)) == 0
        inexact = np.isfinite(lost) & (lost != 0.0)
        return np.where(even & inexact, np.nextafter(total, np.copysign(np.inf, lost)), total).astype(np.float32)


class MpmathArithmetic:
    """The operations at any precision, elementary functions included."""

    add, sub, mul, div = operator.add, operator.sub, operator.mul, operator.truediv
    neg, abs, lt, le, eq = operator.neg, operator.abs, operator.lt, operator.le, operator.eq

    def __init__(self, precision: int = 200):
        import mpmath

        self.context = mpmath.mp.clone() if hasattr(mpmath.mp, "clone") else mpmath.MPContext()
        self.context.prec = precision
        for name in ["sin", "cos", "exp", "log", "tanh", "atan2", "sinh", "cosh", "asin", "acos", "sqrt", "floor"]:
            setattr(self, name, getattr(self.context, name))

    def const(self, value: Number) -> Number:
        return self.context.mpf(value)

    def fma(self, a: Number, b: Number, c: Number) -> Number:
        return a * b + c

    def select(self, mask: bool, a: Number, b: Number) -> Number:
        return a if mask else b

    def xor(self, a: Number, b: Number) -> Number:
        return self.context.mpf(int(a) ^ int(b))

    def cbrt(self, a: Number) -> Number:
        return self.context.sign(a) * self.context.cbrt(abs(a))
