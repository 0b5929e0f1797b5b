"""Swings up an elastic arm with the least effort: IPOPT finds the torques, a simulation checks them.

The motors are too weak to lift the arm: they swing it.  Direct collocation with Gauss points, the torque constant in
every interval.  Writes minimum_effort_swing.png.
"""

import argparse
from pathlib import Path

import casadi as ca
import numpy as np
from matplotlib.figure import Figure

import flexjoint as fj

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--output", type=Path, default=Path("."), help="folder for the figure")
folder = parser.parse_args().output
folder.mkdir(parents=True, exist_ok=True)

DURATION, INTERVALS, DEGREE = 2.4, 120, 4  # s, intervals of constant torque, collocation points in each
TORQUE = np.array([4.0, 1.5])  # Nm, largest of each motor; holding the arm horizontal takes 8.8 and 2.0
DEFLECTION = np.array([0.04, 0.04])  # rad, largest of each spring
ELBOW, FASTEST = 2.4, 12.0  # rad, rad/s
MARGIN = 0.998  # share of the limits that the plan uses: between the points it may exceed that a little


# The robot: two rods of 0.4 m in a vertical plane, hanging at q = 0 ---------------------------------------------------


def rod(name, position, mass, stiffness, inertia, parent=fj.robot.BASE):
    drive = fj.ElasticDrive(stiffness, fj.Motor(inertia))
    joint = fj.Joint(f"{name}_joint", position=position, drive=drive, viscous_friction=0.02)
    about_com = np.diag([mass * 0.4**2 / 12, 1e-4 * mass, mass * 0.4**2 / 12])
    return fj.Link(name, joint, parent=parent, mass=mass, com=[0.0, -0.2, 0.0], inertia=about_com)


upper = rod("upper", [0.0, 0.0, 0.0], 1.5, 200.0, 0.10)
fore = rod("fore", [0.0, -0.4, 0.0], 1.0, 100.0, 0.04, parent="upper")
robot = fj.Robot("swing", (upper, fore), gravity=[0.0, -9.81, 0.0])
n = robot.n


# dx/dt = f(x, u), x = (q, v, θ, θ') -----------------------------------------------------------------------------------

forward = fj.algorithm.casadi_function(fj.forward_dynamics, robot)
x, u = ca.SX.sym("x", 4 * n), ca.SX.sym("u", n)
q, v, theta, theta_v = ca.vertsplit(x, n)
a, theta_a = forward(q, v, theta, theta_v, u)
dynamics = ca.Function("dynamics", [x, u], [ca.vertcat(v, a, theta_v, theta_a)])


# The optimization problem ---------------------------------------------------------------------------------------------

h = DURATION / INTERVALS
C, D, _ = ca.collocation_coeff(ca.collocation_points(DEGREE, "legendre"))  # slopes at the points, value at the end

problem = ca.Opti()
X = problem.variable(4 * n, INTERVALS + 1)  # at the ends of intervals
U = problem.variable(n, INTERVALS)
Z = [problem.variable(4 * n, INTERVALS) for _ in range(DEGREE)]  # at the collocation points
f = dynamics.map(INTERVALS)
for j in range(DEGREE):
    slope = sum((C[k + 1, j] * Z[k] for k in range(DEGREE)), C[0, j] * X[:, :-1])
    problem.subject_to(slope == h * f(Z[j], U))
problem.subject_to(X[:, 1:] == sum((D[k + 1] * Z[k] for k in range(DEGREE)), D[0] * X[:, :-1]))

hanging, upright = np.zeros(4 * n), np.array([np.pi, 0.0, 0.0, 0.0] * 2)
problem.subject_to(X[:, 0] == hanging)
problem.subject_to(X[:, -1] == upright)
for k in range(n):
    problem.subject_to(problem.bounded(-TORQUE[k], U[k, :], TORQUE[k]))
for x in (X, *Z):
    problem.subject_to(problem.bounded(-MARGIN * ELBOW, x[1, :], MARGIN * ELBOW))
    for k in range(n):
        problem.subject_to(problem.bounded(-MARGIN * FASTEST, x[n + k, :], MARGIN * FASTEST))
        problem.subject_to(problem.bounded(-MARGIN * DEFLECTION[k], x[2 * n + k, :] - x[k, :], MARGIN * DEFLECTION[k]))
problem.minimize(h * ca.sumsqr(U))

