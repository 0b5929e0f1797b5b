"""The longest stable step of the integrator for every robot of a batch, each with its own parameters.

A step that is too long makes the fastest mode of springs, links and motors grow, whatever the controller does.  With
the robot linearized at rest, x'' = A x + D x', a step is a matrix; its eigenvalues say whether deviations grow by the
integrator rather than by the robot itself, and their vectors which joint is too stiff.

Most robots are decided without eigenvalues: ‖Zᵐ‖^(1/m) bounds all of them, by Gelfand's formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..control.base import JointState
from ..control.sampling import torque_at_rest
from ..dynamics.drivetrain.coupling import matrices
from ..errors import InputError
from ..robot import Robot
from ..robot.parameters import select, with_symbols
from ..spatial import sx
from ..types import Expression, FloatArray
from .closed_loop import ClosedLoop, RunParameters, by_path
from .plant import Contact, Plant, PlantState, closed_gaps

DIFFERENCE = 1e-5  # rad, rad/s
SLOW = 0.05  # 1/s; growth below this is left to the run
SAFE = {"runge_kutta": (2.8, 2.5), "euler": (1.7, 0.8)}  # |h λ| that is stable: −h Re λ below LIGHT, and anywhere
LIGHT = 0.5  # as far left of the imaginary axis the limits are 2.83 and 1.73; elsewhere 2.62 and 0.83
SQUARINGS = 7  # of the bound on eigenvalues: ‖Z¹²⁸‖^(1/128) is at most some percent too large
ROWS = 256  # robots at a time
SHORTEST = 256  # how far below the step a stable one is looked for
HALVINGS = 10  # of the search: to half a percent


class StepLimits(NamedTuple):
    """For each robot of a batch the longest stable step, in s, and the joint that is too stiff for the step taken.

    Where the step is short enough they are inf and -1.
    """

    longest: FloatArray
    joint: NDArray[np.int64]

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Which robots need a shorter step."""
        return self.joint >= 0


def step_limits(loop: ClosedLoop, paths: Sequence[str], values: FloatArray, poses: JointState) -> StepLimits:
    """Limits of robots whose parameters at `paths` have `values` (rows, paths), the shortest over `poses` (k, n).

    With `hold=False` the law is part of the step, and the implicit midpoint is stable for every step: neither is
    limited by the robot alone.
    """
    longest, joint = np.full(len(values), np.inf), np.full(len(values), -1)
    if not loop.hold or loop.integrator not in SAFE:
        return StepLimits(longest, joint)
    h, plant = loop.period / loop.substeps, Plant(closed_gaps(loop.robot))
    kernel = accelerations(loop.robot, loop.contact, tuple(paths))
    for first in range(0, len(values), ROWS):
        part = slice(first, first + ROWS)
        for pose in zip(*poses):
            stiff, damped = scaled_slopes(kernel, plant, JointState(*pose), values[part], h)
            rows = np.flatnonzero(~surely_stable(loop.integrator, stiff, damped))
            if rows.size:
                found = decided(loop.integrator, companion(stiff[rows], damped[rows]), h, plant)
                shorter = found.longest < longest[part][rows]
                longest[part][rows[shorter]] = found.longest[shorter]
                joint[part][rows[shorter]] = found.joint[shorter]
    return StepLimits(longest, joint)


def surely_stable(integrator: str, stiff: FloatArray, damped: FloatArray) -> NDArray[np.bool_]:
    """Where bounds are enough to say so: |z|² ≤ α + β |z| of modes with α ≥ |h² K/M|, β ≥ |h D/M| ≥ −Re z.

    Robots with a number that is not finite are left to the run.
    """
    light, any_damping = SAFE[integrator]
    alpha, beta = spectral_bound(stiff), spectral_bound(damped)
    bound = (beta + np.sqrt(beta * beta + 4 * alpha)) / 2
    finite = np.isfinite(stiff).all(axis=(-2, -1)) & np.isfinite(damped).all(axis=(-2, -1))
    return np.asarray((bound <= np.where(beta <= LIGHT, light, any_damping)) | ~finite)


def decided(integrator: str, Z: FloatArray, h: float, plant: Plant) -> StepLimits:
    """The same of matrices (rows, 2p, 2p), scaled by h, by their eigenvalues."""
    added = ADDED[integrator](Z, h)
    bad = np.flatnonzero(added(slice(None), np.ones(len(Z))) > SLOW)
    longest, joint = np.full(len(Z), np.inf), np.full(len(Z), -1)
    if bad.size:
        low, high = np.full(bad.size, 1.0 / SHORTEST), np.ones(bad.size)
        for _ in range(HALVINGS):
            middle = np.sqrt(low * high)
            stable = added(bad, middle) <= SLOW
            low, high = np.where(stable, middle, low), np.where(stable, high, middle)
        longest[bad] = low * h
        joint[bad] = [stiffest(plant, x) for x in Z[bad]]
    return StepLimits(longest, joint)


