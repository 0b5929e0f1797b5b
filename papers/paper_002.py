"""Reproduction of [VSANEA sec. III-V]: three tests of inverse dynamics, figures 1 to 4, runs, and all claims.

The robot is Table I (`catalog/vsa_3r.toml`).  Its links move rest to rest along polynomials of degree 7 in 4 s, while
the stiffness of all joints rises from 850 to 1275 Nm/rad along a polynomial of degree 3, or stays at one of these
values.  The paper does not print the end points; here the motion goes from q = 0 to `GOAL`, and many random motions of
the same kind show the influence of that choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexjoint import Robot, compile, inverse_dynamics, load, motor_motion
from flexjoint.dynamics.drivetrain.stiffness_range import feasible_torque
from flexjoint.dynamics.inverse import MotorMotion
from flexjoint.dynamics.linearization import feedback_linearization
from flexjoint.robot.random_robots import random_robot
from flexjoint.trajectory import RestToRest, Trajectory
from flexjoint.types import FloatArray

from .operation_counts import counted
from .report import BLACK, BLUE, GREEN, RED, REPRODUCED, YELLOW, Claim, Drawings, Report, least_time, listed, verdict
from .stiffness_runs import (
    DECAYING,
    DRIFT_GAIN,
    K_C,
    OFF,
    PERIODS,
    POLE,
    REPLAYED,
    STIFFNESS_OFF,
    STIFFNESS_POLE,
    K,
    Reference,
    controlled,
    drift_figure,
    error_figure,
    integrated,
    replayed,
    run_claims,
)

PAPER = "Buondonno and De Luca (2016)"
DURATION = 4.0  # s
LOW, HIGH = 850.0, 1275.0  # Nm/rad
GOAL = np.deg2rad([90.0, 45.0, -60.0])
SAMPLES, RUN_SAMPLES = 4001, 401  # of the tests, and of the runs on the Lagrangian model
RANDOM_MOTIONS, REACH = 500, math.pi / 2  # random motions begin and end within ± this, rad
SECONDS = (1e-5, 1e-4)  # per evaluation, published
SIZES = (3, 6, 12, 24)  # joints of the chains whose operations are counted
STIFFNESSES = np.array([2.05, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0]) * K  # Nm/rad, of the bound after (31)
STYLES: list[dict[str, Any]] = [
    {"color": BLACK},
    {"color": RED, "linestyle": "--"},
    {"color": BLUE, "marker": "+", "markevery": 0.05},
]  # as in the paper

CHOICES = (
    "The paper does not print the end points of its motion: figures 1 to 4 show the same kind of motion, not the same "
    f"curves, from 0° to {', '.join(f'{x:.0f}°' for x in np.rad2deg(GOAL))}; random motions begin and end within ±90°.",
    f"The paper shows no run of its controller: here all poles are at −{POLE:g}/s for the motion and at "
    f"−{STIFFNESS_POLE:g}/s for the stiffness, and the arm starts at rest up to {np.abs(OFF).max():g}° and "
    f"{STIFFNESS_OFF.max():g} Nm/rad off the references.",
    "For the integration of (19): Runge-Kutta's method of order 4, and a drift control that takes the fraction "
    f"1 − e^(−λh) of a Newton step towards (14), λ = {DRIFT_GAIN:g}/s; the paper names the drift and no cure.",
)
NOTES = (
    "A stiffness of degree 3 starts and stops with σ'' = ±6 (σ_max − σ_min)/T², and σ'' enters the motor torques (22): "
    "where the paper says that values of the ramp coincide with those of constant stiffness, they are near.",
    "∫τ² dt is proportional to the copper losses of motors, ∫|τ θ'| dt is the work through the shafts without "
    "recuperation; holding a stiffness at rest costs no work, only losses.",
    "The bound after (31) and (31) itself are printed with 3K_c for 3K.  With 3K the bound is exact up to σ = 4K, and "
    "beyond it larger torques have a solution, as the paper says.",
    "The paper's times are those of MATLAB code turned into C with a numerical root finder; here the cubic spring "
    "model is solved in closed form.  The ratio is not one of algorithms, and computers differ.",
)


def run(folder: Path, say: Callable[[str], Any]) -> Report:
    """Write the figures to a folder; return the report."""
    robot, drawings = load("vsa_3r"), Drawings(folder, PAPER)
    say("torques of the three tests")
    tests = {name: trial(robot, *ends) for name, ends in TESTS.items()}
    smooth = trial(robot, LOW, HIGH, smoothness=2)
    peaks, limit = random_peaks(robot), stiffness_limit(robot)
    bounds = torque_bounds(robot)
    say("torques and the linearizing controller on a Lagrangian model")
    reference = Reference(motion(np.zeros(robot.n), GOAL), stiffness(robot.n, LOW, HIGH))
    replay, decay = replayed(robot, reference, RUN_SAMPLES), controlled(robot, reference, RUN_SAMPLES)
    say("integrated deflections")
    drifts = {h: integrated(robot, reference, h) for h in PERIODS}
    say("operations and times")
    costs = cost_claims(robot)
    drawings.robot(robot, GOAL, "The arm of Table I; both motors of a joint turn about its axis.")
    figures(drawings, tests)
    bound_figure(drawings, bounds)
    error_figure(drawings, replay, "replayed", "torques of Fig. 2 without feedback on a Lagrangian model", REPLAYED)
    error_figure(drawings, decay, "linearized", "feedback linearization released off both references", DECAYING)
    drift_figure(drawings, drifts)
    claims = [
        *feasibility_claims(bounds, limit),
        *comparison_claims(tests, peaks),
        *ends_claims(tests, smooth),
        *run_claims(replay, decay, drifts),
        *costs,
    ]
    reached = np.isfinite(peaks)
    additions = [
        ("Random motions that are possible at 850 Nm/rad", f"{int(reached.sum())} of {peaks.size}."),
        (
            "Peak torque at 1275 over that at 850 Nm/rad, the least of any motor",
            f"Median {np.median(peaks[reached]):.1f} and smallest {peaks[reached].min():.1f} of these motions.",
        ),
        ("Largest |τ_e| at 850 Nm/rad by the bound as printed, with 3K_c", f"{printed_bound(LOW):.3f} Nm, too small."),
        (
            "Integration of (19) with drift control",
            f"In steps of {1e3 * PERIODS[-1]:g} ms the error stays below {drifts[PERIODS[-1]].kept.max():.1g} rad.",
        ),
    ]
    title = "Paper 002: 3R arm with variable stiffness"
    return Report(title, claims, additions, drawings.figures, (), CHOICES, NOTES)


# The three tests --------------------------------------------------------------------------------------------------


class Trial(NamedTuple):
    """A test: times (m,), s, motion and stiffness with their derivatives, and the motors."""

    t: np.ndarray
    q: np.ndarray
    sigma: np.ndarray
    motors: MotorMotion

    @property
    def torques(self) -> np.ndarray:
        """Motor torques, (m, 2, n), Nm."""
        return self.motors.tau.reshape(len(self.t), 2, -1)

    @property
    def speeds(self) -> np.ndarray:
        """Motor velocities, (m, 2, n), rad/s."""
        return self.motors.theta_v.reshape(len(self.t), 2, -1)

    @property
    def effort(self) -> np.ndarray:
        """∫τ² dt per motor, (2, n), Nm² s."""
        return np.trapezoid(self.torques**2, self.t, axis=0)

    @property
    def work(self) -> np.ndarray:
        """∫|τ θ'| dt per motor, (2, n), J."""
        return np.trapezoid(np.abs(self.torques * self.speeds), self.t, axis=0)


