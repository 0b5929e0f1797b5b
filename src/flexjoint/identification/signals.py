"""Motion of a recording and what the links require for it: made once, whatever is estimated of the drives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..compiler.runtime.kernel import BLOCKS_FROM
from ..drives import friction_law
from ..dynamics import base_parameters, base_regressor, inverse_dynamics, regressor
from ..robot import Robot
from ..types import FloatArray
from .recordings import ComplexArray, Recording

SHARPEST = 100.0  # Hz, passband of the velocity for dry friction: beyond, encoder noise grows faster
ROWS = BLOCKS_FROM - 1  # samples per call of a regressor: compiling its code for batches takes 1.1 s, which saves 0.1 s


@dataclass(frozen=True, eq=False)
class Signals:
    """Motion, deflections and link torques of a recording.

    Args:
        robot: The robot, with its prior values.
        recording: The recording.
        links: What is estimated of the links: base, payload or known.
        passband: Frequency up to which positions are used, Hz; by default twice the bandwidth.
        source: Where link positions come from: q, or reference for instruments.
    """

    robot: Robot
    recording: Recording
    links: str
    passband: float | None = None
    source: str = "q"

    @cached_property
    def link(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """q, q', q''."""
        return self.recording.motion(self.source, self.passband)

    @cached_property
    def motor(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """θ, θ', θ''."""
        return self.link if self.recording.theta is None else self.recording.motion("theta", self.passband)

    @cached_property
    def rubbing(self) -> tuple[FloatArray, FloatArray]:
        """θ', θ'' for dry friction, which reversals bend sharply: with frequencies far above the bandwidth."""
        recording = self.recording
        edge = min(0.25 / recording.period, SHARPEST)
        if self.passband is not None or edge <= 2 * recording.bandwidth:
            return self.motor[1:]
        return recording.motion("q" if recording.theta is None else "theta", edge)[1:]

    @cached_property
    def coarse(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """q, q', q'' on the coarse grid."""
        every = self.recording.every
        return tuple(np.ascontiguousarray(x[::every]) for x in self.link)  # type: ignore[return-value]

    @cached_property
    def body_columns(self) -> FloatArray:
        """Columns of the links or the payload on the coarse grid, (samples, n, parameters)."""
        q, v, a = self.coarse
        pieces = [slice(k, k + ROWS) for k in range(0, len(q), ROWS)]
        if self.links == "base":
            return np.concatenate([base_regressor(self.robot, q[p], v[p], v[p], a[p]) for p in pieces])
        place = 10 * self.robot.link_index(None)
        return np.concatenate([regressor(self.robot, q[p], v[p], v[p], a[p])[..., place : place + 10] for p in pieces])

    @cached_property
    def bodies(self) -> ComplexArray:
        """Spectra of these columns, (frequencies, n, parameters)."""
        return self.recording.spectrum(self.body_columns, self.recording.every)

    @cached_property
    def known_torque(self) -> FloatArray:
        """Torque of the links that is not estimated, on the coarse grid: all of it, or that of springs and friction."""
        q, v, a = self.coarse
        bare = self.robot.without_drives()
        if self.links == "base" and not needs_passive(bare):
            return np.zeros_like(q)
        whole = np.asarray(inverse_dynamics(bare, q, v, a))
        if self.links != "base":
            return whole
        pi = base_parameters(self.robot).of(self.robot)
        inertial = [
            base_regressor(self.robot, q[p : p + ROWS], *(x[p : p + ROWS] for x in (v, v, a))) @ pi
            for p in range(0, len(q), ROWS)
        ]
        return whole - np.concatenate(inertial)

    @cached_property
    def known_spectrum(self) -> ComplexArray:
        """Spectrum of `known_torque`, (frequencies, n)."""
        return self.recording.spectrum(self.known_torque, self.recording.every)

    @cached_property
    def measured_deflection(self) -> tuple[FloatArray, FloatArray]:
        """θ − q and θ' − q' as measured, whatever the source of link positions, (m, n) each."""
        link = self.link if self.source == "q" else self.recording.motion("q", self.passband)
        return self.motor[0] - link[0], self.motor[1] - link[1]

    @cached_property
    def deflections(self) -> list[tuple[ComplexArray, ComplexArray]]:
        """Spectra of θ − q and θ' − q', by joint."""
        phi, rate = (self.recording.spectrum(self.motor[k] - self.link[k]) for k in range(2))
        return [*zip(phi.T, rate.T)]

    @cached_property
    def one(self) -> ComplexArray:
        """Spectrum of a constant, (frequencies, n)."""
        return self.recording.spectrum(np.ones_like(self.recording.q))

    def windowed(self, windows: FloatArray) -> Signals:
        """The same motion with other weights of the samples (m, n); what does not depend on them is kept."""
        found = replace(self, recording=replace(self.recording, windows=windows))
        kept = ("link", "motor", "rubbing", "coarse", "body_columns", "known_torque")
        found.__dict__.update({name: self.__dict__[name] for name in kept if name in self.__dict__})
        return found


def needs_passive(bare: Robot) -> bool:
    """Whether joints themselves have friction or parallel springs."""
    return bool(bare.parallel_springs) or any(friction_law(x).present for x in bare.joints)
