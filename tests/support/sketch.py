"""Programs of a few operations, written by hand."""

import numpy as np

from flexjoint.compiler.ir.program import ARITY, Array, Builder, Program
from flexjoint.compiler.ir.reference import evaluate

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


def names(program):
    return sorted(program.counts.elements())


def same_values(program, other, rtol=0.0):
    for x in VALUES:
        np.testing.assert_allclose(evaluate(program, x)[0], evaluate(other, x)[0], rtol=rtol)
