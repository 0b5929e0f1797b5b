"""Identification over many simulated logs: coverage of stated deviations, accuracy and time on the LWR and the Panda.

    python tests/identification.py [--repetitions 200] [--arms 10]

Logs have 19-bit encoders, current noise, one sample of delay in the loop, spring damping and Stribeck friction.  Prints
a table and fails if a figure misses its bound (docs/testing.md).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time

import numpy as np

import flexjoint as fj
from support.identification import STEP, arm, bench, multisine, pulls, rough, rough_bench, simulated

AMPLITUDE = np.array([0.8, 0.7, 0.8, 0.7, 1.0, 1.0, 1.2])
ARMS = {  # scale of the motion, middle of it
    "kuka_lwr": (0.12, 0.0),
    "panda": (0.35, [0, 0, 0, -1.5, 0, 1.8, 0]),
}
FAILED: list[str] = []


def check(what: str, value: str, good: bool) -> None:
    """Print one line, and remember a failure."""
    print(f"{'ok  ' if good else 'FAIL'}  {what}: {value}", flush=True)
    if not good:
        FAILED.append(what)


def bench_coverage(repetitions: int) -> None:
    """Pooled errors of the bench within two stated deviations."""
    _, logs = simulated(bench(), multisine(0.8, 0, 20.0, count=30), 2026, 0.05, rows=repetitions)
    inside, right = [], 0
    for log in logs:
        found = fj.identification.identify(rough_bench(), log)
        inside += [abs(x) < 2 for x in pulls(found, bench()).values()]
        right += found.passed
    share = float(np.mean(inside))
    check(f"bench, {repetitions} logs: errors within two deviations", f"{100 * share:.1f} %", 0.93 <= share <= 0.975)
    check("bench: residuals called noise", f"{right} of {repetitions}", right >= 0.98 * repetitions)


def arm_accuracy(name: str, repetitions: int) -> None:
    """Stiffness, inertia and coverage on an arm; joints below one encoder step must be refused."""
    scale, middle = ARMS[name]
    true = arm(name)
    prior = rough(true)
    inside, stiffness, inertia, times, refused, steps = [], [], [], [], [], None
    for k in range(repetitions):
        run, log = simulated(true, multisine(scale * AMPLITUDE, 3, 60.0, middle), 100 + k, 0.1)
        steps = np.std(run.theta - run.q, axis=0) / STEP
        began = time.process_time()
        found = fj.identification.identify(prior, log)
        times.append(time.process_time() - began)
        inside += [abs(x) < 2 for x in pulls(found, true).values()]
        for joint, deflection in zip(true.joints, steps):
            K = found[f"{joint.name}.drive.stiffness"]
            if deflection >= 2:
                stiffness.append(abs(K.value / joint.drive.stiffness - 1))
                inertia.append(abs(found[f"{joint.name}.drive.motor.inertia"].value / joint.drive.motor.inertia - 1))
            elif deflection < 0.5:
                refused.append(K.verdict == "unknown" and "needs payload or a torque sensor" in K.reason)
    print(f"      {name}: rms deflections in encoder steps {np.round(steps, 2).tolist()}")
    share = float(np.mean(inside))
    check(
        f"{name}, {repetitions} logs of 60 s: errors within two deviations",
        f"{100 * share:.1f} %",
        0.93 <= share <= 0.975,
    )
    worst = max(stiffness)
    check(f"{name}: worst stiffness where the deflection is at least 2 steps", f"{100 * worst:.3f} %", worst < 0.005)
    worst = max(inertia)
    check(f"{name}: worst motor inertia there", f"{100 * worst:.3f} %", worst < 0.003)
    if refused:
        check(f"{name}: joints below half a step refused", f"{sum(refused)} of {len(refused)}", all(refused))
    check(
        f"{name}: processor time, first (with compiling), best",
        f"{times[0]:.1f} s, {min(times):.1f} s",
        min(times) < 10,
    )


def main() -> int:
    """Run all; 1 if a bound was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--arms", type=int, default=10)
    given = parser.parse_args()
    os.environ["FLEXJOINT_CACHE"] = tempfile.mkdtemp(prefix="flexjoint-identification-")
    for name in ARMS:
        arm_accuracy(name, given.arms)
    bench_coverage(given.repetitions)
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
