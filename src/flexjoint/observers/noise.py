"""How noise of measured or estimated quantities shows in the result of an algorithm, such as the torque of a law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..algorithm.algorithm import Algorithm
from ..checks import finite
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, sx


def output_covariance(
    algorithm: Algorithm, robot: Robot, arrays: Sequence[Any], covariance: Any, **keywords: Any
) -> np.ndarray:
    """Covariance (n, n) of the first result of `algorithm(robot, *arrays, **keywords)`, to first order in the noise.

    `covariance` is (m, m, n): between each two of the m arrays at each joint, zero for those known exactly; noise of
    different joints is independent.  Σ_ij J_i C_ij J_jᵀ with the Jacobians J_i by automatic differentiation.
    """
    m, n = len(arrays), robot.n
    C = np.asarray(covariance, dtype=float)
    if C.shape != (m, m, n):
        raise InputError(f"output_covariance: covariance has shape {C.shape}; {m} arrays of {n} need ({m}, {m}, {n})")
    if not np.all(np.isfinite(C)) or np.any(np.diagonal(C) < 0) or not np.array_equal(C, C.swapaxes(0, 1)):
        raise InputError(
            "output_covariance: covariance must be finite, symmetric, with variances that are not negative"
        )
    values = [finite("output_covariance", f"arrays[{k}]", y) for k, y in enumerate(arrays)]
    if wrong := [y.shape for y in values if y.shape != (n,)]:
        raise InputError(f"output_covariance: an array has shape {wrong[0]}; each must be ({n},)")
    x = [ca.SX.sym(f"x{k}", n) for k in range(m)]
    fixed = {
        name: {key: [sx(y) for y in stack] for key, stack in x.items()} if isinstance(x, Mapping) else x
        for name, x in keywords.items()
    }
    result = algorithm.function(robot, *x, **fixed)
    first = result[0] if isinstance(result, tuple | list) else result
    f = ca.Function("jacobians", x, [ca.densify(ca.jacobian(first, y)) for y in x])
    J = np.array([np.array(y) for y in f.call([ca.DM(y) for y in values])])
    return np.einsum("ian,ijn,jbn->ab", J, C, J)
