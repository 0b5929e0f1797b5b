"""Friction of a joint or a motor: viscous, Coulomb, Stribeck, load-dependent, and different in the two directions."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..errors import RobotError
from ..reprs import repr_without_defaults

SHORT_FORM = ("viscous_friction", "coulomb_friction", "coulomb_velocity")  # fields of joints and motors


def number(unit: str) -> Any:
    """A field that is 0 by default, with its unit at an angular and at a linear coordinate."""
    return field(default=0.0, metadata={"unit": unit})


@dataclass(frozen=True, slots=True, repr=False)
class Friction:
    """Friction F(v, τ) of a joint or a motor, smooth, F(0, τ) = 0 and F v ≥ 0 (docs/friction.md).

        F(v, τ) = D v + [F_c + (F_s − F_c) exp(−(v/v_s)²) + μ (√(τ² + τ_0²) − τ_0)] tanh(v/v_c)

    With `backward` this is the law F₊ for v > 0, and `backward` is the law F₋ for v < 0.  They are blended over v_c: F
    = ½ (1 + t) F₊ + ½ (1 − t) F₋, t = tanh(v/v_c).

    In robot files: `friction = {viscous = 2.0, coulomb = 5.0, velocity = 0.02}` of a link, `motor_friction = {...}` of
    a drive.

    Args:
        viscous: D ≥ 0, in Nm s/rad or N s/m; 0 by default.
        coulomb: F_c ≥ 0, in Nm or N; 0 by default.
        velocity: v_c, over which the friction changes its sign, in rad/s or m/s; required, and positive, unless the
            friction is viscous alone and the same in both directions.
        static: F_s ≥ F_c, static friction, in Nm or N; F_c by default, no Stribeck effect.
        stribeck_velocity: v_s, over which F_s falls to F_c, in rad/s or m/s; required with `static`.
        load: μ, friction per transmitted torque, 0 ≤ μ < 1; 0 by default.  Only joints with springs, and their motors,
            may have it: τ is the torque of the spring on the link, or on the motor.
        load_scale: τ_0, load above which friction grows with |τ|, in Nm or N; required with `load`.
        backward: the law for v < 0, without `velocity` and `load_scale`, which belong to both directions; the same law
            as for v > 0 by default.

    Example:
        >>> import flexjoint as fj
        >>> fj.drives.Friction(viscous=1.0, coulomb=4.0, velocity=0.02, static=6.0, stribeck_velocity=0.1)
        Friction(viscous=1.0, coulomb=4.0, velocity=0.02, static=6.0, stribeck_velocity=0.1)
    """

    viscous: float = number("Nm s/rad | N s/m")
    coulomb: float = number("Nm | N")
    velocity: float = number("rad/s | m/s")
    static: float | None = field(default=None, metadata={"unit": "Nm | N"})
    stribeck_velocity: float = number("rad/s | m/s")
    load: float = number("1 | 1")
    load_scale: float = number("Nm | N")
    backward: Friction | None = None

    @property
    def sides(self) -> tuple[Friction, Friction]:
        """The laws for v > 0 and for v < 0."""
        return self, self if self.backward is None else self.backward

    @property
    def level(self) -> float:
        """Greatest friction without motion, load and viscosity: max(F_c, F_s) of both directions."""
        return max(max(side.coulomb, side.static or 0.0) for side in self.sides)

    @property
    def present(self) -> bool:
        """Whether there is any friction."""
        return any(side.viscous or side.coulomb or side.static or side.load for side in self.sides)

    @property
    def loaded(self) -> bool:
        """Whether the friction depends on the load."""
        return any(side.load for side in self.sides)

    def at_load(self, torque: float) -> Friction:
        """The friction at a constant load, such as its mean: a law that a rigid joint takes.

        Args:
            torque: τ, in Nm or N; 0 leaves the load-dependent part out.

        Example:
            >>> import flexjoint as fj
            >>> fj.drives.Friction(coulomb=4.0, velocity=0.02, load=0.05, load_scale=1.0).at_load(0.0)
            Friction(coulomb=4.0, velocity=0.02)
        """
        magnitude = math.sqrt(torque * torque + self.load_scale * self.load_scale) - self.load_scale
        return dataclasses.replace(
            self._raised(magnitude),
            load_scale=0.0,
            backward=None if self.backward is None else self.backward._raised(magnitude),
        )

    def _raised(self, magnitude: float) -> Friction:
        """Without load, and with F_c and F_s raised by that at |τ| = magnitude."""
        more = self.load * magnitude
        static = None if self.static is None else self.static + more
        return dataclasses.replace(self, coulomb=self.coulomb + more, static=static, load=0.0)

    __repr__ = repr_without_defaults


class Rubbing(Protocol):
    """A joint or a motor: its friction in the short form, or as a `Friction`."""

    @property
    def viscous_friction(self) -> float: ...
    @property
    def coulomb_friction(self) -> float: ...
    @property
    def coulomb_velocity(self) -> float: ...
    @property
    def friction(self) -> Friction | None: ...


def friction_law(item: Rubbing) -> Friction:
    """The friction law of a joint or a motor, given as `Friction` or as three numbers."""
    if item.friction is not None:
        return item.friction
    return Friction(item.viscous_friction, item.coulomb_friction, item.coulomb_velocity)


def friction_fields(law: Friction, short: bool) -> dict[str, Any]:
    """The fields that give a joint or a motor this friction, as three numbers if `short`, else as `friction`."""
    if short:
        return {**dict(zip(SHORT_FORM, (law.viscous, law.coulomb, law.velocity))), "friction": None}
    return {**dict.fromkeys(SHORT_FORM, 0.0), "friction": law}


def added(laws: list[Friction]) -> Friction:
    """The friction of motors that turn together.

    Raises:
        RobotError: they change their sign, or fall from F_s to F_c, over different velocities.
    """
    laws = [law.at_load(0.0) for law in laws]
    sides = [side for law in laws for side in law.sides]
    changing = {law.velocity for law in laws if law.level or law.backward}
    falling = {side.stribeck_velocity for side in sides if side.static is not None}
    for what, key, velocities in (("Coulomb", "coulomb", changing), ("Stribeck", "stribeck", falling)):
        if len(velocities) > 1:
            raise RobotError(
                f"motors with different {what} velocities, {sorted(velocities)}, have no equivalent motor: give them "
                f"the same {key}_velocity"
            )
    v_c, v_s = (max(velocities, default=0.0) for velocities in (changing, falling))
    forward, backward = (
        Friction(
            viscous=sum(side.viscous for side in group),
            coulomb=sum(side.coulomb for side in group),
            static=sum(level(side) for side in group) if any(side.static is not None for side in group) else None,
            stribeck_velocity=v_s if any(side.static is not None for side in group) else 0.0,
        )
        for group in zip(*(law.sides for law in laws))
    )
    differ = any(law.backward is not None for law in laws)
    return dataclasses.replace(forward, velocity=v_c, backward=backward if differ else None)


def level(side: Friction) -> float:
    """F_s of one direction, F_c where it is not given."""
    return side.coulomb if side.static is None else side.static
