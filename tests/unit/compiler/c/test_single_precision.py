"""Elementary functions in single precision against mpmath, and bounds on the rounding of a whole Program."""

import math

import casadi as ca
import mpmath
import numpy as np
import pytest

from flexjoint.compiler.c.rounding import ErrorArithmetic, error_bounds
from flexjoint.compiler.ir.elementary import FUNCTIONS
from flexjoint.compiler.ir.number_formats import SINGLE
from flexjoint.compiler.ir.program import Array
from flexjoint.compiler.ir.reference import NumpyArithmetic, SingleArithmetic, evaluate_rows
from flexjoint.compiler.pipeline import trace
from support.programs import ALGORITHMS, ROBOTS, kernel_of

MAX_ULP = 2.0
COUNT = 1500
SINGLES = SingleArithmetic()
MAX, MIN_NORMAL, MIN = 3.4028234663852886e38, 2.0**-126, 2.0**-149

EXACT = {
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "exp": mpmath.exp,
    "log": mpmath.log,
    "atan2": mpmath.atan2,
    "tanh": mpmath.tanh,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
}


def apply(name, *columns):
    with np.errstate(all="ignore"):
        return FUNCTIONS[name](SINGLES, *(np.asarray(x, dtype=np.float32) for x in columns))


def ulp_errors(name, *columns):
    """Errors in ulp of the correctly rounded result."""
    columns = [np.asarray(x, dtype=np.float32) for x in columns]
    errors = []
    with mpmath.workprec(120):
        for value, *arguments in zip(apply(name, *columns).tolist(), *(x.tolist() for x in columns)):
            exact = EXACT[name](*map(mpmath.mpf, arguments))
            with np.errstate(over="ignore"):
                nearest = np.float32(float(exact))
            if not np.isfinite(nearest) or not math.isfinite(value):
                errors.append(0.0 if value == nearest else math.inf)
            else:
                errors.append(float(abs(mpmath.mpf(value) - exact) / float(np.spacing(abs(nearest)))))
    return errors


def points(name):
    rng = np.random.default_rng(sum(map(ord, name)))
    signs = rng.choice([-1.0, 1.0], COUNT)
    anything = signs * 2.0 ** rng.uniform(-149, 128, COUNT)
    near_one = 1.0 - 2.0 ** rng.uniform(-24, -3, COUNT)
    near = 0.5 * np.pi * rng.integers(1, 60000, COUNT) * signs
    return {
        "sin": [near, near * (1.0 + 1e-7), rng.uniform(-10, 10, COUNT), np.minimum(abs(anything), 1e5) * signs],
        "cos": [near, near * (1.0 - 1e-7), rng.uniform(-10, 10, COUNT), rng.uniform(-1e5, 1e5, COUNT)],
        "exp": [rng.uniform(-104, 89, COUNT), rng.uniform(-1, 1, COUNT), rng.uniform(-104, -87, COUNT)],
        "log": [abs(anything), 1.0 + rng.uniform(-0.3, 0.3, COUNT), 1.0 + signs * 2.0 ** rng.uniform(-23, -3, COUNT)],
        "tanh": [anything, rng.uniform(-1, 1, COUNT), rng.uniform(-10, 10, COUNT)],
        "cbrt": [anything, rng.uniform(-8, 8, COUNT)],
        "atan2": [anything, rng.uniform(-1, 1, COUNT)],
        "sinh": [np.minimum(abs(anything), 91.0) * signs, rng.uniform(-1, 1, COUNT), rng.uniform(-12, 12, COUNT)],
        "cosh": [rng.uniform(-1, 1, COUNT), rng.uniform(-12, 12, COUNT), rng.uniform(88, 90, COUNT)],
        "asin": [np.minimum(abs(anything), 1.0) * signs, rng.uniform(-1, 1, COUNT), near_one * signs],
        "acos": [rng.uniform(-1, 1, COUNT), near_one * signs],
    }[name]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_at_most_two_ulp(name):
    x = np.concatenate(points(name))
    arguments = [x, np.random.default_rng(1).permutation(x) if name == "atan2" else None][: 1 + (name == "atan2")]
    assert max(ulp_errors(name, *arguments)) <= MAX_ULP


