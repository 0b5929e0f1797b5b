"""Reproduction of [Hua sec. V]: figures 3 to 8, the errors of its simulation, contact, and all claims.

The paper prints masses, inertias, the stiffness, the motion and the start of the links.  It does not print geometry,
centres of mass, gear ratios and positions of the motors, the gains, the sample time and the start of the motors.  Here
geometry and motors are those of `catalog/hua_3r.toml` with the gear ratio 1, torques are held for 0.5 ms, the robot
starts at rest with the spring of joint 3 in equilibrium, and a search chose four gains, the same for all joints, that
bring the six errors close to the published ones.  So the errors are fitted, not predicted; a table shows those of other
choices, the ratio 10 of the catalogue among them.

The payload is a force at the tool, f_e = (0, 0, −3) N in base coordinates, which the controller does not know.  (20)
and (26) of the paper have it with the wrong sign; both signs are simulated, and the fit is to the printed one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexjoint import RigidDrive, Robot, compile, forward_dynamics, forward_kinematics, load
from flexjoint.control import JointState, MixedInverseDynamics
from flexjoint.control.laws import mixed_lyapunov, mixed_torque
from flexjoint.dynamics.drivetrain.rotors import generalized_forces
from flexjoint.formats import write_robot
from flexjoint.simulation import Simulation, at_rest, reference_solution, simulate
from flexjoint.simulation.result import FIELDS
from flexjoint.spatial import ca, sx
from flexjoint.trajectory import Sinusoid

from .crossed_motors import base_errors, crossed_additions, crossed_arm, crossed_courses, crossed_figures
from .report import BLACK, BLUE, GREEN, GREY, NOT_REPRODUCED, RED, Claim, Drawings, Grid, Report, listed, verdict

PAPER = "Hua, Poursina and Sanfilippo (2024)"
DURATION = 10.0  # s
START = np.array([0.0, 0.0, -0.4363])  # rad
FORCE = -3.0  # N, along z, published
LOWEST = 3.0  # s
ERRORS = np.array([[0.0026819, 0.003619, 0.052678], [0.0026903, 0.0061066, 0.052422]])  # rad; with a payload the second
COLOURS, DASHES = (BLUE, RED, GREEN), ("-", "--", "-.")  # of the joints
ELASTIC = 2  # joint 3
BEGINNING = 0.2  # s, shown enlarged
SIGNS = (("printed", "sign as printed: +3 N", "-"), ("physical", "pulling down: −3 N", "--"))  # of the payload
DEPTH, SURFACE = 0.1, 2000.0  # m of the path below the surface in the contact run; N/m, its stiffness


class Choice(NamedTuple):
    """What the paper does not say: gear ratio of all motors, K_P, K_D, motor K_P and motor K_D, and period in s."""

    gear_ratio: float
    gains: tuple[float, float, float, float]
    period: float


BEST = Choice(1.0, (373.33, 44.12, 4.33, 8.35), 5e-4)  # by search, see above
OTHER_GAINS = ((100.0, 20.0, 4.33, 8.35), (1000.0, 100.0, 4.33, 8.35), (373.33, 44.12, 40.0, 4.0))
GEARED = Choice(10.0, (390.0, 56.5, 1410.0, 57.5), 1e-3)  # the best gains for this ratio
CHOICES_TRIED = (BEST, *(BEST._replace(gains=gains) for gains in OTHER_GAINS), GEARED)

CHOICES = (
    "Geometry (an elbow arm, links of 0.3, 0.4 and 0.4 m), centres of mass half way along the links, places of the "
    "motors, and axes parallel to those of their joints: as in the built-in robot hua_3r.",
    "Gear ratio 1; with 10, as in the built-in robot, the six errors come within 6 % at best, and the motor of joint 3 "
    "needs 5926 Nm at the start.  The arm used here is in arm.toml.",
    "Gains, the same for all joints, found by a search for the six published errors: K_P = 373.33 Nm/rad, K_D = 44.12 "
    "Nm s/rad, of the motor behind the spring 4.33 and 8.35.",
    "Torques held for 0.5 ms; 1 ms is unstable with the gear ratio 1.",
    "The motors start at rest, the motor of joint 3 where its spring carries the link.",
    "Sign of the payload: the errors are fitted with the sign as printed, by which the force of −3 N pushes upwards.",
)
NOTES = (
    "The errors are a fit of free choices, not a test of the model: six values, and five chosen ones beside the "
    "geometry.",
    "(20) and (26) let an external force act with the opposite sign; a force that pulls down has the opposite effect "
    "on torques and on the error of joint 1.",
    "Table I: the inertias of links 2 and 3 belong to no rigid body (the triangle inequality fails by 0.27 and 0.37 "
    "kg m²); the stiffness is 100 Nm/rad, not N/m.",
    "With motor axes parallel to those of the joints the elastic row of S and the gyroscopic terms of this arm are "
    "zero: it shows the bookkeeping of rotors, not their coupling; the second reproduction shows that.",
    "The paper does not say how it gets the derivatives of θ_d in (45); here they are those along the closed loop, "
    "from q, q', θ and θ' alone (control/laws/mixed.py).",
)


def run(folder: Path, say: Callable[[str], Any]) -> Report:
    """Write the figures, and the robot as a file, to a folder; return the report."""
    robot, drawings = arm(BEST.gear_ratio), Drawings(folder, PAPER)
    write_robot(robot, folder / "arm.toml")
    motion = Sinusoid(np.full(robot.n, 0.5), 0.25, duration=DURATION)  # type: ignore[arg-type]
    say("simulations with and without payload")
    batches = simulated(motion, (BEST, *CHOICES_TRIED[1:-1])), simulated(motion, (GEARED,))
    rms = np.concatenate([errors(runs, motion) for runs in batches], axis=1)
    shown = Runs(*(first_run(x) for x in batches[0]))
    say("contact with a surface")
    touching = {name: contact_run(x, motion) for name, x in contact_arms().items()}
    say("crossed motor axes, and a moving base")
    courses, bases = crossed_courses(motion), base_errors(arm(GEARED.gear_ratio), motion, GEARED.gains, GEARED.period)
    say("the Lyapunov function")
    balance = lyapunov_balance(robot, motion)
    drawings.robot(robot, motion(1.0, 0)[0], "The arm of Table I; motors 2 and 3 are mounted on link 1.")
    figures_without_payload(drawings, robot, motion, shown.none)
    figures_with_payload(drawings, robot, motion, shown)
    contact_figure(drawings, touching)
    lyapunov_figure(drawings, balance)
    drawings.robot(crossed_arm(), motion(1.0, 0)[0], "The arm of the second reproduction: motor 3 on link 2, tilted.")
    crossed_figures(drawings, courses, bases, GEARED.period)
    claims = [*error_claims(rms[:, 0]), torque_claim(shown), peak_claim(shown), contact_claim(touching)]
    claims += [lyapunov_claim(balance), cost_claim(robot)]
    title = "Paper 003: 3R arm with joints rigid, rigid, elastic"
    additions = [*contact_additions(touching), *crossed_additions(courses, bases)]
    return Report(title, claims, additions, drawings.figures, (choices_grid(rms),), CHOICES, NOTES)


# Simulations ------------------------------------------------------------------------------------------------------


def arm(gear_ratio: float) -> Robot:
    """The built-in robot with another gear ratio of all motors, in the complete model of rotors."""
    robot, drives = load("hua_3r"), []
    for joint in robot.joints:
        drive: Any = joint.drive
        inertia = gear_ratio**2 * drive.motor.axial_inertia
        drives.append(replace(drive, motor=replace(drive.motor, inertia=inertia, gear_ratio=gear_ratio)))
    return robot.with_drives(drives).with_fidelity("complete")


class Runs(NamedTuple):
    """Without payload; with the force as it is printed, which pushes the robot upwards; with the force as it acts."""

    none: Simulation
    printed: Simulation
    physical: Simulation


def simulated(motion: Sinusoid, choices: Sequence[Choice]) -> Runs:
    """Batches of runs, one run per choice of gains; gear ratio and period are those of the first."""
    robot, period = arm(choices[0].gear_ratio), choices[0].period
    gains = np.array([x.gains for x in choices])[:, :, None] * np.ones(robot.n)
    controller = MixedInverseDynamics(robot, gains[0])
    options: dict[str, Any] = {"start": at_rest(robot, START), "period": period, "gains": gains}
    forces = (0.0, -FORCE, FORCE)
    return Runs(*(simulate(robot, controller, motion, contact=payload(robot, f), **options) for f in forces))


def first_run(batch: Simulation) -> Simulation:
    """The first run of a batch."""
    return replace(batch, **{name: getattr(batch, name)[0] for name in FIELDS})


def payload(robot: Robot, force: float) -> Callable[[Any, JointState], dict[str, Any]] | None:
    """Contact with a constant vertical force at the tool, N; None without one."""
    return (lambda t, state: {robot.tool: sx([0.0, 0.0, force, 0.0, 0.0, 0.0])}) if force else None


def errors(runs: Runs, motion: Sinusoid) -> np.ndarray:
    """Root-mean-square errors, (3, number of gains, n), rad."""
    desired = motion(runs.none.t, order=0)[0]
    return np.array([np.sqrt(np.mean((x.q - desired) ** 2, axis=-2)) for x in runs])


# Contact ----------------------------------------------------------------------------------------------------------


class Touch(NamedTuple):
    """A run in which the path of the tool leads below a surface, and the contact force over time, N."""

    run: Simulation
    force: np.ndarray


def contact_arms() -> dict[str, Robot]:
    """The arm of the catalogue's gear ratio, and the same with a rigid joint 3."""
    elastic = arm(GEARED.gear_ratio)
    drives: list[Any] = [joint.drive for joint in elastic.joints]
    return {"elastic": elastic, "rigid": elastic.with_drives([*drives[:2], RigidDrive(drives[2].motor)])}


