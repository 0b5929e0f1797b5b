"""Reproduction of [EJNEA sec. II-B, IV, V]: figures 1 to 5, all claims, and the control law in closed loop.

The robot is Table I with its inertia rows relabelled (`catalog/kuka_lwr.toml`).  The paper describes its motion as rest
to rest, degree 7, 4 s, with peak speeds from 90 to 120 °/s; it gives neither end points nor the speed of each joint.
Here the motion stays within the joint ranges of the KUKA LWR 4+, and starts, speeds and signs were found by a search
over starts in steps of 5° and arrangements of 90, 95, ... 120 °/s such that the claims hold where they can.  Many
random motions of the same kind show the influence of that choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexjoint.algorithm.compile import compile
from flexjoint.analysis.torque_table import MotorTable, motor_table
from flexjoint.dynamics.energy import gravity_energy, kinetic_energy
from flexjoint.dynamics.inverse import inverse_dynamics, motor_motion
from flexjoint.dynamics.linearization import feedback_linearization
from flexjoint.formats import load
from flexjoint.robot import Robot
from flexjoint.robot.random_robots import random_robot
from flexjoint.spatial import ca
from flexjoint.trajectory import RestToRest
from flexjoint.types import Expression

from .elastic_control import closed_loops, control_claims, control_figure, control_grids
from .elastic_cost import cost_claims, growth_figure, measured, time_claims
from .operation_counts import Growth, counts
from .report import (
    AS_SAID,
    BLUE,
    GREEN,
    NOT_SO,
    RED,
    YELLOW,
    Claim,
    Grid,
    PaperFigure,
    Report,
    claim_grid,
    joint_curves,
    new_figure,
    saved,
    verdict,
)

DURATION = 4.0  # s
PERIOD = 0.01  # s
# Ranges, and speeds of at most 110 °/s at joints 1 and 2, as in the model of the LWR 4+ by the Centro E. Piaggio
# (github.com/CentroEPiaggio/kuka-lwr, lwr_description/model/kuka_lwr.urdf.xacro).
RANGES = np.deg2rad([170.0, 120.0, 170.0, 120.0, 170.0, 120.0, 170.0])  # rad, to both sides
START = np.deg2rad([135.0, -75.0, -90.0, -105.0, -5.0, 105.0, -130.0])  # rad
PEAK_SPEEDS = np.deg2rad([-110.0, 105.0, 115.0, 120.0, 95.0, -100.0, 90.0])  # rad/s
SPEED_RANGE = (math.radians(90.0), math.radians(120.0))  # rad/s
SWEEP = 16 / 35 * DURATION  # distance of a polynomial of degree 7 with a peak speed of 1
DIFFERENCES = (2.0, 5.0)  # % of the peak torque, published
RANDOM_MOTIONS = 1000
SEARCH_ROUNDS = 15
QUANTILES = (0.05, 0.5, 0.95)
SIZES = (4, 7, 10, 14, 20, 30)  # joints of the chains whose operations are counted
COMPLEXITY = (1, 2, 3, 4, 5, 6)  # joints of the chains compared with a symbolic model, beside the LWR

STYLES = [(BLUE, "-"), (BLUE, "--"), (RED, "-"), (RED, "--"), (GREEN, "-"), (GREEN, "--"), (YELLOW, "-")]  # as Fig. 1


def run(folder: Path, say: Callable[[str], Any]) -> Report:
    """Write the figures to a folder; the report."""
    robot = load("kuka_lwr")
    say("torques along the motion")
    motion = chosen_motion()
    table = motor_table(robot, motion, PERIOD, rigid=True)
    assert table.tau_rigid is not None
    velocity = motion(table.t, order=1)[1]
    shown = peaks(table.tau, table.tau_rigid, table.deflection)
    say("random motions of the same kind")
    family, other = random_peaks(robot), random_peaks(other_reading(robot))
    extremes = np.array([most_different(robot, i) for i in range(robot.n)])
    say("Lagrangian models of robots of increasing complexity")
    gaps = [*(lagrangian_gap(x, sweeping(x)) for x in map(chain, COMPLEXITY)), lagrangian_gap(robot, motion)]
    say("the control law in closed loop")
    loops = closed_loops(robot, motion)
    say("operations of chains of different lengths")
    lwr, chains = counts(robot), {n: counts(random_robot(n, seed=1, prismatic=0.0, elastic=1.0)) for n in SIZES}
    growth = Growth(chains)
    say("times")
    seconds = measured(robot, motion(table.t))
    say("figures")
    figures = [*motion_figures(folder, table, velocity), differences_figure(folder, shown, family, extremes)]
    figures += [control_figure(folder, loops), growth_figure(folder, chains, gaps)]
    claims = [
        *motion_claims(velocity, shown, family, other, extremes),
        symbolic_claim(gaps),
        *control_claims(loops),
        *time_claims(seconds, table.t.size, compile(feedback_linearization, robot, measured="q tau_e").operations, lwr),
        *cost_claims(lwr, chains[7], growth),
    ]
    grids = (claim_grid(claims), joint_grid(shown, family, extremes), complexity_grid(gaps), *control_grids(loops))
    return Report("Paper 000: KUKA LWR with elastic joints", grids, tuple(figures), NOTES, CHOICES)


CHOICES = (
    "The paper does not print the end points of its motion nor the speed of each joint: figures 1 to 5 show the same "
    "kind of motion, not the same curves. The one here stays within the joint ranges of the LWR 4+ (±170° and ±120° in "
    "turn) and was chosen such that the claims hold where they can; random motions stay within the ranges too. "
    "Beyond the ranges there are motions with 2.97° and 2 to 5 % at joints 1 to 4; within them none was found.",
    "Table I is rounded, its inertia rows are mislabelled, and in the centres of mass of links 1 and 5 a minus sign "
    "was probably lost; random motions were computed for both readings.",
    "The paper closes no loop: poles at −100 rad/s, a period of 0.1 ms, the noise of the sensors, the errors of the "
    "model and the gains of the PD law (2000 Nm/rad, 100 Nm s/rad) are chosen here. Masses are those of "
    "the links; their inertia tensors and the motors are known.",
    "Robots of increasing complexity are not named in the paper: here random chains with sliding joints among the "
    "turning ones, and the LWR.",
)
NOTES = (
    "τ − τ_rigid = B K⁻¹ τ_e'' (11), and τ_e'' is small where little inertia lies behind a joint, while the peak "
    "torque there is mostly B q''. So Table I does not give 2 to 5 % at every joint: at joint 7 no motion of this kind "
    "comes near, at joints 5 and 6 only some of those in which joint 1 differs by far more.",
    "The paper's time is that of MATLAB code turned into C, on a computer of 2015 that is not described; the ratio of "
    "the times is not one of algorithms.",
    "Operations are additions, multiplications and divisions. Chains have turning joints in general position; their "
    "parts are counted each on its own, as the paper lists them. All points of the figure are counted; the counts are "
    "exact polynomials of N, which give the exponents at 100 and 1000 joints.",
    "Joint 7 is light (1.6e-4 kg m² on 1000 Nm/rad): cancelling its oscillation at 2530 rad/s by a model is what noise "
    "and model errors upset. Where q and θ are measured, τ_e = K (θ − q) has the error of K; where q and τ_e are "
    "measured, K enters through B/K only, and the loop stays stable at all errors tried.",
)


# The motion -------------------------------------------------------------------------------------------------------


def chosen_motion() -> RestToRest:
    """The motion of figures 1 to 5."""
    return RestToRest(START, START + SWEEP * PEAK_SPEEDS, DURATION)


class Peaks(NamedTuple):
    """Largest deflection, °, and largest torque difference, % of the peak torque, per motion and joint."""

    deflection: np.ndarray
    difference: np.ndarray


def peaks(tau: np.ndarray, tau_rigid: np.ndarray, deflection: np.ndarray) -> Peaks:
    """Largest values over time, which is the second-last axis."""
    largest, torque, difference = (np.abs(x).max(axis=-2) for x in (deflection, tau, tau - tau_rigid))
    return Peaks(np.rad2deg(largest), 100 * difference / torque)


class Motions(NamedTuple):
    """Start, rad, and peak speed, rad/s, of m motions of the paper's kind, both (m, n)."""

    start: np.ndarray
    speed: np.ndarray

    def peaks(self, robot: Robot, samples: int = 101) -> Peaks:
        """Largest deflections and torque differences per motion and joint."""
        rise = RestToRest(np.zeros(1), np.ones(1), DURATION)(np.linspace(0.0, DURATION, samples))  # (5, samples, 1)
        stack = [SWEEP * self.speed[:, None] * x for x in rise]
        stack[0] += self.start[:, None]
        motors = motor_motion(robot, *stack)
        return peaks(motors.tau, inverse_dynamics(robot.rigid(), *stack), motors.deflection)


