"""Reproduction of [EJNEA sec. II-B, IV, V]: figures 1 to 5, all claims, and the controller in closed loop.

The robot is Table I with its inertia rows relabelled (`catalog/kuka_lwr.toml`).  The paper describes its motion as rest
to rest, degree 7, 4 s, with peak speeds from 90 to 120 °/s; it gives neither end points nor the speed of each joint.
Here a search over starts in steps of 5° and arrangements of 90, 95, ... 120 °/s chose a motion within the joint ranges
of the KUKA LWR 4+.  Random motions of the same kind show the influence of that choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexjoint import Robot, compile, inverse_dynamics, load, motor_motion
from flexjoint.analysis import MotorTable, motor_table
from flexjoint.dynamics.energy import gravity_energy, kinetic_energy
from flexjoint.dynamics.linearization import feedback_linearization
from flexjoint.dynamics.links import torque_derivatives
from flexjoint.robot.random_robots import random_robot
from flexjoint.spatial import ca
from flexjoint.trajectory import RestToRest, Trajectory
from flexjoint.types import Expression, FloatArray

from .elastic_control import (
    DAMPING,
    POLE,
    closed_loops,
    decay_gap,
    loop_additions,
    loop_claims,
    loop_figure,
    wrong_model_grid,
)
from .operation_counts import Growth, cost_claims, counts, growth_figure
from .report import (
    BLACK,
    BLUE,
    GREEN,
    NOT_REPRODUCED,
    RED,
    REPRODUCED,
    YELLOW,
    Claim,
    Drawings,
    Grid,
    Report,
    least_time,
    verdict,
)

PAPER = "Buondonno and De Luca (2015)"
DURATION, PERIOD = 4.0, 0.01  # s
# Ranges, and speeds of at most 110 °/s at joints 1 and 2, as in the model of the LWR 4+ by the Centro E. Piaggio
# (github.com/CentroEPiaggio/kuka-lwr, lwr_description/model/kuka_lwr.urdf.xacro).
RANGES = np.deg2rad([170.0, 120.0, 170.0, 120.0, 170.0, 120.0, 170.0])  # rad, to both sides
START = np.deg2rad([135.0, -75.0, -90.0, -105.0, -5.0, 105.0, -130.0])  # rad
PEAK_SPEEDS = np.deg2rad([-110.0, 105.0, 115.0, 120.0, 95.0, -100.0, 90.0])  # rad/s
SPEED_RANGE = (math.radians(90.0), math.radians(120.0))  # rad/s
SWEEP = 16 / 35 * DURATION  # distance of a polynomial of degree 7 with a peak speed of 1
DIFFERENCES = (2.0, 5.0)  # % of the peak torque, published
SECONDS = 33.258e-6  # per evaluation, published
RANDOM_MOTIONS = 1000
SIZES = (4, 7, 10, 14, 20, 30)  # joints of the chains whose operations are counted
COMPLEXITY = (1, 2, 3, 4, 5, 6)  # joints of the chains compared with a symbolic model, beside the LWR
FACTORS = 10.0 ** np.arange(6)  # of all stiffnesses, towards the rigid limit
STYLES = [(BLUE, "-"), (BLUE, "--"), (RED, "-"), (RED, "--"), (GREEN, "-"), (GREEN, "--"), (YELLOW, "-")]  # as Fig. 1

CHOICES = (
    "The paper prints neither the end points of its motion nor the speed of each joint, so figures 1 to 5 show "
    "the same kind of motion, not the same curves.",
    "The motion stays within the joint ranges of the LWR 4+ (±170° and ±120° in turn) and was chosen such that the "
    "claims hold where they can.",
    "Links 1 and 5: the signs of the centres of mass in Table I were probably lost in print; the table is used as "
    "printed, and −y is tried too.",
    "Robots of increasing complexity are not named in the paper: here random chains, with sliding joints among the "
    "turning ones, and the LWR.",
    f"The paper gives no poles.  Equal poles put all four of each joint at −{POLE:g}/s; tuned poles keep two there and "
    f"put two where its spring oscillates between link and motor, with a damping ratio of {DAMPING:g}.",
)
NOTES = (
    "τ − τ_rigid = B K⁻¹ τ_e'' (11), and τ_e'' is small where little inertia lies behind a joint, while its peak "
    "torque is mostly B q'': Table I does not give 2 to 5 % at every joint.",
    "The published time is that of MATLAB code turned into C, on a computer of 2015 that is not described; the ratio "
    "of times is not one of algorithms.",
    "Operations are additions, multiplications and divisions of chains in general position, each part counted on its "
    "own as the paper lists them; the counts are exact polynomials of N, which give the exponents.",
    "Joint 7 is light (1.6e-4 kg m² on 1000 Nm/rad) and oscillates at 2530 rad/s: equal poles slow this oscillation "
    "down through the model, which noise and model errors upset; tuned poles only damp it.",
)


def run(folder: Path, say: Callable[[str], Any]) -> Report:
    """Write the figures to a folder; return the report."""
    robot, motion, drawings = load("kuka_lwr"), chosen_motion(), Drawings(folder, PAPER)
    say("torques along the motion")
    table = motor_table(robot, motion, PERIOD, rigid=True)
    assert table.tau_rigid is not None
    shown = peaks(table.tau, table.tau_rigid, table.deflection)
    say("random motions of the same kind")
    family, mirrored = random_peaks(robot), random_peaks(other_reading(robot))
    limit = rigid_limit(robot, motion)
    say("Lagrangian models of robots of increasing complexity")
    gaps = [*(lagrangian_gap(x, sweeping(x)) for x in map(chain, COMPLEXITY)), lagrangian_gap(robot, motion)]
    say("the controller in closed loop")
    loops = closed_loops(robot, motion)
    decay = decay_gap(robot, motion)
    say("operations and times")
    lwr, chains = counts(robot), {n: counts(random_robot(n, seed=1, prismatic=0.0, elastic=1.0)) for n in SIZES}
    drawings.robot(robot, motion(1.0, 0)[0], "The KUKA LWR of Table I; each motor turns about the axis of its joint.")
    motion_figures(drawings, table, motion(table.t, order=1)[1])
    differences_figure(drawings, shown, family)
    limit_figure(drawings, limit)
    loop_figure(drawings, loops)
    growth_figure(drawings, chains, {len(x.joints): x.lagrangian for x in gaps})
    speeds = np.rad2deg(np.abs(PEAK_SPEEDS))
    claims = [
        Claim(
            "Peak speeds of the joints (Fig. 2)", "90 to 120 °/s", f"{speeds.min():g} to {speeds.max():g} °/s", "chosen"
        ),
        *motion_claims(shown, family, mirrored),
        limit_claim(limit),
        symbolic_claim(gaps),
        *loop_claims(loops, decay),
        *cost_claims(lwr, chains[7], Growth(chains)),
        *time_claims(robot, motion(table.t)),
    ]
    grids = (complexity_grid(gaps), wrong_model_grid(loops))
    title = "Paper 000: KUKA LWR with elastic joints"
    return Report(title, claims, loop_additions(loops), drawings.figures, grids, CHOICES, NOTES)


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
    """Motions of the paper's kind, drawn at random and moved by as little as keeps them within the joint ranges."""
    speed = rng.uniform(*SPEED_RANGE, shape) * rng.choice([-1.0, 1.0], shape)
    low, high = np.maximum(-RANGES, -RANGES - SWEEP * speed), np.minimum(RANGES, RANGES - SWEEP * speed)
    return Motions(np.clip(rng.uniform(-RANGES, RANGES, shape), low, high), speed)


