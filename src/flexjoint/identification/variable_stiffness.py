"""Spring laws of joints of variable stiffness, from logs of both motors, the link and torques.

The torque of each motor shows its part of the transmission by itself, so the links need not be known:

    motor k:  B_k θ_k'' + F_k(θ_k') + D φ_k' + τ_k(φ_1, φ_2; p) + τ_0k = τ of motor k
    sensor:   τ_1 + c τ_2 + D (φ_1' + c φ_2') + τ_0 = τ_e

with the torques τ_k of any design (docs/variable-stiffness.md) and its numbers p: stiffness and rate of sinh or
exponential springs, arm of a lever.  Derivatives by p are CasADi's.  Numbers that are not zero keep their sign, and are
estimated by the logarithms of their magnitudes.  Weights, instruments and covariances are those of `least_squares.py`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..drives import Motor, VariableStiffnessDrive, friction_law
from ..drives.friction import friction_fields
from ..errors import InputError, listed
from ..logs import Log
from ..progress import activity
from ..robot import Robot, numeric
from ..robot.parameters import found_in, with_symbols
from ..spatial import ca
from ..types import Expression, FloatArray
from .dry_friction import DRY, mean_dry_friction
from .equations import JointEquations
from .estimates import IDENTIFIED, SIGNIFICANT, UNKNOWN, WEAK, Estimate
from .identifiability import CORRELATED, GOOD, POOR
from .laws import estimated_friction
from .least_squares import Fit, fit
from .model_search import motion_band
from .parameters import Parameter, Unknowns, friction_parameters
from .recordings import ComplexArray, Recording, recordings
from .residuals import ResidualTest, residual_tests
from .signals import Signals
from .spring_shapes import LINEAR

NAME = "identify_variable_stiffness"
SPREAD = 2.0  # deviation of the logarithm of a number of a law, before any data


@dataclass(frozen=True, eq=False, repr=False)
class VariableStiffnessIdentification:
    """What logs tell about the transmissions of joints of variable stiffness.

    Args:
        prior: The robot before.
        estimates: Every estimated number, with deviation, prior and verdict.
        covariance: Of their values.
        tests: Tests of the residuals, one per motor and sensor.
        fit: The fit itself.
    """

    prior: Robot
    estimates: tuple[Estimate, ...]
    covariance: FloatArray
    tests: tuple[ResidualTest, ...]
    fit: Fit

    def __getitem__(self, name: str) -> Estimate:
        """The estimate with this name, such as joint1.drive.spring_1.stiffness."""
        found = {x.name: x for x in self.estimates}
        if name not in found:
            raise KeyError(f"{name}; estimated are {listed(found)}")
        return found[name]

    def __repr__(self) -> str:
        good = sum(x.verdict == IDENTIFIED for x in self.estimates)
        count = len(self.estimates)
        return f"<VariableStiffnessIdentification of {self.prior.name}: {good} of {count} parameters identified>"

    @property
    def passed(self) -> bool:
        """Whether all residuals look like noise."""
        return all(x.passed for x in self.tests)

    @cached_property
    def robot(self) -> Robot:
        """The robot with the identified transmissions; what is unknown stays as it was."""
        known = {x.name: x.value for x in self.estimates if x.verdict != UNKNOWN}
        drives = []
        for joint in self.prior.joints:
            drive: Any = joint.drive
            if isinstance(drive, VariableStiffnessDrive):
                path = f"{joint.name}.drive"
                motors = {f"motor_{k}": self._motor(x, f"{path}.motor_{k}.") for k, x in enumerate(drive.motors, 1)}
                drive = dataclasses.replace(changed(drive, f"{path}.", known), **motors)
            drives.append(drive)
        return self.prior.with_drives(drives)

    def _motor(self, motor: Motor, path: str) -> Motor:
        """A motor with the identified inertia and friction."""
        own = [x for x in self.estimates if x.name.startswith(path)]
        known = {x.kind: x.value for x in own if x.verdict != UNKNOWN}
        law = friction_law(motor)
        if "viscous" in known or "coulomb" in known:
            law = estimated_friction(known, {x.kind: x.value for x in own}, law.velocity)
        fields = friction_fields(law, short=False)
        return dataclasses.replace(motor, inertia=known.get("inertia", motor.inertia), **fields)


def identify_variable_stiffness(
    robot: Robot,
    logs: Log | Sequence[Log],
    *,
    friction: str = "coulomb",
    held: bool = True,
    delay: float = 0.0,
    bandwidth: float | None = None,
) -> VariableStiffnessIdentification:
    """Spring laws, motor inertias and friction of joints of variable stiffness from logs, with deviations.

    The zeros of the encoders are taken as known: a deflection that is read wrongly by a constant is another law of the
    same form for many springs.

    Args:
        robot: The robot, with prior values; its rigid and elastic joints are left as they are.
        logs: One or several logs of it: q, theta and tau of both motors; tau_e of torque sensors is used if logged.
        friction: Of the motors: "viscous", "coulomb" or "stribeck".  By default coulomb.
        held: Whether a sample of tau is held until the next one; False if it was measured at its time.  By default
            True.
        delay: Delay of the positions against tau, s; by default 0.
        bandwidth: Highest frequency that is fitted, Hz; by default 1/20 of the sampling rate, at most 50 Hz.

    Returns:
        A VariableStiffnessIdentification.

    Raises:
        InputError: No joint has variable stiffness, or a log lacks q, theta or tau.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("vsa_3r")
        >>> log = fj.logs.read_log("log.csv", robot)  # doctest: +SKIP
        >>> fj.identification.identify_variable_stiffness(robot, log)["joint1.drive.spring_1.cubic"]  # doctest: +SKIP
    """
    given = [logs] if isinstance(logs, Log) else list(logs)
    if not any(numeric(NAME, robot).variable_stiffness):
        raise InputError(f"{NAME}: {robot.name} has no joint of variable stiffness; use fj.identification.identify")
    if friction not in ("viscous", "coulomb", "stribeck"):
        raise InputError(f"{NAME}: friction is {friction!r}; it must be viscous, coulomb or stribeck")
    for log in given:
        lacking = [name for name in ("q", "theta", "tau") if getattr(log, name) is None]
        if lacking:
            raise InputError(
                f"{NAME}: a log has no {listed(lacking)}; the law of each spring is seen in the torque of its motor, "
                "at its deflection theta − q"
            )
    if not given:
        raise InputError(f"{NAME}: give at least one log")
    parts = [x for log in given for x in recordings(log, bandwidth)]
    sensors = all(x.tau_e is not None for x in parts)
    what = unknown_numbers(robot, friction, sensors)
    with activity(f"identifying {robot.name}"):
        measured, smooth = (
            [TransmissionEquations(robot, x, what, held, delay, band(x)) for x in parts]
            for band in (lambda _: None, motion_band)
        )
        found = fit(measured, smooth, what, what.priors)  # type: ignore[arg-type]
    reached = [[x.reach(i) for x in measured] for i in range(robot.n)]
    return result(robot, what, found, reached)


# Parameters ---------------------------------------------------------------------------------------------------------


def law_numbers(robot: Robot, i: int) -> dict[str, float]:
    """Numbers of the transmission of joint i, by path."""
    start = f"{robot.joints[i].name}.drive."
    drive = robot.joints[i].drive
    assert drive is not None
    return {
        path: value
        for parameter in found_in(robot).values()
        if parameter.path.startswith(start) and not parameter.path.startswith((f"{start}motor_", f"{start}damping"))
        for path, value in parameter.numbers.items()
        if not path.startswith(f"{start}greatest_damping")
    }


def unknown_numbers(robot: Robot, friction: str, sensors: bool) -> Unknowns:
    """Everything that is estimated; the number of a motor stands for a joint."""
    found: list[Parameter] = []
    for i, joint in enumerate(robot.joints):
        drive = joint.drive
        if not isinstance(drive, VariableStiffnessDrive):
            continue
        path = f"{joint.name}.drive"
        units = {x: y.unit for y in found_in(robot).values() for x in y.elements}
        for name, value in law_numbers(robot, i).items():
            if value:
                found.append(Parameter(name, f"log {name}", i, units[name], math.log(abs(value)), SPREAD))
            else:
                found.append(Parameter(name, f"law {name}", i, units[name], 0.0, 1e3, known=False))
        torque, per = ("Nm", "rad") if joint.kind.angular else ("N", "m")
        found.append(Parameter(f"{path}.damping", "damping", i, f"{torque} s/{per}", float(drive.damping), 1e3))
        for k, motor in enumerate(drive.motors):
            j = motor_place(robot, i, k)
            own = f"{path}.motor_{k + 1}"
            torque, per = ("N", "m") if k and drive.slides else (torque, per)
            unit = "kg m²" if per == "rad" else "kg"
            found.append(Parameter(f"{own}.inertia", "inertia", j, unit, float(motor.inertia), 1e2))
            found.append(Parameter(f"{own}.torque_offset", "torque_offset", j, torque, 0.0, 1e2, False))
            found += [
                dataclasses.replace(x, name=x.name.replace(f"{path}.motor.", f"{own}."))
                for x in friction_parameters(j, path, friction_law(motor), friction, torque, per)
            ]
        if sensors:
            found.append(Parameter(f"{path}.sensor_offset", "sensor_offset", i, torque, 0.0, 1e2, False))
    return Unknowns(tuple(found), (friction,) * robot.n, "known", (LINEAR,) * robot.n)


def motor_place(robot: Robot, i: int, k: int) -> int:
    """Number of the k-th motor of joint i."""
    return [m for m, joint in enumerate(robot.motor_joints) if joint == i][k]


# Equations ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TransmissionEquations:
    """Spectra of the motor equations of a recording, as `least_squares.fit` takes them.

    Args:
        robot: The robot.
        recording: The recording.
        unknowns: What is estimated.
        held, delay: See `identify_variable_stiffness`.
        passband: Frequency up to which positions are used, Hz; None for twice the bandwidth.
    """

    robot: Robot
    recording: Recording
    unknowns: Unknowns
    held: bool
    delay: float
    passband: float | None = None
    _kernels: dict[int, tuple[list[int], Kernel]] = field(default_factory=dict, init=False)

    @cached_property
    def signals(self) -> Signals:
        """Motion of links and motors."""
        return Signals(self.robot, self.recording, "known", self.passband)

    def link_torque(self, values: FloatArray) -> ComplexArray:
        """Nothing: instruments come from the motion alone."""
        return np.zeros((0, 0), dtype=complex)

    def channels(self, i: int) -> tuple[str, ...]:
        """Names of the equations of joint i."""
        if not isinstance(self.robot.joints[i].drive, VariableStiffnessDrive):
            return ()
        return ("motor 1", "motor 2", *["sensor"] * (self.recording.tau_e is not None))

    def deflections(self, i: int) -> tuple[FloatArray, FloatArray]:
        """φ and φ' of joint i, (m, 2) each."""
        drive = self.robot.joints[i].drive
        places = [motor_place(self.robot, i, k) for k in range(2)]
        share = np.array([1.0, float(drive.c)])  # type: ignore[union-attr]
        theta, link = self.signals.motor, self.signals.link
        found = [theta[k][:, places] - link[k][:, i : i + 1] * share for k in range(2)]
        return found[0], found[1]

    def reach(self, i: int) -> FloatArray:
        """Least and greatest deflections of joint i, (2, 2)."""
        phi = self.deflections(i)[0] if self.channels(i) else np.zeros((1, 2))
        return np.stack([phi.min(axis=0), phi.max(axis=0)])

    def law(self, i: int) -> tuple[list[int], Kernel]:
        """Places of the numbers of a transmission, and the kernel (φ, numbers) -> torques and their derivatives."""
        if i not in self._kernels:
            names = list(law_numbers(self.robot, i))
            place = {x.name: k for k, x in enumerate(self.unknowns.parameters)}
            self._kernels[i] = [place[x] for x in names], law_kernel(self.robot, i, tuple(names))
        return self._kernels[i]

    def joint(self, i: int, values: FloatArray, torque: ComplexArray | None = None) -> JointEquations:
        """The equations of joint i at these values."""
        recording, at, count = self.recording, self.unknowns.at, len(self.channels(i))
        drive = self.robot.joints[i].drive
        assert isinstance(drive, VariableStiffnessDrive) and recording.tau is not None
        shares = np.array([1.0, float(drive.c)])
        m = recording.count
        residual: FloatArray = np.zeros((m, count))
        columns: dict[int, FloatArray] = {}

        def add(place: int | None, row: int, signal: FloatArray) -> None:
            if place is not None and row < count:
                columns.setdefault(place, np.zeros((m, count)))[:, row] += signal

        phi, rate = self.deflections(i)
        places, kernel = self.law(i)
        numbers, slopes = natural_law(self.robot, i, values[places])
        tau, by_numbers = kernel(np.ascontiguousarray(phi), numbers)
        both = np.stack([np.eye(2)[0], np.eye(2)[1], shares])[:count]  # what of the springs each equation has
        residual += tau @ both.T
        for j, place in enumerate(places):
            for row in range(count):
                add(place, row, by_numbers[:, :, j] @ both[row] * slopes[j])
        damping = at(i, "damping")
        for row in range(count):
            signal = rate @ (both[row] * shares)
            add(damping, row, signal)
            residual[:, row] += values[damping] * signal if damping is not None else 0.0
        held = recording.held if self.held else recording.shifted
        for k in range(2):
            j = motor_place(self.robot, i, k)
            v, a = (self.signals.motor[order][:, j] for order in (1, 2))
            residual[:, k] -= held(recording.tau[:, j : j + 1], self.delay)[:, 0]
            linear = {"inertia": a, "viscous": v, "torque_offset": np.ones(m)}
            law = {kind: float(values[p]) for kind in DRY if (p := at(j, kind)) is not None}
            shapes = mean_dry_friction(v, a, recording.period, law) if "coulomb" in law else {}
            for kind, signal in (linear | shapes).items():
                own = at(j, kind)
                add(own, k, signal)
                if own is not None and not kind.startswith("log"):
                    residual[:, k] += values[own] * signal
        if recording.tau_e is not None:
            zero = at(i, "sensor_offset")
            add(zero, 2, np.ones(m))
            residual[:, 2] += (0.0 if zero is None else values[zero]) - recording.tau_e[:, i]
        stacked = recording.spectrum(np.stack([*columns.values()], axis=-1))
        return JointEquations(i, self.channels(i), tuple(columns), stacked, recording.spectrum(residual))


