"""One Program, the same bits everywhere: float interpreter, NumPy interpreter, compiled code, with and without C."""

import json
import math
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import casadi as ca
import mpmath
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.compiler import pipeline
from flexjoint.compiler.ir.program import ARITY, LANES, Array
from flexjoint.compiler.ir.reference import MpmathArithmetic, NumpyArithmetic, evaluate, evaluate_rows, interpret
from flexjoint.compiler.ir.scan import operation, tracing
from flexjoint.compiler.ir.trace import FUNCTIONS, unsupported_functions
from flexjoint.compiler.llvm import jit, outlining
from flexjoint.compiler.pipeline import trace
from support import calls
from support.programs import ALGORITHMS, ROBOTS, SPECIAL, inputs_of, kernel_of, raw, same_bits

TESTS = Path(__file__).parent.parent


def test_same_bits_is_strict():
    assert same_bits([1.0, math.nan], [1.0, -math.nan])
    assert not same_bits([0.0], [-0.0])
    assert not same_bits([1.0], [math.nextafter(1.0, 2.0)])


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_compiled_code_is_the_float_interpreter(algorithm, robot):
    kernel = kernel_of(algorithm, robot)
    finite = 0
    for arrays in inputs_of(kernel.program):
        expected = evaluate(kernel.program, *arrays)
        found, status = raw(kernel._code.address, kernel.program, arrays)
        assert all(same_bits(x, y) for x, y in zip(found, expected))
        good = all(np.all(np.isfinite(x)) for x in expected)
        assert status == (0 if good else 1)
        finite += good
    assert finite > 20  # and not all: infinity and NaN are among the inputs


@pytest.mark.parametrize("robot", ["lwr", "chain"])
@pytest.mark.parametrize("algorithm", ["inverse_dynamics", "forward_dynamics"])
def test_numpy_interpreter_is_the_float_interpreter(algorithm, robot):
    program = kernel_of(algorithm, robot).program
    sets = inputs_of(program)
    found = evaluate_rows(program, [np.array(column) for column in zip(*sets)], NumpyArithmetic())
    for b, arrays in enumerate(sets):
        for x, expected in zip(found, evaluate(program, *arrays)):
            assert same_bits(x[b], expected)


@pytest.mark.parametrize("robot", ["lwr", "chain"])
@pytest.mark.parametrize("algorithm", ["inverse_dynamics", "mass_matrix", "forward_kinematics"])
def test_rounding_of_a_program(algorithm, robot):
    """The same operations at 200 bits: what is left is the rounding of each."""
    kernel = kernel_of(algorithm, robot)
    program, m = kernel.program, MpmathArithmetic(200)
    rng = np.random.default_rng(3)
    worst = 0.0
    for _ in range(5):
        arrays = [rng.uniform(-2.0, 2.0, size=array.shape) for array in program.inputs]
        exact = interpret(program, [[m.const(float(x)) for x in array] for array in arrays], m)
        found, _ = raw(kernel._code.address, program, arrays)
        for x, y in zip(found, exact):
            error = max(abs(m.const(float(u)) - v) for u, v in zip(np.ravel(x), y)) / max(map(abs, y))
            worst = max(worst, float(error))
    print(f"worst rounding {worst:.1e}")
    assert 0.0 < worst < 1e-14


@pytest.mark.parametrize("robot", ["lwr", "tree"])
@pytest.mark.parametrize("algorithm", ["inverse_dynamics", "forward_dynamics", "forward_kinematics"])
def test_code_in_chunks_gives_the_same_bits(algorithm, robot, monkeypatch):
    kernel = kernel_of(algorithm, robot)
    whole = replace(kernel.program, packed=None)
    assert "define internal" not in pipeline.lower(whole)
    monkeypatch.setattr(outlining, "WHOLE", 50)
    monkeypatch.setattr(outlining, "CHUNK", 50)
    ir = pipeline.lower(whole)
    assert ir.count("define internal") >= 2
    code = jit.load_object(jit.compile_object(ir))
    for arrays in inputs_of(whole, 10):
        (x, status_x), (y, status_y) = (raw(a, whole, arrays) for a in (kernel._code.address, code.address))
        assert all(same_bits(u, v) for u, v in zip(x, y))
        assert status_x == status_y


