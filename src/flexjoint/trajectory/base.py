"""What every trajectory is: q and its derivatives as functions of time, with a known smoothness.

A drive that needs q up to its k-th derivative needs a motion with k − 1 continuous derivatives and a k-th one that is
bounded and piecewise continuous: four for an elastic joint  [EJNEA sec. II-A], two for a rigid one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..checks import duration as checked_duration, finite, whole
from ..dynamics.inverse import needed_order
from ..errors import InputError, NonFiniteError, warn
from ..robot import Robot

MAX_ORDER = 100
DEFAULT_ORDER = 4  # as elastic joints need


class Trajectory(ABC):
    """A motion of n joints over `duration` seconds, from t = 0.

    Called with t, a number or an array, it returns q and its first `order` derivatives as one array
    (order + 1, ..., n), the dimensions of t in the middle: `fj.inverse_dynamics(robot, *trajectory(t))` unpacks it.
    By default these are four, or fewer if fewer are bounded: a motion too rough for elastic joints is refused there.

    The first `smoothness` derivatives are continuous wherever the trajectory can be called, the next one is bounded
    and piecewise continuous.  Where a derivative jumps, its value is the one after the jump, at the end the one before.
    Higher ones lack the impulse that belongs to the jump: a call for them warns.
    """

    n: int
    duration: float
    smoothness: float  # a whole number, or infinite

    def __call__(self, t: Any, order: int | None = None) -> np.ndarray:
        name = type(self).__name__
        bounded = int(min(self.smoothness + 1, DEFAULT_ORDER))
        order = bounded if order is None else whole(name, "order", order, largest=MAX_ORDER)
        t = finite(name, "t", t)
        try:
            with np.errstate(all="ignore"):
                stack = self.derivatives(t, order)
        except OverflowError:  # a power of a time constant, in Python's own numbers
            message = f"{name}: derivative {order} exceeds the range of doubles; ask for a lower order"
            raise NonFiniteError(message) from None
        if not np.isfinite(stack).all():
            k = next(k for k in range(order + 1) if not np.all(np.isfinite(stack[k])))
            raise NonFiniteError(f"{name}: derivative {k} exceeds the range of doubles; ask for a lower order")
        if order > self.smoothness + 1:
            warn_of_roughness(self, order)
        return stack

    @abstractmethod
    def derivatives(self, t: np.ndarray, order: int) -> np.ndarray:
        """The stack (order + 1, ..., n) at finite times t."""

    @abstractmethod
    def remedy(self, order: int) -> str:
        """What to change for `order` bounded derivatives."""

    # Other motions made of this one ---------------------------------------------------------------------------

    def scaled(self, factor: float) -> Trajectory:
        """The same path, `factor` times as long: derivative k shrinks by factorᵏ."""
        from .retiming import Scaled

        return Scaled(self, factor)

    def lasting(self, duration: float) -> Trajectory:
        """The same path in `duration` seconds."""
        return self.scaled(checked_duration(type(self).__name__, "duration", duration) / self.duration)

    def retimed(self, law: Trajectory) -> Trajectory:
        """The same path at the times s(t) that `law`, a trajectory of one joint, prescribes."""
        from .retiming import Retimed

        return Retimed(self, law)

    def then(self, *others: Trajectory) -> Trajectory:
        """This motion, then the others, each beginning where the one before ends."""
        from .retiming import Joined

        return Joined((self, *others))


def empty_stack(order: int, shape: tuple[int, ...], n: int) -> np.ndarray:
    """A stack (order + 1, *shape, n) to be filled; in memory the derivatives at one time are together, as a simulation
    reads them."""
    return np.empty((*shape, order + 1, n)).transpose(-2, *range(len(shape)), -1)


def require_smoothness(trajectory: Trajectory, order: int | None = None, robot: Robot | None = None) -> None:
    """Refuse a trajectory without `order` bounded derivatives; by default as many as the robot's torque needs."""
    name = type(a_trajectory("require_smoothness", trajectory)).__name__
    if order is None and robot is None:
        raise InputError("require_smoothness: give the order needed, or the robot that needs it")
    if robot is not None and trajectory.n != robot.n:
        raise InputError(f"{name} moves {trajectory.n} joints; {robot.name} has {robot.n}")
    needed = needed_order(robot) if order is None and robot is not None else whole(name, "order", order)
    if trajectory.smoothness >= needed - 1:
        return
    who = "the motion asked for"
    if order is None and robot is not None:
        elastic = [joint.name for joint, springy in zip(robot.joints, robot.compliant) if springy]
        who = f"{robot.name}, where joint '{elastic[0]}' is elastic," if elastic else robot.name
    s = trajectory.smoothness
    raise InputError(
        f"{name} is not smooth enough: it is C^{s} only, its derivative {s + 1} jumps; {who} needs C^{needed - 1} with "
        f"a bounded derivative {needed}: {trajectory.remedy(needed)}"
    )


def warn_of_roughness(trajectory: Trajectory, order: int) -> None:
    """Derivatives beyond a jump are those between the jumps: torques made of them lack its impulse."""
    s = int(trajectory.smoothness)
    lacking = f"derivative {order} is" if order == s + 2 else f"derivatives {s + 2} to {order} are"
    warn(
        f"{type(trajectory).__name__} is C^{s} only: its derivative {s + 1} jumps, and {lacking} given without the "
        f"impulse of the jump, so torques made of them are wrong there; {trajectory.remedy(order)}, or call it with "
        f"order={s + 1} if no higher derivative is used"
    )


# Checks of what a trajectory is made from; `owner` begins every message ---------------------------------------------


def a_trajectory(owner: str, value: object) -> Trajectory:
    if not isinstance(value, Trajectory):
        raise InputError(f"{owner} takes trajectories, not {type(value).__name__}")
    return value


def set_fields(trajectory: Trajectory, **values: Any) -> None:
    """Fill the fields of a frozen trajectory while it is made."""
    for name, value in values.items():
        object.__setattr__(trajectory, name, value)
