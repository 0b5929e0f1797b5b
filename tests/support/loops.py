"""Small algorithms with loops, and their Programs."""

import casadi as ca

from flexjoint.compiler.ir.program import Array
from flexjoint.compiler.ir.scan import scan, tracing
from flexjoint.compiler.pipeline import trace


def sums(a, b):
    """A plain loop, forwards: running sums, with values from outside the loop."""
    total, ys = scan(lambda s, x: (s + b[0] * x, s * b[1]), ca.SX(0.0), [a[k] for k in range(3)])
    return ca.vertcat(total, *ys)


def nested(a, b):
    """A loop in a loop, backwards, with constants that differ from turn to turn and some that do not."""

    def step(carry, x):
        s, t = carry
        u, w, kind = x
        assert kind == "same in every turn"
        inner, _ = scan(lambda d, z: (d * z + t[1], d), ca.SX(1.0), [u, w[0], ca.SX(3.0)])
        return (s * u + t[0] + b[0], t + w + inner), (s - w[0], ca.vertcat(t, s), b[1] * a[0])

    xs = [(a[k], ca.vertcat(ca.SX(float(k)), 0), "same in every turn") for k in range(3)]
    (s, t), ys = scan(step, (a[0], a[1:3]), xs, reverse=True)
    return ca.vertcat(s, t, ys[0][0], ys[2][1], ys[1][2])


def chained(a, b):
    """A loop over the results of another, one of whose carries nobody asks for."""

    def step(carry, x):
        p, unused = carry
        return (p * x + b[0], unused + ca.sin(x)), ca.vertcat(p, x)

    _, ys = scan(step, (a[0], a[1]), [a[k] for k in range(3)])
    last, _ = scan(lambda c, y: (c + y[0] * y[1], ()), b[1], ys, reverse=True)
    return ca.vertcat(last, ys[1])


def three_deep(a, b):
    """The innermost loop needs what only the middle one knows."""

    def middle(c, x):
        inner, _ = scan(lambda d, z: (d * c + z, ()), x, [a[1], a[2]])
        return inner + b[0], ()

    def outer(c, x):
        inner, _ = scan(middle, c, [x, b[1]])
        return inner, c * x

    last, ys = scan(outer, a[0], [a[k] for k in range(3)])
    return ca.vertcat(last, *ys)


LOOPS = [sums, nested, chained, three_deep]


def program_of(function, loops=True):
    a, b = ca.SX.sym("a", 3), ca.SX.sym("b", 2)
    if loops:
        with tracing() as definitions:
            value = function(a, b)
    else:
        definitions, value = {}, function(a, b)
    inputs = [(Array("a", (3,)), a), (Array("b", (2,)), b)]
    return trace(function.__name__, inputs, [(Array("y", (value.numel(),)), value)], definitions)
