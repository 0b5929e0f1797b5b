"""Natural frequencies of the joint springs over many configurations."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..dynamics.drivetrain.coupling import matrices
from ..dynamics.drivetrain.passive import parallel_stiffness
from ..dynamics.held_modes import spring_stiffnesses
from ..dynamics.inertia import mass_matrix
from ..dynamics.links import static_torque
from ..dynamics.requirements import constant_stiffness, lossless_gears, require
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca
from ..types import Expression, FloatArray


def joint_eigenfrequencies(robot: Robot, q: ArrayLike) -> FloatArray:
    """Natural frequencies of the joint springs, (..., number of springs), rad/s, the slowest first.

    Parallel springs count as springs too.

    Args:
        robot: With elastic joints; not with variable stiffness.
        q: Configurations (..., n), rad or m.

    Raises:
        InputError: The robot has variable stiffness or q does not fit.
        NonFiniteError: q is beyond the reach of a spring law; in a batch the row is NaN.

    Damping and the gradient of gravity are neglected, as in `joint_modes`, which also gives the mode shapes at one
    configuration.
    """
    instead = "a robot whose drives are ElasticDrive, of the stiffness in question"
    require("joint_eigenfrequencies", robot, lossless_gears, constant_stiffness(instead))
    q = np.asarray(q, dtype=float)
    if q.shape[-1:] != (robot.n,) or not np.all(np.isfinite(q)):
        raise InputError(f"joint_eigenfrequencies: q has shape {q.shape}; it must be (..., {robot.n}) finite numbers")
    elastic = np.flatnonzero(robot.compliant)
    parallel = np.array(sorted({x.coordinate for x in robot.parallel_springs}), dtype=int)
    springs = [*elastic, *parallel]
    M = mass_matrix(robot, q, motors=True)
    bending = np.zeros((M.shape[-1], len(springs)))  # generalized force of a unit spring torque; times √k below
    bending[springs, range(len(springs))] = -1.0
    bending[: robot.n, : len(elastic)] = -matrices(robot).near_links[elastic].T
    bending[robot.n :, : len(elastic)] = matrices(robot).near_motors_inverse[np.ix_(elastic, elastic)].T
    k = np.asarray(stiffnesses(robot)(q))[..., [*elastic, *(robot.n + parallel)]]
    if np.any(k < 0):
        joint = robot.joints[springs[int(np.argmin(k.reshape(-1, len(springs)).min(axis=0)))]]
        raise InputError(
            f"joint_eigenfrequencies: the parallel spring of joint '{joint.name}' has the stiffness {k.min():g}, which "
            "is no oscillation; use analysis.linearize(robot, q)"
        )
    # beyond the reach of a law its derivative may be any number
    reached = np.isfinite(k).all(axis=-1) & np.isfinite(static_torque(robot, q)).all(axis=-1)
    pull = bending * np.sqrt(np.where(reached[..., None], k, 0.0)[..., None, :])
    found = np.linalg.svd(np.linalg.solve(np.linalg.cholesky(M), pull), compute_uv=False)[..., ::-1]
    return np.where(reached[..., None], found, np.nan)


@lru_cache(maxsize=64)
def stiffnesses(robot: Robot) -> Kernel:
    """Kernel q -> dτ_e/dφ per joint under gravity, 0 at rigid joints; then those of parallel springs, if any."""

    def function(q: Expression) -> list[tuple[Array, Expression]]:
        found = spring_stiffnesses(robot, static_torque.function(robot, q))
        values = ca.vertcat(*found, *([parallel_stiffness(robot, q)] if robot.parallel_springs else []))
        return [(Array("stiffness", (values.numel(),), "Nm/rad | N/m"), values)]

    return kernel_of(f"stiffnesses of {robot.name}", [Array("q", (robot.n,), "rad | m")], function, type=None)
