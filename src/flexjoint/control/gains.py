"""Gains of the tracking law, sʳ + K_{r−1} sʳ⁻¹ + ... + K₀, from the poles it shall have  [EJNEA (13)]."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import NOT_NUMBERS, InputError

PAIRED = 1e-9  # relative; how far a pole may be from the conjugate of its partner


def gains_from_poles(poles: Any) -> np.ndarray:
    """[K₀, K₁, ...] (r,) from r poles common to all joints, or (r, n) from poles (n, r), a row for each joint.

    Four poles for springs, three for damped springs, two for rigid joints (`chain_length`).  They must lie in the left
    half plane, complex ones in conjugate pairs.
    """
    try:
        array = np.array(poles, dtype=complex)
    except NOT_NUMBERS:
        raise InputError(f"gains_from_poles: poles must be numbers (r,) or (n, r), not {poles!r}") from None
    if array.ndim not in (1, 2) or not array.size:
        raise InputError(f"gains_from_poles: poles have shape {array.shape}; give (r,), or (n, r) for n joints")
    if array.ndim == 2:
        return np.stack([gains_from_poles(row) for row in array], axis=-1)
    for pole in array:
        if not np.isfinite(pole):
            raise InputError(f"gains_from_poles: the pole {shown(pole)} is not finite")
        if pole.real >= 0:
            raise InputError(f"gains_from_poles: the pole {shown(pole)} is not in the left half plane; take Re < 0")
    upper = sorted(array[array.imag > 0], key=lambda x: (x.real, x.imag))
    lower = sorted(array[array.imag < 0].conj(), key=lambda x: (x.real, x.imag))
    for pole in [*upper[len(lower) :], *np.conj(lower[len(upper) :])]:
        raise InputError(f"gains_from_poles: the pole {shown(pole)} lacks its conjugate {shown(np.conj(pole))}")
    for a, b in zip(upper, lower):
        if abs(a - b) > PAIRED * abs(a):
            raise InputError(f"gains_from_poles: the pole {shown(a)} lacks its conjugate {shown(np.conj(a))}")
    gains = [1.0]  # ascending coefficients of the product of all factors so far
    for pole in map(complex, array[array.imag >= 0]):
        factor = [-pole.real, 1.0]
        if pole.imag:
            factor = [pole.real * pole.real + pole.imag * pole.imag, -2 * pole.real, 1.0]
        padded = [0.0] * (len(factor) - 1) + gains + [0.0] * (len(factor) - 1)
        gains = [sum(f * padded[k - j] for j, f in enumerate(factor)) for k in range(len(factor) - 1, len(padded))]
    return np.array(gains[:-1])


def check_gains(gains: Any, length: int, n: int) -> np.ndarray:
    """Gains as (length, n), one column a joint; each column Hurwitz, or the error names a pole that is not."""
    try:
        array = np.array(gains, dtype=float)
    except NOT_NUMBERS:
        raise InputError(f"gains must be numbers ({length},) or ({length}, {n}), not {gains!r}") from None
    if array.shape not in ((length,), (length, 1), (length, n)):
        raise InputError(
            f"gains have shape {array.shape}; chains of {length} integrators at {n} joints need ({length},) or "
            f"({length}, {n}): gains_from_poles makes them of {length} poles"
        )
    array = np.broadcast_to(array.reshape(length, -1), (length, n)).copy()
    if not np.all(np.isfinite(array)):
        raise InputError(f"gains are {array.tolist()}; every number must be finite")
    for joint in range(n):
        poles = np.roots([1.0, *array[::-1, joint]])
        worst = poles[np.argmax(poles.real)]
        if worst.real >= 0:
            raise InputError(
                f"the gains {array[:, joint].tolist()} of joint {joint + 1} put a pole at {shown(worst)}: not stable; "
                "take them from gains_from_poles"
            )
    array.flags.writeable = False
    return array


def shown(pole: complex) -> str:
    return f"{pole.real:g}" if pole.imag == 0 else f"{pole.real:g}{pole.imag:+g}i"
