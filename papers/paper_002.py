"""Reproduction of [VSANEA sec. III-V]: three tests of inverse dynamics, figures 1 to 4, runs, and all claims.

The robot is Table I (`catalog/vsa_3r.toml`).  Its links move rest to rest along polynomials of degree 7 in 4 s, while
the stiffness of all joints rises from 850 to 1275 Nm/rad along a polynomial of degree 3, or stays at one of these
values.  The paper does not print the end points; here the motion goes from q = 0 to `GOAL`, and many random motions of
the same kind show the influence of that choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexjoint.dynamics.drivetrain.stiffness_range import feasible_stiffness, feasible_torque
from flexjoint.dynamics.inverse import MotorMotion, inverse_dynamics, motor_motion
from flexjoint.formats import load
from flexjoint.robot import Robot
from flexjoint.trajectory import RestToRest, Trajectory

from .report import BLACK, BLUE, RED, Claim, Grid, PaperFigure, Report, claim_grid, new_figures, saved, verdict
from .stiffness_cost import cost_claims
from .stiffness_runs import (
    DRIFT_GAIN,
    OFF,
    PERIODS,
    POLE,
    STIFFNESS_OFF,
    STIFFNESS_POLE,
    Reference,
    controlled,
    drift_grid,
    integrated,
    method_grid,
    replayed,
    run_claims,
    run_figures,
)

DURATION = 4.0  # s
LOW, HIGH = 850.0, 1275.0  # Nm/rad
GOAL = np.deg2rad([90.0, 45.0, -60.0])
SAMPLES = 4001
RUN_SAMPLES = 401  # of the runs on the Lagrangian model
RANDOM_MOTIONS = 500
REACH = math.pi / 2  # rad: random motions begin and end within ± this
STYLES: list[dict[str, Any]] = [
    {"color": BLACK},
    {"color": RED, "linestyle": "--"},
    {"color": BLUE, "marker": "+", "markevery": 200},
]  # as in the paper


def run(folder: Path, say: Callable[[str], Any]) -> Report:
    """Write the figures to a folder; the report."""
    robot = load("vsa_3r")
    say("torques of the three tests")
    tests = {name: trial(robot, *ends) for name, ends in TESTS.items()}
    smooth = trial(robot, LOW, HIGH, smoothness=2)
    say("random motions of the same kind")
    family = random_ratios(robot)
    say("torques and the linearizing law on a Lagrangian model")
    reference = Reference(motion(np.zeros(robot.n), GOAL), stiffness(robot.n, LOW, HIGH))
    runs = replayed(robot, reference, RUN_SAMPLES), controlled(robot, reference, RUN_SAMPLES)
    say("integrated deflections")
    drifts = {h: integrated(robot, reference, h) for h in PERIODS}
    say("operations and times")
    costs = cost_claims(robot)
    say("figures")
    drawn = [*figures(folder, tests), *run_figures(folder, *runs, drifts)]
    claims = [
        *stiffness_claims(robot, tests["ramp"]),
        *comparison_claims(tests, family),
        *energy_claims(tests),
        *ends_claims(tests, smooth),
        *run_claims(*runs, drifts),
        *costs,
    ]
    grids = (claim_grid(claims), energy_grid(tests), method_grid(robot), drift_grid(drifts))
    return Report("Paper 002, section V: 3R arm with variable stiffness", grids, tuple(drawn), NOTES, CHOICES)


CHOICES = (
    "The paper does not print the end points of its motion: figures 1 to 4 show the same kind of motion, not the same "
    f"curves, from 0° to {', '.join(f'{x:.0f}°' for x in np.rad2deg(GOAL))}. Random motions begin and end within ±90°.",
    f"The paper shows no run of its control law. Here all poles are at −{POLE:g}/s for the motion and at "
    f"−{STIFFNESS_POLE:g}/s for the stiffness, and the arm starts at rest up to {np.abs(OFF).max():g}° and "
    f"{STIFFNESS_OFF.max():g} Nm/rad off the references.",
    "For the integration of (19): Runge-Kutta's method of order 4, and a drift control that takes the share "
    f"1 − e^(−λh) of a Newton step towards (14), λ = {DRIFT_GAIN:g}/s. The paper names the drift and no cure.",
)
NOTES = (
    "A stiffness of degree 3 starts and stops with σ'' = ±6 (σ_max − σ_min)/T², and σ'' enters the motor torques (22): "
    "where the paper says that values of the ramp coincide with those of constant stiffness, they are near. With "
    "degree 5, σ'' = 0 at both ends and they coincide.",
    "Energy: ∫τ² dt is proportional to the copper losses of motors, ∫|τ θ'| dt is the work through the shafts without "
    "recuperation. Holding a stiffness at rest costs no work, only losses. The paper gives no number.",
    "The paper's times are those of MATLAB code turned into C with a numerical root finder; here the cubic law is "
    "solved in closed form. The ratio is not one of algorithms, and computers differ.",
)


# The three tests --------------------------------------------------------------------------------------------------


def by_motor(x: np.ndarray) -> np.ndarray:
    """Values per motor, (m, 2n), by first and second motor of each joint, (m, 2, n)."""
    return x.reshape(len(x), 2, -1)


class Trial(NamedTuple):
    """A test: times (m,), s, motion and stiffness with their derivatives, and the motors."""

    t: np.ndarray
    q: np.ndarray
    sigma: np.ndarray
    motors: MotorMotion

    @property
    def torques(self) -> np.ndarray:
        """Motor torques, (m, 2, n), Nm."""
        return by_motor(self.motors.tau)

    @property
    def speeds(self) -> np.ndarray:
        """Motor velocities, (m, 2, n), rad/s."""
        return by_motor(self.motors.theta_v)

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


class Ratios(NamedTuple):
    """Peak torque and ∫τ² at high stiffness divided by those at low stiffness, per motion; NaN if 850 is infeasible."""

    peaks: np.ndarray
    efforts: np.ndarray


def random_ratios(robot: Robot, samples: int = 101) -> Ratios:
    """Ratios of random motions: the smallest ratio of peaks over motors and joints, and that of the sums of ∫τ²."""
    rng = np.random.default_rng(0)
    start, goal = rng.uniform(-REACH, REACH, (2, RANDOM_MOTIONS, 1, robot.n))
    rise = RestToRest(np.zeros(1), np.ones(1), DURATION)(np.linspace(0.0, DURATION, samples))  # (5, samples, 1)
    q = [(goal - start) * x for x in rise]
    q[0] = q[0] + start
    rest = np.zeros(robot.n)
    low, high = (
        np.stack(np.split(inverse_dynamics(robot, *q, stiffness=[np.full(robot.n, sigma), rest, rest]), 2, axis=-1))
        for sigma in (LOW, HIGH)
    )  # (2, motions, samples, n)
    peaks = (np.abs(high).max(axis=2) / np.abs(low).max(axis=2)).min(axis=(0, 2))
    return Ratios(peaks, (high**2).sum(axis=(0, 2, 3)) / (low**2).sum(axis=(0, 2, 3)))


# Claims -----------------------------------------------------------------------------------------------------------


def stiffness_claims(robot: Robot, ramp: Trial) -> list[Claim]:
    """Claims about the feasible stiffness."""
    drive: Any = robot.joints[0].drive
    K, Kc = drive.spring_1.stiffness, drive.spring_1.cubic
    least = feasible_stiffness(robot, ramp.motors.tau_e).lower.max(axis=0)
    joint = int(np.argmax(least))
    rho, most = (LOW - 2 * K) / 3, feasible_torque(robot, np.full(robot.n, LOW)).upper[0]
    printed, corrected = (math.sqrt(2 * rho / Kc) * K * (1 + 0.5 * rho / x) for x in (Kc, K))
    return [
        Claim(
            "850 Nm/rad is close to the least possible stiffness",
            "yes",
            f"2K = {2 * K:g} Nm/rad without a load; under the motion's torques {least[joint]:.1f} at joint {joint + 1}",
            verdict(least[joint] <= LOW < 1.1 * least[joint]),
        ),
        Claim(
            "largest |τ_e| at 850 Nm/rad, bound after (31)",
            f"{printed:.3f} Nm as printed",
            f"{most:.3f} Nm by search; with 3K for the printed 3K_c the bound is {corrected:.3f} Nm",
            "misprint",
        ),
    ]


def comparison_claims(tests: dict[str, Trial], family: Ratios) -> list[Claim]:
    """Claims about torques at low and high stiffness."""
    low, high = tests["low"], tests["high"]
    gap = max(np.abs(x.motors.tau_e - low.motors.tau_e).max() for x in tests.values())
    peaks = np.abs(high.torques).max(axis=0) / np.abs(low.torques).max(axis=0)
    reached = family.peaks[np.isfinite(family.peaks)]
    shares = f"{reached.size} of {RANDOM_MOTIONS} random motions can be done at 850 Nm/rad"
    return [
        Claim(
            "τ_e does not depend on the stiffness (Fig. 3)",
            "unchanged",
            f"largest difference {gap:.1g} Nm",
            verdict(gap < 1e-9),
        ),
        Claim(
            "all motor torques are much larger at 1275 than at 850 Nm/rad (Fig. 4)",
            "much larger",
            f"peaks {peaks.min():.1f} to {peaks.max():.1f} times; the least ratio of random motions: median "
            f"{np.median(reached):.1f}, smallest {reached.min():.1f} ({shares})",
            verdict(min(peaks.min(), reached.min()) > 2),
        ),
    ]


def energy_claims(tests: dict[str, Trial]) -> list[Claim]:
    """Claim about energy."""
    (loss, work), (high_loss, high_work) = ((x.effort.sum(), x.work.sum()) for x in (tests["low"], tests["high"]))
    return [
        Claim(
            "motors spend considerable energy to keep a higher stiffness",
            "no number",
            f"∫τ² dt {high_loss / loss:.1f} times ({loss:.0f} → {high_loss:.0f} Nm² s), ∫|τ θ'| dt "
            f"{high_work / work:.1f} times ({work:.0f} → {high_work:.0f} J)",
            verdict(high_loss > 2 * loss and high_work > 2 * work),
        )
    ]


def energy_grid(tests: dict[str, Trial]) -> Grid:
    """Table of losses and work per motor."""
    names = {"ramp": f"{LOW:g} → {HIGH:g}", "low": f"{LOW:g}", "high": f"{HIGH:g}"}
    rows = [
        [names[name], str(joint + 1), *(f"{x[k, joint]:.0f}" for x in (found.effort, found.work) for k in range(2))]
        for name, found in tests.items()
        for joint in range(found.effort.shape[1])
    ]
    motors = [f"{what}, motor {k}" for what in ("∫τ² dt, Nm² s", "∫|τ θ'| dt, J") for k in (1, 2)]
    return Grid("energy", ["stiffness, Nm/rad", "joint", *motors], rows)


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
    for name, sample, when in (("low", 0, "initial"), ("high", -1, "final")):
        found, exact = gap(tests["ramp"], tests[name], sample), gap(smooth, tests[name], sample)
        sigma, sigma_a = TESTS[name][0], tests["ramp"].sigma[2, sample, 0]
        claims.append(
            Claim(
                f"{when} torques of the ramp are those of {sigma:g} Nm/rad (joint 1)",
                "coincide",
                f"{found.torque:.2f} Nm apart, {100 * found.ratio:.1f} %: σ'' = {sigma_a:.0f} Nm/(rad s²); "
                f"with degree 5 {exact.torque:.1g} Nm",
                "nearly",
            )
        )
    return claims


# Figures ----------------------------------------------------------------------------------------------------------


def figures(folder: Path, tests: dict[str, Trial]) -> list[PaperFigure]:
    """Write figures 1 to 4."""
    ramp = tests["ramp"]
    t, motors = ramp.t, ramp.motors

    def panels(number: int, name: str, caption: str, shown: list[tuple[str, str, np.ndarray]]) -> PaperFigure:
        figure, axes = new_figures(len(shown))
        for axis, (title, unit, curves) in zip(axes, shown):
            joints = 1 if np.ptp(curves, axis=1).max() == 0 else curves.shape[1]
            for i, style in enumerate(STYLES[:joints]):
                axis.plot(t, curves[:, i], label=f"joint {i + 1}" if axis is axes[0] else None, **style)
            axis.set(title=title, xlabel="time, s", ylabel=unit, xlim=(0.0, DURATION))
        return saved(figure, folder / f"figure_{number}_{name}.png", caption, f"Fig. {number}")

    reference = [
        ("joint position", "q, °", np.rad2deg(ramp.q[0])),
        ("stiffness of all joints", "σ, Nm/rad", ramp.sigma[0]),
    ]
    n = ramp.q.shape[-1]
    torques = [("motor 1", "τ$_1$, Nm", motors.tau[:, :n]), ("motor 2", "τ$_2$, Nm", motors.tau[:, n:])]
    return [
        panels(1, "reference", "What is asked for: a motion of degree 7, a stiffness of degree 3.", reference),
        panels(
            2, "motor_torques",
            "The two motors of a joint pull against each other; as the stiffness rises they do so harder.", torques,
        ),
        panels(
            3, "elastic_torque", "Sum of both springs: the motion alone determines it, whatever the stiffness.",
            [("total elastic torque", "τ$_e$, Nm", motors.tau_e)],
        ),
        comparison(folder / "figure_4_constant_stiffness.png", tests),
    ]  # fmt: skip


def comparison(path: Path, tests: dict[str, Trial]) -> PaperFigure:
    """Figure of the torques of joint 1 at both constant stiffnesses."""
    figure, axes = new_figures(2)
    for k, axis in enumerate(axes):
        for name, style in (("low", STYLES[0]), ("high", STYLES[1])):
            label = f"{TESTS[name][0]:g} Nm/rad" if k == 0 else None
            axis.plot(tests[name].t, tests[name].torques[:, k, 0], label=label, **style)
        axis.set(title=f"joint 1, motor {k + 1}", xlabel="time, s", ylabel=f"τ$_{k + 1}$, Nm", xlim=(0.0, DURATION))
    caption = "The same motion at two constant stiffnesses: the stiffer joint costs far more torque."
    return saved(figure, path, caption, "Fig. 4")