HARDEST = {  # largest error of all floats, and where (atan2: of 3e8 pairs)
    "sin": (1.5406, "0x1.4dff98p+13"),
    "cos": (1.5375, "0x1.d6c324p+15"),
    "exp": (1.0128, "0x1.da72c4p+5"),
    "log": (0.9108, "0x1.45bf22p+0"),
    "tanh": (1.4286, "0x1.0f8d56p+3"),
    "cbrt": (0.7332, "0x1.6e4ab2p+1"),
    "sinh": (1.6350, "0x1.202746p+3"),
    "cosh": (1.7990, "0x1.205664p+3"),
    "asin": (1.1082, "0x1.047a7ep-1"),
    "acos": (1.1477, "-0x1.01bbdap-1"),
    "atan2": (1.4899, "-0x1.bf7fdp-6", "0x1.bf3092p-2"),
}


@pytest.mark.parametrize("name", HARDEST)
def test_hardest_arguments(name):
    largest, *arguments = HARDEST[name]
    (error,) = ulp_errors(name, *([float.fromhex(x)] for x in arguments))
    assert error == pytest.approx(largest, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("sin", 0.0, 0.0), ("sin", -0.0, -0.0), ("sin", MIN, MIN), ("sin", -MIN_NORMAL, -MIN_NORMAL),
        ("sin", 1.0001e5, math.nan), ("sin", math.inf, math.nan), ("cos", 0.0, 1.0), ("cos", -2e9, math.nan),
        ("exp", 0.0, 1.0), ("exp", -math.inf, 0.0), ("exp", math.inf, math.inf), ("exp", 88.8, math.inf),
        ("exp", -103.9, MIN), ("exp", -104.1, 0.0), ("exp", math.nan, math.nan),
        ("log", 1.0, 0.0), ("log", 0.0, -math.inf), ("log", -0.0, -math.inf), ("log", -MIN, math.nan),
        ("log", math.inf, math.inf), ("tanh", -0.0, -0.0), ("tanh", MIN, MIN), ("tanh", MAX, 1.0),
        ("tanh", -math.inf, -1.0), ("tanh", math.nan, math.nan), ("cbrt", -0.0, -0.0), ("cbrt", -27.0, -3.0),
        ("cbrt", 2.0**-147, 2.0**-49), ("cbrt", -math.inf, -math.inf), ("cbrt", math.nan, math.nan),
        ("sinh", -0.0, -0.0), ("sinh", MIN, MIN), ("sinh", 90.0, math.inf), ("sinh", -math.inf, -math.inf),
        ("cosh", 0.0, 1.0), ("cosh", -90.0, math.inf), ("cosh", math.nan, math.nan), ("asin", -0.0, -0.0),
        ("asin", MIN, MIN), ("asin", 1.0000001, math.nan), ("acos", 1.0, 0.0), ("acos", -2.0, math.nan),
    ],
)  # fmt: skip
def test_special_values(name, x, expected):
    (found,) = apply(name, [x])
    assert found == expected or (math.isnan(found) and math.isnan(expected))
    assert math.isnan(expected) or np.signbit(found) == np.signbit(expected)


@pytest.mark.parametrize("y", [0.0, -0.0, 1.0, -1.0, MIN, -MAX, math.inf, -math.inf])
def test_atan2_of_zeros_infinities_and_extremes(y):
    x = [0.0, -0.0, 1.0, -1.0, MIN, MAX, math.inf, -math.inf]
    found = apply("atan2", [y] * len(x), x)
    expected = [np.float32(math.atan2(y, z)) for z in x]
    assert np.all(np.abs(found - expected) <= np.spacing(np.abs(expected)) * (np.abs(expected) > 1e-30))
    assert np.signbit(found).tolist() == np.signbit(expected).tolist()