def random_motions(shape: tuple[int, int], rng: np.random.Generator) -> Motions:
    """Motions of the paper's kind within the joint ranges, drawn at random."""
    speed = rng.uniform(*SPEED_RANGE, shape) * rng.choice([-1.0, 1.0], shape)
    return within_ranges(Motions(rng.uniform(-RANGES, RANGES, shape), speed))


def within_ranges(motions: Motions) -> Motions:
    """The motions with starts moved by as little as keeps both ends within the joint ranges."""
    distance = SWEEP * motions.speed
    low, high = np.maximum(-RANGES, -RANGES - distance), np.minimum(RANGES, RANGES - distance)
    return Motions(np.clip(motions.start, low, high), motions.speed)


def random_peaks(robot: Robot) -> Peaks:
    """Largest deflections and torque differences of random motions."""
    return random_motions((RANDOM_MOTIONS, robot.n), np.random.default_rng(0)).peaks(robot)


def most_different(robot: Robot, joint: int, kept: int = 40, children: int = 8) -> np.ndarray:
    """Torque differences of all joints, % of their peak torques, in the motion that maximizes that of one joint.

    Evolutionary search: each round keeps the best motions and adds random changes of them with a shrinking step.
    """
    rng = np.random.default_rng(joint)
    motions = random_motions((RANDOM_MOTIONS, robot.n), rng)
    ratios = motions.peaks(robot).difference
    for k in range(SEARCH_ROUNDS):
        best = np.argsort(-ratios[:, joint])[:kept]
        parents = Motions(*(np.repeat(x[best], children, axis=0) for x in motions))
        step = 0.5 * 0.9**k
        speed = np.clip(np.abs(parents.speed) + step * rng.normal(size=parents.speed.shape), *SPEED_RANGE)
        sign = np.sign(parents.speed) * np.where(rng.random(speed.shape) < 0.05, -1.0, 1.0)
        young = within_ranges(Motions(parents.start + step * rng.normal(size=speed.shape), sign * speed))
        motions = Motions(*(np.concatenate([x[best], y]) for x, y in zip(motions, young)))
        ratios = np.concatenate([ratios[best], young.peaks(robot).difference])
    return ratios[ratios[:, joint].argmax()]


