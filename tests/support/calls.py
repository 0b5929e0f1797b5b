"""A fixed list of calls and what became of them, to compare the C extension with the way without it.

Run as a program, it prints the outcomes as JSON: the bits of every result, or type and message of every error.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np

import flexjoint as fj
from flexjoint.compiler.runtime.calling import EXTENSION


def calls() -> dict[str, Callable[[], Any]]:
    robot = fj.random_robot(4, 3, prismatic=0.3, fixed=0.3, name="robot")
    elastic = fj.random_robot(3, 2, elastic=1.0, name="elastic")
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 4))
    batch = rng.normal(size=(3, 6, 4))
    bad = batch.copy()
    bad[1, 2, 3], bad[2, 4, 0] = np.nan, np.inf
    stack = rng.normal(size=(5, 2, 3))
    huge = np.full(4, 1e12)
    nan = np.array([0.0, np.nan, 0.0, 0.0])
    wrench = {"link3": [rng.normal(size=6)]}

    def overlapping() -> np.ndarray:
        memory = batch.copy()
        fj.inverse_dynamics(robot, *memory, out=memory[1])
        return memory

    def after_error() -> np.ndarray:
        out = np.zeros(4)
        with contextlib.suppress(fj.NonFiniteError):
            fj.inverse_dynamics(robot, nan, v, a, out=out)
        return out

    return {
        "single": lambda: fj.inverse_dynamics(robot, q, v, a),
        "out": lambda: fj.inverse_dynamics(robot, q, v, a, out=np.zeros(4)),
        "lists": lambda: fj.inverse_dynamics(robot, [1, 2, 3, 4], [0, 0, 0, 0], (1.5, 0, 0, 0)),
        "batch": lambda: fj.inverse_dynamics(robot, *batch),
        "broadcast": lambda: fj.inverse_dynamics(robot, batch[0][:, None], v, batch[2]),
        "empty": lambda: fj.inverse_dynamics(robot, *batch[:, :0]),
        "bad rows": lambda: fj.inverse_dynamics(robot, *bad),
        "overlapping": overlapping,
        "wrench": lambda: fj.inverse_dynamics(robot, q, v, a, wrenches=wrench),
        "elastic": lambda: fj.inverse_dynamics(elastic, *stack),
        "stack": lambda: fj.torque_derivatives(elastic, *stack, order=2),
        "named": lambda: fj.forward_kinematics(robot, batch[0]),
        "matrix": lambda: fj.mass_matrix(robot, q),
        "number": lambda: fj.kinetic_energy(robot, q, v),
        "forward": lambda: fj.forward_dynamics(robot, *batch),
        "after error": after_error,
        "nan": lambda: fj.inverse_dynamics(robot, nan, v, a),
        "huge": lambda: fj.mass_matrix(robot, huge),
        "overflow": lambda: fj.inverse_dynamics(robot, q, 1e200 * v, a),
        "shape": lambda: fj.inverse_dynamics(robot, q[:3], v, a),
        "dtype": lambda: fj.inverse_dynamics(robot, 1j * q, v, a),
        "missing": lambda: fj.inverse_dynamics(robot, q),
        "batch shapes": lambda: fj.inverse_dynamics(robot, batch[0], batch[1, :2], a),
        "wrong out": lambda: fj.inverse_dynamics(robot, q, v, a, out=np.zeros(3)),
        "no robot": lambda: fj.inverse_dynamics(q, v, a),
    }


def outcome(call: Callable[[], Any]) -> list[Any]:
    try:
        value = call()
    except fj.FlexjointError as error:
        return [type(error).__name__, str(error)]
    results = list(value) if isinstance(value, tuple) else [value]
    return [[list(np.shape(x)), bits(x)] for x in results]


def bits(x: Any) -> list[str]:
    """Hexadecimal; all NaNs are one."""
    return [float(y).hex() for y in np.ravel(x)]


def outcomes() -> dict[str, Any]:
    return {"extension": EXTENSION, **{name: outcome(call) for name, call in calls().items()}}


if __name__ == "__main__":
    print(json.dumps(outcomes()))
