"""The Franka Panda picks up a part and places it: torques with elastic joints, and a collision that is detected.

Writes pick_and_place.html, one page with figures and numbers; `make demo` runs this.
"""

import argparse
from pathlib import Path

import casadi as ca
import numpy as np
from matplotlib.figure import Figure

import flexjoint as fj

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--output", type=Path, default=Path("."), help="folder for the page and the figures")
folder = parser.parse_args().output
folder.mkdir(parents=True, exist_ok=True)

STRUCK, LASTS, FORCE = 0.9, 0.1, 25.0  # s after the start of the transfer, s, N
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"

arm = fj.load("panda")
hand = arm.with_payload(0.73, com=[0.0, 0.0, 0.03], inertia=np.diag([0.001, 0.0025, 0.0017]))
loaded = hand.with_payload(1.0, com=[0.0, 0.0, 0.13])  # a part of 1 kg between the fingers


# Joint waypoints; the flange points downwards in all of them ---------------------------------------------------------


def pose(turn, shoulder, elbow):
    return np.radians([turn, shoulder, 0, elbow, 0, shoulder - elbow, 45 + turn])


ready, above_a, at_a = pose(0, -45, -135), pose(40, 3, -116), pose(40, 19, -116)
high, above_b, at_b = pose(0, -12, -125), pose(-40, 3, -116), pose(-40, 19, -116)
reach = fj.trajectory.Spline([ready, above_a, at_a], times=[0.0, 0.9, 1.5])
transfer = fj.trajectory.Spline([at_a, high, at_b], times=[0.0, 1.0, 2.0])
back = fj.trajectory.Spline([at_b, above_b, ready], times=[0.0, 0.6, 1.5])


# Motor torques with and without elastic joints -----------------------------------------------------------------------

rows, begin = [], 0.0
for robot, motion in ((hand, reach), (loaded, transfer), (hand, back)):
    t = np.arange(0.0, motion.duration, 2e-3)
    motors = fj.motor_motion(robot, *motion(t))
    tip, expected = (fj.forward_kinematics(robot, x)[1] for x in (motors.theta, motion(t)[0]))
    rigid = fj.inverse_dynamics(robot.rigid(), *motion(t, 2))
    rows.append((begin + t, motors.tau, rigid, motors.deflection, np.linalg.norm(tip - expected, axis=1)))
    begin += motion.duration
t, tau, rigid, deflection, offset = (np.concatenate(x) for x in zip(*rows))

figure = Figure(figsize=(11, 9), layout="constrained")
axes = figure.subplots(7, 3, sharex=True)
panels = {
    "motor torque, Nm": (tau, BLUE),
    "with springs − rigid, mNm": (1e3 * (tau - rigid), ORANGE),
    "deflection of the springs, mrad": (1e3 * deflection, BLUE),
}
for column, (title, (values, colour)) in zip(axes.T, panels.items()):
    column[0].set_title(title, fontsize=10)
    column[-1].set_xlabel("time, s")
    for i, axis in enumerate(column):
        axis.plot(t, values[:, i], color=colour, linewidth=1.2)
        axis.axvspan(reach.duration, reach.duration + transfer.duration, color=GREY, alpha=0.15, linewidth=0)
        axis.grid(alpha=0.3)
        axis.margins(x=0)
for i, axis in enumerate(axes[:, 0]):
    axis.set_ylabel(f"joint {i + 1}", fontsize=9)
figure.align_ylabels()
figure.savefig(folder / "torques.png", dpi=110)


# The transfer under control, free and struck, with noisy sensors -----------------------------------------------------


def strike(t, state):
    """A push on link 6, along y of its frame."""
    on = ca.logic_and(t > STRUCK, t < STRUCK + LASTS)
    return {"panda_link6": on * ca.sin(np.pi * (t - STRUCK) / LASTS) ** 2 * ca.SX([0.0, FORCE, 0.0, 0.0, 0.0, 0.0])}


def measured(run, seed):
    """The log of a run: encoders of 20 bits, velocities ± 1 mrad/s."""
    step, rng = 2 * np.pi / 2**20, np.random.default_rng(seed)
    q, theta = (step * np.round(x / step) for x in (run.q, run.theta))
    v, theta_v = (x + 1e-3 * rng.normal(size=x.shape) for x in (run.v, run.theta_v))
    return fj.detection.Log(loaded, run.t, q, v, theta, theta_v, tau=run.tau)


