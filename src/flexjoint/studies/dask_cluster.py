"""A cluster of dask.distributed as an executor, and the processes of a local one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Self

from ..errors import ClusterError

LOST = 10.0  # s without a connection after which the scheduler is given up
RECOUNT = 1.0  # s after which workers are counted again; asking the scheduler takes milliseconds
ALONE = 60  # s after which a worker without a scheduler ends
KEPT = 2**30  # bytes that malloc keeps: 1.1 to 1.3 times as fast as Dask's own setting (DESIGN 6, blocks of 1 s)
WORKER_ENVIRONMENT = {
    "MALLOC_TRIM_THRESHOLD_": KEPT,
    "MALLOC_MMAP_THRESHOLD_": KEPT,
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), 1),
}


class Cluster(Executor):
    """An executor over a Dask cluster; use it in a `with` statement, which ends what it has started.

    Args:
        client: A connected `distributed.Client`.
        closing: Called at the end, after the client is closed.
    """

    def __init__(self, client: Any, closing: Callable[[], Any] = lambda: None) -> None:
        self.client, self.closing = client, closing
        self.tasks = client.get_executor(pure=False)
        self.lost: float | None = None
        self.counted, self.count = -float("inf"), 0

    def __repr__(self) -> str:
        return f"<Cluster {self.address}: {self.workers} workers>"

    def __enter__(self) -> Self:
        return self

    @property
    def address(self) -> str:
        """Address of the scheduler."""
        return str(self.client.scheduler.address) if self.client.scheduler else "closed"

    @property
    def workers(self) -> int:
        """Number of blocks that run at once, as of the last second."""
        if time.monotonic() - self.counted > RECOUNT:
            with suppress(Exception):  # of a cluster that is being lost
                self.count = sum(self.client.nthreads().values())
            self.counted = time.monotonic()
        return self.count

    @property
    def dashboard(self) -> str:
        """Address of Dask's dashboard in the browser; "" without one."""
        return str(self.client.dashboard_link) if find_spec("bokeh") is not None else ""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Run a function on a worker; if the worker is lost, on another."""
        return self.tasks.submit(function, *arguments, **options)

    def check(self) -> bool:
        """Whether there is a connection to the scheduler; raises ClusterError if it is lost for good."""
        if self.client.status == "running":
            self.lost = None
            return True
        self.lost = self.lost or time.monotonic()
        if self.client.status == "closed" or time.monotonic() - self.lost > LOST:
            raise ClusterError(
                "the scheduler of the cluster is lost; blocks that are stored stay: start a scheduler, and the same "
                "call resumes"
            )
        return False

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Close the connection, and end what was started."""
        with suppress(Exception):  # of a scheduler that is lost
            self.client.close(timeout=2)
        self.closing()


def start_workers(address: str, count: int, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a process with `count` workers of one thread each, which restarts a worker that ends.

    A command of its own does not import the user's script again, as `multiprocessing` would; in a session of its own it
    does not get the user's Ctrl-C.
    """
    own = os.environ | environment | {"DASK_DISTRIBUTED__NANNY__PRE_SPAWN_ENVIRON": str(WORKER_ENVIRONMENT)}
    own["DASK_DISTRIBUTED__LOGGING__DISTRIBUTED"] = "critical"
    own["DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED"] = "False"  # it keeps samples of the stack for an hour
    own["PYTHONPATH"] = os.pathsep.join(x for x in sys.path if x)  # modules of the user's script are found
    options = ["--nworkers", str(count), "--nthreads", "1", "--death-timeout", str(ALONE), "--no-dashboard"]
    command = [sys.executable, "-m", "dask", "worker", address, *options]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, env=own, stdout=quiet, stderr=quiet, start_new_session=os.name == "posix")