TESTS = {"ramp": (LOW, HIGH), "low": (LOW, LOW), "high": (HIGH, HIGH)}


def motion(start: np.ndarray, goal: np.ndarray) -> Trajectory:
    """A motion of the paper's kind."""
    return RestToRest(start, goal, DURATION)


def stiffness(n: int, first: float, last: float, smoothness: int = 1) -> Trajectory:
    """A stiffness of the paper's kind, the same at all joints, Nm/rad."""
    return RestToRest(np.full(n, first), np.full(n, last), DURATION, smoothness)


def trial(robot: Robot, first: float, last: float, smoothness: int = 1, samples: int = SAMPLES) -> Trial:
    """A test with a stiffness from `first` to `last`, Nm/rad."""
    t = np.linspace(0.0, DURATION, samples)
    q = motion(np.zeros(robot.n), GOAL)(t)
    sigma = stiffness(robot.n, first, last, smoothness)(t, order=2)
    return Trial(t, q, sigma, motor_motion(robot, *q, stiffness=sigma))


def random_peaks(robot: Robot, samples: int = 101) -> FloatArray:
    """Smallest ratio over the motors of peak torques at high and low stiffness, per motion; NaN if infeasible."""
    rng = np.random.default_rng(0)
    start, goal = rng.uniform(-REACH, REACH, (2, RANDOM_MOTIONS, 1, robot.n))
    rise = RestToRest(np.zeros(1), np.ones(1), DURATION)(np.linspace(0.0, DURATION, samples))  # (5, samples, 1)
    q = [(goal - start) * x for x in rise]
    q[0] = q[0] + start
    rest = np.zeros(robot.n)
    low, high = (
        np.abs(inverse_dynamics(robot, *q, stiffness=[np.full(robot.n, sigma), rest, rest])).max(axis=1)
        for sigma in (LOW, HIGH)
    )
    return (high / low).min(axis=-1)


