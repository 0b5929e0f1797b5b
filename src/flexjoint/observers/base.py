"""What every observer is: a pure law  (state, measurement, torque) -> (state, outputs), called once a period.

The law is written in SX.  The same lines run inside the compiled loop of `simulate`, where the controller may see the
outputs, and alone, as a kernel, when an observer is called with arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.ir.scan import mapped
from ..compiler.ir.trace import check_count, declared, declared_all
from ..compiler.runtime.kernel import Kernel
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca


class Measurement(NamedTuple):
    """What sensors tell at one time: positions and velocities of links and motors, torques on the links.

    `theta` and `theta_v` have an entry a motor, in the order of `Robot.motor_joints`.  At a rigid joint the motor turns
    with the link, and `tau_e` is the motor torque of the period that is over.
    """

    q: Any
    v: Any
    theta: Any
    theta_v: Any
    tau_e: Any


class Observer(ABC):
    """A law with its numbers; subclasses are frozen dataclasses.

    `robot` is the model that the law uses, `period` the time between two calls.
    """

    robot: Robot
    period: float

    @property
    @abstractmethod
    def memory(self) -> tuple[int, ...]:
        """How many numbers each array of the state has."""

    @property
    @abstractmethod
    def outputs(self) -> Mapping[str, int]:
        """The outputs by name, and how many numbers each has."""

    @abstractmethod
    def start(self, measurement: Measurement) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """State and outputs at the first measurement, arrays (..., size); no time has passed yet."""

    @abstractmethod
    def law(self, state: Sequence[Any], measurement: Measurement, torque: Any) -> tuple[Sequence[Any], Mapping]:
        """(state, outputs) in SX, one period after the last; `torque` is what the motors gave in between."""

    def checked_law(self, state: Sequence[Any], measurement: Measurement, torque: Any) -> tuple[list, dict[str, Any]]:
        """The law on copies of its arguments, which it may write into; what it returns has the sizes it declares."""
        states = [Array(f"state{k}", (size,)) for k, size in enumerate(self.memory)]
        found = self.law(*mapped((list(state), measurement, torque), ca.SX))
        return self.as_declared(f"{type(self).__name__}.law", states, found)

    def as_declared(self, owner: str, states: Sequence[Array], found: Any) -> tuple[list, dict[str, Any]]:
        """State and outputs in SX, compared with their declarations."""
        check_count(owner, "its result", ("state", "outputs"), found)
        after, outputs = found
        if not isinstance(outputs, Mapping) or (missing := [name for name in self.outputs if name not in outputs]):
            given = f"the outputs without '{missing[0]}'" if isinstance(outputs, Mapping) else type(outputs).__name__
            raise InputError(f"{owner} returned {given}; it must be a mapping with {', '.join(self.outputs)}")
        arrays = {name: Array(f"output '{name}'", (size,)) for name, size in self.outputs.items()}
        known = {name: declared(owner, array, outputs[name]) for name, array in arrays.items()}
        return declared_all(owner, "its state", states, after), known

    def __call__(self, state: Sequence[Any], measurement: Measurement, torque: Any) -> tuple[tuple, dict[str, Any]]:
        """The next state, and the outputs by name."""
        found = self._kernel(*state, *measurement, np.asarray(torque, dtype=float))
        count = len(self.memory)
        return tuple(found[:count]), dict(zip(self.outputs, found[count:]))

    @cached_property
    def _kernel(self) -> Kernel:
        robot, count = self.robot, len(self.memory)
        states = [Array(f"state{k}", (size,)) for k, size in enumerate(self.memory)]
        outputs = [Array(name, (size,)) for name, size in self.outputs.items()]
        sizes = measurement_sizes(robot)
        measured = [Array(name, (size,)) for name, size in zip(Measurement._fields, sizes)]

        def law(*arrays: Any) -> list[tuple[Array, Any]]:
            state, measurement, torque = list(arrays[:count]), Measurement(*arrays[count:-1]), arrays[-1]
            after, found = self.checked_law(state, measurement, torque)
            return [*zip(states, after), *((array, found[array.name]) for array in outputs)]

        inputs = [*states, *measured, Array("torque", (robot.motor_count,))]
        return kernel_of(f"{type(self).__name__} of {robot.name}", inputs, law)


def measurement_sizes(robot: Robot) -> tuple[int, ...]:
    """How many numbers each field of a Measurement has."""
    n, m = robot.n, robot.motor_count
    return n, n, m, m, n
