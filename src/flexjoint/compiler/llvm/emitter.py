"""Operations as lines of LLVM IR: the `Arithmetic` (ir/elementary.py) of compiled code.

Emitter(lines, 4).add("%a", "%b")        ->   %v0 = fadd <4 x double> %a, %b
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partialmethod, reduce

from ..ir import elementary
from ..ir.number_formats import DOUBLE

DECLARATIONS = """\
declare {t} @llvm.fma.{s}({t}, {t}, {t})
declare {t} @llvm.sqrt.{s}({t})
declare {t} @llvm.fabs.{s}({t})
declare {t} @llvm.floor.{s}({t})
declare {t} @llvm.copysign.{s}({t}, {t})
"""


class Emitter:
    """Arithmetic (see elementary.py) whose numbers are SSA names of `lanes` doubles; collects IR lines."""

    format = DOUBLE

    def __init__(self, lines: list[str], lanes: int = 1, table: dict[str, int] | None = None):
        self.lines = lines
        self.lanes = lanes
        self.table = table  # of constants that are read from memory, with their places
        self.constants: dict[str, str] = {}
        self.double, self.suffix = ("double", "f64") if lanes == 1 else (f"<{lanes} x double>", f"v{lanes}f64")
        self.i1 = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.i64 = "i64" if lanes == 1 else f"<{lanes} x i64>"
        self.source: dict[str, tuple[str, int]] = {}

    def put(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def const(self, x: float) -> str:
        literal = f"0x{struct.pack('>d', x).hex().upper()}"
        if self.lanes == 1:
            return literal
        splat = f"splat (double {literal})"
        if self.table is None or x == 0:
            return splat
        if literal not in self.constants:
            place = self.element("@constants", self.table.setdefault(splat, len(self.table)))
            self.constants[literal] = self.put(f"load {self.double}, ptr {place}, !invariant.load !0")
        return self.constants[literal]

    def integer(self, x: int) -> str:
        return str(x) if self.lanes == 1 else f"splat (i64 {x})"

    def binary(self, instruction: str, a: str, b: str) -> str:
        return self.put(f"{instruction} {self.double} {a}, {b}")

    def intrinsic(self, name: str, *args: str) -> str:
        return self.put(self.call(name, *args))

    def call(self, name: str, *args: str) -> str:
        typed = ", ".join(f"{self.double} {x}" for x in args)
        return f"call {self.double} @llvm.{name}.{self.suffix}({typed})"

    def add(self, a: str, b: str) -> str:
        return self.binary("fadd", a, b)

    def sub(self, a: str, b: str) -> str:
        return self.binary("fsub", a, b)

    def mul(self, a: str, b: str) -> str:
        return self.binary("fmul", a, b)

    def div(self, a: str, b: str) -> str:
        return self.binary("fdiv", a, b)

    def neg(self, a: str) -> str:
        return self.put(f"fneg {self.double} {a}")

    def fma(self, a: str, b: str, c: str) -> str:
        return self.intrinsic("fma", a, b, c)

    def sqrt(self, a: str) -> str:
        return self.intrinsic("sqrt", a)

    def abs(self, a: str) -> str:
        return self.intrinsic("fabs", a)

    def floor(self, a: str) -> str:
        return self.intrinsic("floor", a)

    def copysign(self, magnitude: str, sign: str) -> str:
        return self.intrinsic("copysign", magnitude, sign)

    def lt(self, a: str, b: str) -> str:
        return self.binary("fcmp olt", a, b)

    def le(self, a: str, b: str) -> str:
        return self.binary("fcmp ole", a, b)

    def eq(self, a: str, b: str) -> str:
        return self.binary("fcmp oeq", a, b)

    def select(self, mask: str, a: str, b: str) -> str:
        return self.put(f"select {self.i1} {mask}, {self.double} {a}, {self.double} {b}")

    def gather(self, scalars: Sequence[str]) -> str:
        """A register with these scalars in its first lanes, zero in the others."""
        register = "zeroinitializer"
        for lane, x in enumerate(scalars):
            register = self.put(f"insertelement {self.double} {register}, double {x}, i32 {lane}")
        return register

    def spread(self, scalar: str) -> str:
        """A register with this scalar in every lane."""
        if self.lanes == 1:
            return scalar
        first = self.put(f"insertelement {self.double} poison, double {scalar}, i32 0")
        return self.shuffle(first, first, [0] * self.lanes)

    def shuffle(self, a: str, b: str, lanes: Sequence[int]) -> str:
        """Lanes of a, counted from 0, and of b, counted on."""
        mask = ", ".join(f"i32 {k}" for k in lanes)
        return self.put(f"shufflevector {self.double} {a}, {self.double} {b}, <{self.lanes} x i32> <{mask}>")

    def part(self, register: str, lane: int, count: int) -> str:
        """Some lanes as a smaller register."""
        mask = ", ".join(f"i32 {k}" for k in range(lane, lane + count))
        kind = f"{self.double} {register}"
        return self.put(f"shufflevector {kind}, {kind}, <{count} x i32> <{mask}>")

    def mask(self, truth: str, rows: int) -> str:
        """Bit r is lane r, of the first `rows` lanes."""
        bits = truth if self.lanes == 1 else self.put(f"bitcast {self.i1} {truth} to i{self.lanes}")
        return self.put(f"and i64 {self.put(f'zext i{self.lanes} {bits} to i64')}, {(1 << rows) - 1}")

    def element(self, base: str, index: int, kind: str = "") -> str:
        """Pointer to element `index` of an array."""
        return self.put(f"getelementptr {kind or self.double}, ptr {base}, i64 {index}") if index else base

    def extract(self, register: str, lane: int) -> str:
        if self.lanes == 1:
            return register
        return self.put(f"extractelement {self.double} {register}, i32 {lane}")

    def total(self, register: str) -> str:
        """The sum of its lanes."""
        first, *rest = (self.extract(register, lane) for lane in range(self.lanes))
        return reduce(Emitter(self.lines).add, rest, first)

    # Packed values.  A lane taken out is in all lanes, as plain values are; `source` remembers where it came from.

    def _lane(self, x: str, k: int) -> str:
        name = self.shuffle(x, x, [k] * self.lanes)
        self.source[name] = (x, k)
        return name

    lane0 = partialmethod(_lane, k=0)
    lane1 = partialmethod(_lane, k=1)
    lane2 = partialmethod(_lane, k=2)
    lane3 = partialmethod(_lane, k=3)

    def pack(self, *args: str) -> str:
        """Lane k from args[k], in a shuffle for each register they come from."""
        literals = [x[len("splat (") : -1] if x.startswith("splat") else "double poison" for x in args]
        constants = f"<{', '.join(literals)}>"
        sources = [(constants, k) if x.startswith("splat") else self.source.get(x, (x, k)) for k, x in enumerate(args)]
        packed = "poison"
        for register in dict.fromkeys(x for x, _ in sources):
            packed = self.shuffle(
                packed, register, [self.lanes + k if x == register else lane for lane, (x, k) in enumerate(sources)]
            )
        return packed

    # The operations on the bits of a double.

    def exponent(self, x: str) -> str:
        shifted = self.put(f"lshr {self.i64} {self._bits(x)}, {self.integer(52)}")
        field = self.put(f"and {self.i64} {shifted}, {self.integer(0x7FF)}")
        return self.sub(self.put(f"sitofp {self.i64} {field} to {self.double}"), self.const(1023.0))

    def mantissa(self, x: str) -> str:
        fraction = self.put(f"and {self.i64} {self._bits(x)}, {self.integer((1 << 52) - 1)}")
        one = self.put(f"or {self.i64} {fraction}, {self.integer(1023 << 52)}")
        return self.put(f"bitcast {self.i64} {one} to {self.double}")

    def pow2(self, k: str) -> str:
        biased = self._bits(self.add(k, self.const(elementary.POW2_MAGIC)))
        shifted = self.put(f"shl {self.i64} {biased}, {self.integer(52)}")
        return self.put(f"bitcast {self.i64} {shifted} to {self.double}")

    def xor(self, a: str, b: str) -> str:
        unit = 2.0**52
        one, two = (self._bits(self.add(x, self.const(unit))) for x in (a, b))
        differ = self.put(f"xor {self.i64} {one}, {two}")
        found = self.put(f"or {self.i64} {differ}, {self.integer(1075 << 52)}")  # the bits of the unit
        return self.sub(self.put(f"bitcast {self.i64} {found} to {self.double}"), self.const(unit))

    def _bits(self, x: str) -> str:
        return self.put(f"bitcast {self.double} {x} to {self.i64}")
