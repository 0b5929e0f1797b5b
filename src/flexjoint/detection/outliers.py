"""Outliers of a log: impossible samples are found, reported and left out, so that they do not mislead a detector.

In a watched log only physically impossible numbers are left out, since a collision must stay in: at most three samples
in a row that the joint could only reach from its neighbours faster than FASTEST, or torques above TORQUES times the
effort limit, or without a limit the torque that holds the robot's weight.  A fault-free part is judged more strictly,
by the force that each sample would need: a few samples in a row far above the usual force.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..logs import Log
from ..logs.motion_rules import is_deflection
from ..logs.quantities import labels
from ..robot import Robot
from ..types import FloatArray

FASTEST = 100.0  # rad/s or m/s; in a fast log FASTER times the usual speed
FASTER = 20.0
USUAL = 0.995  # quantile of a column that is its usual size
TORQUES = 10.0  # a torque this many times what the joint can give is impossible
WINDOW = 3  # samples to both sides
FROZEN, TURNED = 0.1, 0.02  # s for which a dead encoder repeats a number, and rad or m that its joint moves then
GRAVITY = 9.81  # m/s²
BLOCK = 100  # samples that give the size of the noise
DEVIATIONS = 12.0  # median distances: six to eight standard deviations of normal noise
FORCES = 5.0  # median forces: 3.4 standard deviations of normal noise
LASTING = 4  # samples
FAR, USUAL_SHARE = 6.0, 0.8  # a mean force of so many times this quantile is a disturbance: 7.5 standard deviations
MOST_SHOWN = 3  # outliers in a message


class Outlier(NamedTuple):
    """An impossible number of a log.

    Args:
        sample: Row in the log.
        t: Time, s.
        quantity: Q, v, theta, theta_v, tau_e or tau.
        entry: Joint or motor.
        value: The number, in SI units.
    """

    sample: int
    t: float
    quantity: str
    entry: int
    value: float


def find_outliers(log: Log) -> tuple[Outlier, ...]:
    """Physically impossible numbers of a log, in the order of time."""
    found: list[Outlier] = []
    for name in log.known:
        x = getattr(log, name)
        for i in range(x.shape[1]):
            limit = speed_limit(log, name, i) if name not in ("tau", "tau_e") else torque_limit(log, name, i)
            if name in ("q", "theta"):
                limit *= (WINDOW + 2) * log.period
            rows = np.flatnonzero(deviations(x[:, i]) > limit)
            found += [Outlier(k, float(log.t[k]), name, i, float(x[k, i])) for k in rows.tolist()]
    return tuple(sorted(found))


def speed_limit(log: Log, name: str, i: int) -> float:
    """Speed above which a sample is impossible, rad/s or m/s."""
    rates = log.v if name in ("q", "v") else log.theta_v
    return max(FASTEST, FASTER * usual(rates[:, i]) if rates is not None else 0.0)


def torque_limit(log: Log, name: str, i: int) -> float:
    """Torque above which a sample is impossible, Nm or N."""
    efforts = [joint.limits.effort for joint in log.robot.joints] if name == "tau_e" else log.robot.motor_efforts
    scale = efforts[i] if math.isfinite(efforts[i]) else weight(log.robot)
    return TORQUES * max(scale, usual(getattr(log, name)[:, i]))


def usual(x: FloatArray) -> float:
    """Usual size of a column: a high quantile of its absolute values."""
    sizes = np.abs(x[np.isfinite(x)])
    return float(np.quantile(sizes, USUAL)) if sizes.size else 0.0


def weight(robot: Robot) -> float:
    """Torque that holds the robot's weight at full reach, about, Nm; for prismatic joints taken as N."""
    reach = sum(math.sqrt(sum(x * x for x in link.joint.position.tolist())) for link in robot.links)
    return GRAVITY * sum(link.mass for link in robot.links) * max(reach, 1.0)