def comparison_claims(tests: dict[str, Trial], peaks: FloatArray) -> list[Claim]:
    """Claims about torques and energy at low and high stiffness."""
    low, high = tests["low"], tests["high"]
    gap = max(np.abs(x.motors.tau_e - low.motors.tau_e).max() for x in tests.values())
    ratios = np.abs(high.torques).max(axis=0) / np.abs(low.torques).max(axis=0)
    (loss, work), (high_loss, high_work) = ((x.effort.sum(), x.work.sum()) for x in (low, high))
    return [
        Claim("τ_e does not depend on the stiffness (Fig. 3)", "unchanged", f"{gap:.1g} Nm apart", verdict(gap < 1e-9)),
        Claim(
            "All motor torques are much larger at 1275 than at 850 Nm/rad (Fig. 4)",
            "no number",
            f"Peaks are {ratios.min():.1f} to {ratios.max():.1f} times as large",
            verdict(min(ratios.min(), np.nanmin(peaks)) > 2),
        ),
        Claim(
            "Motors spend considerable energy to keep a higher stiffness",
            "no number",
            f"∫τ² dt is {high_loss / loss:.1f} times as large, ∫|τ θ'| dt {high_work / work:.1f} times",
            verdict(high_loss > 2 * loss and high_work > 2 * work),
        ),
    ]


class Gap(NamedTuple):
    """Difference of the torques of joint 1 between ramp and constant stiffness: Nm, and relative to the latter."""

    torque: float
    ratio: float


def gap(ramp: Trial, constant: Trial, sample: int) -> Gap:
    """Difference of the torques at one sample."""
    difference = np.abs(ramp.torques - constant.torques)[sample]
    return Gap(difference[:, 0].max(), (difference / np.abs(constant.torques[sample]))[:, 0].max())


def ends_claims(tests: dict[str, Trial], smooth: Trial) -> list[Claim]:
    """Claims about the torques at start and end."""
    claims = []
    for name, sample, when in (("low", 0, "Initial"), ("high", -1, "Final")):
        printed, exact = gap(tests["ramp"], tests[name], sample), gap(smooth, tests[name], sample)
        claims.append(
            Claim(
                f"{when} torques of the ramp are those of {TESTS[name][0]:g} Nm/rad (joint 1)",
                "coincide",
                f"{printed.torque:.2f} Nm apart, {100 * printed.ratio:.1f} %; {exact.torque:.1g} Nm with degree 5",
                "nearly",
            )
        )
    return claims


# Which torques and stiffnesses have a solution --------------------------------------------------------------------


def exact_bound(sigma: float) -> tuple[float, float]:
    """Bound after (31) with 3K, and the largest |τ_e| at a stiffness, Nm, in closed form.

    With φ = R (cos ξ, sin ξ), u = cos ξ + sin ξ and ρ = (σ − 2K)/(3K), τ_e = K R [(1 + 3ρ/2) u − ρ u³/2], |u| ≤ √2:
    the maximum is at u = √2 up to ρ = 2/3, σ = 4K, and at u² = 1 + 2/(3ρ) beyond.
    """
    rho, R = (sigma - 2 * K) / (3 * K), math.sqrt((sigma - 2 * K) / (3 * K_C))
    bound, u = math.sqrt(2) * K * R * (1 + 0.5 * rho), min(math.sqrt(2), math.sqrt(1 + 2 / (3 * rho)))
    return bound, K * R * ((1 + 1.5 * rho) * u - rho * u**3 / 2)


def printed_bound(sigma: float) -> float:
    """The bound after (31) as printed, with 3K_c, Nm."""
    return math.sqrt((sigma - 2 * K) / (3 * K_C) * 2) * K * (1 + 0.5 * (sigma - 2 * K) / (3 * K_C))


