"""Equations of motion of the motors of joints with two motors, as spectra.

    motor k:  B_k θ_k'' + F_k(θ_k') + D φ_k' + τ_k(φ_1, φ_2; p) + τ_0k = τ of motor k
    sensor:   τ_1 + c τ_2 + D (φ_1' + c φ_2') + τ_0 = τ_e

with the torques τ_k of any design (docs/variable-stiffness.md) and its numbers p: stiffness and rate of sinh or
exponential springs, arm of a lever.  Derivatives by p are CasADi's.  Numbers that are not zero keep their sign, and are
estimated by the logarithms of their magnitudes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..drives import VariableStiffnessDrive
from ..robot import Robot
from ..robot.parameters import with_symbols
from ..spatial import ca
from ..types import Expression, FloatArray
from .dry_friction import DRY, mean_dry_friction
from .equations import JointEquations
from .parameters import Unknowns
from .recordings import ComplexArray, Recording
from .signals import Signals
from .transmission_parameters import law_numbers, motor_place


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