Added = Callable[[Any, FloatArray], FloatArray]  # (rows, share of the step for each) -> growth beyond the robot's, 1/s


def added_by_runge_kutta(Z: FloatArray, h: float) -> Added:
    """The step is a polynomial in Z, so that eigenvalues of Z do for every step, mode by mode."""
    values = np.linalg.eigvals(Z)
    own = 1.5 * np.maximum(values.real, 0.0) / h

    def added(rows: Any, share: FloatArray) -> FloatArray:
        z = values[rows] * share[:, None]
        factor = 1 + z * (1 + z / 2 * (1 + z / 3 * (1 + z / 4)))
        return np.asarray((np.log(np.abs(factor)) / (h * share)[:, None] - own[rows]).max(axis=-1))

    return added


def added_by_euler(Z: FloatArray, h: float) -> Added:
    def growth(rows: Any, share: FloatArray) -> FloatArray:
        factor = np.linalg.eigvals(euler_step(rescaled(Z[rows], share)))
        return np.asarray(np.log(np.abs(factor).max(axis=-1)) / (h * share))

    own = 1.5 * np.maximum(growth(slice(None), np.full(len(Z), 1e-2)), 0.0)
    return lambda rows, share: growth(rows, share) - own[rows]


ADDED = {"runge_kutta": added_by_runge_kutta, "euler": added_by_euler}


def stiffest(plant: Plant, Z: FloatArray) -> int:
    """The joint that moves most in the fastest mode: the deflection of its spring, or itself if it is rigid."""
    robot, p = plant.robot, len(Z) // 2
    values, vectors = np.linalg.eig(Z)
    shape = vectors[:p, int(np.argmax(np.abs(values)))]
    moved = np.where(robot.compliant, 0.0, np.abs(shape[: robot.n]))
    matrix, theta = matrices(robot), np.zeros(robot.n, dtype=complex)
    for place, k in enumerate(plant.behind, robot.n):
        if k < robot.n:
            theta[k] = shape[place]
    phi = matrix.near_motors_inverse @ theta - matrix.near_links @ shape[: robot.n]
    for place, k in enumerate(plant.behind, robot.n):
        i = robot.motor_joints[k]
        moved[i] = max(moved[i], abs(phi[i] if k < robot.n else shape[place] - shape[i]))
    return int(np.argmax(moved))


def scaled_slopes(
    kernel: Kernel, plant: Plant, pose: JointState, values: FloatArray, h: float
) -> tuple[FloatArray, FloatArray]:
    """h² ∂x''/∂x and h ∂x''/∂x' (rows, p, p) at rest, by central differences."""
    x = np.concatenate([pose.q, pose.theta[plant.behind]])
    p = len(x)
    tau = torque_at_rest(plant.robot, pose.q)[list(plant.robot.motor_joints)]
    moved = DIFFERENCE * np.concatenate([np.eye(2 * p), -np.eye(2 * p)])
    found = np.asarray(kernel(x + moved[:, :p], moved[:, p:].copy(), tau, values[:, None, :]))
    slopes = np.swapaxes(found[:, : 2 * p] - found[:, 2 * p :], 1, 2) / (2 * DIFFERENCE)  # (rows, p, 2p)
    return h * h * slopes[..., :p], h * slopes[..., p:]


def companion(stiff: FloatArray, damped: FloatArray) -> FloatArray:
    """Z (rows, 2p, 2p) of h (x, h x')' = Z (x, h x')."""
    p = stiff.shape[-1]
    Z = np.zeros((len(stiff), 2 * p, 2 * p))
    Z[:, :p, p:] = np.eye(p)
    Z[:, p:, :p], Z[:, p:, p:] = stiff, damped
    return Z


def rescaled(Z: FloatArray, share: FloatArray) -> FloatArray:
    """Z of a step that is shorter by a share for each row."""
    p, found = Z.shape[-1] // 2, Z.copy()
    found[:, p:, :p] *= (share * share)[:, None, None]
    found[:, p:, p:] *= share[:, None, None]
    return found


