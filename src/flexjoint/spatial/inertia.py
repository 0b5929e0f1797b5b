"""The inertia of a rigid body as moments of its mass distribution."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..lazy import ca, sx
from ..types import Matrix, Scalar, Vector
from .vectors import cross, rotation_about_z, symmetric, vector


class Inertia(NamedTuple):
    """Mass, first moment and second moment of a body about its frame: linear in every mass distribution."""

    m: Scalar
    h: Vector  # ∫ r dm
    Sigma: Matrix  # ∫ r rᵀ dm

    @classmethod
    def of(cls, mass: Any, com: Any, inertia: Any) -> Inertia:
        """From the centre of mass and the inertia tensor about it, I = tr(Σ) 1 − Σ."""
        m, c, I = sx(mass), sx(com), sx(inertia)
        half_trace = ca.trace(I) / 2
        return cls(m, m * c, half_trace * sx(np.eye(3)) - I + m * (c @ c.T))

    def __add__(self, other: Inertia) -> Inertia:  # type: ignore[override]
        return Inertia(self.m + other.m, self.h + other.h, self.Sigma + other.Sigma)

    def rotated_about_z(self, q: Scalar) -> Inertia:
        """The body rotated about z by the angle q, in 16 operations beside the sine and cosine."""
        c, s, S = ca.cos(q), ca.sin(q), self.Sigma
        xx, xy, yy = S[0, 0], S[0, 1], S[1, 1]
        u = c * (xx - yy) - 2 * s * xy
        xx, xy, yy = yy + c * u, xy + s * u, xx - c * u
        xz, yz = c * S[0, 2] - s * S[1, 2], s * S[0, 2] + c * S[1, 2]
        return Inertia(self.m, rotation_about_z(q) @ self.h, symmetric(xx, xy, xz, yy, yz, S[2, 2]))

    def transformed(self, R: Matrix, p: Vector) -> Inertia:
        """The same body about another frame, in which this frame has the orientation R and the origin p."""
        h, Sigma = R @ self.h, R @ self.Sigma @ R.T
        hp = h @ p.T
        return Inertia(self.m, h + self.m * p, Sigma + hp + hp.T + self.m * (p @ p.T))

    def force(self, A: Matrix, a: Vector) -> Vector:
        """f = ∫ (a + A r) dm, the rate of linear momentum."""
        return self.m * a + A @ self.h

    def moment(self, A: Matrix, W: Matrix, a: Vector) -> Vector:
        """n = ∫ r × (a + A r) dm = vee(AΣ − ΣAᵀ) + h × a, with A = S(ω') + W − tr(W) 1.

        The diagonal of A enters only through differences, and those are differences of W: nine operations fewer per
        link and order than from A alone.
        """
        S = self.Sigma
        xx, xy, xz, yy, yz, zz = S[0, 0], S[0, 1], S[0, 2], S[1, 1], S[1, 2], S[2, 2]
        return cross(self.h, a) + vector(
            xy * A[2, 0] + yy * A[2, 1] - xz * A[1, 0] - zz * A[1, 2] + yz * (W[2, 2] - W[1, 1]),
            yz * A[0, 1] + zz * A[0, 2] - xy * A[2, 1] - xx * A[2, 0] + xz * (W[0, 0] - W[2, 2]),
            xz * A[1, 2] + xx * A[1, 0] - yz * A[0, 2] - yy * A[0, 1] + xy * (W[1, 1] - W[0, 0]),
        )
