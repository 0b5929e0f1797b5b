"""The interface of every observer: (state, measurement, torque) -> (state, outputs), called once per period.

An observer is a pure law, written once in SX.  `simulate` compiles it together with robot and controller, which may
read its outputs.  Called with arrays, an observer runs the same law as a kernel of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.ir.scan import mapped
from ..compiler.ir.trace import check_count, declared, declared_all
from ..compiler.runtime.kernel import Kernel
from ..errors import InputError, shown
from ..robot import Robot
from ..spatial import ca
from ..types import Expression, FloatArray, Signal, Stack

ObserverResult: TypeAlias = tuple[Sequence[Expression], Mapping[str, Expression]]  # the next state, and the outputs


class Measurement(NamedTuple):
    """What the sensors measure at one time.  A field that an observer does not read may be None.

    Args:
        q: Link positions (..., n), rad or m.
        v: Link velocities (..., n), rad/s or m/s.
        theta: Motor positions (..., m) divided by the gear ratio, rad or m, in the order of `Robot.motor_names`.
        theta_v: Motor velocities (..., m) divided by the gear ratio, rad/s or m/s.
        tau_e: Torques (..., n) of the joints, Nm or N, as in `MotorMotion`; at a rigid joint the motor torque of the
            period before.
        tau_e_v: Their rates (..., n), Nm/s or N/s; None by default.
    """

    q: Signal
    v: Signal
    theta: Signal
    theta_v: Signal
    tau_e: Signal
    tau_e_v: Signal = None


class Observer(ABC):
    """An observer with its numbers.  Subclasses are frozen dataclasses.

    Attributes:
        robot: The model inside the law.
        period: Time between two calls, s.
    """

    robot: Robot
    period: float

    @property
    @abstractmethod
    def memory(self) -> tuple[int, ...]:
        """The size of each array of the state."""

    @property
    @abstractmethod
    def outputs(self) -> Mapping[str, int]:
        """The size of each output, by name."""

    @abstractmethod
    def start(self, measurement: Measurement) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """State and outputs at the first measurement, arrays (..., size); no time has passed yet."""

    @abstractmethod
    def law(self, state: Stack, measurement: Measurement, torque: Expression) -> ObserverResult:
        """The law, in SX, one period after the call before.

        Args:
            state: One column per array of the state, of the sizes `memory`.
            measurement: Columns (n, 1) of the links and (m, 1) of the motors.
            torque: Motor torque (m, 1) since the call before, Nm or N.

        Returns:
            The next state, and the outputs by name.
        """

    def giving(self, outputs: Collection[str]) -> Observer:
        """This observer, or one that gives the same outputs of these names and reads no more than they need."""
        return self

    def checked_law(
        self, state: Stack, measurement: Measurement, torque: Expression
    ) -> tuple[list[Expression], dict[str, Expression]]:
        """`law` on copies of its arguments, which it may write into, with the sizes of its results checked."""
        found = self.law(*mapped((list(state), measurement, torque), ca.SX))
        return self.as_declared(f"{type(self).__name__}.law", self._state_arrays, found)

    def as_declared(
        self, owner: str, states: Sequence[Array], found: Any
    ) -> tuple[list[Expression], dict[str, Expression]]:
        """State and outputs with the declared sizes; `owner` begins the message of an InputError."""
        check_count(owner, "its result", ("state", "outputs"), found)
        after, outputs = found
        if not isinstance(outputs, Mapping) or (missing := [name for name in self.outputs if name not in outputs]):
            given = f"the outputs without '{missing[0]}'" if isinstance(outputs, Mapping) else type(outputs).__name__
            raise InputError(f"{owner} returned {given}; it must be a mapping with {', '.join(self.outputs)}")
        arrays = {name: Array(f"output '{name}'", (size,)) for name, size in self.outputs.items()}
        known = {name: declared(owner, array, outputs[name]) for name, array in arrays.items()}
        return declared_all(owner, "its state", states, after), known

    def __call__(
        self, state: Sequence[ArrayLike], measurement: Measurement, torque: ArrayLike
    ) -> tuple[tuple[FloatArray, ...], dict[str, FloatArray]]:
        """Updates the observer with one sample, or with a batch of them.

        Args:
            state: The state returned by the call before, or by `start`.
            measurement: Measured positions, velocities and torques; fields that the observer does not read may be None.
            torque: Motor torque (..., m) since the call before, Nm or N.

        Returns:
            The next state, and the outputs (..., size) by name.
        """
        if not isinstance(measurement, Sequence | np.ndarray):
            raise InputError(
                f"{type(self).__name__}: measurement is {shown(measurement)}; give "
                "fj.observers.Measurement(q, v, theta, theta_v, tau_e), None for what is not measured"
            )
        sizes = measurement_sizes(self.robot)
        known = [np.full(size, np.nan) if x is None else x for x, size in zip(measurement, sizes)]
        found = self._kernel(*state, *known, np.asarray(torque, dtype=float))
        count = len(self.memory)
        return tuple(found[:count]), dict(zip(self.outputs, found[count:]))

    @property
    def _state_arrays(self) -> list[Array]:
        return [Array(f"state{k}", (size,)) for k, size in enumerate(self.memory)]

    @cached_property
    def _kernel(self) -> Kernel:
        robot, count, states = self.robot, len(self.memory), self._state_arrays
        outputs = [Array(name, (size,)) for name, size in self.outputs.items()]
        measured = [Array(name, (size,)) for name, size in zip(Measurement._fields, measurement_sizes(robot))]

        def law(*arrays: Expression) -> list[tuple[Array, Expression]]:
            state, measurement, torque = list(arrays[:count]), Measurement(*arrays[count:-1]), arrays[-1]
            after, found = self.checked_law(state, measurement, torque)
            return [*zip(states, after), *((array, found[array.name]) for array in outputs)]

        inputs = [*states, *measured, Array("torque", (robot.motor_count,))]
        return kernel_of(f"{type(self).__name__} of {robot.name}", inputs, law)


def measurement_sizes(robot: Robot) -> tuple[int, ...]:
    """The size of each field of a Measurement."""
    n, m = robot.n, robot.motor_count
    return n, n, m, m, n, n