def surface_height(robot: Robot, motion: Sinusoid) -> float:
    """Height of the surface, m: `DEPTH` above the lowest point of the desired path."""
    return float(min(forward_kinematics(robot, q).position[2] for q in motion(LOWEST, 0)[:1])) + DEPTH


def contact_run(robot: Robot, motion: Sinusoid, duration: float = DURATION) -> Touch:
    """The motion with a springy horizontal surface in its way, which the controller does not know."""
    height = surface_height(robot, motion)

    def contact(t: Any, state: JointState) -> dict[str, Any]:
        z = forward_kinematics(robot, state.q, link=robot.tool).position[2]
        return {robot.tool: ca.vertcat(0.0, 0.0, SURFACE * ca.fmax(0.0, height - z), 0.0, 0.0, 0.0)}

    controller = MixedInverseDynamics(robot, np.array(GEARED.gains))
    start = at_rest(robot, motion(0.0, 0)[0])
    run = simulate(robot, controller, motion, duration, start=start, period=GEARED.period, contact=contact)
    z = forward_kinematics(robot, run.q).position[:, 2]
    return Touch(run, SURFACE * np.maximum(0.0, height - z))


def contact_claim(touching: dict[str, Touch]) -> Claim:
    """Claim about interaction with surroundings."""
    elastic, rigid = (touching[name].force.max() for name in ("elastic", "rigid"))
    return Claim(
        "Elastic joints are advantageous in interaction with surroundings (sec. I)",
        "no number",
        f"The tool pushes on a surface in its way with {elastic:.0f} N at most, and {rigid:.0f} N if joint 3 is rigid",
        verdict(elastic < 0.8 * rigid),
    )