class Bounds(NamedTuple):
    """Largest |τ_e|, Nm, at `STIFFNESSES`: by search, by the bound after (31), and in closed form."""

    search: FloatArray
    bound: FloatArray
    closed: FloatArray


def torque_bounds(robot: Robot) -> Bounds:
    """The largest |τ_e| with a solution of (14)."""
    search = [feasible_torque(robot, np.full(robot.n, sigma)).upper[0] for sigma in STIFFNESSES]
    return Bounds(np.array(search), *np.array([exact_bound(sigma) for sigma in STIFFNESSES]).T)


def stiffness_limit(robot: Robot) -> tuple[float, float]:
    """Least stiffness, in steps of 0.1 Nm/rad, at which the arm stretched at rest has torques, and |τ_e| of joint 2."""
    sigma, rest = np.arange(2 * K, LOW, 0.1), np.zeros(robot.n)
    motors = motor_motion(robot, *[rest] * 5, stiffness=[sigma[:, None] * np.ones(robot.n), rest, rest])
    tau_e = motor_motion(robot, *[rest] * 5, stiffness=[rest + LOW, rest, rest]).tau_e
    return float(sigma[np.isfinite(motors.tau).all(axis=-1)].min()), float(np.abs(tau_e[1]))


def feasibility_claims(bounds: Bounds, limit: tuple[float, float]) -> list[Claim]:
    """Claims about the feasible stiffness and torque."""
    beyond = STIFFNESSES > 4 * K
    below = np.abs(bounds.search / bounds.bound - 1)[~beyond].max()
    more = 100 * (bounds.search / bounds.bound - 1)[beyond]
    least, tau_e = limit
    low, high = (exact_bound(least + x)[1] for x in (-0.1, 0.0))
    return [
        Claim(
            "850 Nm/rad is close to the least possible stiffness (sec. V)",
            "no number",
            f"{2 * K:g} Nm/rad without a load; {least:.1f} with the arm stretched at rest",
            verdict(least <= LOW < 1.1 * least),
        ),
        Claim(
            "Computation ends if (14) has no solution: the task is not attainable (remark after (14))",
            "no number",
            f"Joint 2 of the stretched arm bears {tau_e:.2f} Nm; torques exist from {least:.1f} Nm/rad on, where the "
            "largest |τ_e| reaches that load",
            verdict(low < tau_e <= high),
        ),
        Claim(
            "A solution exists up to the bound on |τ_e| after (31)",
            f"{printed_bound(LOW):.3f} Nm at 850 Nm/rad, as printed",
            f"{exact_bound(LOW)[1]:.3f} Nm; with 3K for 3K_c the bound is exact to {below:.0e} up to σ = 4K",
            "misprint",
        ),
        Claim(
            "Slightly larger |τ_e| are admissible if σ > 4K (after (31))",
            "no number",
            f"{listed(more, 2)} % more at σ = {listed(STIFFNESSES[beyond] / K)} K",
            verdict(np.all(more > 0)),
        ),
    ]


# Cost -------------------------------------------------------------------------------------------------------------


