"""Identification over many simulated logs: coverage of stated deviations, accuracy and time on the LWR and the Panda.

    python tests/identification.py [--repetitions 200] [--arms 10] [--models 40]

Logs have 19-bit encoders, current noise, one sample of delay in the loop, spring damping and Stribeck friction.  Prints
a table and fails if a figure misses its bound (docs/testing.md).
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import tempfile
import time

import numpy as np

import flexjoint as fj
from support.identification import STEP, arm, bench, multisine, pulls, rough, rough_bench, simulated, stiff_pd

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


def output_error_coverage(repetitions: int) -> None:
    """Pooled errors of the output error, and its deviations over those of the least squares."""
    _, logs = simulated(bench(), multisine(0.8, 0, 20.0, count=30), 2027, 0.05, rows=repetitions)
    inside, ratios, times = [], [], []
    for log in logs:
        before = fj.identification.identify(rough_bench(), log)
        began = time.process_time()
        found = fj.identification.identify(rough_bench(), log, method="output_error")
        times.append(time.process_time() - began)
        inside += [abs(x) < 2 for x in pulls(found, bench()).values()]
        ratios.append(found["hinge.drive.stiffness"].deviation / before["hinge.drive.stiffness"].deviation)
    share = float(np.mean(inside))
    what = f"output error, bench, {repetitions} logs: errors within two deviations"
    check(what, f"{100 * share:.1f} %", 0.93 <= share <= 0.975)
    ratio = float(np.median(ratios))
    check("output error: deviation of the stiffness over that of least squares", f"{ratio:.2f}", ratio < 0.9)
    check("output error: processor time, with compiling, and best", f"{times[0]:.1f} s, {min(times):.1f} s", True)


def law_coverage(repetitions: int) -> None:
    """Pooled errors of springs that are not linear and of friction by direction."""
    law = fj.drives.Friction(
        0.8, 1.2, 0.05, static=1.7, stribeck_velocity=0.25,
        backward=fj.drives.Friction(0.5, 0.9, static=1.2, stribeck_velocity=0.25),
    )  # fmt: skip
    points = [0.0, 0.015, 0.03]
    springs = {
        "cubic": (fj.springs.CubicSpring(250.0, 1.5e5), fj.springs.CubicSpring(400.0, 1e4)),
        "piecewise": (
            fj.springs.PiecewiseSpring(points, [250.0, 300.0, 500.0]),
            fj.springs.PiecewiseSpring(points, [400.0] * 3),
        ),
    }
    for name, (true, prior) in springs.items():
        robot = bench(true, law=law)
        rough = bench(prior, 0.0, 0.2, fj.drives.Friction(viscous=0.5))
        _, logs = simulated(robot, multisine(0.8, 0, 20.0, count=30), 2028, 0.05, rows=repetitions)
        inside, recognised = [], 0
        for log in logs:
            found = fj.identification.identify(rough, log)
            inside += [abs(x) < 2 for x in pulls(found, robot).values()]
            recognised += found.robot.joints[0].drive.motor.friction.backward is not None
        share = float(np.mean(inside))
        what = f"{name} spring, friction by direction, {repetitions} logs: errors within two deviations"
        check(what, f"{100 * share:.1f} %", 0.9 <= share <= 0.98)
        check(f"{name}: friction by direction recognised", f"{recognised} of {repetitions}", recognised == repetitions)


def gear_reports(repetitions: int) -> None:
    """Backlash and hysteresis: widths that are found, and false reports of clean gears."""
    dahl = fj.drives.Dahl(0.3, 300.0)
    cases = {
        "clean": ({}, {}),
        "gap": ({"backlash": 5e-4}, {"backlash": 5e-4}),
        "loop": ({"hysteresis": dahl}, {"hysteresis": 2 * dahl.torque / 300.0}),
    }
    for name, (losses, widths) in cases.items():
        robot = bench().with_drives([dataclasses.replace(bench().joints[0].drive, **losses)])
        law = stiff_pd(robot.without_gear_losses())
        motion = multisine(0.8, 0, 20.0, count=30)
        _, logs = simulated(robot, motion, 2029, 0.05, controller=law, rows=repetitions)
        errors, right = [0.0], 0
        for log in logs:
            found = {x.kind: x.width for x in fj.identification.identify(rough_bench(), log).gear_losses}
            right += found.keys() == widths.keys()
            errors += [abs(found[kind] / width - 1) for kind, width in widths.items() if kind in found]
        what = f"gear losses, {name}, {repetitions} logs: reported as they are, worst width"
        value = f"{right} of {repetitions}, {100 * max(errors):.1f} %"
        check(what, value, right == repetitions and max(errors) < 0.05)


def main() -> int:
    """Run all; 1 if a bound was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--arms", type=int, default=10)
    parser.add_argument("--models", type=int, default=40)
    given = parser.parse_args()
    os.environ["FLEXJOINT_CACHE"] = tempfile.mkdtemp(prefix="flexjoint-identification-")
    for name in ARMS if given.arms else ():
        arm_accuracy(name, given.arms)
    if given.repetitions:
        bench_coverage(given.repetitions)
    output_error_coverage(given.models)
    law_coverage(given.models)
    gear_reports(given.models)
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
