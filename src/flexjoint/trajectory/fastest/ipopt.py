"""IPOPT with reports of progress; Ctrl-C ends it with the last iterate."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ...progress import EVERY, report
from ...spatial import ca
from ...types import FloatArray

TOLERANCE = 1e-5  # of IPOPT's optimality conditions
CONVERGED = ("Solve_Succeeded", "Solved_To_Acceptable_Level")  # status at a local optimum
OPTIONS = {
    "print_time": False,
    "ipopt.print_level": 0,
    "ipopt.sb": "yes",
    "ipopt.linear_solver": "mumps",
    "ipopt.mu_strategy": "monotone",
    "ipopt.tol": TOLERANCE,
}


class Solution(NamedTuple):
    """What IPOPT ended with.

    Attributes:
        x: the last iterate.
        status: IPOPT's words, such as "Solve_Succeeded".
        iterations: their number.
        interrupted: whether Ctrl-C ended it.
    """

    x: FloatArray
    status: str
    iterations: int
    interrupted: bool


class Solver:
    """IPOPT for one problem, which may be solved with several bounds.

    Args:
        what: the work, for reports of progress.
        problem: {"x": ..., "f": ..., "g": ...} in MX.
        said: text about an iterate x, for reports of progress.
        iterations: at most so many.
    """

    def __init__(self, what: str, problem: dict[str, Any], said: Callable[[FloatArray], str], iterations: int) -> None:
        self.watch = watcher(what, problem, said)
        options = {**OPTIONS, "ipopt.max_iter": iterations, "iteration_callback": self.watch}
        self.solve = ca.nlpsol("fastest", "ipopt", problem, options)

    def __call__(self, **arguments: Any) -> Solution:
        """Solve from x0 with the bounds lbx, ubx, lbg, ubg."""
        self.watch.interrupted = False
        with interrupts(self.watch):
            found = self.solve(**arguments)
        stats, x = self.solve.stats(), np.array(found["x"], dtype=float).ravel()
        return Solution(x, stats["return_status"], stats["iter_count"], self.watch.interrupted)


def watcher(what: str, problem: dict[str, Any], said: Callable[[FloatArray], str]) -> Any:
    """What IPOPT calls after every iteration; its attribute `interrupted` ends the search."""
    nx, ng = problem["x"].numel(), problem["g"].numel()
    sizes = {"x": nx, "f": 1, "g": ng, "lam_x": nx, "lam_g": ng, "lam_p": 0}

    class Watcher(ca.Callback):
        interrupted = False

        def __init__(self) -> None:
            ca.Callback.__init__(self)
            self.last, self.count = time.monotonic(), 0
            self.construct("watcher", {})

        def get_n_in(self) -> int:
            return int(ca.nlpsol_n_out())

        def get_n_out(self) -> int:
            return 1

        def get_sparsity_in(self, i: int) -> Any:
            return ca.Sparsity.dense(sizes[ca.nlpsol_out(i)])

        def eval(self, args: Any) -> list[int]:
            self.count += 1
            if time.monotonic() - self.last >= EVERY:
                self.last = time.monotonic()
                report(f"{what}: iteration {self.count}, {said(np.array(args[0], dtype=float).ravel())}")
            return [int(self.interrupted)]

    return Watcher()


@contextmanager
def interrupts(watch: Any) -> Iterator[None]:
    """Ctrl-C tells the watcher while this lasts; a second one interrupts as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def note(*_: Any) -> None:
        watch.interrupted = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
