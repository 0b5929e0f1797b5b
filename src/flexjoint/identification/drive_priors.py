"""Priors of drives: numbers of the robot file as Gaussian densities that multiply those of the logs.

A number p_0 of the robot file has the deviation σ that its source states, else a share of p_0 by the trust of the
source.  Estimates p of logs with covariance C become

    p + C_k (C_kk + Σ)⁻¹ (p_0 − p_k),   C − C_k (C_kk + Σ)⁻¹ C_kᵀ      k: the numbers with priors, Σ = diag(σ²)

With the variance c of the result, c/σ² is the share of the information on a number that is its prior's.  Without it,
but with the priors of the other numbers, the logs say p + (p − p_0) c/(σ² − c), with the variance c σ²/(σ² − c).
Verdicts are those of the logs: a prior makes an estimate better, never its verdict.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..robot import Robot
from ..robot.sources import Source, numbers, sources_by_path
from ..types import FloatArray
from .estimates import UNKNOWN, Estimate, natural, with_deviation
from .parameters import Parameter, Unknowns
from .physical_links import DEVIATIONS

PRIORS = ("vague", "drives")
MOSTLY = 0.5  # share of the information from which an estimate is called one of the robot file
APART = 3.0  # joint deviations of a prior and of what the logs say
MOST_SHARE = 1 - 1e-6
NOTE = "deviations: "
OFFSETS = ("torque_offset", "spring_offset", "spring_zero", "sensor_offset", "sensor_scale")  # of no robot file
SHORT = {"viscous": "viscous_friction", "coulomb": "coulomb_friction", "velocity": "coulomb_velocity"}  # of motors


def drive_priors(robot: Robot, unknowns: Unknowns) -> FloatArray:
    """Deviations of the parameters by the sources of the robot's drives; infinite where nothing is stated."""
    sources = sources_by_path(robot, [x.path for x in numbers(robot)])
    values = natural(unknowns, unknowns.priors, np.zeros((len(unknowns.parameters),) * 2))[0]
    return np.array(
        [
            prior_deviation(x, float(value), source_by_name(sources, x.name)) if x.known else math.inf
            for x, value in zip(unknowns.parameters, values)
        ]
    )


def source_by_name(sources: Mapping[str, Source | None], name: str) -> Source | None:
    """Source of a number of a drive, which may be a field of the motor, an element, or one of a spring."""
    whole, _, last = name.rpartition(".")
    paths = (name, f"{whole.removesuffix('.friction')}.{SHORT.get(last, last)}", whole, f"{name}.{last}")
    return next((found for path in paths if (found := sources.get(path)) is not None), None)


def prior_deviation(x: Parameter, value: float, source: Source | None) -> float:
    """Deviation of a parameter whose number in the robot file has this value and source."""
    if source is None or source.trust == "placeholder":
        return math.inf
    stated = deviation_in(source.note, x.name)
    if stated is None and not value:
        return math.inf  # no friction, no damping: mostly nobody has looked
    deviation = DEVIATIONS[source.trust] * abs(value) if stated is None else stated
    return deviation / value if x.kind.startswith("log") else deviation


# Deviations in files ------------------------------------------------------------------------------------------------


def deviation_note(estimates: Iterable[Estimate], growth: float = 1.0) -> str:
    """Deviations of numbers of one joint as the note of a source, which `deviation_in` reads.

    Args:
        estimates: The numbers.
        growth: Of the deviations of independent priors that say no more than these numbers, which are correlated.
    """
    text = NOTE + ", ".join(f"{x.name.partition('.')[2]} {x.deviation:.2g} {x.unit}" for x in estimates)
    return text if growth <= 1 else f"{text}; correlated: {growth:.2g} times these as independent priors"


def independent_growth(estimates: Sequence[Estimate], correlation: FloatArray) -> float:
    """Growth of deviations with which numbers may be taken as independent: C ≤ λ diag(C), λ of the correlations."""
    own = [k for k, x in enumerate(estimates) if x.joint >= 0 and x.verdict != UNKNOWN and x.kind not in OFFSETS]
    return math.sqrt(max(np.linalg.eigvalsh(correlation[np.ix_(own, own)]).max(initial=1.0), 1.0))


