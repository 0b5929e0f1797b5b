"""Elementary functions as compositions of IEEE 754 operations, in double or single precision.

    sin(FloatArithmetic(), 0.5)        # 0.479425538604203
    sin(Emitter(lines), "%x")          # lines of LLVM IR that compute the same bits

Each function is written once, against an `Arithmetic` that supplies the primitive operations and names its format
(number_formats.py), without branches, tables or memory.  Every arithmetic that rounds as IEEE 754 does (to nearest,
ties to even, denormals kept, nothing contracted or reassociated) therefore yields the same bits.

                double                                     single
    function    range         error, ulp     operations    range         error, ulp     operations
    sin         |x| <= 1e9    1.51           32            |x| <= 1e5    1.55           26
    cos         |x| <= 1e9    1.50           31            |x| <= 1e5    1.54           25
    sincos      |x| <= 1e9    as sin, cos    34            |x| <= 1e5    as sin, cos    28
    exp         all           1.01           27            all           1.02           22
    log         all           0.89           35            all           0.92           31
    atan2       all pairs     1.57           41            all pairs     1.49           31
    tanh        all           1.43           31            all           1.43           27
    cbrt        all           0.74           38            all           0.74           38
    sinh        all           1.35           38            all           1.64           32
    cosh        all           1.36           37            all           1.80           31
    asin        |x| <= 1      1.12           31            |x| <= 1      1.11           24
    acos        |x| <= 1      1.16           33            |x| <= 1      1.15           26

The errors are the largest found: in double among over 2e7 random points per function on the whole range, in single
among all floats (atan2: 3e8 random pairs).  They are in ulp of the correctly rounded result, denormal results included.
Zeros, infinities and NaN are treated as in C99 Annex F, except that sin and cos give NaN outside their range.  The sign
and payload of a NaN are unspecified.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from .number_formats import DOUBLE, Format

T = TypeVar("T")
M = TypeVar("M")


class Arithmetic(Protocol[T, M]):
    """Primitive operations on values T of one format and masks M of truth values.

    No operation traps: invalid ones give NaN, division by zero gives an infinity.
    """

    @property
    def format(self) -> Format: ...

    def const(self, value: float) -> T:
        """Any double, including infinities and NaN, rounded to the format."""

    def add(self, a: T, b: T) -> T: ...

    def sub(self, a: T, b: T) -> T: ...

    def mul(self, a: T, b: T) -> T: ...

    def div(self, a: T, b: T) -> T: ...

    def neg(self, a: T) -> T: ...

    def sqrt(self, a: T) -> T: ...

    def abs(self, a: T) -> T: ...

    def floor(self, a: T) -> T: ...

    def fma(self, a: T, b: T, c: T) -> T:
        """a*b + c with one rounding."""

    def lt(self, a: T, b: T) -> M:
        """a < b, false on NaN."""

    def le(self, a: T, b: T) -> M:
        """a <= b, false on NaN."""

    def eq(self, a: T, b: T) -> M:
        """a == b, false on NaN."""

    def select(self, mask: M, a: T, b: T) -> T:
        """a where the mask is true, else b."""

    def copysign(self, magnitude: T, sign: T) -> T: ...

    def exponent(self, a: T) -> T:
        """Exponent field minus bias: e such that 2^e <= |a| < 2^(e+1) if a is normal."""

    def mantissa(self, a: T) -> T:
        """|a| with the exponent field of 1.0, hence in [1, 2)."""

    def pow2(self, k: T) -> T:
        """2^k for integral k such that this is normal; any value otherwise."""


SQRT2 = 1.4142135623730951
INF = float("inf")
NAN = float("nan")

SIN_RANGE = DOUBLE.sin_range
POW2_MAGIC = DOUBLE.pow2_magic


def _horner(m: Arithmetic[T, Any], x: T, coefficients: Sequence[float]) -> T:
    """Polynomial in x, coefficients in ascending order."""
    result = m.const(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = m.fma(result, x, m.const(c))
    return result


def _round_product(m: Arithmetic[T, Any], x: T, factor: float, shift: float | None = None) -> T:
    """x*factor, rounded to the spacing of the numbers near `shift`, by default to an integer."""
    shift = m.format.to_integer if shift is None else shift
    return m.sub(m.fma(x, m.const(factor), m.const(shift)), m.const(shift))


# ------------------------------------------------------------------------------------------ sin, cos


def _octant(m: Arithmetic[T, Any], x: T) -> tuple[T, T, T, T]:
    """sin r, cos r, cos(k pi/2) and -sin(k pi/2), where x = k pi/2 + r and |r| <= pi/4."""
    f = m.format
    part_1, part_2, part_3 = f.half_pi
    k = _round_product(m, x, f.two_over_pi)
    turns = _round_product(m, x, f.two_over_pi, f.to_multiple_of_4)
    # turns - k is in {-2, ..., 2}.  The order of the difference makes the zeros of quarter_sin positive,
    # with which the sign of sin(-0) survives the rotation.
    d = m.sub(turns, k)
    quarter_cos = m.sub(m.const(1.0), m.abs(d))
    quarter_sin = m.fma(d, quarter_cos, d)

    # The first step is exact: x and k*part_1 are multiples of 2^-digits (or k = 0) and |r| < 1.
    r = m.fma(k, m.const(-part_1), x)
    r = m.fma(k, m.const(-part_2), r)
    # The range check enters here, off the critical path; NaN then reaches both results.
    within = m.le(m.abs(x), m.const(f.sin_range))
    r = m.fma(k, m.select(within, m.const(-part_3), m.const(NAN)), r)

    z = m.mul(r, r)
    # The leading 0.0 of f.sin makes the last addition -0 + -0 for r = -0.
    return m.fma(r, _horner(m, z, f.sin), r), _horner(m, z, f.cos), quarter_cos, quarter_sin


def sin(m: Arithmetic[T, Any], x: T) -> T:
    s, c, quarter_cos, quarter_sin = _octant(m, x)
    return m.sub(m.mul(quarter_cos, s), m.mul(quarter_sin, c))


def cos(m: Arithmetic[T, Any], x: T) -> T:
    s, c, quarter_cos, quarter_sin = _octant(m, x)
    return m.fma(quarter_sin, s, m.mul(quarter_cos, c))


def sincos(m: Arithmetic[T, Any], x: T) -> tuple[T, T]:
    """sin x and cos x, bit for bit, for the price of about one of them."""
    s, c, quarter_cos, quarter_sin = _octant(m, x)
    # A rotation by k pi/2: one product of each sum is zero, so no rounding occurs.
    return (
        m.sub(m.mul(quarter_cos, s), m.mul(quarter_sin, c)),
        m.fma(quarter_sin, s, m.mul(quarter_cos, c)),
    )


# ------------------------------------------------------------------------------------- exp, log, tanh


def exp(m: Arithmetic[T, Any], x: T) -> T:
    f = m.format
    # The bounds, beyond which the result is 0 or inf, keep the exponents within the reach of pow2.
    low, high = map(m.const, f.exp_range)
    x = m.select(m.lt(x, low), low, x)
    x = m.select(m.lt(high, x), high, x)
    k = _round_product(m, x, f.log2_e)
    r = m.fma(k, m.const(-f.ln2[1]), m.fma(k, m.const(-f.ln2[0]), x))
    y = m.add(m.const(1.0), m.fma(m.mul(r, r), _horner(m, r, f.exp), r))
    # Two factors, since 2^k may be out of range; only the second product can round.
    half = _round_product(m, k, 0.5)
    return m.mul(m.mul(y, m.pow2(half)), m.pow2(m.sub(k, half)))


def log(m: Arithmetic[T, Any], x: T) -> T:
    f = m.format
    denormal = m.lt(x, m.const(f.min_normal))
    scaled = m.select(denormal, m.mul(x, m.const(2.0**f.lift)), x)
    e = m.add(m.exponent(scaled), m.select(denormal, m.const(-float(f.lift)), m.const(0.0)))
    g = m.mantissa(scaled)
    # g in [sqrt(1/2), sqrt(2)], hence e = 0 around x = 1 and t = g - 1 keeps all bits.
    upper = m.lt(m.const(SQRT2), g)
    e = m.add(e, m.select(upper, m.const(1.0), m.const(0.0)))
    t = m.fma(g, m.select(upper, m.const(0.5), m.const(1.0)), m.const(-1.0))

    # ln(1 + t) = 2 atanh(-s) = t + s (t + z P(z)) with s = -t/(2 + t), z = s^2: only the small second
    # term suffers from the rounding of s.
    s = m.div(t, m.sub(m.const(-2.0), t))
    z = m.mul(s, s)
    v = m.fma(z, _horner(m, z, f.log), t)

    whole = m.mul(e, m.const(f.ln2[0]))
    high = m.add(whole, t)
    low = m.add(m.sub(whole, high), t)
    y = m.add(high, m.fma(s, v, m.fma(e, m.const(f.ln2[1]), low)))

    y = m.select(m.lt(x, m.const(INF)), y, x)
    edge = m.select(m.eq(x, m.const(0.0)), m.const(-INF), m.const(NAN))
    return m.select(m.lt(m.const(0.0), x), y, edge)


def tanh(m: Arithmetic[T, Any], x: T) -> T:
    f = m.format
    limit = m.const(f.tanh_range)
    size = m.abs(x)
    size = m.select(m.lt(limit, size), limit, size)
    # |x| = k ln(2)/2 + r with r >= 0, so that nothing cancels below; t = tanh r.
    k = m.floor(m.mul(size, m.const(2.0 * f.log2_e)))
    r = m.fma(k, m.const(-0.5 * f.ln2[1]), m.fma(k, m.const(-0.5 * f.ln2[0]), size))
    z = m.mul(r, r)
    t = m.fma(m.mul(r, z), _horner(m, z, f.tanh), r)
    # tanh(k ln(2)/2) = minus/plus, and the addition theorem; for k = 0 this is t without error.
    q = m.pow2(m.neg(k))
    minus, plus = m.sub(m.const(1.0), q), m.add(m.const(1.0), q)
    y = m.div(m.fma(plus, t, minus), m.fma(minus, t, plus))
    # The three roundings of the quotient could add up to 2 ulp: correct by the residual, for which
    # 1 - q/2 is near enough to the reciprocal of the denominator.
    back = m.neg(y)
    residual = m.fma(t, m.fma(back, minus, plus), m.fma(back, plus, minus))
    y = m.fma(residual, m.fma(q, m.const(-0.5), m.const(1.0)), y)
    return m.copysign(y, x)


# ----------------------------------------------------------------------------------------- sinh, cosh


def _hyperbolic(m: Arithmetic[T, Any], x: T) -> tuple[T, T, T, T, T, T]:
    """r, sinh(r) - r, cosh(r) - 1, 4 sinh(k ln 2)/2^k, 4 cosh(k ln 2)/2^k, 2^(k-2): |x| = k ln 2 + r, 0 <= r < ln 2."""
    f = m.format
    limit = m.const(f.sinh_range)
    size = m.abs(x)
    size = m.select(m.lt(limit, size), limit, size)
    # r >= 0, so that nothing cancels in the addition theorems.
    k = m.floor(m.mul(size, m.const(f.log2_e)))
    whole, part = m.fma(k, m.const(-f.ln2[0]), size), m.const(-f.ln2[1])
    r = m.fma(k, part, whole)
    lost = m.fma(k, part, m.sub(whole, r))
    z = m.mul(r, r)
    s = m.fma(m.mul(r, z), _horner(m, z, f.sinh), lost)
    c = m.mul(z, _horner(m, z, f.cosh))
    # 4^-k, which is lost in rounding long before it leaves the reach of pow2.
    q = m.select(m.lt(k, m.const(float(f.digits))), m.pow2(m.mul(k, m.const(-2.0))), m.const(0.0))
    two = m.const(2.0)
    return r, s, c, m.fma(q, m.const(-2.0), two), m.fma(q, two, two), m.pow2(m.sub(k, two))


def sinh(m: Arithmetic[T, Any], x: T) -> T:
    r, s, c, minus, plus, scale = _hyperbolic(m, x)
    # For k = 0 this is (4 r + 4 s)/4, without error for denormal numbers.
    y = m.add(minus, m.fma(plus, r, m.fma(plus, s, m.mul(minus, c))))
    return m.copysign(m.mul(y, scale), x)


def cosh(m: Arithmetic[T, Any], x: T) -> T:
    r, s, c, minus, plus, scale = _hyperbolic(m, x)
    return m.mul(m.add(plus, m.fma(minus, r, m.fma(minus, s, m.mul(plus, c)))), scale)


# ----------------------------------------------------------------------------------------- asin, acos


def _arcsine(m: Arithmetic[T, Any], x: T) -> tuple[Any, T, T]:
    """Whether |x| > 1/2, and s and asin(s) - s, where s is |x|, or sqrt((1 - |x|)/2) if |x| > 1/2."""
    half = m.const(0.5)
    size = m.abs(x)
    large = m.lt(half, size)
    # (1 - |x|)/2 is exact if |x| > 1/2, and negative beyond 1, where its root is NaN.
    z = m.select(large, m.fma(size, m.const(-0.5), half), m.mul(size, size))
    s = m.select(large, m.sqrt(z), size)
    return large, s, m.mul(m.mul(s, z), _horner(m, z, m.format.asin))


def asin(m: Arithmetic[T, Any], x: T) -> T:
    large, s, rest = _arcsine(m, x)
    # asin |x| = pi/2 - 2 asin s, or asin s.
    part_1, part_2, _ = m.format.half_pi
    zero = m.const(0.0)
    factor = m.select(large, m.const(-2.0), m.const(1.0))
    base = m.select(large, m.const(part_1), zero)
    high = m.fma(factor, s, base)
    # What the difference lost: it may be larger than 1 and the result smaller, whose ulp is half as large.
    lost = m.fma(factor, s, m.sub(base, high))
    low = m.fma(factor, rest, m.add(m.select(large, m.const(part_2), zero), lost))
    return m.copysign(m.add(high, low), x)


def acos(m: Arithmetic[T, Any], x: T) -> T:
    large, s, rest = _arcsine(m, x)
    # acos x = 2 asin s, pi - 2 asin s, or pi/2 -+ asin s.
    part_1, part_2, _ = m.format.half_pi
    one = m.const(1.0)
    quarters = m.select(large, m.sub(one, m.copysign(one, x)), one)
    factor = m.copysign(m.select(large, m.const(2.0), one), m.select(large, x, m.neg(x)))
    high = m.fma(factor, s, m.mul(quarters, m.const(part_1)))
    return m.add(high, m.fma(factor, rest, m.mul(quarters, m.const(part_2))))


# ---------------------------------------------------------------------------------------------- atan2


def atan2(m: Arithmetic[T, Any], y: T, x: T) -> T:
    zero, one = m.const(0.0), m.const(1.0)
    # For y >= 0 the angle is quarters*pi/2 + atan(q) with q = -x/y, quarters = 1 around the y axis, and
    # q = y/x, quarters = 0 or 2 around the x axis.
    rise, run = m.abs(y), m.abs(x)
    steep = m.lt(run, rise)
    q = m.div(m.select(steep, m.neg(x), rise), m.select(steep, rise, x))
    # Both infinite: q = +-1; both zero: q = +-0.
    diagonal = m.copysign(m.select(m.eq(rise, zero), zero, one), x)
    q = m.select(m.eq(rise, run), diagonal, q)
    backward = m.lt(m.copysign(one, x), zero)
    quarters = m.select(steep, one, m.select(backward, m.const(2.0), zero))

    z = m.mul(q, q)
    angle = m.fma(m.mul(q, z), _horner(m, z, m.format.atan), q)
    part_1, part_2, _ = m.format.half_pi
    angle = m.fma(quarters, m.const(part_1), m.fma(quarters, m.const(part_2), angle))
    return m.copysign(angle, y)


# ----------------------------------------------------------------------------------------------- cbrt

# x^(-1/3): degree 3 on [1, 2], relative error 2.5e-4.
_CBRT = (1.5418870584786282, -0.8099605413296491, 0.3177573583790316, -0.049936972199632765)
# 2^(-s/3) for s in {-1, 0, 1}, interpolated.
_CBRT_EXPONENT = (1.0, -0.23311026195538673, 0.02681078793948645)


def cbrt(m: Arithmetic[T, Any], x: T) -> T:
    lift = m.format.lift
    size = m.abs(x)
    denormal = m.lt(size, m.const(m.format.min_normal))
    scaled = m.select(denormal, m.mul(size, m.const(2.0**lift)), size)
    # size = 2^(3 third + s) f with s in {-1, 0, 1} and f in [1, 2).
    e = m.exponent(scaled)
    f = m.mantissa(scaled)
    third = _round_product(m, e, 1.0 / 3.0)
    s = m.fma(third, m.const(-3.0), e)
    g = m.mul(f, m.pow2(s))

    # w ~ f^(-1/3); with 1 + h = f w^3 the factor (1 + h)^(-1/3) brings its relative error to 1e-10.
    w = _horner(m, f, _CBRT)
    h = m.fma(m.mul(f, w), m.mul(w, w), m.const(-1.0))
    w = m.fma(m.mul(w, h), _horner(m, h, (-1.0 / 3.0, 2.0 / 9.0)), w)
    w = m.mul(w, _horner(m, s, _CBRT_EXPONENT))
    # y = g w^2 ~ g^(1/3); a Newton step on y^3 = g, whose derivative is 3/w^2.
    w2 = m.mul(w, w)
    y = m.mul(g, w2)
    residual = m.fma(m.neg(m.mul(y, y)), y, g)
    y = m.fma(residual, m.mul(w2, m.const(1.0 / 3.0)), y)

    third = m.add(third, m.select(denormal, m.const(-lift / 3), m.const(0.0)))
    y = m.mul(y, m.pow2(third))
    # False for 0, inf and NaN, which are their own results.
    ordinary = m.lt(size, m.add(size, size))
    return m.copysign(m.select(ordinary, y, size), x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": sin,
    "cos": cos,
    "exp": exp,
    "log": log,
    "atan2": atan2,
    "tanh": tanh,
    "cbrt": cbrt,
    "sinh": sinh,
    "cosh": cosh,
    "asin": asin,
    "acos": acos,
}
