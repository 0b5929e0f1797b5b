"""Algorithms evaluated through CasADi, for robots that are not worth compiling."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np


class Symbolic:
    """`function(robot, *SX, **groups of SX, **options)` as a CasADi Function of arrays shaped like those given."""

    def __init__(self, function: Any, robot: Any, *arrays: Any, **keywords: Any):
        self.symbols: list[Any] = []
        arguments = [self.symbol(x) for x in arrays]
        named = {key: self.group(value) for key, value in keywords.items()}
        self.value = function(robot, *arguments, **named)
        layers = self.value if isinstance(self.value, list | tuple) else [self.value]
        self.function = ca.Function("f", self.symbols, [ca.densify(ca.SX(x)) for x in layers])

    def symbol(self, x: Any) -> Any:
        self.symbols.append(ca.SX.sym("x", *np.shape(x)))
        return self.symbols[-1]

    def group(self, value: Any) -> Any:
        """Arrays and stacks of them become symbols; options stay as they are."""
        if hasattr(value, "_asdict"):
            return type(value)(*self.group(value._asdict()).values())
        if isinstance(value, dict):
            return {key: [self.symbol(x) for x in stack] for key, stack in value.items()}
        if isinstance(value, list):
            return [self.symbol(x) for x in value]
        return self.symbol(value) if isinstance(value, np.ndarray) else value

    def __call__(self, *arrays: Any, **keywords: Any) -> Any:
        leaves = list(arrays)
        for value in keywords.values():
            members = value._asdict() if hasattr(value, "_asdict") else value
            if isinstance(members, dict):
                leaves += [x for stack in members.values() for x in stack]
            elif isinstance(members, list | np.ndarray):
                leaves += members if isinstance(members, list) else [members]
        found = self.function.call([ca.DM(np.asarray(x, dtype=float)) for x in leaves])
        results = [plain(x) for x in found]
        if hasattr(self.value, "_asdict"):
            return type(self.value)(*results)
        return np.array(results) if isinstance(self.value, list) else results[0]


def plain(x: Any) -> np.ndarray:
    """Columns as vectors, 1×1 as numbers."""
    array = np.array(x)
    return array[:, 0] if array.shape[1] == 1 and array.shape[0] > 1 else array


def evaluate(function: Any, robot: Any, *arrays: Any, **keywords: Any) -> Any:
    """The value of an algorithm at one state."""
    return Symbolic(function, robot, *arrays, **keywords)(*arrays, **keywords)