def contact_additions(touching: dict[str, Touch]) -> list[tuple[str, str]]:
    """Results of the contact runs."""
    rows = []
    for name, (run, force) in touching.items():
        free = run.t > run.t[force > 0].max() + 1.0
        end = np.rad2deg(np.abs(run.error[free]).max()) if free.any() else np.nan
        largest = ", ".join(f"{x:.1f}°" for x in np.rad2deg(np.abs(run.error[force > 0]).max(axis=0)))
        text = f"Errors of up to {largest} of the joints in contact; {end:.0e}° one second after it."
        rows.append((f"Surface of {SURFACE:g} N/m, {100 * DEPTH:g} cm in the way, joint 3 {name}", text))
    return rows


# The Lyapunov function --------------------------------------------------------------------------------------------


class Balance(NamedTuple):
    """Lyapunov function V₂ over time, J, in continuous time without payload, and its remaining loss by (52)."""

    t: np.ndarray
    V: np.ndarray
    loss: np.ndarray

    @property
    def gap(self) -> np.ndarray:
        """|V₂ − integral of (52)| relative to V₂(0), (m,)."""
        return np.abs(self.V - self.V[-1] - self.loss) / self.V[0]


def lyapunov_balance(robot: Robot, motion: Sinusoid, duration: float = 1.0) -> Balance:
    """V₂ and its loss by [Hua (51), (52)], with the controller in continuous time."""
    from scipy.integrate import cumulative_simpson

    controller = MixedInverseDynamics(robot, np.array(BEST.gains))
    options: dict[str, Any] = {"start": at_rest(robot, START), "period": BEST.period / 16, "tolerance": 1e-9}
    x = reference_solution(robot, controller, motion, duration, **options)
    tracking = {"reference": list(motion(x.t, order=4)), "gains": list(controller.gains)}
    V, rate = mixed_lyapunov(robot, *x.states, tracking=tracking)
    change = cumulative_simpson(rate, x=x.t, initial=0.0)
    return Balance(x.t, np.asarray(V), change - change[-1])


