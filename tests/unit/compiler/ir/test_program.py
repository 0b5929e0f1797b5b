"""Programs: value numbering, normal forms and listings, on a few operations written by hand."""

import math

import pytest

from flexjoint.compiler.ir.program import Array, Builder, Program
from flexjoint.compiler.ir.reference import evaluate
from flexjoint.compiler.passes.dead_code import without_dead_code
from flexjoint.compiler.passes.fusion import fuse
from support.sketch import VALUES, names

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


# Figures --------------------------------------------------------------------------------------------------------


def test_operations_are_additions_multiplications_and_divisions(b):
    program = b.program(b.add(b.mul(b.x, b.y), b.z), b.div(b.x, b.y), b.sin(b.neg(b.z)))
    assert program.operations == 3
    assert fuse(program).operations == 3  # an fma counts as two


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
