"""The LWR stops under motor PD: its residual vibration as it is, and with input shapers at the modes of the loop.

Saves input_shaping.png.
"""

import argparse
from pathlib import Path

import numpy as np

import flexjoint as fj


def main(output: Path) -> None:
    robot = fj.load("kuka_lwr")
    law = fj.control.MotorPD(robot, [4000.0, 300.0])
    goal = np.array([0.3, 0.8, -0.2, -1.0, 0.3, 0.5, 0.2])
    motion = fj.trajectory.RestToRest([0.0] * 7, goal, duration=0.6)
    start = fj.simulation.at_rest(robot, [0.0] * 7)

    modes = fj.analysis.vibration_modes(robot, goal, law, period=1e-3)
    held = fj.dynamics.held_modes(robot, goal)
    for k in range(3):
        slow = held[k].frequency
        print(f"mode {k + 1}: {modes[k].frequency:.3f} Hz, damping {modes[k].damping:.3f}; motors held {slow:.3f} Hz")
    references = {"as it is": motion}
    for kind in ("zv", "zvd", "ei"):
        references[f"{kind.upper()}, two modes"] = fj.trajectory.shape_motion(motion, robot, kind, modes[:2])
        low, high = references[f"{kind.upper()}, two modes"].shaper.insensitivity(modes[0])
        print(f"{kind}: at most 5 % of the first mode from {low:.2f} to {high:.2f} Hz")
    references["slower, as long as ZVD"] = motion.lasting(references["ZVD, two modes"].duration)

    runs = {}
    for name, reference in references.items():
        run = fj.simulate(robot, law, reference, reference.duration + 2.0, period=1e-3, start=start, check=False)
        found = fj.analysis.residual_vibration(run)
        first = found.modes[0]
        print(
            f"{name:24} {reference.duration:.3f} s, tool {1e3 * found.tool:7.2f} mm, settled after "
            f"{found.settling:.3f} s; largest mode {first.frequency:.3f} Hz, damping {first.damping:.3f}"
        )
        runs[name] = run
    output.mkdir(parents=True, exist_ok=True)
    fj.plots.plot_vibration(runs, output / "input_shaping.png")
    print(f"Saved {output / 'input_shaping.png'}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the figure (default: out)")
    main(parser.parse_args().output)