def test_two_compilations_give_the_same_code():
    program = kernel_of("inverse_dynamics", "hua").program
    assert jit.compile_object(pipeline.lower(program)) == jit.compile_object(pipeline.lower(program))


# Every operation ------------------------------------------------------------------------------------------------


def traced(function, count):
    symbols = [ca.SX.sym(f"x{k}") for k in range(count)]
    inputs = [(Array(f"x{k}", ()), symbol) for k, symbol in enumerate(symbols)]
    with tracing() as definitions:
        result = ca.SX(function(*symbols))
    return trace("expression", inputs, [(Array("y", ()), result)], definitions)


def exact_fma(a, b, c):
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # the sign of a zero follows the same rule
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def quotient(a, b):
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


def root(a):
    return math.sqrt(a) if not a < 0 else math.nan


def floor(a):
    return math.copysign(math.floor(a), a) if math.isfinite(a) else a


def xor(a, b):
    """Of the bits of whole numbers; of any doubles, of those of a + 2⁵² and b + 2⁵²."""
    if all(0 <= x < 2**52 and x.is_integer() for x in (a, b)):
        return float(int(a) ^ int(b))
    one, two, unit = (np.array([a, b, 0.0]) + 2.0**52).view(np.uint64)
    with np.errstate(invalid="ignore"):
        return float(np.array(one ^ two | unit).view(float) - 2.0**52)


EXACT = {  # operation: (expression, meaning)
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "sub": (lambda a, b: a - b, lambda a, b: a - b),
    "mul": (lambda a, b: a * b, lambda a, b: a * b),
    "div": (lambda a, b: a / b, quotient),
    "neg": (lambda a: -a, lambda a: -a),
    "fma": (lambda a, b, c: a * b + c, exact_fma),
    "sqrt": (ca.sqrt, root),
    "abs": (ca.fabs, abs),
    "floor": (ca.floor, floor),
    "lt": (lambda a, b: a < b, lambda a, b: float(a < b)),
    "le": (lambda a, b: a <= b, lambda a, b: float(a <= b)),
    "eq": (lambda a, b: a == b, lambda a, b: float(a == b)),
    "select": (lambda a, b: ca.if_else(a, b, 0), lambda a, b: b if a != 0 else 0.0),
    "xor": (lambda a, b: operation("xor", a, b), xor),
}
NEAR = {  # operation: (expression, mpmath's function, smallest and largest argument)
    "sin": (ca.sin, mpmath.sin, (-1e3, 1e3)),
    "cos": (ca.cos, mpmath.cos, (-1e3, 1e3)),
    "exp": (ca.exp, mpmath.exp, (-700, 700)),
    "log": (ca.log, mpmath.log, (1e-6, 1e6)),
    "atan2": (ca.atan2, mpmath.atan2, (-10, 10)),
    "tanh": (ca.tanh, mpmath.tanh, (-5, 5)),
    "cbrt": (lambda x: x ** (1 / 3), lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), (-1e6, 1e6)),
    "sinh": (ca.sinh, mpmath.sinh, (-5, 5)),
    "cosh": (ca.cosh, mpmath.cosh, (-5, 5)),
    "asin": (ca.asin, mpmath.asin, (-1, 1)),
    "acos": (ca.acos, mpmath.acos, (-1, 1)),
}


def test_every_operation_is_tested():
    assert {*EXACT, *NEAR} == set(ARITY) - {"pack", *LANES}  # those: test_packing.py


def samples(count, seed):
    rng = np.random.default_rng(seed)
    values = [*SPECIAL, math.inf, -math.inf, math.nan, 0.5, -1.5, 3.0]
    ordinary = rng.normal(size=(100, count)) * 10.0 ** rng.integers(-5, 6, size=(100, count))
    whole = rng.integers(0, 2**32, size=(100, count)).astype(float)
    return [*ordinary.tolist(), *whole.tolist(), *rng.choice(values, size=(200, count)).tolist()]