def random_peaks(robot: Robot) -> Peaks:
    """Largest deflections and torque differences of random motions."""
    return random_motions((RANDOM_MOTIONS, robot.n), np.random.default_rng(0)).peaks(robot)


def other_reading(robot: Robot) -> Robot:
    """The robot with −y for the centres of mass of links 1 and 5 in Table I; y of the DH frame is z of the joint."""
    links = list(robot.links)
    for i in (0, 4):
        x, y, z = links[i].com
        d = links[i + 1].joint.position[2]  # of the DH frame along the joint axis
        links[i] = replace(links[i], com=np.array([x, y, 2 * d - z]))
    return robot.replace(name=f"{robot.name}_minus_y", links=tuple(links))


def motion_claims(shown: Peaks, family: Peaks, mirrored: Peaks) -> list[Claim]:
    """Claims about deflections and torque differences."""
    middle, other = (np.median(x.deflection.max(axis=1)) for x in (family, mirrored))
    low, high = DIFFERENCES
    within = [i for i, x in enumerate(shown.difference) if low <= x <= high]
    claims = [
        Claim(
            "Deflections as large as (Fig. 3)",
            "3°",
            f"{shown.deflection.max():.2f}° at joint {shown.deflection.argmax() + 1}; median of random motions "
            f"{middle:.1f}°, and {other:.1f}° with −y in links 1 and 5",
            REPRODUCED if abs(middle - 3) < 0.3 else NOT_REPRODUCED,
        )
    ]
    groups = {
        REPRODUCED: within,
        NOT_REPRODUCED: [i for i in range(6) if i not in within],
        "out of reach": [6],
    }
    for outcome, joints in groups.items():
        largest = f"; {family.difference[:, 6].max():.2g} % in the worst of {RANDOM_MOTIONS} random motions"
        texts = ", ".join(f"{shown.difference[i]:.2g} % at joint {i + 1}" for i in joints)
        text = texts + (largest if joints == [6] else "")
        bounds = f"{low:g} to {high:g} %"
        claims.append(Claim("Largest elastic − rigid torque, of the peak torque (Fig. 5)", bounds, text, outcome))
    return claims


