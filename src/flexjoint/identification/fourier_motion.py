"""Fourier series that start and end at rest, as linear functions of free numbers.

Per joint q(t) = offset + Σ a_h cos(hωt) + b_h sin(hωt) with Σ h b_h = Σ h³ b_h = Σ h² a_h = Σ h⁴ a_h = 0: velocity,
acceleration, jerk and snap vanish at t = 0 and after every period.  The free numbers are coordinates in the null spaces
of these conditions, times the range of the joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..trajectory import Sinusoid
from ..types import FloatArray

LEAST_HARMONICS = 4  # with fewer the conditions leave hardly anything
ORDER = 4  # derivatives that are used


@dataclass(frozen=True)
class FourierMotion:
    """The family of Fourier series of one period.

    Args:
        duration: Of the period, s.
        harmonics: Number of harmonics.
        middle, reach: Middle and half range of each joint's positions, (n,), rad or m.
        samples: Number of even times at which the motion is looked at.
    """

    duration: float
    harmonics: int
    middle: FloatArray
    reach: FloatArray
    samples: int

    @cached_property
    def null_spaces(self) -> tuple[FloatArray, FloatArray]:
        """Bases of cosine and sine coefficients, (harmonics, harmonics − 2) each."""
        h = np.arange(1, self.harmonics + 1, dtype=float) / self.harmonics
        return tuple(null_space(np.stack([h**p, h ** (p + 2)])) for p in (2, 1))  # type: ignore[return-value]

    @property
    def free(self) -> int:
        """Free numbers per joint: the offset, cosines and sines."""
        return 1 + 2 * (self.harmonics - 2)

    @property
    def times(self) -> FloatArray:
        """Even times of one period, (samples,), s."""
        return self.duration * np.arange(self.samples) / self.samples

    @cached_property
    def basis(self) -> FloatArray:
        """q and its derivatives per free number and range, (ORDER + 1, samples, free)."""
        omega = 2 * np.pi / self.duration * np.arange(1, self.harmonics + 1)
        angle = self.times[:, None] * omega
        found = np.zeros((ORDER + 1, self.samples, self.free))
        found[0, :, 0] = 1.0
        cosines, sines = self.null_spaces
        for k in range(ORDER + 1):
            turned = angle + k * np.pi / 2
            found[k, :, 1 : self.harmonics - 1] = (omega**k * np.cos(turned)) @ cosines
            found[k, :, self.harmonics - 1 :] = (omega**k * np.sin(turned)) @ sines
        return found

    def stack(self, x: FloatArray) -> FloatArray:
        """q and its derivatives at the times, (ORDER + 1, samples, n), from the free numbers (n, free)."""
        found = np.einsum("ksf,nf->ksn", self.basis, x) * self.reach
        found[0] += self.middle
        return found

    def gradient(self, slopes: FloatArray) -> FloatArray:
        """Gradient with respect to the free numbers, (n, free), from the one with respect to the stack."""
        return np.einsum("ksf,ksn->nf", self.basis[: len(slopes)], slopes) * self.reach[:, None]

    def trajectory(self, x: FloatArray, amplitude: float = 1.0) -> Sinusoid:
        """The motion of free numbers (n, free), with all but the offsets multiplied by an amplitude."""
        cosines, sines = self.null_spaces
        count = self.harmonics - 2
        a, b = (part @ x[:, first : first + count].T for part, first in ((cosines, 1), (sines, 1 + count)))
        scale = amplitude * self.reach
        offset = self.middle + self.reach * x[:, 0]
        return Sinusoid.fourier(1 / self.duration, a * scale, b * scale, offset, self.duration)


def null_space(conditions: FloatArray) -> FloatArray:
    """Orthonormal basis of the vectors that fulfil linear conditions (rows), in columns."""
    _, _, rows = np.linalg.svd(conditions)
    return rows[len(conditions) :].T