@pytest.mark.parametrize("name", EXACT)
def test_exact_operation(name):
    expression, meaning = EXACT[name]
    program = traced(expression, ARITY[name] if name != "select" else 2)
    assert program.counts[name] == 1
    kernel = pipeline.compile(program)
    for x in samples(len(program.inputs), ARITY[name]):
        expected = meaning(*x)
        assert same_bits(evaluate(program, *x)[0], expected), (x, expected)
        assert same_bits(raw(kernel._code.address, program, [np.array(y) for y in x])[0][0], expected), (x, expected)


@pytest.mark.parametrize("name", NEAR)
def test_elementary_function(name):
    expression, exact, (low, high) = NEAR[name]
    program = traced(expression, ARITY[name])
    assert program.counts[name] == 1
    kernel = pipeline.compile(program)
    points = np.random.default_rng(1).uniform(low, high, size=(300, ARITY[name]))
    points[:6] = np.array([0.0, -0.0, np.nan, np.inf, 1.0, -1.0])[:, None]
    rows = kernel(*np.ascontiguousarray(points.T))  # in the lanes of registers
    for x, row in zip(points.tolist(), rows):
        (expected,) = evaluate(program, *x)
        assert same_bits(row, expected if np.isfinite(expected) else math.nan)  # such a row is NaN
    for x in points[6:].tolist():
        value = float(kernel(*x))
        assert same_bits(evaluate(program, *x)[0], value)
        with mpmath.workprec(200):
            expected = exact(*map(mpmath.mpf, x))
            assert abs(mpmath.mpf(value) - expected) <= 2 * math.ulp(float(expected))


