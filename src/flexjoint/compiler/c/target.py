"""What C is written for: a number format, with or without a C library; and the small functions that the code calls.

    Target(SINGLE).literal(0.1)        # '0x1.99999a0000000p-4f'

The first functions are operations on bits that C has no name for.  The others replace <math.h> in freestanding code:
absolute value, sign and floor in plain C99; fma and sqrt as instructions where the compiler says that the processor has
them (-DFJ_HARDWARE_FMA=0 or 1 and -DFJ_HARDWARE_SQRT overrule it), else in integers, rounded once as in IEEE 754.
Conditions are masks: the same instructions run for all arguments.

In the texts REAL is the number type and WORD the unsigned integer of its size, `_f` ends a constant or builtin of the
format, and names in capitals between @ are numbers of the format.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ..ir.number_formats import DOUBLE, SINGLE, Format
from .reading import decimal

PLAIN = {
    "fj_bits": """\
typedef union { REAL x; WORD u; } fj_bits;
""",
    "fj_select": """\
static inline REAL fj_select(int c, REAL x, REAL y)
{
    fj_bits a, b;
    const WORD mask = WORD_C(0) - (WORD)(c != 0);
    a.x = x;
    b.x = y;
    a.u = (a.u & mask) | (b.u & ~mask);
    return a.x;
}
""",
    "fj_exponent": """\
static inline REAL fj_exponent(REAL x)
{
    fj_bits a;
    a.x = x;
    return (REAL)(int32_t)((a.u >> @FRACTION@) & @FIELD@) - @BIAS@.0_f;
}
""",
    "fj_mantissa": """\
static inline REAL fj_mantissa(REAL x)
{
    fj_bits a;
    a.x = x;
    a.u = (a.u & ((WORD_C(1) << @FRACTION@) - 1)) | (WORD_C(@BIAS@) << @FRACTION@);
    return a.x;
}
""",
    "fj_xor": """\
static inline REAL fj_xor(REAL x, REAL y)
{
    fj_bits a, b, unit;
    unit.u = WORD_C(@UNIT@) << @FRACTION@;
    a.x = x + unit.x;
    b.x = y + unit.x;
    a.u = (a.u ^ b.u) | unit.u;
    return a.x - unit.x;
}
""",
    "fj_pow2": """\
static inline REAL fj_pow2(REAL k)
{
    fj_bits a;
    a.x = k + @MAGIC@_f;
    a.u <<= @FRACTION@;
    return a.x;
}
""",
}

FREESTANDING = {
    "fj_number": """\
static inline REAL fj_number(WORD u)
{
    fj_bits a;
    a.u = u;
    return a.x;
}
""",
    "fj_fabs": """\
static inline REAL fj_fabs(REAL x)
{
    fj_bits a;
    a.x = x;
    a.u &= ~(WORD_C(1) << @SIGN@);
    return a.x;
}
""",
    "fj_copysign": """\
static inline REAL fj_copysign(REAL magnitude, REAL sign)
{
    fj_bits a, b;
    a.x = magnitude;
    b.x = sign;
    a.u = (a.u & ~(WORD_C(1) << @SIGN@)) | (b.u & (WORD_C(1) << @SIGN@));
    return a.x;
}
""",
    "fj_floor": """\
static inline REAL fj_floor(REAL x)
{
    const REAL whole = @WHOLE@_f; /* from here on every number is an integer */
    const REAL size = fj_fabs(x);
    const REAL nearest = fj_copysign((size + whole) - whole, x);
    const REAL below = nearest - fj_select(x < nearest, 1.0_f, 0.0_f);
    return fj_select(size < whole, fj_copysign(below, x), x);
}
""",
    "fj_sqrt": """\
#ifndef FJ_HARDWARE_SQRT
#if @HAS_SQRT@
#define FJ_HARDWARE_SQRT 1
#else
#define FJ_HARDWARE_SQRT 0
#endif
#endif

