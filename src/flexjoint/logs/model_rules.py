"""Torques of a log against those of the model: joints in another order, other signs, other units.

The model is the robot's links without friction, moved as the log says, and for motor torques the inertia of the motors.
Its torque is compared with the measured one, mostly gravity; what viscous and Coulomb friction could explain is taken
out of both.  If the two agree, nothing else is tried.  If they do not, the same is computed for the positions in
degrees, for the columns of the log in every order, and for other signs; a finding is made only if another reading
explains the torques much better.  If they agree but for single joints with little torque, every joint counts the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..drives import VariableStiffnessDrive
from ..dynamics import inverse_dynamics
from ..errors import listed
from ..findings import Finding
from ..robot import Robot
from ..types import FloatArray
from .log import Log
from .sampling import Uniform, derivative, uniform

EXPLAINED = 0.8  # share of the squared torques: above it the log is read as it was meant
CONTRARY = -0.5  # explained share of a single joint: below it the model says the opposite
BETTER = 0.75  # another reading must explain at least this share ...
LEFT = 0.35  # ... and leave at most so much of what the log as it is leaves unexplained
SAMPLES = 80
SMOOTHING = 0.1  # s: the model has no springs, so their vibrations are averaged out
MOST_JOINTS = 7  # whose orders are all tried; of more joints exchanges of two
LEAST = 1e-9  # Nm or N: a model with less torque says nothing
BLOCK = 500  # orders at a time
CLOSE = 0.03  # readings whose shares differ by less explain the same
GAIN = 0.002  # in the share, below which the sign of a joint is left as it is
ALIKE = 0.8  # correlation of measured and model torques for a comparison of their sizes
DEGREE = np.pi / 180
UNITS = (0.2, 5.0)  # gains outside of which torques are probably in other units


class Motion(NamedTuple):
    """Samples of a log for the model: positions, velocities, accelerations and torques, each (m, n)."""

    q: FloatArray
    v: FloatArray
    a: FloatArray
    tau: FloatArray


def model_findings(log: Log) -> Iterator[Finding]:
    """Order, signs and units of the columns, by the torques."""
    part, name = uniform(log, SMOOTHING), "tau_e" if log.tau_e is not None else "tau"
    if part is None or not {"q", name} <= set(part.columns) or log.robot.transmissions or log.robot.followers:
        return
    motion = chosen_samples(part, name, log.robot)
    model = Model(log.robot, motors=name == "tau")
    names = [joint.name for joint in log.robot.joints]
    if not np.any(np.abs(model.torque(motion)) > LEAST):
        return
    if model.explained(motion) >= EXPLAINED:
        rest, total = model.compared(motion)
        model.evenly = bool(np.min(1 - rest / np.maximum(total, 1e-300)) < CONTRARY)
    explained = model.explained(motion)
    if explained < EXPLAINED or model.evenly:
        yield from reading_findings(model, motion, names, name, explained)
    yield from torque_unit_findings(log, model, motion, names, name)


def chosen_samples(part: Uniform, name: str, robot: Robot) -> Motion:
    """Samples spread over the log, with derivatives of the positions."""
    q, h = part.columns["q"], part.period
    v = derivative(q, h)
    rows = np.unique(np.linspace(2, len(q) - 3, min(SAMPLES, len(q) - 4)).astype(int))
    return Motion(*(x[rows] for x in (q, v, derivative(v, h), joint_torques(robot, part.columns[name]))))


def joint_torques(robot: Robot, torque: FloatArray) -> FloatArray:
    """Torques (m, n) of joints: those of two motors that pull at one link are added."""
    found, second = torque[:, : robot.n].copy(), robot.n
    for i, joint in enumerate(robot.joints):
        if isinstance(joint.drive, VariableStiffnessDrive) and torque.shape[1] > robot.n:
            found[:, i] += joint.drive.c * torque[:, second]
            second += 1
    return found


class Model:
    """Torques of the links of a robot, and of its motors' inertias if motor torques are compared."""

    def __init__(self, robot: Robot, motors: bool) -> None:
        self.links = robot.without_drives().without_friction().with_fidelity("spong")
        drives = [joint.drive for joint in robot.joints]
        self.inertia = np.array([x.motors[0].inertia if x is not None and motors else 0.0 for x in drives])
        self.evenly = False  # whether every joint counts the same

    def torque(self, motion: Motion) -> FloatArray:
        """Torque of the model, (m, n)."""
        found = inverse_dynamics(self.links, motion.q, motion.v, motion.a) + self.inertia * motion.a
        return np.asarray(found)

    def compared(self, motion: Motion) -> tuple[FloatArray, FloatArray]:
        """Sums over the samples of the squared torques that the model leaves, and of the measured ones, (..., n)."""
        rest, tau = (without_friction(x, motion.v) for x in (motion.tau - self.torque(motion), motion.tau))
        return np.sum(rest * rest, axis=-2), np.sum(tau * tau, axis=-2)

    def explained(self, motion: Motion) -> float:
        """Share of the squared torques that the model explains, at most 1."""
        return float(self.share(*self.compared(motion)))

    def share(self, rest: FloatArray, total: FloatArray) -> FloatArray:
        """Explained share of squared torques (..., n), shape (...); that of the mean joint if all count the same."""
        if self.evenly:
            return np.mean(np.clip(1 - rest / np.maximum(total, 1e-300), -1.0, 1.0), axis=-1)
        return np.asarray(1 - np.sum(rest, axis=-1) / np.maximum(np.sum(total, axis=-1), 1e-300))


