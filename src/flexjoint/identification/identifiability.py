"""What a log can tell: a verdict per parameter, with the reason and the motion that would help.

A deflection below one encoder step is no measurement, whatever the statistics say: rounding is noise only where the
position crosses many steps.  Spring damping acts like friction of the motor away from the resonance of the joint, so it
counts only if it is significant.  On arms with torque sensors q may be computed as θ − τ_e/K: then a fit returns the K
of that computation.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from ..dynamics import base_parameters
from ..logs import Log
from ..logs.circular_rules import circular_stiffness
from ..robot import Joint, Robot
from ..types import FloatArray
from .estimates import IDENTIFIED, SIGNIFICANT, UNKNOWN, WEAK, Estimate
from .parameters import PAYLOAD
from .physical_links import pseudo_inertia
from .residuals import ResidualTest

GOOD, POOR = 0.05, 0.5  # relative deviations up to which a value is identified, and weakly known
WANTED = 0.005  # relative deviation of a stiffness that a further motion should reach
ENOUGH = 25.0  # encoder steps of deflection, root mean square, above which a payload gains nothing
STEPS = 2.0  # encoder steps of deflection, root mean square, from which a stiffness is trusted
CORRELATED = 0.98
ROUNDING = 1e-9  # of an eigenvalue
LEVER, SWING, FASTEST = 0.2, 0.5, 1.0  # m off the axis, rad, Hz: the payload motion that is proposed


class Deflection(NamedTuple):
    """How far the spring of a joint deflects in the logs.

    Args:
        rms: Root mean square of θ − q without its mean, rad or m.
        step: The greater resolution of both encoders, rad or m; 0 if the numbers show none.
    """

    rms: float
    step: float

    @property
    def steps(self) -> float:
        """In encoder steps; infinite without steps."""
        return self.rms / self.step if self.step else math.inf


def deflections(robot: Robot, logs: Sequence[Log]) -> list[Deflection]:
    """One per joint; zeros where motors are not logged."""
    found = []
    for i in range(robot.n):
        squares, steps = [0.0], [0.0]
        for log in logs:
            if log.q is not None and log.theta is not None:
                squares.append(float(np.nanvar(log.theta[:, i] - log.q[:, i])))
                steps += [resolution(log.q[:, i]), resolution(log.theta[:, i])]
        found.append(Deflection(math.sqrt(max(squares)), max(steps)))
    return found


def resolution(x: FloatArray) -> float:
    """Step of an encoder, from its numbers; 0 if they are not multiples of a step."""
    jumps = np.abs(np.diff(x[np.isfinite(x)]))
    jumps = jumps[jumps > 1e-12 * max(1.0, float(np.abs(jumps).max(initial=0.0)))]
    if jumps.size < 20:
        return 0.0
    step = float(np.median(jumps[jumps < 1.5 * jumps.min()]))
    if step <= 1e-9:
        return 0.0
    small = jumps[jumps < 50 * step] / step
    return step if small.size and np.mean(np.abs(small - np.round(small)) < 0.05) > 0.95 else 0.0


# Verdicts -----------------------------------------------------------------------------------------------------------


def with_verdicts(
    robot: Robot,
    estimates: Sequence[Estimate],
    covariance: FloatArray,
    logs: Sequence[Log],
    slow_left_out: Collection[int] = (),
    anchored: Collection[int] = (),
    relative: bool = False,
) -> list[Estimate]:
    """The estimates with their verdicts.

    Args:
        robot: The robot, with its prior values.
        estimates: Without verdicts.
        covariance: Of their values.
        logs: The logs.
        slow_left_out: Joints whose reversals do not count.
        anchored: Joints whose torque sensors have the scale 1.
        relative: Whether springs are known relative to the links of the robot file only.
    """
    deflected = deflections(robot, logs)
    scale = 1 / np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance * scale[:, None] * scale
    positive = positive_sums(robot)
    found = []
    for k, x in enumerate(estimates):
        verdict, reason = of_links(x, estimates, positive) if x.kind in LINKS else by_deviation(x, estimates)
        if x.kind == "stiffness":
            verdict, reason = of_stiffness(robot, x, deflected[x.joint], verdict, reason)
            for log in logs:
                if (K := circular_stiffness(log, x.joint)) is not None:
                    verdict = UNKNOWN
                    reason = (
                        f"circular: in the log q is theta − tau_e/{K:.6g} to rounding, so this is the stiffness that "
                        "computed q, no measurement; log an encoder on the link"
                    )
        elif x.kind == "sensor_scale" and x.joint in anchored:
            verdict, reason = UNKNOWN, "taken as 1: needs motor torques that show it, far from the inertia of the motor"
        elif x.kind in ("damping", "sensor_damping") and abs(x.value) < SIGNIFICANT * x.deviation:
            verdict, reason = UNKNOWN, "not significant; away from the resonance it acts like friction of the motor"
        elif x.kind in AT_REVERSALS and x.joint in slow_left_out:
            verdict, reason = UNKNOWN, "reversals of this joint do not count: friction there is none of the laws"
        elif verdict != IDENTIFIED:
            others = np.flatnonzero((np.abs(correlation[k]) > CORRELATED) & (np.arange(len(estimates)) != k))
            if others.size:
                other = int(max(others, key=lambda j: abs(correlation[k, j])))
                reason += f"; correlated {correlation[k, other]:+.3f} with {estimates[other].name}"
        if relative and verdict == IDENTIFIED:
            verdict, reason = WEAK, "relative to the inertias of the links, which no torque shows: log tau or tau_e"
        found.append(dataclasses.replace(x, verdict=verdict, reason=reason))
    return found


def with_wrong_models(estimates: Sequence[Estimate], tests: Sequence[ResidualTest], converged: bool) -> list[Estimate]:
    """The estimates; those of joints whose residuals show a wrong model are weak, however small their deviations.

    Without convergence nothing is known.
    """
    if not converged:
        unknown = [x.verdict == UNKNOWN and x.reason for x in estimates]  # a reason of its own says more
        new = [dataclasses.replace(x, verdict=UNKNOWN, reason=UNFINISHED) for x in estimates]
        return [x if kept else y for x, y, kept in zip(estimates, new, unknown)]
    wrong = {x.joint: x for x in tests if not x.passed}
    return [
        dataclasses.replace(x, verdict=WEAK, reason=f"the model is wrong: {wrong[x.joint].finding}")
        if x.joint in wrong and x.verdict == IDENTIFIED and x.kind not in ZERO
        else x
        for x in estimates
    ]


UNFINISHED = "the iteration did not converge: check units and columns, or fit a lower bandwidth"
AT_REVERSALS = ("log_velocity", "rise", "log_stribeck")

ZERO = ("torque_offset", "spring_offset", "spring_zero", "sensor_offset", "delay")  # a relative deviation says nothing
LINKS = ("base", "payload")


def by_deviation(x: Estimate, others: Sequence[Estimate] = ()) -> tuple[str, str]:
    """Verdict by the relative deviation, of a number that can be.

    Args:
        x: The estimate.
        others: All estimates of the robot.
    """
    if x.kind in ZERO:
        return IDENTIFIED, ""
    share = x.deviation / abs(x.value) if x.value else math.inf
    if reason := impossible(x, others):
        return UNKNOWN, "; ".join([reason, *([ADVICE[x.kind]] if x.kind == "stiffness" else [])])
    if x.kind == "cubic" and x.value < 0:
        return UNKNOWN, "the spring softens, or is linear; take spring='piecewise' or 'linear'"
    if share <= GOOD:
        return IDENTIFIED, ""
    advice = ADVICE.get(x.kind.removesuffix("_backward"), "needs larger deflections")
    return (WEAK if share <= POOR else UNKNOWN), f"deviation {100 * share:.2g} %; {advice}"


def positive_sums(robot: Robot) -> set[str]:
    """Names of the parameters of links, or of a payload, that all bodies make positive: masses, moments of inertia.

    A linear function tr(F P) of pseudo-inertias P is positive for all bodies if F is positive semidefinite.
    """
    table = base_parameters(robot)
    basis = np.stack([pseudo_inertia(x) for x in np.eye(10)])
    dual = np.tensordot(np.linalg.inv(np.tensordot(basis, basis, ((1, 2), (1, 2)))), basis, 1)
    found = {f"payload.{name}" for name, F in zip(PAYLOAD, dual) if np.linalg.eigvalsh(F)[0] > -ROUNDING}
    for name, row in zip(table.names, table.matrix):
        least = np.linalg.eigvalsh(np.tensordot(row.reshape(-1, 10), dual, 1))[:, 0]
        if np.all(least > -ROUNDING * np.abs(row).max()):
            found.add(name)
    return found


def of_links(x: Estimate, estimates: Sequence[Estimate], positive: Collection[str]) -> tuple[str, str]:
    """Verdict of a number of the links, which may be zero: its deviation against the largest one of its link.

    The priors of that link are the measure, of all links where they are zero, else the estimates.

    Args:
        x: The estimate.
        estimates: All estimates.
        positive: Names of the numbers that all bodies make positive.
    """
    if x.name in positive and x.value <= 0:
        return UNKNOWN, "the estimate is not positive, which no body has: the data do not show it"
    alike = [y for y in estimates if (y.kind, y.unit) == (x.kind, x.unit)]
    own = [y for y in alike if y.name.partition(".")[0] == x.name.partition(".")[0]]
    sizes = (max((abs(y.prior) for y in group if not math.isnan(y.prior)), default=0.0) for group in (own, alike))
    size = next((s for s in sizes if s > 0), max(abs(y.value) for y in alike))
    share = x.deviation / max(size, abs(x.value), 1e-300)
    if share <= GOOD:
        return IDENTIFIED, ""
    text = f"deviation {100 * share:.2g} % of the link's largest number in {x.unit}; needs larger motion of this link"
    return (WEAK if share <= POOR else UNKNOWN), text


def impossible(x: Estimate, others: Sequence[Estimate]) -> str:
    """Why no robot has this number; empty if one may have it."""
    if x.kind.startswith(("inertia", "stiffness")) and x.value <= 0:
        return "the estimate is not positive: the data do not show it"
    if x.kind.removesuffix("_backward") in DISSIPATIVE and x.value < 0:
        return "the estimate is negative, which would feed energy: the data do not show it"
    coulomb = x.name.replace("friction.static", "friction.coulomb").replace("backward.static", "backward.coulomb")
    if x.kind.startswith("rise") and any(y.name == coulomb and x.value <= y.value for y in others):
        return "not above the Coulomb friction: the logs show no static friction"
    return ""


DISSIPATIVE = ("damping", "viscous", "coulomb")
ADVICE = {
    "inertia": "needs larger accelerations of this motor",
    "viscous": "needs higher and more different speeds",
    "coulomb": "needs more reversals",
    "log_velocity": "needs slow reversals",
    "rise": "needs slow motion in both directions",
    "log_stribeck": "needs slow motion at several speeds",
    "damping": "needs motion near the resonance",
    "stiffness": "needs payload, a torque sensor, or motion of more frequencies",
    "sensor_scale": "needs larger joint torques",
}


def of_stiffness(robot: Robot, x: Estimate, deflection: Deflection, verdict: str, reason: str) -> tuple[str, str]:
    """Verdict of a stiffness, by its standard deviation and by the deflection in encoder steps."""
    if deflection.steps < 1:
        verdict = UNKNOWN
    elif deflection.steps < STEPS:
        verdict = WEAK if verdict == IDENTIFIED else verdict
    if verdict == IDENTIFIED:
        return verdict, ""
    if deflection.steps >= 2 * STEPS:  # a load does not help where encoders resolve the deflection
        return verdict, reason
    joint = robot.joints[x.joint]
    share = x.deviation / abs(x.value) if x.value else math.inf
    K = x.value if x.value > 0 and share < POOR else float(joint.drive.law.curve(0.0).stiffness)  # type: ignore[union-attr]
    wanted = min(max(share / WANTED * deflection.steps, 2 * STEPS), ENOUGH)
    now, needed = K * deflection.rms, K * deflection.step * wanted
    unit = "Nm" if joint.kind.angular else "N"
    text = f"rms deflection {deflection.steps:.2g} encoder steps: needs payload or a torque sensor, rms spring torque "
    text += f"{needed:.2g} {unit} (here {now:.2g} {unit})"
    return verdict, text if needed > joint.limits.effort else f"{text}; {payload_motion(joint, needed)}"


def payload_motion(joint: Joint, torque: float) -> str:
    """A payload and a motion that load a joint by this torque, root mean square."""
    limits, angular = joint.limits, joint.kind.angular
    swing = SWING if angular else 0.1
    speed = limits.velocity if math.isfinite(limits.velocity) else math.inf
    frequency = min(FASTEST, 0.8 * speed / (2 * math.pi * swing))
    acceleration = swing * (2 * math.pi * frequency) ** 2 / math.sqrt(2)
    mass = torque / acceleration / (LEVER**2 if angular else 1.0)
    mass = math.ceil(mass * 10) / 10
    held = (
        f"{mass:g} kg held {LEVER:g} m off the axis of joint '{joint.name}'"
        if angular
        else f"{mass:g} kg on joint '{joint.name}'"
    )
    return f"for example {held}, swung by ±{swing:g} {'rad' if angular else 'm'} at {frequency:.2g} Hz"
