"""Sums of sinusoids: periodic motions, such as excitation for identification."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..checks import duration as checked_duration, finite, frozen, positive
from ..errors import InputError, shown
from ..file_limits import spend
from ..numerics import atan2, power, sin_cos
from ..types import FloatArray
from .base import Trajectory, set_fields
from .kinds import MotionTable, kind


@dataclass(frozen=True, eq=False, repr=False)
class Sinusoid(Trajectory):
    """The periodic motion q(t) = offset + Σ amplitude · sin(2π · frequency · t + phase), for all t.

    `amplitude`, `frequency` and `phase` broadcast to (m, n), m terms of n joints: one frequency per joint is (n,), one
    per term is (m, 1).

    In files: `{kind = "sinusoid", amplitude = 0.3, frequency = 0.5}`, also phase, offset and duration; and `{kind =
    "fourier", frequency = 0.5, cosine = [...], sine = [...]}`, also offset and duration.

    Args:
        amplitude: (m, n), (n,) or a number, in rad or m.
        frequency: (m, n), (m, 1), (n,) or a number, positive, in Hz.
        phase: (m, n), (n,) or a number, in rad; 0 by default.
        offset: (n,) or a number, in rad or m; 0 by default.
        duration: duration, in s; by default one period of the lowest frequency.

    Raises:
        InputError: the shapes do not broadcast, or a frequency is not positive.

    Example:
        >>> import flexjoint as fj
        >>> swing = fj.trajectory.Sinusoid(amplitude=[0.3, 0.2], frequency=0.5)
        >>> swing.duration, swing(0.5)[0].round(12).tolist()
        (2.0, [0.3, 0.2])
    """

    amplitude: FloatArray
    frequency: FloatArray
    phase: FloatArray = 0.0  # type: ignore[assignment]
    offset: FloatArray = 0.0  # type: ignore[assignment]
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
            raise InputError(f"Sinusoid: frequency is {frequency}; all must be positive, in Hz")
        with np.errstate(over="ignore"):
            duration = 1.0 / given["frequency"].min() if self.duration is None else self.duration
        arrays = {name: frozen(np.broadcast_to(x, (terms[0], n)).copy()) for name, x in given.items()}
        offset = frozen(np.broadcast_to(offset, (n,)).copy())
        set_fields(self, **arrays, offset=offset, n=n, duration=checked_duration("Sinusoid", "duration", duration))

    @classmethod
    def fourier(
        cls,
        frequency: float,
        cosine: ArrayLike,
        sine: ArrayLike,
        offset: ArrayLike = 0.0,
        duration: float | None = None,
    ) -> Sinusoid:
        """The Fourier series q(t) = offset + Σ_h cosine[h−1] cos(hωt) + sine[h−1] sin(hωt), ω = 2π·frequency.

        Args:
            frequency: frequency of the first harmonic, in Hz.
            cosine: (harmonics, n), in rad or m.
            sine: (harmonics, n), in rad or m.
            offset: (n,) or a number, in rad or m; 0 by default.
            duration: duration, in s; by default one period.

        Raises:
            InputError: the shapes differ, or the frequency is not positive.

        Example:
            >>> import flexjoint as fj
            >>> fj.trajectory.Sinusoid.fourier(0.5, cosine=[[0.0], [0.1]], sine=[[0.3], [0.0]])
            Sinusoid(n=1, 2 s, C^inf)
        """
        a, b = finite("Sinusoid", "cosine", cosine), finite("Sinusoid", "sine", sine)
        if a.ndim != 2 or a.shape != b.shape:
            raise InputError(f"Sinusoid: cosine has shape {a.shape} and sine {b.shape}; both must be (harmonics, n)")
        harmonics = positive("Sinusoid", "frequency", frequency, ", in Hz") * np.arange(1, len(a) + 1)
        phase = np.reshape([atan2(*pair) for pair in zip(a.ravel(), b.ravel())], a.shape)
        return cls(np.sqrt(a * a + b * b), harmonics[:, None], phase, offset, duration)  # type: ignore[arg-type]

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
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


@kind("sinusoid", positions=("amplitude", "offset"), others=("frequency", "phase", "duration"))
def read(table: MotionTable) -> Trajectory:
    """The sum of sinusoids in a table of a file."""
    expected = "a number, one per joint, or rows of them, one per term"
    amplitude, frequency = table.positions("amplitude", expected), table.array("frequency", expected)
    phase = table.array("phase", expected) if "phase" in table.data else np.zeros(())
    for key, x in (("amplitude", amplitude), ("frequency", frequency), ("phase", phase)):
        if x.ndim and x.shape[-1] not in (1, table.joints.n):
            raise table.wrong(table.written(key), f"a number, {table.joints.n} numbers, or rows of them, one per term")
    offset, duration = table.per_joint("offset", 0.0), table.optional_number("duration")
    spend("harmonics", table.joints.n * max(len(np.atleast_2d(x)) for x in (amplitude, frequency, phase)), table.place)
    return Sinusoid(amplitude, frequency, phase, offset, duration)  # type: ignore[arg-type]


@kind("fourier", positions=("cosine", "sine", "offset"), others=("frequency", "duration"))
def read_fourier(table: MotionTable) -> Trajectory:
    """The Fourier series in a table of a file."""
    cosine, sine, offset = table.rows("cosine"), table.rows("sine"), table.per_joint("offset", 0.0)
    spend("harmonics", cosine.size, table.place)
    return Sinusoid.fourier(table.number("frequency"), cosine, sine, offset, table.optional_number("duration"))
