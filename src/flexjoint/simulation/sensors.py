"""Sensors: encoders and torque sensors of finite resolution, noise, delay, and a sample rate of their own.

A sample is (q, q', θ, θ', τ_e, τ_e'), on the link side.  Noise and bias are added first; then positions and torques are
rounded to whole steps of their sensors.  Velocities and torque rates are measured, or are differences of two samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..checks import finite, whole
from ..dynamics.drivetrain.transmission import determined_rates
from ..errors import InputError
from ..observers.base import Measurement, measurement_sizes
from ..robot import Robot
from ..spatial import ca, is_zero, sx
from ..types import Expression, FloatArray, Scalar
from .noise import Stream, modulo, normals

Numbers = float | tuple[float, ...]
Rates = Literal["measured", "differenced"]
NOISES = ("link_noise", "motor_noise", "velocity_noise", "torque_noise", "torque_rate_noise")
CHANNELS = ("link_noise", "velocity_noise", "motor_noise", "velocity_noise", "torque_noise", "torque_rate_noise")
RESOLUTIONS = ("link_resolution", "motor_resolution", "torque_resolution")


@dataclass(frozen=True)
class Sensors:
    """Sensors of positions, velocities and joint torques; the first sample has no noise.

    A number holds for all joints; a tuple has one number per joint, or per motor for motor sensors.

    Args:
        link_resolution, motor_resolution: Resolution of the encoders, in rad or m; by default 0, exact.
        torque_resolution: Resolution of the torque sensors, in Nm or N; by default 0, exact.
        link_noise, motor_noise: Standard deviation of positions, in rad or m; by default 0.
        velocity_noise: Standard deviation of velocities of links and motors, in rad/s or m/s; by default 0.
        torque_noise: Standard deviation of the torques on the links, in Nm or N; by default 0.
        torque_rate_noise: Standard deviation of measured torque rates, in Nm/s or N/s; by default 0.
        torque_bias: Added to the torques on the links, in Nm or N; by default 0.
        velocities: "measured", or "differenced": difference of the positions of two samples over the time between them.
        torque_rates: The same for the rates of the torques on the links.  At rigid joints and damped springs, whose
            state does not determine the rate, it is always the difference.
        every: Periods from one sample to the next, by default 1.
        delay: Periods after which a sample is known, by default 0.

    Raises:
        InputError: A number is negative, or `every` or `delay` is not a whole number.

    Example:
        >>> import flexjoint as fj
        >>> fj.simulation.Sensors(motor_resolution=1e-5, torque_noise=0.05).noisy
        True
    """

    link_resolution: Numbers = 0.0
    motor_resolution: Numbers = 0.0
    link_noise: Numbers = 0.0
    motor_noise: Numbers = 0.0
    velocity_noise: Numbers = 0.0
    torque_noise: Numbers = 0.0
    velocities: Rates = "measured"
    every: int = 1
    delay: int = 0
    torque_resolution: Numbers = 0.0
    torque_rate_noise: Numbers = 0.0
    torque_bias: Numbers = 0.0
    torque_rates: Rates = "measured"

    def __post_init__(self) -> None:
        for name in (*RESOLUTIONS, *NOISES):
            object.__setattr__(self, name, plain("Sensors", name, getattr(self, name)))
        object.__setattr__(self, "torque_bias", plain("Sensors", "torque_bias", self.torque_bias, signed=True))
        for name in ("velocities", "torque_rates"):
            if (kind := getattr(self, name)) not in ("measured", "differenced"):
                raise InputError(f"Sensors: {name} is {kind!r}; it must be 'measured' or 'differenced'")
        whole("Sensors", "every", self.every, least=1)
        whole("Sensors", "delay", self.delay)

    @property
    def noisy(self) -> bool:
        """Whether any sensor has noise."""
        return any(np.any(getattr(self, name)) for name in NOISES)

    @property
    def smooth(self) -> Sensors:
        """The same sensors without noise, steps and bias: what a linear analysis can see."""
        return Sensors(velocities=self.velocities, every=self.every, delay=self.delay, torque_rates=self.torque_rates)

    def memory(self, robot: Robot) -> list[int]:
        """Sizes of the state: the last samples, the newest first; the controller sees the oldest."""
        return [sum(measurement_sizes(robot))] * (self.delay + 1)

    def start(self, robot: Robot, measurement: Measurement) -> list[FloatArray]:
        """The state as if the robot had always stood there."""
        self.check(robot)
        biased = measurement._replace(tau_e=measurement.tau_e + numbers(self.torque_bias, robot.n, robot))
        parts = rounded(self.steps(robot), biased, np)
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in parts))
        sample = np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in parts], axis=-1)
        return [sample] * (self.delay + 1)

    def law(
        self,
        robot: Robot,
        period: float,
        memory: Sequence[Expression],
        true: Measurement,
        step: Scalar,
        stream: Stream | None,
        deviations: Mapping[str, Expression],
    ) -> list[Expression]:
        """The samples after a period; `deviations` (n, 1) by name come in place of those of the sensors."""
        old = split(robot, memory[0])
        sample = Measurement(*(x + e for x, e in zip(true, self.errors(robot, step, stream, deviations))))
        if np.any(self.torque_bias):
            sample = sample._replace(tau_e=sample.tau_e + sx(numbers(self.torque_bias, robot.n, robot)))
        sample = rounded(self.steps(robot), sample, ca)
        h = self.every * period
        if self.velocities == "differenced":
            sample = sample._replace(v=(sample.q - old.q) / h, theta_v=(sample.theta - old.theta) / h)
        measured = [known and self.torque_rates == "measured" for known in determined_rates(robot)]
        slopes = (sample.tau_e - old.tau_e) / h
        rates = [(sample.tau_e_v if known else slopes)[i] for i, known in enumerate(measured)]
        sample = sample._replace(tau_e_v=ca.vertcat(*rates))
        due = modulo(step, float(self.every)) == 0
        newest = ca.vertcat(*sample)
        return [newest if self.every == 1 else ca.if_else(due, newest, memory[0]), *memory[:-1]]

    def errors(
        self, robot: Robot, step: Scalar, stream: Stream | None, deviations: Mapping[str, Expression]
    ) -> list[Expression]:
        """The noise of each number of a sample; its place is its channel."""
        sizes = measurement_sizes(robot)
        channels: list[Any] = []  # the standard deviation of each, a number or SX
        for name, size in zip(CHANNELS, sizes):
            given = deviations.get(name)
            own = robot.motor_joints if size == robot.motor_count else range(robot.n)
            channels += numbers(getattr(self, name), size, robot).tolist() if given is None else [given[i] for i in own]
        noisy = [k for k, x in enumerate(channels) if not is_zero(x)]
        drawn = normals(stream, step, noisy) if stream else {}
        errors = ca.vertcat(*[x * drawn[k] if k in drawn else sx(0.0) for k, x in enumerate(channels)])
        return ca.vertsplit(errors, np.cumsum([0, *sizes]).tolist())

    def steps(self, robot: Robot) -> dict[str, FloatArray]:
        """The resolutions of the fields of a sample that have one."""
        return {
            "q": numbers(self.link_resolution, robot.n, robot),
            "theta": numbers(self.motor_resolution, robot.motor_count, robot),
            "tau_e": numbers(self.torque_resolution, robot.n, robot),
        }

    def check(self, robot: Robot) -> None:
        """Refuse another number of numbers than the robot has joints or motors."""
        for name in (*RESOLUTIONS, *NOISES, "torque_bias"):
            size = robot.motor_count if name.startswith("motor") else robot.n
            check_size("Sensors", name, getattr(self, name), robot.n, size)


def split(robot: Robot, sample: Any) -> Measurement:
    """A sample, SX or arrays (..., numbers), as a measurement."""
    cuts = np.cumsum([0, *measurement_sizes(robot)]).tolist()
    if isinstance(sample, np.ndarray):
        return Measurement(*np.split(sample, cuts[1:-1], axis=-1))
    return Measurement(*ca.vertsplit(sample, cuts))


def rounded(steps: Mapping[str, FloatArray], sample: Measurement, m: Any) -> Measurement:
    """Positions and torques in whole steps of their sensors; `m` is the module that has floor."""

    def nearest(x: Any, step: FloatArray) -> Any:
        if not np.any(step):
            return x
        if m is np:
            return np.where(step > 0, step * np.floor(x / np.where(step > 0, step, 1.0) + 0.5), x)
        return ca.vertcat(*[s * ca.floor(x[i] / s + 0.5) if s else x[i] for i, s in enumerate(step.tolist())])

    return sample._replace(**{name: nearest(getattr(sample, name), step) for name, step in steps.items()})


def plain(owner: str, name: str, value: Any, signed: bool = False) -> Numbers:
    """A number or a tuple of numbers, none negative unless `signed`."""
    array = finite(owner, name, value)
    if array.ndim > 1 or (not signed and np.any(array < 0)):
        raise InputError(
            f"{owner}: {name} is {value!r}; give a number or one each{'' if signed else ', none negative'}"
        )
    return float(array) if array.ndim == 0 else tuple(array.tolist())


def numbers(value: Numbers, size: int, robot: Robot) -> FloatArray:
    """One number each; for motors, the numbers of their joints where only as many are given as there are joints."""
    array = np.asarray(value)
    if array.shape == (robot.n,) and size == robot.motor_count:
        array = array[list(robot.motor_joints)]
    return np.broadcast_to(array, (size,))


def check_size(owner: str, name: str, value: Any, *sizes: int) -> None:
    """Refuse a tuple whose length is none of the sizes."""
    if isinstance(value, tuple) and len(value) not in sizes:
        several = " or ".join(str(size) for size in dict.fromkeys(sizes))
        raise InputError(f"{owner}: {name} has {len(value)} numbers; give one number, or {several}")
