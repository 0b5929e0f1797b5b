"""Studies on a cluster: same bits, lost workers, clients and schedulers, disks, memory, and what a task costs.

    python tests/clusters.py                    # all, about 12 minutes; the results are in docs/studies.md
    python tests/clusters.py --only kills disks

Every part starts its own scheduler and two worker processes on this machine.  Needs 'flexjoint[test]', and Polars and
DuckDB for `readers`.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil

import flexjoint as fj
from flexjoint.errors import ClusterError
from flexjoint.studies.dask_cluster import start_workers

FIELDS = ("samples", "parameters", "largest", "rms", "final", "ended", "joint", "longest_step", "stiff_joint")
SETTINGS = (
    {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL"},
    {"OPENBLAS_CORETYPE": "Haswell", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F"},
)
HERE = Path(__file__).resolve()


def arm(samples, **changes):
    """The 7R LWR: 2000 periods, about 3 ms per sample."""
    robot = fj.load("kuka_lwr")
    law = fj.control.FeedforwardPD(robot, [400.0, 40.0])
    motion = fj.trajectory.RestToRest([0.0] * 7, [0.4] * 7, 1.0)
    vary = {"*.drive.stiffness": "10%", "payload": "0..3"}
    return fj.studies.monte_carlo(
        robot, law, motion, samples=samples, vary=vary, seed=1, **{"period": 5e-4, "block": 64, **changes}
    )


def pendulum(samples, **changes):
    """One link, 50 periods: the cheapest plant."""
    robot = fj.random_robot(1, 3, prismatic=0.0, elastic=0.0, name="pendulum")
    law = fj.control.ComputedTorque(robot, [100.0, 20.0])
    motion = fj.trajectory.RestToRest([0.0], [0.4], 0.05)
    return fj.studies.monte_carlo(robot, law, motion, samples=samples, vary={"link1.mass": "10%"}, **changes)


def gains(**changes):
    """A sweep of 12 points."""
    robot = fj.load("hua_3r")
    law = fj.control.FeedforwardPD(robot, [400.0, 40.0])
    motion = fj.trajectory.RestToRest([0.0] * 3, [0.4, -0.3, 0.2], 0.05)
    over = {"gains.K_P": [100, 200, 400], "payload": [0, 1], "substeps": [1, 2]}
    return fj.studies.sweep(robot, law, motion, over=over, **changes)


def same(a, b):
    return all(np.array_equal(getattr(a, x), getattr(b, x)) for x in FIELDS)


def once_each(folder, samples):
    """Whether the store has every sample once, as a program that knows nothing of flexjoint reads it."""
    import pandas

    numbers = pandas.read_parquet(Path(folder) / "blocks", columns=["sample"])["sample"].to_numpy()
    return np.array_equal(np.sort(numbers), np.arange(samples))


def worker_pids(workers):
    return list(workers.client.run(os.getpid).values())


@contextmanager
def own_scheduler():
    """A scheduler in a process of its own, with two workers; its address and the process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        command = [sys.executable, "-m", "dask", "scheduler", "--scheduler-file", str(file)]
        options = ["--port", "0", "--no-dashboard", "--host", "127.0.0.1"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        scheduler = subprocess.Popen([*command, *options], **quiet)
        while not file.exists():
            time.sleep(0.1)
        with fj.studies.cluster(str(file)) as probe:
            address = probe.address
            workers = start_workers(address, 2, {})
            probe.client.wait_for_workers(2, timeout=60)
        try:
            yield address, scheduler
        finally:
            workers.terminate()
            scheduler.kill()
            workers.wait()
            scheduler.wait()


def elsewhere(code, **streams):
    """A client in a process of its own."""
    program = f"import sys; sys.path.insert(0, {str(HERE.parent)!r}); from clusters import *; {code}"
    return subprocess.Popen([sys.executable, "-c", program], **streams)


def blocks_in(folder):
    return len(list(Path(folder).glob("blocks/*.parquet")))


def wait_for_blocks(folder, count):
    while blocks_in(folder) < count:
        time.sleep(0.02)


# Same bits and nothing lost -----------------------------------------------------------------------------------------


def bits():
    """Two workers under different settings of the processor, against two threads and one."""
    one, two = arm(512, threads=1), arm(512, threads=2)
    with fj.studies.local_cluster(1, SETTINGS[0]) as workers:
        other = start_workers(workers.address, 1, SETTINGS[1])
        try:
            workers.client.wait_for_workers(2, timeout=60)
            types = set(workers.client.run(lambda: os.environ["OPENBLAS_CORETYPE"]).values())
            found = arm(512, executor=workers)
            bar = gains(executor=workers, block=1)
        finally:
            other.terminate()
            other.wait()
    assert types == {"Prescott", "Haswell"}
    assert same(one, two) and same(one, found)
    local = gains(threads=1)
    assert all(np.array_equal(local[x], bar[x]) for x in local.table)
    alone = one.sample(300)
    assert np.array_equal(np.abs(alone.error).max(axis=0), found.largest[300])
    return "512 samples of the LWR and a sweep of 12 points: no bit differs"


def kills():
    """Workers killed ten times in the middle of a study."""
    whole = arm(1024, threads=2)
    killed = []
    with tempfile.TemporaryDirectory() as place, fj.studies.local_cluster(2) as workers:
        pids = worker_pids(workers)

        def kill():
            while len(killed) < 10:
                time.sleep(0.7)
                alive = [x for x in children_running_blocks() if x.pid not in killed]
                if alive:
                    alive[0].kill()
                    killed.append(alive[0].pid)

        folder = Path(place) / "study"
        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        found = arm(1024, executor=workers, folder=folder, block=16)
        assert len(killed) == 10, f"only {len(killed)} were killed before the end"
        assert pids[0] in killed or pids[1] in killed
        assert found.complete and same(found, whole) and once_each(folder, 1024)
    return "1024 samples in 64 blocks, 10 workers killed: complete, bit-identical, every sample once"


def children_running_blocks():
    """Worker processes of Dask below this process; the command that starts them is their parent."""
    found = [x for x in psutil.Process().children(recursive=True) if "spawn_main" in " ".join(cmdline(x))]
    return [x for x in found if x.is_running()]


def cmdline(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def clients():
    """A client that is killed, its workers, and another one that resumes; then two clients at once."""
    whole = arm(512, threads=2)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "study"
        code = f"w = fj.studies.local_cluster(2); arm(512, executor=w, folder={str(folder)!r}, block=16)"
        client = elsewhere(code)
        wait_for_blocks(folder, 6)
        orphans = psutil.Process(client.pid).children(recursive=True)
        client.send_signal(signal.SIGKILL)
        client.wait()
        kept = blocks_in(folder)
        assert 6 <= kept < 32
        found = arm(512, folder=folder, threads=2)
        assert found.complete and same(found, whole) and once_each(folder, 512)
        _, alive = psutil.wait_procs(orphans, timeout=120)
        assert not alive, "workers of a client that is gone must end"

        folder = Path(place) / "shared"
        both = [elsewhere(f"arm(512, threads=1, folder={str(folder)!r}, block=16)") for _ in range(2)]
        assert [x.wait() for x in both] == [0, 0]
        assert once_each(folder, 512) and same(fj.studies.read(folder), whole)
    return f"killed after {kept} of 32 blocks: resumed, {len(orphans)} orphans ended; two at once: every sample once"


def scheduler():
    """A scheduler that is lost."""
    whole = arm(512, threads=2)
    with tempfile.TemporaryDirectory() as place, own_scheduler() as (address, process):
        folder = Path(place) / "study"

        def kill():
            wait_for_blocks(folder, 6)
            process.kill()

        threading.Thread(target=kill, daemon=True).start()
        began = time.monotonic()
        try:
            with fj.studies.cluster(address) as workers:
                arm(512, executor=workers, folder=folder, block=16)
            raise AssertionError("the study did not notice")
        except ClusterError as error:
            message, took = str(error), time.monotonic() - began
        kept = blocks_in(folder)
        found = arm(512, folder=folder, threads=2)
        assert kept >= 6 and found.complete and same(found, whole) and once_each(folder, 512)
    return f"{kept} of 32 blocks stayed, resumed; after {took:.0f} s: {message}"


# Disks --------------------------------------------------------------------------------------------------------------


def disks():
    """A disk that is full, then read-only, on a real file system of 400 kB where it may be mounted."""
    whole, place = arm(512, threads=2), Path(tempfile.mkdtemp())
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        return "NOT TRIED: no file system can be mounted here"
    try:
        try:
            arm(512, threads=2, folder=place / "study", block=16)
            raise AssertionError("the disk was not full")
        except OSError as error:
            full = str(error)
        kept = blocks_in(place / "study")
        assert not list((place / "study" / "blocks").glob(".*")), "parts of files are left"
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        try:
            arm(512, threads=2, folder=place / "study")
            raise AssertionError("it is read-only")
        except OSError as error:
            read_only = str(error)
        stored = fj.studies.read(place / "study")
        subprocess.run(["mount", "-o", "remount,rw,size=10m", place], check=True)
        found = arm(512, threads=2, folder=place / "study")
        assert kept and stored.samples.size == 16 * kept
        assert found.complete and same(found, whole) and once_each(place / "study", 512)
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        assert same(arm(512, threads=2, folder=place / "study"), whole), "a complete study can be read"
    finally:
        subprocess.run(["umount", place], check=True)
        place.rmdir()
    return f"{kept} of 32 blocks stayed, resumed after more room: {full} | {read_only}"


def readers():
    """The store in pandas, Polars, DuckDB and PyArrow."""
    import duckdb
    import pandas
    import polars
    from pyarrow import dataset

    with tempfile.TemporaryDirectory() as place:
        folder = f"{place}/study"
        study = arm(256, threads=2, folder=folder, block=64, keep_worst=3)
        files = f"{folder}/blocks/*.parquet"
        largest = study.largest[:, 1]
        frames = {
            "pandas": pandas.read_parquet(f"{folder}/blocks").sort_values("sample")["largest.joint2"].to_numpy(),
            "polars": polars.read_parquet(files).sort("sample")["largest.joint2"].to_numpy(),
            "duckdb": duckdb.sql(f"select \"largest.joint2\" as x from '{files}' order by sample").fetchnumpy()["x"],
            "pyarrow": dataset.dataset(f"{folder}/blocks").to_table().sort_by("sample")["largest.joint2"].to_numpy(),
        }
        for name, x in frames.items():
            assert np.array_equal(x, largest), name
        worst = sorted(x.name for x in Path(folder, "worst").iterdir())
        assert worst == sorted(f"sample-{k:012d}.parquet" for k in study.worst(3))
        first = pandas.read_parquet(f"{folder}/worst/sample-{study.worst(1)[0]:012d}.parquet")
        assert len(first) == 2001
    return f"same numbers in {', '.join(frames)}; 3 histories kept"


# Costs --------------------------------------------------------------------------------------------------------------


def processor_time():
    """Processor time of this process and all below it, s: schedulers, workers and what restarts them."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(x.user + x.system for x in (process.cpu_times() for process in processes))


def taken(work, **options):
    """Time and processor time of some work, s."""
    began, used = time.perf_counter(), processor_time()
    work(**options)
    return np.array([time.perf_counter() - began, processor_time() - used])


def efficiency():
    """Two workers against two threads, in alternation, blocks of about a second; and what a block costs."""
    with fj.studies.local_cluster(2) as workers:
        ways = ({"threads": 2}, {"executor": workers})
        for how in ways:  # kernels are loaded
            arm(1024, block=256, **how)
            pendulum(64, block=8, **how)
        pairs = [[taken(arm, samples=2304, block=256, **how) for how in ways] for _ in range(5)]
        ratios = np.array([threads / processes for threads, processes in pairs])
        blocks = {}
        for count in (20, 220):
            tries = [[taken(pendulum, samples=8 * count, block=8, **how) for how in ways] for _ in range(3)]
            blocks[count] = np.min(tries, axis=0)
    costs = 1e3 * (blocks[220] - blocks[20]) / 200
    wall, used = (", ".join(f"{x:.2f}" for x in np.sort(ratios[:, k])) for k in range(2))
    return (
        f"two threads over two workers: time {wall}; processor time {used}; a block of 8 samples of a pendulum: "
        f"{costs[1, 0]:.1f} ms, {costs[1, 1]:.1f} of the processor (on threads {costs[0, 0]:.1f}, {costs[0, 1]:.1f})"
    )


def memory():
    """10⁶ samples of a pendulum in 977 blocks: memory of the client and of the workers."""
    seen = []
    with tempfile.TemporaryDirectory() as place, fj.studies.local_cluster(2) as workers:
        processes = [psutil.Process(), *map(psutil.Process, worker_pids(workers))]
        done = [0]

        def count(samples):
            done[0] += samples
            if not seen or done[0] - seen[-1][0] >= 50_000:
                seen.append((done[0], *(x.memory_info().rss / 1e6 for x in processes)))

        folder = Path(place) / "study"
        began = time.perf_counter()
        pendulum(10**6, executor=workers, folder=folder, block=1024, collect=False, progress=count)
        took = time.perf_counter() - began
        assert once_each(folder, 10**6)
        size = sum(x.stat().st_size for x in folder.glob("blocks/*")) / 1e6
    table = np.array(seen)
    early, late = table[np.searchsorted(table[:, 0], 100_000)], table[-1]
    grown = late[1:] - early[1:]
    some = table[[*np.searchsorted(table[:, 0], [100_000, 300_000, 600_000]), -1]][:, 1:]
    text = "; ".join(", ".join(f"{x:.0f}" for x in column) for column in some.T)
    assert np.all(grown < 15), text
    return f"MB after 1, 3, 6 and 10·10⁵ samples: client {text} (workers); {took:.0f} s, {size:.0f} MB stored"


def nothing(number):
    return number


def tasks(count=100_000):
    """The scheduler alone: empty tasks through the client, and the memory of the scheduler."""
    with own_scheduler() as (address, process), fj.studies.cluster(address) as workers:
        client = workers.client
        client.gather(client.map(nothing, range(1000), pure=False))
        pids = [process.pid, os.getpid()]
        began, before = time.perf_counter(), [sum(psutil.Process(x).cpu_times()[:2]) for x in pids]
        futures = client.map(nothing, range(count), pure=False, batch_size=10_000)
        client.gather(futures)
        took = time.perf_counter() - began
        used = np.array([sum(psutil.Process(x).cpu_times()[:2]) for x in pids]) - before
        rss = psutil.Process(process.pid).memory_info().rss / 1e6
        del futures
        time.sleep(5)  # they are forgotten everywhere
    per_task, of_client = used / count
    return (
        f"{count} empty tasks in {took:.0f} s; processor time per task: scheduler {1e3 * per_task:.2f} ms, client "
        f"{1e3 * of_client:.2f} ms; scheduler {rss:.0f} MB; it feeds {1 / per_task:.0f} workers at blocks of 1 s, and "
        f"1000 workers need blocks of {1000 * per_task:.1f} s"
    )


PARTS = (bits, kills, clients, scheduler, disks, readers, efficiency, memory, tasks)

if __name__ == "__main__":
    names = [x.__name__ for x in PARTS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=names, choices=names)
    chosen = parser.parse_args().only
    failed = []
    for part in PARTS:
        if part.__name__ in chosen:
            began = time.perf_counter()
            try:
                result = part()
            except AssertionError as error:
                failed.append(part.__name__)
                result = f"FAILED: {error}"
            print(f"{part.__name__} ({time.perf_counter() - began:.0f} s): {result}", flush=True)
    sys.exit(bool(failed))
