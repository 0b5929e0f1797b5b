"""Gains of the tracking law sʳ + K_(r−1) sʳ⁻¹ + ... + K_0 from its poles  [EJNEA (13)]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..checks import frozen
from ..errors import NOT_NUMBERS, InputError
from ..types import FloatArray

PAIRED = 1e-9  # relative distance of a pole from the conjugate of its partner


def gains_from_poles(poles: ArrayLike) -> FloatArray:
    """Gains [K_0, K_1, ...] that give each joint the desired closed-loop poles.

    Args:
        poles: Poles (r,) for all joints, or (n, r), one row per joint, in 1/s: in the left half plane, complex ones in
            conjugate pairs.  r is 4 for springs, 3 for damped springs, 2 for rigid joints: `chain_length(robot)`.

    Returns:
        Gains (r,), or (r, n) for poles (n, r); K_k in 1/s^(r−k).

    Raises:
        InputError: A pole is not finite, not in the left half plane, or lacks its conjugate.

    Example:
        >>> from flexjoint.control import gains_from_poles
        >>> gains_from_poles([-10, -10])
        array([100.,  20.])
        >>> gains_from_poles([-3 + 4j, -3 - 4j])
        array([25.,  6.])
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
            raise InputError(f"gains_from_poles: the pole {shown_pole(pole)} is not finite; give finite poles")
        if pole.real >= 0:
            raise InputError(
                f"gains_from_poles: the pole {shown_pole(pole)} is not in the left half plane; take Re < 0"
            )
    upper = sorted(array[array.imag > 0], key=lambda x: (x.real, x.imag))
    lower = sorted(array[array.imag < 0].conj(), key=lambda x: (x.real, x.imag))
    alone = [*upper[len(lower) :], *np.conj(lower[len(upper) :])]
    alone += [a for a, b in zip(upper, lower) if abs(a - b) > PAIRED * abs(a)]
    for pole in alone:
        raise InputError(
            f"gains_from_poles: the pole {shown_pole(pole)} lacks its conjugate {shown_pole(np.conj(pole))}"
        )
    gains = [1.0]  # ascending coefficients of the product of all factors so far
    for pole in map(complex, array[array.imag >= 0]):
        factor = [-pole.real, 1.0]
        if pole.imag:
            factor = [pole.real * pole.real + pole.imag * pole.imag, -2 * pole.real, 1.0]
        padded = [0.0] * (len(factor) - 1) + gains + [0.0] * (len(factor) - 1)
        gains = [sum(f * padded[k - j] for j, f in enumerate(factor)) for k in range(len(factor) - 1, len(padded))]
    return np.array(gains[:-1])


def check_gains(gains: ArrayLike, length: int, n: int) -> FloatArray:
    """Gains as a read-only array (length, n), one column per joint; an InputError names a pole that is not stable."""
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
                f"the gains {array[:, joint].tolist()} of joint {joint + 1} put a pole at {shown_pole(worst)}: not "
                "stable; take them from gains_from_poles"
            )
    return frozen(array)


def shown_pole(pole: complex) -> str:
    """A pole as a message shows it: -3+4i."""
    return f"{pole.real:g}" if pole.imag == 0 else f"{pole.real:g}{pole.imag:+g}i"
