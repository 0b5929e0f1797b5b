"""Couplings of motors and links in `MixedInverseDynamics`: `python -m benchmarks.mixed_couplings [joints]`.

Largest error in the last 0.3 s of 3 s on a motion, from 0.05 rad beside it, in continuous time with steps of 1 ms: with
exact couplings, and with neglected ones.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import flexjoint as fj

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.rotors import crossed_motors

GAINS = ([40.0, 10.0, 80.0, 8.0], [100.0, 20.0, 200.0, 20.0], [200.0, 20.0, 50.0, 5.0])
DURATION, PERIOD = 3.0, 1e-3


def error(robot: fj.Robot, gains: list[float], couplings: str) -> str:
    """Of the links at the end, rad; or that the controller is refused."""
    controller = fj.control.MixedInverseDynamics(robot, gains, couplings=couplings)
    motion = fj.trajectory.Sinusoid([0.3] * robot.n, 1 / np.pi, phase=np.arange(robot.n), duration=DURATION)
    q, v, *_ = reference = motion(0.0, order=8)
    motors = fj.motor_motion(robot, *reference)
    start = fj.JointState(q + 0.05, v, motors.theta + 0.05, motors.theta_v)
    try:
        run = fj.simulate(robot, controller, motion, start=start, period=PERIOD, hold=False)
    except fj.InputError as refusal:
        return "refused" if "θ_d does not exist" in str(refusal) else str(refusal)
    return f"{np.abs(run.error[-300:]).max():.1e}"


def main() -> None:
    """Prints a row per arm, gear ratio and gains."""
    chosen = [int(x) for x in sys.argv[1:]] or [2, 3]
    arms = [(n, tilt) for n, tilt in ((2, 0.7), (2, 0.2), (3, 0.0), (3, 0.7)) if n in chosen]
    print("joints  tilt, rad  gear ratio  gains                      exact    neglected")
    for n, tilt in arms:
        for ratio in (10.0, 30.0, 100.0):
            robot = crossed_motors(n, ratio, tilt)
            for gains in GAINS:
                errors = [error(robot, gains, x) for x in ("exact", "neglected")]
                print(f"{n:<7} {tilt:<10} {ratio:<11g} {gains!s:<26} {errors[0]:8} {errors[1]}", flush=True)


if __name__ == "__main__":
    main()