def natural_law(robot: Robot, i: int, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Numbers of a transmission from its parameters, and their derivatives: logarithms of those that are not zero."""
    priors = np.array([*law_numbers(robot, i).values()])
    numbers = np.where(priors != 0, np.copysign(np.exp(np.minimum(values, 100.0)), priors), values)
    return numbers, np.where(priors != 0, numbers, 1.0)


def law_kernel(robot: Robot, i: int, names: tuple[str, ...]) -> Kernel:
    """Kernel (φ, numbers) -> torques of both motors (2,), and their derivatives by the numbers (2, count)."""

    def function(phi: Expression, p: Expression) -> list[tuple[Array, Expression]]:
        drive: Any = with_symbols(robot, dict(zip(names, ca.vertsplit(p)))).joints[i].drive
        tau = ca.vertcat(*drive.torques(phi[0], phi[1]))
        slopes = ca.jacobian(tau, p)
        return [(Array("tau", (2,)), ca.densify(tau)), (Array("slopes", (2, len(names))), ca.densify(slopes))]

    inputs = [Array("phi", (2,)), Array("p", (len(names),))]
    key = f"transmission {robot.digest} {i} {names}"
    return kernel_of(f"transmission of {robot.joints[i].name}", inputs, function, key, loops=False)


# Result -------------------------------------------------------------------------------------------------------------


def result(
    robot: Robot, what: Unknowns, found: Fit, reached: Sequence[Sequence[FloatArray]]
) -> VariableStiffnessIdentification:
    """Estimates with verdicts; numbers that the deflections do not show are named."""
    tests = residual_tests(found.channels)
    worst = {x.joint: max([y.misfit for y in tests if y.joint == x.joint] + [1.0]) for x in tests}
    priors = {
        name: x for i in range(robot.n) if robot.variable_stiffness[i] for name, x in law_numbers(robot, i).items()
    }
    values, slopes = found.values.copy(), np.ones(len(found.values))
    for k, x in enumerate(what.parameters):
        if x.kind.startswith("log"):
            values[k] = slopes[k] = np.copysign(np.exp(values[k]), priors.get(x.name, 1.0))
        elif x.kind == "rise":
            values[k] += values[what.place(x.joint, "coulomb")]
    joints = [robot.motor_joints[x.joint] for x in what.parameters]
    factor = np.sqrt([worst[i] for i in joints]) * np.abs(slopes)
    covariance = found.covariance * factor[:, None] * factor
    scale = 1 / np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance * scale[:, None] * scale
    estimates = []
    for k, (x, i) in enumerate(zip(what.parameters, joints)):
        deviation = float(1 / scale[k])
        verdict, reason = verdict_of(x, float(values[k]), deviation, reached[i])
        others = [j for j in range(len(values)) if j != k and abs(correlation[k, j]) > CORRELATED]
        if verdict != IDENTIFIED and others:
            j = max(others, key=lambda j: abs(correlation[k, j]))
            reason += f"; correlated {correlation[k, j]:+.3f} with {what.parameters[j].name}"
        prior = priors.get(x.name, x.prior if x.known and not x.kind.startswith("log") else math.nan)
        estimates.append(Estimate(x.name, x.kind, i, x.unit, float(values[k]), deviation, prior, verdict, reason))
    return VariableStiffnessIdentification(robot, tuple(estimates), covariance, tuple(tests), found)


def verdict_of(x: Parameter, value: float, deviation: float, reached: Sequence[FloatArray]) -> tuple[str, str]:
    """Verdict and reason."""
    if x.kind in ("torque_offset", "sensor_offset"):
        return IDENTIFIED, ""
    if x.kind == "damping" and value < SIGNIFICANT * deviation:
        return UNKNOWN, "not significant"
    share = deviation / abs(value) if value else math.inf
    if x.kind.startswith(("log", "law")) and ".friction." not in x.name:
        share = min(share, deviation) if x.kind.startswith("law") else share
        low, high = np.min([y[0] for y in reached], axis=0), np.max([y[1] for y in reached], axis=0)
        advice = (
            f"the deflections reach only {low[0]:.2g} to {high[0]:.2g} and {low[1]:.2g} to {high[1]:.2g}: tighten the "
            "motors against each other and load the link more"
        )
    else:
        advice = "needs a motion with more of it"
    if share <= GOOD:
        return IDENTIFIED, ""
    return (WEAK if share <= POOR else UNKNOWN), f"deviation {100 * share:.2g} %; {advice}"


def changed(item: Any, prefix: str, known: Mapping[str, float]) -> Any:
    """A drive, spring or motor with the numbers that are known by path; checked as it is made."""
    changes: dict[str, Any] = {}
    for one in dataclasses.fields(item):
        value, path = getattr(item, one.name), prefix + one.name
        if path in known:
            changes[one.name] = known[path]
        elif dataclasses.is_dataclass(value):
            changes[one.name] = changed(value, f"{path}.", known)
        elif isinstance(value, tuple) and any(f"{path}.{k}" in known for k in range(len(value))):
            changes[one.name] = tuple(known.get(f"{path}.{k}", x) for k, x in enumerate(value))
    return dataclasses.replace(item, **changes)
