"""How fast a path is covered: by a duration, limits along the path, or any law."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...checks import duration as checked_duration, positive, whole
from ...errors import InputError
from ...spatial import length
from ...types import FloatArray
from ..base import Trajectory, a_trajectory, set_fields
from ..rest_to_rest import RestToRest
from ..smooth_trapezoid import SmoothTrapezoid
from .path import CartesianPath

OWNER = "CartesianMotion"
BEYOND = 1e-9  # of the path: how far a law may leave it, by rounding
SAMPLES = 1001


@dataclass(frozen=True)
class Timing:
    """The arguments of `CartesianMotion` about time; one of duration, law and limits is given."""

    duration: float | None
    law: Trajectory | None
    speed: float | None
    acceleration: float | None
    angular_speed: float | None
    angular_acceleration: float | None
    smoothness: int | None

    def along(self, path: CartesianPath, least: int) -> Trajectory | None:
        """The path parameter over time, with `least` continuous derivatives; None if it is the time itself."""
        given = self.given()
        if path.timed:
            if set(given) - {"duration"}:
                raise InputError(f"{OWNER}: {type(path).__name__} has its own times: give `duration`, or nothing")
            return None
        if len(given) > 1:
            raise InputError(f"{OWNER}: {' and '.join(given)} are both given: keep one")
        if not given:
            raise InputError(f"{OWNER}: give `duration`, `speed` with `acceleration`, or `law`")
        return AlongPath(self.share(path, least), path.length)

    def given(self) -> list[str]:
        """Which of the three is given."""
        limits = (self.speed, self.acceleration, self.angular_speed, self.angular_acceleration)
        limited = any(x is not None for x in limits)
        there = {"duration": self.duration is not None, "law": self.law is not None, "speed": limited}
        return [name for name, x in there.items() if x]

    def share(self, path: CartesianPath, least: int) -> Trajectory:
        """The share of the path that is covered, from 0 to 1."""
        if self.law is not None:
            if self.smoothness is not None:
                raise InputError(f"{OWNER}: the law already has a smoothness: give `smoothness` or `law`, not both")
            return checked_law(self.law)
        least += self.duration is None  # ramps end in full motion: torques shall not jump there
        smoothness = least if self.smoothness is None else whole(OWNER, "smoothness", self.smoothness, least=1)
        start, goal = np.zeros(1), np.ones(1)
        if self.duration is None:
            return SmoothTrapezoid.limited(start, goal, *self.limits(path), smoothness)
        return RestToRest(start, goal, checked_duration(OWNER, "duration", self.duration), smoothness)

    def limits(self, path: CartesianPath) -> tuple[float, float]:
        """Limits of the first two derivatives of the share."""
        rate = path(np.linspace(0.0, path.length, SAMPLES), 1)[1] * path.length
        linear = float(np.max(length(rate[..., 3])))
        angular = float(np.max(length(rate[..., :3].reshape(-1, 9)))) / np.sqrt(2.0)  # |R'| = √2 |ω|
        speed = min(
            limit("speed", self.speed, linear, ", in m/s"),
            limit("angular_speed", self.angular_speed, angular, ", in rad/s"),
        )
        acceleration = min(
            limit("acceleration", self.acceleration, linear, ", in m/s²"),
            limit("angular_acceleration", self.angular_acceleration, angular, ", in rad/s²"),
        )
        if not np.isfinite(acceleration):
            raise InputError(
                f"{OWNER}: give `acceleration` with `speed`; for a path that only turns `angular_acceleration`"
            )
        return speed, acceleration


def limit(what: str, value: float | None, rate: float, unit: str) -> float:
    """A limit relative to the rate of what it limits; infinite if it is not given or nothing moves."""
    if value is None:
        return np.inf
    found = positive(OWNER, what, value, unit)
    return found / rate if rate > 0 else np.inf


def checked_law(value: object) -> Trajectory:
    """A trajectory with one column between 0 and 1."""
    law = a_trajectory(OWNER, value)
    if law.n != 1:
        raise InputError(f"{OWNER}: the law has {law.n} columns; it must have one, the fraction of the path")
    shares = law(law.duration * np.linspace(0.0, 1.0, SAMPLES), 0)[0, :, 0]
    if np.min(shares) < -BEYOND or np.max(shares) > 1 + BEYOND:
        raise InputError(
            f"{OWNER}: the law reaches from {np.min(shares):.6g} to {np.max(shares):.6g}; it is the fraction of the "
            "path that is covered and must stay between 0 and 1"
        )
    return law


@dataclass(frozen=True, eq=False, repr=False)
class AlongPath(Trajectory):
    """A law from 0 to 1 times the length of a path, kept on the path."""

    share: Trajectory
    length: float
    n: int = field(init=False, default=1)
    duration: float = field(init=False)
    smoothness: float = field(init=False)

    def __post_init__(self) -> None:
        set_fields(self, duration=self.share.duration, smoothness=self.share.smoothness)

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        stack = self.share.derivatives(t, order) * self.length
        stack[0] = np.clip(stack[0], 0.0, self.length)
        return stack

    def remedy(self, order: int) -> str:
        return self.share.remedy(order)
