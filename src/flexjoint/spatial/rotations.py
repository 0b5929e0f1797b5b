"""Rotation matrices in numbers, exact at quarter turns."""

from __future__ import annotations

import math

import numpy as np

from ..numerics import cos, product, sin
from ..types import FloatArray

QUARTER_TURN_TOLERANCE = 1e-9  # rad; an angle with ten digits of pi/2 counts as pi/2


def cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine of an angle in rad, exact at quarter turns.

    cos(pi/2) = 6e-17 would replace the exact zeros that make the kernel of a real robot cheap.
    """
    quarters = round(angle / (math.pi / 2))
    if abs(angle - quarters * (math.pi / 2)) < QUARTER_TURN_TOLERANCE:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters % 4]
    return cos(angle), sin(angle)


def rotation_x(angle: float) -> FloatArray:
    """Rotation matrix (3, 3) about x by an angle in rad."""
    c, s = cos_sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_y(angle: float) -> FloatArray:
    """Rotation matrix (3, 3) about y by an angle in rad."""
    c, s = cos_sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rotation_z(angle: float) -> FloatArray:
    """Rotation matrix (3, 3) about z by an angle in rad."""
    c, s = cos_sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_rpy(roll: float, pitch: float, yaw: float) -> FloatArray:
    """Rz(yaw) Ry(pitch) Rx(roll), (3, 3): the convention of URDF.  Angles in rad."""
    return product(rotation_z(yaw), rotation_y(pitch), rotation_x(roll))
