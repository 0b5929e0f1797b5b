"""Fused multiply-adds."""

import pytest

from flexjoint.compiler.ir.reference import evaluate
from flexjoint.compiler.passes.fusion import fuse, use_counts
from support.sketch import names, same_values

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


def test_use_counts(b):
    s = b.add(b.x, b.y)
    program = b.program(b.mul(s, s), s)
    uses = use_counts(program)
    assert (uses[s], uses[b.x], uses[b.z]) == (3, 1, 0)
