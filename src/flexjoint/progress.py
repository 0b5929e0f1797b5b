"""What long work is doing, for those who wait: messages of level INFO of the logger "flexjoint".

A script or a notebook shows them with

    import logging
    logging.basicConfig(level=logging.INFO)

and the command line shows them while they last, if stderr is a terminal.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

LOG = logging.getLogger("flexjoint")
EVERY = 1.0  # s between two reports
ENDED = "activity_ended"  # an attribute of the record that ends an activity


@contextmanager
def activity(what: str) -> Iterator[None]:
    """Reports work that may take more than a second, such as "compiling inverse_dynamics of arm", and its end."""
    started = time.perf_counter()
    LOG.info(what)
    try:
        yield
    finally:
        seconds = time.perf_counter() - started
        LOG.info("%s: %.2f s", what, seconds, extra={ENDED: what})


class Progress:
    """Reports how much of some work is done, at most once per second; work of less than a second reports nothing.

    what: the work, such as "simulating arm".
    total: the number of steps that it takes.
    """

    def __init__(self, what: str, total: int):
        self.what, self.total = what, total
        self._last = time.monotonic()

    def reached(self, step: int) -> None:
        """Report that so many steps are done."""
        now = time.monotonic()
        if now - self._last >= EVERY:
            self._last = now
            LOG.info("%s: %.0f %%", self.what, min(100.0, 100 * step / self.total))
