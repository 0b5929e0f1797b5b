"""The result of an identification of joints with two motors: verdicts, the identified robot, curves of its motors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..drives import Motor, VariableStiffnessDrive, friction_law
from ..drives.friction import friction_fields
from ..errors import RobotError
from ..formats.drive_files import DriveFile
from ..robot import Robot
from ..types import FloatArray
from .drive_text import drive_text
from .estimates import IDENTIFIED, SIGNIFICANT, UNKNOWN, WEAK, Estimate, natural_prior
from .identifiability import ADVICE, CORRELATED, GOOD, POOR, impossible
from .laws import estimated_friction
from .least_squares import Fit
from .parameters import Unknowns
from .residuals import ResidualTest
from .result import Curves, Identification
from .transmission_parameters import law_numbers, motor_place


class VariableStiffnessIdentification(Identification):
    """What logs tell about the transmissions of joints with two motors: an Identification whose rows are motors."""

    @cached_property
    def robot(self) -> Robot:
        """The robot with the identified transmissions; what is unknown stays as it was."""
        return self.prior.with_drives(identified_drives(self.prior, self.estimates))

    @cached_property
    def drive_file(self) -> DriveFile:
        """The drive file: each value with its deviation, prior and verdict."""
        text = drive_text(self.robot, self.estimates, self.correlation, self.origin, self.notes)
        return DriveFile(text, "identified drives")

    @property
    def motors(self) -> list[tuple[int, int]]:
        """Joint, and 0 or 1 for the first or second motor, of each row of `curves`."""
        return [(i, k) for i, two in enumerate(self.prior.variable_stiffness) if two for k in range(2)]

    @property
    def rows(self) -> list[str]:
        """Names of the motors whose curves there are."""
        return [self.prior.motor_names[motor_place(self.prior, i, k)] for i, k in self.motors]

    def curves(self, row: int) -> Curves:
        """Measured and predicted torque of a motor in the first recording, within the bandwidth.

        Args:
            row: Place of the motor in `rows`.
        """
        i, k = self.motors[row]
        whole, place = self.equations[0], motor_place(self.prior, i, k)
        recording, equations = whole.recording, whole.joint(i, self.fit.values)
        assert recording.tau is not None
        t: FloatArray = np.add(recording.start, recording.period * np.arange(recording.count))
        residual = recording.signal(equations.residual[:, k])
        torque = recording.signal(recording.spectrum(recording.tau[:, place]))
        unit = "Nm" if self.prior.motor_kinds[place].angular else "N"
        return Curves(equations.channels[k], t, torque, torque + residual, residual, unit)

    def autocorrelation(self, row: int, lags: int = 60) -> dict[str, FloatArray]:
        """Autocorrelation of the whitened residuals of a motor, from lag 0 on.

        Args:
            row: Place of the motor in `rows`.
            lags: How many; one lag is 1/(2 bandwidth).  By default 60.
        """
        i, k = self.motors[row]
        name = f"motor {k + 1}"
        return {name: super().autocorrelation(i, lags)[name]}


def identified_drives(prior: Robot, estimates: Sequence[Estimate]) -> list[Any]:
    """Drives of all joints with the numbers that are known.

    Raises:
        RobotError: The numbers make no law.
    """
    known = {x.name: x.value for x in estimates if x.verdict != UNKNOWN}
    drives: list[Any] = []
    for joint in prior.joints:
        drive: Any = joint.drive
        if isinstance(drive, VariableStiffnessDrive):
            path = f"{joint.name}.drive"
            motors = {
                f"motor_{k}": identified_motor(x, f"{path}.motor_{k}.", estimates)
                for k, x in enumerate(drive.motors, 1)
            }
            drive = dataclasses.replace(changed(drive, f"{path}.", known), **motors)
        drives.append(drive)
    return drives


def identified_motor(motor: Motor, path: str, estimates: Sequence[Estimate]) -> Motor:
    """A motor with the identified inertia and friction."""
    own = [x for x in estimates if x.name.startswith(path)]
    known = {x.kind: x.value for x in own if x.verdict != UNKNOWN}
    law = friction_law(motor)
    if "viscous" in known or "coulomb" in known:
        law = estimated_friction(known, {x.kind: x.value for x in own}, law.velocity)
    fields = friction_fields(law, short=False)
    return dataclasses.replace(motor, inertia=known.get("inertia", motor.inertia), **fields)


def judged(
    robot: Robot, what: Unknowns, found: Fit, tests: Sequence[ResidualTest], reached: Sequence[Sequence[FloatArray]]
) -> tuple[list[Estimate], FloatArray]:
    """Estimates with verdicts, and their covariance; numbers that the deflections do not show are named.

    Args:
        robot: The robot before.
        what, found: Parameters and their fit.
        tests: Of the residuals.
        reached: Least and greatest deflections of each joint in each recording, (2, 2).
    """
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
    estimates: list[Estimate] = []
    for k, (x, i) in enumerate(zip(what.parameters, joints)):
        prior = priors.get(x.name, natural_prior(x, what))
        estimates.append(Estimate(x.name, x.kind, i, x.unit, float(values[k]), float(1 / scale[k]), prior))
    for k, estimate in enumerate(estimates):
        verdict, reason = verdict_of(estimate, estimates, reached[estimate.joint])
        others = [j for j in range(len(values)) if j != k and abs(correlation[k, j]) > CORRELATED]
        if verdict != IDENTIFIED and others:
            j = max(others, key=lambda j: abs(correlation[k, j]))
            reason += f"; correlated {correlation[k, j]:+.3f} with {what.parameters[j].name}"
        estimates[k] = dataclasses.replace(estimate, verdict=verdict, reason=reason)
    return without_wrong_laws(robot, estimates), covariance


def without_wrong_laws(robot: Robot, estimates: list[Estimate]) -> list[Estimate]:
    """The estimates; numbers of a transmission that make no law are unknown."""
    found = estimates
    for i in range(robot.n):
        own = [x if x.joint == i else dataclasses.replace(x, verdict=UNKNOWN) for x in found]
        try:
            identified_drives(robot, own)
        except RobotError as error:
            found = [
                dataclasses.replace(x, verdict=UNKNOWN, reason=f"the numbers make no law: {error}")
                if x.joint == i and x.kind.startswith(("log ", "law "))
                else x
                for x in found
            ]
    return found


def verdict_of(x: Estimate, others: Sequence[Estimate], reached: Sequence[FloatArray]) -> tuple[str, str]:
    """Verdict and reason of an estimate among those of its robot."""
    if x.kind in ("torque_offset", "sensor_offset"):
        return IDENTIFIED, ""
    if reason := impossible(x, others):
        return UNKNOWN, reason
    if x.kind == "damping" and x.value < SIGNIFICANT * x.deviation:
        return UNKNOWN, "not significant"
    share = x.deviation / abs(x.value) if x.value else math.inf
    if x.kind.startswith(("log ", "law ")):
        share = min(share, x.deviation) if x.kind.startswith("law") else share
        low, high = np.min([y[0] for y in reached], axis=0), np.max([y[1] for y in reached], axis=0)
        advice = (
            f"the deflections reach only {low[0]:.2g} to {high[0]:.2g} and {low[1]:.2g} to {high[1]:.2g}: tighten the "
            "motors against each other and load the link more"
        )
    else:
        advice = ADVICE.get(x.kind, "needs a motion with more of it")
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
