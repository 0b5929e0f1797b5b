"""Calls that the adapters of array libraries are tested with, and the derivatives they must have."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

import flexjoint as fj

ELASTIC = fj.random_robot(3, 2, prismatic=0.4, elastic=0.7, friction=True, name="elastic")
RNG = np.random.default_rng(0)
CASES: dict[str, tuple[Any, dict[str, Any], list[Any]]] = {  # an algorithm, its keywords, its arrays
    "inverse dynamics": (
        fj.inverse_dynamics,
        {"wrenches": {"link3": 3}, "free": ("link2.mass", "*.drive.stiffness")},
        [*RNG.normal(size=(5, 3)), *RNG.normal(size=(3, 6)), np.array(2.0), np.array([90.0, 120.0])],
    ),
    "forward dynamics": (fj.forward_dynamics, {}, [*RNG.normal(size=(5, 3))]),  # two results
    "stack": (fj.torque_derivatives, {"order": 1}, [*RNG.normal(size=(4, 3))]),
    "kinematics": (fj.forward_kinematics, {}, [RNG.normal(size=3)]),  # a matrix and a vector
}


def leaves(results: Any) -> list[Any]:
    """The arrays of a result."""
    return list(results) if isinstance(results, tuple) else [results]


def weighted(results: Any) -> Any:
    """One number that depends on every element of every result."""
    return sum((x * (1 + k)).sum() + (x**2).sum() for k, x in enumerate(leaves(results)))


def gradients(algorithm: Any, keywords: dict[str, Any], arrays: list[Any]) -> list[np.ndarray]:
    """Those of `weighted` by every array, by CasADi's reverse mode."""
    function = fj.algorithm.casadi_function(algorithm, ELASTIC, **keywords)
    symbols = [ca.SX.sym(name, *function.size_in(k)) for k, name in enumerate(function.name_in())]
    outputs = function.call(symbols)
    if algorithm is fj.torque_derivatives:  # a stack is one result
        outputs = [ca.vertcat(*outputs)]
    value = sum(ca.sum1(ca.vec(x * (1 + k))) + ca.sumsqr(x) for k, x in enumerate(outputs))
    slopes = ca.Function("slopes", symbols, [ca.gradient(value, x) for x in symbols])
    return [np.array(x).reshape(np.shape(array)) for x, array in zip(slopes.call(arrays), arrays)]


def agree(x: Any, expected: np.ndarray) -> bool:
    """To 1e-12 of the largest element; exactly where all are zero."""
    return bool(np.max(np.abs(np.asarray(x) - expected)) <= 1e-12 * np.max(np.abs(expected)))