def without_friction(tau: FloatArray, v: FloatArray) -> FloatArray:
    """Torques (..., m, n) without what is proportional to the velocities or to their signs."""
    v = v / np.maximum(np.sqrt(np.sum(v * v, axis=-2, keepdims=True)), 1e-300)
    sign = np.sign(v)
    sign = sign - v * np.sum(sign * v, axis=-2, keepdims=True)
    sign = sign / np.maximum(np.sqrt(np.sum(sign * sign, axis=-2, keepdims=True)), 1e-300)
    for known in (v, sign):
        tau = tau - known * np.sum(known * tau, axis=-2, keepdims=True)
    return tau


def reading_findings(
    model: Model, motion: Motion, names: Sequence[str], name: str, explained: float
) -> Iterator[Finding]:
    """The simplest other reading of the columns that explains the torques, if there is one."""
    least = max(BETTER, 1 - LEFT * (1 - explained))
    readings = [x for x in other_readings(model, motion, names, name) if x.explained > least]
    if not readings:
        return
    best = max(x.explained for x in readings)
    found = min((x for x in readings if x.explained > best - CLOSE), key=lambda x: x.changes)
    each = ", on average over the joints" if model.evenly else ""
    shares = f"{found.explained:.0%} of the squared {name}, and as logged {max(explained, 0.0):.0%}{each}"
    yield Finding("error", found.rule, "", f"{found.text}: then the model explains {shares}", found.fix)


class Reading(NamedTuple):
    """Another reading of the columns: what would be different, how many joints it changes, and what it explains."""

    rule: str
    text: str
    fix: str
    changes: int
    explained: float


def other_readings(model: Model, motion: Motion, names: Sequence[str], name: str) -> Iterator[Reading]:
    """Positions in degrees, joints in another order, other signs."""
    for factor, said in ((DEGREE, "degrees, not radians"), (1 / DEGREE, "degrees converted to radians twice")):
        share = model.explained(scaled_positions(motion, factor))
        yield Reading("units", f"positions are {said}", "write the unit behind the headers: 'q1 [deg]'", 0, share)
    by_name = "name the columns after the joints"
    for what, (order, share) in (
        ("all columns are in another order, such as", best_order(model, motion)),
        (f"the columns of {name} are in another order than those of q, such as", best_torque_order(model, motion)),
    ):
        if moved(order):
            listing = ", ".join(names[j] for j in np.argsort(order))
            yield Reading("order", f"{what} {listing}", by_name, moved(order), share)
    for what, signs, share in sign_readings(model, motion, name):
        if turned := [label for label, sign in zip(names, signs) if sign < 0]:
            reason = f"{what} of {listed(turned)} has the opposite sign"
            yield Reading("signs", reason, "change the sign in the log", len(turned), share)


def scaled_positions(motion: Motion, factor: float) -> Motion:
    """The motion with positions in another unit."""
    return motion._replace(q=factor * motion.q, v=factor * motion.v, a=factor * motion.a)


def orders(n: int) -> list[tuple[int, ...]]:
    """All orders of at most MOST_JOINTS joints; of more, the reverse and exchanges of two."""
    if n <= MOST_JOINTS:
        return list(itertools.permutations(range(n)))
    found = [tuple(range(n)), tuple(reversed(range(n)))]
    for i, j in itertools.combinations(range(n), 2):
        order = list(range(n))
        order[i], order[j] = j, i
        found.append(tuple(order))
    return found


