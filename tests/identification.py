"""Identification over many simulated logs: coverage of stated deviations, accuracy and time on the LWR and the Panda.

    python tests/identification.py [--repetitions 200] [--arms 10] [--models 40] [--only bench,slow,laws,...]

Logs have 19-bit encoders, current noise, one sample of delay in the loop, spring damping and Stribeck friction; logs of
MuJoCo have its own dry friction.  Prints a table and fails if a figure misses its bound (docs/testing.md).
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import flexjoint as fj
from support.identification import (
    NOISE,
    STEP,
    arm,
    bench,
    logged,
    multisine,
    pulls,
    resonances_of_bench,
    rough,
    rough_bench,
    shaking,
    simulated,
    stiff_pd,
)

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


def decimated(log, k):
    """Every k-th sample of a log."""
    return replace(log, **{name: getattr(log, name)[::k] for name in ("t", "q", "theta", "tau")})


def slow_loggers(repetitions: int) -> None:
    """Coverage of the bench when every second and fourth sample is logged; the delay is that of the logger."""
    _, logs = simulated(bench(), multisine(0.8, 0, 20.0, count=30), 2027, 0.05, rows=repetitions)
    for k in (2, 4):
        inside = []
        for log in logs:
            found = pulls(fj.identification.identify(rough_bench(), decimated(log, k)), bench())
            inside += [abs(x) < 2 for name, x in found.items() if name != "torque_delay" and "friction" not in name]
            inside += [abs(found[f"hinge.drive.motor.friction.{name}"]) < 2 for name in ("viscous", "coulomb")]
        share = float(np.mean(inside))
        what = f"bench at {1000 / k:.0f} Hz, {repetitions} logs: errors within two deviations"
        check(what, f"{100 * share:.1f} %", share >= 0.9)


def resonance_coverage(repetitions: int) -> None:
    """Stiffness, antiresonance and resonance of the bench from its motor alone."""
    law = fj.drives.Friction(viscous=0.8, coulomb=0.3, velocity=0.05)
    prior = bench(400.0, 0.0, 0.2, fj.drives.Friction(viscous=0.5, coulomb=0.1, velocity=0.02))
    _, logs = simulated(bench(law=law), shaking(), 8, rows=repetitions)
    inside, worst = [], 0.0
    for log in logs:
        found = fj.identification.find_resonances(prior, replace(log, q=None))[0]
        low, high = resonances_of_bench()
        inside += [
            abs(found.stiffness - 300) < 2 * found.stiffness_deviation,
            abs(found.antiresonance - low) < 2 * found.antiresonance_deviation,
            abs(found.resonance - high) < 2 * found.resonance_deviation,
        ]
        worst = max(worst, abs(found.stiffness / 300 - 1))
    check(
        f"resonances, {repetitions} logs: within two deviations",
        f"{100 * np.mean(inside):.1f} %",
        np.mean(inside) > 0.93,
    )
    check("resonances: worst stiffness", f"{100 * worst:.2f} %", worst < 0.005)


def payload_cure() -> None:
    """Joint 7 of the LWR: the payload and the motion that the reason proposes make its stiffness known."""
    true = arm("kuka_lwr")
    scale, middle = ARMS["kuka_lwr"]
    _, log = simulated(true, multisine(scale * AMPLITUDE, 3, 20.0, middle), 12, 0.1)
    K = fj.identification.identify(rough(true), log)["joint7.drive.stiffness"]
    check("LWR joint 7 without payload", K.verdict, K.verdict == "unknown")
    mass, swing, frequency = map(float, re.search(r"example (\S+) kg .*±(\S+) rad at (\S+) Hz", K.reason).groups())
    loaded, known = (x.with_payload(mass, (0.2, 0.0, 0.0)) for x in (true, rough(true)))
    last = np.zeros(7)
    last[6] = swing
    motion = fj.trajectory.Sinusoid(last, np.full(7, frequency), duration=20.0)
    _, log = simulated(loaded, motion, 13, 0.1)
    K = fj.identification.identify(known, log, links="known")["joint7.drive.stiffness"]
    error = abs(K.value / true.joints[6].drive.stiffness - 1)
    check(f"LWR joint 7 with {mass:g} kg", f"{K.verdict}, {100 * error:.2f} %", K.verdict != "unknown" and error < 0.02)


def mujoco_arm() -> None:
    """A Panda in MuJoCo with its dry friction, at 1000, 500 and 250 Hz: the run with which thresholds were chosen."""
    from support.mujoco_logs import Plant
    from support.recorded_runs import recorded_run

    drives = []
    for i, joint in enumerate(fj.load("panda").joints):
        law = fj.drives.Friction(viscous=1.0 + 0.3 * i, coulomb=2.5 - 0.2 * i, velocity=0.01)
        drives.append(
            fj.ElasticDrive(joint.drive.stiffness, fj.Motor(joint.drive.motor.inertia, friction=law), damping=1.0)
        )
    true = fj.load("panda").with_drives(drives)
    scale, middle = ARMS["panda"]
    B = np.array([x.motor.inertia for x in drives])
    gains = np.array([3 * B * (2 * np.pi * 6) ** 2 + 60.0, 2 * B * 2 * np.pi * 6 + 5.0])
    plant = Plant.of_robot(true, Path(tempfile.mkdtemp()) / "panda.xml", timestep=1e-4)
    motion = multisine(scale * AMPLITUDE, 3, 30.0, middle)
    run = recorded_run(plant, true, motion, gains, seed=1, torque_noise=0.1)
    for k in (1, 2, 4):
        found = fj.identification.identify(rough(true), decimated(run.log, k))
        trusted = {x.name for x in found.estimates if x.verdict != "unknown" and x.kind != "delay"}
        errors = {name: x for name, x in pulls(found, true).items() if name in trusted}
        share = float(np.mean([abs(x) < 2 for x in errors.values()]))
        worst = max(abs(x) for x in errors.values())
        what = f"Panda in MuJoCo at {1000 / k:.0f} Hz: errors within two deviations, worst"
        check(what, f"{100 * share:.1f} %, {worst:.1f}", share > 0.9 and worst < 5)


def elastic_actuators(duration: float = 15.0) -> None:
    """Series elastic actuators and arms in MuJoCo with torque sensors: stiffness, motor inertia, scale of the sensor.

    The slope of the sensed torque over the deflection is the independent check of stiffness times scale.
    """
    from support.mujoco_logs import ROBOTS, elastic_log, elastic_truth

    pulled, wrong, slopes = [], [], []
    for name, joints in ROBOTS.items():
        for k, motion in enumerate(("fourier", "chirp", "steps")):
            scale, gravity = (1.0, 1.1, 0.9)[k], (9.81, 9.81, 0.0)[k]
            log = elastic_log(name, motion, duration=duration, gravity=gravity, scale=scale, seed=k, noise=0.03)
            found = fj.identification.identify(log.robot, log)
            print(f"      {name}, {motion}, gravity {gravity}, sensor scale {scale}")
            for i in range(len(joints)):
                phi = log.theta[:, i] - log.q[:, i]
                slope = np.polyfit(phi, log.tau_e[:, i], 1)[0]
                texts = []
                for path, true in elastic_truth(joints[i], scale).items():
                    x = found[f"joint{i + 1}.drive.{path}"]
                    pull = (x.value - true) / x.deviation
                    if x.verdict == "identified":
                        pulled.append(abs(pull))
                    if x.verdict == "identified" and abs(x.value / true - 1) > 0.05:
                        wrong.append(x.name)
                    texts.append(
                        f"{path} {x.value:.6g} ({100 * (x.value / true - 1):+.2f} %, {pull:+.1f}, {x.verdict})"
                    )
                product = found[f"joint{i + 1}.drive.stiffness"].value * found[f"joint{i + 1}.drive.sensor_scale"].value
                slopes.append(abs(product / slope - 1))
                print(f"        joint {i + 1}: regression {slope:.6g}; {'; '.join(texts)}")
    share = float(np.mean(np.array(pulled) < 3))
    check("SEA in MuJoCo: identified values within three deviations", f"{100 * share:.1f} %", share > 0.97)
    check("SEA in MuJoCo: largest error of identified values, deviations", f"{max(pulled):.1f}", max(pulled) < 4.5)
    check("SEA in MuJoCo: identified values more than 5 % off", f"{len(wrong)}", not wrong)
    check("SEA in MuJoCo: stiffness times scale, off the regression", f"{100 * max(slopes):.2f} %", max(slopes) < 0.002)


def arm_accuracy(name: str, repetitions: int) -> None:
    """Stiffness, inertia and coverage on an arm; joints below one encoder step must be refused."""
    scale, middle = ARMS[name]
    true = arm(name)
    prior = rough(true)
    inside, stiffness, inertia, times, refused, steps = [], [], [], [], [], None
    for k in range(repetitions):
        run, log = simulated(true, multisine(scale * AMPLITUDE, 3, 60.0, middle), 300 + k, 0.1)
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
        times[0] < 10,
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


def prior_coverage(repetitions: int) -> None:
    """Pooled errors of short logs of the bench with priors that are right: drawn around the truth."""
    _, logs = simulated(bench(), multisine(0.1, 0, 4.0, count=10), 2030, 0.3, rows=repetitions)
    rng, inside, ratios = np.random.default_rng(2030), {"vague": [], "drives": []}, []
    paths = ["hinge.drive.stiffness", "hinge.drive.damping", "hinge.drive.motor.inertia"]
    for log in logs:
        numbers = np.array([300.0, 0.5, 0.12]) * (1 + 0.05 * rng.normal(size=3))
        known = bench(*numbers).with_sources([fj.robot.Source(paths, "identified", "drawn")])
        found = {
            x: fj.identification.identify(known, log, friction="stribeck", spring="linear", check=False, priors=x)
            for x in inside
        }
        for name, one in found.items():
            inside[name] += [abs(x) < 2 for path, x in pulls(one, bench()).items() if "friction" not in path]
        ratios.append(found["drives"][paths[0]].deviation / found["vague"][paths[0]].deviation)
    shares = {name: float(np.mean(x)) for name, x in inside.items()}
    what = f"priors of drives, {repetitions} logs: errors within two deviations, without and with them"
    value = f"{100 * shares['vague']:.1f} %, {100 * shares['drives']:.1f} %"
    check(what, value, shares["drives"] > 0.9 and shares["drives"] > shares["vague"] - 0.02)
    check("priors: deviation of the stiffness over that without", f"{np.median(ratios):.2f}", np.median(ratios) < 1)


def output_error_arms(repetitions: int) -> None:
    """Output error on the LWR, whose least squares give no robot that can move, and on the Panda."""
    inside, ratios = [], []
    for name, (scale, middle) in ARMS.items():
        true = arm(name)
        own, times = [], []
        for k in range(repetitions):
            _, log = simulated(true, multisine(scale * AMPLITUDE, 3, 20.0, middle), 300 + k, 0.1)
            before = fj.identification.identify(rough(true), log)
            began = time.process_time()
            found = fj.identification.identify(rough(true), log, method="output_error")
            times.append(time.process_time() - began)
            own += [abs(x) < 2 for x in pulls(found, true).values()]
            names = [f"{x.name}.drive.stiffness" for x in true.joints]
            ratios += [found[x].deviation / before[x].deviation for x in names]
            check(f"output error, {name}, log {k}: converged", f"{found.fit.converged}", found.fit.converged)
            if name == "kuka_lwr":
                K = found["joint7.drive.stiffness"]
                check("output error, LWR joint 7 without payload", K.verdict, K.verdict == "unknown")
        inside += own
        print(f"      {name}: errors within two deviations {100 * np.mean(own):.1f} %")
        what = f"output error, {name}, 20 s: processor time, first (with compiling), best"
        check(what, f"{times[0]:.1f} s, {min(times):.1f} s", min(times) < 60)
    share = float(np.mean(inside))
    what = f"output error, arms, {2 * repetitions} logs: errors within two deviations"
    check(what, f"{100 * share:.1f} %", 0.93 <= share <= 0.975)
    what = "output error, arms: deviation of stiffness over that of least squares, median, greatest"
    check(what, f"{np.median(ratios):.2f}, {max(ratios):.2f}", np.median(ratios) < 1)


def closed_loop_coverage(repetitions: int) -> None:
    """Pooled errors of logs without torque, of a controller that is known and runs twice as often as the logger."""
    motion, law, period = multisine(0.8, 0, 20.0, count=30), stiff_pd(bench()), 5e-4
    seen = fj.simulation.Sensors(STEP, STEP, NOISE * STEP, NOISE * STEP, velocities="differenced", delay=1)
    many = {"row": np.arange(repetitions), "seed": 2031}
    run = fj.simulate(bench(), law, motion, period=period, substeps=2, sensors=seen, check=False, **many)
    loop = fj.identification.ControlLoop(law, motion, period, seen)
    inside, times = [], []
    for k in range(repetitions):
        log = logged(bench(), run.t[::2], *(x[k, ::2] for x in (run.q, run.theta, run.tau)), [2031, k], 0.0)
        began = time.process_time()
        found = fj.identification.identify(rough_bench(), replace(log, tau=None), loop=loop, method="output_error")
        times.append(time.process_time() - began)
        inside += [abs(x) < 2 for x in pulls(found, bench()).values()]
    share = float(np.mean(inside))
    what = f"known controller, no torque, {repetitions} logs: errors within two deviations"
    check(what, f"{100 * share:.1f} %", share >= 0.93)
    check("known controller: processor time, with compiling, and best", f"{times[0]:.1f} s, {min(times):.1f} s", True)


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
    parser.add_argument("--only", default="", help="parts, such as bench,slow; default all")
    given = parser.parse_args()
    os.environ["FLEXJOINT_CACHE"] = tempfile.mkdtemp(prefix="flexjoint-identification-")
    parts = {
        "bench": lambda: bench_coverage(given.repetitions),
        "slow": lambda: slow_loggers(given.repetitions // 2),
        "resonances": lambda: resonance_coverage(given.repetitions // 2),
        "cure": payload_cure,
        "mujoco": mujoco_arm,
        "actuators": elastic_actuators,
        **{name: (lambda name=name: arm_accuracy(name, given.arms)) for name in ARMS},
        "output_error": lambda: output_error_coverage(given.models),
        "priors": lambda: prior_coverage(given.repetitions // 2),
        "output_error_arms": lambda: output_error_arms(max(1, given.arms // 3)),
        "closed_loop": lambda: closed_loop_coverage(given.models),
        "laws": lambda: law_coverage(given.models),
        "gears": lambda: gear_reports(given.models),
    }
    for name in given.only.split(",") if given.only else parts:
        parts[name]()
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
