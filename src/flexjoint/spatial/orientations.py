"""Rotation matrices from and to quaternions, angles and rotation vectors, for any number of rotations at once.

Arrays lead with their batch dimensions: quaternions are (..., 4) in the order w, x, y, z, rotations (..., 3, 3).  Every
number has the same bits on every processor.
"""

from __future__ import annotations

import math

import numpy as np

from ..numerics import atan2, sin_cos
from ..types import FloatArray
from .rotations import QUARTER_TURN_TOLERANCE

QUARTERS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])  # cosine and sine of 0, 1, 2, 3 quarter turns
ROUNDED = 1e-15  # of RᵀR − 1: a rotation that is as good as doubles allow is left as it is


def length(vectors: FloatArray) -> FloatArray:
    """Lengths (...) of vectors (..., n)."""
    total = vectors[..., 0] * vectors[..., 0]
    for k in range(1, vectors.shape[-1]):
        total = total + vectors[..., k] * vectors[..., k]
    return np.asarray(np.sqrt(total))


def compose(A: FloatArray, B: FloatArray) -> FloatArray:
    """Products A B of matrices (..., i, j) and (..., j, k), each sum in a fixed order."""
    total = A[..., :, :1] * B[..., :1, :]
    for k in range(1, A.shape[-1]):
        total = total + A[..., :, k : k + 1] * B[..., k : k + 1, :]
    return total


def transpose(R: FloatArray) -> FloatArray:
    """Transposed matrices (..., k, i)."""
    return np.swapaxes(R, -1, -2)


def orthogonality_error(R: FloatArray) -> FloatArray:
    """Largest element of |RᵀR − 1|, (...)."""
    return np.max(np.abs(compose(transpose(R), R) - np.eye(3)), axis=(-2, -1))


def orthonormal(R: FloatArray) -> FloatArray:
    """The rotation nearest to a matrix that is nearly one: three Newton steps R (3 − RᵀR) / 2 square its error thrice.

    A matrix that is orthogonal up to rounding is returned unchanged.
    """
    inexact = orthogonality_error(R) >= ROUNDED
    if not np.any(inexact):
        return R
    better = R[inexact]
    for _ in range(3):
        better = compose(better, 1.5 * np.eye(3) - 0.5 * compose(transpose(better), better))
    found = R.copy()
    found[inexact] = better
    return found


def quaternion_rotation(quaternion: FloatArray) -> FloatArray:
    """Rotations (..., 3, 3) of quaternions (..., 4) of any length but zero."""
    scaled = quaternion / np.max(np.abs(quaternion), axis=-1, keepdims=True)
    w, x, y, z = np.moveaxis(scaled / length(scaled)[..., None], -1, 0)
    return _matrix(
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    )


def rotation_quaternion(R: FloatArray) -> FloatArray:
    """Unit quaternions (..., 4) with w ≥ 0 of rotations (..., 3, 3)."""
    a, b, c = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    x, y, z = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, xz, yz = R[..., 0, 1] + R[..., 1, 0], R[..., 0, 2] + R[..., 2, 0], R[..., 1, 2] + R[..., 2, 1]
    # 4 w (w, x, y, z), 4 x (w, x, y, z), ...: the row with the largest factor loses no digits
    candidates = np.stack(
        [
            np.stack([1 + a + b + c, x, y, z], axis=-1),
            np.stack([x, 1 + a - b - c, xy, xz], axis=-1),
            np.stack([y, xy, 1 - a + b - c, yz], axis=-1),
            np.stack([z, xz, yz, 1 - a - b + c], axis=-1),
        ],
        axis=-2,
    )
    largest = np.argmax(np.diagonal(candidates, axis1=-2, axis2=-1), axis=-1)
    chosen = np.take_along_axis(candidates, largest[..., None, None], axis=-2)[..., 0, :]
    unit = chosen / length(chosen)[..., None]
    return np.where(unit[..., :1] < 0, -unit, unit)


