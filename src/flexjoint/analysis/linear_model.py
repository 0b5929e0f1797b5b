"""Linearization of a robot about a state, x' = A x + B u, its poles and damping; natural frequencies of its springs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import kernel_of
from ..checks import finite
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..control.base import JointState
from ..control.sampling import configuration, torque_at_rest
from ..drives import ElasticDrive
from ..dynamics.drivetrain.coupling import at_springs, matrices
from ..dynamics.drivetrain.passive import parallel_stiffness
from ..dynamics.drivetrain.springs import spring_motion
from ..dynamics.inertia import mass_matrix
from ..dynamics.links import static_torque
from ..dynamics.requirements import constant_stiffness, lossless_gears, require
from ..errors import InputError
from ..html import table
from ..robot import Robot, numeric
from ..simulation.equilibrium import at_rest
from ..simulation.plant import Plant
from ..spatial import ca, sx, total, zeros
from ..types import ComplexArray, Expression, FloatArray

Names = str | Sequence[str]
ROUNDING = 1e-6  # relative to the fastest pole: smaller poles and real parts are 0 but for rounding


class LinearModel(NamedTuple):
    """Linear system x' = A x + B τ, y = C x + D τ for small deviations from a state.

    Args:
        A, B, C, D: The matrices for x = (q, θ, q', θ') with θ of elastic joints only, input τ and output y = q;
            python-control's `ss` and SciPy's `StateSpace` take them.
        states: Names of x.
        inputs: Names of the motors of τ.
        columns: Column of B by input.
        rows: Rows of C and of D, over all columns, by output.
        robot: The robot.

    `system` gives the matrices of other inputs and outputs by name.  Inputs: `tau.joint1`, the torque of a motor, and
    `load.joint1`, a force on a link.  Outputs: the states, the acceleration `a.joint1`, `deflection.joint1`, and the
    spring torque `tau_e.joint1`.  Give several as a pattern, such as `q.*`, or as a list.
    """

    A: FloatArray
    B: FloatArray
    C: FloatArray
    D: FloatArray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    columns: Mapping[str, FloatArray]
    rows: Mapping[str, tuple[FloatArray, FloatArray]]
    robot: Robot

    def __repr__(self) -> str:
        least = ROUNDING * self.frequencies.max(initial=0.0)
        found = self.frequencies[self.frequencies > least]
        span = f"{found[0]:.4g} to {found[-1]:.4g} rad/s" if found.size else "0 rad/s"
        unstable = np.count_nonzero(self.poles.real > least)
        return (
            f"<LinearModel of {self.robot.name}: {len(self.states)} states, {len(self.inputs)} motors; natural "
            f"frequencies {span}; {unstable} unstable poles>"
        )

    def _repr_html_(self) -> str:
        rows = [
            (f"{pole.real:.4g} {pole.imag:+.4g}i", f"{size:.4g}", f"{damping:.3g}")
            for pole, size, damping in zip(self.poles, self.frequencies, self.damping)
            if pole.imag >= 0
        ]
        caption = f"{self.robot.name}, linear model: {len(self.states)} states, {len(self.inputs)} motors"
        return table(rows, ("pole, 1/s", "frequency, rad/s", "damping ratio"), caption=caption)

    @property
    def poles(self) -> ComplexArray:
        """Eigenvalues of A, 1/s, the slowest first."""
        values = np.linalg.eigvals(self.A).astype(complex)
        return values[np.argsort(np.abs(values), kind="stable")]

    @property
    def frequencies(self) -> FloatArray:
        """Natural frequencies |s| of the poles, rad/s."""
        return np.abs(self.poles)

    @property
    def damping(self) -> FloatArray:
        """Damping ratios −Re s/|s| of the poles: 1 without oscillation, 0 undamped or s = 0, negative if unstable."""
        size = self.frequencies
        return np.where(size > 0, -self.poles.real / np.where(size > 0, size, 1.0), 0.0)

    def system(self, inputs: Names = "tau.*", outputs: Names = "q.*") -> tuple[FloatArray, ...]:
        """Matrices (A, B, C, D) for the given inputs and outputs, such as `model.system("load.joint1", "q.*")`.

        Args:
            inputs: A name, a pattern or a list of them; default all motor torques.
            outputs: Likewise; default all link positions.

        Raises:
            InputError: A name matches nothing.
        """
        known = list(self.columns)
        columns, rows = chosen(inputs, known), [self.rows[name] for name in chosen(outputs, list(self.rows))]
        B = np.stack([self.columns[name] for name in columns], axis=1)
        C, D = (np.stack(x) for x in zip(*rows))
        return self.A, B, C, D[:, [known.index(name) for name in columns]]

    def to_control(self, inputs: Names = "tau.*", outputs: Names = "q.*") -> Any:
        """The system as a StateSpace of python-control; `tau.joint1` is called `tau[joint1]` there.

        Args:
            inputs, outputs: As for `system`.

        Raises:
            InputError: Python-control is not installed or a name matches nothing.
        """
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

    def response(self, omega: ArrayLike, inputs: Names = "tau.*", outputs: Names = "q.*") -> ComplexArray:
        """Frequency response C (iω − A)⁻¹ B + D, (..., outputs, inputs), complex.

        Args:
            omega: Frequencies (...,), rad/s.
            inputs, outputs: As for `system`.

        Raises:
            InputError: A frequency is that of an undamped pole.
        """
        A, B, C, D = self.system(inputs, outputs)
        s = 1j * finite("linear model", "omega", omega)[..., None, None]
        try:
            return np.asarray(C @ np.linalg.solve(s * np.eye(len(A)) - A, B + 0j) + D, dtype=complex)
        except np.linalg.LinAlgError:
            raise InputError("linear model: a frequency is that of an undamped pole; take one beside it") from None


def bracketed(names: Sequence[str]) -> list[str]:
    """Names without dots, as python-control wants them."""
    parts = [name.partition(".") for name in names]
    return [f"{kind}[{joint.replace('.', '_')}]" for kind, _, joint in parts]


def chosen(names: Names, known: Sequence[str]) -> list[str]:
    """Known names that match a name, a pattern or a list of them, in the order given."""
    found: dict[str, None] = {}
    for pattern in [names] if isinstance(names, str) else names:
        matched = [name for name in known if name == pattern or fnmatchcase(name, pattern)]
        if not matched:
            raise InputError(f"linear model: nothing matches '{pattern}'; there are {', '.join(known)}")
        found |= dict.fromkeys(matched)
    return list(found)


def linearize(robot: Robot, state: ArrayLike | JointState, tau: ArrayLike | None = None) -> LinearModel:
    """Linear model of a robot about a state.

    Args:
        robot: Any robot that can be simulated.
        state: A configuration (n,), rad or m, at which the robot rests with its springs in equilibrium, or a
            JointState. A robot with variable stiffness needs a JointState, such as `at_rest(robot, q, stiffness)`.
        tau: Motor torques at that state, one per motor, Nm or N; by default those that balance gravity and parallel
            springs.

    Returns:
        A LinearModel.

    Raises:
        InputError: A shape does not fit or a number is not finite.

    Example:
        >>> import flexjoint as fj
        >>> model = fj.analysis.linearize(fj.load("hua_3r"), [0.2, 0.5, -0.4])
        >>> A, B, C, D = model.system("load.joint1", "q.*")
    """
    if isinstance(state, tuple) and not isinstance(state, JointState):
        raise InputError("linearize: state must be a configuration (n,) or a JointState")
    require("linearize", numeric("linearize", robot), lossless_gears)
    at = state if isinstance(state, JointState) else at_rest(robot, state)
    n, plant, motors = robot.n, Plant(robot), robot.motor_joints
    q, v = configuration(robot, at.q), configuration(robot, at.v)
    theta, theta_v = (numbers(robot, name, getattr(at, name)) for name in ("theta", "theta_v"))
    torque = torque_at_rest(robot, q)[list(motors)] if tau is None else numbers(robot, "tau", tau)
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
    C, D = np.eye(n, 2 * p), np.zeros((n, len(motors)))
    return LinearModel(A, B, C, D, states, robot.motor_names, columns, rows, robot)


def numbers(robot: Robot, name: str, value: ArrayLike) -> FloatArray:
    """An array with one number per motor; raises InputError if it is not."""
    array = np.asarray(value, dtype=float)
    if array.shape != (robot.motor_count,) or not np.all(np.isfinite(array)):
        raise InputError(f"linearize: {name} has shape {array.shape}; it must be {robot.motor_count} finite numbers")
    return array


@lru_cache(maxsize=64)
def slopes(robot: Robot) -> Kernel:
    """Kernel (x, w, τ) -> ∂w'/∂(x, w, τ) and ∂τ_e/∂(x, w), for free coordinates x with velocities w."""
    plant = Plant(robot)
    p, m = robot.n + len(plant.behind), robot.motor_count

    def function(x: Expression, w: Expression, tau: Expression) -> list[tuple[Array, Expression]]:
        state = plant.state(x, w)
        rate, tau_e = plant.acceleration(0.0, state, tau), plant.joint_torques(state, zeros(m))
        return [
            (Array("acceleration", (p, 2 * p + m)), ca.jacobian(rate, ca.vertcat(x, w, tau))),
            (Array("springs", (robot.n, 2 * p)), ca.jacobian(tau_e, ca.vertcat(x, w))),
        ]

    inputs = [Array("x", (p,)), Array("w", (p,)), Array("tau", (m,))]
    return kernel_of(f"slopes of {robot.name}", inputs, function, f"slopes {robot.digest}", loops=False)


