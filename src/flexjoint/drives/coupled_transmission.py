"""A transmission in which each motor moves several joints: differential wrists, belts, tendons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import NOT_NUMBERS
from ..reprs import repr_without_defaults
from ..spatial import is_symbolic

SpringSide = Literal["motor", "joint"]


@dataclass(frozen=True, slots=True, repr=False)
class CoupledTransmission:
    """Joints that share motors: the motor positions are θ = T q if no spring is deflected.

    The drive of the i-th joint describes motor i and spring i; inertia, friction and limits of a motor refer to its own
    θ.  With T = T_b T_a and φ = T_b⁻¹θ − T_a q, the torque T_aᵀτ_e acts on the links and T_b⁻ᵀτ_e on the motors. With
    rigid drives θ = T q, and the motors add TᵀBT to the mass matrix.

    In robot files: `[[transmission]]`, `joints = ["pitch", "roll"]`, `matrix = [[1, 1], [1, -1]]`.

    Args:
        joints: names of the joints, in the order of the columns of T; at least one.
        matrix: T, one row per motor and one column per joint, invertible; rad/rad, rad/m, m/rad or m/m.
        springs: where the springs are: "motor", between each motor and the gears, T_a = T and T_b = 1 (default); or
            "joint", between the gears and each joint, T_a = 1 and T_b = T.  Without effect on rigid drives.

    Example:
        >>> import flexjoint as fj
        >>> fj.drives.CoupledTransmission(["pitch", "roll"], [[1, 1], [1, -1]])
        CoupledTransmission(joints=('pitch', 'roll'), matrix=((1.0, 1.0), (1.0, -1.0)))
    """

    joints: Sequence[str]
    matrix: Any
    springs: SpringSide = "motor"

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", plain_rows(self.joints, lambda x: x))
        object.__setattr__(self, "matrix", plain_rows(self.matrix, lambda row: plain_rows(row, plain_number)))

    __repr__ = repr_without_defaults


def plain_number(x: Any) -> float:
    """A number as a float, without negative zeros."""
    if isinstance(x, str | bool) or is_symbolic(x):
        raise TypeError("no number")
    return float(x) + 0.0


def plain_rows(value: Any, plain: Any) -> Any:
    """The elements as a tuple; anything else unchanged, for the robot to refuse."""
    try:
        return value if isinstance(value, str) else tuple(plain(x) for x in value)
    except NOT_NUMBERS:
        return value
