"""Vibration of the links while the motors are held: the modes that a stiff position control of the motors leaves.

    M(q) δq'' + (D + D_s) δq' + (∂g/∂q + K) δq = 0

over the elastic joints; rigid joints rest with their motors.  K and D_s are stiffness and damping of the springs at the
torque with which they carry the links, g gravity and parallel springs, D viscous friction of the joints.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import kernel_of
from ..checks import entries, finite, positive_numbers
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..drives import ElasticDrive
from ..drives.friction import friction_law
from ..errors import InputError
from ..robot import Robot, numeric
from ..spatial import ca, sx
from ..types import Expression, FloatArray
from .drivetrain.coupling import at_springs, matrices
from .drivetrain.springs import spring_motion
from .inertia import mass_matrix
from .links import static_torque
from .requirements import lossless_gears, require

NAME = "held_modes"


class VibrationMode(NamedTuple):
    """A mode of vibration.

    Args:
        frequency: natural frequency, in Hz: |s|/2π of its pole s.
        damping: damping ratio, −Re s/|s|.
        shape: (n,), displacement of the links at one instant, the largest 1; empty if not known.
    """

    frequency: float
    damping: float = 0.0
    shape: tuple[float, ...] = ()


def held_modes(robot: Robot, q: ArrayLike, stiffness: ArrayLike | None = None) -> tuple[VibrationMode, ...]:
    """Modes of vibration of the links at a pose while all motors are held, the slowest first.

    Dry friction is neglected.

    Args:
        robot: with elastic joints, or joints of variable stiffness.
        q: pose (n,), in rad or m.
        stiffness: of joints of variable stiffness, one number or one per such joint, in Nm/rad or N/m; required there.

    Returns:
        VibrationModes that oscillate: one per elastic joint, fewer if some are overdamped.

    Raises:
        InputError: no joint is elastic, q does not fit, the stiffness is missing, or gravity is stronger than a spring.

    Example:
        >>> import flexjoint as fj
        >>> [round(x.frequency, 1) for x in fj.dynamics.held_modes(fj.load("kuka_lwr"), [0.0] * 7)][:2]
        [2.4, 13.9]
    """
    require(NAME, numeric(NAME, robot), lossless_gears)
    elastic = np.flatnonzero(robot.compliant)
    if not elastic.size:
        raise InputError(f"{NAME}: no joint of {robot.name} is elastic, so nothing vibrates while its motors are held")
    pose = entries(NAME, "q", finite(NAME, "q", q), robot.n)
    k = np.array(stiffness_at_rest(robot)(pose))
    variable = np.flatnonzero(robot.variable_stiffness)
    if variable.size:
        if stiffness is None:
            raise InputError(f"{NAME}: {robot.name} has joints of variable stiffness; give their stiffness")
        k[variable] = positive_numbers(NAME, "stiffness", stiffness, variable.size)
    d = np.array([getattr(joint.drive, "damping", 0.0) or 0.0 for joint in robot.joints], dtype=float)
    span = matrices(robot).near_links
    K = static_slope(robot)(pose) + span.T @ (k[:, None] * span)
    D = np.diag([friction_law(joint).viscous for joint in robot.joints]) + span.T @ (d[:, None] * span)
    chosen = np.ix_(elastic, elastic)
    return oscillating(robot, mass_matrix(robot, pose)[chosen], D[chosen], K[chosen], elastic)


@lru_cache(maxsize=64)
def static_slope(robot: Robot) -> Kernel:
    """Kernel q -> ∂g/∂q (n, n), g with parallel springs."""
    n = robot.n

    def function(q: Expression) -> list[tuple[Array, Expression]]:
        return [(Array("slope", (n, n)), ca.jacobian(static_torque.function(robot, q), q))]

    key = f"static slope {robot.digest}"
    return kernel_of(f"static slope of {robot.name}", [Array("q", (n,))], function, key, None, loops=False)


@lru_cache(maxsize=64)
def stiffness_at_rest(robot: Robot) -> Kernel:
    """Kernel q -> stiffness of each spring under the static torque (n,)."""
    n = robot.n

    def function(q: Expression) -> list[tuple[Array, Expression]]:
        return [(Array("stiffness", (n,)), ca.vertcat(*spring_stiffnesses(robot, static_torque.function(robot, q))))]

    key = f"stiffness at rest {robot.digest}"
    return kernel_of(f"stiffness of the springs of {robot.name} at rest", [Array("q", (n,))], function, key, None)


def spring_stiffnesses(robot: Robot, torque: Expression) -> list[Expression]:
    """dτ_e/dφ of each spring under a torque on the links (n,); 0 at joints without an elastic drive."""
    tau, found = at_springs(robot, torque), []
    for i, joint in enumerate(robot.joints):
        phi = spring_motion(joint, [tau[i], 0.0, 0.0])[0]
        found.append(joint.drive.spring.gradients(phi)[0] if isinstance(joint.drive, ElasticDrive) else sx(0.0))
    return found


def oscillating(
    robot: Robot, M: FloatArray, D: FloatArray, K: FloatArray, joints: np.ndarray
) -> tuple[VibrationMode, ...]:
    """Modes of M x'' + D x' + K x = 0 that oscillate, the slowest first; x are these joints."""
    if not np.all(np.linalg.eigvalsh((K + K.T) / 2) > 0):
        raise InputError(f"{NAME}: gravity is stronger than the springs of {robot.name} at this pose: it does not rest")
    size = len(M)
    inverse = np.linalg.inv(M)
    A = np.block([[np.zeros((size, size)), np.eye(size)], [-inverse @ K, -inverse @ D]])
    poles, vectors = np.linalg.eig(A)
    found = []
    for k in np.argsort(np.abs(poles), kind="stable"):
        if poles[k].imag <= 0:
            continue
        shape = np.zeros(robot.n)
        largest = vectors[:size, k][np.argmax(np.abs(vectors[:size, k]))]
        shape[joints] = (vectors[:size, k] / largest).real
        found.append(mode(poles[k], shape))
    return tuple(found)


def mode(pole: complex, shape: FloatArray | None = None) -> VibrationMode:
    """The mode of a pole, to nine digits: the same on every processor, although eigenvalues are not."""
    size = abs(pole)
    frequency, damping = float(f"{size / (2 * math.pi):.8e}"), float(f"{-pole.real / size:.8f}")
    return VibrationMode(frequency, damping + 0.0, () if shape is None else tuple(shape.tolist()))
