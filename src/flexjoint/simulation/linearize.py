"""The robot near a state as a linear system, x' = A x + B u, its modes and damping; its modes over the workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.deflection import spring_motion
from ..algorithms.elastic import refuse_antagonism
from ..algorithms.elastic_forward import elastic_forward_dynamics
from ..algorithms.newton_euler import gravity_torque
from ..algorithms.rotors import coupled_mass_matrix
from ..api import compile, kernel_of
from ..compiler.kernel import Kernel
from ..compiler.program import Array
from ..control.base import JointState
from ..control.sampling import configuration, deflection_at_rest
from ..drives import ElasticDrive
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, sx

Names = str | Sequence[str]


class LinearModel(NamedTuple):
    """x' = A x + B τ, y = C x + D τ for small deviations: x = (q, θ behind springs, q', θ' behind springs), y = q.

    `states` names x and `inputs` τ.  (A, B, C, D) are what python-control's `ss` and SciPy's `StateSpace` take.
    `system` gives those of other inputs and outputs: `tau.joint1` is the torque of a motor, `load.joint1` a force on a
    link; the outputs are the states, the accelerations `a.joint1`, `deflection.joint1` and `tau_e.joint1`, the torque
    of a spring.  Several are given as a pattern, such as `q.*`, or as a list.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    columns: Mapping[str, np.ndarray]  # of B, by the name of the input
    rows: Mapping[str, tuple[np.ndarray, np.ndarray]]  # of C and of D for all columns, by the name of the output

    @property
    def poles(self) -> np.ndarray:
        """Eigenvalues of A, rad/s, slow ones first."""
        values = np.linalg.eigvals(self.A)
        return values[np.argsort(np.abs(values), kind="stable")]

    @property
    def frequencies(self) -> np.ndarray:
        """|s| of the poles, rad/s."""
        return np.abs(self.poles)

    @property
    def damping(self) -> np.ndarray:
        """−Re s/|s| of the poles: 1 without oscillation, 0 undamped, negative if unstable; of a pole at 0, 0."""
        size = self.frequencies
        return np.where(size > 0, -self.poles.real / np.where(size > 0, size, 1.0), 0.0)

    def system(self, inputs: Names = "tau.*", outputs: Names = "q.*") -> tuple[np.ndarray, ...]:
        """(A, B, C, D) of these inputs and outputs: `control.ss(*model.system("load.joint1", "q.*"))`."""
        known = list(self.columns)
        columns, rows = chosen(inputs, known), [self.rows[name] for name in chosen(outputs, list(self.rows))]
        B = np.stack([self.columns[name] for name in columns], axis=1)
        C, D = (np.stack(x) for x in zip(*rows))
        return self.A, B, C, D[:, [known.index(name) for name in columns]]

    def to_control(self, inputs: Names = "tau.*", outputs: Names = "q.*") -> Any:
        """The same as a StateSpace of python-control, whose names have no dots: `tau.joint1` is `tau[joint1]` there."""
        try:
            import control
        except ImportError:
            raise InputError("to_control needs python-control, which is not installed: pip install control") from None
        names = {
            "inputs": bracketed(chosen(inputs, list(self.columns))),
            "outputs": bracketed(chosen(outputs, list(self.rows))),
            "states": bracketed(self.states),
        }
        return control.ss(*self.system(inputs, outputs), **names)

    def response(self, omega: Any, inputs: Names = "tau.*", outputs: Names = "q.*") -> np.ndarray:
        """Transfer functions C (iω − A)⁻¹ B + D at frequencies (...,) in rad/s: (..., outputs, inputs)."""
        A, B, C, D = self.system(inputs, outputs)
        s = 1j * np.asarray(omega, dtype=float)[..., None, None]
        return C @ np.linalg.solve(s * np.eye(len(A)) - A, B + 0j) + D


def bracketed(names: Sequence[str]) -> list[str]:
    parts = [name.partition(".") for name in names]
    return [f"{kind}[{joint.replace('.', '_')}]" for kind, _, joint in parts]


def chosen(names: Names, known: Sequence[str]) -> list[str]:
    """Those that match a name, a pattern or several of them, in the order given."""
    found: dict[str, None] = {}
    for pattern in [names] if isinstance(names, str) else names:
        matched = [name for name in known if name == pattern or fnmatchcase(name, pattern)]
        if not matched:
            raise InputError(f"linear model: nothing is called '{pattern}'; there are {', '.join(known)}")
        found |= dict.fromkeys(matched)
    return list(found)


