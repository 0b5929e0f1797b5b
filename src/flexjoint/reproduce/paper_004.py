"""[DeLuca sec. IV, V]: the sixteen recursions, the time of C*, and the residual of section II-A under faults.

The robot is the DLR LWR-III of Table I; its dynamic parameters are not published, those of `robots/dlr_lwr3.toml` are
chosen.  The paper shows no motion: here the arm moves from rest to rest under computed torque, while joint 2 loses a
part of its torque for a while and later something strikes link 6.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.coriolis import coriolis_matrix, mass_matrix_rate
from ..algorithms.energy import kinetic_energy
from ..algorithms.kinematics import jacobian
from ..algorithms.sixteen import modified_recursion
from ..api import kernel_of
from ..compiler.program import Array
from ..control import ComputedTorque, gains_from_poles
from ..loading import load
from ..observers import Measurement, MomentumResidual
from ..robot import Robot
from ..simulation import simulate
from ..simulation.faults import FaultyActuators
from ..spatial import ca, sx
from ..trajectory import RestToRest
from .figures import BLUE, GREEN, RED, YELLOW, new_figure, saved
from .report import AS_SAID, NOT_SO, Claim, Grid, Report, claim_grid
from .variants import VARIANTS, nonzero

SKEW = {"0001", "1110"}  # as the paper says
CHAINS = ("RR", "RRR", "RRRRR", "RRRRRRR")
PAPER_RATIO = 2.201 / 0.105  # Fig. 3

DURATION, PERIOD, CUTOFF = 3.0, 1e-3, 50.0  # s, s, rad/s
FAULTY, EFFICIENCY, FAULT = 1, 0.7, (0.6, 1.2)  # joint 2; of its torque; s
STRUCK, FORCE, COLLISION = "link6", (0.0, 40.0, 30.0), (2.0, 2.2)  # at most, N in base coordinates; s


def run(folder: Path, say: Callable[[str], Any]) -> Report:
    robot = load("dlr_lwr3")
    violated = {}
    for kinds in CHAINS:
        say(f"the sixteen recursions on {len(kinds)} general joints")
        violated[kinds] = {variant: violations(kinds, variant) for variant in VARIANTS}
    say("three ways to C")
    costs = ways_to_C(robot)
    say("a fault and a collision")
    history = faulty_run(robot)
    say("figures")
    files = [variants_figure(folder, robot), residual_figure(folder, history)]
    claims = [*variant_claims(violated), *cost_claims(costs, robot.n), *residual_claims(history)]
    grids = (claim_grid(claims), variants_grid(violated), costs_grid(costs))
    return Report("Paper 004: sixteen recursions, the time of C, residuals", grids, NOTES, tuple(files))


NOTES = (
    "The paper checks (22) with MATLAB's symbolic toolbox. Here the same expressions are evaluated without rounding, "
    "in residues modulo a prime of 61 bits at a random state: a recursion that fails, fails; one that holds might "
    "still be no identity with a probability below 1e-15.",
    "(22) is printed for i = 1 ... N − j + 1, which misses elements such as (N, N); all of i ≥ j are checked here.",
    "With two joints 0101 and 1010 are skew as well: their second index acts between joints, on a link that turns "
    "about one axis alone.",
    "The paper's ratio of 20 compares MATLAB functions, one of them the expanded expression of Christoffel's matrix. "
    "Where common parts of an expression are computed once the ratio is far smaller, and a third way, composite "
    "bodies, is better than both.",
    "The paper has no figure of residuals; its equation r' = −K r + K u is what the figure is compared with.",
)


# The sixteen recursions -------------------------------------------------------------------------------------------


def violations(kinds: str, variant: str) -> int:
    """Elements i ≥ j of (22) that are not zero."""
    defect, _ = nonzero(kinds, variant)
    return int(np.tril(defect).sum())


def variant_claims(violated: dict[str, dict[str, int]]) -> list[Claim]:
    found = {len(kinds): {x for x, count in row.items() if not count} for kinds, row in violated.items()}
    general = set.intersection(*found.values())
    joints = ", ".join(map(str, found))
    return [
        Claim(
            "recursions whose C* obeys (22) on every robot",
            "0001 and 1110, up to 7 joints",
            f"{' and '.join(sorted(general))}, of chains with {joints} joints",
            AS_SAID if general == SKEW else NOT_SO,
        )
    ]


def variants_grid(violated: dict[str, dict[str, int]]) -> Grid:
    rows = [[variant, *(str(row[variant]) for row in violated.values())] for variant in VARIANTS]
    headings = ["recursion", *(f"N = {len(x)}, of {len(x) * (len(x) + 1) // 2}" for x in violated)]
    return Grid("elements_that_violate_22", headings, rows)


def violation(robot: Robot, variant: str) -> float:
    """Largest element of Ṁ − C − Cᵀ by that of Ṁ, in random states of a robot and in floating point."""
    q, v = (ca.SX.sym(name, robot.n) for name in "qv")
    C = by_sweeps(robot, q, v, variant)
    f = ca.Function("f", [q, v], [mass_matrix_rate.function(robot, q, v), C + C.T])
    states = np.random.default_rng(0).normal(size=(20, 2, robot.n))
    found = np.array([[np.array(x) for x in f(*state)] for state in states])
    return float(np.abs(found[:, 0] - found[:, 1]).max() / np.abs(found[:, 0]).max())


def variants_figure(folder: Path, robot: Robot) -> Path:
    figure, axis = new_figure(7.5, 3.8)
    for k, variant in enumerate(VARIANTS):
        size = violation(robot, variant)
        axis.bar(k, size, color=GREEN if variant in SKEW else BLUE)
        axis.annotate(f"{size:.2g}" if size > 1e-3 else f"{size:.0e}", (k, size), ha="center", va="bottom", size=8)
    axis.bar(0, 0, color=GREEN, label="skew: rounding")
    axis.bar(0, 0, color=BLUE, label="not skew")
    axis.set_xticks(range(len(VARIANTS)), VARIANTS, rotation=60)
    axis.set(title="Largest |Ṁ − C* − C*ᵀ| by largest |Ṁ|, 7R arm", xlabel="recursion", yscale="log", ylim=(1e-17, 30))
    return saved(figure, folder / "sixteen_recursions.png")


# The time of C ----------------------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """Operations with common parts computed once, and expanded; time of a call, s."""

    operations: int
    expanded: int
    seconds: float


def by_christoffel(robot: Robot, q: Any, v: Any) -> Any:
    """C_ij = ½ Σ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) q_k', of M from the kinetic energy, by symbolic derivatives."""
    n = robot.n
    M = ca.jacobian(ca.gradient(kinetic_energy.function(robot, q, v), v), v)
    slopes = ca.jacobian(ca.vec(M), q)
    D = [ca.reshape(slopes[:, k], n, n) for k in range(n)]
    C = ca.SX.zeros(n, n)
    for i in range(n):
        for j in range(n):
            C[i, j] = sum(((D[k][i, j] + D[j][i, k] - D[i][j, k]) * v[k] for k in range(n)), sx(0.0)) / 2
    return C


