"""Make a log in which something happens: an arm with elastic joints is struck, later a motor gives too little torque.

Writes calibration.csv, in which nothing happens, log.csv, and collision_log.png with what is detected.  The same by a
command:

    flexjoint detect kuka_lwr log.csv --calibration calibration.csv --plot detections.png
"""

import argparse
from pathlib import Path

import casadi as ca
import numpy as np

import flexjoint as fj

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--output", type=Path, default=Path("."), help="folder for the files")
folder = parser.parse_args().output

robot = fj.load("kuka_lwr")
motion = fj.trajectory.Sinusoid([0.5, 0.4, 0.3, 0.5, 0.3, 0.4, 0.3], [0.2, 0.4, 0.2, 0.4, 0.2, 0.4, 0.2], duration=10.0)
START, STRUCK, WEAK = 5.0, 7.0, 8.0  # s: of the second log, and of what happens in it


def strike(t, state):
    """60 N on link 5, for a tenth of a second."""
    on = ca.logic_and(t > STRUCK, t < STRUCK + 0.1)
    return {"link5": on * ca.sin(np.pi * (t - STRUCK) / 0.1) ** 2 * ca.SX([0.0, 60.0, 0.0, 0.0, 0.0, 0.0])}


law = fj.control.FeedforwardPD(robot, [2000.0, 150.0])
efficiency = np.where(np.arange(7) == 1, 0.8, 1.0)  # motor 2 gives 80 % of its torque
faulty = fj.simulation.FaultyActuators(law, efficiency, begin=WEAK, end=WEAK + 0.5)
run = fj.simulate(robot, faulty, motion, substeps=2, contact=strike)
tau = faulty.commanded(motion(run.t, law.order), run.states)

rng = np.random.default_rng(0)
step = 2 * np.pi / 2**20  # encoders of 20 bits; noisy velocities
q, theta = (step * np.round(x / step) for x in (run.q, run.theta))
v, theta_v = (x + 1e-3 * rng.normal(size=x.shape) for x in (run.v, run.theta_v))
v[9000:9100] = np.nan  # lost

table = np.column_stack([run.t, q, v, theta, theta_v, tau])
labels = [f"{what}.{joint.name}" for what in ("q", "v", "theta", "theta_v", "tau") for joint in robot.joints]
for name, rows in (("calibration.csv", run.t < START), ("log.csv", run.t >= START)):
    np.savetxt(folder / name, table[rows], "%.9g", ",", header=",".join(["t", *labels]), comments="")
    print(f"wrote {name}: {np.count_nonzero(rows)} samples")

calibration, log = (fj.logs.read_log(folder / name, robot) for name in ("calibration.csv", "log.csv"))
found = fj.detection.detect(log, calibration=calibration)
fj.plots.plot_detections(found, folder / "collision_log.png")
for x in found.detections:
    print(f"{x.begin:.3f} s: {', '.join(sorted({event.channel for event in x.events}))} residual")