def other_reading(robot: Robot) -> Robot:
    """The robot with −y for the centres of mass of links 1 and 5 in Table I; y of the DH frame is z of the joint."""
    links = list(robot.links)
    for i in (0, 4):
        x, y, z = links[i].com
        d = links[i + 1].joint.position[2]  # of the DH frame along the joint axis
        links[i] = replace(links[i], com=np.array([x, y, 2 * d - z]))
    return robot.replace(name=f"{robot.name}_minus_y", links=tuple(links))


def motion_claims(velocity: np.ndarray, shown: Peaks, family: Peaks, other: Peaks, extremes: np.ndarray) -> list[Claim]:
    """Claims about speeds, deflections and torque differences."""
    speeds = np.rad2deg(np.abs(velocity).max(axis=0))
    most, second = (np.quantile(x.deflection.max(axis=1), QUANTILES) for x in (family, other))
    claims = [
        Claim(
            "peak speeds of the joints (Fig. 2)",
            "90 to 120 °/s",
            f"{speeds.min():.1f} to {speeds.max():.1f} °/s",
            "chosen so",
        ),
        Claim(
            "deflections as large as (Fig. 3)",
            "3°",
            f"{shown.deflection.max():.2f}° at joint {shown.deflection.argmax() + 1}; random motions {most[1]:.1f}° "
            f"(90 % from {most[0]:.1f} to {most[2]:.1f}), {second[1]:.1f}° with −y in links 1 and 5",
            AS_SAID if abs(shown.deflection.max() - 3) < 0.1 else "nearly",
        ),
    ]
    verdicts = [difference_verdict(x, y) for x, y in zip(shown.difference, np.diag(extremes))]
    for found in dict.fromkeys(verdicts):
        joints = [i for i, x in enumerate(verdicts) if x == found]
        claims.append(
            Claim(
                "largest torque difference, elastic − rigid, of the peak torque (Fig. 5)",
                "{:g} to {:g} %".format(*DIFFERENCES),
                "; ".join(difference_text(i, shown.difference[i], extremes[i], found) for i in joints),
                found,
            )
        )
    return claims


