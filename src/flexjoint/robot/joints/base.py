"""What a joint kind tells the algorithms, the file formats and the messages."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from ...errors import RobotError, shown
from ...lazy import sx
from ...registry import Registry
from ...spatial import Screw, is_zero
from ...types import Scalar

KINDS: Registry[type[JointKind]] = Registry("joint kind")  # every kind by its name


@dataclass(frozen=True)
class JointKind:
    """How a joint moves its link: the base class of all kinds.

    A subclass sets the class attributes and `motion`.  Algorithms use `screw`, all other code the other members;
    nothing compares names.
    """

    name: ClassVar[str] = ""  # in robot files and in Joint(kind=...)
    letter: ClassVar[str] = ""  # in DH tables and in short descriptions such as RRP; "" if it has no coordinate
    angular: ClassVar[bool] = True  # whether the coordinate is an angle (rad, Nm) or a length (m, N)
    plausible_stiffness: ClassVar[tuple[float, float]] = (0.0, float("inf"))  # Nm/rad or N/m
    far: ClassVar[float] = float("inf")  # rad or m; a motion beyond it is probably in other units
    fast: ClassVar[float] = float("inf")  # rad/s or m/s; likewise

    def __init_subclass__(cls) -> None:
        KINDS.register(cls.name)(cls)

    @property
    def motion(self) -> tuple[Scalar, Scalar]:
        """Rotation about z (rad) and translation along z (m) per unit of the coordinate."""
        raise NotImplementedError

    @property
    def screw(self) -> Screw:
        """The motion for algorithms, in CasADi expressions."""
        return Screw(*map(sx, self.motion))

    @property
    def turns(self) -> bool:
        """Whether the joint rotates its link."""
        return not is_zero(self.motion[0])

    @property
    def slides(self) -> bool:
        """Whether the joint translates its link."""
        return not is_zero(self.motion[1])

    @property
    def moves(self) -> bool:
        """Whether the joint has a coordinate."""
        return self.turns or self.slides

    def unit(self, pair: str) -> str:
        """The unit of a joint of this kind, out of "angular | linear", such as "Nm | N"."""
        return pair.split(" | ")[not self.angular]

    @property
    def numbers(self) -> dict[str, Any]:
        """The further numbers of a joint of this kind by name, such as its pitch."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def __str__(self) -> str:
        return self.name


def joint_kind(kind: JointKind | str, joint: str) -> JointKind:
    """The kind of a joint from a JointKind or from the name of a kind that needs no further numbers.

    Raises RobotError, naming `joint`, if there is no such kind.
    """
    if isinstance(kind, JointKind):
        return kind
    known = KINDS.get(kind) if isinstance(kind, str) else None
    if known is None:
        raise RobotError(f"joint {shown(joint)} is of kind {shown(kind)}: choose one of {', '.join(sorted(KINDS))}")
    if fields := [field.name for field in dataclasses.fields(known)]:
        call = f"{known.__name__}({', '.join(f'{x}=...' for x in fields)})"
        raise RobotError(
            f"joint {shown(joint)} is of kind {shown(kind)} without its {fields[0]}: give kind={call}, from "
            "flexjoint.robot.joints"
        )
    return known()
