"""Spatial operators: the dynamics of a whole robot as a few matrix products.

Source: [Hoepler sec. IV, V-A].  Spatial vectors hold the rotation first, V = (ω, v) and f = (n, f), in the frame of
their body, whose origin lies on the joint axis.  The vectors of all N bodies are stacked.  With X̃ the cross product
operator and Δ = H q',

    Φ⁻¹ = 1 − E                 E° = −Δ̃ E             Φ° = −Φ Δ̃ E Φ                                (11), (19), (20)
    V = Φ H q'                  V° = Φ (H q'' − Δ̃ V)                                              (12), (13)
    f = Φᵀ (M V° − Ṽᵀ M V + H_r I θ'' + Ω̃ H_r I θ')                                               (14), (22)
    M(q) = Hᵀ Φᵀ M Φ H          C = −Hᵀ Φᵀ (M Φ Δ̃ + Ṽᵀ M) V                                      (26), (27)
    S(q) = Hᵀ Φᵀ H_r I          C_rotor = Hᵀ Φᵀ Ω̃ H_r I θ'        C_carrier = −I H_rᵀ Φ Δ̃ V       (29), (30), (33)

where ° is the derivative of components and Ω = (ω, 0).  In print the accents of (13), (14), (17) and (23) are mixed,
and I stands at the right of vectors in (32) and (33).  Three things differ from the paper: a body may hang on any
other, so E has its blocks at (body, parent); a joint may slide, H = (turn z, slide z); and θ is after the reduction,
so our I holds η I_axial, that of the paper I_axial.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algorithm.algorithm import algorithm
from ..algorithm.form import Call
from ..algorithm.signals import Signal
from ..checks import finite
from ..errors import InputError
from ..robot import Robot
from ..spatial import Inertia, ca, identity, is_symbolic, skew, zeros
from ..types import Expression, FloatArray, Matrix
from .recursion.bodies import Body, lump_fixed, rotors
from .recursion.kinematics import joint_pose


class SpatialOperators(NamedTuple):
    """Spatial operators of a robot with N moving joints, with followers, on stacked spatial vectors (rotation first).

    Attributes:
        Phi: Φ, velocities across the joints to velocities of the bodies, (..., 6N, 6N).
        E: E_φ, from every body to those that hang on it, (..., 6N, 6N).
        base: From the base to the bodies that hang on it, (..., 6N, 6).
        H: Axes of the joints, each in the column of its coordinate, (..., 6N, n); constant.
        H_r: Axes of the rotors in the bodies that carry them, (..., 6N, motors); constant.
        M: Inertia of the bodies about their frames, block-diagonal, (..., 6N, 6N); constant.
        I: η I_axial per motor, the angular momentum of the rotor per unit of θ', (..., motors); constant.
    """

    Phi: Expression | FloatArray
    E: Expression | FloatArray
    base: Expression | FloatArray
    H: Expression | FloatArray
    H_r: Expression | FloatArray
    M: Expression | FloatArray
    I: Expression | FloatArray


SIGNALS = {
    "Phi": Signal(("spatial", "spatial"), "1, m"),
    "E": Signal(("spatial", "spatial"), "1, m"),
    "base": Signal(("spatial", 6), "1, m"),
    "H": Signal(("spatial", "n"), "1"),
    "H_r": Signal(("spatial", "motors"), "1"),
    "M": Signal(("spatial", "spatial"), "kg m², kg m, kg"),
    "I": Signal(("motors",), "kg m² | kg m"),
}


def followers_without_rotors(call: Call) -> str | None:
    """No rotor that drives a follower: it has no column in H_r."""
    for follower in call.robot.followers:
        drive = follower.joint.drive
        if call.robot.fidelity == "complete" and drive is not None and drive.motors[0].gear_ratio is not None:
            return (
                f"the rotor of '{follower.joint.name}', which follows another joint, has no column in H_r; use "
                "robot.with_fidelity('spong')"
            )
    return None


@algorithm(SpatialOperators, signals=SIGNALS, requires=(followers_without_rotors,))
def spatial_operators(robot: Robot, q: Expression) -> SpatialOperators:
    """The operators Φ, E, H, H_r and M of the spatial operator algebra  [Hoepler (9), (10), (16)].

    Links on fixed joints are part of the body that carries them, so N is the number of moving joints.  In Spong's model
    rotors do not turn with the links, and H_r and I are zero.

    Args:
        q: Position of the links, (..., n).

    Returns:
        SpatialOperators(Phi, E, base, H, H_r, M, I).

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> robot, q = fj.load("hua_3r").without_drives(), np.array([0.1, 0.4, 0.7])
        >>> Phi, E, base, H, H_r, M, I = fj.dynamics.spatial_operators(robot, q)
        >>> np.allclose(H.T @ Phi.T @ M @ Phi @ H, fj.mass_matrix(robot, q))
        True
    """
    tree = lump_fixed(robot)
    n = len(tree)
    E, base = zeros(6 * n, 6 * n), zeros(6 * n, 6)
    Phi, H, M = ca.SX.eye(6 * n), zeros(6 * n, robot.n), zeros(6 * n, 6 * n)
    for i, body in enumerate(tree):
        phi = transform(body, q)
        if body.parent >= 0:
            E[block(i), block(body.parent)] = phi
            # row i of Φ = 1 + E Φ  (11)
            Phi[block(i), : 6 * i] = phi @ Phi[block(body.parent), : 6 * i]
        else:
            base[block(i), :] = phi
        linear, angular = body.screw.axes
        H[block(i), body.coordinate] = ca.vertcat(angular, linear)
        M[block(i), block(i)] = spatial_inertia(body.inertia)
    H_r, I = zeros(6 * n, robot.motor_count), zeros(robot.motor_count)
    for rotor in rotors(robot):
        I[rotor.coordinate] = rotor.momentum
        if rotor.body >= 0:
            H_r[block(rotor.body), rotor.coordinate] = ca.vertcat(rotor.axis, zeros(3))
    return SpatialOperators(Phi, E, base, H, H_r, M, I)


def block(i: int) -> slice:
    """Rows of body i in a stack."""
    return slice(6 * i, 6 * i + 6)


def transform(body: Body, q: Expression) -> Matrix:
    """φ, from spatial velocities in the parent's frame to those in the body's: (Rᵀω, Rᵀ(v − p × ω))."""
    R, p = joint_pose(body, q)
    return ca.vertcat(ca.horzcat(R.T, zeros(3, 3)), ca.horzcat(-R.T @ skew(p), R.T))


def spatial_inertia(inertia: Inertia) -> Matrix:
    """[[J, h̃], [−h̃, m 1]] about the frame of the body, with J = tr(Σ) 1 − Σ and h = m p_cm."""
    m, h, Sigma = inertia
    J = ca.trace(Sigma) * identity() - Sigma
    return ca.vertcat(ca.horzcat(J, skew(h)), ca.horzcat(-skew(h), m * identity()))


def spatial_cross(X: Expression | FloatArray) -> Expression | FloatArray:
    """X̃, the cross product operator of stacked spatial vectors, block-diagonal  [Hoepler sec. IV].

    Args:
        X: Stacked spatial vectors (a, b), rotation first: an array (..., 6N) or SX (6N, 1).

    Returns:
        Blocks [[ã, 0], [b̃, ã]], (..., 6N, 6N).

    Raises:
        InputError: The length is no multiple of 6, or a number is not finite.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.dynamics.spatial_cross(np.arange(12.0)).shape
        (12, 12)
    """
    if is_symbolic(X):
        check_stack(X.shape[0] if X.shape[1] == 1 else 0, X.shape)
        return ca.diagcat(*(cross_block(X[block(i)]) for i in range(X.shape[0] // 6)))
    array = finite("spatial_cross", "X", X)
    check_stack(array.shape[-1] if array.ndim else 0, array.shape)
    found = np.zeros((*array.shape, array.shape[-1]))
    for i in range(array.shape[-1] // 6):
        for first, rows, columns in ((0, 0, 0), (3, 3, 0), (0, 3, 3)):
            for k, (r, c) in enumerate(((2, 1), (0, 2), (1, 0))):
                x = array[..., 6 * i + first + k]
                found[..., 6 * i + rows + r, 6 * i + columns + c] = x
                found[..., 6 * i + rows + c, 6 * i + columns + r] = -x
    return found


def cross_block(X: Expression) -> Matrix:
    """[[ã, 0], [b̃, ã]] of one spatial vector (a, b)."""
    a, b = skew(X[:3]), skew(X[3:])
    return ca.vertcat(ca.horzcat(a, zeros(3, 3)), ca.horzcat(b, a))


def check_stack(length: int, shape: tuple[int, ...]) -> None:
    if length == 0 or length % 6:
        raise InputError(f"spatial_cross: X has shape {shape}; give stacked spatial vectors (..., 6N)")