#if FJ_HARDWARE_SQRT
static inline REAL fj_sqrt(REAL x)
{
    return __builtin_sqrt_f(x);
}
#else
/* Digit by digit, one more than the format has. */
static REAL fj_sqrt(REAL x)
{
    const int denormal = x < @MIN_NORMAL@_f;
    fj_bits a;
    a.x = x * (REAL)((int64_t)1 << (@LIFT@ * denormal));
    const int32_t exponent = (int32_t)((a.u >> @FRACTION@) & @FIELD@) - @BIAS@ - @LIFT@ * denormal;
    const int32_t odd = exponent & 1;
    /* the significand, in [1, 4), with two digits before the point */
    WORD digits = ((a.u & ((WORD_C(1) << @FRACTION@) - 1)) | (WORD_C(1) << @FRACTION@)) << (@SPARE@ + odd);
    WORD root = 0, rest = 0;
    for (int k = 0; k < @FRACTION@ + 2; k++) {
        rest = (rest << 2) | (digits >> @SHIFT_TWO@);
        digits <<= 2;
        const WORD trial = (root << 2) | 1;
        const WORD fits = WORD_C(0) - (WORD)(rest >= trial);
        rest -= trial & fits;
        root = (root << 1) | (fits & 1);
    }
    /* the last digit rounds: a root is never half-way between two numbers */
    root = (root >> 1) + (root & 1) + ((WORD)((exponent - odd) / 2 + @BIAS@ - 1) << @FRACTION@);
    /* zeros, infinity and NaN are their own roots, other negative numbers have none */
    const WORD ordinary = WORD_C(0) - (WORD)((x > 0.0_f) & (x <= @MAX@_f));
    const WORD none = WORD_C(0) - (WORD)(x < 0.0_f);
    a.x = x;
    a.u = (root & ordinary) | (a.u & ~ordinary) | (none & WORD_C(@NAN@));
    return a.x;
}
#endif
""",
    "fj_fma": """\
#ifndef FJ_HARDWARE_FMA
#if @HAS_FMA@
#define FJ_HARDWARE_FMA 1
#else
#define FJ_HARDWARE_FMA 0
#endif
#endif

#if FJ_HARDWARE_FMA
static inline REAL fj_fma(REAL x, REAL y, REAL z)
{
    return __builtin_fma_f(x, y, z);
}
#else
#ifdef __GNUC__
#define FJ_NOINLINE __attribute__((noinline))
#else
#define FJ_NOINLINE
#endif
@SOFTWARE_FMA@#endif
""",
}

DOUBLE_FMA = """\
/* hi 2^64 + lo */
typedef struct { uint64_t hi, lo; } fj_wide;

/* 1 if any bit is set: of a comparison the compiler might make a jump. */
static inline uint64_t fj_any(uint64_t u)
{
    return (u | (UINT64_C(0) - u)) >> 63;
}

/* To the right by 0 to 127 places; what is lost leaves its trace in the last place. */
static inline fj_wide fj_right(fj_wide a, int64_t places)
{
    const uint64_t far = UINT64_C(0) - (uint64_t)(places >> 6);
    const int near = (int)(places & 63);
    uint64_t lost = a.lo & far;
    a.lo = (a.hi & far) | (a.lo & ~far);
    a.hi &= ~far;
    lost |= a.lo & ((UINT64_C(1) << near) - 1);
    a.lo = (a.lo >> near) | ((a.hi << 1) << (63 - near));
    a.hi >>= near;
    a.lo |= fj_any(lost);
    return a;
}

/* To the left until the first bit is set; returns by how many places. */
static inline int64_t fj_left(fj_wide *a)
{
    uint64_t step = fj_any(a->hi) - 1;
    int64_t places = (int64_t)(step & 64);
    a->hi = (a->lo & step) | (a->hi & ~step);
    a->lo &= ~step;
    for (int k = 32; k; k >>= 1) {
        step = fj_any(a->hi >> (64 - k)) - 1;
        a->hi = (((a->hi << k) | (a->lo >> (64 - k))) & step) | (a->hi & ~step);
        a->lo = ((a->lo << k) & step) | (a->lo & ~step);
        places += (int64_t)(step & (uint64_t)k);
    }
    return places;
}

/* |x| as a 64-bit integer whose first bit is set, and the exponent that belongs to it, far down for 0. */
static inline uint64_t fj_significand(uint64_t u, int64_t *exponent)
{
    const uint64_t field = (u >> 52) & 0x7FF, normal = (field + 0x7FF) >> 11;
    fj_wide a;
    a.hi = (u & ((UINT64_C(1) << 52) - 1)) | (normal << 52);
    a.lo = 0;
    *exponent = (int64_t)(field + 1 - normal) - 1075 - (8192 - 8192 * (int64_t)fj_any(a.hi));
    *exponent -= fj_left(&a);
    return a.hi;
}

