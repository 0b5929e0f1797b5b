"""Elementary functions as compositions of IEEE-754 double operations.

Each function is written once, against an `Arithmetic` that supplies the primitive operations, and
without branches, tables or memory.  Every arithmetic that rounds as IEEE-754 does (to nearest, ties to
even, denormals kept, nothing contracted or reassociated) therefore yields the same bits, whether it
computes with Python floats or emits machine code.

    function    range                   largest error    operations
    sin         |x| <= SIN_RANGE        1.51 ulp         32
    cos         |x| <= SIN_RANGE        1.50 ulp         31
    sincos      |x| <= SIN_RANGE        as sin, cos      34
    exp         all doubles             1.01 ulp         27
    log         all doubles             0.89 ulp         35
    atan2       all pairs of doubles    1.57 ulp         41
    tanh        all doubles             1.43 ulp         31
    cbrt        all doubles             0.74 ulp         38

The errors are the largest among over 2e7 random points per function on the whole range.  They are in ulp
of the correctly rounded result, denormal results included.  Zeros, infinities and NaN are treated as in
C99 Annex F, except that sin and cos give NaN outside their range.  The sign and payload of a NaN are
unspecified.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
M = TypeVar("M")


class Arithmetic(Protocol[T, M]):
    """Primitive operations on values T of doubles and masks M of truth values.

    No operation traps: invalid ones give NaN, division by zero gives an infinity.
    """

    def const(self, value: float) -> T:
        """Any double, including infinities and NaN."""

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
        """Exponent field minus 1023: e such that 2^e <= |a| < 2^(e+1) if a is normal."""

    def mantissa(self, a: T) -> T:
        """|a| with the exponent field of 1.0, hence in [1, 2)."""

    def pow2(self, k: T) -> T:
        """2^k for integral k in [-1022, 1023]; any value otherwise."""


INF = float("inf")
NAN = float("nan")

# Adding 1.5*2^52 rounds a double below 2^51 in magnitude to an integer, 1.5*2^54 to a multiple of 4.
# Unlike floor(x + 1/2) this is symmetric in x, and it costs nothing more when fused with a product.
_TO_INTEGER = 1.5 * 2.0**52
POW2_MAGIC = _TO_INTEGER + 1023.0  # k + POW2_MAGIC carries the exponent field of 2^k in its lowest bits
_TO_MULTIPLE_OF_4 = 1.5 * 2.0**54


def _horner(m: Arithmetic[T, Any], x: T, coefficients: Sequence[float]) -> T:
    """Polynomial in x, coefficients in ascending order."""
    result = m.const(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = m.fma(result, x, m.const(c))
    return result


def _round_product(m: Arithmetic[T, Any], x: T, factor: float, shift: float = _TO_INTEGER) -> T:
    """x*factor, rounded to the spacing of the doubles near `shift`."""
    return m.sub(m.fma(x, m.const(factor), m.const(shift)), m.const(shift))


# ------------------------------------------------------------------------------------------ sin, cos

SIN_RANGE = 1.0e9

_TWO_OVER_PI = 0.6366197723675814
# pi/2 in three parts of 53 bits each.  All are positive, as the sign of -0 in the reduction requires.
_PIO2_1 = 1.5707963267948966
_PIO2_2 = 6.123233995736765e-17
_PIO2_3 = 1.082856673921914e-32

# (sin r)/r - 1 in z = r^2: sin to degree 13 on |r| <= pi/4 + 1e-6, relative error 2^-57.9.
_SIN = (
    0.0,
    -0.1666666666666663,
    0.00833333333332184,
    -0.00019841269829358512,
    2.7557313538499512e-06,
    -2.505073438535038e-08,
    1.5895432971316926e-10,
)
# cos r in z = r^2: degree 14 on |r| <= pi/4 + 1e-6, relative error 2^-63.9.
_COS = (
    1.0,
    -0.5,
    0.041666666666666595,
    -0.0013888888888873342,
    2.480158728900208e-05,
    -2.755731421703848e-07,
    2.0875705395875334e-09,
    -1.1358749224566681e-11,
)


def _octant(m: Arithmetic[T, Any], x: T) -> tuple[T, T, T, T]:
    """sin r, cos r, cos(k pi/2) and -sin(k pi/2), where x = k pi/2 + r and |r| <= pi/4."""
    k = _round_product(m, x, _TWO_OVER_PI)
    turns = _round_product(m, x, _TWO_OVER_PI, _TO_MULTIPLE_OF_4)
    # turns - k is in {-2, ..., 2}.  The order of the difference makes the zeros of quarter_sin positive,
    # with which the sign of sin(-0) survives the rotation.
    d = m.sub(turns, k)
    quarter_cos = m.sub(m.const(1.0), m.abs(d))
    quarter_sin = m.fma(d, quarter_cos, d)

    # The first step is exact: x and k*_PIO2_1 are multiples of 2^-53 (or k = 0) and |r| < 1.
    r = m.fma(k, m.const(-_PIO2_1), x)
    r = m.fma(k, m.const(-_PIO2_2), r)
    # The range check enters here, off the critical path; NaN then reaches both results.
    within = m.le(m.abs(x), m.const(SIN_RANGE))
    r = m.fma(k, m.select(within, m.const(-_PIO2_3), m.const(NAN)), r)

    z = m.mul(r, r)
    # The leading 0.0 of _SIN makes the last addition -0 + -0 for r = -0.
    return m.fma(r, _horner(m, z, _SIN), r), _horner(m, z, _COS), quarter_cos, quarter_sin


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

_LOG2_E = 1.4426950408889634
# ln 2 in two parts, the first of 42 bits: its product with any exponent is exact.
_LN2_1 = 0.6931471805598903
_LN2_2 = 5.497923018708371e-14
_SQRT2 = 1.4142135623730951
_MIN_NORMAL = 2.0**-1022

# (e^r - 1 - r)/r^2: degree 9 on |r| <= ln(2)/2, so that e^r has relative error 2^-57.9.
_EXP = (
    0.5000000000000011,
    0.16666666666666466,
    0.04166666666652881,
    0.008333333333470201,
    0.001388888894369759,
    0.0001984126954626436,
    2.4801493173867353e-05,
    2.7557558466934947e-06,
    2.7630193797652824e-07,
    2.5007219601734678e-08,
)
# (2 - 2 atanh(s)/s)/s^2 in z = s^2: degree 6 on |s| <= 3 - sqrt(8), so that atanh s has relative error
# 2^-59.5.
_LOG = (
    -0.6666666666666734,
    -0.3999999999941705,
    -0.2857142874189052,
    -0.2222219862190508,
    -0.18183561889046765,
    -0.15314110858351448,
    -0.14795364079160586,
)
# (tanh(r)/r - 1)/r^2 in z = r^2: degree 7 on 0 <= r <= ln(2)/2, so that tanh r has relative error 2^-56.8.
_TANH = (
    -0.3333333333333263,
    0.13333333333143682,
    -0.05396825379273113,
    0.021869480666811682,
    -0.008863039846089956,
    0.0035892800775735815,
    -0.0014315829876357595,
    0.0004766117963080305,
)


def exp(m: Arithmetic[T, Any], x: T) -> T:
    # The bounds, beyond which the result is 0 or inf, keep the exponents within the reach of pow2.
    x = m.select(m.lt(x, m.const(-746.0)), m.const(-746.0), x)
    x = m.select(m.lt(m.const(710.0), x), m.const(710.0), x)
    k = _round_product(m, x, _LOG2_E)
    r = m.fma(k, m.const(-_LN2_2), m.fma(k, m.const(-_LN2_1), x))
    y = m.add(m.const(1.0), m.fma(m.mul(r, r), _horner(m, r, _EXP), r))
    # Two factors, since 2^k may be out of range; only the second product can round.
    half = _round_product(m, k, 0.5)
    return m.mul(m.mul(y, m.pow2(half)), m.pow2(m.sub(k, half)))


def log(m: Arithmetic[T, Any], x: T) -> T:
    denormal = m.lt(x, m.const(_MIN_NORMAL))
    scaled = m.select(denormal, m.mul(x, m.const(2.0**54)), x)
    e = m.add(m.exponent(scaled), m.select(denormal, m.const(-54.0), m.const(0.0)))
    f = m.mantissa(scaled)
    # f in [sqrt(1/2), sqrt(2)], hence e = 0 around x = 1 and t = f - 1 keeps all bits.
    upper = m.lt(m.const(_SQRT2), f)
    e = m.add(e, m.select(upper, m.const(1.0), m.const(0.0)))
    t = m.fma(f, m.select(upper, m.const(0.5), m.const(1.0)), m.const(-1.0))

    # ln(1 + t) = 2 atanh(-s) = t + s (t + z P(z)) with s = -t/(2 + t), z = s^2: only the small second
    # term suffers from the rounding of s.
    s = m.div(t, m.sub(m.const(-2.0), t))
    z = m.mul(s, s)
    v = m.fma(z, _horner(m, z, _LOG), t)

    whole = m.mul(e, m.const(_LN2_1))
    high = m.add(whole, t)
    low = m.add(m.sub(whole, high), t)
    y = m.add(high, m.fma(s, v, m.fma(e, m.const(_LN2_2), low)))

    y = m.select(m.lt(x, m.const(INF)), y, x)
    edge = m.select(m.eq(x, m.const(0.0)), m.const(-INF), m.const(NAN))
    return m.select(m.lt(m.const(0.0), x), y, edge)


def tanh(m: Arithmetic[T, Any], x: T) -> T:
    # tanh(22) rounds to 1.
    size = m.abs(x)
    size = m.select(m.lt(m.const(22.0), size), m.const(22.0), size)
    # |x| = k ln(2)/2 + r with r >= 0, so that nothing cancels below; t = tanh r.
    k = m.floor(m.mul(size, m.const(2.0 * _LOG2_E)))
    r = m.fma(k, m.const(-0.5 * _LN2_2), m.fma(k, m.const(-0.5 * _LN2_1), size))
    z = m.mul(r, r)
    t = m.fma(m.mul(r, z), _horner(m, z, _TANH), r)
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


# ---------------------------------------------------------------------------------------------- atan2

# (atan(q)/q - 1)/q^2 in z = q^2: degree 19 on |q| <= 1, so that atan q has relative error 2^-57.5.
_ATAN = (
    -0.3333333333333307,
    0.19999999999951748,
    -0.14285714282587975,
    0.11111111007338305,
    -0.0909090700772951,
    0.07692279888082806,
    -0.06666404416490425,
    0.058805297678709026,
    -0.0525352660861308,
    0.047223478108912774,
    -0.04219242249861417,
    0.0366431356452024,
    -0.029905713283331588,
    0.021987040896344248,
    -0.01390254650052797,
    0.007197864156241967,
    -0.0028855985637583686,
    0.0008315556652616627,
    -0.00015221028953778828,
    1.3229916358126086e-05,
)


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
    angle = m.fma(m.mul(q, z), _horner(m, z, _ATAN), q)
    angle = m.fma(quarters, m.const(_PIO2_1), m.fma(quarters, m.const(_PIO2_2), angle))
    return m.copysign(angle, y)


# ----------------------------------------------------------------------------------------------- cbrt

# x^(-1/3): degree 3 on [1, 2], relative error 2.5e-4.
_CBRT = (1.5418870584786282, -0.8099605413296491, 0.3177573583790316, -0.049936972199632765)
# 2^(-s/3) for s in {-1, 0, 1}, interpolated.
_CBRT_EXPONENT = (1.0, -0.23311026195538673, 0.02681078793948645)


def cbrt(m: Arithmetic[T, Any], x: T) -> T:
    size = m.abs(x)
    denormal = m.lt(size, m.const(_MIN_NORMAL))
    scaled = m.select(denormal, m.mul(size, m.const(2.0**54)), size)
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

    third = m.add(third, m.select(denormal, m.const(-18.0), m.const(0.0)))
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
}