def deviation_in(note: str, name: str) -> float | None:
    """Deviation of an independent prior that a note states; None without one."""
    if not note.startswith(NOTE):
        return None
    found = re.search(rf"[ ,]{re.escape(name.partition('.')[2])} ([0-9.e+-]+) ", f"{note} ")
    growth = re.search(r"; correlated: ([0-9.e+-]+) times", note)
    value = (float(found[1]) if found else 0.0) * (float(growth[1]) if growth else 1.0)
    return value if 0 < value < math.inf else None


# Information --------------------------------------------------------------------------------------------------------


class Told(NamedTuple):
    """Estimates of the logs and the robot file together, and what the logs say.

    Args:
        values, covariance: Of the parameters, with the priors.
        alone, alone_covariance: The same, each without its own prior.
        shares: Of the information of each estimate that comes from its prior.
    """

    values: FloatArray
    covariance: FloatArray
    alone: FloatArray
    alone_covariance: FloatArray
    shares: FloatArray


def with_priors(values: FloatArray, covariance: FloatArray, priors: FloatArray, deviations: FloatArray) -> Told:
    """Estimates of logs combined with priors.

    Args:
        values, covariance: What the logs say, (p,) and (p, p).
        priors, deviations: Of the robot file, (p,); an infinite deviation is no prior.
    """
    k = np.isfinite(deviations)
    if not np.any(k):
        return Told(values, covariance, values, covariance, np.zeros_like(values))
    variances = deviations[k] ** 2
    sums = covariance[np.ix_(k, k)] + np.diag(variances)
    scale = np.sqrt(np.diag(sums))
    gain = np.linalg.solve(sums / scale / scale[:, None], covariance[k] / scale[:, None]).T / scale
    left = np.eye(len(values))
    left[:, k] -= gain
    together = values + gain @ (priors - values)[k]
    spread = left @ covariance @ left.T + (gain * variances) @ gain.T  # positive, however little the logs say
    shares = np.zeros_like(values)
    shares[k] = np.clip(np.diag(spread)[k] / variances, 0.0, MOST_SHARE)
    alone = together + (together - priors) * shares / (1 - shares)
    grown = 1 / np.sqrt(1 - shares)
    return Told(together, spread, alone, spread * grown[:, None] * grown, shares)


def prior_notes(unknowns: Unknowns, told: Told, deviations: FloatArray, logs: Sequence[Estimate]) -> list[str]:
    """Which estimates the robot file decides, and which numbers of it the logs contradict.

    Args:
        unknowns: What was estimated.
        told: What the logs and the robot file say.
        deviations: Of the priors.
        logs: What the logs say, as estimates.
    """
    stated: list[int] = np.flatnonzero(np.isfinite(deviations)).tolist()
    found = [f"priors from the robot file: {len(stated)} numbers of drives, by their sources"]
    mostly = [f"{logs[k].name} ({100 * told.shares[k]:.0f} %)" for k in stated if told.shares[k] > MOSTLY]
    if mostly:
        found.append(f"mostly from the robot file: {', '.join(mostly)}")
    for k in stated:
        x = unknowns.parameters[k]
        apart = abs(told.alone[k] - x.prior) / math.hypot(deviations[k], math.sqrt(told.alone_covariance[k, k]))
        if apart > APART:
            said = with_deviation(logs[k].value, logs[k].deviation)
            file = with_deviation(logs[k].prior, deviations[k] * (logs[k].prior if x.kind.startswith("log") else 1.0))
            found.append(
                f"{x.name}: the logs say {said} {x.unit}, the robot file {file}, {apart:.1f} deviations apart; correct "
                "the file, or estimate without priors"
            )
    return found


def mostly_from_file(share: float, x: Estimate) -> str:
    """Reason for an estimate that the robot file decides; empty if the logs do."""
    if share <= MOSTLY:
        return ""
    said = with_deviation(x.value, x.deviation)
    return f"mostly from the robot file ({100 * share:.0f} % of the information); the logs alone say {said}"