DERIVATIVES = {  # function: its derivative
    "sinh": mpmath.cosh,
    "cosh": mpmath.sinh,
    "asin": lambda x: 1 / mpmath.sqrt(1 - x * x),
    "acos": lambda x: -1 / mpmath.sqrt(1 - x * x),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivative_of_an_elementary_function(name):
    program = traced(lambda x: ca.gradient(NEAR[name][0](x), x), 1)
    for x in [*np.linspace(-0.999, 0.999, 30), *(1.0 - np.logspace(-12, -1, 12))]:
        with mpmath.workprec(200):
            expected = DERIVATIVES[name](mpmath.mpf(float(x)))
            assert abs(mpmath.mpf(float(evaluate(program, x)[0])) - expected) <= 3 * math.ulp(float(expected))


def unit(x):
    return (x > 0) - (x < 0) if not math.isnan(x) else x


COMPOSED = {  # expressions that become several operations, with Python's meaning and a tolerance in ulp
    "ceil": (ca.ceil, lambda x: -floor(-x), 0),
    "sign": (ca.sign, lambda x: float(unit(x)) if x else x, 0),
    "square": (lambda x: x**2, lambda x: x * x, 0),
    "inverse": (lambda x: 1 / x, lambda x: quotient(1.0, x), 0),
    "cube": (lambda x: x**3, lambda x: x * x * x, 1),
    "tenth power": (lambda x: x**10, lambda x: float(mpmath.mpf(x) ** 10), 8),
    "minus second power": (lambda x: x**-2, lambda x: float(1 / mpmath.mpf(x) ** 2), 2),
    "zeroth power": (lambda x: x**0, lambda x: 1.0, 0),
    "square root": (lambda x: ca.fabs(x) ** 0.5, lambda x: math.sqrt(abs(x)), 0),
    "power": (lambda x: ca.fabs(x) ** 2.5, lambda x: abs(x) ** 2.5, 100),
    "tangent": (ca.tan, math.tan, 4),
    "arctangent": (ca.atan, math.atan, 2),
    "not": (lambda x: ca.logic_not(x > 1), lambda x: float(not x > 1), 0),
    "unequal": (lambda x: x != 1, lambda x: float(x != 1), 0),
    "and": (lambda x: ca.logic_and(x > 0, x < 1), lambda x: float(0 < x < 1), 0),
    "or": (lambda x: ca.logic_or(x < 0, x > 1), lambda x: float(x < 0 or x > 1), 0),
    "if": (lambda x: ca.if_else(x > 0, x, -2 * x), lambda x: x if x > 0 else -2 * x, 0),
    "min": (lambda x: ca.fmin(x, 0.5), lambda x: min(x, 0.5), 0),
    "max": (lambda x: ca.fmax(x, 0.5), lambda x: max(x, 0.5), 0),
    "by a constant": (lambda x: x / 3, lambda x: x / 3, 1),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_composed_expression(name):
    expression, meaning, ulps = COMPOSED[name]
    program = traced(expression, 1)
    for x in [0.25, -0.75, 1.0, 1.5, -3.25, *np.random.default_rng(2).normal(size=50).tolist()]:
        found, expected = float(evaluate(program, x)[0]), meaning(x)
        assert abs(found - expected) <= ulps * math.ulp(expected), x


@pytest.mark.parametrize("expression", [ca.fmin, ca.fmax])
def test_minimum_and_maximum_keep_nan(expression):
    program = traced(expression, 2)
    for x in ([math.nan, 1.0], [1.0, math.nan]):
        assert math.isnan(evaluate(program, *x)[0])


def test_an_operation_without_meaning_is_named():
    with pytest.raises(fj.FlexjointError, match="expression: no kernel has the function erf; it can use sqrt, exp"):
        traced(ca.erf, 1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_messages_offer(name):
    arguments = {"pow": 2, "atan2": 2, "fmin": 2, "fmax": 2, "if_else": 3}.get(name, 1)
    function = getattr(ca, name) if name != "pow" else lambda x, y: x**y
    traced(function, arguments)
    assert unsupported_functions([function(*(ca.SX.sym("x") for _ in range(arguments)))]) == []


def test_functions_without_meaning_are_found_anywhere():
    x = ca.SX.sym("x", 2)
    assert unsupported_functions([x[0], ca.sin(ca.asinh(x[0]) + ca.erf(x[1]))]) == ["asinh", "erf"]


def test_matrices_are_stored_by_rows():
    x, y = ca.SX.sym("x", 2, 3), ca.SX.sym("y", 3)
    inputs = [(Array("x", (2, 3)), x), (Array("y", (3,)), y)]
    program = trace("matrices", inputs, [(Array("xy", (2,)), x @ y), (Array("xt", (3, 2)), 2 * x.T)])
    X, Y = np.arange(6.0).reshape(2, 3), np.array([1.0, 10.0, 100.0])
    kernel = pipeline.compile(program)
    for xy, xt in (evaluate(program, X, Y), raw(kernel._code.address, program, [X, Y])[0]):
        assert np.array_equal(xy, X @ Y)
        assert np.array_equal(xt, 2 * X.T)


# Without the C extension ----------------------------------------------------------------------------------------


def run_python(*command, **environment):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]), **environment}
    done = subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_same_results_and_errors_without_the_extension():
    plain = json.loads(run_python("-m", "support.calls", FLEXJOINT_NO_EXTENSION="1"))
    here = json.loads(json.dumps(calls.outcomes()))
    assert plain.pop("extension") is False
    here.pop("extension")
    assert plain == here
    errors = {name for name, result in here.items() if isinstance(result[0], str)}
    named = {"nan", "huge", "overflow"}
    assert errors == named | {"shape", "dtype", "missing", "batch shapes", "wrong out", "no robot"}


def test_the_extension_is_built_where_a_compiler_is():
    if not (shutil.which("cc") or shutil.which("gcc")):
        pytest.skip("no C compiler")
    code = "from flexjoint.compiler.runtime.calling import EXTENSION; print(EXTENSION)"
    assert run_python("-c", code, FLEXJOINT_NO_EXTENSION="").strip() == "True"
