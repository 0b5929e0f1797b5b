"""Make logs of an elastic joint as its instruments give them: a bench whose data sheet is wrong.

Writes bench.toml, what is known of the bench, log.csv, other.csv, and identification_log.png with what the first log
tells.  The same by a command:

    flexjoint identify bench.toml log.csv --validate other.csv -o bench.drives.toml --plot fit.png
"""

import argparse
from pathlib import Path

import numpy as np

import flexjoint as fj

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--output", type=Path, default=Path("."), help="folder for the files")
folder = parser.parse_args().output


def bench(stiffness, inertia, friction, damping=0.0):
    """An arm behind a series elastic actuator, with a horizontal axis."""
    drive = fj.ElasticDrive(stiffness, fj.Motor(inertia, friction=friction), damping=damping)
    joint = fj.Joint("hinge", rotation=[[1, 0, 0], [0, 0, -1], [0, 1, 0]], drive=drive)
    return fj.Robot("bench", (fj.Link("arm", joint, mass=2.0, com=(0.25, 0.02, 0.0), inertia=0.02 * np.eye(3)),))


stribeck = fj.drives.Friction(viscous=0.8, coulomb=1.2, velocity=0.05, static=1.7, stribeck_velocity=0.25)
real = bench(300.0, 0.12, stribeck, damping=0.5)
fj.write_robot(bench(400.0, 0.2, fj.drives.Friction(viscous=0.5)), folder / "bench.toml")

step = 2 * np.pi / 2**19  # encoders of 19 bits; the controller sees them one sample late
sensors = fj.simulation.Sensors(link_resolution=step, motor_resolution=step, velocities="differenced", delay=1)
law = fj.control.MotorPD(real.without_friction().without_spring_damping(), [570.0, 14.0])
for name, seed, duration in (("log.csv", 0, 20.0), ("other.csv", 1, 10.0)):
    rng = np.random.default_rng(seed)
    f = 0.1 * np.arange(1, 31)[:, None]
    motion = fj.trajectory.Sinusoid(0.15 / (0.5 + f), f, rng.uniform(0, 2 * np.pi, f.shape), duration=duration)
    run = fj.simulate(real, law, motion, substeps=4, sensors=sensors, check=False)
    q, theta = (step * np.round(x / step + 0.3 * rng.normal(size=x.shape)) for x in (run.q, run.theta))
    tau = run.tau + 0.05 * rng.normal(size=run.tau.shape)  # measured by the current
    table = np.column_stack([run.t, q, theta, tau])
    np.savetxt(folder / name, table, "%.12g", ",", header="t,q.hinge,theta.hinge,tau.hinge", comments="")
    print(f"wrote {name}: {len(table)} samples")

known = fj.load(folder / "bench.toml")
found = fj.identification.identify(known, fj.logs.read_log(folder / "log.csv", known))
print(found["hinge.drive.stiffness"])
fj.plots.plot_identification(found, folder / "identification_log.png")