# Claims -----------------------------------------------------------------------------------------------------------


def error_claims(rms: np.ndarray) -> list[Claim]:
    """Claims about the errors."""
    claims = []
    for name, published, here in (
        ("without payload", ERRORS[0], rms[0]),
        ("with payload, sign as printed", ERRORS[1], rms[1]),
        ("with payload, pulling down", ERRORS[1], rms[2]),
    ):
        off = 100 * np.max(np.abs(here / published - 1))
        title = f"Root-mean-square errors of the joints {name}, rad"
        claims.append(Claim(title, listed(published, 5), listed(here, 5), f"within {off:.1f} %"))
    change, changes = 100 * (ERRORS[1] / ERRORS[0] - 1), 100 * (rms[1:] / rms[0] - 1)
    for i, published in enumerate(change):
        right = [sign for sign, x in zip(("printed", "physical"), changes[:, i]) if x * published > 0]
        claims.append(
            Claim(
                f"The payload changes the error of joint {i + 1} by",
                f"{published:+.1f} %",
                f"{changes[0, i]:+.1f} % with the sign as printed, {changes[1, i]:+.1f} % pulling down",
                {2: "sign reproduced", 1: f"sign: {' '.join(right)} only", 0: NOT_REPRODUCED}[len(right)],
            )
        )
    return claims


def torque_claim(runs: Runs) -> Claim:
    """Claim about the torques at the lowest position."""
    at = round(LOWEST / BEST.period)
    none, printed, physical = (x.tau[at] for x in runs)
    lower = [np.all(np.abs(x[1:]) < np.abs(none[1:])) for x in (printed, physical)]
    return Claim(
        "Motor torques at 3 s, the lowest position, are lower with a payload",
        "no number",
        f"Joints 2 and 3: {listed(none[1:])} Nm without, {listed(printed[1:])} Nm with the sign as printed, "
        f"{listed(physical[1:])} Nm pulling down",
        "with the printed sign only" if lower == [True, False] else verdict(all(lower)),
    )


def peak_claim(runs: Runs) -> Claim:
    """Claim about the torque at the start."""
    tau = np.abs(runs.none.tau[:, ELASTIC])
    first, later = tau.max(), tau[runs.none.t > 1.0].max()
    title, text = "Large oscillation of the motor torque of joint 3 at the beginning", f"{first:.0f} Nm at first, "
    return Claim(title, "no number", f"{text}{later:.1f} Nm after 1 s", verdict(first > 10 * later))


