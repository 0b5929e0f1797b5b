"""Recorded motions over robots, rates, noise and seeds: stated torque errors against true ones, known from the motion.

Run by `make test-long`; docs/testing.md has the result.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np

import flexjoint as fj
from flexjoint.dynamics.inverse import needed_order
from flexjoint.trajectory.filter_trial import middle_stiffness

SEEDS = range(2)
NOISES = (1e-6, 1e-4, 1e-3)  # rad
RATES = (100.0, 1000.0)  # Hz
ENCODERS = (1e-4, 1e-3)  # rad


def robots() -> dict[str, fj.Robot]:
    return {
        "kuka_lwr": fj.load("kuka_lwr"),
        "kuka_lwr rigid": fj.load("kuka_lwr").rigid(),
        "panda": fj.load("panda"),
        "vsa_3r": fj.load("vsa_3r"),
    }


def motion(n: int, rng: np.random.Generator) -> fj.trajectory.Trajectory:
    """A spline through random points in 5 s, or a Fourier series of up to 2 Hz."""
    if rng.random() < 0.5:
        return fj.trajectory.Spline(rng.uniform(-0.6, 0.6, (7, n)), 5.0, smoothness=5)
    harmonics = np.arange(1, 11)[:, None]  # of 0.2 Hz
    cosine, sine = rng.normal(size=(2, 10, n)) * 0.2 / harmonics**2
    return fj.trajectory.Sinusoid.fourier(0.2, cosine=cosine, sine=sine, duration=5.0)


def rms(x: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(x**2, axis=0))


def compare(robot: fj.Robot, rate: float, noise: float, step: float, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Noise level over the true one, stated over true torque error, and error over the smallest of a scan."""
    rng = np.random.default_rng([seed, int(rate), round(1e7 * noise), round(1e7 * step)])
    moved = motion(robot.n, rng)
    t = np.arange(0.0, 5.0, 1 / rate)
    clean = moved(t, 0)[0]
    noisy = np.round(clean / step) * step if step else clean + noise * rng.normal(size=clean.shape)
    order = needed_order(robot)
    found = fj.trajectory.assess_record(robot, fj.trajectory.Samples(t, noisy, order))
    stiffness = middle_stiffness(robot, noisy[0]) if any(robot.variable_stiffness) else None
    inner = t[(t > found.edge) & (t < t[-1] - found.edge)]
    true = fj.inverse_dynamics_along(robot, moved, inner, stiffness).tau

    def error(samples: fj.trajectory.Trajectory) -> np.ndarray:
        return rms(fj.inverse_dynamics_along(robot, samples, inner, stiffness).tau - true)

    own, size = error(found.filtered), rms(true)
    scan = []
    for cutoff in found.cutoff * 2.0 ** np.arange(-1.5, 1.6, 0.5):
        if 0.1 / 5.0 < cutoff < rate / 2:
            scan.append(np.nan_to_num(rms(error(fj.trajectory.Samples(t, noisy, order, cutoff)) / size), nan=np.inf))
    return found.level.sigma / rms(noisy - clean), found.best.total / own, float(rms(own / size) / np.min(scan))


def main() -> None:
    warnings.simplefilter("ignore", fj.FlexjointWarning)
    settings = [(noise, 0.0) for noise in NOISES] + [(0.0, step) for step in ENCODERS]
    print("robot            noise, rad   level/true       stated/true error: 5 %, median, 95 %, extremes    error/best")
    for (name, robot), (noise, step) in itertools.product(robots().items(), settings):
        levels, ratios, losses = zip(*(compare(robot, rate, noise, step, seed) for rate in RATES for seed in SEEDS))
        level, ratio = np.concatenate(levels), np.concatenate(ratios)
        low, middle, high = np.quantile(ratio, [0.05, 0.5, 0.95])
        what = f"step {step:g}" if step else f"{noise:g}"
        print(
            f"{name:16} {what:12} {level.min():.2f} to {level.max():.2f}     {low:.2f}  {middle:.2f}  {high:.2f}  "
            f"({ratio.min():.2f} to {ratio.max():.2f})    median {np.median(losses):.2f}, at most {np.max(losses):.2f}",
            flush=True,
        )
        if not step:
            assert np.all(np.abs(level - 1) < 0.25), level
        assert 0.4 < middle < 2.0 and low > 0.1 and high < 5.0, ratio


if __name__ == "__main__":
    main()
