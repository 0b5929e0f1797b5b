"""What is measured.  Inputs come from a fixed seed; the LWR is the built-in `kuka_lwr`, with bare links where rigid."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

import flexjoint as fj
from flexjoint.compiler import pipeline

from .cold_start import PROCESSES, cold_start
from .compiled_peers import compiled_peers
from .peers import check, mujoco_chain, pinocchio
from .rollouts import Loop
from .timing import Effort, Row, in_new_processes, in_turn, interleaved

RNEA = "pin.rnea(model, data, q, v, a)"
CHAINS = (7, 10, 20, 30, 50, 70, 100)
ORDERS = range(7)
BATCH = 4096
MANY = 200_000
ROLLOUT, SHORT, ROWS = 10_000, 1000, 64  # periods of a single rollout, of a batch; runs at once
AGREEMENT_OF_ROLLOUTS = 1e-5  # relative; the peer takes differences

FIRST_CALLS = """
import time, numpy as np, flexjoint as fj
robot, x = fj.load("kuka_lwr"), np.zeros(7)
bare = robot.without_drives()
start = time.perf_counter(); fj.inverse_dynamics(robot, x, x, x, x, x)
first = time.perf_counter(); fj.inverse_dynamics(bare, x, x, x)
other = time.perf_counter()
print(first - start, other - first)
"""
IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def all_rows(effort: Effort, only: Sequence[str] = ()) -> Iterator[Row]:
    for section, part in PARTS.items():
        if not only or section in only:
            yield from part(effort)


def inputs(robot: fj.Robot, derivatives: int = 8) -> dict[str, Any]:
    """Names for the statements: one state, and the robot in Pinocchio."""
    stack = np.random.default_rng(0).uniform(-1.0, 1.0, (derivatives + 1, robot.n))
    model, data = pinocchio(robot)
    q, v, a, jerk, snap = (np.ascontiguousarray(x) for x in stack[:5])
    names = {"q": q, "v": v, "a": a, "jerk": jerk, "snap": snap, "tau": stack[5].copy(), "model": model, "data": data}
    return {**names, "pin": pin, "fj": fj, "robot": robot, "out": np.empty(robot.n)}


def lwr(effort: Effort) -> Iterator[Row]:
    elastic = fj.load("kuka_lwr")
    rigid = elastic.without_drives()
    names = inputs(rigid) | {"elastic": elastic, "M": np.empty((rigid.n, rigid.n))}
    kernels = {
        "inverse": fj.compile(fj.inverse_dynamics, rigid),
        "ejnea": fj.compile(fj.inverse_dynamics, elastic),
        "forward": fj.compile(fj.forward_dynamics, rigid),
        "mass": fj.compile(fj.mass_matrix, rigid),
        "linearization": fj.compile(fj.feedback_linearization, elastic, measured="q tau_e"),
    }
    names |= kernels | {"tau_e_v": names["jerk"]}
    q, v, a, tau, model, data = (names[x] for x in ("q", "v", "a", "tau", "model", "data"))
    check("inverse dynamics", kernels["inverse"](q, v, a), pin.rnea(model, data, q, v, a))
    check("forward dynamics", kernels["forward"](q, v, tau), pin.aba(model, data, q, v, tau))
    check("mass matrix", np.triu(kernels["mass"](q)), np.triu(pin.crba(model, data, q)))
    mj_model, mj_data = mujoco_chain(rigid)
    mj_data.qpos[:], mj_data.qvel[:], mj_data.qacc[:] = q, v, a
    mujoco.mj_inverse(mj_model, mj_data)
    check("inverse dynamics (MuJoCo)", kernels["inverse"](q, v, a), mj_data.qfrc_inverse)
    names |= {"mujoco": mujoco, "mj_model": mj_model, "mj_data": mj_data}

    aba, crba = "pin.aba(model, data, q, v, tau)", "pin.crba(model, data, q)"
    mj_inverse = "mujoco.mj_inverse(mj_model, mj_data)"
    for label, kernel, statement, peer, target in (
        ("rigid inverse dynamics, kernel", "inverse", "inverse(q, v, a, out=out)", RNEA, 0.12),
        ("elastic inverse dynamics, kernel", "ejnea", "ejnea(q, v, a, jerk, snap, out=out)", RNEA, 0.20),
        ("forward dynamics, kernel", "forward", "forward(q, v, tau, out=out)", aba, 0.08),
        (
            "feedback linearization, kernel",
            "linearization",
            "linearization(q, v, tau, tau_e_v, snap, out=out)",
            RNEA,
            0.35,
        ),
        ("mass matrix, kernel", "mass", "mass(q, out=M)", crba, None),
        ("rigid inverse dynamics, function", "inverse", "fj.inverse_dynamics(robot, q, v, a, out=out)", RNEA, 0.12),
        (
            "elastic inverse dynamics, function",
            "ejnea",
            "fj.inverse_dynamics(elastic, q, v, a, jerk, snap, out=out)",
            RNEA,
            0.20,
        ),
        ("forward dynamics, function", "forward", "fj.forward_dynamics(robot, q, v, tau, out=out)", aba, 0.08),
        ("mass matrix, function", "mass", "fj.mass_matrix(robot, q, out=M)", crba, None),
        ("rigid inverse dynamics, new array", "inverse", "inverse(q, v, a)", RNEA, None),
        ("rigid inverse dynamics, kernel", "inverse", "inverse(q, v, a, out=out)", mj_inverse, None),
    ):
        ours, theirs = interleaved([statement, peer], names, effort)
        peer_name = peer.split("(")[0].removeprefix("mujoco.")
        yield Row("7R LWR", label, ours, theirs, peer_name, target, kernels[kernel].operations, rigid.n)


def orders(effort: Effort) -> Iterator[Row]:
    """How the cost of torque derivatives grows with their order."""
    robot = fj.load("kuka_lwr").without_drives()
    for order in ORDERS:
        kernel = fj.compile(fj.torque_derivatives, robot, order=order)
        stack = np.random.default_rng(0).uniform(-1.0, 1.0, (order + 3, robot.n))
        arrays = {f"x{k}": np.ascontiguousarray(x) for k, x in enumerate(stack)}
        names = inputs(robot) | arrays | {"kernel": kernel, "stack": np.empty((order + 1, robot.n))}
        statement = f"kernel({', '.join(arrays)}, out=stack)"
        ours, theirs = interleaved([statement, RNEA], names, effort)
        label = f"τ ... τ⁽ᵏ⁾, k = {order}"
        yield Row("torque derivatives", label, ours, theirs, "pin.rnea", None, kernel.operations, robot.n, order)


def chains(effort: Effort) -> Iterator[Row]:
    """Random chains of turning joints in general position, short ones as straight code, long elastic ones as loops."""
    for n in CHAINS:
        elastic = fj.random_robot(n, seed=n, prismatic=0.0, elastic=1.0)
        rigid = elastic.without_drives()
        names = inputs(rigid)
        names |= {"inverse": fj.compile(fj.inverse_dynamics, rigid), "ejnea": fj.compile(fj.inverse_dynamics, elastic)}
        q, v, a = names["q"], names["v"], names["a"]
        check(f"chain of {n}", names["inverse"](q, v, a), pin.rnea(names["model"], names["data"], q, v, a))
        statements = ["inverse(q, v, a, out=out)", "ejnea(q, v, a, jerk, snap, out=out)", RNEA]
        first, second, theirs = interleaved(statements, names, effort)
        for label, kernel, ours, order, target in (
            ("rigid", "inverse", first, 0, None),
            ("elastic", "ejnea", second, 2, 0.7 if n == 30 else None),
        ):
            operations = names[kernel].operations
            yield Row("random chains", f"{label}, N = {n}", ours, theirs, "pin.rnea", target, operations, n, order)


def coriolis(effort: Effort) -> Iterator[Row]:
    """Two velocities, Cᵀv and C: on the LWR, and how Cᵀv and the product grow with a chain."""
    matrix, transposed = "pin.computeCoriolisMatrix(model, data, q, v)", "computeCoriolisMatrix and product"
    of_transpose = f"{matrix}.T @ v"

    def names(robot: fj.Robot) -> dict[str, Any]:
        return inputs(robot) | {
            "C": np.empty((robot.n, robot.n)),
            "inverse": fj.compile(fj.inverse_dynamics, robot),
            "product": fj.compile(fj.coriolis_product, robot),
            "transpose": fj.compile(fj.coriolis_transpose_product, robot),
        }

    rigid = fj.load("kuka_lwr").without_drives()
    known = names(rigid) | {
        "coriolis": fj.compile(fj.coriolis_matrix, rigid),
        "rate": fj.compile(fj.mass_matrix_rate, rigid),
        "passivity": fj.compile(fj.control.laws.passivity_torque, rigid),
        "adaptive": fj.compile(fj.control.laws.adaptive_torque, rigid),
        "unknown": np.ones(len(fj.base_parameters(rigid).names)),
    }
    q, v, a, model, data = (known[x] for x in ("q", "v", "a", "model", "data"))
    C = pin.computeCoriolisMatrix(model, data, q, v).copy()
    check("Coriolis matrix", known["coriolis"](q, v), C)
    check("Cᵀv", known["transpose"](q, v), C.T @ v)
    check("C(q, v) a", known["product"](q, v, a), C @ a)
    ours = "inverse(q, v, a, out=out)"
    for label, kernel, statement, peer, peer_name, target in (
        ("Cᵀv, kernel", "transpose", "transpose(q, v, out=out)", of_transpose, transposed, 0.1),
        (
            "Cᵀv, function",
            "transpose",
            "fj.coriolis_transpose_product(robot, q, v, out=out)",
            of_transpose,
            transposed,
            0.1,
        ),
        ("C, kernel", "coriolis", "coriolis(q, v, out=C)", matrix, "pin.computeCoriolisMatrix", None),
        ("Ṁ, kernel", "rate", "rate(q, v, out=C)", matrix, "pin.computeCoriolisMatrix", None),
        ("C(q, v) v_a, kernel", "product", "product(q, v, a, out=out)", ours, "inverse dynamics", 2.0),
        (
            "passivity law, kernel",
            "passivity",
            "passivity(q, v, q, v, a, a, a, a, out=out)",
            ours,
            "inverse dynamics",
            None,
        ),
        ("adaptive law, kernel", "adaptive", "adaptive(q, v, q, v, a, a, a, unknown, unknown)", RNEA, "pin.rnea", None),
    ):
        first, second = interleaved([statement, peer], known, effort)
        yield Row("Coriolis, 7R LWR", label, first, second, peer_name, target, known[kernel].operations, rigid.n)
    for n in CHAINS:
        known = names(fj.random_robot(n, seed=n, prismatic=0.0))
        times = interleaved(
            ["transpose(q, v, out=out)", "product(q, v, a, out=out)", of_transpose, ours], known, effort
        )
        counts = [known[x].operations for x in ("transpose", "product")]
        yield Row("Coriolis, random chains", f"Cᵀv, N = {n}", times[0], times[2], transposed, None, counts[0], n)
        yield Row(
            "Coriolis, random chains", f"C v_a, N = {n}", times[1], times[3], "inverse dynamics", None, counts[1], n
        )


def residuals(effort: Effort) -> Iterator[Row]:
    """One update of residuals, and with alarms, of a 7R arm: time, sensors and torque in, out= given."""
    elastic = fj.load("kuka_lwr")
    rigid = elastic.without_drives()
    for label, residual in (
        ("momentum residual, rigid", fj.observers.MomentumResidual(rigid, 50.0)),
        ("link and motor residuals, elastic", fj.observers.JointTorqueResidual(elastic, 50.0, 50.0)),
        (
            "link and motor residuals with alarms, elastic",
            fj.observers.Detector(fj.observers.JointTorqueResidual(elastic, 50.0, 50.0), {"link": 1.0, "motor": 1.0}),
        ),
        ("link residual from motor encoders, elastic", fj.observers.MotorEncoderResidual(elastic, 50.0, 300.0)),
    ):
        names = inputs(rigid) | {"h": 1e-3, "kernel": residual.kernel, "state": residual.initial_state[0]}
        names["outputs"] = tuple(np.empty(x.shape) for x in residual.kernel.outputs)
        sensed = ", ".join("q" if name.endswith(("q", "theta")) else "v" for name in residual.reads)
        ours, theirs = interleaved([f"kernel(state, h, {sensed}, tau, out=outputs)", RNEA], names, effort)
        target = 0.5 if "link and motor" in label else None
        yield Row("residuals, 7R LWR", label, ours, theirs, "pin.rnea", target, residual.kernel.operations, rigid.n)


def batches(effort: Effort) -> Iterator[Row]:
    """Per element of one call with many rows, in SIMD lanes on one core; the same on two; and a batch of one row."""
    elastic = fj.load("kuka_lwr")
    rigid = elastic.without_drives()
    names = inputs(rigid)
    rng = np.random.default_rng(0)
    names |= {f"X{k}": rng.uniform(-1.0, 1.0, (BATCH, rigid.n)) for k in range(5)} | {"Y": np.empty((BATCH, rigid.n))}
    names |= {
        "inverse": fj.compile(fj.inverse_dynamics, rigid),
        "ejnea": fj.compile(fj.inverse_dynamics, elastic),
        "forward": fj.compile(fj.forward_dynamics, rigid),
    }
    for label, kernel, count, peer, target in (
        ("rigid inverse dynamics", "inverse", 3, RNEA, 0.014),
        ("elastic inverse dynamics", "ejnea", 5, RNEA, 0.035),
        ("forward dynamics", "forward", 3, "pin.aba(model, data, q, v, tau)", 0.010),
    ):
        statement = f"{kernel}({', '.join(f'X{k}' for k in range(count))}, out=Y)"
        ours, theirs = interleaved([statement, peer], names, effort)
        operations = names[kernel].operations
        peer_name = peer.split("(")[0]
        yield Row("batches", label, ours / BATCH, theirs, peer_name, target, operations, rigid.n)
    many = {f"Z{k}": rng.uniform(-1.0, 1.0, (MANY, rigid.n)) for k in range(5)} | {"W": np.empty((MANY, rigid.n))}
    statement = "ejnea(Z0, Z1, Z2, Z3, Z4, out=W, threads=THREADS)"
    one, two = interleaved([statement.replace("THREADS", x) for x in "12"], names | many, effort)
    label = f"elastic inverse dynamics, {MANY} rows, 2 threads"
    yield Row("batches", label, two / MANY, one / MANY, "1 thread", 1 / 1.7, names["ejnea"].operations, rigid.n)
    single = {"T": np.empty((1, rigid.n))}
    for k in range(3):
        single |= {f"S{k}": names[f"X{k}"][:1].copy(), f"s{k}": names[f"X{k}"][0].copy()}
    batch, scalar = interleaved(["inverse(S0, S1, S2, out=T)", "inverse(s0, s1, s2, out=out)"], names | single, effort)
    label = "rigid inverse dynamics, a batch of one row"
    yield Row("batches", label, batch, scalar, "scalar call", 1.5, names["inverse"].operations, rigid.n)


def rollouts(effort: Effort) -> Iterator[Row]:
    """Closed loops at 0.1 ms, one Runge-Kutta step a period: times of one period."""
    robot = fj.load("kuka_lwr")
    trajectory = fj.trajectory.RestToRest(np.zeros(robot.n), np.full(robot.n, 0.5), 1.0)
    start = fj.simulate(robot, fj.control.OpenLoop(robot), np.zeros(robot.n), 1e-4, period=1e-4, check=False).last
    t = 1e-4 * np.arange(ROLLOUT)
    for label, law, order in (
        (
            "feedback linearization",
            fj.control.FeedbackLinearization(robot, fj.control.gains_from_poles([-20.0] * 4), 1e-4),
            4,
        ),
        ("motor PD and gravity", fj.control.MotorPD(robot, [1000.0, 50.0]), 0),
    ):
        peer = Loop(robot, law.gains, 1e-4)
        theirs = peer.feedback_linearization if order else peer.motor_pd
        references = np.ascontiguousarray(np.moveaxis(trajectory(t, order), 0, 1))
        options = {"period": 1e-4, "start": start, "check": False}
        ours = fj.simulate(robot, law, trajectory, 1e-4 * ROLLOUT, **options)
        check(f"rollout, {label}", ours.q[1:], peer.roll(theirs, start, references), AGREEMENT_OF_ROLLOUTS)
        many = fj.JointState(*(np.tile(x, (ROWS, 1)) for x in start))
        names = {"fj": fj, "robot": robot, "law": law, "trajectory": trajectory, "start": start, "many": many}
        names |= {"roll": peer.roll, "theirs": theirs, "references": references}
        statement = "fj.simulate(robot, law, trajectory, 1e-4 * PERIODS, period=1e-4, start=START, check=False)"
        single = statement.replace("START", "start").replace("PERIODS", str(ROLLOUT))
        rows = [statement.replace("START", x).replace("PERIODS", str(SHORT)) for x in ("many", "many, threads=2")]
        one, python = in_turn([single, "roll(theirs, start, references)"], names, max(3, effort.blocks // 20))
        batch, two = in_turn(rows, names, max(3, effort.blocks // 4))
        n = robot.n
        yield Row("rollouts", label, one / ROLLOUT, python / ROLLOUT, "Python over Pinocchio", 1 / 50, joints=n)
        share = batch / SHORT / ROWS
        yield Row("rollouts", f"{label}, {ROWS} rows", share, one / ROLLOUT, "a single rollout", 1 / 4, joints=n)
        label = f"{label}, {ROWS} rows, 2 threads"
        yield Row("rollouts", label, two / SHORT / ROWS, share, "1 thread", 1 / 1.7, joints=n)


def python_laws(effort: Effort) -> Iterator[Row]:
    """Processor time of a period with a law written in Python beyond the law itself: plant, sensors and loop."""
    robot = fj.load("kuka_lwr")
    goal = np.zeros(robot.n)
    start, torque = fj.simulation.at_rest(robot, goal), np.asarray(fj.gravity_torque(robot, goal))
    noise = {"link_noise": 1e-5, "motor_noise": 1e-5, "velocity_noise": 1e-3, "torque_noise": 0.1}
    sensors = fj.simulation.Sensors(link_resolution=1e-5, motor_resolution=1e-5, **noise)

    def law(t: float, state: Any, reference: np.ndarray, measurement: fj.JointState) -> Any:
        return state, torque

    names = {"fj": fj, "robot": robot, "law": law, "goal": goal, "start": start, "sensors": sensors}
    names |= {"stack": np.zeros((3, robot.n)), "periods": range(ROLLOUT)}
    run = f"fj.simulate(robot, law, goal, {ROLLOUT}e-4, period=1e-4, start=start, check=False, MORE)"
    alone = "for _ in periods: law(0.0, (), stack, start)"
    statements = [alone, run.replace(", MORE", ""), run.replace("MORE", "sensors=sensors")]
    own, plain, sensed = in_turn(statements, names, max(3, effort.blocks // 10), time.thread_time)
    yield Row("Python laws", "a period beyond the law", (plain - own) / ROLLOUT, target=4e-6, joints=robot.n)
    label = "a period beyond the law, with encoders and noise"
    yield Row("Python laws", label, (sensed - own) / ROLLOUT, target=15e-6, joints=robot.n)


def calls(effort: Effort) -> Iterator[Row]:
    """A kernel with next to nothing to compute: what the call itself costs."""
    robot = fj.random_robot(1, seed=0, prismatic=0.0)
    kernel = fj.compile(fj.gravity_torque, robot)
    names = inputs(robot) | {"kernel": kernel}
    times = interleaved(["kernel(q, out=out)", "kernel(q)", "fj.gravity_torque(robot, q, out=out)"], names, effort)
    for label, ours in zip(("kernel, out=", "kernel, new array", "function, out="), times):
        yield Row("call of a 1-joint kernel", label, ours, operations=kernel.operations, joints=1)

    vsa = fj.load("vsa_3r")
    kernel = fj.compile(fj.inverse_dynamics, vsa, stiffness=3)
    stack = [np.full(vsa.n, 2000.0), np.zeros(vsa.n), np.zeros(vsa.n)]
    arrays = {f"x{k}": np.full(vsa.n, 0.05) for k in range(5)}
    names = arrays | {"fj": fj, "vsa": vsa, "kernel": kernel, "out": np.empty(2 * vsa.n), "stack": stack}
    names |= {"array": np.array(stack), "s0": stack[0], "s1": stack[1], "s2": stack[2]}
    motion = ", ".join(arrays)
    statements = {
        "kernel, out=": f"kernel({motion}, s0, s1, s2, out=out)",
        "function, [σ, σ', σ''], out=": f"fj.inverse_dynamics(vsa, {motion}, stiffness=stack, out=out)",
        "function, one array, out=": f"fj.inverse_dynamics(vsa, {motion}, stiffness=array, out=out)",
    }
    for label, ours in zip(statements, interleaved(list(statements.values()), names, effort)):
        yield Row("call with stiffness=, 3R arm", label, ours, operations=kernel.operations, joints=vsa.n)


def compilation(effort: Effort) -> Iterator[Row]:
    """Processor time of tracing and of LLVM, which use one core; wall-clock time of calls in a new process."""
    elastic = fj.load("kuka_lwr")
    long = fj.random_robot(100, seed=100, prismatic=0.0, elastic=1.0)
    large = long.without_drives()
    for label, algorithm, robot, target in (
        ("elastic inverse dynamics of the LWR", fj.inverse_dynamics, elastic, 0.25),
        ("elastic inverse dynamics, N = 100", fj.inverse_dynamics, long, 10.0),
        ("mass matrix, N = 100", fj.mass_matrix, large, None),
    ):
        times = []
        for _ in range(effort.compilations if robot is elastic else 1):
            start = time.process_time()
            program, result = algorithm.trace(robot, algorithm.structure(robot))
            traced = time.process_time()
            pipeline.compile(program, result)
            times.append((traced - start, time.process_time() - traced))
        trace, llvm = (min(x) for x in zip(*times))
        yield Row("compilation", f"{label}: trace", trace, operations=program.operations)
        yield Row("compilation", f"{label}: LLVM", llvm, target=target, operations=program.operations)
    with tempfile.TemporaryDirectory() as folder:
        for label, kernels in (("compiled", "off"), ("kept on disk", folder)):
            ((first, other),) = in_new_processes([FIRST_CALLS], max(2, min(effort.processes, 5)), kernels)
            yield Row("compilation", f"first call in a new process, imports included, {label}", first)
            target = 0.002 if kernels == folder else None
            yield Row("compilation", f"first call of another kernel, {label}", other, target=target)


def imports(effort: Effort) -> Iterator[Row]:
    scripts = [IMPORT.format(x) for x in ("flexjoint", "numpy")]
    (ours,), (theirs,) = in_new_processes(scripts, effort.processes)
    yield Row("import", "import flexjoint", ours, theirs, "import numpy", 1.5)


PARTS = {
    "compiled peers": compiled_peers,
    "7R LWR": lwr,
    "torque derivatives": orders,
    "random chains": chains,
    "Coriolis": coriolis,
    "residuals": residuals,
    "batches": batches,
    "rollouts": rollouts,
    "Python laws": python_laws,
    "first result": lambda effort: cold_start(min(effort.processes, PROCESSES)),
    "calls": calls,
    "compilation": compilation,
    "import": imports,
}  # by section
