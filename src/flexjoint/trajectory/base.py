"""What every trajectory is: q and its derivatives as functions of time, with a known smoothness.

A drive whose torque depends on the k-th derivative of q needs a motion with k − 1 continuous derivatives and a k-th
derivative that is bounded and piecewise continuous: k = 4 for an elastic joint  [EJNEA sec. II-A], 2 for a rigid one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import duration as checked_duration, finite, whole
from ..dynamics.inverse import needed_order
from ..errors import InputError, NonFiniteError, warn
from ..robot import Robot
from ..types import FloatArray

MAX_ORDER = 100
DEFAULT_ORDER = 4  # what elastic joints need


class Trajectory(ABC):
    """A motion of n joints from t = 0 on: the base class of all trajectories.

    A subclass has the three attributes, `derivatives` and `remedy`.

    Attributes:
        n: number of joints, the columns of the result.
        duration: duration, in s.
        smoothness: number of continuous derivatives, a whole number or infinite.  The next derivative is bounded and
            piecewise continuous: where it jumps, its value is the one after the jump, at the end the one before.
    """

    n: int
    duration: float
    smoothness: float

    def __call__(self, t: ArrayLike, order: int | None = None) -> FloatArray:
        """Positions and their derivatives at given times.

        A derivative higher than `smoothness` + 1 lacks the impulses of the jumps below it: a call for it warns.

        Args:
            t: times of any shape, in s.
            order: largest derivative, at most 100; by default 4, or fewer if fewer are bounded.

        Returns:
            Array (order + 1, *shape of t, n): q, q', ...; `fj.inverse_dynamics(robot, *trajectory(t))` unpacks it.

        Raises:
            InputError: t or the order is wrong, or t lies outside recorded samples.
            NonFiniteError: a derivative exceeds the range of doubles.
        """
        name = type(self).__name__
        bounded = int(min(self.smoothness + 1, DEFAULT_ORDER))
        order = bounded if order is None else whole(name, "order", order, largest=MAX_ORDER)
        times = finite(name, "t", t)
        try:
            with np.errstate(all="ignore"):
                stack = self.derivatives(times, order)
        except OverflowError:  # a power of a time constant, as a Python float
            message = f"{name}: derivative {order} exceeds the range of doubles; ask for a lower order"
            raise NonFiniteError(message) from None
        if np.shape(stack) != (shape := (order + 1, *times.shape, self.n)):
            raise InputError(f"{name}.derivatives returned an array of shape {np.shape(stack)}; it must be {shape}")
        if not np.isfinite(stack).all():
            k = next(k for k in range(order + 1) if not np.all(np.isfinite(stack[k])))
            raise NonFiniteError(f"{name}: derivative {k} exceeds the range of doubles; ask for a lower order")
        if order > self.smoothness + 1:
            warn_of_roughness(self, order)
        return stack

    @abstractmethod
    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        """The array (order + 1, ..., n) at finite times t; arguments are checked already."""

    @abstractmethod
    def remedy(self, order: int) -> str:
        """What to change for `order` bounded derivatives, as the end of a message."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, {self.duration:g} s, C^{self.smoothness:g})"

    # Trajectories made of this one ----------------------------------------------------------------------------

    def scaled(self, factor: float) -> Trajectory:
        """The same path, `factor` times as long; derivative k is divided by factorᵏ."""
        from .scaled import Scaled

        return Scaled(self, factor)

    def lasting(self, duration: float) -> Trajectory:
        """The same path in `duration` seconds."""
        return self.scaled(checked_duration(type(self).__name__, "duration", duration) / self.duration)

    def retimed(self, law: Trajectory) -> Trajectory:
        """The same path at the times s(t) of a time law, a trajectory with one column."""
        from .retimed import Retimed

        return Retimed(self, law)

    def then(self, *others: Trajectory) -> Trajectory:
        """This trajectory, then the others, each starting where the previous one ends."""
        from .joined import Joined

        return Joined((self, *others))


@dataclass(frozen=True, eq=False, repr=False)
class Composed(Trajectory):
    """A trajectory made of others, from which its attributes follow."""

    n: int = field(init=False)
    duration: float = field(init=False)
    smoothness: float = field(init=False)


def empty_stack(order: int, shape: tuple[int, ...], n: int) -> FloatArray:
    """An uninitialized array (order + 1, *shape, n); derivatives at one time are adjacent in memory, as a simulation
    reads them."""
    return np.empty((*shape, order + 1, n)).transpose(-2, *range(len(shape)), -1)


def require_smoothness(trajectory: Trajectory, order: int | None = None, robot: Robot | None = None) -> None:
    """Check that a trajectory has enough bounded derivatives.

    Args:
        trajectory: the trajectory.
        order: number of bounded derivatives; by default what the motor torque of the robot needs.
        robot: the robot that follows the trajectory, with as many joints.

    Raises:
        InputError: the trajectory is not smooth enough, or has another number of joints; the message says what to
            change.

    Example:
        >>> import flexjoint as fj
        >>> motion = fj.trajectory.RestToRest([0.0] * 7, [1.0] * 7, duration=2.0)
        >>> fj.trajectory.require_smoothness(motion, robot=fj.load("kuka_lwr"))
    """
    name = type(a_trajectory("require_smoothness", trajectory)).__name__
    if order is None and robot is None:
        raise InputError("require_smoothness: give the order needed, or the robot that needs it")
    if robot is not None and trajectory.n != robot.n:
        raise InputError(f"{name} moves {trajectory.n} joints; {robot.name} has {robot.n}")
    needed = needed_order(robot) if order is None and robot is not None else whole(name, "order", order)
    if trajectory.smoothness >= needed - 1:
        return
    who = "the call"
    if order is None and robot is not None:
        elastic = [joint.name for joint, springy in zip(robot.joints, robot.compliant) if springy]
        who = f"{robot.name}, where joint '{elastic[0]}' is elastic," if elastic else robot.name
    s = trajectory.smoothness
    raise InputError(
        f"{name} is not smooth enough: it is C^{s} only, its derivative {s + 1} jumps; {who} needs C^{needed - 1} with "
        f"a bounded derivative {needed}: {trajectory.remedy(needed)}"
    )


def warn_of_roughness(trajectory: Trajectory, order: int) -> None:
    """Warn that derivatives above a jump lack its impulse."""
    s = int(trajectory.smoothness)
    lacking = f"derivative {order} is" if order == s + 2 else f"derivatives {s + 2} to {order} are"
    warn(
        f"{type(trajectory).__name__} is C^{s} only: its derivative {s + 1} jumps, and {lacking} given without the "
        f"impulse of the jump, so torques made of them are wrong there; {trajectory.remedy(order)}, or call it with "
        f"order={s + 1} if no higher derivative is used"
    )


# Checks of what a trajectory is made of; `owner` begins every message -----------------------------------------------


def a_trajectory(owner: str, value: object) -> Trajectory:
    """An argument that must be a trajectory."""
    if not isinstance(value, Trajectory):
        raise InputError(f"{owner} takes trajectories, not {type(value).__name__}")
    return value


def set_fields(owner: object, **values: Any) -> None:
    """Fill the fields of a frozen trajectory or path while it is made."""
    for name, value in values.items():
        object.__setattr__(owner, name, value)
