"""Elementary functions: accuracy against mpmath, special values, symmetries."""

import itertools
import math
import random
import sys
from collections.abc import Callable, Iterator

import mpmath
import pytest

from flexjoint.compiler.ir import elementary
from flexjoint.compiler.ir.elementary import FUNCTIONS, SIN_RANGE
from flexjoint.compiler.ir.reference import FloatArithmetic, bits

INF, NAN = math.inf, math.nan
MAX, MIN_NORMAL, MIN = sys.float_info.max, sys.float_info.min, 5e-324
MAX_ULP = 2.0
COUNT = 3000

FLOATS = FloatArithmetic()


def ulp_error(value: float, exact: mpmath.mpf) -> float:
    """Error in ulp of the correctly rounded result."""
    nearest = float(exact)
    if math.isinf(nearest) or not math.isfinite(value):
        return 0.0 if value == nearest else INF
    return float(abs(mpmath.mpf(value) - exact) / mpmath.mpf(math.ulp(nearest)))


def signed_cbrt(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


EXACT: dict[str, Callable[..., mpmath.mpf]] = {
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "exp": mpmath.exp,
    "log": mpmath.log,
    "atan2": mpmath.atan2,
    "tanh": mpmath.tanh,
    "cbrt": signed_cbrt,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
}


def hardest_angles() -> list[float]:
    """Doubles up to SIN_RANGE that are nearest to multiples of pi/2, from continued fractions."""
    angles = []
    with mpmath.workprec(400):
        for exponent in range(-52, -22):
            # Convergents p/n of a: n*2^exponent is within a fraction a/n of p quarter turns.
            a = mpmath.ldexp(2 / mpmath.pi, exponent)
            n, n_before, rest = 1, 0, a
            while n < 2**53:
                x = math.ldexp(n, exponent)
                if n > 2**40 and x <= SIN_RANGE:
                    angles.append(x)
                rest = 1 / (rest - mpmath.floor(rest))
                n, n_before = int(mpmath.floor(rest)) * n + n_before, n
    return angles


class Sampler:
    """Seeded points that stress each function."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def sign(self) -> float:
        return self.random.choice((-1.0, 1.0))

    def log_uniform(self, low: int, high: int) -> float:
        """Magnitude between 2^low and 2^high, random sign."""
        return self.sign() * math.ldexp(2.0 ** self.random.random(), self.random.randint(low, high - 1))

    def uniform(self, size: float) -> float:
        return self.random.uniform(-size, size)

    def near_multiple(self) -> float:
        """Within a few hundred ulp of a multiple of pi/2."""
        k = math.floor(2.0 ** self.random.uniform(0.0, 29.2))
        x = k * math.pi / 2
        return self.sign() * min(x + self.random.randint(-300, 300) * math.ulp(x), SIN_RANGE)

    def angle(self) -> float:
        kinds = (
            lambda: self.log_uniform(-1074, 29),
            lambda: self.uniform(10.0),
            lambda: self.uniform(SIN_RANGE),
            self.near_multiple,
        )
        return self.random.choice(kinds)()

    def sin(self) -> tuple[float, ...]:
        return (self.angle(),)

    cos = sin

    def exp(self) -> tuple[float, ...]:
        kinds = (
            lambda: self.log_uniform(-60, 9),
            lambda: self.uniform(1.0),
            lambda: self.random.uniform(-746.0, 710.0),
            lambda: self.random.uniform(-746.0, -707.0),  # denormal results
        )
        return (self.random.choice(kinds)(),)

    def log(self) -> tuple[float, ...]:
        kinds = (
            lambda: abs(self.log_uniform(-1074, 1024)),
            lambda: 1.0 + self.log_uniform(-53, -1),
            lambda: self.random.uniform(0.3, 3.0),
        )
        return (self.random.choice(kinds)(),)

    def atan2(self) -> tuple[float, ...]:
        y = self.log_uniform(-1074, 1024)
        kinds = (
            lambda: (self.uniform(1.0), self.uniform(1.0)),
            lambda: (y, self.log_uniform(-1074, 1024)),
            lambda: (y, y * self.log_uniform(-60, 60)),
            lambda: (y, self.sign() * y * (1.0 + self.log_uniform(-53, -3))),
            lambda: (self.log_uniform(-1074, -900), self.log_uniform(50, 174)),  # denormal results
        )
        y, x = self.random.choice(kinds)()
        return (y, x) if math.isfinite(x) else (y, 1.0)

    def tanh(self) -> tuple[float, ...]:
        kinds = (
            lambda: self.log_uniform(-1074, 6),
            lambda: self.uniform(1.0),
            lambda: self.uniform(22.0),
        )
        return (self.random.choice(kinds)(),)

    def cbrt(self) -> tuple[float, ...]:
        kinds = (lambda: self.log_uniform(-1074, 1024), lambda: self.uniform(8.0))
        return (self.random.choice(kinds)(),)

    def sinh(self) -> tuple[float, ...]:
        kinds = (
            lambda: self.log_uniform(-1074, 9),
            lambda: self.uniform(1.0),
            lambda: self.uniform(20.0),
            lambda: self.sign() * self.random.uniform(709.0, 710.6),  # where exp is infinite, and both are
        )
        return (self.random.choice(kinds)(),)

    cosh = sinh

    def asin(self) -> tuple[float, ...]:
        kinds = (
            lambda: self.log_uniform(-1074, 0),
            lambda: self.uniform(1.0),
            lambda: self.sign() * (1.0 - abs(self.log_uniform(-53, -3))),
            lambda: self.sign() * (0.5 + self.log_uniform(-53, -8)),
        )
        return (self.random.choice(kinds)(),)

    acos = asin


def points(name: str, count: int = COUNT) -> Iterator[tuple[float, ...]]:
    sampler = Sampler(seed=sum(map(ord, name)))
    return (getattr(sampler, name)() for _ in range(count))


def same(a: float, b: float) -> bool:
    """Equal bits, all NaN being equal."""
    return bits(a) == bits(b) or (math.isnan(a) and math.isnan(b))


def assert_accurate(name: str, arguments: tuple[float, ...]) -> None:
    value = FUNCTIONS[name](FLOATS, *arguments)
    with mpmath.workprec(200):
        error = ulp_error(value, EXACT[name](*map(mpmath.mpf, arguments)))
    assert error <= MAX_ULP, f"{name}{arguments} = {value!r}: {error:.3f} ulp"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_at_most_two_ulp(name: str) -> None:
    for arguments in points(name):
        assert_accurate(name, arguments)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_angles_nearest_to_multiples_of_half_pi(name: str) -> None:
    angles = hardest_angles()
    assert max(angles) > 0.5 * SIN_RANGE
    assert min(abs(math.sin(x) * math.cos(x)) for x in angles) < 2.0**-56
    for x in [*angles, math.pi / 2, math.pi, 1.5 * math.pi, 2.0 * math.pi, SIN_RANGE]:
        for neighbour in (x, -x, math.nextafter(x, 0.0)):
            assert_accurate(name, (neighbour,))


@pytest.mark.parametrize("quarters", range(-9, 10))
def test_octant_boundaries(quarters: int) -> None:
    x = (quarters + 0.5) * math.pi / 2
    for step in range(-3, 4):
        near = x + step * math.ulp(x)
        assert_accurate("sin", (near,))
        assert_accurate("cos", (near,))


def test_reduction_boundaries() -> None:
    for k in [*range(-1076, -1020), *range(-20, 20), *range(1000, 1025)]:
        x = (k + 0.5) * math.log(2.0)
        for near in (x, math.nextafter(x, INF), math.nextafter(x, -INF)):
            assert_accurate("exp", (near,))
            assert_accurate("tanh", (0.5 * near,))
            assert_accurate("tanh", (near - 0.5 * math.log(2.0),))
            assert_accurate("sinh", (near - 0.5 * math.log(2.0),))
            assert_accurate("cosh", (near - 0.5 * math.log(2.0),))
    for k in [*range(-1074, -1010), *range(-7, 8), *range(1010, 1024)]:
        for x in (math.ldexp(1.0, k), math.ldexp(math.sqrt(2.0), k)):
            for near in (x, math.nextafter(x, INF), math.nextafter(x, 0.0) or x):
                assert_accurate("log", (near,))
                assert_accurate("cbrt", (near,))


def test_sincos_is_sin_and_cos_bit_for_bit() -> None:
    for (x,) in itertools.chain(points("sin"), [(v,) for v in (0.0, -0.0, INF, -INF, NAN, 1.1e9)]):
        s, c = elementary.sincos(FLOATS, x)
        assert same(s, elementary.sin(FLOATS, x))
        assert same(c, elementary.cos(FLOATS, x))


@pytest.mark.parametrize("name", ["sin", "tanh", "cbrt", "sinh", "asin"])
def test_odd_bit_for_bit(name: str) -> None:
    for (x,) in itertools.chain(points(name), [(0.0,), (INF,)]):
        assert same(FUNCTIONS[name](FLOATS, -x), -FUNCTIONS[name](FLOATS, x))


@pytest.mark.parametrize("name", ["cos", "cosh"])
def test_even_bit_for_bit(name: str) -> None:
    for (x,) in points(name):
        assert same(FUNCTIONS[name](FLOATS, -x), FUNCTIONS[name](FLOATS, x))


def test_atan2_is_odd_in_y_bit_for_bit() -> None:
    for y, x in points("atan2"):
        assert same(elementary.atan2(FLOATS, -y, x), -elementary.atan2(FLOATS, y, x))


def test_sin_cos_tanh_never_exceed_one() -> None:
    for k, step in itertools.product(range(-40, 41), range(-3, 4)):
        x = 0.5 * math.pi * k + step * 1e-8
        assert max(map(abs, elementary.sincos(FLOATS, x))) <= 1.0
    for k in range(3000):
        assert elementary.tanh(FLOATS, 14.0 + 0.003 * k) <= 1.0


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_angles_out_of_range_give_nan(name: str) -> None:
    for x in (math.nextafter(SIN_RANGE, INF), 1e10, 2.0**53, 1e100, MAX, INF, NAN):
        assert math.isnan(FUNCTIONS[name](FLOATS, x))
        assert math.isnan(FUNCTIONS[name](FLOATS, -x))
    assert math.isfinite(FUNCTIONS[name](FLOATS, SIN_RANGE))


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("sin", 0.0, 0.0),
        ("sin", -0.0, -0.0),
        ("sin", MIN, MIN),
        ("sin", -MIN_NORMAL, -MIN_NORMAL),
        ("cos", 0.0, 1.0),
        ("cos", -0.0, 1.0),
        ("cos", MIN, 1.0),
        ("exp", 0.0, 1.0),
        ("exp", -0.0, 1.0),
        ("exp", MIN, 1.0),
        ("exp", INF, INF),
        ("exp", -INF, 0.0),
        ("exp", MAX, INF),
        ("exp", -MAX, 0.0),
        ("exp", 709.7827128933841, INF),
        ("exp", -745.1332191019411, MIN),
        ("exp", -745.1332191019412, 0.0),
        ("exp", NAN, NAN),
        ("log", 1.0, 0.0),
        ("log", 0.0, -INF),
        ("log", -0.0, -INF),
        ("log", INF, INF),
        ("log", -INF, NAN),
        ("log", -MIN, NAN),
        ("log", -1.0, NAN),
        ("log", NAN, NAN),
        ("tanh", 0.0, 0.0),
        ("tanh", -0.0, -0.0),
        ("tanh", MIN, MIN),
        ("tanh", 20.0, 1.0),
        ("tanh", MAX, 1.0),
        ("tanh", INF, 1.0),
        ("tanh", -INF, -1.0),
        ("tanh", NAN, NAN),
        ("cbrt", 0.0, 0.0),
        ("cbrt", -0.0, -0.0),
        ("cbrt", 1.0, 1.0),
        ("cbrt", -27.0, -3.0),
        ("cbrt", 2.0**-1074, 2.0**-358),
        ("cbrt", INF, INF),
        ("cbrt", -INF, -INF),
        ("cbrt", NAN, NAN),
        ("sinh", 0.0, 0.0),
        ("sinh", -0.0, -0.0),
        ("sinh", MIN, MIN),
        ("sinh", -MIN_NORMAL, -MIN_NORMAL),
        ("sinh", 711.0, INF),
        ("sinh", -MAX, -INF),
        ("sinh", -INF, -INF),
        ("sinh", NAN, NAN),
        ("cosh", -0.0, 1.0),
        ("cosh", MIN, 1.0),
        ("cosh", -711.0, INF),
        ("cosh", -INF, INF),
        ("cosh", NAN, NAN),
        ("asin", 0.0, 0.0),
        ("asin", -0.0, -0.0),
        ("asin", MIN, MIN),
        ("asin", -1.0, -0.5 * math.pi),
        ("asin", math.nextafter(1.0, 2.0), NAN),
        ("asin", -INF, NAN),
        ("asin", NAN, NAN),
        ("acos", 1.0, 0.0),
        ("acos", -1.0, math.pi),
        ("acos", -0.0, 0.5 * math.pi),
        ("acos", math.nextafter(-1.0, -2.0), NAN),
        ("acos", INF, NAN),
        ("acos", NAN, NAN),
    ],
)
def test_special_values(name: str, x: float, expected: float) -> None:
    assert same(FUNCTIONS[name](FLOATS, x), expected)


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "cbrt", "sinh", "cosh"])
def test_ends_of_the_double_range(name: str) -> None:
    for x in (MIN, MIN_NORMAL, math.nextafter(MIN_NORMAL, 0.0), 1.0, MAX):
        assert_accurate(name, (x,))
    assert_accurate("exp", (709.782712893384,))
    assert_accurate("exp", (-708.3964185322641,))
    for k in range(5):  # ln(2 MAX) = 710.4758600739439
        assert_accurate("sinh", (710.4758600739439 + (k - 2) * math.ulp(710.0),))
        assert_accurate("cosh", (710.4758600739439 + (k - 2) * math.ulp(710.0),))


@pytest.mark.parametrize("name", ["asin", "acos"])
def test_doubles_next_to_one_and_a_half(name: str) -> None:
    for x, step in itertools.product((0.5, 1.0), range(1, 40)):
        assert_accurate(name, (x - step * math.ulp(0.4),))
        assert_accurate(name, (step * math.ulp(0.4) - x,))
        assert_accurate(name, (0.5 + step * math.ulp(0.5),))


AXES = (0.0, 1.0, MIN, MAX, INF)


@pytest.mark.parametrize("y", [s * v for v in AXES for s in (1.0, -1.0)])
@pytest.mark.parametrize("x", [s * v for v in AXES for s in (1.0, -1.0)])
def test_atan2_of_zeros_infinities_and_extremes(y: float, x: float) -> None:
    # The C library follows Annex F; these angles are multiples of pi/4, or underflow to 0.
    assert same(elementary.atan2(FLOATS, y, x), math.atan2(y, x))


@pytest.mark.parametrize("other", [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN])
def test_atan2_of_nan(other: float) -> None:
    assert math.isnan(elementary.atan2(FLOATS, NAN, other))
    assert math.isnan(elementary.atan2(FLOATS, other, NAN))


def test_sincos_operation_count() -> None:
    """sincos dominates short kernels; more operations should be a decision, not an accident."""
    counts: dict[str, int] = {}

    class Counting(FloatArithmetic):
        def __getattribute__(self, name: str) -> object:
            counts[name] = counts.get(name, 0) + 1
            return super().__getattribute__(name)

    elementary.sincos(Counting(), 1.0)
    counts.pop("const")
    counts.pop("format")
    assert sum(counts.values()) <= 34
    assert "div" not in counts
