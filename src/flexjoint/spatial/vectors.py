"""Vectors and matrices of CasADi expressions: constructors, products and sums."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..lazy import ca, is_symbolic, sx
from ..types import Expression, Matrix, Scalar, Vector


def is_zero(value: Any) -> bool:
    """Whether a quantity is zero for all inputs.  A free parameter is not, even if its value is 0."""
    return value.is_zero() if is_symbolic(value) else not np.any(value)


def zeros(rows: int, columns: int = 1) -> Expression:
    """The zero matrix."""
    return ca.SX.zeros(rows, columns)


def identity() -> Matrix:
    """The unit matrix, 3x3."""
    return ca.SX.eye(3)


def unit_z() -> Vector:
    """The unit vector along z, the axis of every joint."""
    return sx([0.0, 0.0, 1.0])


def vector(x: Scalar, y: Scalar, z: Scalar) -> Vector:
    """A vector from its three components."""
    return ca.vertcat(x, y, z)


def skew(v: Vector) -> Matrix:
    """S(v), the matrix with S(v) u = v × u."""
    return ca.skew(v)


def cross(a: Vector, b: Vector) -> Vector:
    """a × b."""
    return ca.cross(a, b)


def rotation_about_z(q: Scalar) -> Matrix:
    """Rotation by the angle q about z: components in the rotated frame to components in the fixed one."""
    c, s = ca.cos(q), ca.sin(q)
    return ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))


def symmetric(xx: Scalar, xy: Scalar, xz: Scalar, yy: Scalar, yz: Scalar, zz: Scalar) -> Matrix:
    """A symmetric matrix from its six elements."""
    return ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))


def total(terms: Iterable[Any]) -> Any:
    """Sum of at least one term, without the leading zero of `sum`."""
    first, *rest = terms
    for term in rest:
        first = first + term
    return first
