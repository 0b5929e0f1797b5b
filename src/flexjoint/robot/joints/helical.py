"""The helical joint: its link rotates about the z axis by q and translates along it by pitch · q, a nut on a screw."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...checks import check_number
from ...errors import RobotError
from ...types import Scalar
from .revolute import Revolute


@dataclass(frozen=True)
class Helical(Revolute):
    """A screw.  q in rad, effort in Nm.

    Args:
        pitch: translation per rotation, in m/rad: the lead per turn divided by 2π; negative for a left-handed screw.

    Raises:
        RobotError: the pitch is zero or not finite.

    Example:
        >>> from flexjoint.robot.joints import Helical
        >>> Helical(pitch=0.01).unit("Nm | N")
        'Nm'
    """

    pitch: float = field(metadata={"unit": "m/rad | m/rad"})
    name = "helical"
    letter = "H"

    def __post_init__(self) -> None:
        check_number("pitch", "a helical joint", self.pitch)
        if self.pitch == 0:
            raise RobotError("the pitch of a helical joint is 0: give it m/rad, or make the joint revolute")

    @property
    def motion(self) -> tuple[Scalar, Scalar]:
        return 1.0, self.pitch
