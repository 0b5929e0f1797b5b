"""`fit_duration` against dense scans of closed forms, on random motions of pendula."""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import flexjoint as fj
from support.limited_pendulum import pendulum, random_case, scanned, worst


def main(count, seed=0):
    """Print how many motions there were, and the worst excess and loss, every 100; exit 1 if one is too large."""
    rng = np.random.default_rng(seed)
    excess, loss, refused, split = 0.0, 0.0, 0, 0
    for k in range(count):
        motion, drive, limits = random_case(rng)
        best = scanned(motion, limits, count=2000, **drive)
        try:
            s = 1 / fj.trajectory.fit_duration(pendulum(limits, **drive), motion).factor
        except fj.InputError as error:
            refused += 1
            if best is not None or "no duration is feasible" not in str(error):
                print(f"case {k}: refused, and a scan finds {best}: {limits} {drive}: {error}")
                loss = np.inf
        else:
            more = worst(motion, limits, [s], 40001, **drive)[0] - 1
            lost = 0.0 if best is None else best / s - 1
            split += bool(np.any(worst(motion, limits, s * np.geomspace(1e-3, 1, 200), 401, **drive) > 1 + 1e-6))
            if lost > 1e-6 or more > 1e-9:
                print(f"case {k}: s = {s:.9g}, scan {best}, excess {more:.2g}: {motion} {limits} {drive}")
            excess, loss = max(excess, more), max(loss, lost)
        if not (k + 1) % 100 or k + 1 == count:
            print(
                f"{k + 1} motions: {refused} infeasible at any speed, {split} infeasible at some slower speed; largest "
                f"excess {excess:.2g}, duration beyond that of the scan {loss:.2g}",
                flush=True,
            )
    return int(excess > 1e-9 or loss > 1e-6)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    sys.exit(main(parser.parse_args().count))
