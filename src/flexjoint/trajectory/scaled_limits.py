"""Limits along a motion as functions of its speed: the motion at the times s t, s > 1 faster, s < 1 slower.

The k-th derivative of q grows with sᵏ.  Without dry friction and with linear, undamped springs every torque, motor
speed and deflection at a sample is a polynomial in s, of the degree of the highest derivative of q that the torque
depends on: τ = τ_0 + s² τ_2 of a rigid robot, τ_0 + s² τ_2 + s⁴ τ_4 with springs  [EJNEA (6)], and odd powers with
viscous friction.  The coefficients follow from the values at degree + 1 speeds.  Other robots are evaluated at every s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dynamics.inverse import needed_order
from ..types import FloatArray
from .limited_motion import MONOMIALS, LimitedMotion
from .limits import RMS, LimitedQuantity, mean_weights

NOISE = 1e-13  # share of the largest coefficient below which one is rounding: beyond the nodes it would grow


@dataclass(frozen=True)
class Ratios:
    """Shares of limits as polynomials: (degree + 1, samples, columns); a motion is feasible where all |p| ≤ 1.

    Args:
        coefficients: of 1, x, x², ...
    """

    coefficients: FloatArray

    def at(self, x: float) -> FloatArray:
        """Values at one x, (samples, columns)."""
        return horner(self.coefficients, x)


def horner(coefficients: FloatArray, x: Any) -> FloatArray:
    """Polynomials at x."""
    found: FloatArray = np.zeros(())
    for c in coefficients[::-1]:
        found = found * x + c
    return found


def finite_columns(quantity: LimitedQuantity) -> NDArray[np.int64]:
    """Indices of the columns with a limit."""
    return np.flatnonzero(np.isfinite(quantity.upper))


def ratio_polynomials(motion: LimitedMotion, t: FloatArray, stack: FloatArray, scale: float) -> dict[str, Ratios]:
    """Shares of the limits of motors and springs as polynomials in x = s/scale, by kind; means are not among them."""
    degree = needed_order(motion.robot)
    nodes = 0.5 - 0.5 * np.cos(np.pi * np.arange(degree + 1) / degree)  # Chebyshev points of [0, 1]
    moved = motion.motors(t, stack, scale * nodes)
    inverse = np.linalg.inv(np.vander(nodes, increasing=True))

    def fitted(x: FloatArray) -> FloatArray:
        found = np.einsum("ij,j...->i...", inverse, x)
        return np.where(np.abs(found) > NOISE * np.abs(found).max(axis=(0, 1)), found, 0.0)

    tau, theta_v = fitted(moved.tau), fitted(moved.theta_v)
    parts = {"torque": tau, "motor speed": theta_v}
    if "spring torque" in motion.limited:
        parts["spring torque"] = fitted(moved.spring_torque)
    if "deflection" in motion.limited:
        parts["deflection"] = fitted(moved.deflection)
    if "power" in motion.limited:
        parts["power"] = products(tau, theta_v)
    if RMS in motion.limited:
        parts[RMS] = tau
    found = {}
    for name, x in parts.items():
        if name in motion.limited:
            chosen = finite_columns(motion.limited[name])
            bounds = np.maximum(motion.limited[name].upper[chosen], np.finfo(float).tiny)
            found[name] = Ratios(x[..., chosen] / bounds)
    return found


def products(a: FloatArray, b: FloatArray) -> FloatArray:
    """Products of polynomials, coefficients first."""
    found = np.zeros((len(a) + len(b) - 1, *a.shape[1:]))
    for i, x in enumerate(a):
        found[i : i + len(b)] += x * b
    return found


def mean_square(torque: Ratios, t: FloatArray) -> Ratios:
    """Mean squares over even samples as polynomials, with what the quadrature may be wrong added."""
    squares = products(torque.coefficients, torque.coefficients)
    fine = np.einsum("m,dmc->dc", mean_weights(t), squares)
    coarse = np.einsum("m,dmc->dc", mean_weights(t[::2]), squares[:, ::2])
    share = np.abs(fine - coarse).sum(axis=0) / np.maximum(np.abs(fine).sum(axis=0), np.finfo(float).tiny)
    return Ratios((fine * (1 + share))[:, None, :])


def largest_by_monomials(motion: LimitedMotion, stack: FloatArray, share: float) -> float:
    """Greatest s at which velocity, acceleration and jerk take that share of their limits; infinite without limits."""
    best = math.inf
    for name, k in MONOMIALS.items():
        if name in motion.limited and k < len(stack):
            top = np.abs(stack[k]).max(axis=0)
            moves = top > 0
            ratios = (share * motion.limited[name].upper[moves] / top[moves]) ** (1 / k)
            best = min(best, float(ratios.min(initial=math.inf)))
    return best