def cost_claims(robot: Robot) -> list[Claim]:
    """Claims about times and operations."""
    ramp = trial(robot, LOW, HIGH)
    point = [x[SAMPLES // 3] for x in (*ramp.q, *ramp.sigma)]
    motors = motor_motion(robot, *point[:5], stiffness=point[5:])
    names = {
        "inverse": compile(inverse_dynamics, robot, stiffness=3),
        "control": compile(feedback_linearization, robot, stiffness_command=True),
        "point": [np.ascontiguousarray(x) for x in point],
        "state": [*map(np.ascontiguousarray, (point[0], point[1], motors.theta, motors.theta_v, point[4], point[7]))],
        "out": np.empty(robot.motor_count),
    }
    call, control = (1e6 * least_time(f"{x}, out=out)", names, 500) for x in ("inverse(*point", "control(*state"))
    operations = []
    for n in SIZES:
        chain = random_robot(n, seed=1, prismatic=0.0).with_drives([robot.joints[0].drive] * n)
        operations.append(counted(inverse_dynamics, chain, stiffness=3))
    slopes = np.diff(operations) / np.diff(SIZES)
    low, high = SECONDS
    return [
        Claim(
            "Time of one evaluation (sec. V)", f"{low * 1e6:g} to {high * 1e6:g} µs",
            f"{call:.2f} µs per call from Python", "faster computer",
        ),
        Claim(
            "The linearizing controller, without root finding, in real time", "no number",
            f"{control:.2f} µs per call from Python", REPRODUCED,
        ),
        Claim(
            "Complexity grows linearly with the joints", "O(N)",
            f"One more joint costs {slopes.min():.0f} to {slopes.max():.0f} operations, up to {SIZES[-1]} joints",
            verdict(slopes.max() < 1.01 * slopes.min()),
        ),
    ]  # fmt: skip


# Figures ----------------------------------------------------------------------------------------------------------


def figures(drawings: Drawings, tests: dict[str, Trial]) -> None:
    """Figures 1 to 4."""
    ramp, n = tests["ramp"], GOAL.size
    pair = "The two motors of a joint pull against each other, harder as the stiffness rises."
    sum_of_springs = "Sum of both springs: the motion alone determines it, whatever the stiffness."
    tau = ramp.motors.tau
    torques = (("motor 1", "τ$_1$, Nm", tau[:, :n]), ("motor 2", "τ$_2$, Nm", tau[:, n:]))
    reference = (("links", "q, °", np.rad2deg(ramp.q[0])), ("all joints", "σ, Nm/rad", ramp.sigma[0][:, :1]))
    panels: tuple[tuple[str, str, Sequence[tuple[str, str, FloatArray]]], ...] = (
        ("desired motion and stiffness", "A motion of degree 7 and a stiffness of degree 3.", reference),
        ("motor torques", pair, torques),
        ("total elastic torque", sum_of_springs, (("both springs", "τ$_e$, Nm", ramp.motors.tau_e),)),
    )
    for number, (title, caption, shown) in enumerate(panels, 1):
        figure, axes = drawings.panels(len(shown))
        for axis, (name, unit, curves) in zip(axes, shown):
            for i in range(curves.shape[1]):
                axis.plot(ramp.t, curves[:, i], label=f"joint {i + 1}" if curves.shape[1] > 1 else None, **STYLES[i])
            axis.set_title(name, fontsize=10)
            axis.set(xlabel="time, s", ylabel=unit, xlim=(0.0, DURATION))
        drawings.save(figure, f"figure_{number}", title, caption, f"Fig. {number}")
    figure, axes = drawings.panels(2)
    for k, axis in enumerate(axes):
        for name, style in (("low", STYLES[0]), ("high", STYLES[1])):
            axis.plot(ramp.t, tests[name].torques[:, k, 0], label=f"{TESTS[name][0]:g} Nm/rad", **style)
        axis.set_title(f"joint 1, motor {k + 1}", fontsize=10)
        axis.set(xlabel="time, s", ylabel=f"τ$_{k + 1}$, Nm", xlim=(0.0, DURATION))
    caption = "The same motion at two constant stiffnesses: the stiffer joint costs far more torque."
    drawings.save(figure, "figure_4", "motor torques at two constant stiffnesses", caption, "Fig. 4")


def bound_figure(drawings: Drawings, bounds: Bounds) -> None:
    """Figure of the largest |τ_e| over the stiffness."""
    figure, (left, right) = drawings.panels(2)
    sigma = np.linspace(2.02 * K, 8 * K, 200)
    bound, closed = np.array([exact_bound(x) for x in sigma]).T
    printed = np.array([printed_bound(x) for x in sigma])
    left.fill_between(sigma, closed, 850.0, color=RED, alpha=0.12, lw=0, label="(14) has no solution")
    left.plot(sigma, closed, color=BLACK, label="largest |τ$_e$|")
    left.plot(STIFFNESSES, bounds.search, "o", color=BLUE, mfc="none", label="by search")
    left.plot(sigma, printed, ":", color=GREEN, label="bound as printed, 3K$_c$")
    left.set(ylabel="|τ$_e$|, Nm", ylim=(0.0, 850.0))
    right.plot(sigma, 100 * (closed / bound - 1), color=BLACK, label="closed form")
    right.plot(STIFFNESSES, 100 * (bounds.search / bounds.bound - 1), "o", color=BLUE, mfc="none", label="by search")
    right.set(ylabel="largest |τ$_e$| beyond the bound with 3K, %")
    for axis in (left, right):
        axis.axvline(4 * K, color=YELLOW, label="σ = 4K")
        axis.set(xlabel="σ, Nm/rad", xlim=(2 * K, 8.1 * K))
    caption = "Up to σ = 4K the bound after (31), with 3K for 3K_c, is exact; beyond it larger torques are admissible."
    drawings.save(figure, "largest_torque", "torques with a solution of (14)", caption)
