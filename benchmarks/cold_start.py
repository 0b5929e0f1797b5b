"""Processor time of a new process up to its first result, with an empty cache: `python -m benchmarks.cold_start`.

Each figure is the minimum of five fresh processes, each with an empty kernel cache, and includes the start of Python,
all imports, and compilation.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from .timing import Row

PROCESSES = 5
LOOP = """
import time
import numpy as np
import flexjoint as fj
robot = fj.load("kuka_lwr")
trajectory = fj.trajectory.RestToRest(np.zeros(7), np.full(7, 0.5), 1.0)
law = {law}
fj.simulate(robot, law, trajectory, {duration}, period={period})
print(time.process_time())
"""
CASES = {
    "elastic inverse dynamics": (
        0.35,
        """
import time
import numpy as np
import flexjoint as fj
robot, x = fj.load("kuka_lwr"), np.zeros(7)
fj.inverse_dynamics(robot, x, x, x, x, x)
print(time.process_time())
""",
    ),
    "simulated loop under motor PD": (
        1.0,
        LOOP.format(law="fj.control.MotorPD(robot, [1000.0, 50.0])", duration=0.1, period=1e-3),
    ),
    "simulated loop under feedback linearization": (
        1.5,
        LOOP.format(
            law="fj.control.FeedbackLinearization(robot, fj.control.gains_from_poles([-10.0] * 4), 5e-5)",
            duration=0.1,
            period=5e-5,
        ),
    ),
}


def cold_start(processes: int = PROCESSES) -> Iterator[Row]:
    """A row per case; the cases take turns."""
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(processes):
        for name, (_, script) in CASES.items():
            times[name].append(in_an_empty_cache(script))
    for name, (target, _) in CASES.items():
        yield Row("first result of the 7R LWR, empty cache, processor time", name, min(times[name]), target=target)


def in_an_empty_cache(script: str) -> float:
    """What the script prints in a fresh interpreter; Python runs from byte code, as installed."""
    environment = {name: x for name, x in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        environment["FLEXJOINT_CACHE"] = folder
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout)


if __name__ == "__main__":
    for row in cold_start():
        print(f"{row.name:<48}{row.ours:6.2f} s   at most {row.target:.2f} s   {row.verdict}")