def linearize(robot: Robot, state: Any, tau: Any = None) -> LinearModel:
    """The robot near a state: a configuration (n,) at rest with the springs carrying the links, or a JointState.

    `tau` is the motor torque there; by default that which gravity asks for.
    """
    if isinstance(state, JointState):
        at = [configuration(robot, x) for x in (state.q, state.theta, state.v, state.theta_v)]
    elif isinstance(state, tuple):
        raise InputError("linearize: state must be a configuration (n,) or a JointState")
    else:
        q = configuration(robot, state)
        at = [q, q + deflection_at_rest(robot, q), np.zeros(robot.n), np.zeros(robot.n)]
    torque = gravity_torque(robot, at[0]) if tau is None else configuration(robot, tau)
    names = ("q", "theta", "v", "theta_v")
    pairs = [(of, by) for of in ("a", "theta_a") for by in (*names, "tau")]
    found = compile(elastic_forward_dynamics, robot, derivatives=pairs)(*at, torque)
    J = dict(zip(pairs, found))
    n, elastic = robot.n, np.flatnonzero(robot.elastic)
    p = n + len(elastic)
    A, B, C = np.zeros((2 * p, 2 * p)), np.zeros((2 * p, n)), np.eye(n, 2 * p)
    A[:p, p:] = np.eye(p)
    for rows, of in ((slice(p, p + n), "a"), (slice(p + n, 2 * p), "theta_a")):
        own = slice(None) if of == "a" else elastic
        A[rows] = np.hstack([J[of, by][own][:, elastic if "theta" in by else slice(None)] for by in names])
        B[rows] = J[of, "tau"][own]
    joints = [joint.name for joint in robot.joints]
    labels = [
        f"{name}.{joint}"
        for name in names
        for joint, springy in zip(joints, robot.elastic)
        if springy or "theta" not in name
    ]
    push = np.zeros((2 * p, n))  # forces on the links
    push[p:] = np.linalg.inv(coupled_mass_matrix(robot, at[0]))[:, :n]
    columns = {f"tau.{joint}": B[:, i] for i, joint in enumerate(joints)}
    columns |= {f"load.{joint}": push[:, i] for i, joint in enumerate(joints)}
    rows = outputs(robot, at, labels, A, np.stack(list(columns.values()), axis=1))
    return LinearModel(A, B, C, np.zeros((n, n)), tuple(labels), tuple(joints), columns, rows)


def outputs(
    robot: Robot, at: Sequence[np.ndarray], states: list[str], A: np.ndarray, B: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Rows of C and D: the states, accelerations of the links, deflections and torques of the springs."""
    unit, none = dict(zip(states, np.eye(len(states)))), np.zeros(B.shape[1])
    found = {name: (row, none) for name, row in unit.items()}
    p, joints = len(states) // 2, [joint.name for joint in robot.joints]
    found |= {f"a.{joint}": (A[p + i], B[p + i]) for i, joint in enumerate(joints)}
    phi = at[1] - at[0]
    for i, joint in enumerate(robot.joints):
        drive, name = joint.drive, joint.name
        if isinstance(drive, ElasticDrive):
            bent, bending = unit[f"theta.{name}"] - unit[f"q.{name}"], unit[f"theta_v.{name}"] - unit[f"v.{name}"]
            found[f"deflection.{name}"] = bent, none
            found[f"tau_e.{name}"] = float(drive.spring.curve(phi[i]).stiffness) * bent + drive.damping * bending, none
    return found


def joint_eigenfrequencies(robot: Robot, q: Any) -> np.ndarray:
    """Frequencies of the springs' modes at configurations (..., n), rad/s, slow ones first: (..., springs).

    Undamped, without the slopes of gravity, as in `joint_modes`, which gives the shapes at one configuration.
    """
    refuse_antagonism(
        "joint_eigenfrequencies", robot, "a robot whose drives are ElasticDrive, of the stiffness in question"
    )
    q = np.asarray(q, dtype=float)
    if q.shape[-1:] != (robot.n,) or not np.all(np.isfinite(q)):
        raise InputError(f"joint_eigenfrequencies: q has shape {q.shape}; it must be (..., {robot.n}) finite numbers")
    springs = np.flatnonzero(robot.elastic)
    M = coupled_mass_matrix(robot, q)
    bending = np.zeros((M.shape[-1], len(springs)))  # forces of the springs' torques, times √k below
    bending[springs, range(len(springs))] = -1.0
    bending[robot.n :] = np.eye(len(springs))
    pull = bending * np.sqrt(stiffnesses(robot)(q)[..., None, springs])
    return np.linalg.svd(np.linalg.solve(np.linalg.cholesky(M), pull), compute_uv=False)[..., ::-1]


@lru_cache(maxsize=64)
def stiffnesses(robot: Robot) -> Kernel:
    """q -> dτ_e/dφ of each joint under gravity, zero at rigid ones."""

    def function(q: Any) -> list[tuple[Array, Any]]:
        tau, found = gravity_torque.function(robot, q), []
        for i, joint in enumerate(robot.joints):
            phi = spring_motion(joint, [tau[i], 0.0, 0.0])[0]
            found.append(joint.drive.spring.gradients(phi)[0] if isinstance(joint.drive, ElasticDrive) else sx(0.0))
        return [(Array("stiffness", (robot.n,), "Nm/rad | N/m"), ca.vertcat(*found))]

    return kernel_of(f"stiffnesses of {robot.name}", [Array("q", (robot.n,), "rad | m")], function, type=None)
