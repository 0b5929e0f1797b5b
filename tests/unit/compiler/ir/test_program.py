"""Programs: value numbering, normal forms, and the passes, on a few operations written by hand."""

import itertools
import math

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.compiler.ir.program import ARITY, Array, Builder, Program
from flexjoint.compiler.ir.reference import evaluate
from flexjoint.compiler.llvm.outlining import chunks
from flexjoint.compiler.passes.dead_code import without_dead_code
from flexjoint.compiler.passes.fusion import fuse, use_counts
from flexjoint.compiler.passes.reciprocals import share_reciprocals
from flexjoint.compiler.pipeline import optimise

VALUES = [(3.0, 0.25, -7.0), (-1.5, 1e-3, 2.5), (0.1, 0.2, 0.3), (1e10, -3.3, 1e-5)]


class Sketch(Builder):
    """A Builder over the inputs x, y, z, with operations as methods."""

    def __init__(self):
        super().__init__()
        self.x, self.y, self.z = (self.input(0, k) for k in range(3))

    def __getattr__(self, name):
        if name not in ARITY:
            raise AttributeError(name)
        return lambda *args: self.emit(name, *args)

    def program(self, *results):
        arrays = (Array("x", (3,)),), (Array("r", (len(results),)),)
        return Program("sketch", *arrays, tuple(self.code), (tuple(results),))


@pytest.fixture
def b():
    return Sketch()


def names(program):
    return sorted(program.counts.elements())


def same_values(program, other, rtol=0.0):
    for x in VALUES:
        np.testing.assert_allclose(evaluate(program, x)[0], evaluate(other, x)[0], rtol=rtol)


# Value numbering ------------------------------------------------------------------------------------------------


def test_equal_expressions_are_one_value(b):
    assert b.add(b.x, b.y) == b.add(b.x, b.y)
    assert b.sin(b.mul(b.x, b.y)) == b.sin(b.mul(b.x, b.y))
    assert b.constant(2.5) == b.constant(2.5)
    assert b.input(0, 1) == b.y


@pytest.mark.parametrize("name", ["add", "mul", "eq"])
def test_commutative_operations_know_no_order(b, name):
    assert b.emit(name, b.x, b.y) == b.emit(name, b.y, b.x)


@pytest.mark.parametrize("name", ["lt", "le", "atan2", "div"])
def test_other_operations_do(b, name):
    assert b.emit(name, b.x, b.y) != b.emit(name, b.y, b.x)


def test_constants_are_told_apart_by_their_bits(b):
    assert b.constant(0.0) != b.constant(-0.0)
    assert b.constant(1.0) != b.constant(math.nextafter(1.0, 2.0))
    assert b.constant(math.nan) == b.constant(math.nan)


def test_a_difference_met_before_the_other_way_round_is_its_negative(b):
    forth, back = b.sub(b.x, b.y), b.sub(b.y, b.x)
    program = b.program(forth, back)
    assert names(program) == ["neg", "sub"]
    assert list(evaluate(program, (5.0, 3.0, 0.0))[0]) == [2.0, -2.0]


# Normal forms ---------------------------------------------------------------------------------------------------

