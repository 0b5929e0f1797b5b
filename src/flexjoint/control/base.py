"""The interface of every controller: (gains, state, reference, measurement) -> (state, motor torque).

A controller is a pure law, written once in SX.  `simulate` compiles it together with the robot, where every row of a
batch may have its own gains.  Called with arrays, a controller runs the same law as a kernel of its own.

A law that the command line offers declares a `Registration` in its class and appears in `REGISTRY`:

    class MotorPD(Controller):
        registration = Registration("motor_pd", "regulation: ...", gains=(Gain("K_P", "Nm/rad | N/m", "..."), ...))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from ..algorithm.compile import kernel_of
from ..checks import gain_rows
from ..compiler.ir.program import Array
from ..compiler.ir.scan import mapped
from ..compiler.ir.trace import check_count, declared, declared_all
from ..compiler.runtime.kernel import Kernel
from ..dynamics.requirements import constant_stiffness, lossless_gears, require
from ..errors import InputError, listed, shown
from ..observers.base import Measurement
from ..reprs import short_repr
from ..robot import Robot, a_robot
from ..spatial import ca
from ..types import Expression, FloatArray, Signal, Stack

LawResult: TypeAlias = tuple[Sequence[Expression], Expression]  # the next state, and the motor torque

ONE_MOTOR = "one motor per joint"
RIGID_MODEL = "rigid; springs are neglected"


class JointState(NamedTuple):
    """Positions and velocities of links and motors: the state of a robot, or its measurement.

    Motor positions are divided by the gear ratio, so that they compare with those of the links.  At a rigid joint the
    motor moves with the link.

    Args:
        q: Link positions (..., n), rad or m.
        v: Link velocities (..., n), rad/s or m/s.
        theta: Motor positions (..., m), rad or m, in the order of `Robot.motor_names`: one per joint, then the second
            motors of joints with variable stiffness.
        theta_v: Motor velocities (..., m), rad/s or m/s.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.JointState(*np.zeros((4, 7))).theta.shape
        (7,)
    """

    q: Signal
    v: Signal
    theta: Signal
    theta_v: Signal


UNITS = dict(zip(JointState._fields, ("rad | m", "rad/s | m/s") * 2))  # revolute | prismatic
TORQUE_UNITS = {"tau_e": "Nm | N", "tau_e_v": "Nm/s | N/s"}  # the fields that a Measurement adds


class Gain(NamedTuple):
    """A number that a controller takes.

    Args:
        name: Its symbol, such as "K_P".
        unit: Its unit at a revolute joint, then, after "|", at a prismatic one if that differs.
        meaning: What it multiplies or sets, in a few words.
    """

    name: str
    unit: str
    meaning: str


class Registration(NamedTuple):
    """How the command line offers a controller, and which numbers it takes.

    Args:
        name: What follows --controller, such as "motor_pd".
        summary: What the law is for, in one line.
        robots: Which robots it controls, in a few words.
        gains: What --gains takes, in this order.  Empty for a law that takes one pole with --poles.
        optional: How many of the last gains may be left out.
    """

    name: str
    summary: str
    robots: str = ONE_MOTOR
    gains: tuple[Gain, ...] = ()
    optional: int = 0

    @property
    def gain_names(self) -> list[str]:
        """Symbols of the gains, in order."""
        return [gain.name for gain in self.gains]

    @property
    def numbers(self) -> tuple[Gain, ...]:
        """What `Controller.from_numbers` takes, in order: the gains, or one pole."""
        return self.gains or (Gain("POLE", "1/s", "all closed-loop poles, negative"),)


REGISTRY: dict[str, type[Controller]] = {}  # the laws that the command line offers, by name


class Controller(ABC):
    """A control law with its numbers.  Subclasses are frozen dataclasses.

    A subclass with `registration`, one motor per joint and one row of `gains` per registered gain needs nothing but
    `order` and `law`.

    Attributes:
        robot: The model inside the law.  It may differ from the robot that the law controls.
        gains: Array (number of gains, n).
        memory: How many arrays the state of the law has; 0 by default.
        torque_sensors: Whether the law reads joint torque sensors; False by default.  Then its measurement is a
            `Measurement`, with the torques on the links and their rates, and not a `JointState`.
        registration: How the command line offers the law; None by default.
        contains_friction: Whether the torque of the law contains the friction of its robot; False by default.
        times: When the law reads the reference, s after the sample; (0.0,) by default.
    """

    robot: Robot
    gains: FloatArray
    memory: ClassVar[int] = 0
    torque_sensors: ClassVar[bool] = False
    registration: ClassVar[Registration | None] = None
    contains_friction: ClassVar[bool] = False
    times: ClassVar[tuple[float, ...]] = (0.0,)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if (registration := cls.__dict__.get("registration")) is not None:
            REGISTRY[registration.name] = cls

    def __post_init__(self) -> None:
        """Checks the robot and the gains of a registered law."""
        if self.registration is not None:
            require_one_motor_per_joint(self)
            self.check_gains()

    def check_gains(self, least: float = 0.0) -> None:
        """Makes `gains` an array (number of gains, n) with a row per name in `gain_names`, none below `least`."""
        rows = gain_rows(type(self).__name__, self.gain_names, self.gains, self.robot.n, least)
        object.__setattr__(self, "gains", rows)

    @classmethod
    def from_numbers(cls, robot: Robot, numbers: Sequence[float], period: float) -> Self:
        """The controller that the command line makes.

        Args:
            robot: The robot to control.
            numbers: The registered gains, one number each for all joints; or one pole, in 1/s.
            period: Sampling period, s.
        """
        return cls(robot, numbers)  # type: ignore[call-arg]

    @property
    def memory_sizes(self) -> tuple[int, ...]:
        """The size of each array of the state; n each by default."""
        return (self.robot.n,) * self.memory

    @property
    def width(self) -> int:
        """The number of columns of the reference: n link positions by default.

        A law of motion and stiffness adds one column per joint with two motors.
        """
        return self.robot.n

    @property
    @abstractmethod
    def order(self) -> int:
        """How many derivatives of the reference the law reads."""

    @property
    def rows(self) -> int:
        """The number of rows of the reference: q_d and its derivatives at each of `times`."""
        return len(self.times) * (self.order + 1)

    def constant_reference(self, row: FloatArray) -> FloatArray:
        """The reference (rows, width) that rests at a row (width,)."""
        return np.vstack([row, *[0 * row] * self.order] * len(self.times))

    @abstractmethod
    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: Any) -> LawResult:
        """The law, in SX.

        Args:
            gains: One column (n, 1) per row of `self.gains`.
            state: One column per array of the state, of `memory_sizes`.
            reference: [q_d, q_d', ...], `order` + 1 columns of `width` entries, at each of `times`.
            measurement: JointState of columns (n, 1) of the links and (m, 1) of the motors; a Measurement if
                `torque_sensors`.

        Returns:
            The next state, and the torque of the m motors, Nm or N.
        """

    @property
    def commands_damping(self) -> bool:
        """Whether the law also commands dampers."""
        return type(self).damper_command is not Controller.damper_command

    def damper_command(self, measurement: Any) -> Expression:
        """What the law asks of dampers that can be commanded, in SX; `DampingRatio` is such a law.

        Args:
            measurement: As of `law`.

        Returns:
            A column (n, 1), Nm s/rad or N s/m, which dampers give between 0 and the `greatest_damping` of their drives.
        """
        raise InputError(f"{type(self).__name__} commands no dampers; fj.control.DampingRatio does")

    def checked_damper_command(self, measurement: Any) -> Expression:
        """`damper_command` with the size of its result checked."""
        array = Array("damping", (self.robot.n,))
        return declared(f"{type(self).__name__}.damper_command", array, self.damper_command(measurement))

    def checked_law(
        self, gains: Stack, state: Stack, reference: Stack, measurement: JointState | Measurement
    ) -> tuple[list[Expression], Expression]:
        """`law` on copies of its arguments, which it may write into, with the sizes of its results checked."""
        owner, states = f"{type(self).__name__}.law", memory_arrays("state", self)
        seen = measurement if self.torque_sensors else joint_state(measurement)
        found = self.law(*mapped((list(gains), list(state), list(reference), seen), ca.SX))
        check_count(owner, "its result", ("state", "torque"), found)
        after, tau = found
        return declared_all(owner, "its state", states, after), declared(owner, torque_array(self.robot), tau)

    def check_reference(  # noqa: B027 - most controllers have nothing to check
        self, reference: Sequence[Any], gains: Any = None, start: Any = None
    ) -> None:
        """Checks that the controller works along a reference; `simulate` calls it.

        Args:
            reference: [q_d, q_d', ...], at least `order` + 1 arrays (..., width), at some times of a trajectory.
            gains: Array of the shape of `gains`, which replaces them.
            start: The JointState at which the controller begins; by default on the reference.

        Raises:
            InputError: The controller does not exist somewhere on the reference, or its loop is unstable there.
        """

    def start(self, reference: Sequence[Any]) -> tuple[Any, ...]:
        """The initial state on a reference.

        Args:
            reference: [q_d, q_d', ...] at the first sample, arrays (n,).

        Returns:
            A tuple of arrays of `memory_sizes`; empty for a law without state.
        """
        return ()

    def __call__(self, state: Sequence[Any], reference: Sequence[Any], measurement: Any) -> tuple[Any, FloatArray]:
        """Evaluates the law for one sample, or for a batch of them.

        Args:
            state: The state returned by the call before, or by `start`.
            reference: [q_d, q_d', ...], at least `order` + 1 arrays (..., n), as a trajectory returns them.
            measurement: Measured positions and velocities, a JointState; a Measurement if the law reads torque sensors.
                Fields of a Measurement that the law does not read may be None.

        Returns:
            The next state, and the torque (..., m) of the motors, Nm or N.

        Raises:
            InputError: The reference has too few derivatives, or torques are missing.
        """
        seen = self.measured_fields(measurement)
        *after, tau = self._kernel(self.gains, *state, np.stack(self.stack(reference), -2), *seen)
        return (type(state)(*after) if hasattr(state, "_fields") else tuple(after)), tau

    def measured_fields(self, measurement: Any) -> Sequence[Any]:
        """The arrays of a measurement that the law takes, NaN for those that are None."""
        name, torques = type(self).__name__, self.torque_sensors
        if torques and not isinstance(measurement, Measurement):
            raise InputError(
                f"{name}: the law reads torque sensors; give "
                "fj.observers.Measurement(q, v, theta, theta_v, tau_e, tau_e_v)"
            )
        seen = measurement if torques else joint_state(measurement)
        if not (isinstance(seen, Sequence | np.ndarray) and np.iterable(seen)) or len(seen) != (6 if torques else 4):
            raise InputError(
                f"{name}: measurement is {shown(measurement)}; give fj.control.JointState(q, v, theta, theta_v)"
            )
        if not any(x is None for x in seen):
            return list(seen)
        arrays = measurement_arrays(self.robot, torques)
        return [np.full(array.shape, np.nan) if x is None else x for array, x in zip(arrays, seen)]

    def stack(self, reference: Sequence[Any]) -> Sequence[Any]:
        """The part of a reference that the law reads: its first `rows` arrays."""
        if len(reference) < self.rows and len(self.times) > 1:
            raise InputError(
                f"{type(self).__name__}: the reference has {len(reference)} rows, the law needs {self.rows}: call the "
                f"trajectory with order={self.order} at t + {listed(f'{x:g} s' for x in self.times)}, one after another"
            )
        if len(reference) <= self.order:
            raise InputError(
                f"{type(self).__name__}: the reference has {len(reference) - 1} derivatives, the law needs "
                f"{self.order}: call the trajectory with order={self.order}"
            )
        return reference[: self.rows]

    @property
    def gain_names(self) -> list[str]:
        """Symbols of the rows of `gains`: the registered ones, or K_0, K_1, ..."""
        names = self.registration.gain_names if self.registration else []
        return names or [f"K_{k}" for k in range(len(self.gains))]

    def __repr__(self) -> str:
        period = {"period": self.period} if hasattr(self, "period") else {}
        return short_repr(self, self.robot.name, **dict(zip(self.gain_names, self.gains)), **period)

    @cached_property
    def _kernel(self) -> Kernel:
        states = memory_arrays("state", self)
        memory = len(states)
        inputs = [
            Array("gains", self.gains.shape),
            *states,
            Array("reference", (self.rows, self.width)),
            *measurement_arrays(self.robot, self.torque_sensors),
        ]
        kind: Any = Measurement if self.torque_sensors else JointState

        def law(gains: Expression, *arrays: Expression) -> list[tuple[Array, Expression]]:
            state, reference, measured = arrays[:memory], arrays[memory], arrays[memory + 1 :]
            after, tau = self.checked_law(rows(gains), state, rows(reference), kind(*measured))
            return [*zip(states, after), (torque_array(self.robot), tau)]

        return kernel_of(f"{type(self).__name__} of {self.robot.name}", inputs, law)


class ControllerWrapper(Controller):
    """A controller around another one, for the same robot and reference.

    A subclass with a state of its own declares `memory_sizes` and `start`, those of the inner controller first, and a
    `period` where it has one.

    Attributes:
        controller: The inner controller.
    """

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

    @property
    def memory_sizes(self) -> tuple[int, ...]:
        return self.controller.memory_sizes

    def check_reference(self, reference: Sequence[Any], gains: Any = None, start: Any = None) -> None:
        self.controller.check_reference(reference, gains, start)

    def start(self, reference: Sequence[Any]) -> tuple[Any, ...]:
        return self.controller.start(reference)

    @property
    def times(self) -> tuple[float, ...]:  # type: ignore[override]
        return self.controller.times

    @property
    def torque_sensors(self) -> bool:  # type: ignore[override]
        return self.controller.torque_sensors

    @property
    def commands_damping(self) -> bool:
        return self.controller.commands_damping

    def damper_command(self, measurement: Any) -> Expression:
        return self.controller.damper_command(measurement)

    def check_controller(self) -> None:
        """Raises an InputError unless the inner controller is one."""
        if not isinstance(self.controller, Controller):
            raise InputError(
                f"{type(self).__name__}: controller is {shown(self.controller)}; give one of fj.control, such as "
                "MotorPD(robot, gains)"
            )

    def check_period(self, period: float) -> None:
        """Raises an InputError unless the inner controller, if it is sampled, has the same period."""
        own = getattr(self.controller, "period", period)
        if own != period:
            name, inner = type(self).__name__, type(self.controller).__name__
            raise InputError(f"{name}: period is {period:g} s, that of {inner} inside is {own:g} s; give both the same")


def state_arrays(robot: Robot) -> list[Array]:
    """The fields of a JointState as arrays of a kernel."""
    links, motors = tuple(joint.name for joint in robot.joints), robot.motor_names
    labels = dict(zip(JointState._fields, (links, links, motors, motors)))
    return [Array(name, (len(labels[name]),), unit, labels[name]) for name, unit in UNITS.items()]


def measurement_arrays(robot: Robot, torques: bool) -> list[Array]:
    """What a law measures as arrays of a kernel: the fields of a JointState, or with `torques` of a Measurement."""
    labels = tuple(joint.name for joint in robot.joints)
    added = [Array(name, (robot.n,), unit, labels) for name, unit in TORQUE_UNITS.items() if torques]
    return [*state_arrays(robot), *added]


def joint_state(measurement: Any) -> Any:
    """The positions and velocities of a Measurement; anything else as it is."""
    return JointState(*measurement[:4]) if isinstance(measurement, Measurement) else measurement


def torque_array(robot: Robot) -> Array:
    """The torque of the motors as an array of a kernel."""
    return Array("tau", (robot.motor_count,), "Nm | N", robot.motor_names)


def memory_arrays(name: str, controller: Controller) -> list[Array]:
    """The state of a controller as arrays of a kernel, called `name`0, `name`1, ..."""
    labels = tuple(joint.name for joint in controller.robot.joints)
    return [
        Array(f"{name}{k}", (size,), "", labels if size == len(labels) else ())
        for k, size in enumerate(controller.memory_sizes)
    ]


def rows(matrix: Expression) -> list[Expression]:
    """The rows of an SX matrix as columns."""
    return [matrix[k, :].T for k in range(matrix.shape[0])]


def innermost(controller: Any) -> Any:
    """The law itself, inside any number of wrappers."""
    return innermost(controller.controller) if isinstance(controller, ControllerWrapper) else controller


def checked_robot(controller: Controller) -> Robot:
    """The controller's robot; an InputError if it is something else."""
    return a_robot(type(controller).__name__, controller.robot)


def require_one_motor_per_joint(controller: Controller) -> Robot:
    """The controller's robot, for laws that do not set stiffness."""
    name, robot = type(controller).__name__, checked_robot(controller)
    require(name, robot, constant_stiffness("VariableStiffnessTracking"), lossless_gears)
    return controller.robot
