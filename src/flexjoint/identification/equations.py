"""Spectra of the equations of motion of a recording: what multiplies each parameter, and what is known.

Each joint has one channel per equation.  The residual of a channel is linear in all parameters but the friction
velocities and the delay, whose columns are derivatives at the current values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..drives import ElasticDrive
from ..robot import Robot
from ..types import FloatArray
from .parameters import Unknowns
from .recordings import ComplexArray, Recording
from .signals import Signals

NONLINEAR = (
    "log_velocity",
    "log_stribeck",
    "delay",
    "spring_zero",
)  # their columns are derivatives at the current values
DRY = ("coulomb", "log_velocity", "rise", "log_stribeck", "viscous_backward", "coulomb_backward", "rise_backward")
SUBSAMPLES = 8  # per period around a reversal of a motor
SAME = 1e-9  # s: delays that differ by less are one
DEGREE = 5  # of the polynomial that gives deflections from torques
NEAR = 5.0  # friction velocities: beyond, dry friction hardly changes within a period


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
        if self.recording.tau is not None:
            self.add_motor(i, rows, values, "motor" if elastic else "rigid")
        return rows.equations(i, values, self.unknowns)

    def motor_equation(self, i: int, values: FloatArray) -> JointEquations:
        """The equation of the motor of joint i alone; with the links at a rigid joint."""
        elastic = isinstance(self.robot.joints[i].drive, ElasticDrive)
        row = "motor" if elastic else "rigid"
        rows = Rows((row,), len(self.recording.frequencies))
        self.add_inertia(i, rows, row)
        self.add_motor(i, rows, values, row)
        if elastic:
            self.add_spring(i, rows, values, None)
        else:
            self.add_links(i, rows, row)
        return rows.equations(i, values, self.unknowns)

    def fixed(self, i: int) -> Rows:
        """What does not depend on the values, made once."""
        if i not in self._fixed:
            elastic = isinstance(self.robot.joints[i].drive, ElasticDrive)
            rows = self._fixed[i] = Rows(self.channels(i), len(self.recording.frequencies))
            self.add_links(i, rows, "link" if elastic else "rigid")
            if elastic and self.recording.tau_e is not None:
                self.add_sensor(i, rows)
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
            rows.add(self.unknowns.at(i, kind), {"link": -signal, "motor": signal, "sensor": signal})

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
            rows.add(self.unknowns.at(i, kind), {"link": -signal, "motor": signal, "sensor": signal})

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

    def add_motor(self, i: int, rows: Rows, values: FloatArray, row: str) -> None:
        """Columns of dry friction and of the delay of the torque, and the torque."""
        at, recording = self.unknowns.at, self.recording
        v, a = (x[:, i] for x in self.signals.rubbing)
        if at(i, "coulomb") is not None:
            law = {kind: float(values[k]) for kind in ("viscous", *DRY) if (k := at(i, kind)) is not None}
            shapes = mean_dry_friction(v, a, recording.period, law)
            found = recording.spectrum(recording.filtered(np.stack([*shapes.values()], axis=1)), joint=i)
            found /= np.sinc(recording.frequencies * recording.period)[:, None]  # means over a period
            for kind, column in zip(shapes, found.T):
                rows.add(at(i, kind), {row: column})
        k = at(-1, "delay")
        torque, slope = self.torque(i, self.delay if k is None else float(values[k]))
        rows.know(row, -torque)
        rows.add(k, {row: slope})

    def torque(self, i: int, delay: float) -> tuple[ComplexArray, ComplexArray]:
        """Spectra of a motor's torque and of its rate, seen `delay` s later; kept until the delay changes."""
        recording = self.recording
        assert recording.tau is not None
        if i not in self._torques or abs(self._torques[i][0] - delay) > SAME:
            shift = recording.held if self.held else recording.shifted
            torque = shift(recording.tau[:, i : i + 1], delay)[:, 0]
            both = np.stack([torque, np.gradient(torque, recording.period)], axis=1)
            both = recording.spectrum(recording.filtered(both), joint=i)
            self._torques[i] = delay, both[:, 0], both[:, 1]
        return self._torques[i][1:]

    def add_sensor(self, i: int, rows: Rows) -> None:
        """Columns of gain and zero of the torque sensor."""
        assert self.recording.tau_e is not None
        sensed = self.recording.spectrum(self.recording.filtered(self.recording.tau_e)[:, i], joint=i)
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
        linear = [j for j, k in enumerate(places) if unknowns.parameters[k].kind not in NONLINEAR]
        residual = self.known + columns[..., linear] @ values[[places[j] for j in linear]]
        return JointEquations(joint, self.channels, places, columns, residual)


