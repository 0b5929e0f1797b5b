"""Reproduction of [Hua sec. V]: figures 3 to 8, the errors of its simulation, and all claims.

The paper prints masses, inertias, the stiffness, the motion and the start of the links.  It does not print geometry,
centres of mass, gear ratios and positions of the motors (chosen in `catalog/hua_3r.toml`), the gains, the sample time
and the start of the motors.  Here the sample time is 1 ms with torques held between samples; the robot starts at rest
with the spring of joint 3 in equilibrium; and a random search chose four gains, the same for all joints, that bring the
six errors, with the payload's sign as printed, as close to the published ones as possible.  So the errors are fitted,
not predicted; a table shows the errors for other gains.

The payload is a force at the tool, f_e = (0, 0, −3) N in base coordinates, which the controller does not know.  (20)
and (26) of the paper have it with the wrong sign; both signs are simulated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.compile import compile
from ..control import JointState, MixedInverseDynamics
from ..control.laws.mixed import mixed_torque
from ..drives import ElasticDrive
from ..dynamics.drivetrain.rotors import generalized_forces
from ..dynamics.forward import forward_dynamics
from ..dynamics.inertia import mass_matrix
from ..formats import load
from ..robot import Robot
from ..simulation import Simulation, at_rest, reference_solution, simulate
from ..simulation.result import FIELDS
from ..spatial import sx
from ..trajectory import Sinusoid
from .figures import BLUE, GREEN, RED, new_figure, saved
from .report import AS_SAID, NOT_SO, Claim, Grid, PaperFigure, Report, claim_grid

DURATION = 10.0  # s
PERIOD = 1e-3  # s
START = np.array([0.0, 0.0, -0.4363])  # rad
GAINS = (390.0, 56.5, 1410.0, 57.5)  # K_P, K_D, motor K_P, motor K_D: found by search, see above
ALL_GAINS = (GAINS, (100.0, 20.0, 100.0, 20.0), (400.0, 40.0, 400.0, 40.0), (1000.0, 100.0, 1000.0, 100.0))
FORCE = -3.0  # N, along z, published
LOWEST = 3.0  # s
ERRORS = np.array([[0.0026819, 0.003619, 0.052678], [0.0026903, 0.0061066, 0.052422]])  # rad; with a payload the second
COLOURS = (BLUE, RED, GREEN)
CHOSEN = ", gains chosen so"


class Runs(NamedTuple):
    """Without payload; with the force as it is printed, which pushes the robot upwards; with the force as it acts."""

    none: Simulation
    printed: Simulation
    physical: Simulation


def run(folder: Path, say: Callable[[str], Any]) -> Report:
    """Write the figures to a folder; the report."""
    robot = load("hua_3r").with_fidelity("complete")
    motion = Sinusoid(np.full(robot.n, 0.5), 0.25, duration=DURATION)  # type: ignore[arg-type]
    say("simulations with and without payload")
    runs = simulated(robot, motion)
    found = errors(runs, motion)
    shown = Runs(*(first_run(x) for x in runs))
    say("the Lyapunov function")
    balance = lyapunov_balance(robot, motion)
    say("figures")
    figures = (
        *case_figures(folder, robot, motion, [shown.none], 3, "no payload", [""]),
        *case_figures(folder, robot, motion, [shown.printed, shown.physical], 6, "payload", [", +3 N", ", −3 N"]),
        lyapunov_figure(folder, balance),
    )
    claims = [*error_claims(found[:, 0]), torque_claim(shown), peak_claim(shown)]
    claims += [lyapunov_claim(balance), cost_claim(robot)]
    grids = (claim_grid(claims), error_grid(found[:, 0]), gains_grid(found))
    return Report("Paper 003, section V: 3R arm with joints rigid, rigid, elastic", grids, figures, NOTES, CHOICES)


CHOICES = (
    "Geometry, centres of mass, gear ratios, motor axes and places, gains, sample time and the start of the motors are "
    "not in the paper; they were chosen (catalog/hua_3r.toml, reproduce/paper_003.py), the gains such that the errors "
    "come close. Other gains give other errors, see the third table: no error is a test of the model.",
)
NOTES = (
    "(20) and (26) let an external force act with the opposite sign. With that sign torques at 3 s fall and the error "
    "of joint 1 grows, as in the paper; a force that pulls down does the opposite. That the error of joint 3 falls "
    "comes out with neither sign.",
    "Table I: the inertias of links 2 and 3 belong to no rigid body (the triangle inequality fails by 0.27 and 0.37 "
    "kg m²); the stiffness is 100 Nm/rad, not N/m.",
    "With motor axes parallel to those of the joints S and the gyroscopic terms of this arm are zero: it shows the "
    "bookkeeping of rotors, not their coupling.",
    "The paper does not say how it gets the derivatives of θ_d in (45); here they are those along the closed loop, "
    "from q, q', θ and θ' alone (control/laws/mixed.py).",
)


# Simulations ------------------------------------------------------------------------------------------------------


def simulated(robot: Robot, motion: Sinusoid) -> Runs:
    """Batches of runs, one run per set of gains."""
    gains = np.array(ALL_GAINS)[:, :, None] * np.ones(robot.n)
    law = MixedInverseDynamics(robot, gains[0])
    options: dict[str, Any] = {"start": at_rest(robot, START), "period": PERIOD, "gains": gains}
    return Runs(*(simulate(robot, law, motion, contact=payload(robot, f), **options) for f in (0.0, -FORCE, FORCE)))


def first_run(batch: Simulation) -> Simulation:
    """The first run of a batch."""
    return replace(batch, **{name: getattr(batch, name)[0] for name in FIELDS})


def payload(robot: Robot, force: float) -> Callable[[Any, JointState], dict[str, Any]] | None:
    """Contact with a constant vertical force at the tool, N; None without one."""
    return (lambda t, state: {robot.tool: sx([0.0, 0.0, force, 0.0, 0.0, 0.0])}) if force else None


def errors(runs: Runs, motion: Sinusoid) -> np.ndarray:
    """Root-mean-square errors, (3, number of gains, n), rad."""
    wanted = motion(runs.none.t, order=0)[0]
    return np.array([np.sqrt(np.mean((x.q - wanted) ** 2, axis=-2)) for x in runs])


# The Lyapunov function ----------------------------------------------------------------------------------------------


class Balance(NamedTuple):
    """Lyapunov function V₂ over time, J, in continuous time without payload, and its remaining loss by (52)."""

    t: np.ndarray
    V: np.ndarray
    loss: np.ndarray


def lyapunov_balance(robot: Robot, motion: Sinusoid, duration: float = 1.0) -> Balance:
    """V₂ and its loss by [Hua (51), (52)], with the controller in continuous time."""
    law = MixedInverseDynamics(robot, np.array(GAINS))
    options: dict[str, Any] = {"start": at_rest(robot, START), "period": PERIOD / 4, "tolerance": 1e-9}
    x = reference_solution(robot, law, motion, duration, **options)
    K_P, K_D, motor_K_P, motor_K_D = law.gains
    wanted = motion(x.t, order=4)
    tracking = {"reference": list(wanted), "gains": list(law.gains)}
    _, theta_d, theta_d_v = mixed_torque(robot, x.q, x.v, x.theta, x.theta_v, tracking=tracking)
    e, e_v = wanted[0] - x.q, wanted[1] - x.v
    s = e_v + K_P / K_D * e
    drives = [joint.drive for joint in robot.joints]
    K = np.array([float(d.stiffness) if isinstance(d, ElasticDrive) else 0.0 for d in drives])  # type: ignore[arg-type]
    B = np.array([d.motor.inertia if isinstance(d, ElasticDrive) else 0.0 for d in drives])
    e_m = theta_d - x.theta
    s_m = np.where(K > 0, theta_d_v - x.theta_v + motor_K_P / motor_K_D * e_m + s, 0.0)
    kinetic = np.einsum("ki,kij,kj->k", s, mass_matrix(robot, x.q), s) / 2
    V = kinetic + np.sum(K_P * e**2 + B * s_m**2 / 2 + K * e_m**2 / 2, axis=1)
    rate = -np.sum(K_D * e_v**2 + K_P**2 / K_D * e**2 + motor_K_D * s_m**2 + K * motor_K_P / motor_K_D * e_m**2, axis=1)
    from scipy.integrate import cumulative_simpson

    change = cumulative_simpson(rate, x=x.t, initial=0.0)
    return Balance(x.t, V, change - change[-1])


# Claims -------------------------------------------------------------------------------------------------------------


def error_claims(found: np.ndarray) -> list[Claim]:
    """Claims about the errors."""
    rows = (
        ("without payload", ERRORS[0], found[0], CHOSEN),
        ("with payload, sign as printed", ERRORS[1], found[1], CHOSEN),
        ("with payload, pulling down", ERRORS[1], found[2], ""),
    )
    claims = [
        Claim(
            f"root mean square errors of the three joints {what}, rad",
            listed(paper),
            listed(here),
            f"within {100 * np.max(np.abs(here / paper - 1)):.0f} %{why}",
        )
        for what, paper, here, why in rows
    ]
    change, changes = 100 * (ERRORS[1] / ERRORS[0] - 1), 100 * (found[1:] / found[0] - 1)
    for i in range(len(change)):
        right = [sign for sign, x in zip(("printed", "physical"), changes[:, i]) if x * change[i] > 0]
        claims.append(
            Claim(
                f"the payload changes the error of joint {i + 1} by",
                f"{change[i]:+.1f} %",
                f"{changes[0, i]:+.1f} % with the sign as printed, {changes[1, i]:+.1f} % pulling down",
                {2: "sign reproduced", 1: f"sign: {' '.join(right)} only", 0: NOT_SO}[len(right)],
            )
        )
    return claims


def torque_claim(runs: Runs) -> Claim:
    """Claim about the torques at the lowest position."""
    at = round(LOWEST / PERIOD)
    none, printed, physical = (x.tau[at] for x in runs)
    lower = np.abs(printed[1:]) < np.abs(none[1:])
    return Claim(
        "motor torques at 3 s, the lowest position, are lower with a payload",
        "no number",
        f"joints 2 and 3: {listed(none[1:])} Nm without, {listed(printed[1:])} Nm with the sign as printed, "
        f"{listed(physical[1:])} Nm pulling down",
        "with the printed sign only" if np.all(lower) else NOT_SO,
    )


def peak_claim(runs: Runs) -> Claim:
    """Claim about the torque at the start."""
    tau = np.abs(runs.none.tau)
    return Claim(
        "large oscillation of the motor torque of joint 3 at the beginning",
        "no number",
        f"{tau[:, 2].max():.0f} Nm at first, {tau[runs.none.t > 1.0, 2].max():.1f} Nm after 1 s",
        AS_SAID,
    )


def lyapunov_claim(balance: Balance) -> Claim:
    """Claim about the Lyapunov function."""
    gap = np.max(np.abs(balance.V - balance.V[-1] - balance.loss)) / balance.V[0]
    return Claim(
        "V₂' < 0 along the motion, as (52) says",
        "proof",
        f"V₂ falls at every step, from {balance.V[0]:.3g} to {balance.V[-1]:.2g} J in {balance.t[-1]:g} s; it differs "
        f"from the integral of (52) by {gap:.0e} of V₂(0)",
        AS_SAID if np.all(np.diff(balance.V) < 0) else NOT_SO,
    )


def cost_claim(robot: Robot) -> Claim:
    """Claim about Algorithm 2, which runs Algorithm 1 N + N_e + 1 times and inverts a matrix."""
    sweeps = robot.n + sum(robot.compliant) + 1
    one, ours = (compile(x, robot).operations for x in (generalized_forces, forward_dynamics))
    return Claim(
        "forward dynamics: recursions and an inverse (Algorithm 2)",
        f"{sweeps} recursions",
        f"{ours} operations in all; {sweeps} times Algorithm 1 would be {sweeps * one}, without the inverse",
        "other method",
    )


def error_grid(found: np.ndarray) -> Grid:
    """Table of published and computed errors."""
    headings = ("joint", "paper", "here", "paper, payload", "here, sign as printed", "here, pulling down")
    columns = (ERRORS[0], found[0], ERRORS[1], found[1], found[2])
    rows = [[str(i + 1), *(f"{x[i]:.3g} rad" for x in columns)] for i in range(found.shape[1])]
    return Grid("errors", headings, rows)


def gains_grid(found: np.ndarray) -> Grid:
    """Table of the errors for several gains."""
    headings = ("K_P, K_D, motor K_P, motor K_D", "errors without payload, rad", "sign as printed", "pulling down")
    rows = [[", ".join(f"{x:g}" for x in gains), *map(listed, found[:, k])] for k, gains in enumerate(ALL_GAINS)]
    return Grid("gains", headings, rows)


def listed(numbers: np.ndarray) -> str:
    """Numbers as text."""
    return ", ".join(f"{x:.3g}" for x in numbers)


# Figures ------------------------------------------------------------------------------------------------------------


def case_figures(
    folder: Path, robot: Robot, motion: Sinusoid, runs: list[Simulation], first: int, what: str, labels: list[str]
) -> list[PaperFigure]:
    """Write figures of load positions, motor positions and motor torques; a second run is dashed."""
    law = MixedInverseDynamics(robot, np.array(GAINS))
    name = what.replace(" ", "_")
    positions, motors, torques = (new_figure() for _ in range(3))
    wanted = motion(runs[0].t, order=4)
    for x, label, dashes in zip(runs, labels, ("-", "--")):
        for i, colour in enumerate(COLOURS):
            positions[1].plot(x.t, np.rad2deg(x.q[:, i]), dashes, color=colour, label=f"joint {i + 1}{label}")
            torques[1].plot(x.t, x.tau[:, i], dashes, color=colour, label=f"motor {i + 1}{label}")
        tracking = {"reference": list(wanted), "gains": list(law.gains)}
        theta_d = mixed_torque(robot, x.q, x.v, x.theta, x.theta_v, tracking=tracking).theta_d
        motors[1].plot(x.t, np.rad2deg(x.theta[:, 2]), dashes, color=GREEN, label=f"θ of joint 3{label}")
        motors[1].plot(x.t, np.rad2deg(theta_d[:, 2]), ":", color="black", lw=1, label=f"θ$_d${label}")
    positions[1].plot(runs[0].t, np.rad2deg(wanted[0, :, 0]), ":", color="black", lw=1, label="desired")
    torques[1].set_yscale("symlog", linthresh=20.0)
    shown = (
        (positions, "load_positions", "q, °", "All joints follow one sine; joint 3 starts 25° away from it."),
        (motors, "motor_position", "θ, °", "The motor of the elastic joint follows θ_d, which the law computes."),
        (torques, "motor_torques", "τ, Nm", "Most of the torque is spent on the error at the start."),
    )
    figures = []
    for number, ((figure, axis), kind, unit, caption) in enumerate(shown, start=first):
        title = f"Fig. {number}. {kind.replace('_', ' ').capitalize()}, {what}"
        axis.set(title=title, xlabel="time, s", ylabel=unit, xlim=(0.0, DURATION))
        figures.append(saved(figure, folder / f"figure_{number}_{kind}_{name}.png", caption, f"Fig. {number}"))
    return figures


def lyapunov_figure(folder: Path, balance: Balance) -> PaperFigure:
    """Figure of the Lyapunov function."""
    figure, axis = new_figure()
    axis.semilogy(balance.t, balance.V, color=BLUE, label="V$_2$")
    axis.semilogy(balance.t, balance.V[-1] + balance.loss, "--", color=RED, label="from (52)")
    axis.set(title="Lyapunov function (51), no payload", xlabel="time, s", ylabel="V$_2$, J", xlim=balance.t[[0, -1]])
    caption = "V falls at the rate (52) says: the dashed curve is its integral."
    return saved(figure, folder / "lyapunov_function.png", caption)
