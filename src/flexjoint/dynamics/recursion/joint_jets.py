"""The motion of a joint with its time derivatives, as the Newton-Euler recursion uses it.

Here a jet is a list of derivatives; `packed_jets.py` keeps it in the lanes of a vector register.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ...spatial import cross, identity, in_frame_rotating_about_z, leibniz, outer_square, unit_z
from ...types import Expression, Jet, Matrix
from .bodies import Body


class JointJets(Protocol):
    """What the recursion asks of a joint, whatever form its jets have."""

    @property
    def R(self) -> Matrix:
        """Orientation of the frame behind the joint in the frame before it."""

    @property
    def rates(self) -> Jet:
        """[q', q'', ...] of the rotation about z; empty without rotation."""

    def into(self, u: Jet) -> Jet:
        """Components of a vector in the frame behind the joint, from those in the frame before it."""

    def out_of(self, u: Jet) -> Jet:
        """Components of a vector in the frame before the joint, from those in the frame behind it."""

    def acceleration(self, A: Jet, omega: Jet) -> Jet:
        """A d + 2 ω × d' + d'', of the translation d in a frame that moves with A and ω."""

    def lever(self, F: Jet) -> Jet:
        """d × F."""

    def outer_square(self, omega: Jet) -> Jet:
        """ω ωᵀ."""


class JointMotion(NamedTuple):
    """Rotation about z with its rates [q', q'', ...], and the jet of the translation d along z."""

    R: Matrix
    rates: Jet  # empty without rotation
    d: Jet  # empty without translation

    def into(self, u: Jet) -> Jet:
        r = [self.R.T @ x for x in u]
        return in_frame_rotating_about_z(r, self.rates) if self.rates else r

    def out_of(self, u: Jet) -> Jet:
        r = [self.R @ x for x in u]
        return in_frame_rotating_about_z(r, [-rate for rate in self.rates]) if self.rates else r

    def acceleration(self, A: Jet, omega: Jet) -> Jet:
        order = len(A) - 1
        turning, coriolis = leibniz(lambda x, y: x @ y, A, self.d, order), leibniz(cross, omega, self.d[1:], order)
        return [x + 2 * y + z for x, y, z in zip(turning, coriolis, self.d[2:])]

    def lever(self, F: Jet) -> Jet:
        return leibniz(cross, self.d, F, len(F) - 1)

    def outer_square(self, omega: Jet) -> Jet:
        return outer_square(omega)


def joint_motion(body: Body, q: Sequence[Expression], order: int) -> JointMotion:
    """The motion of a body's joint up to derivative order + 2, from the stack [q, q', ...] of all joints."""
    if body.coordinate is None:
        return JointMotion(identity(), [], [])
    screw, jet = body.screw, [x[body.coordinate] for x in q[: order + 3]]
    rates = [screw.turn * x for x in jet[1:]] if screw.turns else []
    return JointMotion(screw.rotation(jet[0]), rates, [screw.slide * x * unit_z() for x in jet] if screw.slides else [])
