"""Bad samples in calibrations: false alarms and thresholds, `python -m benchmarks.detection.calibration`.

Torques of 20 to 300 Nm, at random times and of random sign, are added to one motor torque of a calibration of 5 s.  The
thresholds are applied to another 5 s of the same motion, in which nothing happens.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

import flexjoint as fj

from .scenarios import COARSE, FINE, Sensors, motion, robots

COUNTS, SIZES, HALF = (0, 1, 10, 100, 250, 400), (20.0, 300.0), 5000


def logs(robot: fj.Robot, sensors: Sensors) -> tuple[fj.Log, fj.Log]:
    """Calibration and watched log of one motion."""
    run = fj.simulate(
        robot, fj.control.FeedforwardPD(robot, [2000.0, 150.0]), motion(robot.n, 1), 2e-3 * HALF, substeps=2
    )
    rng, step = np.random.default_rng(0), sensors.position
    q, theta = (step * np.round(x / step) for x in (run.q, run.theta))
    v, theta_v = (x + sensors.velocity * rng.normal(size=x.shape) for x in (run.v, run.theta_v))
    arrays = {"t": run.t, "q": q, "v": v, "theta": theta, "theta_v": theta_v, "tau": run.tau}
    parts = (slice(0, HALF), slice(HALF, 2 * HALF))
    first, second = (fj.logs.Log(robot, **{name: x[part] for name, x in arrays.items()}) for part in parts)
    return first, second


def spoilt(log: fj.Log, count: int, size: float) -> fj.Log:
    rng, tau = np.random.default_rng(count), log.tau.copy()
    rows = rng.choice(HALF, count, replace=False)
    tau[rows, min(1, tau.shape[1] - 1)] += rng.uniform(20.0, size, count) * rng.choice([-1, 1], count)
    return replace(log, tau=tau)


def main() -> None:
    warnings.simplefilter("ignore", fj.FlexjointWarning)
    panda, sea = fj.load("panda").rigid(), fj.load("hua_3r")
    print("robot, sensors: bad samples, up to Nm: false alarms in 5 s, thresholds relative to a clean calibration")
    for name, robot in {**robots(), "panda": panda, "hua_3r": sea}.items():
        for kind, sensors in (("fine", FINE), ("coarse", COARSE)):
            calm, watched = logs(robot, sensors)
            clean: dict[str, np.ndarray] = {}
            for count in COUNTS:
                for size in SIZES[: 1 if count == 0 else 2]:
                    try:
                        found = fj.detection.detect(watched, calibration=spoilt(calm, count, size))
                    except fj.InputError as error:
                        print(f"{name}, {kind}: {count}, {size:g}: refused: {str(error)[:60]}", flush=True)
                        continue
                    clean = clean or dict(found.smallest)
                    used = {x: np.isfinite(y) for x, y in clean.items()}
                    worst = max(float(np.max(y[used[x]] / clean[x][used[x]])) for x, y in found.smallest.items())
                    print(f"{name}, {kind}: {count}, {size:g}: {len(found.detections)}, {worst:.3f}", flush=True)


if __name__ == "__main__":
    main()