def by_sweeps(robot: Robot, q: Any, v: Any, variant: str = "0001") -> Any:
    """C* a column a sweep  [DeLuca (19), (24)]."""
    unit, still = ca.SX.eye(robot.n), ca.SX.zeros(robot.n)
    columns = [modified_recursion(robot, q, v, unit[:, j], still, variant=variant) for j in range(robot.n)]
    return ca.horzcat(*columns)


WAYS: dict[str, Callable[[Robot, Any, Any], Any]] = {
    "Christoffel's symbols, by symbolic derivatives of M": by_christoffel,
    "NE*_0001, one sweep a column": by_sweeps,
    "coriolis_matrix, composite bodies": coriolis_matrix.function,
}


def ways_to_C(robot: Robot) -> dict[str, Cost]:
    state = np.random.default_rng(0).normal(size=(2, robot.n))
    return {name: cost(robot, name, way, state) for name, way in WAYS.items()}


def cost(robot: Robot, name: str, way: Callable[[Robot, Any, Any], Any], state: np.ndarray) -> Cost:
    inputs, matrix = [Array("q", (robot.n,)), Array("v", (robot.n,))], Array("C", (robot.n, robot.n))
    kernel = kernel_of(name, inputs, lambda q, v: [(matrix, way(robot, q, v))], loops=False)
    names = {"kernel": kernel, "q": state[0].copy(), "v": state[1].copy(), "out": (np.empty(matrix.shape),)}
    times = timeit.repeat("kernel(q, v, out=out)", globals=names, number=1000, repeat=50)
    symbols = [ca.SX.sym(name, robot.n) for name in "qv"]
    return Cost(kernel.operations, expanded_size(symbols, way(robot, *symbols)), min(times) / 1000)


