"""Steps of inverse kinematics as a kernel: projected Levenberg-Marquardt, for one row or a batch.

With the error e of all targets, its Jacobian J and joint positions in units of D, a step is

    dq = z + D (J_D)ᵀ (J_D J_Dᵀ + λ)⁻¹ (e − J z),    J_D = J D,    λ = κ |e|²

clipped at the limits.  The damping λ falls with the error  [Sugihara], so that convergence is quadratic.  A joint that
stands at a limit and would be pushed beyond it keeps its position in this step.  Without a preference z = 0; with one
z = α (preferred − q) is the pull towards the preferred posture, of which only the part in the null space of J remains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..algorithm.compile import Outputs, kernel_of
from ..compiler.ir.program import Array
from ..compiler.ir.scan import scan
from ..compiler.runtime.kernel import Kernel
from ..robot import Robot
from ..spatial import ca, sx, zeros
from ..types import Expression, Matrix, Scalar, Vector
from .target import Task
from .task_error import TaskErrors, square, task_errors

DAMPING = 0.01  # κ
LEAST_DAMPING = 1e-14  # keeps J Jᵀ + λ positive definite at singular postures
LONGEST_STEP = 1.0  # in units of D: linearization means nothing beyond
PULL = 0.5  # α
LONGEST_PULL = 0.2  # in units of D: the null space of J bends


@lru_cache(maxsize=64)
def error_kernel(robot: Robot, tasks: tuple[Task, ...], length: float) -> Kernel:
    """The kernel of the errors: (q, goals) to (position error, rotation error)."""

    def function(q: Expression, *goals: Expression) -> Outputs:
        return reported(task_errors(robot, tasks, q, goals, length))

    return made("errors", robot, tasks, f"{length!r}", [], function)


@lru_cache(maxsize=64)
def step_kernel(robot: Robot, tasks: tuple[Task, ...], length: float, steps: int) -> Kernel:
    """The kernel of some steps: (q, goals, lower, upper, unit) to (q, position error, rotation error)."""

    def step(linear: Linear, q: Vector, lower: Vector, upper: Vector, unit: Vector) -> Vector:
        free = inside(q, linear.J.T @ linear.error, lower, upper)
        return damped_solution(linear.with_columns(free), 0)

    return repeated("steps", robot, tasks, length, steps, ["lower", "upper", "unit"], step)


@lru_cache(maxsize=64)
def preference_kernel(robot: Robot, tasks: tuple[Task, ...], length: float, steps: int) -> Kernel:
    """The same with a pull towards a posture: also takes the preferred one and the weight, 0 or 1, of each joint."""

    def step(
        linear: Linear, q: Vector, lower: Vector, upper: Vector, unit: Vector, preferred: Vector, weight: Vector
    ) -> Vector:
        pull = PULL * weight * (preferred - q) / unit
        pull = pull * (LONGEST_PULL / ca.fmax(ca.norm_inf(pull), LONGEST_PULL))
        for _ in range(2):  # without the joints that the step so far would push beyond their limits
            free = inside(q, damped_solution(linear, pull), lower, upper)
            linear, pull = linear.with_columns(free), pull * free
        return damped_solution(linear, pull)

    given = ["lower", "upper", "unit", "preferred", "weight"]
    return repeated("preferred steps", robot, tasks, length, steps, given, step)


class Linear(NamedTuple):
    """The errors about a posture: J x changes them by −e, for x in units of the joints, damped by λ."""

    J: Matrix
    error: Vector
    damping: Scalar

    def with_columns(self, factors: Vector) -> Linear:
        """The columns of J times numbers, one per joint."""
        return self._replace(J=self.J * ca.repmat(factors.T, self.J.shape[0], 1))


def repeated(
    what: str,
    robot: Robot,
    tasks: tuple[Task, ...],
    length: float,
    steps: int,
    names: Sequence[str],
    step: Callable[..., Vector],
) -> Kernel:
    """The kernel of some steps (Linear, q, *given) → dq in units of the joints, clipped; `given` are (n,) by name."""
    moves = sorted({k for task in tasks for i in robot.path(task.link) if (k := robot.coordinates[i]) is not None})

    def function(q: Expression, *others: Expression) -> Outputs:
        def turn(carry: tuple[Expression, ...], _: tuple[()]) -> tuple[tuple[Expression, ...], tuple[()]]:
            q, *rest = carry
            found = task_errors(robot, tasks, q, rest[: len(tasks)], length)
            at, *given = (x[moves] for x in (q, *rest[len(tasks) :]))
            lower, upper, unit = given[:3]
            damping = DAMPING * square(found.error) + LEAST_DAMPING
            dq = step(Linear(found.jacobian[:, moves], found.error, damping).with_columns(unit), at, *given)
            dq = dq * (LONGEST_STEP / ca.fmax(ca.norm_inf(dq), LONGEST_STEP))
            moved = ca.SX(q)
            moved[moves] = ca.fmin(ca.fmax(at + unit * dq, lower), upper)
            return (moved, *rest), ()

        (q, *_), _ = scan(turn, (q, *others), [()] * steps)
        return [(Array("q", (robot.n,)), q), *reported(task_errors(robot, tasks, q, others[: len(tasks)], length))]

    return made(what, robot, tasks, f"{length!r} {steps}", names, function)


def made(
    what: str,
    robot: Robot,
    tasks: tuple[Task, ...],
    options: str,
    names: Sequence[str],
    function: Callable[..., Outputs],
) -> Kernel:
    """The kernel of a function of q, the goals and further arrays (n,) by name."""
    goals = [Array(f"goal {k + 1}", (task.goal_size,)) for k, task in enumerate(tasks)]
    arrays = [Array("q", (robot.n,)), *goals, *(Array(name, (robot.n,)) for name in names)]
    key = f"inverse kinematics, {what} {robot.digest} {tasks} {options}"
    return kernel_of(f"inverse kinematics of {robot.name}", arrays, function, key)


def reported(found: TaskErrors) -> Outputs:
    """The errors that users see, as outputs."""
    return [(Array("position_error", (), "m"), found.position), (Array("rotation_error", (), "rad"), found.rotation)]


def inside(q: Vector, direction: Vector, lower: Vector, upper: Vector) -> Vector:
    """1 where a joint may move in a direction, 0 where it stands at the limit before it."""
    at_lower = ca.logic_and(q <= lower, direction < 0)
    at_upper = ca.logic_and(q >= upper, direction > 0)
    return ca.if_else(ca.logic_or(at_lower, at_upper), 0.0, 1.0)


def damped_solution(linear: Linear, pull: Vector | float) -> Vector:
    """z + x, where x minimizes |J (z + x) − e|² + λ |x|² and z is the pull: by the smaller of the normal equations."""
    J, error, damping = linear
    missing = error - J @ pull if isinstance(pull, ca.SX) else error
    m, n = J.shape
    if m <= n:
        return pull + J.T @ solved(J @ J.T + damping * ca.SX.eye(m), missing)
    return pull + solved(J.T @ J + damping * ca.SX.eye(n), J.T @ missing)


def solved(A: Matrix, b: Vector) -> Vector:
    """x with A x = b for a symmetric positive definite matrix, by A = L D Lᵀ, written out."""
    n = A.shape[0]
    L, D = ca.SX.eye(n), zeros(n)
    for j in range(n):
        scaled = [L[j, k] * D[k] for k in range(j)]
        D[j] = A[j, j] - sum((L[j, k] * scaled[k] for k in range(j)), sx(0.0))
        inverse = 1 / D[j]
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum((L[i, k] * scaled[k] for k in range(j)), sx(0.0))) * inverse
    x = ca.SX(b)
    for i in range(n):
        x[i] = x[i] - sum((L[i, k] * x[k] for k in range(i)), sx(0.0))
    for i in reversed(range(n)):
        x[i] = x[i] / D[i] - sum((L[k, i] * x[k] for k in range(i + 1, n)), sx(0.0))
    return x
