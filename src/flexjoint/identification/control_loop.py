"""The controller under which a log was made, and its law along with sensors and actuators as a kernel with derivatives.

A law that is known gives the motor torques of a log that has none, and closes the loop of a simulation: output error
then explains the positions from the reference alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.compile import kernel_of
from ..checks import positive
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..control.base import Controller, rows
from ..errors import InputError, shown
from ..observers.base import Measurement
from ..robot import Robot
from ..simulation.actuators import Actuators
from ..simulation.law_digests import code_of
from ..simulation.reference import Reference
from ..simulation.sensors import Sensors, split
from ..spatial import ca, sx, zeros
from ..types import Expression, FloatArray
from .recordings import Recording
from .simulation_model import SimulationModel

WHOLE = 1e-3  # of a period: a log has every k-th sample of its controller up to this


@dataclass(frozen=True, eq=False)
class ControlLoop:
    """The controller under which a log was made.

    Args:
        controller: The law, one of fj.control, with the numbers that it had.
        reference: What it followed, at the times of the log: a trajectory, a goal (n,) or a stack (order + 1, n).
        period: Sampling period of the controller, s; by default that of the log, which may have every k-th sample.
        sensors: Delay of the sensors, and whether velocities are differences; their noise and steps are not simulated.
            By default perfect ones.
        actuators: Delay, lag and bounds of the motors; by default none.

    Raises:
        InputError: An argument is of another kind.

    Example:
        >>> import flexjoint as fj
        >>> arm = fj.load("hua_3r")
        >>> law = fj.control.MotorPD(arm, [400.0, 40.0])
        >>> fj.identification.ControlLoop(law, [0.1, 0.2, 0.3], period=2.5e-4).period
        0.00025
    """

    controller: Controller
    reference: Any
    period: float | None = None
    sensors: Sensors | None = None
    actuators: Actuators | None = None

    def __post_init__(self) -> None:
        kinds = {"controller": Controller, "sensors": Sensors | None, "actuators": Actuators | None}
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                raise InputError(f"ControlLoop: {name} is {shown(getattr(self, name))}; give one of flexjoint's")
        if self.period is not None:
            positive("ControlLoop", "period", self.period, ", in s")
        if self.sensors is not None and self.sensors.every != 1:
            raise InputError("ControlLoop: sensors with every > 1 are not simulated; give every=1")
        try:
            Reference.of(self.reference, self.controller.robot, self.controller)
        except InputError as error:
            raise InputError(f"ControlLoop: {str(error).removeprefix('simulate: ')}") from None


def check_loop(robot: Robot, loop: ControlLoop | None) -> None:
    """Refuse what is no loop, and laws that do not control this robot.

    Raises:
        InputError: The robot of the law has another number of joints, or the law reads torques of rigid joints.
    """
    if loop is None:
        return
    if not isinstance(loop, ControlLoop):
        raise InputError(
            f"identify: loop is {shown(loop)}; give fj.identification.ControlLoop(controller, reference, period)"
        )
    law = loop.controller
    if (law.robot.n, law.robot.motor_count) != (robot.n, robot.motor_count):
        raise InputError(
            f"identify: the controller of loop= is for {law.robot.n} joints, the robot has {robot.n}; give the "
            "controller of this robot"
        )
    if law.torque_sensors and not all(robot.elastic):
        raise InputError(
            f"identify: {type(law).__name__} reads joint torques, which rigid joints do not have; log tau, and leave "
            "loop= out"
        )


class Command(NamedTuple):
    """What the loop does in a period, a row per simulation.

    Args:
        tau: Motor torques, (rows, n), Nm or N.
        memory: State of the loop after the period, (rows, U).
        slopes: Derivatives of both by positions and velocities, memory and parameters, (rows, n + U, 2N + U + P).
    """

    tau: FloatArray
    memory: FloatArray
    slopes: FloatArray


@dataclass(frozen=True, eq=False)
class LoopModel:
    """A law with its sensors and actuators.

    The memory of the loop: arrays of the law, samples of the sensors, and commands on their way.

    Args:
        loop: The loop.
        model: The robot with its parameters.
        period: Sampling period of the law, s.
    """

    loop: ControlLoop
    model: SimulationModel
    period: float

    @cached_property
    def memory_sizes(self) -> tuple[list[int], list[int], list[int]]:
        """Of law, sensors and actuators."""
        robot, loop = self.model.robot, self.loop
        return (
            list(loop.controller.memory_sizes),
            loop.sensors.memory(robot) if loop.sensors else [],
            loop.actuators.memory(robot) if loop.actuators else [],
        )

    @property
    def size(self) -> int:
        """Numbers of the memory, U."""
        return sum(map(sum, self.memory_sizes))

    @cached_property
    def reference(self) -> Reference:
        """What the law follows."""
        return Reference.of(self.loop.reference, self.loop.controller.robot, self.loop.controller)

    def measurement(self, x: Expression, p: Expression) -> Measurement:
        """What sensors measure of a state (2N,), in SX; torques and their rates only for laws that read them."""
        model, n, N = self.model, self.model.robot.n, self.model.size
        places = [model.coordinate(i) for i in range(n)]
        q, v, theta, theta_v = (x[[k + shift for k in at]] for at in (range(n), places) for shift in (0, N))
        if not self.loop.controller.torque_sensors:
            return Measurement(q, v, theta, theta_v, zeros(n), zeros(n))
        torques = ca.vertcat(*(model.drive_laws(i, x, p)[0] for i in range(n)))
        return Measurement(q, v, theta, theta_v, torques, ca.jacobian(torques, x[:N]) @ x[N:])

    def command(self, x: Expression, memory: Expression, reference: Expression, p: Expression) -> Expression:
        """Torques and the memory after a period, stacked, in SX."""
        robot, loop = self.model.robot, self.loop
        cuts = np.cumsum([0, *(size for sizes in self.memory_sizes for size in sizes)]).tolist()
        own, samples, waiting = parted(ca.vertsplit(memory, cuts) if self.size else [], self.memory_sizes)
        seen = self.measurement(x, p)
        if loop.sensors:
            samples = loop.sensors.smooth.law(robot, self.period, samples, seen, sx(1.0), None, {})
            seen = split(robot, samples[-1])
        law = loop.controller
        own, tau = law.checked_law(rows(sx(law.gains)), own, rows(reference), seen)
        if loop.actuators:
            waiting, tau = loop.actuators.law(robot, self.period, waiting, tau, sx(0.0))
        return ca.vertcat(tau, *own, *samples, *waiting)

    @cached_property
    def _kernel(self) -> Kernel:
        """(x, memory, reference, p) -> torques and memory, and their derivatives."""
        law, n, U = self.loop.controller, self.model.robot.n, self.size
        sizes = {"x": (2 * self.model.size,), "memory": (U,), "reference": (law.rows, law.width)}
        sizes["p"] = (len(self.model.unknowns.parameters),)

        def function(x: Expression, *rest: Expression) -> list[tuple[Array, Expression]]:
            memory, reference, p = rest if U else (zeros(0), *rest)
            found = self.command(x, memory, reference, p)
            slopes = ca.jacobian(found, ca.vertcat(x, memory, p))
            return [(Array("found", (n + U,)), found), (Array("slopes", slopes.shape), ca.densify(slopes))]

        code = code_of(law)
        loop = self.loop.sensors, self.loop.actuators, self.period
        key = f"law in the loop {code} {loop!r} {self.model.key}" if isinstance(code, str) else None
        arrays = [Array(name, shape) for name, shape in sizes.items() if shape != (0,)]
        return kernel_of(f"law in the loop of {self.model.robot.name}", arrays, function, key, loops=False)

    def __call__(self, x: FloatArray, memory: FloatArray, reference: FloatArray, p: FloatArray) -> Command:
        """One period.

        Args:
            x: Positions and velocities, (rows, 2N).
            memory: State of the loop, (rows, U).
            reference: (samples, rows of the controller, width).
            p: Values of the parameters.
        """
        n = self.model.robot.n
        found, slopes = self._kernel(x, *[memory] * bool(self.size), reference, p)
        return Command(found[:, :n], found[:, n:], slopes)

    # Along a recording ----------------------------------------------------------------------------------------------

    def start(self, x: FloatArray, t: float, p: FloatArray) -> FloatArray:
        """Memory (1, U) at a state (2N,) and a time, as if the robot had moved with this velocity before.

        The law begins there, and its first command was on its way for long.
        """
        N, loop, reference = self.model.size, self.loop, self.reference(np.array(t))
        found = [np.asarray(y, dtype=float) for y in loop.controller.start(list(reference))]
        for k in range(1, len(self.memory_sizes[1]) + 1):
            earlier = np.concatenate([x[:N] - k * self.period * x[N:], x[N:]])
            found.append(np.concatenate([np.array(y).ravel() for y in self._measured(earlier, p)]))
        waiting = loop.actuators.start(self.model.robot) if loop.actuators else []
        memory = np.concatenate([*found, *waiting, np.zeros(0)])[None]
        fixed = self.size - sum(self.memory_sizes[2])
        for _ in waiting:
            memory[:, fixed:] = self(x[None], memory, reference[None], p).memory[:, fixed:]
        return memory

    @cached_property
    def _measured(self) -> Any:
        """(x, p) -> fields of a measurement, in numbers."""
        x, p = ca.SX.sym("x", 2 * self.model.size), ca.SX.sym("p", len(self.model.unknowns.parameters))
        return ca.Function("measured", [x, p], [ca.densify(y) for y in self.measurement(x, p)])


def parted(given: list[Any], sizes: tuple[list[int], ...]) -> list[list[Any]]:
    """A list cut into parts as long as those of `sizes`."""
    ends = np.cumsum([0, *map(len, sizes)]).tolist()
    return [given[a:b] for a, b in pairwise(ends)]


def check_times(loop: ControlLoop, recording: Recording) -> None:
    """Refuse a log whose times are not those of the reference.

    Raises:
        InputError: The log begins before the reference, or when it is over.
    """
    duration = getattr(loop.reference, "duration", math.inf)
    if not -recording.period < recording.start < duration:
        raise InputError(
            f"identify: the log begins at t = {recording.start:g} s, the reference of loop= lasts from 0 to "
            f"{duration:g} s; shift t of the log to the time of its reference"
        )


def periods_per_sample(loop: ControlLoop, recording: Recording) -> int:
    """Periods of the controller from one sample of a recording to the next.

    Raises:
        InputError: It is no whole number.
    """
    if loop.period is None:
        return 1
    ratio = recording.period / loop.period
    if round(ratio) < 1 or abs(ratio - round(ratio)) > WHOLE * ratio:
        raise InputError(
            f"identify: the log has a sample every {recording.period:g} s, the controller of loop= runs every "
            f"{loop.period:g} s; the first must be a whole multiple of the second"
        )
    return round(ratio)