def rpy_rotation(rpy: FloatArray, quarter_turn: float = QUARTER_TURN_TOLERANCE) -> FloatArray:
    """Rotations Rz(yaw) Ry(pitch) Rx(roll) of angles (..., 3) in rad, exact at quarter turns."""
    cosines, sines = cosines_sines(rpy, quarter_turn)
    (a, b, c), (u, v, w) = np.moveaxis(cosines, -1, 0), np.moveaxis(sines, -1, 0)
    zero, one = np.zeros_like(a), np.ones_like(a)
    yaw = _matrix([c, -w, zero], [w, c, zero], [zero, zero, one])
    pitch = _matrix([b, zero, v], [zero, one, zero], [-v, zero, b])
    roll = _matrix([one, zero, zero], [zero, a, -u], [zero, u, a])
    return compose(compose(yaw, pitch), roll)


def rotation_rpy_angles(R: FloatArray) -> FloatArray:
    """Roll, pitch and yaw (..., 3), in rad, of rotations (..., 3, 3); yaw is 0 where pitch is a quarter turn."""
    level = np.sqrt(R[..., 0, 0] * R[..., 0, 0] + R[..., 1, 0] * R[..., 1, 0])
    yaw = np.where(level > 1e-14, atan2(R[..., 1, 0], R[..., 0, 0]), 0.0)
    c, s = cosines_sines(yaw, 1e-15)
    roll = atan2(s * R[..., 0, 2] - c * R[..., 1, 2], c * R[..., 1, 1] - s * R[..., 0, 1])
    return np.stack([roll, atan2(-R[..., 2, 0], level), yaw], axis=-1)


def axis_angle_rotation(axis: FloatArray, angle: FloatArray) -> FloatArray:
    """Rotations by angles (...) in rad about axes (..., 3) of any length but zero, exact at quarter turns."""
    scaled = axis / np.max(np.abs(axis), axis=-1, keepdims=True)
    unit = scaled / length(scaled)[..., None]
    c, s = cosines_sines(angle)
    c, s, (x, y, z) = np.broadcast_arrays(c, unit[..., 0])[0], s, np.moveaxis(unit, -1, 0)
    v = 1 - c
    return _matrix(
        [c + v * x * x, v * x * y - s * z, v * x * z + s * y],
        [v * x * y + s * z, c + v * y * y, v * y * z - s * x],
        [v * x * z - s * y, v * y * z + s * x, c + v * z * z],
    )


def rotation_vector(R: FloatArray) -> FloatArray:
    """Axis times angle (..., 3), the angle in rad between 0 and π, of rotations (..., 3, 3)."""
    quaternion = rotation_quaternion(R)
    w, vector = quaternion[..., 0], quaternion[..., 1:]
    sine = length(vector)
    tiny = sine < 1e-150
    factor = np.where(tiny, 2.0, 2 * atan2(sine, w) / np.where(tiny, 1.0, sine))
    return vector * factor[..., None]


def cosines_sines(
    angles: FloatArray, quarter_turn: float = QUARTER_TURN_TOLERANCE
) -> tuple[FloatArray, FloatArray]:
    """Cosines and sines of angles in rad, exact within `quarter_turn` of a quarter turn."""
    angles = np.asarray(angles, dtype=float)
    quarters = np.rint(angles / (math.pi / 2))
    exact = np.abs(angles - quarters * (math.pi / 2)) < quarter_turn
    snapped = QUARTERS[np.where(exact, quarters, 0).astype(int) % 4]
    sines, cosines = sin_cos(angles)
    return np.where(exact, snapped[..., 0], cosines), np.where(exact, snapped[..., 1], sines)


def _matrix(*rows: list[FloatArray]) -> FloatArray:
    """Matrices (..., 3, 3) of their elements (...)."""
    return np.stack([np.stack(np.broadcast_arrays(*row), axis=-1) for row in rows], axis=-2)