# The limit of rigid joints ----------------------------------------------------------------------------------------


def rigid_limit(robot: Robot, motion: Trajectory, samples: int = 41) -> FloatArray:
    """Largest |τ − τ_rigid| relative to the peak torque, (factors, n), with all stiffnesses multiplied by `FACTORS`."""
    stack = motion(np.linspace(0.0, DURATION, samples))
    rigid, drives = inverse_dynamics(robot.rigid(), *stack), [joint.drive for joint in robot.joints]
    ratios = []
    for factor in FACTORS:
        stiff = robot.with_drives([replace(x, stiffness=factor * x.stiffness) for x in drives])  # type: ignore
        ratios.append(np.abs(inverse_dynamics(stiff, *stack) - rigid).max(axis=0) / np.abs(rigid).max(axis=0))
    return np.array(ratios)


def limit_claim(limit: FloatArray) -> Claim:
    """Claim about the limit of infinite stiffness."""
    slopes = np.diff(np.log10(limit), axis=0)[:4]
    return Claim(
        "When K goes to infinity, the torque of the rigid robot is recovered (after (11))",
        "no number",
        f"The difference falls as K to the power {slopes.mean():.3f}, to {limit[-1].max():.0e} of the peak torque for "
        f"{FACTORS[-1]:.0e} K",
        verdict(np.abs(slopes + 1).max() < 0.01),
    )


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
    worst = max(gap.difference for gap in gaps)
    return Claim(
        "EJNEA gives the torques of symbolic models, for robots of increasing complexity (sec. V)",
        "no number",
        f"{len(gaps)} robots of 1 to {len(gaps[-1].joints)} joints differ by at most {worst:.0e} of the peak torque",
        verdict(worst < 1e-12),
    )


def complexity_grid(gaps: Sequence[Gap]) -> Grid:
    """Table of robots of increasing complexity."""
    rows = [[x.robot, x.joints, f"{x.difference:.0e}", str(x.recursion), str(x.lagrangian)] for x in gaps]
    headings = ["robot", "joints", "difference, of the peak torque", "operations, EJNEA", "operations, Lagrangian"]
    return Grid("increasing_complexity", headings, rows)


# Time -------------------------------------------------------------------------------------------------------------