EXPRESSIONS = {  # name: (expression, value, operations left)
    "−−x": (lambda b: b.neg(b.neg(b.x)), lambda x, y, z: x, []),
    "x + (−y)": (lambda b: b.add(b.x, b.neg(b.y)), lambda x, y, z: x - y, ["sub"]),
    "(−x) + y": (lambda b: b.add(b.neg(b.x), b.y), lambda x, y, z: y - x, ["sub"]),
    "x − (−y)": (lambda b: b.sub(b.x, b.neg(b.y)), lambda x, y, z: x + y, ["add"]),
    "(−x) − y": (lambda b: b.sub(b.neg(b.x), b.y), lambda x, y, z: -(x + y), ["add", "neg"]),
    "(−x)·y": (lambda b: b.mul(b.neg(b.x), b.y), lambda x, y, z: -(x * y), ["mul", "neg"]),
    "x·(−y)": (lambda b: b.mul(b.x, b.neg(b.y)), lambda x, y, z: -(x * y), ["mul", "neg"]),
    "(−x)·(−y)": (lambda b: b.mul(b.neg(b.x), b.neg(b.y)), lambda x, y, z: x * y, ["mul"]),
    "(−2)·x": (lambda b: b.mul(b.constant(-2.0), b.x), lambda x, y, z: -2 * x, ["mul", "neg"]),
    "1·x": (lambda b: b.mul(b.constant(1.0), b.x), lambda x, y, z: x, []),
    "(−1)·x": (lambda b: b.mul(b.x, b.constant(-1.0)), lambda x, y, z: -x, ["neg"]),
    "(−x)/y": (lambda b: b.div(b.neg(b.x), b.y), lambda x, y, z: -(x / y), ["div", "neg"]),
    "x/(−y)": (lambda b: b.div(b.x, b.neg(b.y)), lambda x, y, z: -(x / y), ["div", "neg"]),
    "x/4": (lambda b: b.div(b.x, b.constant(4.0)), lambda x, y, z: x / 4, ["mul"]),
    "z + (−x)·y": (lambda b: b.add(b.z, b.mul(b.neg(b.x), b.y)), lambda x, y, z: z - x * y, ["mul", "sub"]),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_normal_form(b, name):
    expression, value, left = EXPRESSIONS[name]
    program = without_dead_code(b.program(expression(b)))
    assert names(program) == left
    for x in VALUES:
        assert evaluate(program, x)[0][0] == value(*x)


def test_products_of_opposite_factors_are_one_product(b):
    """What lets the jets of a rotation share their products: −s·y and s·y differ by a sign only."""
    program = without_dead_code(b.program(b.mul(b.neg(b.x), b.y), b.mul(b.x, b.y)))
    assert names(program) == ["mul", "neg"]


# Passes ---------------------------------------------------------------------------------------------------------


def test_dead_code_goes_and_what_is_used_stays(b):
    b.sin(b.mul(b.x, b.z))
    kept = b.add(b.x, b.y)
    b.exp(kept)
    program = without_dead_code(b.program(kept))
    assert names(program) == ["add"]
    assert [op.name for op in program.code if op.name == "input"] == ["input", "input"]
    assert evaluate(program, (1.0, 2.0, math.nan))[0][0] == 3.0


def test_inputs_and_constants_may_be_results(b):
    program = optimise(b.program(b.z, b.constant(4.0), b.z))
    assert list(evaluate(program, (1.0, 2.0, 3.0))[0]) == [3.0, 4.0, 3.0]


def test_a_divisor_used_twice_is_inverted_once(b):
    d = b.add(b.y, b.z)
    program = b.program(b.div(b.x, d), b.div(b.y, d), b.div(b.x, b.z))
    shared = share_reciprocals(program)
    assert program.counts["div"] == 3
    assert shared.counts["div"] == 2 and shared.counts["mul"] == 2
    same_values(shared, program, rtol=4e-16)


def test_a_divisor_used_once_is_left_alone(b):
    program = b.program(b.div(b.x, b.y), b.div(b.y, b.z))
    shared = share_reciprocals(program)
    assert names(shared) == ["div", "div"]
    same_values(shared, program)


def test_an_existing_reciprocal_is_reused(b):
    program = share_reciprocals(b.program(b.div(b.constant(1.0), b.z), b.div(b.x, b.z)))
    assert names(program) == ["div", "mul"]


FUSED = {  # expression, sign of the product, sign of the rest
    "xy + z": (lambda b: b.add(b.mul(b.x, b.y), b.z), 1, 1),
    "z + xy": (lambda b: b.add(b.z, b.mul(b.x, b.y)), 1, 1),
    "z − xy": (lambda b: b.sub(b.z, b.mul(b.x, b.y)), -1, 1),
    "xy − z": (lambda b: b.sub(b.mul(b.x, b.y), b.z), 1, -1),
}


@pytest.mark.parametrize("name", FUSED)
def test_a_product_that_is_added_is_fused(b, name):
    expression, product, rest = FUSED[name]
    program = fuse(b.program(expression(b)))
    assert program.counts["fma"] == 1
    assert not program.counts["mul"] + program.counts["add"] + program.counts["sub"]
    x, y, z = 1.0 + 2.0**-30, 1.0 - 2.0**-30, -1.0 if product == rest else 1.0
    # xy = 1 − 2⁻⁶⁰ rounds to 1: two roundings would give 0
    assert evaluate(program, (x, y, z))[0][0] == product * -(2.0**-60)


def test_a_product_used_elsewhere_is_not_fused(b):
    xy = b.mul(b.x, b.y)
    for program in (b.program(b.add(xy, b.z), xy), b.program(b.add(xy, b.z), b.sin(xy))):
        fused = fuse(program)
        assert fused.counts["fma"] == 0 and fused.counts["mul"] == 1
        same_values(fused, program)


def test_of_two_products_one_is_fused(b):
    program = fuse(b.program(b.add(b.mul(b.x, b.y), b.mul(b.y, b.z))))
    assert names(program) == ["fma", "mul"]
    square = b.mul(b.x, b.x)
    assert names(fuse(b.program(b.add(square, square)))) == ["add", "mul"]


def test_optimise_does_it_all(b):
    dead = b.cos(b.x)
    b.sin(dead)
    d = b.add(b.x, b.z)
    program = b.program(b.add(b.div(b.x, d), b.div(b.y, d)))
    better = optimise(program)
    assert names(better) == ["add", "div", "fma", "mul"]
    same_values(better, program, rtol=4e-16)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_keep_their_value(seed):
    """A few dozen random operations: the passes change rounding, and nothing else."""
    rng = np.random.default_rng(seed)
    b = Sketch()
    values = [b.x, b.y, b.z, b.constant(2.0), b.constant(-0.5)]
    for _ in range(40):
        name = rng.choice(["add", "sub", "mul", "div", "neg", "sin", "abs"])
        args = [b.add(b.abs(values[k]), b.constant(3.0)) if name == "div" and i else values[k]
                for i, k in enumerate(rng.integers(0, len(values), ARITY[name]))]  # fmt: skip
        values.append(b.emit(name, *args))
    program = b.program(*values[-4:])
    better = optimise(program)
    assert better.operations <= program.operations
    for x in rng.uniform(-1, 1, size=(3, 3)):
        plain, optimised = evaluate(program, x)[0], evaluate(better, x)[0]
        np.testing.assert_allclose(optimised, plain, rtol=1e-9, atol=1e-9 * np.max(np.abs(plain)))


# Figures --------------------------------------------------------------------------------------------------------


def test_operations_are_additions_multiplications_and_divisions(b):
    program = b.program(b.add(b.mul(b.x, b.y), b.z), b.div(b.x, b.y), b.sin(b.neg(b.z)))
    assert program.operations == 3
    assert fuse(program).operations == 3  # an fma counts as two


def test_use_counts(b):
    s = b.add(b.x, b.y)
    program = b.program(b.mul(s, s), s)
    uses = use_counts(program)
    assert (uses[s], uses[b.x], uses[b.z]) == (3, 1, 0)


@pytest.mark.parametrize(("length", "size"), [*itertools.product([0, 1, 7, 49, 50, 51, 1000, 4001], [1, 50, 2000])])
def test_chunks_cover_everything_once(length, size):
    parts = chunks(length, size)
    assert [i for part in parts for i in part] == list(range(length))
    assert max(map(len, parts)) <= size
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_array_size():
    assert [Array("x", shape).size for shape in ((), (3,), (6, 7))] == [1, 3, 42]


# What people read -----------------------------------------------------------------------------------------------


def test_a_listing_names_every_value_once():
    build = Builder()
    x, y = build.input(0, 0), build.input(0, 1)
    product = build.emit("mul", x, y)
    total = build.emit("add", product, build.constant(-2.5))
    program = Program("f", (Array("x", (2,), "m"),), (Array("y", (2,)),), tuple(build.code), ((total, product),))
    assert str(program).splitlines() == [
        "f",
        "in  x[2]  m",
        "out y[2]",
        "%0 = input x[0]",
        "%1 = input x[1]",
        "%2 = mul %0, %1                     -> y[1]",
        "%3 = const -2.5",
        "%4 = add %2, %3                     -> y[0]",
    ]


def test_a_description_has_names_shapes_units_and_costs():
    kernel = fj.compile(fj.forward_kinematics, fj.load("hua_3r"))
    first, q, rotation, position, last = kernel.describe().splitlines()
    assert str(kernel.operations) in first and str(kernel.code_size) in first
    assert q.split() == ["in", "q", "3", "rad", "|", "m", "joint1,", "joint2,", "joint3"]
    assert rotation.split() == ["out", "rotation", "3,", "3", "1", "row", "by", "row"]
    assert position.split()[:4] == ["out", "position", "3", "m"]
    assert all(f"{count} {name}" in last for name, count in kernel.program.counts.items())