def lyapunov_claim(balance: Balance) -> Claim:
    """Claim about the Lyapunov function."""
    return Claim(
        "V₂' < 0 along the motion, as (52) says",
        "proof",
        f"V₂ falls at every step, from {balance.V[0]:.3g} to {balance.V[-1]:.2g} J in {balance.t[-1]:g} s, as the "
        f"integral of (52) to {balance.gap.max():.0e} of V₂(0)",
        verdict(np.all(np.diff(balance.V) < 0)),
    )


def cost_claim(robot: Robot) -> Claim:
    """Claim about Algorithm 2, which runs Algorithm 1 N + N_e + 1 times and inverts a matrix."""
    sweeps = robot.n + sum(robot.compliant) + 1
    one, ours = (compile(x, robot).operations for x in (generalized_forces, forward_dynamics))
    return Claim(
        "Forward dynamics by recursions and an inverse (Algorithm 2)",
        f"{sweeps} recursions",
        f"{ours} operations by one factorization; {sweeps} times Algorithm 1 are {sweeps * one}, without the inverse",
        "other method",
    )


def choices_grid(rms: np.ndarray) -> Grid:
    """Table of the errors for several choices of what the paper does not say."""
    headings = [
        "gear ratio",
        "K_P, K_D, motor K_P, motor K_D",
        "period",
        "errors without payload, rad",
        "sign as printed",
        "pulling down",
        "largest deviation of the first six",
    ]
    off = 100 * np.max(np.abs(rms[:2] / ERRORS[:, None] - 1), axis=(0, 2))
    rows = [
        [f"{x.gear_ratio:g}", listed(x.gains, 6), f"{1e3 * x.period:g} ms", *map(listed, rms[:, k]), f"{off[k]:.1f} %"]
        for k, x in enumerate(CHOICES_TRIED)
    ]
    return Grid("choices", headings, rows)


# Figures ----------------------------------------------------------------------------------------------------------


def panels(
    drawings: Drawings, units: Sequence[str], titles: Sequence[str], zoom: int = -1
) -> tuple[Any, Sequence[Any]]:
    """A figure with axes over time side by side; that of index `zoom` shows the beginning."""
    figure, axes = drawings.panels(len(units), 4.8)
    for k, (axis, unit, title) in enumerate(zip(axes, units, titles)):
        axis.set(xlabel="time, s", ylabel=unit, xlim=(0.0, BEGINNING if k == zoom else DURATION))
        axis.set_title(title, fontsize=10)
    return figure, axes


def load_positions(axis: Any, x: Simulation, motion: Sinusoid) -> None:
    """Curves of the links, which would coincide, each shifted by 40° more."""
    desired = np.rad2deg(motion(x.t, order=0)[0])
    for i, colour in enumerate(COLOURS):
        label = f"joint {i + 1} + {40 * i}°" if i else "joint 1"
        axis.plot(x.t, np.rad2deg(x.q[:, i]) + 40.0 * i, color=colour, label=label)
        axis.plot(x.t, desired[:, i] + 40.0 * i, ":", color=BLACK, label=None if i else "q$_d$")


