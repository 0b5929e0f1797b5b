"""Rotation matrices in numbers, exact at quarter turns."""

from __future__ import annotations

import math

import numpy as np

from ..numerics import atan2, cos, product, sin
from ..types import FloatArray

QUARTER_TURN_TOLERANCE = 1e-9  # rad; an angle with ten digits of pi/2 counts as pi/2
UNIT_LENGTH = 4e-15  # of the square: rounding of a vector that was divided by its length once


def cos_sin(angle: float, quarter_turn: float = QUARTER_TURN_TOLERANCE) -> tuple[float, float]:
    """Cosine and sine of an angle in rad, exact within `quarter_turn` of a quarter turn.

    cos(pi/2) = 6e-17 would replace the exact zeros that make the kernel of a real robot cheap.
    """
    quarters = round(angle / (math.pi / 2))
    if abs(angle - quarters * (math.pi / 2)) < quarter_turn:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters % 4]
    return cos(angle), sin(angle)


def rotation_x(angle: float, quarter_turn: float = QUARTER_TURN_TOLERANCE) -> FloatArray:
    """Rotation matrix (3, 3) about x by an angle in rad."""
    c, s = cos_sin(angle, quarter_turn)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_y(angle: float, quarter_turn: float = QUARTER_TURN_TOLERANCE) -> FloatArray:
    """Rotation matrix (3, 3) about y by an angle in rad."""
    c, s = cos_sin(angle, quarter_turn)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rotation_z(angle: float, quarter_turn: float = QUARTER_TURN_TOLERANCE) -> FloatArray:
    """Rotation matrix (3, 3) about z by an angle in rad."""
    c, s = cos_sin(angle, quarter_turn)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_onto(axis: FloatArray) -> FloatArray:
    """A rotation matrix (3, 3) whose third column is a unit vector (3,): it turns z onto the axis.

    A signed permutation for a coordinate axis, the identity for z; zeros of the axis give zeros in the matrix.
    Otherwise the basis of Duff et al., Building an Orthonormal Basis, Revisited (2017).
    """
    x, y, z = map(float, axis)
    if z == 0.0:
        first, second = (-y, x, 0.0), (0.0, 0.0, 1.0)
    else:
        sign = math.copysign(1.0, z)
        a = -1.0 / (sign + z)
        b = x * y * a
        first, second = (1.0 + sign * x * x * a, sign * b, -sign * x), (b, sign + y * y * a, -y)
    return np.array([first, second, (x, y, z)]).T + 0.0


def unit_vector(vector: FloatArray) -> FloatArray:
    """A vector (3,) divided by its length, unchanged if that is 1 up to rounding; zero and not finite ones too."""
    x, y, z = map(float, vector)
    largest = max(abs(x), abs(y), abs(z))
    if not 0.0 < largest < math.inf or abs(x * x + y * y + z * z - 1.0) < UNIT_LENGTH:
        return vector
    x, y, z = x / largest, y / largest, z / largest
    length = math.sqrt(x * x + y * y + z * z)
    return np.array([x / length, y / length, z / length])


def rotation_rpy(
    roll: float, pitch: float, yaw: float, quarter_turn: float = QUARTER_TURN_TOLERANCE
) -> FloatArray:
    """Rz(yaw) Ry(pitch) Rx(roll), (3, 3): the convention of URDF.  Angles in rad."""
    turns = rotation_z(yaw, quarter_turn), rotation_y(pitch, quarter_turn), rotation_x(roll, quarter_turn)
    return product(*turns)


def rpy_angles(R: FloatArray) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a rotation (3, 3), in rad: `rotation_rpy` of them is R up to rounding; yaw is 0 where
    pitch is a quarter turn."""
    level = math.sqrt(R[0, 0] * R[0, 0] + R[1, 0] * R[1, 0])
    yaw = atan2(R[1, 0], R[0, 0]) if level > 1e-14 else 0.0
    c, s = cos_sin(yaw, 1e-15)
    roll = atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])  # after this yaw: exact also near a quarter turn
    return roll, atan2(-R[2, 0], level), yaw
