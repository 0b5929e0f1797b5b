"""Spectra of the equations of motion of a recording: what multiplies each parameter, and what is known.

Each joint has one channel per equation.  The residual of a channel is linear in all parameters but the friction
velocities and the delay, whose columns are derivatives at the current values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..drives import ElasticDrive
from ..robot import Robot
from ..types import FloatArray
from .dry_friction import DRY, mean_dry_friction
from .parameters import Unknowns
from .recordings import ComplexArray, Recording
from .signals import Signals

NONLINEAR = (
    "log_velocity",
    "log_stribeck",
    "delay",
    "spring_zero",
)  # their columns are derivatives at the current values
NEARBY = 2e-6  # s: a torque follows smaller changes of the delay linearly, to 2 % of the change: central differences
DEGREE = 5  # of the polynomial that gives deflections from torques


@dataclass(frozen=True, eq=False)
class JointEquations:
    """The equations of one joint as spectra.

    Args:
        joint: Number of the joint.
        channels: Names of the equations: link, motor, sensor or rigid.
        places: Parameter of each column.
        columns: Derivative of the residual by each parameter, (frequencies, channels, columns).
        residual: The residual at the current values, (frequencies, channels).
    """

    joint: int
    channels: tuple[str, ...]
    places: tuple[int, ...]
    columns: ComplexArray
    residual: ComplexArray


@dataclass(frozen=True, eq=False)
class Equations:
    """The equations of a recording.

    Args:
        signals: Motion and torques of the recording.
        unknowns: What is estimated.
        held: Whether a sample of the motor torque holds until the next one.
        delay: Delay of the positions against the motor torque, s, if it is not estimated.
    """

    signals: Signals
    unknowns: Unknowns
    held: bool = True
    delay: float = 0.0
    _fixed: dict[int, Rows] = field(default_factory=dict, init=False)
    _torques: dict[int, tuple[float, ComplexArray, ComplexArray]] = field(default_factory=dict, init=False)

    @property
    def robot(self) -> Robot:
        """The robot, with its prior values."""
        return self.signals.robot

    @property
    def recording(self) -> Recording:
        """The recording."""
        return self.signals.recording

    def link_torque(self, values: FloatArray) -> ComplexArray:
        """Spectrum of what the links require of their transmissions at these values, (frequencies, n)."""
        found = self.signals.known_spectrum
        if self.unknowns.links != "known":
            found = found + self.signals.bodies @ values[self.unknowns.bodies]
        return found

    def joint(self, i: int, values: FloatArray, torque: ComplexArray | None = None) -> JointEquations:
        """The equations of joint i at these values.

        Args:
            i: Number of the joint.
            values: Of all parameters.
            torque: Spectrum of the torque of the links, to take the deflection from it: for instruments.
        """
        elastic = isinstance(self.robot.joints[i].drive, ElasticDrive)
        rows = self.fixed(i).copy()
        if elastic:
            self.add_spring(i, rows, values, torque)
        if elastic and self.recording.tau_e is not None:
            self.add_sensor(i, rows, torque)
        if self.recording.tau is not None:
            row = "motor" if elastic else "rigid"
            self.add_dry_friction(i, rows, values, row)
            self.add_torque(i, rows, values, row)
        return rows.equations(i, values, self.unknowns)

    def motor_equation(self, i: int, values: FloatArray) -> Rows:
        """The equation of the motor of joint i alone, without dry friction; with the links at a rigid joint."""
        elastic = isinstance(self.robot.joints[i].drive, ElasticDrive)
        row = "motor" if elastic else "rigid"
        rows = Rows((row,), len(self.recording.frequencies))
        self.add_inertia(i, rows, row)
        self.add_torque(i, rows, values, row)
        if elastic:
            self.add_spring(i, rows, values, None)
        else:
            self.add_links(i, rows, row)
        return rows

    def fixed(self, i: int) -> Rows:
        """What does not depend on the values, made once."""
        if i not in self._fixed:
            elastic = isinstance(self.robot.joints[i].drive, ElasticDrive)
            rows = self._fixed[i] = Rows(self.channels(i), len(self.recording.frequencies))
            self.add_links(i, rows, "link" if elastic else "rigid")
            if self.recording.tau is not None:
                self.add_inertia(i, rows, "motor" if elastic else "rigid")
        return self._fixed[i]

    def channels(self, i: int) -> tuple[str, ...]:
        """Names of the equations of joint i."""
        motors, sensors = self.recording.tau is not None, self.recording.tau_e is not None
        if not isinstance(self.robot.joints[i].drive, ElasticDrive):
            return ("rigid",) if motors and self.robot.joints[i].drive is not None else ()
        return ("link", *["motor"] * motors, *["sensor"] * sensors)

    def add_links(self, i: int, rows: Rows, row: str) -> None:
        """Columns of the links or the payload."""
        rows.know(row, self.signals.known_spectrum[:, i])
        if self.unknowns.links != "known":
            for k, column in zip(self.unknowns.bodies, self.signals.bodies[:, i].T):
                if np.any(column):
                    rows.add(k, {row: column})

    def add_spring(self, i: int, rows: Rows, values: FloatArray, torque: ComplexArray | None) -> None:
        """Columns of stiffness, damping and zero of the spring."""
        one = self.signals.one[:, i]
        if self.unknowns.springs[i].bent:
            self.add_bent_spring(i, rows, values, torque)
            return
        if torque is None:
            phi, rate = self.signals.deflections[i]
        else:
            K = self.unknowns.parameters[self.unknowns.place(i, "stiffness")].prior  # a scale does not matter here
            phi = (torque[:, i] - values[self.unknowns.place(i, "spring_offset")] * one) / K
            rate = 2j * np.pi * self.recording.frequencies * phi
        for kind, signal in (("stiffness", phi), ("damping", rate), ("spring_offset", one)):
            self.add_transmitted(i, rows, kind, signal)

    def add_bent_spring(self, i: int, rows: Rows, values: FloatArray, torque: ComplexArray | None) -> None:
        """The same for a spring that is not linear.

        Instruments: the columns of the link equation, times the current values, add up to zero.  So no weight of this
        equation, which is homogeneous, draws inertias and stiffnesses together towards zero.
        """
        law, recording = self.unknowns.springs[i], self.recording
        places = [self.unknowns.place(i, kind) for kind in law.kinds]
        measured, rate = (x[:, i] for x in self.signals.measured_deflection)
        if torque is None:
            phi = measured - values[self.unknowns.place(i, "spring_zero")]
        else:
            phi = explained(measured, recording.signal(torque[:, i]), recording.whole(i))
            rate = np.gradient(phi, recording.period)
        slope = np.sum([k * x for k, x in zip(values[places], law.slopes(phi))], axis=0)
        signals = recording.filtered(np.stack([*law.shapes(phi), -slope, rate], axis=1))
        columns = recording.spectrum(signals, joint=i)
        kinds = (*law.kinds, "spring_zero", "damping")
        if torque is not None:
            known = [k for k, kind in enumerate(kinds) if kind not in ("stiffness", "spring_zero")]
            others = columns[:, known] @ values[[self.unknowns.place(i, kinds[k]) for k in known]]
            columns[:, 0] = (torque[:, i] - others) / (values[places[0]] or 1.0)
        for kind, signal in zip(kinds, columns.T):
            self.add_transmitted(i, rows, kind, signal)

    def add_transmitted(self, i: int, rows: Rows, kind: str, signal: ComplexArray) -> None:
        """Column of a parameter of the spring torque; sensors measure the spring, with more or less of its damping."""
        seen = {"sensor": signal}
        if kind == "damping":
            rows.add(self.unknowns.at(i, "sensor_damping"), seen)
            seen = {}
        rows.add(self.unknowns.at(i, kind), {"link": -signal, "motor": signal, **seen})

    def add_inertia(self, i: int, rows: Rows, row: str) -> None:
        """Columns of inertia, viscous friction and zero of the motor."""
        at = self.unknowns.at
        acceleration, velocity = self.recording.spectrum(
            np.stack([self.signals.motor[k][:, i] for k in (2, 1)], axis=1), joint=i
        ).T
        rows.add(at(i, "inertia"), {row: acceleration})
        if at(i, "viscous_backward") is None:
            rows.add(at(i, "viscous"), {row: velocity})
        rows.add(at(i, "torque_offset"), {row: self.signals.one[:, i]})

    def add_dry_friction(self, i: int, rows: Rows, values: FloatArray, row: str) -> None:
        """Columns of dry friction; of all friction where it differs by direction."""
        at, recording = self.unknowns.at, self.recording
        if at(i, "coulomb") is None:
            return
        v, a = (x[:, i] for x in self.signals.rubbing)
        law = {kind: float(values[k]) for kind in ("viscous", *DRY) if (k := at(i, kind)) is not None}
        shapes = mean_dry_friction(v, a, recording.period, law)
        found = recording.spectrum(recording.filtered(np.stack([*shapes.values()], axis=1)), joint=i)
        found /= np.sinc(recording.frequencies * recording.period)[:, None]  # means over a period
        for kind, column in zip(shapes, found.T):
            rows.add(at(i, kind), {row: column})

    def add_torque(self, i: int, rows: Rows, values: FloatArray, row: str) -> None:
        """The torque, and the column of its delay."""
        k = self.unknowns.at(-1, "delay")
        torque, slope = self.torque(i, self.delay if k is None else float(values[k]))
        rows.know(row, -torque)
        rows.add(k, {row: slope})

    def torque(self, i: int, delay: float) -> tuple[ComplexArray, ComplexArray]:
        """Spectra of a motor's torque and of its rate, seen `delay` s later; linear around the last transformed."""
        recording = self.recording
        assert recording.tau is not None
        if i not in self._torques or abs(self._torques[i][0] - delay) > NEARBY:
            shift = recording.held if self.held else recording.shifted
            shifted = shift(recording.tau[:, i : i + 1], delay)[:, 0]
            both = np.stack([shifted, np.gradient(shifted, recording.period)], axis=1)
            both = recording.spectrum(recording.filtered(both), joint=i)
            self._torques[i] = delay, both[:, 0], both[:, 1]
        last, torque, slope = self._torques[i]
        return torque - (delay - last) * slope, slope

    @cached_property
    def sensed(self) -> ComplexArray:
        """Spectrum of the torque sensors, (frequencies, n)."""
        assert self.recording.tau_e is not None
        return self.recording.spectrum(self.recording.filtered(self.recording.tau_e))

    def add_sensor(self, i: int, rows: Rows, torque: ComplexArray | None) -> None:
        """Columns of scale and zero of the torque sensor.

        Instruments: the torque of the links is the sensor's without its noise.  A column with noise draws c towards
        zero, and with it stiffness and inertias, which the link equation does not hold.
        """
        sensed = self.sensed[:, i] if torque is None else torque[:, i]
        rows.add(self.unknowns.at(i, "sensor_offset"), {"sensor": self.signals.one[:, i]})
        if (k := self.unknowns.at(i, "sensor_scale")) is None:
            rows.know("sensor", -sensed)
        else:
            rows.add(k, {"sensor": -sensed})


