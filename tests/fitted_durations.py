"""`fit_duration` against dense scans of closed forms, on random motions of pendula."""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import flexjoint as fj
from support.limited_pendulum import pendulum, random_case, scanned, worst


def main(count, seed=0):
    """Print how many motions there were, and the worst excess and loss; exit 1 if one is too large."""
    rng = np.random.default_rng(seed)
    excess, loss, refused, split = 0.0, 0.0, 0, 0
    for k in range(count):
        motion, drive, limits = random_case(rng)
        best = scanned(motion, limits, **drive)
        try:
            fitted = fj.trajectory.fit_duration(pendulum(limits, **drive), motion)
        except fj.InputError as error:
            refused += 1
            if best is not None or "no duration is feasible" not in str(error):
                print(f"case {k}: refused, and a scan finds {best}: {limits} {drive}: {error}")
                loss = np.inf
            continue
        s = 1 / fitted.factor
        excess = max(excess, worst(motion, limits, [s], 40001, **drive)[0] - 1)
        split += bool(np.any(worst(motion, limits, s * np.geomspace(1e-3, 1, 200), 401, **drive) > 1 + 1e-6))
        if best is not None:
            lost = best / s - 1
            if lost > 1e-6 or excess > 1e-9:
                print(f"case {k}: s = {s:.9g}, scan {best:.9g}, excess {excess:.2g}: {motion} {limits} {drive}")
            loss = max(loss, lost)
    print(
        f"{count} motions: {refused} infeasible at any speed, {split} feasible only above some lower speed; largest "
        f"excess {excess:.2g}, longest duration relative to the scan {loss:.2g}"
    )
    return int(excess > 1e-9 or loss > 1e-6)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    sys.exit(main(parser.parse_args().count))