/* The number between 0 and most that is nearest to places. */
static inline int64_t fj_within(int64_t places, int64_t most)
{
    const uint64_t low = (uint64_t)places & (((uint64_t)places >> 63) - 1);
    const uint64_t more = UINT64_C(0) - (((uint64_t)most - low) >> 63);
    return (int64_t)((low & ~more) | ((uint64_t)most & more));
}

FJ_NOINLINE static double fj_fma(double x, double y, double z)
{
    fj_bits a, b, c, r;
    a.x = x;
    b.x = y;
    c.x = z;
    int64_t ea, eb, ec;
    const uint64_t ma = fj_significand(a.u, &ea), mb = fj_significand(b.u, &eb), mc = fj_significand(c.u, &ec);
    const uint64_t sign = (a.u ^ b.u) >> 63, other = c.u >> 63;

    /* the product's 128 bits and the addend's, two places down to leave room for their sum */
    const uint64_t low = (ma & 0xFFFFFFFF) * (mb & 0xFFFFFFFF), cross = (ma >> 32) * (mb & 0xFFFFFFFF) + (low >> 32);
    const uint64_t middle = (ma & 0xFFFFFFFF) * (mb >> 32) + (cross & 0xFFFFFFFF);
    fj_wide p, q;
    p.hi = (ma >> 32) * (mb >> 32) + (cross >> 32) + (middle >> 32);
    p.lo = (middle << 32) | (low & 0xFFFFFFFF);
    p = fj_right(p, 2);
    q.hi = mc >> 2;
    q.lo = mc << 62;

    /* aligned at the larger exponent: bits are lost only where no more than one of the first can cancel */
    const int64_t apart = (ea + eb + 2) - (ec - 62);
    int64_t e = ec - 62 + fj_within(apart, INT64_MAX);
    p = fj_right(p, fj_within(-apart, 127));
    q = fj_right(q, fj_within(apart, 127));
    const uint64_t minus = UINT64_C(0) - (sign ^ other);
    q.lo = (q.lo ^ minus) + (minus & 1);
    q.hi = (q.hi ^ minus) + (minus & (1 - fj_any(q.lo)));
    p.lo += q.lo;
    p.hi += q.hi + (uint64_t)(p.lo < q.lo);
    const uint64_t negative = UINT64_C(0) - (p.hi >> 63);
    p.lo = (p.lo ^ negative) + (negative & 1);
    p.hi = (p.hi ^ negative) + (negative & (1 - fj_any(p.lo)));
    const uint64_t zero = 1 - fj_any(p.hi | p.lo);
    const uint64_t turned = (zero & sign & other) | (~zero & 1 & (sign ^ (negative & 1)));

    /* one rounding, to nearest, ties to even; denormal numbers have fewer places */
    e += 127 + 1023 - fj_left(&p) - 8192 * (int64_t)zero;
    fj_wide h;
    h.hi = 0;
    h.lo = p.hi | fj_any(p.lo);
    h = fj_right(h, fj_within(1 - e, 63));
    r.u = h.lo >> 11;
    r.u += (uint64_t)((h.lo & 0x7FF) + (r.u & 1) > 0x400);
    r.u += (uint64_t)fj_within(e - 1, 2046) << 52;
    const uint64_t over = UINT64_C(0) - (uint64_t)(e > 2046);
    r.u = (r.u & ~over) | (UINT64_C(0x7FF0000000000000) & over) | (turned << 63);

    /* infinite or NaN */
    const int strange_a = ((a.u >> 52) & 0x7FF) == 0x7FF, strange_b = ((b.u >> 52) & 0x7FF) == 0x7FF;
    const uint64_t factors = UINT64_C(0) - (uint64_t)(strange_a | strange_b);
    const uint64_t addend = UINT64_C(0) - (uint64_t)(((c.u >> 52) & 0x7FF) == 0x7FF);
    a.x = x * y + z;
    r.u = (a.u & factors) | (((c.u & addend) | (r.u & ~addend)) & ~factors);
    return r.x;
}
"""

SINGLE_FMA = """\
/* The product is exact in double. The sum is rounded to odd there, which keeps what it lost visible to the last
   rounding, the only one to nearest. */
