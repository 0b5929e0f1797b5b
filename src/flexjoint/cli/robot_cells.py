"""Cells of the tables of a robot: limits, friction, springs, axes and numbers as short texts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..drives import Friction
    from ..robot import Joint
    from ..springs import ParallelSpring
    from ..types import FloatArray


def limit_cells(joint: Joint) -> dict[str, str]:
    """Limits by column."""
    own, springs = joint.limits, getattr(joint.drive, "spring_limits", None)
    motors = [motor.limits for motor in joint.drive.motors] if joint.drive else []
    bounded = math.isfinite(own.lower) or math.isfinite(own.upper)

    def of_motors(key: str) -> str:
        return ", ".join(dict.fromkeys(filter(None, (finite(getattr(x, key)) for x in motors))))

    return {
        "position": f"{own.lower:.4g} to {own.upper:.4g}" if bounded else "",
        "velocity": finite(own.velocity),
        "acceleration": finite(own.acceleration),
        "jerk": finite(own.jerk),
        "effort": finite(own.effort),
        "torque rate": finite(own.torque_rate),
        "motor torque": of_motors("torque"),
        "motor torque rate": of_motors("torque_rate"),
        "motor speed": of_motors("speed"),
        "rms torque": of_motors("rms_torque"),
        "motor power": of_motors("power"),
        "spring torque": finite(springs.torque) if springs else "",
        "deflection": finite(springs.deflection) if springs else "",
    }


def friction_cells(law: Friction) -> Iterator[tuple[str, dict[str, str]]]:
    """Direction, and friction by column; one direction if both have the same law."""
    for way, side in zip(("", ", backward") if law.backward else ("",), law.sides):
        yield (
            way if not law.backward or way else ", forward",
            {
                "D": nonzero(side.viscous),
                "F_c": nonzero(side.coulomb),
                "v_c": nonzero(law.velocity),
                "F_s": "" if side.static is None else f"{side.static:g}",
                "v_s": nonzero(side.stribeck_velocity),
                "μ": nonzero(side.load),
                "τ_0": nonzero(law.load_scale),
            },
        )


def spring_laws(drive: Any) -> list[Any]:
    """Spring laws that are not linear."""
    laws = [*getattr(drive, "springs", ())] or [getattr(drive, "stiffness", None)]
    return [law for law in laws if law is not None and not isinstance(law, int | float)]


def parallel_text(spring: ParallelSpring) -> str:
    """The stiffness of a parallel spring, or its law."""
    from ..robot.texts import stiffness_text

    return stiffness_text(spring) if isinstance(spring.stiffness, int | float) else law_text(spring.stiffness)


def law_text(law: Any) -> str:
    """A spring law or a hysteresis with its numbers, such as "CubicSpring: stiffness 100, cubic 900"."""
    found = []
    for field in dataclasses.fields(law):
        value = getattr(law, field.name)
        if isinstance(value, int | float):
            found.append(f"{field.name} {value:.4g}")
        elif hasattr(value, "__len__"):
            found.append(f"{field.name} of {len(value)} points")
    return f"{type(law).__name__}: {', '.join(found)}"


def axis_text(axis: FloatArray) -> str:
    """A direction, such as z, −y or 0.6, 0, 0.8."""
    for name, own, sign in zip("xyzxyz", (0, 1, 2) * 2, (1.0, 1.0, 1.0, -1.0, -1.0, -1.0)):
        if axis[own] == sign:
            return name if sign > 0 else f"-{name}"
    return numbers(rounded(axis))


def roll_pitch_yaw(R: FloatArray) -> list[float]:
    """Angles of a rotation about the fixed x, y, z axes of the parent, as in URDF files, in °."""
    from ..spatial import rpy_angles

    return [math.degrees(x) for x in rpy_angles(R)]


def rounded(values: Iterable[float], digits: int = 6) -> list[float]:
    """Numbers without the rounding errors of a product of rotations, and without negative zeros."""
    return [round(float(x), digits) + 0.0 for x in values]


def numbers(values: Iterable[float]) -> str:
    """Numbers with commas between them."""
    return ", ".join(f"{x:g}" for x in values)


def nonzero(value: float) -> str:
    """A number; nothing for 0."""
    return f"{value:g}" if value else ""


def finite(value: float) -> str:
    """A bound; nothing if there is none."""
    return f"{value:g}" if math.isfinite(value) else ""
