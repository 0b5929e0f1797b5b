"""What every controller is: a pure law  (gains, state, reference, measurement) -> (state, motor torque).

The law is written in SX.  The same lines run inside the compiled loop of `simulate`, where gains may differ from row to
row, and alone, as a kernel, when a controller is called with arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..api import kernel_of
from ..compiler.kernel import Kernel
from ..compiler.program import Array
from ..errors import InputError
from ..robot import Robot


class JointState(NamedTuple):
    """Positions and velocities of links and motors, all on the link side: the state of a robot, or what is measured.

    At a rigid joint the motor turns with the link.
    """

    q: Any
    v: Any
    theta: Any
    theta_v: Any


class Controller(ABC):
    """A law with its numbers; subclasses are frozen dataclasses.

    `robot` is the model that the law uses, which need not be the robot it acts on; `gains` is (rows, n).
    """

    robot: Robot
    gains: np.ndarray
    memory: ClassVar[int] = 0  # how many arrays (n,) the state has

    @property
    @abstractmethod
    def order(self) -> int:
        """How many derivatives of the reference the law reads."""

    @abstractmethod
    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        """(state, torque) in SX: `gains` a column a row, `reference` = [q_d, q_d', ...]."""

    def start(self, reference: Sequence[Any]) -> Any:
        """The state to begin with on a reference: a tuple of arrays (n,), empty for a law without memory."""
        return ()

    def __call__(self, state: Any, reference: Sequence[Any], measurement: JointState) -> tuple[Any, np.ndarray]:
        """The next state and the motor torque."""
        *after, tau = self._kernel(self.gains, *state, np.stack(self.stack(reference), -2), *measurement)
        return (type(state)(*after) if hasattr(state, "_fields") else tuple(after)), tau

    def stack(self, reference: Sequence[Any]) -> Sequence[Any]:
        """As much of a reference as the law reads."""
        if len(reference) <= self.order:
            raise InputError(
                f"{type(self).__name__}: the reference has {len(reference) - 1} derivatives, the law needs "
                f"{self.order}: call the trajectory with order={self.order}"
            )
        return reference[: self.order + 1]

    @cached_property
    def _kernel(self) -> Kernel:
        n, memory = self.robot.n, self.memory
        labels = tuple(joint.name for joint in self.robot.joints)
        states = [Array(f"state{k}", (n,), "", labels) for k in range(memory)]
        inputs = [
            Array("gains", self.gains.shape),
            *states,
            Array("reference", (self.order + 1, n)),
            *(Array(name, (n,), "", labels) for name in JointState._fields),
        ]

        def law(gains: Any, *arrays: Any) -> list[tuple[Array, Any]]:
            state, reference, measured = arrays[:memory], arrays[memory], arrays[memory + 1 :]
            after, tau = self.law(rows(gains), state, rows(reference), JointState(*measured))
            return [*zip(states, after), (Array("tau", (n,), "Nm | N", labels), tau)]

        return kernel_of(f"{type(self).__name__} of {self.robot.name}", inputs, law)


def rows(matrix: Any) -> list[Any]:
    """The rows of an SX matrix as columns."""
    return [matrix[k, :].T for k in range(matrix.shape[0])]


def gain_rows(owner: str, names: Sequence[str], gains: Any, n: int, least: float = 0.0) -> np.ndarray:
    """Gains as (rows, n): for each name a number or one a joint, none below `least`."""
    try:
        array = np.stack([np.broadcast_to(np.asarray(row, dtype=float), n) for row in gains])
    except (TypeError, ValueError):
        array = np.empty((0, n))
    if len(array) != len(names):
        raise InputError(f"{owner}: gains must be [{', '.join(names)}], each a number or {n} numbers, not {gains!r}")
    for name, row in zip(names, array):
        if not np.all((row >= least) & np.isfinite(row)):
            raise InputError(f"{owner}: {name} is {row.tolist()}; every number must be finite and at least {least:g}")
    array.flags.writeable = False
    return array
