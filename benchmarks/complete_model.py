"""What the complete model of rotors costs: `python -m benchmarks.complete_model`.

Inverse dynamics of chains of elastic joints against their number N, with axes in general position (order 2N) and
orthogonal ones (order N + 1): operations, time to trace and to compile, time of a call.  And the arms of seven joints
beside Spong's model and rigid joints, with what is promised about them; and what is lost to rounding.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import flexjoint as fj
from flexjoint.compiler import pipeline
from flexjoint.dynamics.drivetrain.elimination import LOOP_FROM
from papers.paper_001 import general_arm

from .timing import FULL, interleaved

JOINTS = {"general": (2, 3, 4, 5, 6, 7, 8, 10, 12), "orthogonal": (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20)}
FIT_FROM = 4  # joints: shorter chains are dominated by their ends
BOUNDS = {"inverse": (10, 20), "forward": (2, 2)}  # of operations and time, 7R
ROWS = 4096
EXAMINED = (
    ("general", 4, (1, 10, 100, 1000)),
    ("orthogonal", 7, (1, 10, 100, 1000)),
    ("general", 7, (1, 10, 100, 1000)),
    ("general", 12, (1, 30)),
    ("orthogonal", 20, (1, 30)),
)  # axes, joints, frequencies of motions in rad/s
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Cost:
    """Of one kernel; times in s."""

    axes: str
    joints: int
    order: int
    operations: int
    trace: float
    compile: float
    call: float

    @property
    def loop(self) -> bool:
        """Whether the recursions are loops over the links."""
        return self.joints * (self.order + 1) ** 2 >= LOOP_FROM


def orthogonal_arm(n: int) -> fj.Robot:
    """Neighbouring axes orthogonal, motors coaxial with their joints."""
    arm = fj.from_dh(
        f"orthogonal_{n}",
        alpha=[math.pi / 2 * (-1) ** i for i in range(n)],
        a=0.0,
        d=[0.3 * (i % 2) for i in range(n)],
        mass=[3.0 / (1 + i) for i in range(n)],
        com=[0.01, 0.05, 0.02],
        inertia=np.diag([0.02, 0.025, 0.015]),
    )
    return with_rotors(arm)


def with_rotors(arm: fj.Robot) -> fj.Robot:
    motor = fj.Motor.from_rotor(1e-4, 100.0, mass=0.2, transverse_inertia=6e-5)
    return arm.with_drives([fj.ElasticDrive(1e4, motor)] * arm.n).with_fidelity("complete")


ARMS = {"general": general_arm, "orthogonal": orthogonal_arm}


def timed(algorithm: fj.algorithm.Algorithm, robot: fj.Robot) -> tuple[fj.Kernel, float, float]:
    """The kernel, and the processor times of tracing and compiling it."""
    start = time.process_time()
    program, result = algorithm.trace(robot, algorithm.structure(robot))
    traced = time.process_time()
    kernel = pipeline.compile(program, result)
    return kernel, traced - start, time.process_time() - traced


def call_times(kernels: list[fj.Kernel], batch: tuple[int, ...] = ()) -> list[float]:
    """One call of each from Python with `out=`, in turns."""
    rng = np.random.default_rng(0)
    names: dict[str, Any] = {}
    for k, kernel in enumerate(kernels):
        names |= {f"k{k}": kernel, f"x{k}": [rng.uniform(-1.0, 1.0, (*batch, *array.shape)) for array in kernel.inputs]}
        out = kernel(*names[f"x{k}"])
        names[f"y{k}"] = out if isinstance(out, tuple) else np.array(out)
    return interleaved([f"k{k}(*x{k}, out=y{k})" for k in range(len(kernels))], names, FULL)


def against_joints() -> list[Cost]:
    arms = [(axes, make(n)) for axes, make in ARMS.items() for n in JOINTS[axes]]
    made = [timed(fj.inverse_dynamics, robot) for _, robot in arms]
    calls = call_times([kernel for kernel, _, _ in made])
    orders = [fj.dynamics.derivative_orders(robot).differentiations for _, robot in arms]
    return [
        Cost(axes, robot.n, order, kernel.operations, traced, compiled, call)
        for (axes, robot), (kernel, traced, compiled), order, call in zip(arms, made, orders, calls)
    ]


def exponents(costs: list[Cost], what: str) -> str:
    """p of what ~ Nᵖ from FIT_FROM joints on, of straight code and of loops, which begin with a jump."""
    found = []
    for loop in (False, True):
        chosen = [x for x in costs if x.joints >= FIT_FROM and x.loop == loop]
        n, y = (np.log([getattr(x, name) for x in chosen]) for name in ("joints", what))
        found.append(f"N^{np.polyfit(n, y, 1)[0]:.1f}")
    return ", ".join(found)


def cost_table(costs: list[Cost]) -> Table:
    table = Table("axes", "N", "order", "code", "operations", "trace, s", "compile, s", "call, µs")
    table.title = "Inverse dynamics of the complete model; growth of straight code, of loops"
    for x in costs:
        cells = (str(x.joints), str(x.order), "loop" if x.loop else "straight", str(x.operations))
        cells = (*cells, f"{x.trace:.2f}", f"{x.compile:.2f}", f"{x.call * 1e6:.2f}")
        table.add_row(x.axes, *cells, end_section=x is costs[-1])
    for axes in JOINTS:
        own = [x for x in costs if x.axes == axes]
        table.add_row(axes, "", "", "", *(exponents(own, x) for x in ("operations", "trace", "compile", "call")))
    return table


def seven_joints() -> Table:
    """Arms with orthogonal axes at order 8, beside the same arm in Spong's model and with rigid joints."""
    table = Table("arm", "dynamics", "", "complete", "to compare", "ratio", "bound")
    table.title = "Seven joints: complete model beside Spong's (inverse) and rigid joints (forward)"
    for robot in (with_rotors(fj.load("kuka_lwr")), fj.load("dlr_lbr2")):
        pairs = {
            "inverse": [(fj.inverse_dynamics, robot), (fj.inverse_dynamics, robot.with_fidelity("spong"))],
            "forward": [(fj.forward_dynamics, robot), (fj.forward_dynamics, robot.rigid())],
        }
        for name, pair in pairs.items():
            kernels = [fj.compile(algorithm, model) for algorithm, model in pair]
            shown = {
                "operations": [kernel.operations for kernel in kernels],
                "a call, ns": [1e9 * x for x in call_times(kernels)],
                f"a row of {ROWS}, ns": [1e9 * x / ROWS for x in call_times(kernels, (ROWS,))],
            }
            for what, values in shown.items():
                bound = BOUNDS[name][what != "operations"]
                cells = [f"{x:.0f}" for x in values]
                table.add_row(robot.name, name, what, *cells, f"{values[0] / values[1]:.2f}", f"{bound:g}")
    return table


