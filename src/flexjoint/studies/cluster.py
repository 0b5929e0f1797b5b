"""Executors over many processes: `local_cluster(2)` starts a Dask cluster here, `cluster("tcp://...")` joins one."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..checks import whole
from ..errors import ClusterError, InputError, quoted
from .block_run import cores

if TYPE_CHECKING:
    from .dask_cluster import Cluster

STARTING = 60.0  # s that workers may take to start
ANSWER = 10.0  # s in which a scheduler must answer
ALLOWED_FAILURES = 100  # of workers during one task; Dask's default is 3, and ten kills would end a study


def cluster(address: str) -> Cluster:
    """An executor over a Dask cluster that is running.

    Args:
        address: Of its scheduler, such as "tcp://10.0.0.5:8786", or the path of its scheduler file (.json).

    Returns:
        A Cluster, for `executor=` of `monte_carlo` and `sweep`; the cluster goes on when it is closed.

    Raises:
        InputError: The package is not installed, or no scheduler answers.

    Example:
        >>> import flexjoint as fj
        >>> with fj.studies.cluster("tcp://10.0.0.5:8786") as workers:  # doctest: +SKIP
        ...     study = fj.studies.monte_carlo(robot, law, motion, samples=10**6, vary=vary, executor=workers)
    """
    Client = dask_client()
    from .dask_cluster import Cluster

    try:
        where = {"scheduler_file": address} if str(address).endswith(".json") else {"address": address}
        return Cluster(Client(**where, timeout=ANSWER, set_as_default=False))
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"cluster: no Dask scheduler answers at {quoted(address)} ({quoted(error)})") from None


def local_cluster(workers: int | None = None, environment: Mapping[str, str] | None = None) -> Cluster:
    """An executor over a Dask cluster on this machine, whose workers are processes of their own.

    Args:
        workers: Number of processes; default one per core.
        environment: Further environment variables of the workers.

    Returns:
        A Cluster, for `executor=` of `monte_carlo` and `sweep`; closing it ends the processes.

    Raises:
        InputError: The package is not installed.
        ClusterError: The workers do not start.

    Example:
        >>> import flexjoint as fj
        >>> with fj.studies.local_cluster(2) as workers:  # doctest: +SKIP
        ...     print(workers)
        <Cluster tcp://127.0.0.1:34567: 2 workers>
    """
    count = cores() if workers is None else whole("local_cluster", "workers", workers, least=1)
    Client = dask_client()
    import dask
    from distributed import LocalCluster

    from .dask_cluster import Cluster, start_workers

    with dask.config.set({"distributed.scheduler.allowed-failures": ALLOWED_FAILURES}):
        scheduler = LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=50)
    process = start_workers(scheduler.scheduler_address, count, environment or {})

    def closing() -> None:
        process.terminate()
        with suppress(Exception):
            scheduler.close(timeout=5)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        if process.poll() is None:
            process.kill()

    found = Cluster(Client(scheduler, set_as_default=False), closing)
    try:
        found.client.wait_for_workers(count, timeout=STARTING)
    except TimeoutError:
        found.shutdown()
        raise ClusterError(
            f"local_cluster: {count} workers did not start within {STARTING:.0f} s; is the machine busy?"
        ) from None
    except BaseException:
        found.shutdown()
        raise
    return found


def dask_client() -> Any:
    """The class `distributed.Client`; raises InputError if it is not installed."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            "clusters need dask.distributed, which is not installed: pip install 'flexjoint[cluster]'"
        ) from None
    return Client
