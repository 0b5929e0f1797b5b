"""Velocities that are not the derivative of the positions, motor positions before the reduction, units of both."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..drives import ElasticDrive
from ..errors import listed
from ..findings import Finding
from ..types import FloatArray
from .log import Log
from .quantities import labels
from .sample_rules import STILL
from .sampling import Uniform, derivative

DEFLECTED = 3.0  # torques of a spring over those measured: more is no deflection
ALIKE = 0.8  # correlation with the derivative of the positions
OFF = 0.1  # relative error of the velocities
NEAR = 0.1  # of a factor that a unit explains
MOST_LAG = 0.05  # s by which a velocity may be late in this comparison
TURNS = 4 * math.pi  # rad; positions beyond this may be degrees
DEGREE = math.pi / 180
FACTORS = {  # of the velocities relative to the derivative of the positions, and what explains them
    1 / DEGREE: ("velocities are in deg/s and positions in rad", "write [deg/s] behind the headers of the velocities"),
    DEGREE: ("positions are in deg and velocities in rad/s", "write [deg] behind the headers of the positions"),
    1e3: ("the time is in ms", "say time_unit='ms' (--time-unit ms)"),
    1e6: ("the time is in µs", "say time_unit='us' (--time-unit us)"),
    1e-3: ("velocities are per ms, or the time was divided by 1000 twice", "check the unit of the time"),
    30 / math.pi: ("velocities are in rpm", "write [rpm] behind their headers"),
}


def motion_findings(log: Log, part: Uniform) -> Iterator[Finding]:
    """Velocities against positions, motors against links, positions in degrees."""
    known = part.columns
    for rate, of in (("v", "q"), ("theta_v", "theta")):
        if rate in known and of in known:
            yield from rate_findings(log, rate, of, known[rate], derivative(known[of], part.period), part.period)
    if "q" in known and "theta" in known:
        yield from motor_findings(log, known["q"], known["theta"])
    for name in ("q", "theta"):
        if name in known:
            yield from degree_findings(log, name, known[name])


def rate_findings(log: Log, rate: str, of: str, v: FloatArray, wanted: FloatArray, period: float) -> Iterator[Finding]:
    """Joints whose velocity is another function of time than the derivative of the position."""
    groups: dict[tuple[str, str], list[str]] = {}
    for i, label in enumerate(labels(log.robot, rate)):
        if np.max(np.abs(wanted[:, i])) * period * len(wanted) < STILL or not np.any(wanted[:, i]):
            continue
        gain, likeness = best_gain(v[:, i], wanted[:, i], max(1, int(MOST_LAG / period)))
        if abs(likeness) < ALIKE:
            key = (f"is not the derivative of {of} (correlation {likeness:.2f})", f"leave out the columns of {rate}")
        elif gain < 0:
            key = (f"has the opposite sign of the derivative of {of}", "change one of the signs")
        elif abs(gain - 1) < OFF:
            continue
        else:
            unknown = gain, ("", f"check the units of {rate} and {of}")
            factor, (why, fix) = next((x for x in FACTORS.items() if abs(gain / x[0] - 1) < NEAR), unknown)
            key = (f"is {factor:.3g} times the derivative of {of}" + f": {why}" * bool(why), fix)
        groups.setdefault(key, []).append(label)
    for (reason, fix), names in groups.items():
        yield Finding("error", "velocities", names[0], f"{rate} of {listed(names)} {reason}", fix)


def best_gain(y: FloatArray, x: FloatArray, most: int) -> tuple[float, float]:
    """Gain and correlation of y = gain x, at the shift of at most so many samples where they are most alike."""
    best = (0.0, 0.0)
    inner = slice(most, y.size - most) if y.size > 4 * most else slice(0, y.size)
    for k in range(-most, most + 1, max(1, most // 10)) if inner.start else (0,):
        shifted, here = x[inner.start - k : inner.stop - k], y[inner]
        squares, product = np.sum(shifted * shifted), np.sum(shifted * here)
        size = np.sqrt(squares * np.sum(here * here))
        if size > 0 and abs(product / size) > abs(best[1]):
            best = (float(product / squares), float(product / size))
    return best


def motor_findings(log: Log, q: FloatArray, theta: FloatArray) -> Iterator[Finding]:
    """Motors whose position is a multiple of the link's, or the link's itself."""
    if log.robot.transmissions:
        return
    copied: list[str] = []
    for i, joint in enumerate(log.robot.joints):
        if not log.robot.elastic[i] or np.ptp(q[:, i]) < STILL:
            continue
        x, y = q[:, i] - np.mean(q[:, i]), theta[:, i] - np.mean(theta[:, i])
        gain = float(np.sum(x * y) / np.sum(x * x))
        ratio = joint.drive.motors[0].gear_ratio if joint.drive else None
        if np.array_equal(q[:, i], theta[:, i]):
            copied.append(joint.name)
        elif (abs(gain) > 3 or gain < 0) and not is_deflection(log, i, y - x):
            known = f", and its gear ratio is {ratio:g}" if ratio else ""
            yield Finding(
                "error",
                "motors",
                joint.name,
                f"theta of {joint.name} moves {gain:.4g} times as far as q{known}: it is before the reduction, or has "
                "another sign",
                "divide it by the gear ratio, with its sign",
            )
    if copied:
        yield Finding(
            "warning",
            "motors",
            copied[0],
            f"theta equals q at {listed(copied)}: one of them is a copy, and no deflection of the springs is known",
            "leave out the columns that were not measured",
        )


def is_deflection(log: Log, i: int, phi: FloatArray) -> bool:
    """Whether θ − q (m,) is as small as the spring of a joint deflects by its torques: the joint holds a load."""
    drive = log.robot.joints[i].drive
    torques = [x[:, i] for x in (log.tau, log.tau_e) if x is not None]
    if not isinstance(drive, ElasticDrive) or not torques:
        return False
    stiffness = float(drive.law.curve(0.0).stiffness)
    return stiffness * float(np.std(phi)) < DEFLECTED * max(float(np.nanstd(x)) for x in torques)


def degree_findings(log: Log, name: str, x: FloatArray) -> Iterator[Finding]:
    """Positions that are beyond the limits of their joints, and within them if they are degrees."""
    limits, kinds = log.robot.joint_limits, log.robot.motor_kinds
    beyond, in_degrees, largest = [], [], 0.0
    for i, label in enumerate(labels(log.robot, name)[: log.robot.n]):
        low, high = float(np.min(x[:, i])), float(np.max(x[:, i]))
        lower, upper = limits[i].lower, limits[i].upper
        slack = 0.1 + 0.1 * (upper - lower if math.isfinite(upper - lower) else 0.0)
        bounded = math.isfinite(lower) or math.isfinite(upper)
        outside = low < lower - slack or high > upper + slack if bounded else max(-low, high) > TURNS
        if not outside:
            continue
        beyond.append(label)
        largest = max(largest, -low, high)
        if kinds[i].angular and DEGREE * low > lower - slack and DEGREE * high < upper + slack:
            in_degrees.append(label)
    if len(in_degrees) == len(beyond) and largest > 2 * math.pi:
        fix = f"write the unit behind the header, such as '{name}.{in_degrees[0]} [deg]'"
        yield Finding("error", "units", beyond[0], f"{name} of {listed(beyond)} looks like degrees, not radians", fix)
    elif beyond:
        fix = "check the order, the unit and the zero of these joints"
        yield Finding(
            "warning", "units", beyond[0], f"{name} of {listed(beyond)} is beyond the limits of the joint", fix
        )
