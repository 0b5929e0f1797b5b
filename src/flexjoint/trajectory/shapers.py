"""Impulse shapers: weights Aᵢ and delays tᵢ whose sum of delayed motions leaves no residual vibration.

With K = exp(−ζπ/√(1 − ζ²)) and half the damped period T/2 = 1/(2f √(1 − ζ²)):

    zv    1, K                          / (1 + K)       at 0, T/2
    zvd   1, 2K, K²                     / (1 + K)²      at 0, T/2, T
    ei    (1+V)/4, K (1−V)/2, K² (1+V)/4, over their sum, at 0, T/2, T  [Singhose]

Residual vibration of a mode, relative to that without a shaper  [Singer]:

    V(f, ζ) = exp(−ζ ω tₙ) |Σ Aᵢ exp((ζ ω + i ω_d) tᵢ)|,    ω = 2πf,  ω_d = ω √(1 − ζ²)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite, frozen, number, positive
from ..dynamics.held_modes import VibrationMode
from ..errors import InputError, shown
from ..numerics import exp
from ..types import FloatArray

TOLERATED = 0.05  # residual vibration that "ei" allows at its frequency, and by which robustness is stated
MAX_IMPULSES = 1000
SPAN, POINTS = 4.0, 4001  # frequency ratios that are looked at: to this factor up, in so many steps


@dataclass(frozen=True, eq=False)
class ImpulseShaper:
    """Weights and delays of a sum of delayed motions.

    Args:
        delays: (k,), increasing from 0, in s.
        weights: (k,), positive, of sum 1.

    Raises:
        InputError: the delays do not increase from 0, or the weights are not positive with the sum 1.

    Example:
        >>> import flexjoint as fj
        >>> shaper = fj.trajectory.impulse_shaper("zv", [(2.0, 0.0)])
        >>> shaper.delays.tolist(), shaper.weights.tolist()
        ([0.0, 0.25], [0.5, 0.5])
        >>> round(float(shaper.residual(2.2)), 3)
        0.156
    """

    delays: FloatArray
    weights: FloatArray

    def __post_init__(self) -> None:
        delays, weights = (finite("ImpulseShaper", name, getattr(self, name)) for name in ("delays", "weights"))
        if delays.ndim != 1 or delays.shape != weights.shape or not delays.size:
            raise InputError(
                f"ImpulseShaper: delays {delays.shape} and weights {weights.shape} must be two equal lists"
            )
        if delays[0] != 0.0 or np.any(np.diff(delays) <= 0):
            raise InputError(f"ImpulseShaper: delays are {shown(delays.tolist())}; they must increase from 0")
        if not np.all(weights > 0) or abs(weights.sum() - 1.0) > 1e-9:
            raise InputError(f"ImpulseShaper: weights are {shown(weights.tolist())}; give positive ones with the sum 1")
        object.__setattr__(self, "delays", frozen(delays))
        object.__setattr__(self, "weights", frozen(weights))

    @property
    def delay(self) -> float:
        """By how much a shaped motion is longer, in s."""
        return float(self.delays[-1])

    def residual(self, frequency: ArrayLike, damping: ArrayLike = 0.0) -> FloatArray:
        """Residual vibration of a mode, relative to that without the shaper.

        Args:
            frequency: natural frequency of the mode, in Hz, of any shape.
            damping: its damping ratio; 0 by default.
        """
        omega, zeta = 2 * math.pi * np.asarray(frequency, dtype=float)[..., None], np.asarray(damping)[..., None]
        pole = omega * (zeta + 1j * np.sqrt(1 - zeta**2))
        return np.abs(np.sum(self.weights * np.exp(pole * self.delays - zeta * omega * self.delay), axis=-1))

    def insensitivity(self, mode: VibrationMode | float, level: float = TOLERATED) -> tuple[float, float]:
        """Lowest and highest frequency around a mode, in Hz, between which at most `level` of the vibration remains.

        Args:
            mode: the mode, or its frequency in Hz, undamped.
            level: residual vibration; 0.05 by default.

        Raises:
            InputError: more than `level` remains at the mode itself.
        """
        frequency, zeta = (mode.frequency, mode.damping) if isinstance(mode, VibrationMode) else (mode, 0.0)
        edges = []
        for sign in (-1, 1):
            f = frequency * SPAN ** (sign * np.linspace(0.0, 1.0, POINTS))
            beyond = np.flatnonzero(self.residual(f, zeta) > level * (1 + 1e-9))
            if beyond.size and beyond[0] == 0:
                raise InputError(
                    f"ImpulseShaper: {float(self.residual(frequency, zeta)):.3g} of the vibration at {frequency:g} Hz "
                    f"remains, more than {level:g}"
                )
            edges.append(float(f[beyond[0] - 1]) if beyond.size else float(f[-1]))
        return edges[0], edges[1]

    def then(self, other: ImpulseShaper) -> ImpulseShaper:
        """Both shapers one after the other: it removes what either of them removes."""
        delays = np.add.outer(self.delays, other.delays).ravel()
        weights = np.multiply.outer(self.weights, other.weights).ravel()
        if delays.size > MAX_IMPULSES:
            raise InputError(f"ImpulseShaper: {delays.size} impulses; at most {MAX_IMPULSES}: shape fewer modes")
        unique, place = np.unique(delays, return_inverse=True)
        joined = np.zeros(unique.size)
        np.add.at(joined, place, weights)
        return ImpulseShaper(unique, joined)


def zv(K: float) -> list[float]:
    """Zero vibration at one frequency: two impulses."""
    return [1.0, K]


def zvd(K: float) -> list[float]:
    """Zero vibration and zero derivative by the frequency: three impulses."""
    return [1.0, 2 * K, K * K]


def ei(K: float) -> list[float]:
    """Extra insensitive: some vibration at the frequency itself, and less beside it; three impulses."""
    return [(1 + TOLERATED) / 4, K * (1 - TOLERATED) / 2, K * K * (1 + TOLERATED) / 4]


SHAPERS: dict[str, Callable[[float], list[float]]] = {"zv": zv, "zvd": zvd, "ei": ei}


def impulse_shaper(kind: str, modes: Iterable[VibrationMode | tuple[float, float]]) -> ImpulseShaper:
    """Impulse shaper for one or more modes of vibration; the shapers of several modes are convolved.

    Args:
        kind: "zv", two impulses per mode, shortest; "zvd", three, zero slope at the frequency; "ei", three, at most 5 %
            residual over the widest range.
        modes: the modes, or pairs of frequency, in Hz, and damping ratio.

    Raises:
        InputError: the kind is not known, there is no mode, or a mode does not oscillate.
    """
    if kind not in SHAPERS:
        raise InputError(f"impulse_shaper: kind is {shown(kind)}; it must be one of {', '.join(SHAPERS)}")
    chosen = [checked_mode(x) for x in modes]
    if not chosen:
        raise InputError("impulse_shaper: there is no mode; give frequencies in Hz with damping ratios, [(2.5, 0.01)]")
    return reduce(ImpulseShaper.then, [of_mode(kind, x) for x in chosen])


def of_mode(kind: str, mode: VibrationMode) -> ImpulseShaper:
    """The shaper of one mode."""
    root = math.sqrt(1 - mode.damping * mode.damping)
    weights = np.array(SHAPERS[kind](exp(-mode.damping * math.pi / root)))
    half = 1 / (2 * mode.frequency * root)
    return ImpulseShaper(half * np.arange(len(weights), dtype=float), weights / weights.sum())


def checked_mode(mode: object) -> VibrationMode:
    """A mode, from a VibrationMode or a pair of numbers."""
    if isinstance(mode, VibrationMode):
        frequency, damping = mode.frequency, mode.damping
    elif isinstance(mode, tuple | list) and len(mode) == 2:
        frequency, damping = mode
    else:
        raise InputError(f"impulse_shaper: a mode is {shown(mode)}; give (frequency in Hz, damping ratio)")
    frequency = positive("impulse_shaper", "frequency", frequency, ", in Hz")
    zeta = number("impulse_shaper", "damping", damping)
    if not 0 <= zeta < 1:
        raise InputError(f"impulse_shaper: damping is {zeta:g} at {frequency:g} Hz; it must be from 0 to below 1")
    return VibrationMode(frequency, zeta)
