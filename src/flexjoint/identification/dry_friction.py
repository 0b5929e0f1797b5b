"""Derivatives of dry friction by its parameters, and their means over a sampling period."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..types import FloatArray

DRY = ("coulomb", "log_velocity", "rise", "log_stribeck", "viscous_backward", "coulomb_backward", "rise_backward")
GAUSS = np.array([-0.5, 0.5]) / math.sqrt(3)  # times in a period whose mean is exact to the third order
MIDPOINTS = (np.arange(8) + 0.5) / 8 - 0.5  # the same where a reversal takes about a period
SLOW = 0.4  # change of the velocity in a period, in friction velocities, up to which GAUSS errs less
NEAR = 5.0  # friction velocities: beyond, dry friction hardly changes within a period


def dry_friction(v: FloatArray, law: Mapping[str, float]) -> dict[str, FloatArray]:
    """Derivatives of dry friction by its parameters; of all friction where it differs by direction.

        F = (F_c + (F_s − F_c) e) t,     t = tanh(v/v_c), e = exp(−(v/v_s)²)
        F = ½ (1 + t) F₊ + ½ (1 − t) F₋,    F± = D± v + (F_c± + (F_s± − F_c±) e) t

    Args:
        v: Velocities, rad/s or m/s.
        law: Values of the parameters by kind; velocities by their logarithms, F_s − F_c as "rise".
    """
    x = v / math.exp(law["log_velocity"])
    t = np.tanh(x)
    bend = x * (t * t - 1)  # of t by ln v_c
    y = (v / math.exp(law["log_stribeck"])) ** 2 if "rise" in law else np.zeros_like(v)
    e = np.exp(-y)

    def side(suffix: str) -> tuple[dict[str, FloatArray], FloatArray, FloatArray]:
        """Columns of one direction, their friction over t, and its derivative by ln v_s over t."""
        rise = law.get(f"rise{suffix}", 0.0)
        columns = {f"coulomb{suffix}": t} | ({f"rise{suffix}": e * t} if "rise" in law else {})
        return columns, law[f"coulomb{suffix}"] + rise * e, 2 * rise * y * e

    found, level, fall = side("")
    if "coulomb_backward" not in law:
        slope = level
    else:
        back, back_level, back_fall = side("_backward")
        found["viscous"], back["viscous_backward"] = v, v
        D, D_back = law["viscous"], law["viscous_backward"]
        ahead, behind = (1 + t) / 2, (1 - t) / 2
        slope = (D - D_back) * v / 2 + (level - back_level) * t / 2 + ahead * level + behind * back_level
        found = {kind: ahead * x for kind, x in found.items()} | {kind: behind * x for kind, x in back.items()}
        fall = ahead * fall + behind * back_fall
    found["log_velocity"] = slope * bend
    return found | ({"log_stribeck": fall * t} if "rise" in law else {})


def mean_dry_friction(v: FloatArray, a: FloatArray, h: float, law: Mapping[str, float]) -> dict[str, FloatArray]:
    """The same as means over one period around each sample: a reversal takes less than a period."""
    found = {kind: np.array(x) for kind, x in dry_friction(v, law).items()}
    speed, change = math.exp(law["log_velocity"]), np.abs(a) * h
    near = np.abs(v) < NEAR * speed + change
    for within, points in ((change < SLOW * speed, GAUSS), (change >= SLOW * speed, MIDPOINTS)):
        rows = np.flatnonzero(near & within)
        shapes = dry_friction(v[rows] + a[rows] * h * points[:, None], law)
        for kind, x in found.items():
            x[rows] = np.mean(shapes[kind], axis=0)
    return found
