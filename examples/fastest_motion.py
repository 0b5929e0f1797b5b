"""The fastest motion of an elastic arm through three waypoints, beside the same motion scaled uniformly.

Both keep all limits; a simulation of the elastic arm follows the fastest one by feedforward alone.  Saves
fastest_motion.png and fastest_motion.toml.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import flexjoint as fj

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--output", type=Path, default=Path("."), help="folder for the files")
folder = parser.parse_args().output
folder.mkdir(parents=True, exist_ok=True)


# The robot: two rods in a vertical plane, with springs between motors and links ---------------------------------------


def rod(name, position, mass, effort, parent=fj.robot.BASE):
    limits = fj.Limits(velocity=3.5, effort=effort)
    springs = fj.drives.SpringLimits(torque=0.9 * effort)
    drive = fj.ElasticDrive(400.0, fj.Motor(0.05), spring_limits=springs)
    joint = fj.Joint(f"{name}_joint", position=position, drive=drive, limits=limits)
    about_com = np.diag([1e-4 * mass, mass * 0.4**2 / 12, mass * 0.4**2 / 12])
    return fj.Link(name, joint, parent=parent, mass=mass, com=[0.2, 0.0, 0.0], inertia=about_com)


upper = rod("upper", [0.0, 0.0, 0.0], 2.0, 30.0)
fore = rod("fore", [0.4, 0.0, 0.0], 1.5, 10.0, parent="upper")
robot = fj.Robot("arm", (upper, fore), gravity=[0.0, -9.81, 0.0])


# Both motions ---------------------------------------------------------------------------------------------------------

path = fj.trajectory.Spline([[-1.5, 0.3], [-0.4, 1.2], [0.6, 0.4]], 1.0)
uniform = fj.trajectory.fit_duration(robot, path)
fastest = fj.trajectory.time_optimal(robot, path, intervals=30)
fastest.save(folder / "fastest_motion.toml")
print(f"scaled uniformly: {uniform.duration:.4f} s; fastest: {fastest.duration:.4f} s")
print(fastest.certificate)
for phase in fastest.certificate.active:
    print(" ", phase)


# The elastic arm under feedforward alone, in continuous time ----------------------------------------------------------

law = fj.control.FeedforwardPD(robot, np.zeros((2, robot.n)))
run = fj.simulate(robot, law, fastest.trajectory, fastest.duration, period=fastest.duration / 8000, hold=False)
error = np.abs(run.q - fastest.trajectory(run.t, order=0)[0]).max()
print(f"simulated: error at most {error:.1e} rad, motor torque at most {np.max(np.abs(run.tau), axis=0)} Nm")


# The figure: shares of the limits -------------------------------------------------------------------------------------

COLORS = {"velocity": "#009E73", "spring torque": "#0072B2", "motor torque": "#D55E00"}
figure = Figure(figsize=(9, 5.5), layout="constrained")
axes = figure.subplots(2, 2, sharex=True, sharey=True)
for column, (title, motion) in zip(
    axes.T, {"scaled uniformly": uniform.trajectory, "fastest": fastest.trajectory}.items()
):
    t = np.linspace(0.0, motion.duration, 1001)
    motor = fj.motor_motion(robot, *motion(t))
    values = {"velocity": motion(t)[1], "spring torque": motor.spring_torque, "motor torque": motor.tau}
    for i, ax in enumerate(column):
        limits = {
            "velocity": 3.5,
            "spring torque": 0.9 * robot.motor_efforts[i],
            "motor torque": robot.motor_efforts[i],
        }
        for name, x in values.items():
            ax.plot(t, x[:, i] / limits[name], color=COLORS[name], label=name)
        for bound in (-1.0, 1.0):
            ax.axhline(bound, color="#777777", linestyle=":", linewidth=1)
        ax.grid(alpha=0.3)
    column[0].set_title(f"{title}, {motion.duration:.3f} s")
    column[1].set_xlabel("t, s")
for i, ax in enumerate(axes[:, 0]):
    ax.set_ylabel(f"{robot.joints[i].name}: share of limit")
axes[0, 0].legend(loc="lower right", fontsize="small")
figure.savefig(folder / "fastest_motion.png", dpi=120)
print(f"wrote {folder / 'fastest_motion.png'} and {folder / 'fastest_motion.toml'}")
