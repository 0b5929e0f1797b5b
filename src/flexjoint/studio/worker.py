"""The threads of a studio: one applies changes and runs, one looks for stability limits when nothing changes."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

Action = Callable[[], Any]
QUIET = 0.4  # s without a change, after which limits are looked for


class Worker:
    """Calls actions one after the other, and `after` once when there are no more; then `quiet` in another thread.

    Args:
        after: Called after one or several actions.
        quiet: Called with a function that says whether anything has changed since; it ends early if so.
        failed: Called with an exception of one of them.
    """

    def __init__(
        self, after: Action, quiet: Callable[[Callable[[], bool]], Any], failed: Callable[[Exception], Any]
    ) -> None:
        self.after, self.quiet, self.failed = after, quiet, failed
        self._actions: deque[Action] = deque()
        self._changed, self._stopped = threading.Event(), threading.Event()
        self._asked = self._done = self._calm = 0  # numbers of actions: given, finished, looked at in quiet
        self._threads = [threading.Thread(target=x, daemon=True) for x in (self._work, self._look)]

    def start(self) -> None:
        """Begin; what was given before is called first."""
        for thread in self._threads:
            thread.start()

    def do(self, action: Action) -> None:
        """Call an action soon."""
        self._actions.append(action)
        self._asked += 1
        self._changed.set()

    def settle(self, seconds: float = 60.0, quiet: bool = False) -> bool:
        """Wait until all actions are finished, and with `quiet` the limits too; False if it takes longer."""
        end = time.monotonic() + seconds
        while (self._calm if quiet else self._done) < self._asked:
            if self._stopped.is_set() or time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def stop(self) -> None:
        """End both threads."""
        self._stopped.set()
        self._changed.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(5.0)

    def _work(self) -> None:
        while not self._stopped.is_set():
            self._changed.wait()
            self._changed.clear()
            number = self._asked
            if self._actions and not self._stopped.is_set():
                while self._actions:
                    self._try(self._actions.popleft())
                self._try(self.after)
                self._done = max(self._done, number)
                if self._actions:
                    self._changed.set()

    def _look(self) -> None:
        while not self._stopped.wait(0.05):
            number = self._done
            if number == self._calm or number != self._asked:
                continue
            if self._stopped.wait(QUIET) or number != self._asked:
                continue
            self._try(partial(self.quiet, partial(self._changed_since, number)))
            if number == self._asked:
                self._calm = number

    def _changed_since(self, number: int) -> bool:
        return self._asked != number or self._stopped.is_set()

    def _try(self, action: Action) -> None:
        try:
            action()
        except Exception as error:
            if not self._stopped.is_set():
                self.failed(error)
