"""A kernel and its derivative kernels over NumPy arrays: what the adapters call."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..algorithm.algorithm import Algorithm
from ..algorithm.compile import compile
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..errors import InputError, shown
from ..robot import Robot
from ..types import FloatArray

NO_SECOND = (
    "second derivatives of a kernel are not available here; differentiate fj.algorithm.casadi_function, which has "
    "derivatives of any order"
)


class Differentiable:
    """An algorithm for one robot; results are lists, the derivatives of a stack behind the batch dimensions."""

    def __init__(
        self, owner: str, algorithm: Algorithm, robot: Robot, arrays: int | None, free: Sequence[str], keywords: Any
    ):
        if "derivatives" in keywords:
            raise InputError(f"{owner}: derivatives= is for fj.compile; here the library differentiates")
        if not isinstance(algorithm, Algorithm):
            raise InputError(f"{owner} takes an algorithm such as fj.inverse_dynamics, not {shown(algorithm)}")
        self.kernel = compile(algorithm, robot, arrays, free=free, **keywords)
        self.name = self.kernel.name
        self.inputs: tuple[Array, ...] = self.kernel.inputs
        self.stacked = [layers is not None for layers in self.kernel.result.layers]
        self.shapes = self.kernel.result.shapes(self.kernel.outputs)  # of one row
        self.columns = [math.prod(array.shape) for array in self.inputs]
        self.rows = [math.prod(shape) for shape in self.shapes]
        fields = algorithm.form(robot, algorithm.structure(robot, arrays, free=free, **keywords).options).fields

        @cache
        def slopes(wanted: tuple[int, ...]) -> Kernel:
            pairs = [(field, self.inputs[k].name) for field in fields for k in wanted]
            return compile(algorithm, robot, arrays, free=free, derivatives=pairs, **keywords)

        self._slopes = slopes

    def batch(self, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """The leading dimensions of arrays of these shapes."""
        if len(shapes) != len(self.inputs):
            names = ", ".join(array.name for array in self.inputs)
            raise InputError(f"{self.name} takes {len(self.inputs)} arrays: {names}; {len(shapes)} were given")
        for shape, array in zip(shapes, self.inputs):
            if len(shape) < len(array.shape) or shape[len(shape) - len(array.shape) :] != array.shape:
                wanted = ", ".join(["...", *map(str, array.shape)])
                raise InputError(f"{self.name}: {array.name} has shape {tuple(shape)}, it must be ({wanted})")
        return [tuple(shape[: len(shape) - len(array.shape)]) for shape, array in zip(shapes, self.inputs)]

    def values(self, arrays: Sequence[FloatArray]) -> list[FloatArray]:
        """The results, each (*batch, *shape)."""
        return self._called(self.kernel, arrays, self.stacked)

    def jacobians(self, arrays: Sequence[FloatArray], wanted: tuple[int, ...]) -> list[list[FloatArray]]:
        """By result and wanted input, each (*batch, size of the result, size of the input)."""
        stacked = [y for y in self.stacked for _ in wanted]
        found = iter(self._called(self._slopes(wanted), arrays, stacked))
        batch = np.broadcast_shapes(*self.batch([np.shape(x) for x in arrays]))
        return [[next(found).reshape(*batch, rows, self.columns[k]) for k in wanted] for rows in self.rows]

    def _called(self, kernel: Kernel, arrays: Sequence[FloatArray], stacked: Sequence[bool]) -> list[FloatArray]:
        found = kernel(*arrays)
        rank = max(len(x) for x in self.batch([np.shape(x) for x in arrays]))
        results = [found] if kernel.result.type is None else list(found)
        return [np.moveaxis(x, 0, rank) if layers else x for x, layers in zip(results, stacked)]

    def returned(self, results: Sequence[Any]) -> Any:
        """Results as a call of the algorithm returns them."""
        return results[0] if self.kernel.result.type is None else self.kernel.result.type(*results)


def needed(owner: str, package: str) -> Any:
    """A package that is an extra."""
    try:
        return importlib.import_module(package)
    except ImportError:
        message = f"{owner} needs {package}, which is not installed: pip install 'flexjoint[{package}]'"
        raise InputError(message) from None
