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
SAME = 0.95  # correlation of the positions of a motor and its link
MOST_GAIN = 3.0  # of motor over link positions
SOFT = 0.25  # relative difference of motor and link positions by deflections
SHIFTED = 0.05  # rad or m: zeros of theta and q that differ by more are named
OFF = 0.1  # relative error of the velocities
NEAR = 0.1  # of a factor that a unit explains
MOST_LAG = 0.05  # s by which a velocity may be late in this comparison
TURNS, LONGEST = 4 * math.pi, 20.0  # rad, m; positions beyond this may be degrees, or mm
DEGREE = math.pi / 180
LOOKS = {"deg": "degrees, not radians", "mrad": "mrad, not rad", "mm": "mm, not m"}
FACTORS = {  # of the velocities relative to the derivative of the positions, and what explains them
    1 / DEGREE: ("velocities are in deg/s and positions in rad", "write [deg/s] behind the headers of the velocities"),
    DEGREE: ("positions are in deg and velocities in rad/s", "write [deg] behind the headers of the positions"),
    1e3: ("the time is in ms", "say time_unit='ms' (--time-unit ms)"),
    1e6: ("the time is in µs", "say time_unit='us' (--time-unit us)"),
    1e-3: ("velocities are per ms, or the time was divided by 1000 twice", "check the unit of the time"),
    30 / math.pi: ("velocities are in rpm", "write [rpm] behind their headers"),
}


def motion_findings(log: Log, part: Uniform) -> Iterator[Finding]:
    """Velocities against positions, motors against links, positions in other units."""
    known = part.columns
    for rate, of in (("v", "q"), ("theta_v", "theta")):
        if rate in known and of in known:
            yield from rate_findings(log, rate, of, known[rate], derivative(known[of], part.period), part.period)
    units = [*unit_findings(log, "q", known["q"])] if "q" in known else []
    motors = [*motor_findings(log, known["q"], known["theta"])] if "q" in known and "theta" in known else []
    wrong = any(x.level == "error" for x in units)
    yield from (x for x in motors if x.level == "error" or not wrong)
    yield from units
    if "theta" in known and not any(x.level == "error" for x in motors):
        theta = known["theta"][:, : log.robot.n]
        if "q" in known and not log.robot.transmissions:  # whose zeros may be others
            theta = theta + np.mean(known["q"], axis=0) - np.mean(theta, axis=0)
        yield from unit_findings(log, "theta", theta)


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
    """Motors whose position is a multiple or copy of the link's, that of another link, or has another zero."""
    joints = [i for i, name in enumerate(log.robot.joints) if log.robot.elastic[i] and np.ptp(q[:, i]) >= STILL]
    if log.robot.transmissions or not joints:
        return
    names = [log.robot.joints[i].name for i in joints]
    if order := other_order(q[:, joints], theta[:, joints]):
        said = ", ".join(names[k] for k in np.argsort(order))
        reason = f"the columns of theta are in another order than those of q, such as {said}"
        yield Finding("error", "order", names[0], reason, "name the columns after the joints")
        return
    copied = [name for i, name in zip(joints, names) if np.array_equal(q[:, i], theta[:, i])]
    if copied:
        reason = f"theta equals q at {listed(copied)}: one of them is a copy, and no deflection of the springs is known"
        yield Finding("warning", "motors", copied[0], reason, "leave out the columns that were not measured")
    shifted: dict[str, float] = {}
    for i, name in zip(joints, names):
        x, y = q[:, i] - np.mean(q[:, i]), theta[:, i] - np.mean(theta[:, i])
        gain, offset = float(np.sum(x * y) / np.sum(x * x)), float(np.mean(theta[:, i]) - np.mean(q[:, i]))
        if not 1 / MOST_GAIN < gain < MOST_GAIN and not is_deflection(log, i, y - x):
            why, fix = gain_cause(log, i, gain)
            yield Finding("error", "motors", name, f"theta of {name} moves {gain:.4g} times as far as q: {why}", fix)
        elif abs(offset) > SHIFTED and not is_deflection(log, i, np.array([offset, -offset])):
            shifted[name] = offset
    if shifted:
        values = ", ".join(f"{x:.4g}" for x in shifted.values())
        reason = f"theta and q of {listed(shifted)} have different zeros: on average theta is larger by {values}"
        fix = "subtract it, unless the log is for identification, which estimates it"
        yield Finding("warning", "motors", next(iter(shifted)), reason, fix)


