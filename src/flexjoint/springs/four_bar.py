"""The spring of the VSA-II: a linear torsion spring behind a four-bar linkage  [Schiavi, DeLucaVSA]."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..errors import RobotError
from ..numerics import atan2
from ..spatial import ca, is_symbolic
from ..types import Expression
from .base import SPRINGS, Spring, set_numbers


@SPRINGS.register("four_bar")
@dataclass(frozen=True)
class FourBarSpring(Spring):
    """A spring with torque τ_e = 2kβ dβ/dφ, β = arcsin(C sin(φ/2)) − φ/2, undefined where C |sin(φ/2)| ≥ 1.

    The linkage turns a torsion spring by β and stiffens without bound towards the end of its travel.  Two of them in an
    `AntagonisticDrive` are the VSA-II.

    In robot files: `{kind = "four_bar", torsion = 5, ratio = 3}`.

    Args:
        torsion: k > 0, stiffness of the torsion spring, in Nm/rad.
        ratio: C > 1, ratio of two lengths of the linkage.

    Raises:
        RobotError: a number is not finite, or too small.

    Example:
        >>> from flexjoint.springs import FourBarSpring
        >>> FourBarSpring(5.0, 3.0).curve([0.0, 0.3]).stiffness.round(2).tolist()
        [10.0, 17.39]
    """

    torsion: float = field(metadata={"unit": "Nm/rad | N/m"})
    ratio: float = field(metadata={"unit": "1 | 1"})

    def __post_init__(self) -> None:
        set_numbers(self, torsion="positive", ratio="positive")
        if not is_symbolic(self.ratio) and self.ratio <= 1:
            raise RobotError(f"{self.name}: ratio is {self.ratio:g}; it must be above 1")

    @property
    def reach(self) -> float:
        """Where the linkage ends, 2 arcsin(1/C), in rad."""
        return 1.0 if is_symbolic(self.ratio) else 2 * atan2(1.0, math.sqrt(self.ratio**2 - 1))

    def turn(self, phi: Expression) -> Expression:
        """β(φ), the angle of the torsion spring; NaN beyond the end of the linkage."""
        return ca.asin(self.ratio * ca.sin(phi / 2)) - phi / 2

    def torque(self, phi: Expression) -> Expression:
        s, c = self.ratio * ca.sin(phi / 2), self.ratio * ca.cos(phi / 2)
        slope = (c / ca.sqrt(1 - s * s) - 1) / 2  # dβ/dφ
        inside = ca.logic_and(ca.fabs(s) < 1, ca.fabs(phi) < math.pi)
        return ca.if_else(inside, 2 * self.torsion * self.turn(phi) * slope, math.nan)

    def energy(self, phi: Expression) -> Expression:
        inside = ca.logic_and(ca.fabs(self.ratio * ca.sin(phi / 2)) < 1, ca.fabs(phi) < math.pi)
        return ca.if_else(inside, self.torsion * self.turn(phi) ** 2, math.nan)