def difference_text(i: int, shown: float, extreme: np.ndarray, found: str) -> str:
    """Torque difference of a joint as text; `found` is the verdict on it."""
    most = "" if found == AS_SAID else f", at most {extreme[i]:.2g} % found"
    aside = f" (where joint 1 has {extreme[0]:.2g} %)" if found == NOT_SO else ""
    return f"joint {i + 1}: {shown:.2g} %{most}{aside}"


def difference_verdict(shown: float, extreme: float) -> str:
    """Verdict on the torque difference of a joint; the largest found by search counts in whole percents."""
    low, high = DIFFERENCES
    if low <= shown <= high:
        return AS_SAID
    return "not possible" if round(extreme) < low else NOT_SO


def joint_grid(shown: Peaks, family: Peaks, extremes: np.ndarray) -> Grid:
    """Table of torque differences per joint, % of the peak torque."""
    low, middle, high = np.quantile(family.difference, QUANTILES, axis=0)
    rows = [
        [str(i + 1), f"{shown.difference[i]:.2g}", f"{middle[i]:.2g}", f"{low[i]:.2g} to {high[i]:.2g}", f"{most:.2g}"]
        for i, most in enumerate(np.diag(extremes))
    ]
    headings = ["joint", "elastic − rigid, %", "random motions, median", "90 % of them", "largest found by search"]
    return Grid("differences_by_joint", headings, rows)


# The symbolic model -----------------------------------------------------------------------------------------------


class Gap(NamedTuple):
    """Of a robot: largest difference to its Lagrangian model relative to the largest torque, and operations of both."""

    robot: str
    joints: str  # a letter each
    difference: float
    lagrangian: int
    recursion: int


def lagrangian_torque(robot: Robot) -> Any:
    """CasADi Function of the motor torque, from the energies by automatic differentiation: (4), (6), (9), (10)."""
    q = [ca.SX.sym(f"q{k}", robot.n) for k in range(5)]

    def rate(x: Expression, order: int) -> Expression:
        return sum((ca.jtimes(x, q[k], q[k + 1]) for k in range(order + 1)), ca.SX.zeros(robot.n))

    links = robot.without_drives()
    T, V = kinetic_energy(links, q[0], q[1]), gravity_energy(links, q[0])
    tau_e = rate(ca.gradient(T, q[1]), 1) - ca.gradient(T, q[0]) + ca.gradient(V, q[0])
    drives: list[Any] = [joint.drive for joint in robot.joints]
    B, K = (ca.DM(x) for x in ([d.motor.inertia for d in drives], [d.stiffness for d in drives]))
    tau = tau_e + B * (q[2] + rate(rate(tau_e, 2), 3) / K)
    return ca.Function("lagrangian", q, [tau])


def lagrangian_gap(robot: Robot, motion: RestToRest, samples: int = 41) -> Gap:
    """Difference of the recursion to the Lagrangian model along a motion."""
    stack = motion(np.linspace(0.0, motion.duration, samples))
    model = lagrangian_torque(robot)
    expected = np.array(model.map(samples)(*(x.T for x in stack))).T
    difference = np.abs(inverse_dynamics(robot, *stack) - expected).max() / np.abs(expected).max()
    letters = "".join(joint.kind.letter for joint in robot.joints)
    operations = compile(inverse_dynamics, robot).operations
    return Gap(robot.name, letters, float(difference), model.n_instructions(), operations)


def chain(n: int) -> Robot:
    """A chain of n elastic joints, sliding ones among the turning ones from three joints on."""
    return random_robot(n, seed=6, prismatic=0.25, elastic=1.0)