def plot(costs: list[Cost], path: Path) -> None:
    """Operations and time of a call over the number of joints, with fitted powers; loops are hollow."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.6), layout="constrained")
    axes = figure.subplots(1, 2)
    colours = {"general": "#D55E00", "orthogonal": "#0072B2"}
    for axis, what, unit, scale in zip(axes, ("operations", "call"), ("operations", "µs a call"), (1.0, 1e6)):
        for kind, colour in colours.items():
            own = [x for x in costs if x.axes == kind]
            n, y = [x.joints for x in own], [scale * getattr(x, what) for x in own]
            label = f"{kind} axes, order {'2N' if kind == 'general' else 'N + 1'}: {exponents(own, what)}"
            axis.loglog(n, y, "o-", color=colour, label=label)
            axis.loglog(n, [b if x.loop else np.nan for x, b in zip(own, y)], "wo", markersize=3)
        axis.set(xlabel="joints N", ylabel=unit, xticks=[2, 3, 4, 5, 7, 10, 12, 20])
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.suptitle("Inverse dynamics of the complete model, elastic joints (hollow: loops over links)")
    figure.savefig(path, dpi=150)


def rounding() -> Table:
    """Torques against the same program in 200-bit arithmetic, over motions from slow to fast."""
    import mpmath

    from flexjoint.compiler.ir.reference import MpmathArithmetic, interpret

    table = Table("axes", "N", "order", "of the largest torque", "worst joint, of its own")
    table.title = "Rounding of inverse dynamics, largest over the motions"
    for axes, n, frequencies in EXAMINED:
        robot = ARMS[axes](n)
        program, result = fj.inverse_dynamics.trace(robot, fj.inverse_dynamics.structure(robot))
        kernel, orders = pipeline.compile(program, result), fj.dynamics.derivative_orders(robot)
        worst = []
        for stack in motions(n, orders.motion, frequencies):
            with mpmath.workprec(200):
                rows = [[mpmath.mpf(float(x)) for x in row] for row in stack]
                exact = interpret(program, rows, MpmathArithmetic())[0]
                errors = [abs(mpmath.mpf(float(x)) - y) for x, y in zip(kernel(*stack), exact)]
                largest, own = max(map(abs, exact)), [x / abs(y) for x, y in zip(errors, exact)]
                worst.append([float(max(errors) / largest), float(max(own))])
        table.add_row(axes, str(n), str(orders.differentiations), *(f"{x:.0e}" for x in np.max(worst, axis=0)))
    return table


def motions(n: int, order: int, frequencies: Sequence[float]) -> list[np.ndarray]:
    """Derivatives of sinusoids, rad/s, random ones, and those of a filtered step."""
    rng = np.random.default_rng(0)
    k = np.arange(order + 1)[:, None]
    found = []
    for omega in frequencies:
        amplitude, phase = rng.uniform(0.5, 1.0, n), rng.uniform(0.0, 6.0, n)
        found.append(amplitude * float(omega) ** k * np.sin(phase + k * np.pi / 2))
    step = fj.trajectory.FilteredStep.settled(np.zeros(n), np.full(n, 2.0), 2.5, max(16, order + 2), 1e-3)
    return [*found, rng.normal(size=(order + 1, n)), step(1.2, order)]


def complete_model(folder: Path = RESULTS) -> Table:
    """Measure chains, save figures and plot."""
    costs = against_joints()
    (folder / "complete_model.json").write_text(json.dumps([asdict(x) for x in costs], indent=1) + "\n")
    plot(costs, folder / "complete_model.png")
    return cost_table(costs)


if __name__ == "__main__":
    for study in (seven_joints, rounding, complete_model):
        Console(width=140).print(study())