def other_order(q: FloatArray, theta: FloatArray) -> list[int]:
    """The columns of theta for the columns of q if they are in another order, else nothing; both (m, joints)."""
    from scipy.optimize import linear_sum_assignment

    x, y = ((z - np.mean(z, axis=0)) / np.maximum(np.std(z, axis=0), 1e-300) for z in (q, theta))
    likeness = x.T @ y / len(x)  # (link, motor)
    _, order = linear_sum_assignment(-np.abs(likeness))
    moved = [i for i, k in enumerate(order) if i != k]
    found = [abs(likeness[i, order[i]]) > SAME and abs(likeness[i, i]) < ALIKE for i in moved]
    return order.tolist() if found and all(found) else []


def gain_cause(log: Log, i: int, gain: float) -> tuple[str, str]:
    """Why a motor moves this many times as far as its link, and what to do."""
    name, drive = log.robot.joints[i].name, log.robot.joints[i].drive
    ratio = drive.motors[0].gear_ratio if drive else None
    units = (("turn", 2 * math.pi), ("deg", DEGREE)) if log.robot.motor_kinds[i].angular else (("mm", 1e-3),)
    for unit, size in units if ratio is None or abs(gain / ratio - 1) > SOFT else ():
        for what, factor in (("theta", 1 / size), ("q", size)):
            if abs(gain / factor - 1) < SOFT:
                fix = f"write the unit behind the header, such as '{what}.{name} [{unit}]'"
                if gain > 1 and ratio is None:
                    return f"{what} is in {unit}, or before the reduction", f"{fix}, or divide it by the gear ratio"
                return f"{what} is in {unit}", fix
    known = f", which is {ratio:g}," if ratio else ""
    return "it is before the reduction, or has another sign", f"divide it by the gear ratio{known} with its sign"


def is_deflection(log: Log, i: int, phi: FloatArray) -> bool:
    """Whether θ − q (m,) is as small as the spring of a joint deflects by its torques: the joint holds a load."""
    drive = log.robot.joints[i].drive
    torques = [x[:, i] for x in (log.tau, log.tau_e) if x is not None]
    if not isinstance(drive, ElasticDrive) or not torques:
        return False
    stiffness = float(drive.law.curve(0.0).stiffness)
    return stiffness * float(np.std(phi)) < DEFLECTED * max(float(np.nanstd(x)) for x in torques)


def unit_findings(log: Log, name: str, x: FloatArray) -> Iterator[Finding]:
    """Positions that are beyond the limits of their joints, and within them in another unit."""
    limits, kinds = log.robot.joint_limits, log.robot.motor_kinds
    names = labels(log.robot, name)[: log.robot.n]
    beyond: list[int] = []
    fitting: dict[str, list[int]] = {}  # joints that are within their limits if positions have this unit
    for i in range(len(names)):
        low, high = float(np.min(x[:, i])), float(np.max(x[:, i]))
        lower, upper = limits[i].lower, limits[i].upper
        slack = 0.1 + 0.1 * (upper - lower if math.isfinite(upper - lower) else 0.0)
        bounded = math.isfinite(lower) or math.isfinite(upper)
        unbounded = TURNS if kinds[i].angular else LONGEST
        if not (low < lower - slack or high > upper + slack if bounded else max(-low, high) > unbounded):
            continue
        beyond.append(i)
        for unit, size in (("deg", DEGREE), ("mrad", 1e-3)) if kinds[i].angular else (("mm", 1e-3),):
            if size * low > lower - slack and size * high < upper + slack:
                fitting.setdefault(unit, []).append(i)
                break
    here, largest = [names[i] for i in beyond], np.abs(x[:, beyond]).max(initial=0.0)
    if beyond and sum(map(len, fitting.values())) == len(beyond) and largest > 2 * math.pi:
        for unit, joints in fitting.items():
            first, said = names[joints[0]], listed([names[i] for i in joints])
            fix = f"write the unit behind the header, such as '{name}.{first} [{unit}]'"
            yield Finding("error", "units", first, f"{name} of {said} looks like {LOOKS[unit]}", fix)
    elif beyond:
        fix = "check the order, the unit and the zero of these joints"
        yield Finding("warning", "units", here[0], f"{name} of {listed(here)} is beyond the limits of the joint", fix)