class Rows:
    """The equations of one joint while they are written down."""

    def __init__(self, channels: tuple[str, ...], width: int):
        self.channels, self.width = channels, width
        self.known = np.zeros((width, len(channels)), dtype=complex)
        self.columns: dict[int, ComplexArray] = {}

    def copy(self) -> Rows:
        """A copy to which more can be added."""
        found = Rows(self.channels, self.width)
        found.known, found.columns = self.known.copy(), dict(self.columns)
        return found

    def know(self, channel: str, signal: ComplexArray) -> None:
        """Add a signal without a parameter to an equation."""
        self.known[:, self.channels.index(channel)] += signal

    def add(self, place: int | None, signals: dict[str, ComplexArray]) -> None:
        """Add what multiplies a parameter, by equation; nothing without the parameter or the equation."""
        if place is None:
            return
        column = self.columns.setdefault(place, np.zeros_like(self.known))
        for channel, signal in signals.items():
            if channel in self.channels:
                column[:, self.channels.index(channel)] += signal

    def equations(self, joint: int, values: FloatArray, unknowns: Unknowns) -> JointEquations:
        """The equations, with their residual at these values."""
        places = tuple(self.columns)
        columns = np.stack([self.columns[k] for k in places], axis=-1)
        factors = [0.0 if unknowns.parameters[k].kind in NONLINEAR else values[k] for k in places]
        residual = self.known + columns @ np.array(factors)
        return JointEquations(joint, self.channels, places, columns, residual)


def explained(x: FloatArray, by: FloatArray, whole: NDArray[np.bool_]) -> FloatArray:
    """The part of a signal that is a smooth function of another one, known at the `whole` samples: without its noise.

    Noise of the deflection that remains in an instrument draws all numbers of the link equation towards zero.
    """
    scaled = by / np.sqrt(np.mean(by**2))
    powers = np.stack([scaled**k for k in range(DEGREE + 1)], axis=1)
    return powers @ np.linalg.lstsq(powers[whole], x[whole], rcond=None)[0]