def test_constants_are_floats():
    """Each is rounded already, so that const() rounds nothing."""
    numbers = [SINGLE.two_over_pi, SINGLE.log2_e, SINGLE.to_multiple_of_4, SINGLE.pow2_magic, SINGLE.min_normal]
    for field in ("half_pi", "ln2", "sin", "cos", "exp", "log", "tanh", "atan", "sinh", "cosh", "asin"):
        numbers += getattr(SINGLE, field)
    assert all(float(np.float32(x)) == x for x in numbers)
    assert all(x > 0 for x in SINGLE.half_pi)
    with mpmath.workprec(100):
        assert abs(mpmath.pi / 2 - mpmath.fsum(SINGLE.half_pi)) < 1e-21
        assert abs(mpmath.log(2) - mpmath.fsum(SINGLE.ln2)) < 2.0**-42
    assert SINGLE.ln2[0] * 2.0**16 == int(SINGLE.ln2[0] * 2.0**16)


# Bounds on rounding ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_errors_stay_within_their_bounds(algorithm, robot):
    """And the bounds are not far: every output comes within a factor of 300 of its own somewhere."""
    program = kernel_of(algorithm, robot).program
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(-2.0, 2.0, (100, *array.shape)).astype(np.float32) for array in program.inputs]
    found = evaluate_rows(program, arrays, SINGLES)
    exact = evaluate_rows(program, arrays, NumpyArithmetic())
    for x, y, bound in zip(found, exact, error_bounds(program, arrays)):
        error = np.abs(x - y)
        assert np.all(error <= bound * 1.000001)
        assert np.all(error.max(axis=0) >= bound.max(axis=0) / 300)


def traced(function, count):
    symbols = [ca.SX.sym(f"x{k}") for k in range(count)]
    inputs = [(Array(f"x{k}", ()), symbol) for k, symbol in enumerate(symbols)]
    return trace("expression", inputs, [(Array("y", ()), ca.SX(function(*symbols)))])


CHAINS = {  # a rounded operand for every operation
    "div": lambda x, y: (x * y) / (x + 3.1 * y), "sqrt": lambda x, y: ca.sqrt(ca.fabs(x * y)),
    "sin": lambda x, y: ca.sin(100.0 * x * y), "cos": lambda x, y: ca.cos(30.0 * x / y),
    "exp": lambda x, y: ca.exp(7.0 * x * y), "log": lambda x, y: ca.log(ca.fabs(x * y)),
    "tanh": lambda x, y: ca.tanh(3.0 * x * y), "cbrt": lambda x, y: (x * y) ** (1 / 3),
    "sinh": lambda x, y: ca.sinh(x * y), "cosh": lambda x, y: ca.cosh(x * y - 0.001),
    "asin": lambda x, y: ca.asin(x / (x * x + y * y)), "acos": lambda x, y: ca.acos(ca.sin(x * y)),
    "atan2": lambda x, y: ca.atan2(x * y, x + 0.1 * y), "floor": lambda x, y: ca.floor(7.0 * x * y),
    "select": lambda x, y: ca.if_else(x * y < x / y, x - 0.3 * y, x * x),
    "difference": lambda x, y: (x * y - 0.1) - (x * y - 0.1000001),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAINS)
def test_bounds_of_every_operation(name):
    program = traced(CHAINS[name], 2)
    rng = np.random.default_rng(3)
    x, y = rng.uniform(-3.0, 3.0, (2, 20000)).astype(np.float32)
    y[:5000] = x[:5000] * np.float32(0.1)  # near ties
    (found,), (exact,) = (evaluate_rows(program, [x, y], m) for m in (SINGLES, NumpyArithmetic()))
    (bound,) = error_bounds(program, [x, y])
    finite = np.isfinite(bound)
    assert np.all(np.abs(found - exact)[finite] <= bound[finite] * 1.000001)
    assert not finite[np.isnan(found)].any()
    assert np.median(bound) < 1e-4


def test_what_cannot_be_decided_counts_in_full():
    m = ErrorArithmetic()
    with np.errstate(all="ignore"):
        infinite = m.div(m.const(1.0), m.sub(m.const(0.1), m.const(0.1)))
    third = m.div(m.const(1.0), m.const(3.0))
    equal = m.eq(m.mul(third, m.const(3.0)), m.const(1.0))
    assert not equal.certain
    assert m.select(equal, m.const(1.0), m.const(5.0)).error >= 4.0
    assert math.isinf(infinite.error)
    assert math.isinf(m.mul(m.const(1e30), m.const(1e30)).error)
