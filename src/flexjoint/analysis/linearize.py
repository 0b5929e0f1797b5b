"""The robot near a state as a linear system, x' = A x + B u, its modes and damping; its modes over the workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.compile import kernel_of
from ..checks import finite
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..control.base import JointState
from ..control.sampling import configuration
from ..drives import ElasticDrive
from ..dynamics.drivetrain.springs import spring_motion
from ..dynamics.inertia import mass_matrix
from ..dynamics.links import gravity_torque
from ..dynamics.requirements import constant_stiffness, require
from ..errors import InputError
from ..robot import Robot
from ..simulation.plant import Plant
from ..simulation.rest import at_rest
from ..spatial import ca, sx, zeros

Names = str | Sequence[str]


class LinearModel(NamedTuple):
    """x' = A x + B τ, y = C x + D τ for small deviations: x = (q, θ behind springs, q', θ' behind springs), y = q.

    `states` names x and `inputs` τ, both motors of a joint with two.  (A, B, C, D) are what python-control's `ss` and
    SciPy's `StateSpace` take.  `system` gives those of other inputs and outputs: `tau.joint1` is the torque of a motor,
    `load.joint1` a force on a link; the outputs are the states, the accelerations `a.joint1`, `deflection.joint1` and
    `tau_e.joint1`, the torque of the springs.  Several are given as a pattern, such as `q.*`, or as a list.
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
        s = 1j * finite("linear model", "omega", omega)[..., None, None]
        try:
            return C @ np.linalg.solve(s * np.eye(len(A)) - A, B + 0j) + D
        except np.linalg.LinAlgError:
            raise InputError(
                "linear model: a frequency is that of a pole without damping; take one beside it"
            ) from None


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

    `tau` is the motor torque there; by default that which gravity asks for.  Joints of variable stiffness need a
    JointState, such as `at_rest(robot, q, stiffness)`.
    """
    if isinstance(state, tuple) and not isinstance(state, JointState):
        raise InputError("linearize: state must be a configuration (n,) or a JointState")
    at = state if isinstance(state, JointState) else at_rest(robot, state)
    n, plant, motors = robot.n, Plant(robot), robot.motor_joints
    q, v = configuration(robot, at.q), configuration(robot, at.v)
    theta, theta_v = (numbers(robot, name, getattr(at, name)) for name in ("theta", "theta_v"))
    torque = gravity_torque(robot, q)[list(motors)] if tau is None else numbers(robot, "tau", tau)
    x, w = np.concatenate([q, theta[plant.behind]]), np.concatenate([v, theta_v[plant.behind]])
    p = len(x)
    A, B = np.zeros((2 * p, 2 * p)), np.zeros((2 * p, len(motors)))
    A[:p, p:] = np.eye(p)
    acceleration, springs = slopes(robot)(x, w, torque)
    A[p:], B[p:] = np.split(acceleration, [2 * p], axis=1)
    joints, names = robot.motor_names[:n], [robot.motor_names[k] for k in plant.behind]
    places = [f"q.{joint}" for joint in joints] + [f"theta.{name}" for name in names]
    rates = [f"v.{joint}" for joint in joints] + [f"theta_v.{name}" for name in names]
    push = np.zeros((2 * p, n))
    push[p:] = pushed(robot, q, p)
    columns = {f"tau.{name}": B[:, k] for k, name in enumerate(robot.motor_names)}
    columns |= {f"load.{joint}": push[:, i] for i, joint in enumerate(joints)}
    states = (*places, *rates)
    rows = outputs(plant, springs, states, A, np.stack(list(columns.values()), axis=1))
    return LinearModel(A, B, np.eye(n, 2 * p), np.zeros((n, len(motors))), states, robot.motor_names, columns, rows)


def numbers(robot: Robot, name: str, value: Any) -> np.ndarray:
    array = np.asarray(value, dtype=float)
    if array.shape != (robot.motor_count,) or not np.all(np.isfinite(array)):
        raise InputError(f"linearize: {name} has shape {array.shape}; it must be {robot.motor_count} finite numbers")
    return array


@lru_cache(maxsize=64)
def slopes(robot: Robot) -> Kernel:
    """(x, w, τ) -> ∂w'/∂(x, w, τ) of the free coordinates x with the velocities w, and ∂τ_e/∂(x, w)."""
    plant = Plant(robot)
    p, m = robot.n + len(plant.behind), robot.motor_count

    def function(x: Any, w: Any, tau: Any) -> list[tuple[Array, Any]]:
        state = plant.state(x, w)
        rate, tau_e = plant.acceleration(0.0, state, tau), plant.torques_on_links(state, zeros(m))
        return [
            (Array("acceleration", (p, 2 * p + m)), ca.jacobian(rate, ca.vertcat(x, w, tau))),
            (Array("springs", (robot.n, 2 * p)), ca.jacobian(tau_e, ca.vertcat(x, w))),
        ]

    inputs = [Array("x", (p,)), Array("w", (p,)), Array("tau", (m,))]
    return kernel_of(f"slopes of {robot.name}", inputs, function, f"slopes {robot.digest}", loops=False)


def pushed(robot: Robot, q: np.ndarray, p: int) -> np.ndarray:
    """Accelerations (p, n) of the free coordinates by forces on the links."""
    if any(robot.variable_stiffness):
        found = np.zeros((p, robot.n))
        found[: robot.n] = np.linalg.inv(mass_matrix(robot, q))
        return found
    return np.linalg.inv(mass_matrix(robot, q, motors=True))[:, : robot.n]


def outputs(
    plant: Plant, springs: np.ndarray, states: Sequence[str], A: np.ndarray, B: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Rows of C and D: the states, accelerations of the links, deflections of the springs and their torques."""
    unit, none, robot = dict(zip(states, np.eye(len(states)))), np.zeros(B.shape[1]), plant.robot
    found = {name: (row, none) for name, row in unit.items()}
    p, joints = len(states) // 2, [joint.name for joint in robot.joints]
    found |= {f"a.{joint}": (A[p + i], B[p + i]) for i, joint in enumerate(joints)}
    for k in plant.behind:
        name, i = robot.motor_names[k], robot.motor_joints[k]
        c = getattr(robot.joints[i].drive, "c", 1) if k >= robot.n else 1  # whether θ_2 counts from the link
        found[f"deflection.{name}"] = unit[f"theta.{name}"] - c * unit[f"q.{joints[i]}"], none
    return found | {f"tau_e.{x}": (springs[i], none) for i, x in enumerate(joints) if robot.compliant[i]}


def joint_eigenfrequencies(robot: Robot, q: Any) -> np.ndarray:
    """Frequencies of the springs' modes at configurations (..., n), rad/s, slow ones first: (..., springs).

    Undamped, without the slopes of gravity, as in `joint_modes`, which gives the shapes at one configuration.
    """
    instead = "a robot whose drives are ElasticDrive, of the stiffness in question"
    require("joint_eigenfrequencies", robot, constant_stiffness(instead))
    q = np.asarray(q, dtype=float)
    if q.shape[-1:] != (robot.n,) or not np.all(np.isfinite(q)):
        raise InputError(f"joint_eigenfrequencies: q has shape {q.shape}; it must be (..., {robot.n}) finite numbers")
    springs = np.flatnonzero(robot.compliant)
    M = mass_matrix(robot, q, motors=True)
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