law = fj.control.FeedforwardPD(loaded, [3000.0, 120.0])
free = fj.simulate(loaded, law, transfer, transfer.duration + 0.3)
hit = fj.simulate(loaded, law, transfer, transfer.duration + 0.3, contact=strike)
found = fj.detection.detect(measured(hit, seed=1), calibration=measured(free, seed=0))
first = found.detections[0]
delay = 1e3 * (first.begin - STRUCK)  # ms
errors = {"free": (free, BLUE), "struck": (hit, ORANGE)}
errors = {name: (1e3 * np.abs(run.error).max(axis=1), colour) for name, (run, colour) in errors.items()}
residual = found.outputs["link"]
worst = int(np.abs(residual).max(axis=0).argmax())
threshold = found.thresholds["link"][worst]

figure = Figure(figsize=(9, 5.5), layout="constrained")
above, below = figure.subplots(2, 1, sharex=True)
for name, (error, colour) in errors.items():
    above.plot(hit.t, error, color=colour, label=name, linewidth=1.2)
above.set_ylabel("largest tracking error, mrad")
below.plot(found.t, residual[:, worst], color=ORANGE, linewidth=1.2, label=f"residual of joint {worst + 1}")
below.plot(found.t[[0, -1, -1, 0]], threshold * np.array([1, 1, -1, -1]), "--", color=GREY, label="threshold")
below.axvspan(STRUCK, STRUCK + LASTS, color=ORANGE, alpha=0.15, linewidth=0, label="push on link 6")
below.axvline(first.begin, color="black", linewidth=1, label=f"detected after {delay:.0f} ms")
below.set(ylabel="residual, Nm", xlabel="time from the start of the transfer, s")
for axis in (above, below):
    axis.grid(alpha=0.3)
    axis.margins(x=0)
    axis.legend(frameon=False, fontsize=9)
figure.savefig(folder / "collision.png", dpi=110)


# The page ------------------------------------------------------------------------------------------------------------

torques = [
    (joint.name, f"{a:.1f}", f"{100 * a / joint.limits.effort:.0f} %", f"{1e3 * b:.0f}", f"{1e3 * c:.2f}")
    for joint, a, b, c in zip(arm.joints, *(np.abs(x).max(axis=0) for x in (tau, tau - rigid, deflection)))
]
events = [
    ("push on link 6", f"{FORCE:g} N for {1e3 * LASTS:g} ms, {STRUCK:g} s after the start of the transfer"),
    ("detected", f"after {delay:.0f} ms; {len(found.detections)} detection(s) in all"),
    ("struck link, by the joints that feel it", f"{', '.join(found.struck(first))} or beyond"),
    ("largest tracking error", f"{errors['free'][0].max():.2f} mrad free, {errors['struck'][0].max():.1f} mrad struck"),
]
notes = (
    f"Reach {reach.duration:g} s, transfer with a part of 1 kg {transfer.duration:g} s (shaded), back "
    f"{back.duration:g} s; torques are after the reduction. "
    f"Motor positions taken for link positions misplace the tool by up to {1e3 * offset.max():.1f} mm."
)
headings = ("joint", "torque, Nm", "of the limit", "springs − rigid, mNm", "deflection, mrad")
page = folder / "pick_and_place.html"
fj.reports.write_report(
    found,
    page,
    title="Franka Panda: pick and place with elastic joints",
    tables=[
        fj.reports.Table(headings, torques, "motor torques: largest values", notes, numbers=headings[1:]),
        fj.reports.Table(("what", ""), events, "a collision on the way"),
    ],
    figures={
        "Motor torques, what the springs add, and how they deflect.": (folder / "torques.png").read_bytes(),
        "Feedforward and PD at 1 kHz, simulated; noisy sensors.": (folder / "collision.png").read_bytes(),
    },
    python=Path(__file__).read_text(encoding="utf-8"),
)
print(f"largest motor torque: {np.abs(tau).max():.1f} Nm; push detected after {delay:.0f} ms")
print(f"wrote {page}")