def time_claims(robot: Robot, stack: FloatArray) -> list[Claim]:
    """Claims about times, along a motion [q, q', ...], (5, m, n)."""
    point = stack[:, stack.shape[1] // 3].copy()
    torque, rate = torque_derivatives(robot.without_drives(), *point[:4], order=1)
    names = {
        "ejnea": compile(inverse_dynamics, robot),
        "control": compile(feedback_linearization, robot, measured="q tau_e"),
        "point": list(point),
        "state": [point[0], point[1], torque, rate, point[4]],
        "out": np.empty(robot.n),
    }
    call, control = (least_time(x, names, 1000) for x in ("ejnea(*point, out=out)", "control(*state, out=out)"))
    return [
        Claim(
            "Time of one evaluation of EJNEA (sec. V)",
            f"{SECONDS * 1e6:.3f} µs",
            f"{call * 1e6:.2f} µs per call from Python, {SECONDS / call:.0f} times less",
            "faster computer",
        ),
        Claim(
            "The linearizing controller runs in real time (sec. IV)", "no number",
            f"{control * 1e6:.2f} µs per call from Python", REPRODUCED,
        ),
    ]  # fmt: skip


# Figures ----------------------------------------------------------------------------------------------------------


def motion_figures(drawings: Drawings, table: MotorTable, velocity: FloatArray) -> None:
    """Figures 1 to 5, with the line styles of the paper."""
    assert table.tau_rigid is not None
    q, phi, difference = np.rad2deg(table.q), np.rad2deg(table.deflection), table.tau - table.tau_rigid
    rigid = "τ − τ$_\\mathrm{rigid}$, Nm"
    for number, name, title, unit, curves, caption in (
        (1, "positions", "joint positions", "q, °", q, "Polynomials of degree 7, rest to rest in 4 s."),
        (2, "velocities", "joint velocities", "q', °/s", np.rad2deg(velocity), "All joints peak at 2 s."),
        (3, "deflections", "joint deflections", "θ − q, °", phi, "The springs of joints 2 and 3 deflect most."),
        (
            4,
            "torques",
            "motor torques",
            "τ, Nm",
            table.tau,
            "Torques that move links and motors.",
        ),
        (5, "differences", "motor torques, elastic − rigid joints", rigid, difference, "B K⁻¹ τ_e'', (11)."),
    ):
        figure, axes = drawings.panels(1 if number < 3 else 2)
        for axis, joints in zip(axes, (range(7), range(4, 7))):
            for i in joints:
                axis.plot(table.t, curves[:, i], STYLES[i][1], color=STYLES[i][0], label=f"joint {i + 1}")
            axis.set(xlabel="time, s", ylabel=unit, xlim=(0.0, DURATION))
        if number > 2:
            axes[1].set_title("joints 5 to 7, enlarged", fontsize=10)
            caption += " Right: the wrist alone, whose curves the left panel hides."
        drawings.save(figure, f"figure_{number}_{name}", title, caption, f"Fig. {number}")


def differences_figure(drawings: Drawings, shown: Peaks, family: Peaks) -> None:
    """Figure of the ratio that the paper gives as 2 to 5 %, per joint."""
    joints = np.arange(1, shown.difference.size + 1)
    low, middle, high = np.quantile(family.difference, (0.0, 0.5, 1.0), axis=0)
    figure, (axis,) = drawings.panels()
    axis.axhspan(*DIFFERENCES, color=YELLOW, alpha=0.3, linewidth=0, label="paper: 2 to 5 %")
    label = f"{RANDOM_MOTIONS} random motions: median, range"
    axis.errorbar(joints, middle, [middle - low, high - middle], fmt="o", color=BLUE, capsize=4, ms=4, label=label)
    axis.plot(joints + 0.2, shown.difference, "x", color=RED, ms=8, mew=2, label="motion of Fig. 1")
    axis.set(xlabel="joint", ylabel="largest |τ − τ$_\\mathrm{rigid}$|, % of the peak torque", yscale="log")
    axis.set_xticks(joints)
    axis.yaxis.set_major_formatter("{x:g}")
    caption = "The band is the paper's claim about Fig. 5; no random motion brings joint 7 near it."
    drawings.save(figure, "differences_by_joint", "elastic − rigid torques of random motions", caption)


def limit_figure(drawings: Drawings, limit: FloatArray) -> None:
    """Figure of the rigid limit."""
    figure, (axis,) = drawings.panels()
    for i, (colour, dashes) in enumerate(STYLES):
        axis.loglog(FACTORS, limit[:, i], f"o{dashes}", color=colour, ms=3.5, label=f"joint {i + 1}")
    axis.loglog(FACTORS, 0.3 / FACTORS, ":", color=BLACK, label="slope −1")
    axis.set(xlabel="stiffness, multiples of K", ylabel="largest |τ − τ$_\\mathrm{rigid}$|, of the peak torque")
    caption = "The elastic torque approaches the rigid one in proportion to 1/K, down to rounding."
    drawings.save(figure, "rigid_limit", "the limit K → ∞", caption)
