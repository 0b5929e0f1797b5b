"""The result of an identification: estimates, tests, the identified robot, and its drive file."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..drives import ElasticDrive, Friction, RigidDrive, friction_law
from ..errors import InputError, listed
from ..formats.drive_files import DriveFile
from ..formats.writing import write_robot
from ..html import table
from ..robot import Robot
from ..robot.sources import Source, numbers
from ..springs import Spring
from ..types import FloatArray
from .drive_priors import deviation_note, independent_growth
from .drive_text import TRUST, drive_text
from .equations import Equations
from .estimates import IDENTIFIED, UNKNOWN, Estimate, with_deviation
from .gear_losses import GearLoss
from .laws import estimated_friction
from .least_squares import Fit
from .physical_links import PhysicalLinks, physical_links, with_physical_payload
from .residuals import ResidualTest, Score


class Curves(NamedTuple):
    """Measured and predicted torque of a joint.

    Args:
        equation: Name of the equation: motor, rigid, sensor or link.
        t: Times, s.
        torque: Measured, within the bandwidth, faded in and out, Nm or N.
        predicted: By the equation.
        residual: Difference of both.
        unit: Of the torque, Nm or N.
    """

    equation: str
    t: FloatArray
    torque: FloatArray
    predicted: FloatArray
    residual: FloatArray
    unit: str


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """What the logs tell about a robot.

    Args:
        prior: The robot before the identification.
        estimates: Every estimated number, with deviation, prior and verdict.
        covariance: Of the values of the estimates.
        tests: Tests of the residuals, one per equation of each joint.
        scores: What the residuals ask for beyond the model.
        notes: What could not be estimated, and why; what was found in the logs.
        bandwidth: Highest frequency that was fitted, Hz.
        condition: Condition number of the equations, columns scaled to equal length, without priors.
        origin: The logs, as text.
        fit: The fit itself.
        equations: The equations of motion of each recording.
        doubts: What shows that columns of the logs are clipped, in other units or of another joint.
        validation: Error of the motor torque predicted for logs that were not used, relative to the torque, both root
            mean squares, by joint; empty without such logs.
        gear_losses: Backlash and hysteresis that the logs show; the model has none.
    """

    prior: Robot
    estimates: tuple[Estimate, ...]
    covariance: FloatArray
    tests: tuple[ResidualTest, ...]
    scores: tuple[Score, ...]
    notes: tuple[str, ...]
    bandwidth: float
    condition: float
    origin: str
    fit: Fit
    equations: tuple[Equations, ...]
    doubts: tuple[str, ...] = ()
    validation: Mapping[str, float] = field(default_factory=dict)
    gear_losses: tuple[GearLoss, ...] = ()

    def __getitem__(self, name: str) -> Estimate:
        """The estimate with this name, such as joint1.drive.stiffness."""
        found = {x.name: x for x in self.estimates}
        if name not in found:
            raise KeyError(f"{name}; estimated are {listed(found)}")
        return found[name]

    def __repr__(self) -> str:
        good = sum(x.verdict == IDENTIFIED for x in self.estimates)
        return f"<Identification of {self.prior.name}: {good} of {len(self.estimates)} parameters identified>"

    def _repr_html_(self) -> str:
        rows = [
            (
                x.name,
                with_deviation(x.value, x.deviation),
                "" if np.isnan(x.prior) else f"{x.prior:.6g}",
                x.unit,
                x.verdict,
                x.reason,
            )
            for x in self.estimates
        ]
        return table(rows, ("parameter", "value", "prior", "unit", "verdict", "reason"), caption=repr(self)[1:-1])

    @property
    def values(self) -> dict[str, float]:
        """Values by name."""
        return {x.name: x.value for x in self.estimates}

    @property
    def deviations(self) -> dict[str, float]:
        """Standard deviations by name."""
        return {x.name: x.deviation for x in self.estimates}

    @property
    def correlation(self) -> FloatArray:
        """Correlations of the estimates."""
        scale = 1 / np.sqrt(np.maximum(np.diag(self.covariance), 1e-300))
        return self.covariance * scale[:, None] * scale

    @property
    def passed(self) -> bool:
        """Whether all residuals look like noise and ask for nothing more, and nothing is doubtful."""
        return not self.doubts and all(x.passed for x in self.tests) and not any(x.asked for x in self.scores)

    @cached_property
    def robot(self) -> Robot:
        """The robot with the identified drives; what is unknown stays as it was."""
        return self.prior.with_drives([self._drive(i) for i in range(self.prior.n)])

    def of(self, joint: int) -> dict[str, Estimate]:
        """Estimates of a joint that are known at least weakly, by kind."""
        return {x.kind: x for x in self.estimates if x.joint == joint and x.verdict != UNKNOWN}

    def _drive(self, i: int) -> Any:
        drive = self.prior.joints[i].drive
        known = self.of(i)
        if not isinstance(drive, ElasticDrive | RigidDrive) or not known:
            return drive
        motor = drive.motor
        if "inertia" in known:
            motor = dataclasses.replace(motor, inertia=known["inertia"].value)
        if "viscous" in known or "coulomb" in known:
            plain: dict[str, Any] = dict.fromkeys(("viscous_friction", "coulomb_friction", "coulomb_velocity"), 0.0)
            motor = dataclasses.replace(motor, **plain, friction=self._friction(i, friction_law(motor)))
        changes: dict[str, Any] = {"motor": motor}
        if isinstance(drive, ElasticDrive):
            changes |= {"stiffness": self._spring(i, drive)} if "stiffness" in known else {}
            changes |= {"damping": max(known["damping"].value, 0.0)} if "damping" in known else {}
        return dataclasses.replace(drive, **changes)

    def _spring(self, i: int, drive: ElasticDrive) -> float | Spring:
        """Spring law of a joint; numbers that are not known stay as they were."""
        shape, known = self.equations[0].unknowns.springs[i], self.of(i)
        before = {kind: value for kind, _, value, _ in shape.numbers(drive.law)}
        return shape.spring({kind: known[kind].value if kind in known else before[kind] for kind in shape.kinds})

    def _friction(self, i: int, before: Friction) -> Friction:
        """Friction of a motor."""
        known, whole = self.of(i), [x for x in self.estimates if x.joint == i]
        return estimated_friction(
            {kind: x.value for kind, x in known.items()}, {x.kind: x.value for x in whole}, before.velocity
        )

    @cached_property
    def links(self) -> PhysicalLinks:
        """Links that exist and have the estimated base parameters, or the payload that was found.

        Raises:
            InputError: The links were taken as known.
        """
        places = [k for k, x in enumerate(self.estimates) if x.kind in ("base", "payload")]
        if not places:
            raise InputError("the links were taken as known; identify with links='base' or 'payload' (--links)")
        values = np.array([self.estimates[k].value for k in places])
        covariance = self.covariance[np.ix_(places, places)]
        if self.estimates[places[0]].kind == "base":
            return physical_links(self.robot, values, covariance, self.origin)
        return with_physical_payload(self.robot, values, covariance, self.origin)

    def write_robot(self, path: str | os.PathLike[str]) -> None:
        """Write the robot with the identified drives and links; `fj.load(path)` takes it as it is.

        Args:
            path: File to write, such as identified.toml.

        Raises:
            InputError: The links were taken as known.
            RobotError: The file cannot be written.
        """
        robot = self.links.robot
        write_robot(robot.with_sources((*robot.sources, *self._drive_sources())), path)

    def _drive_sources(self) -> list[Source]:
        """Sources of the drives' numbers that were identified, with their deviations."""
        paths = {x.path for x in numbers(self.robot)}
        growth = independent_growth(self.estimates, self.correlation)
        return [
            Source((x.name,), TRUST[x.verdict], self.origin, deviation_note([x], growth))
            for x in self.estimates
            if x.joint >= 0 and x.verdict in TRUST and x.name in paths
        ]

    def write_drives(self, path: str | os.PathLike[str]) -> None:
        """Write a drive file with what was identified; `fj.load(ROBOT, drives=path)` takes it as it is.

        Args:
            path: File to write, such as identified.drives.toml.

        Raises:
            RobotError: The file cannot be written.
        """
        self.drive_file.write(path)

    @cached_property
    def drive_file(self) -> DriveFile:
        """The drive file: each value with its deviation, prior and verdict."""
        return DriveFile(
            drive_text(self.robot, self.estimates, self.correlation, self.origin, self.notes),
            "identified drives",
        )

    @property
    def rows(self) -> list[str]:
        """Names of the joints whose curves there are."""
        return [joint.name for joint in self.prior.joints]

    def curves(self, joint: int) -> Curves:
        """Measured and predicted motor torque of a joint in the first recording, within the bandwidth.

        Args:
            joint: Number of the joint.
        """
        whole = self.equations[0]
        recording, rows = whole.recording, whole.joint(joint, self.fit.values)
        unit = "Nm" if self.prior.joints[joint].kind.angular else "N"
        name = next((x for x in ("motor", "rigid", "sensor", "link") if x in rows.channels), None)
        t: FloatArray = np.add(recording.start, recording.period * np.arange(recording.count))
        if name is None:
            return Curves("", t, np.zeros_like(t), np.zeros_like(t), np.zeros_like(t), unit)
        residual = recording.signal(rows.residual[:, rows.channels.index(name)])
        given = recording.tau if name in ("motor", "rigid") else recording.tau_e
        torque = (
            np.zeros_like(t) if given is None else recording.signal(recording.spectrum(given[:, joint], joint=joint))
        )
        return Curves(name, t, torque, torque + residual, residual, unit)

    def autocorrelation(self, joint: int, lags: int = 60) -> dict[str, FloatArray]:
        """Autocorrelation of the whitened residuals of a joint, by equation, from lag 0 on.

        Args:
            joint: Number of the joint.
            lags: How many; one lag is 1/(2 bandwidth).  By default 60.
        """
        found = {}
        for x in self.fit.channels:
            if x.joint == joint and x.name not in found:
                half = len(x.residual) // 2
                power = x.residual[:half] ** 2 + x.residual[half:] ** 2
                r = np.fft.irfft(power)
                found[x.name] = r[: min(lags, half)] / r[0]
        return found

    @property
    def failed(self) -> Sequence[ResidualTest]:
        """Tests that show a wrong model."""
        return [x for x in self.tests if not x.passed]