def spectral_bound(Z: FloatArray) -> FloatArray:
    """An upper bound of |eigenvalues| of each matrix; inf or NaN where powers overflow."""
    if not np.any(Z):
        return np.zeros(len(Z))
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(SQUARINGS):
            Z = Z @ Z
        return np.asarray(np.sqrt(np.sum(Z * Z, axis=(-2, -1))) ** (0.5**SQUARINGS))


def euler_step(Z: FloatArray) -> FloatArray:
    """Velocities first, then positions with the new velocities."""
    p = Z.shape[-1] // 2
    S = np.eye(2 * p) + Z
    S[:, :p] = np.concatenate([np.broadcast_to(np.eye(p), Z[:, :p, :p].shape), np.zeros_like(Z[:, :p, p:])], -1)
    S[:, :p] += S[:, p:]
    return S


@lru_cache(maxsize=64)
def accelerations(robot: Robot, contact: Contact | None, paths: tuple[str, ...]) -> Kernel:
    """(x, w, τ, values of parameters) -> w' of the free coordinates x with the velocities w."""
    p, m = robot.n + len(Plant(robot).behind), robot.motor_count

    def function(x: Expression, w: Expression, tau: Expression, *values: Expression) -> list[tuple[Array, Expression]]:
        numbers = values[0] if paths else ()
        known = {path: numbers[k] for k, path in enumerate(paths)}
        plant = Plant(with_symbols(closed_gaps(robot), known), contact, stiffest=bool(robot.hysteretic))
        return [(Array("acceleration", (p,)), plant.acceleration(sx(0.0), plant.state(x, w), tau))]

    inputs = [Array("x", (p,)), Array("w", (p,)), Array("tau", (m,)), Array("values", (len(paths),))]
    key = None if contact else f"accelerations {robot.digest} {paths}"
    return kernel_of(f"accelerations of {robot.name}", inputs, function, key, type=None)


# Batches of `simulate` ----------------------------------------------------------------------------------------


def check_steps(loop: ClosedLoop, parameters: RunParameters, start: PlantState) -> None:
    """Refuse a step that is too long for a robot of a batch, where the first run starts."""
    if not loop.free and not loop.changes:
        return
    poses = JointState(*(x.reshape(-1, x.shape[-1])[:1] for x in start[:4]))
    for paths, values, shape in parameter_rows(loop, parameters):
        limits = step_limits(loop, paths, values, poses)
        if np.any(limits.failed):
            first = np.unravel_index(int(np.flatnonzero(limits.failed)[0]), shape)
            raise InputError(f"simulate: {too_long(loop, limits, tuple(map(int, first)))}, or check=False")


def too_long(loop: ClosedLoop, limits: StepLimits, first: tuple[int, ...] = ()) -> str:
    """What is wrong, with which joint, and what to do."""
    worst, count = int(np.argmin(limits.longest)), np.count_nonzero(limits.failed)
    name, longest = loop.robot.joints[limits.joint[worst]].name[:200], limits.longest[worst]
    many = f" in {count} of {limits.joint.size} runs" if limits.joint.size > 1 else ""
    where = f", first in run {first}" if first else ""
    return (
        f"a step of {loop.period / loop.substeps:.6g} s ({loop.integrator}) is too long for joint '{name}' with the "
        f"parameters given{many}{where}: it is stable up to {longest:.3g} s; take "
        f"substeps={int(np.ceil(loop.period / longest))}"
    )


def parameter_rows(
    loop: ClosedLoop, parameters: RunParameters
) -> Iterator[tuple[list[str], FloatArray, tuple[int, ...]]]:
    """Paths, values (rows, paths) and the shape of the batch: as a run begins, then with all its changes."""
    begin = leaves(loop, loop.free, parameters.free)
    after = leaves(loop, loop.changes, [change.value for change in parameters.changes])
    nominal = {path: np.asarray(x) for name in loop.changes for path, x in select(loop.robot, name).numbers.items()}
    for found in [nominal | begin, *([nominal | begin | after] if after else [])]:
        arrays = np.broadcast_arrays(*found.values())
        shape = arrays[0].shape
        yield [*found], np.stack([x.reshape(-1) for x in arrays], axis=-1), shape


def leaves(loop: ClosedLoop, names: Sequence[str], values: Sequence[FloatArray]) -> dict[str, FloatArray]:
    """Values (...,) by the path of each number."""
    found: dict[str, FloatArray] = {}
    for name, x in zip(names, values):
        parameter = select(loop.robot, name)
        found |= by_path(parameter, np.moveaxis(x, -1, 0)) if parameter.value.ndim else {parameter.elements[0]: x}
    return found