def figures_without_payload(drawings: Drawings, robot: Robot, motion: Sinusoid, x: Simulation) -> None:
    """Figures 3 to 5; right what the left panel hides."""
    figure, (left, right) = panels(drawings, ("q, °", "|q$_d$ − q|, °"), ("positions, shifted", "errors"))
    load_positions(left, x, motion)
    for i, (colour, dashes) in enumerate(zip(COLOURS, DASHES)):
        right.semilogy(x.t, np.rad2deg(np.abs(x.error[:, i])), dashes, color=colour, lw=1, label=f"joint {i + 1}")
    right.set_ylim(1e-5, 60.0)
    caption = (
        "All links follow one sine, and joint 3 starts 25° away from it. Errors that remain after 1.5 s come from "
        "torques held for 0.5 ms."
    )
    drawings.save(figure, "figure_3_load_positions", "load positions, no payload", caption, "Fig. 3")

    theta_d = desired_motor_position(robot, motion, x)
    titles = ("joint 3", "joint 3, beginning", "differences")
    figure, axes = panels(drawings, ("position, °",) * 2 + ("difference, °",), titles, zoom=1)
    q, theta = x.q[:, ELASTIC], x.theta[:, ELASTIC]
    curves = ((q, "q", "-", GREEN), (theta, "θ", "--", BLUE), (theta_d, "θ$_d$ (43)", ":", BLACK))
    for axis in axes[:2]:
        for y, label, dashes, colour in curves:
            axis.plot(x.t, np.rad2deg(y), dashes, color=colour, label=label)
    axes[0].set_ylim(-35.0, 40.0)
    axes[2].plot(x.t, np.rad2deg(theta - q), color=BLUE, label="θ − q")
    axes[2].plot(x.t, np.rad2deg(theta_d - theta), "--", color=BLACK, label="θ$_d$ − θ")
    axes[2].set_ylim(-2.0, 2.0)
    caption = (
        "The only motor behind a spring and its link. At the start θ_d is 116° away: the motor runs ahead of the link "
        "to pull it towards the sine. Left and right axes are cut."
    )
    drawings.save(figure, "figure_4_motor_position", "motor position, no payload", caption, "Fig. 4")

    figure, axes = panels(drawings, ("τ, Nm",) * 3, ("motors", "beginning", "the first 5 ms"), zoom=1)
    for axis in axes:
        for i, (colour, dashes) in enumerate(zip(COLOURS, DASHES)):
            step = "steps-post" if axis is axes[2] else "default"
            axis.plot(x.t, x.tau[:, i], dashes, color=colour, label=f"motor {i + 1}", drawstyle=step)
    axes[0].set_ylim(-5.0, 12.0)
    axes[1].set_ylim(-60.0, 60.0)
    axes[2].set_xlim(0.0, 5e-3)
    axes[2].ticklabel_format(axis="x", style="sci", scilimits=(0, 0))
    caption = (
        f"Motor 3 begins with {np.max(np.abs(x.tau[:, ELASTIC])):.0f} Nm: the oscillation that the paper describes. "
        "The left and middle axes are cut."
    )
    drawings.save(figure, "figure_5_motor_torques", "motor torques, no payload", caption, "Fig. 5")


