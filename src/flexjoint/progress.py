"""What long work is doing, for those who wait: messages of level INFO of the logger "flexjoint.progress".

A script or a notebook shows them with

    import logging
    logging.basicConfig(level=logging.INFO)

and the command line shows them while they last, if stderr is a terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

LOGGER = "flexjoint.progress"
ENDED = "activity_ended"  # an attribute of the record that ends an activity
EVERY = 1.0  # s between two reports


def report(message: str, ended: str | None = None) -> None:
    """One message; `ended` is the activity that ends with it."""
    if "logging" in sys.modules:  # else nobody listens, and it need not be loaded
        sys.modules["logging"].getLogger(LOGGER).info(message, extra={ENDED: ended})


@contextmanager
def activity(what: str) -> Iterator[None]:
    """Reports work that may take more than a second, such as "compiling inverse_dynamics of arm", and its end."""
    started = time.perf_counter()
    report(what)
    try:
        yield
    finally:
        report(f"{what}: {time.perf_counter() - started:.2f} s", what)


class Progress:
    """Reports how much of some work is done, at most once per second; work of less than a second reports nothing.

    Args:
        what: The work, such as "simulating arm".
        total: The number of steps that it takes.
    """

    def __init__(self, what: str, total: int):
        self.what, self.total = what, total
        self._last = time.monotonic()

    def reached(self, step: int) -> None:
        """Report that so many steps are done."""
        now = time.monotonic()
        if now - self._last >= EVERY:
            self._last = now
            report(f"{self.what}: {min(100.0, 100 * step / self.total):.0f} %")
