"""The kinds of trajectories side by side: position, velocity and the fourth derivative, which elastic joints feel.

Saves trajectories.png.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np

import flexjoint as fj

matplotlib.use("Agg")


def motions() -> dict[str, fj.trajectory.Trajectory]:
    random = np.random.default_rng(1)
    recorded = np.arange(0.0, 3.001, 0.005)
    noisy = 1 - np.cos(2 * np.pi * recorded / 3) + 1e-3 * random.normal(size=recorded.size)
    swing = fj.trajectory.Sinusoid([0.5], 2 / 3, phase=-np.pi / 2, offset=0.5, duration=3.0)
    return {
        "RestToRest, degree 7": fj.trajectory.RestToRest([0.0], [2.0], 3.0),
        "FilteredStep, order 16": fj.trajectory.FilteredStep.settled([0.0], [2.0], 3.0),
        "Spline through 5 points": fj.trajectory.Spline([[0.0], [1.5], [1.0], [1.2], [2.0]], [0.0, 0.8, 1.4, 2.0, 3.0]),
        "Sinusoid with a time law": swing.retimed(fj.trajectory.RestToRest([0.0], [3.0], 3.0)),
        "Samples, noise 1e-3, cutoff 2 Hz": fj.trajectory.Samples(recorded, noisy[:, None], cutoff=2.0),
    }


def main(output: Path) -> None:
    import matplotlib.pyplot as plt

    found = motions()
    rows = {0: "q, rad", 1: "q', rad/s", 4: "q'''', rad/s⁴"}
    figure, axes = plt.subplots(len(rows), len(found), figsize=(15, 6.5), sharex=True, layout="constrained")
    for column, (name, trajectory) in zip(axes.T, found.items()):
        t = np.linspace(0.0, trajectory.duration, 1201)
        stack = trajectory(t)[..., 0]
        column[0].set_title(f"{name}\nC^{trajectory.smoothness}", fontsize=10)
        for axis, k in zip(column, rows):
            axis.plot(t, stack[k], color="#0072B2")
            axis.grid(alpha=0.3)
        column[-1].set_xlabel("time, s")
        if isinstance(trajectory, fj.trajectory.Spline):
            column[0].plot(trajectory.times, trajectory.points[:, 0], "o", color="#D55E00", label="waypoints")
        if isinstance(trajectory, fj.trajectory.Samples):
            column[0].plot(trajectory.times[::20], trajectory.positions[::20, 0], ".", color="#D55E00", label="samples")
        if column[0].get_legend_handles_labels()[0]:
            column[0].legend(fontsize=8)
    for axis, label in zip(axes[:, 0], rows.values()):
        axis.set_ylabel(label)
    output.mkdir(parents=True, exist_ok=True)
    figure.savefig(output / "trajectories.png", dpi=120)
    samples = found["Samples, noise 1e-3, cutoff 2 Hz"]
    assert isinstance(samples, fj.trajectory.Samples)
    print(f"fit error of the samples: {samples.rms_error[0]:.2e} rms, {samples.max_error[0]:.2e} at most")
    print(f"Saved {output / 'trajectories.png'}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results (default: out)")
    main(parser.parse_args().output)
