"""Sinusoids and sums of them: periodic motions, such as those that excite a robot for identification."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import duration as checked_duration, finite, frozen, positive
from ..errors import InputError, shown
from ..numerics import atan2, power, sin_cos
from .base import Trajectory, set_fields


@dataclass(frozen=True, eq=False)
class Sinusoid(Trajectory):
    """q(t) = offset + Σ amplitude · sin(2π · frequency · t + phase), frequencies in Hz, for all t.

    `amplitude`, `frequency` and `phase` broadcast to (m, n), the m terms of n joints; for one term (n,) will do.  With
    one frequency a joint, write `frequency` as (n,); with one a term, as (m, 1).  `offset` is (n,) or a number.
    Without `duration` the motion lasts one period of its lowest frequency.
    """

    amplitude: np.ndarray
    frequency: np.ndarray
    phase: np.ndarray = 0.0  # type: ignore[assignment]
    offset: np.ndarray = 0.0  # type: ignore[assignment]
    duration: float = None  # type: ignore[assignment]
    n: int = field(init=False)
    smoothness: float = field(init=False, default=math.inf)

    def __post_init__(self) -> None:
        given = {name: finite("Sinusoid", name, getattr(self, name)) for name in ("amplitude", "frequency", "phase")}
        try:
            terms = np.broadcast_shapes(*(x.shape for x in given.values()), (1, 1))
        except ValueError:
            shapes = ", ".join(f"{name} {x.shape}" for name, x in given.items())
            raise InputError(
                f"Sinusoid: {shapes} do not fit together; write each as (m, n), m terms of n joints"
            ) from None
        offset = finite("Sinusoid", "offset", self.offset)
        n = offset.size if terms[1] == 1 and offset.ndim == 1 else terms[1]
        if len(terms) != 2 or offset.shape not in ((), (n,)):
            raise InputError(
                f"Sinusoid: terms of shape {terms} and an offset of shape {offset.shape}; they must be (m, n) and (n,)"
            )
        if not np.all(given["frequency"] > 0):
            frequency = shown(given["frequency"].tolist())
            raise InputError(f"Sinusoid: frequency is {frequency}; every one must be positive, in Hz")
        with np.errstate(over="ignore"):
            duration = 1.0 / given["frequency"].min() if self.duration is None else self.duration
        arrays = {name: frozen(np.broadcast_to(x, (terms[0], n)).copy()) for name, x in given.items()}
        offset = frozen(np.broadcast_to(offset, (n,)).copy())
        set_fields(self, **arrays, offset=offset, n=n, duration=checked_duration("Sinusoid", "duration", duration))

    @classmethod
    def fourier(
        cls, frequency: float, cosine: Any, sine: Any, offset: Any = 0.0, duration: float | None = None
    ) -> Sinusoid:
        """q(t) = offset + Σ_h cosine[h−1] cos(hωt) + sine[h−1] sin(hωt), ω = 2π·frequency, both (harmonics, n)."""
        a, b = finite("Sinusoid", "cosine", cosine), finite("Sinusoid", "sine", sine)
        if a.ndim != 2 or a.shape != b.shape:
            raise InputError(f"Sinusoid: cosine has shape {a.shape} and sine {b.shape}; both must be (harmonics, n)")
        harmonics = positive("Sinusoid", "frequency", frequency, ", in Hz") * np.arange(1, len(a) + 1)
        phase = np.reshape([atan2(*pair) for pair in zip(a.ravel(), b.ravel())], a.shape)
        return cls(np.sqrt(a * a + b * b), harmonics[:, None], phase, offset, duration)  # type: ignore[arg-type]

    def derivatives(self, t: np.ndarray, order: int) -> np.ndarray:
        omega = 2.0 * math.pi * self.frequency
        turns = t[..., None, None] * self.frequency
        angle = 2.0 * math.pi * (turns - np.floor(turns)) + self.phase
        s, c = sin_cos(angle)
        quarters = (s, c, -s, -c)  # sin(x + kπ/2)
        stack = np.stack([(self.amplitude * power(omega, k) * quarters[k % 4]).sum(axis=-2) for k in range(order + 1)])
        stack[0] += self.offset
        return stack

    def remedy(self, order: int) -> str:
        return "nothing, all derivatives are continuous"