def expanded_size(symbols: list[Any], expression: Any) -> int:
    """Operations if no part of the expression is shared: its size as a tree."""
    f = ca.Function("f", symbols, [ca.densify(expression)])
    size: dict[int, int] = {}
    whole = 0
    for k in range(f.n_instructions()):
        kind, at, to = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
        if kind == ca.OP_OUTPUT:
            whole += size[at[0]]
        else:
            size[to[0]] = 0 if kind in (ca.OP_INPUT, ca.OP_CONST) else 1 + sum(size[i] for i in at)
    return whole


def cost_claims(costs: dict[str, Cost], n: int) -> list[Claim]:
    symbolic, sweeps, ours = costs.values()
    return [
        Claim(
            f"C* by {n} sweeps of NE* against the symbolic C of Christoffel, time",
            f"{PAPER_RATIO:.0f} times less",
            f"{symbolic.seconds / sweeps.seconds:.1f} times less ({symbolic.seconds * 1e6:.2f} and "
            f"{sweeps.seconds * 1e6:.2f} µs), {symbolic.operations / sweeps.operations:.1f} times fewer operations "
            f"({symbolic.operations} and {sweeps.operations}) where common parts are computed once; the symbolic "
            f"expression without that has {symbolic.expanded:.1e} operations, "
            f"{symbolic.expanded / sweeps.operations:.0f} times as many as the sweeps",
            "faster, by less",
        ),
        Claim(
            "C from composite bodies, beyond the paper",
            "",
            f"{symbolic.operations / ours.operations:.1f} times fewer operations than the symbolic C, "
            f"{sweeps.operations / ours.operations:.1f} than the sweeps; {ours.seconds * 1e6:.2f} µs a call",
            "faster still",
        ),
    ]


def costs_grid(costs: dict[str, Cost]) -> Grid:
    headings = ["C of the 7R arm by", "operations", "without sharing", "a call from Python, µs"]
    rows = [[x, str(y.operations), f"{y.expanded:.2g}", f"{y.seconds * 1e6:.2f}"] for x, y in costs.items()]
    return Grid("ways_to_C", headings, rows)


# The residual -----------------------------------------------------------------------------------------------------


class History(NamedTuple):
    """Times (m,), and (m, n): the residual, what acted beside the commanded torque, and that through the filter."""

    t: np.ndarray
    residual: np.ndarray
    force: np.ndarray
    filtered: np.ndarray


def faulty_run(robot: Robot) -> History:
    motion = RestToRest(np.zeros(robot.n), np.array([0.8, 0.9, -0.7, 1.1, 0.6, -0.9, 0.5]), DURATION)
    law = ComputedTorque(robot, gains_from_poles([-15.0, -15.0]))
    efficiency = np.where(np.arange(robot.n) == FAULTY, EFFICIENCY, 1.0)
    faulty = FaultyActuators(law, efficiency, begin=FAULT[0], end=FAULT[1], period=PERIOD)
    run = simulate(robot, faulty, motion, period=PERIOD, contact=strike)
    commanded = faulty.commanded(motion(run.t, law.order), run.states)
    sensed = Measurement(run.q, run.v, run.theta, run.theta_v, None)
    residual = MomentumResidual(robot, CUTOFF, PERIOD).run(run.t, sensed, commanded)["residual"]
    wrench = blow(run.t)[:, None] * np.array([*FORCE, 0.0, 0.0, 0.0])
    collision = np.einsum("mki,mk->mi", jacobian(robot, run.q, link=STRUCK), wrench)
    fault = run.tau - commanded
    return History(run.t, residual, fault + collision, filtered(fault, collision))


