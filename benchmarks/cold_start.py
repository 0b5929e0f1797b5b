"""Processor time up to the first result of a new process, with an empty cache: `python -m benchmarks.cold_start`.

Each figure is the minimum of five fresh processes, each with an empty folder of kernels.  It counts from the loaded
robot on, and includes the imports of CasADi and LLVM, tracing and compilation; the time of the whole process, with the
start of Python and the imports of NumPy and flexjoint, stands beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

from .timing import Row

PROCESSES = 5
SECTION = "first result of the 7R LWR, empty cache, processor time"
SCRIPT = """
import time
import numpy as np
import flexjoint as fj
robot, x = fj.load("kuka_lwr"), np.zeros(7)
trajectory = fj.trajectory.RestToRest(x, x + 0.5, 1.0)
start = time.process_time()
{statement}
print(time.process_time() - start, time.process_time())
"""


class Case(NamedTuple):
    """What is run, and how many seconds it may take."""

    statement: str
    target: float


CASES = {
    "elastic inverse dynamics": Case("fj.inverse_dynamics(robot, x, x, x, x, x)", 0.35),
    "simulated loop under motor PD": Case(
        "fj.simulate(robot, fj.control.MotorPD(robot, [1000.0, 50.0]), trajectory, 0.1)", 1.0
    ),
    "simulated loop under feedback linearization": Case(
        "gains = fj.control.gains_from_poles([-10.0] * 4)\n"
        "fj.simulate(robot, fj.control.FeedbackLinearization(robot, gains, 5e-5), trajectory, 0.1)",
        1.5,
    ),
}


def cold_start(processes: int = PROCESSES) -> Iterator[Row]:
    """Two rows per case, from the loaded robot on and of the whole process; the cases take turns."""
    times: dict[str, list[list[float]]] = {name: [] for name in CASES}
    for _ in range(processes):
        for name, case in CASES.items():
            times[name].append(in_an_empty_cache(SCRIPT.format(statement=case.statement)))
    for name, case in CASES.items():
        first, whole = (min(x) for x in zip(*times[name]))
        yield Row(SECTION, name, first, target=case.target)
        yield Row(SECTION, f"{name}, whole process", whole)


def in_an_empty_cache(script: str) -> list[float]:
    """The numbers that the script prints in a fresh interpreter; Python runs from byte code, as installed."""
    environment = {name: x for name, x in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        environment["FLEXJOINT_CACHE"] = folder
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return [float(x) for x in done.stdout.split()]


if __name__ == "__main__":
    for row in cold_start():
        bound = "" if row.target is None else f"   at most {row.target:.2f} s   {row.verdict}"
        print(f"{row.name:<60}{row.ours:6.2f} s{bound}")
