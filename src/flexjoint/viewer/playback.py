"""The clock of a playback: time shown, speed, playing or not.  It draws nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..types import FloatArray


@dataclass
class Playback:
    """Time of a motion that is played, from its first to its last sample and then again.

    Args:
        times: Sampling times of each motion, increasing, s.
        speed: Relative to real time.
    """

    times: list[FloatArray]
    speed: float = 1.0
    playing: bool = False
    t: float = field(init=False)

    def __post_init__(self) -> None:
        self.t = self.begin

    @property
    def begin(self) -> float:
        """First time of all motions, s."""
        return min(float(t[0]) for t in self.times)

    @property
    def end(self) -> float:
        """Last time of all motions, s."""
        return max(float(t[-1]) for t in self.times)

    def replace(self, times: list[FloatArray]) -> None:
        """Play other motions from the same time on."""
        self.times = times
        self.seek(self.t)

    def advance(self, seconds: float) -> None:
        """Let real time pass; after the end the motion begins again."""
        if self.playing:
            self.t += self.speed * seconds
            if self.t > self.end:
                self.t = self.begin

    def seek(self, t: float) -> None:
        """Show a time, the nearest one within the motions."""
        self.t = float(np.clip(t, self.begin, self.end))

    def sample(self, k: int) -> int:
        """Index of the sample of motion k that is nearest to the time; nothing is interpolated."""
        times = self.times[k]
        i = int(np.clip(np.searchsorted(times, self.t), 1, len(times) - 1))
        return i if times[i] - self.t <= self.t - times[i - 1] else i - 1
