"""How far a study is: samples done, rate, time left, workers, failures; reported at most once per second."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..progress import EVERY, report
from .block_files import Block


class StudyProgress:
    """Counts samples, and reports them.

    Args:
        what: The work, such as "simulating 10000 samples of arm".
        wanted: Number of samples.
        stored: Called with the number of samples of every block: the argument `progress` of `monte_carlo`.
    """

    def __init__(self, what: str, wanted: int, stored: Callable[[int], Any]) -> None:
        self.what, self.wanted, self.stored = what, wanted, stored
        self.samples = self.computed = self.failed = 0
        self.started = self.last = time.monotonic()

    def add(self, block: Block, executor: Any, computed: bool) -> None:
        """One more block."""
        rows = block["ended"].size
        self.samples += rows
        self.computed += rows if computed else 0
        self.failed += int(np.count_nonzero((block["diverged"] != "") | (block["integrator_failed"] != "")))
        self.stored(rows)
        if time.monotonic() - self.last >= EVERY:
            self.last = time.monotonic()
            report(f"{self.what}: {self.text(executor)}")

    def text(self, executor: Any) -> str:
        """Progress as a text."""
        rate = self.computed / max(time.monotonic() - self.started, 1e-9)
        parts = [f"{100 * self.samples / self.wanted:.1f} %", f"{rate:.3g} samples/s"]
        if rate:
            parts.append(f"{duration_text((self.wanted - self.samples) / rate)} left")
        workers, dashboard = getattr(executor, "workers", None), getattr(executor, "dashboard", "")
        parts += [f"{workers} workers"] if workers is not None else []
        parts += [f"{self.failed} diverged or step too long"] if self.failed else []
        return ", ".join([*parts, *([dashboard] if dashboard else [])])


def duration_text(seconds: float) -> str:
    """A duration as text: "12 s", "3 min", "5.2 h", "3.1 d"."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"
