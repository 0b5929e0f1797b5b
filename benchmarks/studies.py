"""The measurements behind constants of the code: `python -m benchmarks.studies`.

FEW_JOINTS (algorithms/mass_matrix.py): operations of the mass matrix and of forward dynamics by either way.
LOOP_FROM (algorithms/newton_euler.py): straight code against the loop over links.
CHUNK (compiler/llvm.py): compile and run time of one mass matrix for several lengths of a function.
docs/papers.md: variable stiffness against elastic joints.
docs/rotors.md: the complete model of rotors against the number of joints (complete_model.py).
docs/parameters.md: what free parameters cost, and derivatives beside Pinocchio's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
from rich.console import Console
from rich.table import Table

import flexjoint as fj
from flexjoint.compiler import pipeline
from flexjoint.compiler.ir.program import Array
from flexjoint.compiler.llvm import outlining
from flexjoint.compiler.pipeline import trace
from flexjoint.dynamics.recursion import newton_euler
from flexjoint.dynamics.recursion.articulated_body import by_articulated_bodies
from flexjoint.dynamics.recursion.bodies import moving_bodies
from flexjoint.dynamics.recursion.composite_bodies import by_factorization, by_projection, by_walking

from .complete_model import complete_model, rounding, seven_joints
from .timing import FULL, interleaved

JOINTS = (2, 4, 7, 10, 12, 14, 16, 20, 30)
CHAINS = (7, 14, 20, 30, 60, 100)
CHUNKS = (280, 420, 500, 1000, 2000, 4000, 8000)


def operations(function: Callable[..., Any], n: int, arrays: int) -> str:
    inputs = [(Array(f"x{k}", (n,)), ca.SX.sym(f"x{k}", n)) for k in range(arrays)]
    result = function(*(symbol for _, symbol in inputs))
    return str(trace("study", inputs, [(Array("result", (result.numel(),)), result)]).operations)


def elements(way: Callable[..., Any], robot: fj.Robot, q: Any) -> Any:
    """The mass matrix as a vector."""
    return ca.vertcat(*(x for row in way(moving_bodies(robot), q) for x in row.values()))


def two_ways() -> Table:
    """Random chains of turning joints."""
    table = Table("joints", "M, walking", "M, projection", "factorization", "articulated bodies")
    table.title = "Operations of the mass matrix and of forward dynamics"
    for n in JOINTS:
        robot = fj.random_robot(n, seed=n, prismatic=0.0)
        matrices = [operations(partial(elements, way, robot), n, 1) for way in (by_walking, by_projection)]
        dynamics = [operations(partial(way, robot), n, 3) for way in (by_factorization, by_articulated_bodies)]
        table.add_row(str(n), *matrices, *dynamics)
    return table


def chunk_lengths(n: int = 60) -> Table:
    robot = fj.random_robot(n, seed=n, prismatic=0.0)
    program, result = fj.mass_matrix.trace(robot, fj.mass_matrix.structure(robot))
    table = Table("operations a function", "compile, s", "run, µs")
    table.title = f"Mass matrix of {n} joints, {program.operations} operations"
    kernels, compiled = {}, {}
    default = outlining.CHUNK
    for length in CHUNKS:
        outlining.CHUNK = length
        start = time.process_time()
        kernels[length] = pipeline.compile(program, result)
        compiled[length] = time.process_time() - start
    outlining.CHUNK = default
    names = {f"k{length}": kernel for length, kernel in kernels.items()}
    names |= {"q": np.zeros(n), "M": np.empty((n, n))}
    times = interleaved([f"k{length}(q, out=M)" for length in CHUNKS], names, FULL)
    for length, seconds in zip(CHUNKS, times):
        table.add_row(str(length), f"{compiled[length]:.2f}", f"{seconds * 1e6:.1f}")
    return table


def loops_over_links() -> Table:
    """Inverse dynamics of random chains, rigid and elastic: a sample and a row of a batch, in all forms of the code."""
    table = Table("joints", "order", "code", "operations", "compile, s", "call, µs", "row of 256, µs")
    table.title = "Straight code, loops and packed jets"
    default, packed = newton_euler.LOOP_FROM, newton_euler.PACKED_JOINTS
    for n in CHAINS:
        for order, elastic in ((0, 0.0), (2, 1.0)):
            robot = fj.random_robot(n, seed=n, prismatic=0.0, elastic=elastic)
            names: dict[str, Any] = {}
            compiled = {}
            ways = {"straight": (math.inf, 0), "loop": (0, 0), "packed": (math.inf, math.inf)}
            for way, constants in ways.items():
                newton_euler.LOOP_FROM, newton_euler.PACKED_JOINTS = constants
                if way == "packed" and order != 2:
                    continue
                start = time.process_time()
                names[way] = pipeline.compile(*fj.inverse_dynamics.trace(robot, fj.inverse_dynamics.structure(robot)))
                compiled[way] = time.process_time() - start
            stack = np.random.default_rng(0).uniform(-1.0, 1.0, (order + 3, 256, n))
            names |= {f"x{k}": x[0].copy() for k, x in enumerate(stack)} | {f"X{k}": x for k, x in enumerate(stack)}
            names |= {"y": np.empty(n), "Y": np.empty((256, n))}
            one, row = (", ".join(f"{x}{k}" for k in range(order + 3)) for x in "xX")
            calls = [f"{way}({a}, out={y})" for way in compiled for a, y in ((one, "y"), (row, "Y"))]
            times = iter(interleaved(calls, names, FULL))
            for way in compiled:
                call, batch = next(times) * 1e6, next(times) * 1e6 / 256
                operations = names[way].operations
                shown = f"{compiled[way]:.2f}", f"{call:.2f}", f"{batch:.3f}"
                table.add_row(str(n), str(order), way, str(operations), *shown)
    newton_euler.LOOP_FROM, newton_euler.PACKED_JOINTS = default, packed
    return table


FREE = (
    (),
    ("*.drive.stiffness",),
    ("joint?.viscous_friction",),
    ("tool.mass",),
    ("link7.mass", "link7.com"),
    ("link7.*",),
    ("*.mass", "*.com", "link?.inertia"),
    ("*",),
)


def free_parameters(rows: int = 4096) -> Table:
    robot = fj.load("kuka_lwr")
    table = Table("free", "numbers", "operations", "one call, ns", "a row of a batch, ns")
    table.title = "Elastic inverse dynamics of the 7R LWR with free parameters"
    stack = np.random.default_rng(0).normal(size=(5, rows, robot.n))
    names: dict[str, Any] = {"one": np.empty(robot.n), "all": np.empty((rows, robot.n))}
    statements = []
    kernels = [fj.compile(fj.inverse_dynamics, robot, free=free) for free in FREE]
    for k, kernel in enumerate(kernels):
        names |= {f"k{k}": kernel, f"x{k}": [*stack[:, 0], *kernel.nominal], f"y{k}": [*stack, *kernel.nominal]}
        statements += [f"k{k}(*x{k}, out=one)", f"k{k}(*y{k}, out=all)"]
    times = interleaved(statements, names, FULL)
    for free, kernel, one, batch in zip(FREE, kernels, times[::2], times[1::2]):
        numbers = sum(x.size for x in kernel.nominal)
        cells = (str(numbers), str(kernel.operations), f"{one * 1e9:.0f}", f"{batch / rows * 1e9:.0f}")
        table.add_row(", ".join(free) or "none", *cells)
    return table


def derivatives() -> Table:
    """Three Jacobians at once beside Pinocchio's."""
    import pinocchio as pin

    from .peers import pinocchio

    robot = fj.load("kuka_lwr").without_drives()
    inverse = fj.compile(fj.inverse_dynamics, robot, derivatives=[("tau", x) for x in ("q", "v", "a")])
    forward = fj.compile(fj.forward_dynamics, robot, derivatives=[("a", x) for x in ("q", "v", "tau")])
    model, data = pinocchio(robot)
    names = {"pin": pin, "model": model, "data": data, "inverse": inverse, "forward": forward}
    names |= {"x": list(np.random.default_rng(0).normal(size=(3, 7)))}
    statements = ["inverse(*x)", "pin.computeRNEADerivatives(model, data, *x)"]
    statements += ["forward(*x)", "pin.computeABADerivatives(model, data, *x)"]
    times = [f"{x * 1e6:.2f}" for x in interleaved(statements, names, FULL)]
    table = Table("derivatives of the 7R LWR", "operations", "flexjoint, µs", "Pinocchio, µs")
    table.add_row("∂τ/∂(q, v, a)", str(inverse.operations), *times[:2])
    table.add_row("∂a/∂(q, v, τ)", str(forward.operations), *times[2:])
    return table


