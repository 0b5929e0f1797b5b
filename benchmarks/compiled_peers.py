"""Peers that are compiled too: MuJoCo's C rollouts of the exported plant, and CasADi's generated C of the same graph.

MuJoCo: `mjcf_model` of the elastic LWR, stepped by `mujoco.rollout`, whole rollouts in C on one thread, with all that
this plant does not need switched off.  Motor PD is an affine actuator, evaluated in every stage of a step, as
`simulate(hold=False)` does; its setpoint is computed before the clock starts.  The series form of the same joint,
coordinates θ and q − θ on one body, takes 0.97 of its time.

CasADi: `Function.generate` of the expressions that our kernels are compiled from, by gcc -O3 -march=native, called in a
loop in C.  Our kernels are called from Python.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import casadi as ca
import mujoco
import numpy as np
from mujoco import rollout

import flexjoint as fj

from .peers import check, mujoco_chain
from .timing import Effort, Row, in_turn, interleaved

PERIOD, PERIODS, SHORT, ROWS = 1e-4, 10_000, 1000, 64  # s, periods of a single rollout and of a batch, runs at once
GAINS = (1000.0, 50.0)
BATCH = 4096
AGREEMENT = 1e-11  # relative, over all periods of a rollout
UNUSED = ("CONSTRAINT", "CONTACT", "SENSOR", "WARMSTART", "ISLAND", "AUTORESET")
LOOP = """
void loop(casadi_int rows, casadi_int inputs, casadi_int n, const double *x, casadi_int size, double *y) {
  static casadi_int iw[CASADI_IW + 1];
  static double w[CASADI_W + 1];
  const double *arg[CASADI_ARG];
  double *res[CASADI_RES];
  for (casadi_int row = 0; row < rows; ++row) {
    for (casadi_int k = 0; k < inputs; ++k) arg[k] = x + (k * rows + row) * n;
    res[0] = y + row * size;
    peer(arg, res, iw, w, 0);
  }
}
"""


# MuJoCo -------------------------------------------------------------------------------------------------------------


def mujoco_rollouts(effort: Effort) -> Iterator[Row]:
    """One period of the elastic LWR: held torques, and motor PD in continuous time."""
    robot = fj.load("kuka_lwr")
    goal = np.full(robot.n, 0.5)
    start = fj.simulation.at_rest(robot, np.zeros(robot.n))
    g, K = fj.gravity_torque(robot, goal), np.array([joint.drive.stiffness for joint in robot.joints])
    torque = 1.1 * fj.gravity_torque(robot, start.q)
    for label, law, reference, hold, control, bias, targets in (
        ("plant under held torques", fj.control.OpenLoop(robot), torque, True, torque, (0.0, 0.0), (None, None)),
        (
            "motor PD and gravity",
            *(fj.control.MotorPD(robot, GAINS), goal, False),
            *(GAINS[0] * (goal + g / K) + g, GAINS, (1 / 18, 1 / 60)),
        ),
    ):
        plant = Plant(robot, start, control, bias)
        names = {"fj": fj, "robot": robot, "law": law, "reference": reference, "start": start, "plant": plant}
        names["many"] = fj.JointState(*(np.tile(x, (ROWS, 1)) for x in start))
        ours = "fj.simulate(robot, law, reference, PERIODSe-4, period=1e-4, start=START, check=False, hold=HOLD)"
        ours = ours.replace("HOLD", str(hold))
        single = ours.replace("PERIODS", str(PERIODS)).replace("START", "start")
        batch = ours.replace("PERIODS", str(SHORT)).replace("START", "many")
        for statement, rows, periods in ((single, 1, PERIODS), (batch, ROWS, SHORT)):
            found, theirs = eval(statement, names).q, plant.roll(rows, periods)
            check(f"MuJoCo, {label}, {rows} rows", found.reshape(rows, -1, robot.n)[:, 1:], theirs, AGREEMENT)
        rounds = max(3, effort.blocks // 10)
        one, peer = in_turn([single, f"plant.roll(1, {PERIODS})"], names, rounds, time.thread_time)
        many, peers = in_turn([batch, f"plant.roll({ROWS}, {SHORT})"], names, rounds, time.thread_time)
        about = {"peer_name": "mujoco.rollout", "joints": robot.n}
        yield Row("compiled peers", label, one / PERIODS, peer / PERIODS, target=targets[0], **about)
        share, shares = (x / ROWS / SHORT for x in (many, peers))
        yield Row("compiled peers", f"{label}, {ROWS} rows", share, shares, target=targets[1], **about)


class Plant:
    """The exported plant in MuJoCo, under constant controls and torques control − bias · (θ, θ')."""

    def __init__(self, robot: fj.Robot, start: fj.JointState, control: np.ndarray, bias: tuple[float, float]):
        self.exported = fj.formats.mjcf_model(robot, timestep=PERIOD, limits=False)
        self.model, self.data = mujoco_chain(robot)
        self.model.opt.timestep = PERIOD
        for name in UNUSED:
            self.model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")
        self.model.actuator_biastype[:] = mujoco.mjtBias.mjBIAS_AFFINE
        self.model.actuator_biasprm[:, 1:3] = [-x for x in bias]
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self.data.qpos[:], self.data.qvel[:] = self.exported.to_mujoco(*start)
        self.start = np.empty(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data, self.start, kind)
        self.control = control
        self.arrays: dict[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def roll(self, rows: int, periods: int) -> np.ndarray:
        """q after each period (rows, periods, n); arrays are made in the first call."""
        if (rows, periods) not in self.arrays:
            control = np.tile(self.control, (rows, periods, 1))
            start = np.tile(self.start, (rows, 1))
            self.arrays[rows, periods] = start, control, np.empty((rows, periods, len(self.start)))
        start, control, states = self.arrays[rows, periods]
        rollout.rollout([self.model] * rows, [self.data], start, control, skip_checks=True, nstep=periods, state=states)
        return states[:, :, 1 : 1 + self.exported.robot.n]  # time, then qpos: the links come first


# CasADi -------------------------------------------------------------------------------------------------------------


def casadi_functions(effort: Effort) -> Iterator[Row]:
    """The 7R LWR: a call from Python, and a row of a batch, against a call of CasADi's C in C."""
    elastic = fj.load("kuka_lwr")
    rigid = elastic.without_drives()
    rng = np.random.default_rng(0)
    for label, algorithm, robot, inputs in (
        ("rigid inverse dynamics", fj.inverse_dynamics, rigid, 3),
        ("elastic inverse dynamics", fj.inverse_dynamics, elastic, 5),
        ("forward dynamics", fj.forward_dynamics, rigid, 3),
    ):
        X, Y = rng.uniform(-1.0, 1.0, (inputs, BATCH, robot.n)), np.empty((BATCH, robot.n))
        symbols = [ca.SX.sym(f"x{k}", robot.n) for k in range(inputs)]
        kernel = fj.compile(algorithm, robot)
        with tempfile.TemporaryDirectory() as folder:
            names = {"kernel": kernel, "X": X, "Y": Y, "out": np.empty(robot.n)}
            graph = ca.densify(ca.SX(algorithm(robot, *symbols)))
            for cse in (False, True):
                names[f"peer{cse:d}"] = Generated(symbols, graph, cse, Path(folder))
                check(f"CasADi, {label}", kernel(*X), names[f"peer{cse:d}"](X, Y), 1e-11)
            names |= {f"x{k}": X[k, 0].copy() for k in range(inputs)}
            alone = f"kernel({', '.join(f'x{k}' for k in range(inputs))}, out=out)"
            one, many, *peers = interleaved([alone, "kernel(*X, out=Y)", "peer0(X, Y)", "peer1(X, Y)"], names, effort)
        about = {"peer": min(peers) / BATCH, "peer_name": "CasADi C", "operations": kernel.operations}
        yield Row("compiled peers", f"{label}, kernel", one, joints=robot.n, **about)
        yield Row("compiled peers", f"{label}, a row of a batch", many / BATCH, joints=robot.n, **about)


class Generated:
    """A graph as C by CasADi, with or without common subexpressions, in a loop over rows."""

    def __init__(self, symbols: list[ca.SX], graph: ca.SX, cse: bool, folder: Path):
        name = f"peer_{cse:d}"
        function = ca.Function("peer", symbols, [graph], {"cse": cse})
        code = ca.CodeGenerator(f"{name}.c")
        code.add(function)
        source = folder / f"{name}.c"
        sizes = {"ARG": function.sz_arg(), "RES": function.sz_res(), "IW": function.sz_iw(), "W": function.sz_w()}
        defined = "".join(f"#define CASADI_{key} {size}\n" for key, size in sizes.items())
        source.write_text(defined + code.dump() + LOOP)
        library = folder / f"{name}.so"
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, str(source), "-o", str(library), "-lm"], check=True)
        self.loop = ctypes.CDLL(str(library)).loop
        self.loop.argtypes = [ctypes.c_longlong] * 3 + [ctypes.c_void_p, ctypes.c_longlong, ctypes.c_void_p]
        self.size = graph.numel()

    def __call__(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        inputs, rows, n = X.shape
        self.loop(rows, inputs, n, X.ctypes.data, self.size, Y.ctypes.data)
        return Y


def compiled_peers(effort: Effort) -> Iterator[Row]:
    """Both, with what they agree on checked before anything is timed."""
    yield from mujoco_rollouts(effort)
    yield from casadi_functions(effort)
