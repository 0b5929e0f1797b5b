"""The motion of a joint: a rotation about the z axis of its frame and a translation along it, both linear in q.

    revolute (1, 0)        prismatic (0, 1)        helical (1, pitch)        fixed (0, 0)

Every algorithm takes a joint's motion from here.  A coefficient that is exactly 0 stays a structural zero: a revolute
joint costs no operation for a translation that it does not make.
"""

from __future__ import annotations

from typing import NamedTuple

from ..lazy import ca, sx
from ..types import Expression, Jet, Matrix, Scalar, Vector
from .inertia import Inertia
from .vectors import identity, is_zero, rotation_about_z, unit_z, zeros


class Screw(NamedTuple):
    """Rotation about z (rad) and translation along z (m) per unit of the joint's coordinate.

    The motion subspace of the joint is S = (slide z, turn z), linear part first.
    """

    turn: Scalar
    slide: Scalar

    @property
    def turns(self) -> bool:
        """Whether the joint rotates its link."""
        return not is_zero(self.turn)

    @property
    def slides(self) -> bool:
        """Whether the joint translates its link."""
        return not is_zero(self.slide)

    @property
    def axes(self) -> tuple[Vector, Vector]:
        """S = (slide z, turn z): linear and angular velocity across the joint at a unit rate."""
        return self.linear(1), self.angular(1)

    def rotation(self, q: Scalar) -> Matrix:
        """Orientation of the frame behind the joint in the frame before it."""
        return rotation_about_z(self.turn * q) if self.turns else identity()

    def translation(self, q: Scalar) -> Vector:
        """Origin of the frame behind the joint; its components are the same in both frames."""
        return self.linear(q)

    def angular(self, rate: Scalar) -> Vector:
        """Angular velocity across the joint at the rate q', or the angular acceleration at q''."""
        return self.turn * rate * unit_z() if self.turns else zeros(3)

    def linear(self, rate: Scalar) -> Vector:
        """Linear velocity across the joint at the rate q', or the linear acceleration at q''."""
        return self.slide * rate * unit_z() if self.slides else zeros(3)

    def effort(self, f: Vector, n: Vector) -> Scalar:
        """Sᵀ(f, n), what the joint feels of a force and a moment: n_z if it only turns, f_z if it only slides."""
        along = [c * x[2] for c, x in ((self.turn, n), (self.slide, f)) if not is_zero(c)]
        return sum(along[1:], along[0]) if along else zeros(1)

    def with_effort(self, F: Jet, N: Jet, tau: Jet) -> tuple[Jet, Jet]:
        """Jets of a force and a moment whose first orders have the joint effort `tau` in place of their own."""
        if self.turns:
            known = [(t - self.slide * f[2]) / self.turn if self.slides else t / self.turn for t, f in zip(tau, F)]
            return F, _with_z(N, known)
        return _with_z(F, [t / self.slide for t in tau]), N

    def moved(self, inertia: Inertia, q: Scalar) -> Inertia:
        """The inertia of what lies behind the joint, about the frame before it."""
        rotated = inertia.rotated_about_z(self.turn * q) if self.turns else inertia
        return rotated.transformed(identity(), self.translation(q)) if self.slides else rotated

    def split(self, inertia: Inertia) -> tuple[Inertia, Inertia]:
        """(kept, given): `given` is the part of a link's inertia that its parent may take over  [Gautier].

        The joint does not feel masses that it does not move: a rotation does not move masses on the z axis, m, h_z and
        Σ_zz.  A translation moves all masses, but a distribution without m and h has the kinetic energy of its angular
        velocity alone, and that is the parent's: Σ.  A joint that does both gives what passes both tests, Σ_zz.
        """
        m, h, Sigma = inertia
        given = Inertia(sx(0.0) if self.slides else m, zeros(3), zeros(3, 3) if self.turns else Sigma)
        if self.turns:
            given.Sigma[2, 2] = Sigma[2, 2]
            given.h[2] = 0 if self.slides else h[2]
        kept = Inertia(m if self.slides else sx(0.0), h - given.h, Sigma - given.Sigma if self.turns else zeros(3, 3))
        return kept, given


def _with_z(jet: Jet, z: list[Expression]) -> Jet:
    """The vectors of a jet with another third component in the first orders."""
    return [*(ca.vertcat(x[:2], t) for x, t in zip(jet, z)), *jet[len(z) :]]
