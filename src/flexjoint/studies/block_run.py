"""Runs the blocks of a study: takes those that are stored, computes the others on an executor, stores and hands on.

    stored blocks  ->  one of them again, as a check  ->  the first missing block here (compiles, checks the period)
                   ->  the rest on the executor, a few blocks per worker at a time  ->  stored as they arrive

The memory that this takes does not grow with the number of samples.  Blocks that have no file yet are taken in random
order, so that several clients share the work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import shuffle
from time import sleep
from typing import Any

import numpy as np

from ..errors import ClusterError, InputError
from .block_files import Block
from .store import Store
from .study_columns import TEXTS
from .study_progress import StudyProgress
from .tasks import Study, packed, run_task

WINDOW = 3  # blocks per worker that are submitted at a time: one runs, the others wait at the worker
PATIENCE = 1.0  # s between two looks at the scheduler
RESUBMISSIONS = 3  # of a block whose workers were lost more often than the scheduler allows


@dataclass
class BlockRun:
    """The blocks of a study.

    Args:
        study: What computes a block.
        samples: Number of samples.
        store: Where blocks are stored.
        take: Called with the first sample and the content of every block, in any order.
        progress: Counts what is done.
        check: Whether the first computed block checks the period of the loop.
        after_first: Called after the first computed block.
    """

    study: Study
    samples: int
    store: Store
    take: Callable[[int, Block], Any]
    progress: StudyProgress
    check: bool = True
    after_first: Callable[[], Any] = lambda: None

    def run(self, executor: Any, threads: int) -> None:
        """All blocks; Ctrl-C raises KeyboardInterrupt once the running blocks are finished and kept."""
        if left := self.take_stored():
            with on_executor(executor, threads) as chosen:
                self.compute(left, chosen)

    def until_interrupted(self, executor: Any, threads: int) -> bool:
        """`run`; whether Ctrl-C ended it."""
        try:
            self.run(executor, threads)
        except KeyboardInterrupt:
            return True
        return False

    def rows(self, first: int) -> int:
        """Number of samples of a block."""
        return min(self.store.block, self.samples - first)

    def take_stored(self) -> list[int]:
        """Hand on the stored blocks; the first samples of the others."""
        self.progress.stored(0)
        known = set(self.store.firsts())
        left, taken = [], []
        for first in range(0, self.samples, self.store.block):
            block = self.store.load(first, self.rows(first)) if first in known else None
            if block is None:
                left.append(first)
            else:
                taken.append(first)
                self.take_block(first, block, None, computed=False)
        if left and taken:
            self.check_reproduced(taken[0])
        return left

    def take_block(self, first: int, block: Block, executor: Any, computed: bool) -> None:
        """Hand on one block, and store it if it was computed."""
        if computed:
            self.store.save(first, block)
        self.take(first, block)
        self.progress.add(block, executor, computed)

    def compute(self, left: list[int], executor: Any) -> None:
        """Blocks that are not stored."""
        first, *rest = left
        self.take_block(first, self.study.run(first, first + self.rows(first), self.check), executor, computed=True)
        self.after_first()
        if self.store.place is not None:
            shuffle(rest)
        elsewhere = not isinstance(executor, OwnThreads) and bool(rest)
        task = (run_task, packed(self.study)) if elsewhere else (self.study.run,)
        self.stream(iter(rest), executor, task)

    def stream(self, rest: Iterator[int], executor: Any, task: tuple[Any, ...]) -> None:
        """Keep the workers busy until nothing is left."""
        from concurrent.futures import BrokenExecutor, Future  # 8 ms of every import if it stood above
        from queue import Empty, SimpleQueue

        finished: SimpleQueue[Future[Block]] = SimpleQueue()
        waiting: dict[Future[Block], int] = {}
        attempts: dict[int, int] = {}

        def submit(first: int) -> None:
            future = executor.submit(*task, first, first + self.rows(first))
            waiting[future] = first
            future.add_done_callback(finished.put)

        try:
            more = True
            while more or waiting:
                while more and len(waiting) < WINDOW * max(1, capacity(executor)):
                    following = next(rest, None)
                    more = following is not None
                    if following is not None and not self.taken_from_others(following, executor):
                        submit(following)
                if not waiting:
                    break
                try:
                    future = finished.get(timeout=PATIENCE)
                except Empty:
                    check_alive(executor)
                    continue
                first = waiting.pop(future)
                if future.cancelled() or lost(future.exception()):
                    while not check_alive(executor):
                        sleep(PATIENCE)
                    attempts[first] = attempts.get(first, 0) + 1
                    require_attempts(first, attempts[first], future)
                    submit(first)
                else:
                    self.take_block(first, future.result(), executor, computed=True)
        except BrokenExecutor as error:
            raise ClusterError(f"the executor has lost a process ({error}); blocks that are stored stay") from None
        except KeyboardInterrupt:
            for future in [x for x in waiting if not x.cancel()]:  # they run already
                if not future.exception():
                    self.take_block(waiting[future], future.result(), executor, computed=True)
            raise
        finally:
            for future in waiting:
                future.cancel()

    def taken_from_others(self, first: int, executor: Any) -> bool:
        """Take a block that another client has stored meanwhile."""
        block = self.store.load(first, self.rows(first)) if self.store.has(first) else None
        if block is not None:
            self.take_block(first, block, executor, computed=False)
        return block is not None

    def check_reproduced(self, first: int) -> None:
        """Run a stored block again and raise InputError if a bit differs: the study depends on something unknown.

        That may be a file, a clock, random numbers, or a library that rounds differently on another processor.
        """
        old = self.store.load(first, self.rows(first))
        new = self.study.run(first, first + self.rows(first))
        for name in new if old is not None else ():
            before, now = old[name], new[name]  # type: ignore[index]
            nan = (before != before) & (now != now)
            differs = np.flatnonzero((before != now) & ~nan)
            if differs.size:
                row = int(differs[0])
                raise InputError(
                    f"{self.store.place}: sample {first + row} is not reproduced: {name} was {before[row].item()!r}, "
                    f"now it is {now[row].item()!r}; the controller depends on something that is not in its "
                    "settings, such as a file, a clock, random numbers or the processor; give another folder"
                )


def merged(found: dict[int, Block], columns: Iterable[str]) -> Block:
    """Columns of all blocks, in the order of their first samples; empty ones without blocks."""
    blocks = [found[first] for first in sorted(found)]
    empty = np.empty(0)
    return {
        name: np.concatenate([x[name] for x in blocks]) if blocks else empty.astype(str if name in TEXTS else float)
        for name in columns
    }


# Executors ----------------------------------------------------------------------------------------------------------


class OwnThreads:
    """Threads of this process, as an executor; the study is not pickled."""

    def __init__(self, threads: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self.threads = threads
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="flexjoint")

    def submit(self, *task: Any) -> Any:
        """Run a function on a thread."""
        return self.pool.submit(*task)


@contextmanager
def on_executor(executor: Any, threads: int) -> Iterator[Any]:
    """The given executor, which stays open; or threads of this process, which are ended."""
    if (client := getattr(executor, "_client", None)) is not None:  # Dask's own executor, of `Client.get_executor()`
        from .dask_cluster import Cluster

        executor = Cluster(client)
    if executor is not None:
        yield executor
        return
    own = OwnThreads(threads)
    try:
        yield own
    finally:
        own.pool.shutdown(wait=True, cancel_futures=True)


def capacity(executor: Any) -> int:
    """Number of blocks that an executor runs at once."""
    for name in ("threads", "workers", "_max_workers"):
        if isinstance(found := getattr(executor, name, None), int):
            return found
    return cores()


def check_alive(executor: Any) -> bool:
    """Whether the executor has its connection; raises ClusterError if it has lost it for good."""
    check = getattr(executor, "check", None)
    return check is None or bool(check())


def lost(error: BaseException | None) -> bool:
    """Whether a block failed with its workers: Dask gives up a task that has lost several of them."""
    return type(error).__name__ in ("KilledWorker", "FutureCancelledError", "CancelledError")


def require_attempts(first: int, count: int, future: Any) -> None:
    """Raise ClusterError if a block has ended its workers again and again."""
    if count > RESUBMISSIONS:
        why = "" if future.cancelled() else f" ({future.exception()})"
        raise ClusterError(
            f"the block from sample {first} was lost with its workers {count} times{why[:300]}; is their memory too "
            "small, or does the controller end its process?  Blocks that are stored stay"
        )


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