def variable_stiffness(rows: int = 4096) -> Table:
    """Inverse dynamics with antagonistic springs and with levers, against that of the same arm with elastic joints."""
    cubic, unequal = fj.springs.CubicSpring(400.0, 2000.0), fj.springs.CubicSpring(300.0, 3000.0)
    exponentials = (fj.springs.ExponentialSpring(200.0, 10.0), fj.springs.ExponentialSpring(225.0, -9.0))
    joints: dict[str, Callable[[fj.Motor], fj.Drive]] = {
        "equal cubic": lambda motor: fj.drives.AntagonisticDrive(cubic, cubic, motor, motor),
        "exponential": lambda motor: fj.drives.AntagonisticDrive(*exponentials, motor, motor),
        "lever": lambda motor: fj.drives.LeverDrive(7e4, 0.1, 0.02, 0.3, motor, motor),
        "unequal cubic": lambda motor: fj.drives.AntagonisticDrive(cubic, unequal, motor, motor),
        "unequal cubic, warm start": lambda motor: fj.drives.AntagonisticDrive(cubic, unequal, motor, motor),
    }
    table = Table("arm", "joints", "operations", "call, µs", "/ elastic", "row of a batch, µs", "/ elastic")
    lwr, vsa_3r = fj.load("kuka_lwr"), fj.load("vsa_3r")
    arms = {"7R": lwr, "3R": vsa_3r.with_drives([fj.ElasticDrive(1200.0, x.drive.motors[0]) for x in vsa_3r.joints])}
    for arm, elastic in arms.items():
        stack = 0.3 * np.random.default_rng(0).normal(size=(5, rows, elastic.n))
        sigma = np.stack([np.full((rows, elastic.n), 1200.0), *np.zeros((2, rows, elastic.n))])
        names: dict[str, Any] = {"elastic": fj.compile(fj.inverse_dynamics, elastic)}
        statements = ["elastic(*one)", "elastic(*many)"]
        names |= {"one": list(stack[:, 0]), "many": list(stack)}
        for k, (what, drive) in enumerate(joints.items()):
            robot = elastic.with_drives([drive(joint.drive.motors[0]) for joint in elastic.joints])
            arrays = [*stack, *sigma]
            warm = "warm" in what
            if warm:
                motion = fj.motor_motion(robot, *stack, stiffness=sigma)
                arrays.append(motion.deflection + np.repeat([1e-3, -1e-3], elastic.n))
            kernel = fj.compile(fj.inverse_dynamics, robot, stiffness=3, warm_start=warm)
            finite = np.empty(rows, dtype=bool)
            kernel(*arrays, finite=finite)
            if not finite.all():
                raise ValueError(f"{what}: {rows - finite.sum()} of {rows} states are not feasible")
            names |= {f"k{k}": kernel, f"x{k}": [x[0] for x in arrays], f"y{k}": arrays}
            statements += [f"k{k}(*x{k})", f"k{k}(*y{k})"]
        times = interleaved(statements, names, FULL)
        for k, what in enumerate(joints):
            one, many = times[2 + 2 * k], times[3 + 2 * k]
            cells = (f"{one * 1e6:.2f}", f"{one / times[0]:.2f}", f"{many / rows * 1e6:.3f}", f"{many / times[1]:.2f}")
            table.add_row(arm, what, str(names[f"k{k}"].operations), *cells)
    return table


STUDIES = (
    *(two_ways, chunk_lengths, loops_over_links, free_parameters, derivatives, variable_stiffness),
    *(seven_joints, rounding, complete_model),
)

if __name__ == "__main__":
    for study in STUDIES:
        Console().print(study())
