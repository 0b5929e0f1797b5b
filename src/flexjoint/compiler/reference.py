"""The reference interpreter: what every operation of a Program means, over any number type.

`apply` defines each operation through the primitives of an `Arithmetic` (elementary.py) and is used by the
compiled backends too.  Three arithmetics live here: Python floats, NumPy arrays and mpmath.  Floats and arrays
round every operation once, as IEEE 754 asks, and give the bits that compiled kernels give; mpmath computes with
as many bits as wanted and takes elementary functions from mpmath itself.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from .elementary import FUNCTIONS, POW2_MAGIC
from .program import ARITY, Loop, Program


def apply(m: Any, name: str, args: Sequence[Any]) -> Any:
    """One operation of a Program: comparisons give 1 or 0, `select` takes its second argument unless the first is 0."""
    if name in ("lt", "le", "eq"):
        return m.select(getattr(m, name)(*args), m.const(1.0), m.const(0.0))
    if name == "select":
        condition, x, y = args
        return m.select(m.eq(condition, m.const(0.0)), y, x)
    if name in FUNCTIONS and not hasattr(m, name):
        return FUNCTIONS[name](m, *args)
    return getattr(m, name)(*args)


def interpret(program: Program, inputs: Sequence[Any], m: Any) -> list[list[Any]]:
    """The results of a Program, element by element; `inputs[k][e]` is element e of input k, flattened."""
    values: list[Any] = []
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


def repeat(loop: Loop, args: Sequence[Any], m: Any) -> list[Any]:
    """The results of a scan: the last carry, then the ys row by row."""
    carry, xs, shared = loop.split(args)
    ys: list[list[Any]] = [[]] * loop.turns
    for k in loop.rows:
        table = [m.const(x) for x in loop.table[k]]
        carry, ys[k] = interpret(loop.body, [carry, xs[k], table, shared], m)
    return [*carry, *(y for row in ys for y in row)]


def evaluate(program: Program, *arrays: Any) -> list[np.ndarray]:
    """A Program on float arrays of its input shapes, by the float interpreter."""
    floats = [[float(x) for x in np.asarray(array, dtype=float).ravel()] for array in arrays]
    results = interpret(program, floats, FloatArithmetic())
    return [np.array(row).reshape(array.shape) for row, array in zip(results, program.outputs)]


@cache
def fused_multiply_add() -> Any:
    """libm's fma: one rounding.  (Python has math.fma from 3.13 on.)"""
    import ctypes.util

    function = ctypes.CDLL(ctypes.util.find_library("m")).fma
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_double] * 3
    return function


def bits(x: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def from_bits(u: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", u))[0]


class FloatArithmetic:
    """The primitive operations on Python floats."""

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


class NumpyArithmetic:
    """The primitive operations on float64 arrays; run it under np.errstate(all="ignore")."""

    add, sub, mul, div = np.add, np.subtract, np.multiply, np.divide
    neg, sqrt, abs, floor = np.negative, np.sqrt, np.abs, np.floor
    lt, le, eq, select, copysign = np.less, np.less_equal, np.equal, staticmethod(np.where), np.copysign

    def const(self, value: float) -> np.float64:
        return np.float64(value)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        return np.frompyfunc(fused_multiply_add(), 3, 1)(a, b, c).astype(float)

    def exponent(self, a: Any) -> Any:
        return ((a.view(np.uint64) >> np.uint64(52)) & np.uint64(0x7FF)).astype(float) - 1023.0

    def mantissa(self, a: Any) -> Any:
        fraction = a.view(np.uint64) & np.uint64((1 << 52) - 1)
        return (fraction | np.uint64(1023 << 52)).view(np.float64)

    def pow2(self, k: Any) -> Any:
        return ((k + POW2_MAGIC).view(np.uint64) << np.uint64(52)).view(np.float64)


class MpmathArithmetic:
    """The operations at any precision, elementary functions included."""

    def __init__(self, precision: int = 200):
        import mpmath

        self.context = mpmath.mp.clone() if hasattr(mpmath.mp, "clone") else mpmath.MPContext()
        self.context.prec = precision
        for name in ("sin", "cos", "exp", "log", "tanh", "atan2", "sqrt", "floor"):
            setattr(self, name, getattr(self.context, name))

    def const(self, value: Any) -> Any:
        return self.context.mpf(value)

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def sub(self, a: Any, b: Any) -> Any:
        return a - b

    def mul(self, a: Any, b: Any) -> Any:
        return a * b

    def div(self, a: Any, b: Any) -> Any:
        return a / b

    def neg(self, a: Any) -> Any:
        return -a

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        return a * b + c

    def abs(self, a: Any) -> Any:
        return abs(a)

    def lt(self, a: Any, b: Any) -> bool:
        return a < b

    def le(self, a: Any, b: Any) -> bool:
        return a <= b

    def eq(self, a: Any, b: Any) -> bool:
        return a == b

    def select(self, mask: bool, a: Any, b: Any) -> Any:
        return a if mask else b

    def cbrt(self, a: Any) -> Any:
        return self.context.sign(a) * self.context.cbrt(abs(a))
