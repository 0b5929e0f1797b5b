"""How times are taken.

Both sides of a comparison run as statements inside the same loop, `for _ in range(n): statement`, with the garbage
collector off (`timeit`).  They take turns in blocks of about a millisecond, many times, and the shortest block of each
side counts: whatever else the computer does can only lengthen a block.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import timeit
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

BLOCK = 1e-3  # s


@dataclass(frozen=True)
class Effort:
    """How often to repeat."""

    blocks: int
    processes: int
    compilations: int


FULL = Effort(blocks=200, processes=9, compilations=5)
QUICK = Effort(blocks=15, processes=2, compilations=1)


@dataclass(frozen=True)
class Row:
    """One comparison; times in seconds.  Without a peer there is no ratio, and a target then bounds the time itself."""

    section: str
    name: str
    ours: float
    peer: float | None = None
    peer_name: str = ""
    target: float | None = None
    operations: int | None = None
    joints: int | None = None
    order: int | None = None

    @property
    def ratio(self) -> float | None:
        return None if self.peer is None else self.ours / self.peer

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        return "pass" if (self.ours if self.peer is None else self.ours / self.peer) <= self.target else "miss"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio, "verdict": self.verdict}


def interleaved(statements: list[str], names: dict[str, Any], effort: Effort) -> list[float]:
    """Shortest time of each statement, per execution."""
    timers = [timeit.Timer(x, globals=names) for x in statements]
    numbers = [loop_length(timer) for timer in timers]
    best = [float("inf")] * len(timers)
    for _ in range(effort.blocks):
        for k, (timer, number) in enumerate(zip(timers, numbers)):
            best[k] = min(best[k], timer.timeit(number) / number)
    return best


def in_turn(
    statements: list[str], names: dict[str, Any], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """The same for statements that take long: each runs once a round."""
    timers = [timeit.Timer(x, timer=clock, globals=names) for x in statements]
    times = [[timer.timeit(1) for timer in timers] for _ in range(rounds + 1)]
    return [min(x) for x in zip(*times[1:])]  # the first round compiles


def loop_length(timer: timeit.Timer) -> int:
    timer.timeit(3)
    return max(1, int(BLOCK / min(timer.timeit(10) / 10 for _ in range(5))))


def in_new_processes(scripts: list[str], times: int, kernels: str = "off") -> list[list[float]]:
    """The numbers each script prints in a fresh interpreter, the least of several runs; the scripts take turns.

    Python runs from byte code, as installed; `kernels` is the folder of kept kernels.
    """
    environment = {name: x for name, x in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["FLEXJOINT_CACHE"] = kernels
    runs: list[list[list[float]]] = [[] for _ in scripts]
    for _ in range(times):
        for found, script in zip(runs, scripts):
            command = [sys.executable, "-c", script]
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            found.append([float(x) for x in done.stdout.split()])
    return [[min(values) for values in zip(*found)] for found in runs]
