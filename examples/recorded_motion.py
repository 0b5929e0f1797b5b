"""A recorded motion with encoder noise: its noise level, the cutoff with the smallest torque error, and that error.

The record is made of a known motion, so the true error is known too.  Saves recorded_motion.png.
"""

import argparse
from pathlib import Path

import numpy as np

import flexjoint as fj


def main(output: Path) -> None:
    robot = fj.load("kuka_lwr")
    random = np.random.default_rng(2)
    motion = fj.trajectory.Spline(random.uniform(-0.8, 0.8, (6, 7)), times=np.linspace(0.0, 4.0, 6))
    t = np.arange(0.0, 4.0, 1e-3)
    noisy = motion(t, order=0)[0] + 1e-4 * random.normal(size=(t.size, 7))  # rad
    noisy[:, 6] = np.round(motion(t, order=0)[0, :, 6] / 2e-4) * 2e-4  # a coarse encoder at the last joint
    record = fj.trajectory.Samples(t, noisy)
    try:
        fj.analysis.motor_table(robot, record)
    except fj.InputError as error:
        print(f"refused: {error}")

    found = fj.trajectory.assess_record(robot, record)
    inner = t[(t > found.edge) & (t < t[-1] - found.edge)]
    error = fj.inverse_dynamics(robot, *found.filtered(inner)) - fj.inverse_dynamics(robot, *motion(inner))
    true = np.sqrt(np.mean(error**2, axis=0))
    print(f"cutoff {found.cutoff:g} Hz")
    print("joint    noise, rad   step, rad   unfiltered, Nm   torque, Nm   stated error, Nm   true error, Nm")
    for i, joint in enumerate(robot.joints):
        print(
            f"{joint.name:8} {found.level.sigma[i]:10.2e} {found.level.step[i]:11.2e} {found.unfiltered[i]:16.3g} "
            f"{found.best.torque[i]:12.3g} {found.best.total[i]:18.3g} {true[i]:16.3g}"
        )
    output.mkdir(parents=True, exist_ok=True)
    fj.plots.plot_record(found, output / "recorded_motion.png")
    print(f"Saved {output / 'recorded_motion.png'}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the figure (default: out)")
    main(parser.parse_args().output)
