"""Divisions by a common divisor."""

from flexjoint.compiler.passes.reciprocals import share_reciprocals
from support.sketch import names, same_values


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