def strike(t: Any, state: Any) -> dict[str, Any]:
    """The wrench of the collision."""
    return {STRUCK: blow(t, ca) * sx([*FORCE, 0.0, 0.0, 0.0])}


def blow(t: Any, over: Any = np) -> Any:
    """How a collision rises and falls, sin², from 0 to 1; `over` NumPy or CasADi."""
    begin, end = COLLISION
    on = (t > begin) * (t < end)
    return on * over.sin(np.pi * (t - begin) / (end - begin)) ** 2


def filtered(held: np.ndarray, moving: np.ndarray) -> np.ndarray:
    """r' = −K r + K u for torques that are held from sample to sample, and others that move between them."""
    fade = np.exp(-CUTOFF * PERIOD)
    r = np.zeros_like(held)
    for k in range(len(held) - 1):
        r[k + 1] = fade * r[k] + (1 - fade) * (held[k] + (moving[k] + moving[k + 1]) / 2)
    return r


def residual_claims(history: History) -> list[Claim]:
    error = np.abs(history.residual - history.filtered).max()
    share = error / np.abs(history.filtered).max()
    quiet = history.t < FAULT[0]
    before = np.abs(history.residual[quiet]).max()
    elsewhere = np.delete(np.arange(history.force.shape[1]), FAULTY)
    during = (history.t >= FAULT[0]) & (history.t < FAULT[1])
    isolated = np.abs(history.residual[during][:, elsewhere]).max()
    within, beyond = (np.abs(x).max() for x in np.split(history.residual, [4], axis=1))
    return [
        Claim(
            "r' = −K r + K u: the residual is what acts on each joint, filtered",
            "shown by (1)-(7)",
            f"largest difference {error:.1e} Nm, {share:.0e} of the residual's peak, with samples every 1 ms; "
            f"{before:.0e} Nm before the fault",
            AS_SAID,
        ),
        Claim(
            "components are decoupled: a fault of motor 2 shows at joint 2 alone",
            "no number",
            f"{np.abs(history.residual[during][:, FAULTY]).max():.1f} Nm there, {isolated:.0e} Nm elsewhere",
            AS_SAID,
        ),
        Claim(
            "a collision shows at the joints up to the link that was struck",
            "no number",
            f"link 6, struck on its axis: {within:.1f} Nm at joints 1 to 4, {beyond:.0e} Nm at 5 to 7",
            AS_SAID,
        ),
    ]


def residual_figure(folder: Path, history: History) -> Path:
    figure, axis = new_figure(8.0, 4.2)
    styles = [(BLUE, "-"), (RED, "-"), (GREEN, "-"), (YELLOW, "-"), (BLUE, "--"), (RED, "--"), (GREEN, "--")]
    for begin, end, what in ((*FAULT, "motor 2 weak"), (*COLLISION, "link 6 struck")):
        axis.axvspan(begin, end, color="0.9")
        axis.annotate(what, ((begin + end) / 2, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom")
    for i, (colour, dashes) in enumerate(styles):
        axis.plot(history.t, history.residual[:, i], dashes, color=colour, label=f"joint {i + 1}")
    axis.plot(history.t[::25], history.filtered[::25, FAULTY], "x", color="black", ms=4, label="u, filtered:\njoint 2")
    axis.set(xlabel="time, s", ylabel="residual, Nm", xlim=(0.0, DURATION))
    axis.set_title("Residual under an actuator fault and a collision", pad=22)
    return saved(figure, folder / "residual.png")
