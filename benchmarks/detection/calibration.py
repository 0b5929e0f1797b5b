"""Bad torques in calibrations: thresholds and false alarms, `python -m benchmarks.detection.calibration`.

Torques of random sign, scattered or in bursts, are added to one motor torque of a calibration of 5 s.  Its thresholds
are compared with those of the clean calibration, and applied to other 5 s of the same motion, in which nothing happens.
A chattering command is the torque of a controller that reads the noisy velocities.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import flexjoint as fj
from flexjoint.detection.calibration import learn_thresholds
from flexjoint.detection.detection import residual_of, run

from .scenarios import COARSE, FINE, Sensors, motion, robots

HALF, DAMPING = 5000, 150.0
CASES = [(1, 1), (10, 1), (100, 1), (250, 1), (250, 25), (250, 250), (400, 1), (1000, 1)]  # samples, in bursts of
SIZES = ((20.0, 20.0), (20.0, 300.0))  # Nm, smallest and largest


def one_joint() -> fj.Robot:
    """A knee with a series elastic drive."""
    knee = fj.Joint("knee", axis=[0, 1, 0], drive=fj.ElasticDrive(300.0, fj.Motor(0.3)))
    return fj.Robot("sea", (fj.Link("shank", knee, "base", 2.0, [0.3, 0, 0], np.diag([0.01, 0.1, 0.1])),))


def exact(robot: fj.Robot) -> fj.Simulation:
    """A motion without faults."""
    gains = [2000.0, DAMPING] if robot.n > 1 else [200.0, 10.0]
    return fj.simulate(robot, fj.control.FeedforwardPD(robot, gains), motion(robot.n, 1), 2e-3 * HALF, substeps=2)


def logs(robot: fj.Robot, motion_of: fj.Simulation, sensors: Sensors, chatter: float) -> list[fj.Log]:
    """Calibration and watched log of one motion."""
    rng, step = np.random.default_rng(0), sensors.position
    q, theta = (step * np.round(x / step) for x in (motion_of.q, motion_of.theta))
    noise = sensors.velocity * rng.normal(size=(2, *q.shape))
    noisy = noise[1][:, : motion_of.tau.shape[1]]
    arrays = {"t": motion_of.t, "q": q, "v": motion_of.v + noise[0], "theta": theta}
    arrays |= {"theta_v": motion_of.theta_v + noise[1], "tau": motion_of.tau + chatter * noisy}
    return [
        fj.logs.Log(robot, **{name: x[part] for name, x in arrays.items()})
        for part in (slice(0, HALF), slice(HALF, 2 * HALF))
    ]


def spoilt(log: fj.Log, count: int, burst: int, sizes: tuple[float, float], entry: int) -> fj.Log:
    """The log with bad torques of one motor."""
    rng, tau = np.random.default_rng(count + burst), log.tau.copy()
    rows = rng.choice(HALF // burst, count // burst, replace=False)[:, None] * burst + np.arange(burst)
    tau[rows, entry] += (rng.uniform(*sizes, len(rows)) * rng.choice([-1, 1], len(rows)))[:, None]
    return replace(log, tau=tau)


def cases() -> Iterator[tuple[str, list[fj.Log]]]:
    """Logs by robot and sensors."""
    arms = {x: y for x, y in robots().items() if x != "mixed"}
    for name, robot in {**arms, "panda": fj.load("panda").rigid(), "sea": one_joint()}.items():
        result = exact(robot)
        for kind, sensors in (("fine", FINE), ("coarse", COARSE)):
            yield f"{name}, {kind}", logs(robot, result, sensors, 0.0)
        if name == "rigid":
            yield f"{name}, coarse, chattering", logs(robot, result, COARSE, DAMPING)


def learnt(
    residual: Any, log: fj.Log, watched: fj.Log, outputs: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], int]:
    """Thresholds, and the number of alarms in the watched log."""
    thresholds = learn_thresholds(residual, log, watched, None, 1.0, lambda x, y: run(x, y, True)).thresholds
    above = [np.abs(outputs[x]) > y for x, y in thresholds.items()]
    return thresholds, sum(int(np.count_nonzero(x[1:] & ~x[:-1])) for x in above)


def main() -> None:
    warnings.simplefilter("ignore", fj.FlexjointWarning)
    print("thresholds relative to the clean calibration (false alarms in 5 s), or - if refused")
    print("robot, sensors".ljust(28), *(f"{n}x{b}".rjust(13) for n, b in [(0, 0), *CASES]))
    for name, (calm, watched) in cases():
        residual = residual_of(calm, 30.0)
        outputs = run(residual, watched, True)

        clean, alarms = learnt(residual, calm, watched, outputs)
        for sizes in SIZES:
            row = [f"1.00 ({alarms})"]
            for count, burst in CASES:
                try:
                    spoiled = spoilt(calm, count, burst, sizes, min(1, calm.tau.shape[1] - 1))
                    found, alarms_of = learnt(residual, spoiled, watched, outputs)
                except fj.InputError:
                    row.append("-")
                    continue
                used = {x: np.isfinite(y) for x, y in clean.items()}
                worst = max(float(np.max(found[x][used[x]] / clean[x][used[x]])) for x in clean)
                row.append(f"{worst:.2f} ({alarms_of})")
            print(f"{name} {sizes[0]:g}-{sizes[1]:g}".ljust(28), *(x.rjust(13) for x in row), flush=True)


if __name__ == "__main__":
    main()