def sweeping(robot: Robot) -> RestToRest:
    """The motion of the first joints of figure 1, from 0; sliding joints move by as many quarters of a metre."""
    scale = np.array([1.0 if joint.kind.letter == "R" else 0.25 for joint in robot.joints])
    return RestToRest(np.zeros(robot.n), scale * SWEEP * PEAK_SPEEDS[: robot.n], DURATION)


def symbolic_claim(gaps: Sequence[Gap]) -> Claim:
    """Claim about symbolic models of robots of increasing complexity; the last one is the LWR."""
    worst, lwr = max(gap.difference for gap in gaps), gaps[-1]
    return Claim(
        "EJNEA gives the torques of symbolic models, for robots of increasing complexity",
        "compared, no number",
        f"{len(gaps)} robots of 1 to {len(lwr.joints)} joints: largest difference {worst:.0e} of the peak torque; LWR: "
        f"{lwr.recursion} operations, the Lagrangian by automatic differentiation {lwr.lagrangian}",
        verdict(worst < 1e-12),
    )


def complexity_grid(gaps: Sequence[Gap]) -> Grid:
    """Table of robots of increasing complexity."""
    rows = [[x.robot, x.joints, f"{x.difference:.0e}", str(x.recursion), str(x.lagrangian)] for x in gaps]
    headings = ["robot", "joints", "difference, of the peak torque", "operations, EJNEA", "operations, Lagrangian"]
    return Grid("increasing_complexity", headings, rows)


# Figures ---------------------------------------------------------------------------------------------------------


def motion_figures(folder: Path, table: MotorTable, velocity: np.ndarray) -> list[PaperFigure]:
    """Write figures 1 to 5, with the line styles of the paper."""
    assert table.tau_rigid is not None
    shown = [
        ("positions", "Joint positions", "q, °", np.rad2deg(table.q), "Polynomials of degree 7, rest to rest in 4 s."),
        ("velocities", "Joint velocities", "q', °/s", np.rad2deg(velocity), "All joints peak at 2 s."),
        (
            "deflections", "Joint deflections", "θ − q, °", np.rad2deg(table.deflection),
            "The springs of joints 2 and 4, which carry the arm, deflect most: the load sets the deflection.",
        ),
        ("torques", "Motor torques", "τ, Nm", table.tau, "Torques that move links and motors along figures 1 and 3."),
        (
            "differences", "Motor torques, elastic − rigid joints", "τ − τ$_\\mathrm{rigid}$, Nm",
            table.tau - table.tau_rigid,
            "B K⁻¹ τ_e'': what a rigid model leaves out. It is largest where the load torque curves most.",
        ),
    ]  # fmt: skip
    return [
        joint_curves(folder / f"figure_{k}_{name}.png", f"Fig. {k}", title, unit, table.t, y, STYLES, caption)
        for k, (name, title, unit, y, caption) in enumerate(shown, start=1)
    ]


def differences_figure(folder: Path, shown: Peaks, family: Peaks, extremes: np.ndarray) -> PaperFigure:
    """Figure of the ratio that the paper gives as 2 to 5 %, per joint."""
    joints = np.arange(1, shown.difference.size + 1)
    low, middle, high = np.quantile(family.difference, QUANTILES, axis=0)
    figure, axis = new_figure()
    axis.axhspan(*DIFFERENCES, color=YELLOW, alpha=0.3, linewidth=0, label="paper: 2 to 5 %")
    many = f"{RANDOM_MOTIONS} random motions,\nmedian and 90 %"
    axis.errorbar(joints, middle, [middle - low, high - middle], fmt="o", color=BLUE, capsize=4, ms=4, label=many)
    axis.plot(joints, shown.difference, "x", color=RED, ms=8, mew=2, label="motion of Fig. 1")
    axis.plot(joints, np.diag(extremes), "_", color=GREEN, ms=12, mew=2, label="largest found by search")
    axis.set(title="Largest |elastic − rigid|, of the peak torque", xlabel="joint", ylabel="%", yscale="log")
    axis.set_xticks(joints)
    axis.yaxis.set_major_formatter("{x:g}")
    caption = (
        "Largest difference of motor torque between elastic and rigid joints, per joint. The band is the paper's "
        "claim; no motion of this kind brings joint 7 there."
    )
    return saved(figure, folder / "differences_by_joint.png", caption)