guess = np.linspace(0.0, 1.0, INTERVALS + 1)  # the start: straight from hanging to upright, without torque
problem.set_initial(X, np.outer(upright, guess))
for z in Z:
    problem.set_initial(z, np.outer(upright, guess[:-1]))
problem.solver("ipopt", {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.max_iter": 500})
solution = problem.solve()
states, torques = solution.value(X).T, solution.value(U).T
effort = h * np.sum(torques**2)
print(f"IPOPT: {solution.stats()['iter_count']} iterations, effort {effort:.2f} N²m²s")


# The same torques on the simulated robot, without feedback ------------------------------------------------------------

PARTS = 10  # samples of the simulation per interval: they also see what happens between the grid points


def feedforward(t, state, reference, measurement):
    return state, torques[min(int(t / h + 0.5 / PARTS), INTERVALS - 1)]


run = fj.simulate(robot, feedforward, hanging[:n], DURATION, period=h / PARTS, substeps=4)
simulated = np.hstack([run.q, run.v, run.theta, run.theta_v])
error = np.abs(simulated[::PARTS] - states).reshape(-1, 4, n).max(axis=(0, 2))
end = np.abs(simulated[-1] - upright).reshape(4, n).max(axis=1)
deflection = run.theta - run.q
used = {
    "motor torque": np.max(np.abs(run.tau) / TORQUE),
    "deflection": np.max(np.abs(deflection) / DEFLECTION),
    "elbow": np.max(np.abs(run.q[:, 1])) / ELBOW,
    "velocity": np.max(np.abs(run.v)) / FASTEST,
}
print("largest difference from the simulation:", ", ".join(f"{x:.0e}" for x in error), "rad, rad/s, rad, rad/s")
print("at the end:", ", ".join(f"{x:.0e}" for x in end))
print("largest share of each limit:", ", ".join(f"{name} {100 * x:.2f} %" for name, x in used.items()))
assert np.all(error < [1e-4, 1e-3, 1e-4, 1e-3]), "the simulation leaves the planned motion"
assert max(used.values()) < 1 + 1e-6, "the simulated motion breaks a limit"


# The figure -----------------------------------------------------------------------------------------------------------

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
figure = Figure(figsize=(11, 6), layout="constrained")
picture, angles, effort_axes, bend = figure.subplot_mosaic("AB;AC;AD", width_ratios=[1, 1.3]).values()

shoulder = run.q[:, 0]
elbow = 0.4 * np.column_stack([np.sin(shoulder), -np.cos(shoulder)])
both = shoulder + run.q[:, 1]
tip = elbow + 0.4 * np.column_stack([np.sin(both), -np.cos(both)])
for k in range(0, len(run.t), 4 * PARTS):
    way = k / (len(run.t) - 1)
    joints = np.vstack([[0.0, 0.0], elbow[k], tip[k]])
    picture.plot(*joints.T, "o-", color=BLUE, alpha=0.15 + 0.85 * way**2, markersize=3)
picture.plot(*tip.T, color=ORANGE, linewidth=1)
picture.set(aspect="equal", xlabel="x, m", ylabel="y, m", title="simulated motion, darker with time")

grid = h * np.arange(INTERVALS + 1)
for k, (name, color) in enumerate((("shoulder", BLUE), ("elbow", ORANGE))):
    angles.plot(run.t, run.q[:, k], color=color, label=name)
    angles.plot(grid[::4], states[::4, k], ".", color=color)
    effort_axes.stairs(torques[:, k], grid, color=color, baseline=None)
    bend.plot(run.t, 1e3 * deflection[:, k], color=color)
    for limit in (-TORQUE[k], TORQUE[k]):
        effort_axes.axhline(limit, color=color, linestyle=":", linewidth=1)
angles.set(ylabel="q, rad", title="line: simulated, dots: planned")
angles.axhline(-ELBOW, color=ORANGE, linestyle=":", linewidth=1)
angles.axhline(ELBOW, color=ORANGE, linestyle=":", linewidth=1)
angles.legend(loc="lower left")
effort_axes.set(ylabel="motor torque, Nm", title="dotted: limits")
bend.set(ylabel="θ − q, mrad", xlabel="t, s")
for axes in (angles, effort_axes, bend):
    axes.grid(color=GREY, alpha=0.3)
figure.savefig(folder / "minimum_effort_swing.png", dpi=120)
print(f"wrote {folder / 'minimum_effort_swing.png'}")