def explained(x: FloatArray, by: FloatArray, whole: NDArray[np.bool_]) -> FloatArray:
    """The part of a signal that is a smooth function of another one, known at the `whole` samples: without its noise.

    Noise of the deflection that remains in an instrument draws all numbers of the link equation towards zero.
    """
    scaled = by / np.sqrt(np.mean(by**2))
    powers = np.stack([scaled**k for k in range(DEGREE + 1)], axis=1)
    return powers @ np.linalg.lstsq(powers[whole], x[whole], rcond=None)[0]


def dry_friction(v: FloatArray, law: Mapping[str, float]) -> dict[str, FloatArray]:
    """Derivatives of dry friction by its parameters; of all friction where it differs by direction.

        F = (F_c + (F_s − F_c) e) t,     t = tanh(v/v_c), e = exp(−(v/v_s)²)
        F = ½ (1 + t) F₊ + ½ (1 − t) F₋,    F± = D± v + (F_c± + (F_s± − F_c±) e) t

    Args:
        v: Velocities, rad/s or m/s.
        law: Values of the parameters by kind; velocities by their logarithms, F_s − F_c as "rise".
    """
    x = v / math.exp(law["log_velocity"])
    t = np.tanh(x)
    bend = x * (t * t - 1)  # of t by ln v_c
    y = (v / math.exp(law["log_stribeck"])) ** 2 if "rise" in law else np.zeros_like(v)
    e = np.exp(-y)

    def side(suffix: str) -> tuple[dict[str, FloatArray], FloatArray, FloatArray]:
        """Columns of one direction, their friction over t, and its derivative by ln v_s over t."""
        rise = law.get(f"rise{suffix}", 0.0)
        columns = {f"coulomb{suffix}": t} | ({f"rise{suffix}": e * t} if "rise" in law else {})
        return columns, law[f"coulomb{suffix}"] + rise * e, 2 * rise * y * e

    found, level, fall = side("")
    if "coulomb_backward" not in law:
        slope = level
    else:
        back, back_level, back_fall = side("_backward")
        found["viscous"], back["viscous_backward"] = v, v
        D, D_back = law["viscous"], law["viscous_backward"]
        ahead, behind = (1 + t) / 2, (1 - t) / 2
        slope = (D - D_back) * v / 2 + (level - back_level) * t / 2 + ahead * level + behind * back_level
        found = {kind: ahead * x for kind, x in found.items()} | {kind: behind * x for kind, x in back.items()}
        fall = ahead * fall + behind * back_fall
    found["log_velocity"] = slope * bend
    return found | ({"log_stribeck": fall * t} if "rise" in law else {})


def mean_dry_friction(v: FloatArray, a: FloatArray, h: float, law: Mapping[str, float]) -> dict[str, FloatArray]:
    """The same as means over one period around each sample: a reversal takes less than a period."""
    offsets = h * ((np.arange(SUBSAMPLES) + 0.5) / SUBSAMPLES - 0.5)
    found = {kind: np.array(x) for kind, x in dry_friction(v, law).items()}
    fast = np.flatnonzero(np.abs(v) < NEAR * math.exp(law["log_velocity"]) + np.abs(a) * h)
    near = dry_friction(v[fast, None] + a[fast, None] * offsets, law)
    for kind, x in found.items():
        x[fast] = np.mean(near[kind], axis=1)
    return found