def moved(order: Sequence[int]) -> int:
    """Number of joints that an order moves."""
    return sum(i != k for i, k in enumerate(order))


def best_order(model: Model, motion: Motion) -> tuple[tuple[int, ...], float]:
    """The order of all columns, q and torques alike, that explains most, and its share.

    Among orders that explain nearly the same, the one whose columns are explained best one by one, and of these the one
    that moves fewest joints: joints with little torque count as much as the others there.
    """
    few = slice(None, None, max(1, len(motion.q) // 20))
    choices = orders(motion.q.shape[1])
    whole: list[float] = []
    single: list[float] = []
    for k in range(0, len(choices), BLOCK):
        index = np.array(choices[k : k + BLOCK])
        q, v, a, tau = (np.moveaxis(x[few][:, index], 0, 1) for x in motion)  # (orders, samples, joints)
        rest, total = model.compared(Motion(q, v, a, tau))
        whole += model.share(rest, total).tolist()
        single += np.sum(np.maximum(0.0, 1 - rest / np.maximum(total, 1e-300)), axis=1).tolist()
    close = [k for k, x in enumerate(whole) if x > max(whole) - CLOSE]
    best = max(close, key=lambda k: single[k] - CLOSE * moved(choices[k]))
    return choices[best], model.explained(reordered(motion, choices[best]))


def reordered(motion: Motion, order: Sequence[int]) -> Motion:
    """Joint i of the robot from column order[i]."""
    return Motion(*(x[:, list(order)] for x in motion))


def best_torque_order(model: Model, motion: Motion) -> tuple[tuple[int, ...], float]:
    """The order of the columns of the torques alone that explains most, column by column, and its share."""
    from scipy.optimize import linear_sum_assignment

    n = motion.q.shape[1]
    rest, total = np.empty((n, n)), np.empty((n, n))  # (joint, column)
    for column in range(n):
        tau = np.repeat(motion.tau[:, column, None], n, axis=1)
        rest[:, column], total[:, column] = model.compared(motion._replace(tau=tau))
    single = np.maximum(0.0, 1 - rest / np.maximum(total, 1e-300)) + CLOSE * np.eye(n)
    _, order = linear_sum_assignment(-single - (1 - rest / total.sum()))
    return tuple(order.tolist()), model.explained(motion._replace(tau=motion.tau[:, order]))


def sign_readings(model: Model, motion: Motion, name: str) -> Iterator[tuple[str, FloatArray, float]]:
    """What has other signs, the signs, and the share that is explained: torques, positions, or both."""
    n = motion.q.shape[1]

    def share(signs: FloatArray, position: bool, torque: bool) -> float:
        q, v, a = (signs * x if position else x for x in motion[:3])
        return model.explained(Motion(q, v, a, signs * motion.tau if torque else motion.tau))

    for what, position, torque in ((name, False, True), ("q", True, False), (f"q and {name}", True, True)):
        signs = np.ones(n)
        best = share(signs, position, torque)
        for _ in range(n):  # the sign that helps most, one after another
            tried = [np.where(np.arange(n) == i, -signs, signs) for i in range(n)]
            shares = [share(x, position, torque) for x in tried]
            if max(shares) < best + GAIN:
                break
            signs, best = tried[int(np.argmax(shares))], max(shares)
        yield what, signs, best


def torque_unit_findings(log: Log, model: Model, motion: Motion, names: Sequence[str], name: str) -> Iterator[Finding]:
    """Torques that follow the model, but many times too large or too small at every joint."""
    torque, tau = (without_friction(x, motion.v) for x in (model.torque(motion), motion.tau))
    product, own = np.sum(torque * tau), np.sum(torque * torque)
    usual = float(abs(product) / own)
    if abs(product) < ALIKE * np.sqrt(own * np.sum(tau * tau)) or UNITS[0] < usual < UNITS[1]:
        return
    ratios = [x.drive.motors[0].gear_ratio for x in log.robot.joints if x.drive is not None]
    known = [abs(x) for x in ratios if x]
    if any(0.5 < usual * x < 2 for x in known):
        why, fix = "it is before the reduction", "multiply it by the gear ratio"
    elif 300 < usual < 3000:
        why, fix = "it is in mNm", f"write the unit behind the header, such as '{name}.{names[0]} [mNm]'"
    else:
        why = "it is a current, or before the reduction"
        fix = "name the columns current.JOINT and give torque_constant= and gear_ratio=, or convert the numbers"
    yield Finding("error", "units", "", f"{name} is about {usual:.2g} times the torque of the model: {why}", fix)
