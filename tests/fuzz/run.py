"""Fuzzing the readers of robots, trajectories, stiffnesses and logs.

    python tests/fuzz/run.py --count 200000             # all targets, one after another
    python tests/fuzz/run.py --target robot --index 17  # one input again, with its traceback and its contents

Input k of a target depends on the seed, the target and k alone.  Each must end in a result or in a FlexjointError
whose message is short, within 1 s of processor time (5 s for the target work), and the process must stay below 1 GB;
anything else is a finding, and the exit code is 1.  Findings are printed with what repeats them, one for each place in
the source.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from random import Random

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from flexjoint.errors import FlexjointError
from fuzz.targets import TARGETS, Input, Target

GIGABYTE, LONGEST_MESSAGE = 1 << 30, 5000
IMPORTED = ("flexjoint.results", "scipy.interpolate", "scipy.sparse.linalg", "scipy.special", "pyarrow.parquet")
IMPORTED += ("mcap.reader", "trimesh", "casadi", "zstandard")
LOOK = 50  # inputs between two looks at the memory, which may take milliseconds


class Hang(BaseException):
    """An input took too long."""


def stop(*_: object) -> None:
    raise Hang("too long")


def made(name: str, index: int, seed: int) -> Input:
    return TARGETS[name].make(Random(f"{seed} {name} {index}"))


def judged(target: Target, given: Input, folder: Path) -> tuple[str, BaseException | None]:
    """How an input ended, and the exception if that is a finding."""
    signal.setitimer(signal.ITIMER_PROF, target.seconds)  # of processor time, whatever else the machine does
    signal.setitimer(signal.ITIMER_REAL, 20 * target.seconds)
    try:
        target.run(given, folder)
        return "read", None
    except FlexjointError as error:
        return "refused", OverflowError("a long message") if len(str(error)) > LONGEST_MESSAGE else None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return "finding", error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def place(error: BaseException) -> str:
    """The last line of flexjoint that the exception passed through."""
    frames = [x for x in traceback.extract_tb(error.__traceback__) if "/flexjoint/" in x.filename]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {where}"


def peak() -> int:
    """The most memory this process has had, in bytes."""
    # not getrusage: its ru_maxrss of a new process starts at the memory of the process that started it
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def fuzz(name: str, count: int, seed: int, first: int = 0) -> list[str]:
    """Findings among so many inputs of a target, one line a place, and a line of statistics on stdout."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, stop)
    signal.signal(signal.SIGALRM, stop)
    for module in IMPORTED:
        importlib.import_module(module)
    ends: Counter[str] = Counter()
    found: dict[str, str] = {}
    slowest, started = (0.0, first), time.monotonic()
    fast = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=fast if fast.is_dir() else None) as path:
        for index in range(first, first + count):
            given, before = made(name, index, seed), time.process_time()
            end, error = judged(TARGETS[name], given, Path(path))
            slowest = max(slowest, (time.process_time() - before, index))
            ends[end] += 1
            if error is not None and place(error) not in found:
                found[place(error)] = f"{error!s:.200} (--target {name} --seed {seed} --index {index})"
                print(f"{place(error)}: {found[place(error)]}", file=sys.stderr, flush=True)
            if index % LOOK == LOOK - 1 and peak() > GIGABYTE:
                found["memory"] = f"more than 1 GB (--target {name} --seed {seed}, before --index {index + 1})"
                break
        if peak() > GIGABYTE:
            found.setdefault("memory", f"more than 1 GB (--target {name} --seed {seed}, among the last {LOOK})")
    print(
        f"{name}: {count} inputs, seed {seed}: "
        f"{ends['read']} read, {ends['refused']} refused, {ends['finding']} findings; "
        f"slowest {slowest[0]:.2f} s (index {slowest[1]}), at most {peak() / 1e6:.0f} MB, "
        f"{time.monotonic() - started:.0f} s in all",
        flush=True,
    )
    return [f"{where}: {what}" for where, what in found.items()]


def again(name: str, index: int, seed: int) -> None:
    """One input, shown."""
    given = made(name, index, seed)
    print(f"{given.name}, {len(given.content)} bytes:\n{given.content[:3000].decode(errors='backslashreplace')}")
    with tempfile.TemporaryDirectory() as path:
        print(TARGETS[name].run(given, Path(path)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=TARGETS)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--index", type=int)
    options = parser.parse_args()
    if options.index is not None:
        again(options.target, options.index, options.seed)
        return 0
    found = []
    for name in [options.target] if options.target else TARGETS:
        count = options.count if TARGETS[name].seconds == 1.0 or options.target else options.count // 200
        found += fuzz(name, count, options.seed, options.first)
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
