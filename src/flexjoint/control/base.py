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

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.ir.scan import mapped
from ..compiler.ir.trace import check_count, declared, declared_all
from ..compiler.runtime.kernel import Kernel
from ..dynamics.requirements import constant_stiffness, require
from ..errors import InputError
from ..robot import Robot, a_robot
from ..spatial import ca


class JointState(NamedTuple):
    """Positions and velocities of links and motors, all on the link side: the state of a robot, or what is measured.

    At a rigid joint the motor turns with the link.  `theta` and `theta_v` have an entry a motor, in the order of
    `Robot.motor_joints`: one a joint, then the second motors of joints with variable stiffness.
    """

    q: Any
    v: Any
    theta: Any
    theta_v: Any


UNITS = dict(zip(JointState._fields, ("rad | m", "rad/s | m/s") * 2))  # turning | sliding


class Controller(ABC):
    """A law with its numbers; subclasses are frozen dataclasses.

    `robot` is the model that the law uses, which need not be the robot it acts on; `gains` is (rows, n).
    """

    robot: Robot
    gains: np.ndarray
    memory: ClassVar[int] = 0  # how many arrays the state has

    @property
    def memory_sizes(self) -> tuple[int, ...]:
        """How many numbers each array of the state has: n, unless a law says otherwise."""
        return (self.robot.n,) * self.memory

    @property
    def width(self) -> int:
        """How many numbers the reference has: n, the links; more where a law follows other things too.

        A law of motion and stiffness follows n links, then the stiffness of each joint with two motors.
        """
        return self.robot.n

    @property
    @abstractmethod
    def order(self) -> int:
        """How many derivatives of the reference the law reads."""

    @abstractmethod
    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        """(state, torque) in SX: `gains` a column a row, `reference` = [q_d, q_d', ...]; a torque a motor."""

    def checked_law(
        self, gains: Sequence[Any], state: Sequence[Any], reference: Sequence[Any], measurement: JointState
    ) -> tuple[list[Any], Any]:
        """The law on copies of its arguments, which it may write into; what it returns has the sizes it declares."""
        owner, states = f"{type(self).__name__}.law", memory_arrays("state", self)
        found = self.law(*mapped((list(gains), list(state), list(reference), measurement), ca.SX))
        check_count(owner, "its result", ("state", "torque"), found)
        after, tau = found
        return declared_all(owner, "its state", states, after), declared(owner, torque_array(self.robot), tau)

    def start(self, reference: Sequence[Any]) -> Any:
        """The state to begin with on a reference: a tuple of arrays, empty for a law without memory."""
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
        states = memory_arrays("state", self)
        memory = len(states)
        inputs = [
            Array("gains", self.gains.shape),
            *states,
            Array("reference", (self.order + 1, self.width)),
            *state_arrays(self.robot),
        ]

        def law(gains: Any, *arrays: Any) -> list[tuple[Array, Any]]:
            state, reference, measured = arrays[:memory], arrays[memory], arrays[memory + 1 :]
            after, tau = self.checked_law(rows(gains), state, rows(reference), JointState(*measured))
            return [*zip(states, after), (torque_array(self.robot), tau)]

        return kernel_of(f"{type(self).__name__} of {self.robot.name}", inputs, law)


class Around(Controller):
    """A controller around another, for the same robot and reference; `memory_sizes` and a `period` are its own."""

    controller: Controller

    @property
    def robot(self) -> Robot:  # type: ignore[override]
        return self.controller.robot

    @property
    def order(self) -> int:
        return self.controller.order

    @property
    def width(self) -> int:
        return self.controller.width

    @property
    def memory(self) -> int:  # type: ignore[override]
        return len(self.memory_sizes)

    def check_period(self, period: float) -> None:
        """Both are called as often."""
        own = getattr(self.controller, "period", period)
        if own != period:
            name, inner = type(self).__name__, type(self.controller).__name__
            raise InputError(f"{name}: period is {period:g} s, that of {inner} inside is {own:g} s")


def state_arrays(robot: Robot) -> list[Array]:
    """The fields of a JointState as arrays of a kernel."""
    links, motors = tuple(joint.name for joint in robot.joints), robot.motor_names
    labels = dict(zip(JointState._fields, (links, links, motors, motors)))
    return [Array(name, (len(labels[name]),), unit, labels[name]) for name, unit in UNITS.items()]


def torque_array(robot: Robot) -> Array:
    """The torque of the motors as an array of a kernel."""
    return Array("tau", (robot.motor_count,), "Nm | N", robot.motor_names)


def memory_arrays(name: str, controller: Controller) -> list[Array]:
    """The memory of a controller as arrays of a kernel."""
    labels = tuple(joint.name for joint in controller.robot.joints)
    return [
        Array(f"{name}{k}", (size,), "", labels if size == len(labels) else ())
        for k, size in enumerate(controller.memory_sizes)
    ]


def rows(matrix: Any) -> list[Any]:
    """The rows of an SX matrix as columns."""
    return [matrix[k, :].T for k in range(matrix.shape[0])]


def innermost(controller: Any) -> Any:
    """The law itself, where a controller is one around another."""
    return innermost(controller.controller) if isinstance(controller, Around) else controller


def checked_robot(controller: Controller) -> Robot:
    return a_robot(type(controller).__name__, controller.robot)


def with_one_motor_a_joint(controller: Controller) -> Robot:
    """The controller's robot, for laws that do not set stiffness."""
    require(type(controller).__name__, checked_robot(controller), constant_stiffness("VariableStiffnessTracking"))
    return controller.robot
