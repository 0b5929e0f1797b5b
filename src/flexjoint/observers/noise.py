"""How noise of measured or estimated signals reaches the result of an algorithm, such as the torque of a law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.algorithm import Algorithm
from ..checks import finite
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, sx
from ..types import FloatArray


def output_covariance(
    algorithm: Algorithm,
    robot: Robot,
    arrays: Sequence[ArrayLike],
    covariance: ArrayLike,
    **keywords: Any,
) -> FloatArray:
    """Covariance (n, n) of the first result of `algorithm(robot, *arrays, **keywords)`, to first order in the noise.

    Σ_ij J_i C_ij J_jᵀ, with the Jacobians J_i of the result by automatic differentiation.

    Args:
        algorithm: An algorithm such as `feedback_linearization`.
        robot: The model.
        arrays: The m arrays (n,) around which the noise is small.
        covariance: Covariance (m, m, n) between every two arrays at each joint, zero for arrays without noise.  Noise
            of different joints is independent.
        keywords: Further arguments of the algorithm, without noise, such as `tracking=` or `measured=`.

    Raises:
        InputError: A shape is wrong, or the covariance is not finite, symmetric and with variances >= 0.

    Example:
        >>> import numpy as np
        >>> import flexjoint as fj
        >>> robot, q = fj.load("hua_3r"), np.array([0.3, 0.6, -0.9])
        >>> noise = np.full((1, 1, 3), 1e-3**2)  # 1 mrad at every joint
        >>> fj.observers.output_covariance(fj.gravity_torque, robot, [q], noise).shape
        (3, 3)
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
