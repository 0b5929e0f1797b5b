"""Times of `fit_duration` and `time_optimal` on 7R robots: `python -m benchmarks.planning`.

The peer of `fit_duration` is a scan: 100 speeds and 40 bisections from the greatest feasible one, with our own batch
kernels at the same 1001 samples.  It is blind between samples and between speeds; both results are checked against
each other.  The two take turns, and the shortest time of each counts.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import flexjoint as fj
from flexjoint.trajectory.greatest_speed import shares
from flexjoint.trajectory.limited_motion import limited_motion

SAMPLES, SPEEDS, BISECTIONS = 1001, 100, 40
DAMPING = 1.0  # Nm s/rad, of the springs of the damped Panda
START = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.0])


def scanned(robot: fj.Robot, motion: fj.trajectory.Trajectory) -> float:
    """The greatest speed that a scan finds."""
    limited, t = limited_motion("scan", robot, motion, None, None), np.linspace(0.0, motion.duration, SAMPLES)
    stack = limited.stack(t)

    def feasible(s: float) -> bool:
        return bool(np.all(np.abs(shares(limited, t, s, stack)) <= 1))

    speeds = np.geomspace(0.01, 100.0, SPEEDS)
    k = max(k for k, s in enumerate(speeds) if feasible(s))
    low, high = speeds[k], speeds[k + 1]
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if feasible(middle) else (low, middle)
    return float(low)


def shortest(repetitions: int, *calls: Callable[[], object]) -> list[float]:
    """Shortest processor time of each call; they take turns."""
    found = [np.inf] * len(calls)
    for _ in range(repetitions):
        for k, call in enumerate(calls):
            started = time.process_time()
            call()
            found[k] = min(found[k], time.process_time() - started)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.planning", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder for the JSON file")
    folder = parser.parse_args().output
    panda = fj.load("panda")
    damped = panda.with_drives(
        [fj.ElasticDrive(joint.drive.spring, joint.drive.motor, DAMPING) for joint in panda.joints]  # type: ignore[union-attr]
    )
    points = np.array([START, START + 0.3, START + 0.6 * np.array([1, 0.5, -1, -0.5, 1, 1, 1])])
    motion = fj.trajectory.Spline(points, 2.0)
    table = Table("robot", "call", "ms", "scan, ms", "ratio", title="Processor time, shortest of several, one core")
    rows = []
    for name, robot, repetitions in (("elastic", panda, 20), ("rigid", fj.load("iiwa14"), 20), ("damped", damped, 2)):
        path = motion if name != "rigid" else fj.trajectory.Spline(points - START, 2.0)
        s = 1 / fj.trajectory.fit_duration(robot, path).factor
        if name == "damped":
            (ours,) = shortest(repetitions, partial(fj.trajectory.fit_duration, robot, path))
            rows.append({"robot": name, "call": "fit_duration", "ours_s": ours})
        else:
            np.testing.assert_allclose(scanned(robot, path), s, rtol=1e-4)
            ours, peer = shortest(
                repetitions, partial(fj.trajectory.fit_duration, robot, path), partial(scanned, robot, path)
            )
            rows.append({"robot": name, "call": "fit_duration", "ours_s": ours, "scan_s": peer})
    for name, robot, given in (("elastic", panda, points), ("rigid", fj.load("iiwa14"), points - START)):
        (ours,) = shortest(1, partial(fj.trajectory.time_optimal, robot, given))
        rows.append({"robot": name, "call": "time_optimal", "ours_s": ours})
    for row in rows:
        peer = row.get("scan_s")
        shown = (f"{1e3 * peer:.1f}", f"{row['ours_s'] / peer:.3f}") if peer else ("", "")
        table.add_row(str(row["robot"]), str(row["call"]), f"{1e3 * row['ours_s']:.1f}", *shown)
    Console(width=100).print(table)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "planning.json").write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