def pushed(robot: Robot, q: FloatArray, p: int) -> FloatArray:
    """Acceleration of each free coordinate per unit force on each link, (p, n)."""
    if any(robot.variable_stiffness):
        found = np.zeros((p, robot.n))
        found[: robot.n] = np.linalg.inv(mass_matrix(robot, q))
        return found
    return np.linalg.inv(mass_matrix(robot, q, motors=True))[:, : robot.n]


def outputs(
    plant: Plant, springs: FloatArray, states: Sequence[str], A: FloatArray, B: FloatArray
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Rows of C and D by output: states, accelerations of the links, deflections and torques of the springs."""
    unit, none, robot = dict(zip(states, np.eye(len(states)))), np.zeros(B.shape[1]), plant.robot
    found = {name: (row, none) for name, row in unit.items()}
    p, joints = len(states) // 2, [joint.name for joint in robot.joints]
    found |= {f"a.{joint}": (A[p + i], B[p + i]) for i, joint in enumerate(joints)}
    matrix = matrices(robot)
    for k in plant.behind:
        name, i = robot.motor_names[k], robot.motor_joints[k]
        if k >= robot.n:
            c = getattr(robot.joints[i].drive, "c", 1)  # whether θ_2 counts from the link
            found[f"deflection.{name}"] = unit[f"theta.{name}"] - c * unit[f"q.{joints[i]}"], none
            continue
        ends = [x * unit[f"theta.{joints[j]}"] for j, x in enumerate(matrix.near_motors_inverse[k]) if x]
        ends += [-x * unit[f"q.{joints[j]}"] for j, x in enumerate(matrix.near_links[k]) if x]
        found[f"deflection.{name}"] = total(ends), none
    return found | {f"tau_e.{x}": (springs[i], none) for i, x in enumerate(joints) if robot.compliant[i]}


def joint_eigenfrequencies(robot: Robot, q: ArrayLike) -> FloatArray:
    """Natural frequencies of the joint springs, (..., number of springs), rad/s, the slowest first.

    Parallel springs count as springs too.

    Args:
        robot: With elastic joints; not with variable stiffness.
        q: Configurations (..., n), rad or m.

    Raises:
        InputError: The robot has variable stiffness or q does not fit.
        NonFiniteError: q is beyond the reach of a spring law; in a batch the row is NaN.

    Damping and the gradient of gravity are neglected, as in `joint_modes`, which also gives the mode shapes at one
    configuration.
    """
    instead = "a robot whose drives are ElasticDrive, of the stiffness in question"
    require("joint_eigenfrequencies", robot, lossless_gears, constant_stiffness(instead))
    q = np.asarray(q, dtype=float)
    if q.shape[-1:] != (robot.n,) or not np.all(np.isfinite(q)):
        raise InputError(f"joint_eigenfrequencies: q has shape {q.shape}; it must be (..., {robot.n}) finite numbers")
    elastic = np.flatnonzero(robot.compliant)
    parallel = np.array(sorted({x.coordinate for x in robot.parallel_springs}), dtype=int)
    springs = [*elastic, *parallel]
    M = mass_matrix(robot, q, motors=True)
    bending = np.zeros((M.shape[-1], len(springs)))  # generalized force of a unit spring torque; times √k below
    bending[springs, range(len(springs))] = -1.0
    bending[: robot.n, : len(elastic)] = -matrices(robot).near_links[elastic].T
    bending[robot.n :, : len(elastic)] = matrices(robot).near_motors_inverse[np.ix_(elastic, elastic)].T
    k = np.asarray(stiffnesses(robot)(q))[..., [*elastic, *(robot.n + parallel)]]
    if np.any(k < 0):
        joint = robot.joints[springs[int(np.argmin(k.reshape(-1, len(springs)).min(axis=0)))]]
        raise InputError(
            f"joint_eigenfrequencies: the parallel spring of joint '{joint.name}' has the stiffness {k.min():g}, which "
            "is no oscillation; use analysis.linearize(robot, q)"
        )
    # beyond the reach of a law its derivative may be any number
    reached = np.isfinite(k).all(axis=-1) & np.isfinite(static_torque(robot, q)).all(axis=-1)
    pull = bending * np.sqrt(np.where(reached[..., None], k, 0.0)[..., None, :])
    found = np.linalg.svd(np.linalg.solve(np.linalg.cholesky(M), pull), compute_uv=False)[..., ::-1]
    return np.where(reached[..., None], found, np.nan)


@lru_cache(maxsize=64)
def stiffnesses(robot: Robot) -> Kernel:
    """Kernel q -> dτ_e/dφ per joint under gravity, 0 at rigid joints; then those of parallel springs, if any."""

    def function(q: Expression) -> list[tuple[Array, Expression]]:
        tau, found = at_springs(robot, static_torque.function(robot, q)), []
        for i, joint in enumerate(robot.joints):
            phi = spring_motion(joint, [tau[i], 0.0, 0.0])[0]
            found.append(joint.drive.spring.gradients(phi)[0] if isinstance(joint.drive, ElasticDrive) else sx(0.0))
        values = ca.vertcat(*found, *([parallel_stiffness(robot, q)] if robot.parallel_springs else []))
        return [(Array("stiffness", (values.numel(),), "Nm/rad | N/m"), values)]

    return kernel_of(f"stiffnesses of {robot.name}", [Array("q", (robot.n,), "rad | m")], function, type=None)