def figures_with_payload(drawings: Drawings, robot: Robot, motion: Sinusoid, runs: Runs) -> None:
    """Figures 6 to 8, the payload with both signs: solid as printed, dashed pulling down."""
    t = runs.none.t
    shifted = ("positions, shifted, sign as printed", "errors")
    figure, (left, right) = panels(drawings, ("q, °", "q$_d$ − q, °"), shifted)
    load_positions(left, runs.printed, motion)
    for name, _, dashes in SIGNS:
        for i, colour in enumerate(COLOURS):
            label = f"joint {i + 1}, {'up' if dashes == '-' else 'down'}"
            right.plot(t, np.rad2deg(getattr(runs, name).error[:, i]), dashes, color=colour, lw=1, label=label)
    right.set_ylim(-1.5, 1.5)
    caption = (
        "A force of 3 N at the tool that the controller does not know; the two signs leave opposite errors. The right "
        "axis is cut: joint 3 starts 25° off."
    )
    drawings.save(figure, "figure_6_load_positions_payload", "load positions, payload", caption, "Fig. 6")

    titles = ("joint 3", "joint 3, beginning", "difference")
    figure, axes = panels(drawings, ("position, °",) * 2 + ("θ$_d$ − θ, °",), titles, zoom=1)
    for name, sign, dashes in SIGNS:
        x = getattr(runs, name)
        theta_d, way = desired_motor_position(robot, motion, x), "up" if dashes == "-" else "down"
        for axis in axes[:2]:
            axis.plot(t, np.rad2deg(x.theta[:, ELASTIC]), dashes, color=BLUE, label=f"θ, {way}", lw=1)
            axis.plot(t, np.rad2deg(theta_d), dashes, color=RED, label=f"θ$_d$, {way}", lw=1)
        axes[2].plot(t, np.rad2deg(theta_d - x.theta[:, ELASTIC]), dashes, color=BLACK, label=sign, lw=1)
    axes[0].set_ylim(-35.0, 40.0)
    axes[2].set_ylim(-6.0, 6.0)
    caption = (
        "θ_d stays up to 4° away from θ, as the controller does not know the force: below it with the sign as printed "
        "(up), above it if the force pulls down. Left and right axes are cut."
    )
    drawings.save(figure, "figure_7_motor_position_payload", "motor position, payload", caption, "Fig. 7")

    figure, axes = panels(drawings, ("τ, Nm",) * 2, ("motor 2", "motor 3"))
    cases = (("none", "no payload", ":"), *SIGNS)
    for axis, i in zip(axes, (1, 2)):
        torques = [getattr(runs, name).tau[:, i] for name, *_ in cases]
        for torque, (_, sign, dashes), colour in zip(torques, cases, (BLACK, BLUE, RED)):
            axis.plot(t, torque, dashes, color=colour, label=sign)
        axis.axvline(LOWEST, color=GREY, lw=0.8, label="3 s")
        later = np.array(torques)[:, t > 1.0]
        margin = 0.1 * np.ptp(later)
        axis.set_ylim(later.min() - margin, later.max() + margin)
    caption = (
        "At 3 s, the lowest position, torques are lower than without payload only with the sign as printed. Motor 1 "
        "turns about the vertical and hardly feels the force. The axes are cut at the start."
    )
    drawings.save(figure, "figure_8_motor_torques_payload", "motor torques, payload", caption, "Fig. 8")


def desired_motor_position(robot: Robot, motion: Sinusoid, x: Simulation) -> np.ndarray:
    """θ_d of joint 3 along a run, (m,), rad."""
    controller = MixedInverseDynamics(robot, np.array(BEST.gains))
    tracking = {"reference": list(motion(x.t, order=4)), "gains": list(controller.gains)}
    return np.asarray(mixed_torque(robot, x.q, x.v, x.theta, x.theta_v, tracking=tracking).theta_d)[:, ELASTIC]


def contact_figure(drawings: Drawings, touching: dict[str, Touch]) -> None:
    """Figure of the contact runs."""
    units, titles = ("N", "q$_d$ − q, °", "θ − q, °"), ("contact force", "error of joint 3", "deflection of joint 3")
    figure, axes = panels(drawings, units, titles)
    for (name, (x, force)), colour, dashes in zip(touching.items(), (BLUE, RED), DASHES):
        curves = force, np.rad2deg(x.error[:, ELASTIC]), np.rad2deg((x.theta - x.q)[:, ELASTIC])
        for axis, y in zip(axes, curves):
            axis.plot(x.t, y, dashes, color=colour, label=f"joint 3 {name}")
            axis.set_xlim(1.5, 4.5)
    caption = (
        f"A surface of {SURFACE:g} N/m that the controller does not know, {100 * DEPTH:g} cm above the lowest point of "
        "the path: the spring of joint 3 yields, and the force stays smaller than with a rigid joint."
    )
    drawings.save(figure, "contact", "interaction with surroundings, gear ratio 10", caption)


def lyapunov_figure(drawings: Drawings, balance: Balance) -> None:
    """Figure of the Lyapunov function."""
    figure, (value, gap) = panels(drawings, ("J", "fraction of V$_2$(0)"), ("V$_2$", "|V$_2$ − integral of (52)|"))
    value.semilogy(balance.t, balance.V, color=BLUE)
    gap.semilogy(balance.t[:-1], np.maximum(balance.gap[:-1], 1e-16), color=RED)
    for axis in (value, gap):
        axis.set_xlim(balance.t[0], balance.t[-1])
    caption = "V₂ falls as (52) says, up to the error of integrating (52) by Simpson's rule, in continuous time."
    drawings.save(figure, "lyapunov_function", "Lyapunov function (51), no payload", caption)