FJ_NOINLINE static float fj_fma(float x, float y, float z)
{
    union { double x; uint64_t u; } sum, lost;
    const double p = (double)x * (double)y, c = (double)z;
    sum.x = p + c;
    const double back = sum.x - p;
    lost.x = (p - (sum.x - back)) + (c - back);
    const uint64_t inexact = (uint64_t)((lost.x < 0.0) | (lost.x > 0.0));
    const uint64_t towards = UINT64_C(1) - (((sum.u ^ lost.u) >> 63) << 1);
    sum.u += towards * (inexact & ~sum.u & 1);
    return (float)sum.x;
}
"""

HAS = {  # instructions, as far as compilers tell
    ("double", "FMA"): "defined(__FP_FAST_FMA) || defined(__FMA__) || defined(__aarch64__)",
    ("float", "FMA"): "defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)",
    ("double", "SQRT"): "defined(__SSE2__) || defined(__aarch64__) || (__ARM_FP + 0) & 8 || __riscv_flen + 0 >= 64",
    ("float", "SQRT"): "defined(__SSE2__) || defined(__aarch64__) || (__ARM_FP + 0) & 4 || __riscv_flen + 0 >= 32",
}


class Target(NamedTuple):
    """What the C is written for: a number format, and a machine with or without a C library."""

    format: Format = DOUBLE
    freestanding: bool = False

    @property
    def single(self) -> bool:
        return self.format is SINGLE

    @property
    def number(self) -> type[np.floating]:
        return np.float32 if self.single else np.float64

    def literal(self, x: float) -> str:
        """A number as C writes it, rounded once."""
        with np.errstate(over="ignore", under="ignore"):
            value = float(self.number(x))
        if math.isfinite(x) and not math.isfinite(value):
            raise InputError(f"the constant {x:g} is beyond single precision; export in double")
        if not math.isfinite(value):
            return self._not_finite(value)
        text = (decimal(value) or value.hex()) + "f" * self.single
        return text if math.copysign(1.0, value) > 0 else f"({text})"

    def _not_finite(self, x: float) -> str:
        if self.freestanding:
            word = 32 if self.single else 64
            return f"fj_number(UINT{word}_C(0x{self.number(x).tobytes()[::-1].hex().upper()}))"
        return f"({self.format.name}){'NAN' if math.isnan(x) else 'INFINITY' if x > 0 else '-INFINITY'}"

    def function(self, name: str) -> str:
        """The C name of a function of <math.h>, or of what replaces it."""
        return f"fj_{name}" if self.freestanding else name + "f" * self.single

    def helpers(self, body: str, more: Mapping[str, str]) -> str:
        """The functions above, and `more` by their names, that the body calls, and those that they call: an unused one
        would be a warning."""
        known = {name: written(text, self.format) for name, text in {**PLAIN, **FREESTANDING}.items()} | dict(more)
        wanted: set[str] = set()
        for name in reversed(known):
            if re.search(rf"\b{name}\b", "\n".join([body, *(known[x] for x in wanted)])):
                wanted.add(name)
        return "\n".join(known[name] for name in known if name in wanted) + "\n" * bool(wanted)


def written(text: str, form: Format) -> str:
    """A helper in one format."""
    single = form is SINGLE
    word = 32 if single else 64
    numbers = {
        "SOFTWARE_FMA": SINGLE_FMA if single else DOUBLE_FMA,
        "HAS_FMA": HAS[form.name, "FMA"],
        "HAS_SQRT": HAS[form.name, "SQRT"],
        "FRACTION": form.digits - 1,
        "UNIT": form.bias + form.digits - 1,
        "FIELD": hex(2 * form.bias + 1),
        "BIAS": form.bias,
        "SIGN": word - 1,
        "SHIFT_TWO": word - 2,
        "SPARE": word - 1 - form.digits,
        "LIFT": form.lift,
        "MAGIC": form.pow2_magic.hex(),
        "WHOLE": (2.0 ** (form.digits - 1)).hex(),
        "MIN_NORMAL": form.min_normal.hex(),
        "MAX": ((2.0 - 2.0 ** (1 - form.digits)) * 2.0**form.bias).hex(),
        "NAN": "0x7FC00000" if single else "0x7FF8000000000000",
    }
    for name, value in numbers.items():
        text = text.replace(f"@{name}@", str(value))
    text = text.replace("WORD_C", f"UINT{word}_C").replace("WORD", f"uint{word}_t").replace("REAL", form.name)
    return re.sub(r"(?<=[\w.])_f\b", "f" if single else "", text)