def deviations(x: FloatArray) -> FloatArray:
    """Distances (m,) of the samples of a column from lines through their neighbours; 0 where they are noise.

    The line has the median slope and the median offset of 2 WINDOW + 1 samples, so at most WINDOW bad ones in a row are
    found.  Noise is less than DEVIATIONS median distances, in a block or from this line, and two quantization steps.
    """
    good, result = np.isfinite(x), np.zeros(x.size)
    x, width = x[good], 2 * WINDOW + 1
    if x.size < width:
        return result
    with np.errstate(over="ignore", invalid="ignore"):
        near, rows = (sliding_window_view(y, width) for y in (x, np.flatnonzero(good)))
        near = near - np.median(np.diff(near) / np.diff(rows), axis=1)[:, None] * (rows - rows[:, :1])
        near = np.abs(near - np.median(near, axis=1)[:, None])
        windows = np.clip(np.arange(x.size) - WINDOW, 0, len(near) - 1)  # those at the ends serve several samples
        misfit, local = near[windows, np.arange(x.size) - windows], np.median(near, axis=1)[windows]
        blocks = np.array_split(misfit, max(x.size // BLOCK, 1))
        usual_misfit = np.concatenate([np.full(len(block), np.median(block)) for block in blocks])
        limit = DEVIATIONS * np.maximum(usual_misfit, local / 3) + 2 * smallest_step(np.abs(np.diff(x)))
    misfit[misfit <= limit] = 0.0
    beside = sliding_window_view(np.pad(misfit, WINDOW), width).max(axis=1)
    result[good] = np.where(misfit > beside / 4, misfit, 0.0)  # lines beside an outlier are a little off
    return result


def smallest_step(steps: FloatArray) -> float:
    """The smallest positive step of a column, which is at least its quantization; 0 if there is none."""
    return float(np.min(steps[steps > 0])) if steps.any() else 0.0


def without_outliers(log: Log, outliers: Sequence[Outlier]) -> Log:
    """The log with NaN in place of the outliers; disturbed samples lose their time, so that the residual restarts."""
    arrays = {name: getattr(log, name).copy() for name in log.known}
    t = log.t.copy()
    for x in outliers:
        if x.quantity in arrays:
            arrays[x.quantity][x.sample, x.entry] = np.nan
        else:
            t[x.sample] = np.nan
    return replace(log, t=t, **arrays) if outliers else log


def bridged_torques(t: FloatArray, tau: FloatArray, period: float, most: int, held: bool) -> FloatArray:
    """Torques with lost ones interpolated, so that momenta before and after short gaps are compared.

    Without it the residual restarts at every lost torque, and the noise of the velocities adds up.

    Args:
        t: Times (m,), s.
        tau: Torques (m, motors), NaN if lost, Nm or N.
        period: Time between two samples, s.
        most: Longest gap that is bridged, samples.
        held: Whether a torque is held until the next sample; then that before missing rows becomes the mean until then.
    """
    rows, tau = np.arange(t.size), tau.copy()
    for x in tau.T:
        good = np.flatnonzero(np.isfinite(x))
        lost = np.flatnonzero(~np.isfinite(x))
        after = np.searchsorted(good, lost)
        lost, after = (y[(after > 0) & (after < good.size)] for y in (lost, after))
        short = lost[good[after] - good[after - 1] <= most]
        x[short] = np.interp(short, rows[good], x[good])
    if held:
        steps = np.clip(np.nan_to_num(np.round(np.diff(t) / period), nan=1.0), 1, most + 1)
        tau[:-1] += np.where(steps <= most, (1 - 1 / steps) / 2, 0.0)[:, None] * np.nan_to_num(np.diff(tau, axis=0))
    return tau


class DeadEncoder(NamedTuple):
    """An encoder that repeats one number while its joint moves.

    Args:
        quantity: Q or theta.
        entry: Joint or motor.
        first, last: Samples of the log.
        reason: Why the joint must have moved.
    """

    quantity: str
    entry: int
    first: int
    last: int
    reason: str

    def text(self, log: Log) -> str:
        """Sentence of a message."""
        name, x = labels(log.robot, self.quantity)[self.entry], getattr(log, self.quantity)[self.first, self.entry]
        times = f"from {log.t[self.first]:.4f} to {log.t[self.last]:.4f} s"
        return f"the encoder {self.quantity} of '{name}' is dead: it stays at {x:.6g} {times}, while {self.reason}"


def dead_encoders(log: Log, alarms: np.ndarray | None = None) -> tuple[DeadEncoder, ...]:
    """Encoders that repeat one number while velocity or the encoder beyond the spring moves, or an alarm is raised.

    Args:
        log: The log.
        alarms: Mask (m, n) of alarms by joint: they count where the joint moved just before, or never moves.
    """
    found = []
    for name, rate, other in (("q", "v", "theta"), ("theta", "theta_v", "q")):
        x, v, y = (getattr(log, quantity) for quantity in (name, rate, other))
        joints = range(log.robot.n) if name == "q" else log.robot.motor_joints
        for k, joint in enumerate(joints if x is not None else ()):
            rows = np.flatnonzero(np.isfinite(x[:, k]))  # lost samples do not hide that a number is repeated
            steps = np.abs(np.diff(x[rows, k]))
            tick = smallest_step(steps)
            for begin, end in stretches(steps == 0):
                part, reason = slice(rows[begin], rows[end + 1] + 1), ""
                if log.t[part.stop - 1] - log.t[part.start] < FROZEN:
                    continue
                came = abs(x[part.start, k] - x[rows[max(begin - BLOCK, 0)], k]) > 3 * tick
                if v is not None and rate not in log.differenced and travel(v[part, k]) * log.period > TURNED:
                    reason = f"its velocity is up to {np.nanmax(np.abs(v[part, k])):.3g}"
                elif y is not None and bends(log, joint, y[part, joint], x[part, k]):
                    reason = f"{other} moves"
                elif alarms is not None and alarms[part, joint].any() and (came or not steps.any()):
                    reason = "an unexplained torque acts on the joint"
                if reason:
                    found.append(DeadEncoder(name, k, part.start, part.stop - 1, reason))
    return tuple(found)


def travel(steps: FloatArray) -> float:
    """Distance between the extreme positions that these steps lead to; lost steps count as none."""
    return float(np.ptp(np.cumsum(np.nan_to_num(steps)))) if steps.size else 0.0


def bends(log: Log, joint: int, moving: FloatArray, fixed: FloatArray) -> bool:
    """Whether an encoder moves further than the spring between it and the other one deflects."""
    phi = (moving - fixed)[np.isfinite(moving - fixed)]
    known = not log.robot.variable_stiffness[joint] and phi.size > 0
    return known and travel(np.diff(phi)) > TURNED and not is_deflection(log, joint, phi)


# Fault-free parts ---------------------------------------------------------------------------------------------------


def forces(
    outputs: Mapping[str, FloatArray], kept: np.ndarray, cutoffs: Mapping[str, Sequence[float]], period: float
) -> dict[str, FloatArray]:
    """Unfiltered unknown forces (m, size) by channel, less their medians: a bad sample disturbs at most two rows.

    Args:
        outputs: Residuals by channel, (m, size), Nm or N.
        kept: Mask of the fault-free samples, (m,).
        cutoffs: Cutoffs of the filters between force and residual, rad/s, by channel.
        period: Time between two samples, s.
    """
    result = {}
    for name, filters in cutoffs.items():
        force = outputs[name]
        for cutoff in filters:
            fade = math.exp(-cutoff * period)
            force = np.concatenate([force[:1], (force[1:] - fade * force[:-1]) / (1 - fade)])
        result[name] = force - np.median(force[kept], axis=0)
    return result


def bad_numbers(
    log: Log, reads: Sequence[str], force: Mapping[str, FloatArray], kept: np.ndarray
) -> tuple[Outlier, ...]:
    """Numbers of a fault-free part that differ from their neighbours, except torques that did act.

    A logged torque that did not act leaves a force of its size in one row, or of half its size in two; one that did
    leaves none.  The limit lies between, at a quarter.  If the noise of the force exceeds it, every torque that differs
    from its neighbours is bad.
    """
    size = np.hstack([np.abs(x) for x in force.values()])
    scale = FORCES * np.median(size[kept], axis=0)
    ahead = [
        np.pad(x, (0, WINDOW), constant_values=np.inf)
        for x in (size.max(axis=1), np.any(size > scale, axis=1).astype(float))
    ]
    acting, unusual = (sliding_window_view(x, WINDOW + 1).max(axis=1) for x in ahead)  # until WINDOW rows later
    unusual = unusual > 0
    found: list[Outlier] = []
    for name in reads:
        for i, x in enumerate(getattr(log, name).T):
            limit = log.robot.motor_efforts[i] if name == "tau" else np.inf  # no more than that acts
            misfit = deviations(np.clip(x, -limit, limit))
            shows = acting > misfit / 4 if name in ("tau", "tau_e") else unusual
            rows = np.flatnonzero((misfit > 0) & kept & shows)
            found += [Outlier(k, float(log.t[k]), name, i, float(x[k])) for k in rows.tolist()]
    return tuple(sorted(found))


def lasting_disturbances(
    log: Log, force: Mapping[str, FloatArray], kept: np.ndarray, noise: Mapping[str, FloatArray], rate: float
) -> tuple[Outlier, ...]:
    """Samples of a fault-free part in which the mean force over some samples is far above the usual one.

    Args:
        log: The log.
        force: Unknown forces by channel, (m, size).
        kept: Mask of the fault-free samples, (m,).
        noise: Residuals by channel, (size,), Nm or N: forces that alone raise no residual above them are kept.
        rate: Cutoff K h of the filter between force and residual, rad per sample; means are taken over LASTING samples,
            twice as many, and so on up to 1/(K h).
    """
    found: list[Outlier] = []
    for name, x in force.items():
        disturbed, width = np.zeros(x.shape, dtype=bool), LASTING
        while width <= max(1 / rate, LASTING) and width < len(x):
            padded = np.pad(np.where(disturbed, 0.0, x), ((width // 2, width - width // 2 - 1), (0, 0)))
            means = np.abs(sliding_window_view(padded, width, axis=0).mean(axis=-1))
            limit = np.maximum(
                FAR * np.quantile(means[kept], USUAL_SHARE, axis=0), noise[name] / -math.expm1(-rate * width)
            )
            beside = np.pad(means, ((width // 2, width // 2), (0, 0)))
            highest = sliding_window_view(beside, 2 * (width // 2) + 1, axis=0).max(axis=-1)
            disturbed |= (highest > limit) & (means > 0.45 * highest)  # edges: half the height
            width *= 2
        rows = np.argwhere(disturbed & kept[:, None]).tolist()
        found += [Outlier(k, float(log.t[k]), name, i, float(x[k, i])) for k, i in rows]
    return tuple(sorted(found))


def stretches(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return [(int(first), int(last) - 1) for first, last in edges.reshape(-1, 2)]


def describe_outliers(outliers: Sequence[Outlier], robot: Robot, samples: int) -> str:
    """Text of a message: the number of outliers; a few with column, value and time, many by column."""
    rows = len({outlier.sample for outlier in outliers})
    columns: dict[str, list[Outlier]] = {}
    for x in outliers:
        label = labels(robot, "q" if x.quantity in ("link", "residual") else x.quantity)[x.entry][:80]
        columns.setdefault(f"{x.quantity}.{label}", []).append(x)
    if len(outliers) <= MOST_SHOWN:
        each = [f"{column} = {x.value:.4g} at {x.t:.4f} s" for column, listed in columns.items() for x in listed]
    else:
        each = [
            f"{column}: {len(x)} from {x[0].t:.4f} to {x[-1].t:.4f} s, largest {max((y.value for y in x), key=abs):.4g}"
            for column, x in list(columns.items())[:MOST_SHOWN]
        ]
    more = f", and others in {len(columns)} columns" if len(columns) > MOST_SHOWN else ""
    were = "was" if rows == 1 else "were"
    return f"{rows} of {samples} samples {were} impossible and left out: {'; '.join(each)}{more}"
