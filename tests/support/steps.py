"""Small algorithms with isomorphic expressions, as those of an integrator, and their Programs."""

import casadi as ca

from flexjoint.compiler.ir.program import Array
from flexjoint.compiler.ir.scan import tracing
from flexjoint.compiler.pipeline import trace


def program_of(function):
    """`function` of two angles and two speeds."""
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    with tracing() as definitions:
        value = ca.vertcat(*function(q, v))
    inputs = [(Array("q", (2,)), q), (Array("v", (2,)), v)]
    return trace("function", inputs, [(Array("y", (value.numel(),)), value)], definitions)


def mass(q):
    """Something like an entry of a mass matrix: products of sines, with shared parts and negative signs."""
    s, c = ca.sin(q), ca.cos(q)
    return 3.0 + 2.0 * c[1] * c[0] - s[0] * s[1] * (c[1] - 0.5 * s[1])


def step(q, v):
    """At two states that are known at once, then at two that depend on what was found there."""
    first, second = mass(q), mass(q + 0.1 * v)
    x = q + v / first
    y = q + v / second
    return first, second, mass(x), mass(y) * v[0]


def signed(q, v):
    """Signs and divisions among the pairs, three alike which form no pair, and a loose cosine."""
    a, b = (-1.0 / mass(x) for x in (q, q - 0.2 * v))
    odd = [ca.sin(q[0] + k * v[1]) * v[0] for k in (1, 2, 3)]
    return a, -b, a * b, ca.cos(v[0] * v[1]), *odd


def late_signs(q, v):
    """Results that are old values with their sign changed."""
    old = [mass(q) * v[0], mass(q) * v[1]]
    new = [ca.sin(x * v[0]) + ca.cos(q[1] * v[1]) * k for k, x in enumerate([q[0], *old])]
    return *new, *(y * y + v[0] for y in new), *(-x for x in old)


def ragged(q, v):
    """A pair of sines and a pair of cosines that share one angle, behind a pair that fills half a register."""
    x, y = (q + k * v for k in (0.25, 0.5))
    full = ca.sin(q[1]) * 5.0, ca.sin(x[1]) * 5.0
    return *full, ca.sin(q[0]) + 2.0, ca.sin(x[0]) + 2.0, ca.cos(x[0]) * 3.0, ca.cos(y[0]) * 3.0
