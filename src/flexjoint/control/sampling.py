"""Sampling of robots with elastic joints: modes, and the limits of integrators and of held control.

The springs and the light links behind them set the time scale.  Joint 7 of the LWR of [EJNEA sec. V], 1.6e-4 kg m² on
1000 Nm/rad, oscillates at 2530 rad/s, so that poles at −10 rad/s need a period under 60 µs.  The rule behind that
number: the law cancels the term ω² q'' of a mode, but with torques held for h it cancels ω² q''(t − h/2), and what
remains adds ω² h/2 to K₃.  `sampling_period_limit` does not use the rule: it looks for the period at which an
eigenvalue of robot, hold and controller, linearized at rest, leaves the unit circle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import program_of
from ..compiler.ir.program import Array, Program
from ..compiler.ir.reference import evaluate
from ..drives import ElasticDrive
from ..dynamics.drivetrain.coupling import at_springs, deflections, matrices
from ..dynamics.drivetrain.passive import parallel_stiffness
from ..dynamics.drivetrain.springs import deflection_at, relative_degree
from ..dynamics.dynamic_extension import (
    extended_motion,
    extended_torque,
    extension_size,
    extension_state,
    linearizing_output,
    mean_rate,
    rotors_behind_springs,
)
from ..dynamics.forward import accelerations
from ..dynamics.inertia import mass_matrix
from ..dynamics.linearization import chain_length, held_torques, link_derivatives, torques_on_links
from ..dynamics.links import static_torque
from ..dynamics.requirements import constant_stiffness, lossless_gears, require
from ..errors import NOT_NUMBERS, InputError
from ..numerics import product
from ..numerics.linear import solve
from ..robot import Robot, numeric
from ..spatial import ca, sx, total, zeros
from ..types import Expression, FloatArray
from .gains import check_gains
from .laws.linearizing import linearizing_control

TERMS = 19  # of the series of φ(Z) = Σ Zᵏ/(k + 1)!, |Z| ≤ 1
STEP = 1.1  # by which the period grows in the search for the first one that is unstable
RUNGE_KUTTA = [1.0, 1.0, 1 / 2, 1 / 6, 1 / 24]  # growth of a mode in one step of the classic method


class JointModes(NamedTuple):
    """Undamped modes of a robot, one per joint and one per elastic joint.

    Args:
        frequencies: In rad/s, ascending; the first n are 0 (rigid-body motion), one fewer per parallel spring.
        links: Shape of each mode in the links, one row per mode.
        motors: Shape of each mode in the motors, one row per mode; at a rigid joint that of the link.
    """

    frequencies: FloatArray
    links: FloatArray
    motors: FloatArray


def joint_modes(robot: Robot, q: ArrayLike) -> JointModes:
    """Frequencies and shapes of small oscillations without damping and gravity.

        ([[M, S], [Sᵀ, B]] ω² − [[K + K_p, −K], [−K, K]]) x = 0,   K_p of parallel springs

    Args:
        robot: A robot with rigid and elastic joints.
        q: Configuration (n,), in rad or m; springs have their stiffness under the gravity load at q.

    Returns:
        JointModes: frequencies in rad/s, and shapes.

    Raises:
        InputError: The robot has a joint of variable stiffness, q is not (n,) finite numbers, or the torque of a
            parallel spring falls there.

    Example:
        >>> import flexjoint as fj
        >>> modes = fj.control.joint_modes(fj.load("kuka_lwr"), [0.0] * 7)
        >>> round(modes.frequencies[-1])
        2541
    """
    instead = "a robot whose drives are ElasticDrive, of the stiffness in question"
    require("joint_modes", numeric("joint_modes", robot), lossless_gears, constant_stiffness(instead))
    q = configuration(robot, q)
    n, elastic = robot.n, np.flatnonzero(robot.compliant)
    parallel = sorted({x.coordinate for x in robot.parallel_springs})
    k = np.concatenate([stiffness_at_rest(robot, q)[elastic], parallel_stiffness_at(robot, q)[parallel]])
    M = mass_matrix(robot, q, motors=True)
    span = np.zeros((len(k), len(M)))  # deflections
    span[range(len(k)), [*elastic, *parallel]] = -1.0
    span[: len(elastic), :n] = -matrices(robot).near_links[elastic]
    span[: len(elastic), n:] = matrices(robot).near_motors_inverse[np.ix_(elastic, elastic)]
    L = np.linalg.cholesky(M)
    scaled = np.linalg.solve(L, (span * np.sqrt(k)[:, None]).T)
    shapes, singular, _ = np.linalg.svd(scaled)  # ω are singular values: their squares would lose the small ones
    frequencies = np.concatenate([np.zeros(len(M) - len(k)), singular[::-1]])
    x = np.linalg.solve(L.T, shapes[:, ::-1]).T
    x /= np.take_along_axis(x, np.argmax(np.abs(x), axis=1)[:, None], axis=1)
    motors = x[:, :n] @ matrices(robot).matrix.T  # of a rigid joint, the link itself
    motors[:, elastic] = x[:, n:]
    return JointModes(frequencies, x[:, :n], motors)


def runge_kutta_limit(robot: Robot, q: ArrayLike) -> float:
    """The longest step, in s, for which the classic Runge-Kutta method of order 4 is stable at rest; about 2.8/ω_max.

    Args:
        robot: A robot with rigid and elastic joints.
        q: Configuration (n,), in rad or m.

    Returns:
        The step in s; infinite for a robot that does not oscillate.

    Example:
        >>> import flexjoint as fj
        >>> step = fj.control.runge_kutta_limit(fj.load("kuka_lwr"), [0.1] * 7)
        >>> bool(1e-3 < step < 1.2e-3)
        True
    """
    require("runge_kutta_limit", numeric("runge_kutta_limit", robot), lossless_gears)
    A, _ = linear_robot(robot, q)
    modes = np.linalg.eigvals(A)
    fast = modes[np.abs(modes) > 1e-3 * np.max(np.abs(modes), initial=0.0)]  # slow ones, gravity's too, limit nothing
    inwards = [x if x.real < -1e-9 * abs(x) else 1j * abs(x) for x in fast]  # what rounding has turned outwards
    return min((stable_distance(x / abs(x)) / abs(x) for x in inwards), default=np.inf)


def stable_distance(direction: complex) -> float:
    """The distance to which |1 + z + z²/2 + z³/6 + z⁴/24| < 1 along a direction of the left half plane; 2√2 along i."""

    def stable(r: float) -> bool:
        return bool(abs(np.polyval(RUNGE_KUTTA[::-1], r * direction)) <= 1 + 1e-12)

    return first_failure(stable, 0.1, 5.0)


def routh_period_limit(frequency: float, gains: ArrayLike) -> float:
    """The longest stable period h, in s, by Routh's criterion: s⁴ + (K₃ + ω² h/2) s³ + K₂ s² + K₁ s + K₀ is Hurwitz.

    Args:
        frequency: ω of the fastest mode, in rad/s.
        gains: K₀, K₁, K₂, K₃ of one joint.

    Returns:
        The period h in s.

    Example:
        >>> import flexjoint as fj
        >>> period = fj.control.routh_period_limit(2530.0, fj.control.gains_from_poles([-10.0] * 4))
        >>> f"{period:.1e}"
        '6.0e-05'
    """
    K0, K1, K2, K3 = check_gains(gains, 4, 1)[:, 0]
    largest = K1 * (K2 + np.sqrt(K2 * K2 - 4 * K0)) / (2 * K0)  # K₃K₂K₁ = K₁² + K₃²K₀
    return float(2 * (largest - K3) / frequency**2)


def sampling_period_limit(robot: Robot, q: ArrayLike, gains: ArrayLike) -> float:
    """The longest period, in s, up to which `FeedbackLinearization` with these gains is stable at rest.

    It is found from the eigenvalues of the sampled loop, exact for the robot linearized at q: springs, friction,
    gravity and the integrators of the controller.  The eigenvalues are computed as δ = (z − 1)/h, which stays
    accurate at short periods.

    Args:
        robot: A robot with rigid and elastic joints.
        q: Configuration (n,), in rad or m.
        gains: (r,) or (r, n), as for `FeedbackLinearization`.

    Returns:
        The period in s.

    Raises:
        InputError: The gains are not stable at any period, or do not fit the robot.

    Example:
        >>> import flexjoint as fj
        >>> gains = fj.control.gains_from_poles([-10.0] * 4)
        >>> period = fj.control.sampling_period_limit(fj.load("kuka_lwr"), [0.0] * 7, gains)
        >>> bool(5e-5 < period < 7e-5)
        True
    """
    require("sampling_period_limit", numeric("sampling_period_limit", robot), lossless_gears, linearizing_output)
    loop = linear_loop(robot, q, gains)

    def stable(h: float) -> bool:
        delta = np.linalg.eigvals(loop(h))
        return bool(np.max(2 * delta.real + h * np.abs(delta) ** 2) < 0)

    poles = [np.roots([1.0, *K[::-1]]) for K in check_gains(gains, chain_length(robot), robot.n).T]
    slowest = np.min(np.abs(poles))
    fastest = max(joint_modes(robot, q).frequencies[-1], slowest)
    return first_failure(stable, 1e-3 / fastest, 100 / slowest)


def first_failure(holds: Callable[[float], bool], start: float, end: float) -> float:
    """The first x from `start` on where a condition fails, with a relative error of 1e-9; `end` if it does not."""
    if not holds(start):
        raise InputError(
            f"no period is stable, not even {start:.3g} s; give stable gains, such as gains_from_poles([-20] * 4)"
        )
    x = start
    while holds(STEP * x):
        x *= STEP
        if x >= end:
            return end
    low, high = x, STEP * x
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def configuration(robot: Robot, q: ArrayLike) -> FloatArray:
    """The configuration (n,), checked."""
    try:
        array = np.asarray(q, dtype=float)
    except NOT_NUMBERS:
        raise InputError(f"the configuration q is {q!r}; it must be {robot.n} finite numbers") from None
    if array.shape != (robot.n,) or not np.all(np.isfinite(array)):
        raise InputError(f"the configuration q has shape {array.shape}; it must be {robot.n} finite numbers")
    return array


def stiffness_at_rest(robot: Robot, q: ArrayLike) -> FloatArray:
    """dτ_e/dφ of each joint (n,) under gravity and parallel springs, zero at rigid joints."""
    phi = deflection_at_rest(robot, q)
    drives = [joint.drive for joint in robot.joints]
    return np.array(
        [float(d.spring.curve(x).stiffness) if isinstance(d, ElasticDrive) else 0.0 for d, x in zip(drives, phi)]
    )


def parallel_stiffness_at(robot: Robot, q: FloatArray) -> FloatArray:
    """Stiffness of the parallel springs per coordinate (n,); an InputError where their torque falls."""
    x = ca.SX.sym("q", robot.n)
    k = np.array(ca.Function("k", [x], [ca.densify(parallel_stiffness(robot, x))])(q))[:, 0]
    for joint, value, at in zip(robot.joints, k, q):
        if not value >= 0:
            raise InputError(
                f"the parallel spring of joint '{joint.name}' has the stiffness {value:g} at q = {at:g}, which does "
                "not oscillate; use analysis.linearize(robot, q)"
            )
    return k


def deflection_at_rest(robot: Robot, q: ArrayLike) -> FloatArray:
    """The deflections φ (n,) with which the springs carry the links."""
    return evaluate(deflection_program(robot), static_torque(robot, q))[0]


@lru_cache(maxsize=64)
def deflection_program(robot: Robot) -> Program:
    """φ (n,) of springs that give the links τ_e (n,), zero at rigid joints."""

    def deflections(tau_e: Expression) -> list[tuple[Array, Expression]]:
        pairs = zip(robot.joints, ca.vertsplit(at_springs(robot, tau_e)))
        drives = [(joint.drive, t) for joint, t in pairs]
        phi = [deflection_at(x.spring, t) if isinstance(x, ElasticDrive) else sx(0.0) for x, t in drives]
        return [(Array("phi", (robot.n,)), ca.vertcat(zeros(0), *phi))]

    return program_of(f"deflection of {robot.name}", [Array("tau_e", (robot.n,))], deflections)


def state_at_rest(robot: Robot, q: ArrayLike) -> list[FloatArray]:
    """[q, θ, q', θ', torques τ_e of springs and rigid motors, their rates]."""
    q, still, tau = configuration(robot, q), np.zeros(robot.n), np.asarray(static_torque(robot, q))
    if robot.transmissions:
        tau = solve(matrices(robot).near_links.T, tau)
    return [q, motors_at_rest(robot, q), still, still, tau, still]


def torque_at_rest(robot: Robot, q: FloatArray) -> FloatArray:
    """Motor torque of joints with one motor each (n,) that holds them against gravity and parallel springs, T⁻ᵀg."""
    tau = np.asarray(static_torque(robot, q))
    return solve(matrices(robot).matrix.T, tau) if robot.transmissions else tau


def motors_at_rest(robot: Robot, q: FloatArray) -> FloatArray:
    """Positions of the motors of joints with one each (n,), θ = T q + T_b φ."""
    phi = deflection_at_rest(robot, q)
    if not robot.transmissions:
        return np.asarray(q + phi)
    return product(matrices(robot).matrix, q) + product(matrices(robot).near_motors, phi)


def linear_robot(robot: Robot, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """A, B of x' = A x + B τ at rest, x = (q, θ of elastic joints, q', θ' of elastic joints)."""
    symbols = [ca.SX.sym(name, robot.n) for name in ("q", "theta", "v", "theta_v", "tau")]
    q_, theta, v, theta_v, tau = symbols
    a, theta_a = accelerations(robot, q_, v, theta, theta_v, tau)
    elastic = np.flatnonzero(robot.compliant).tolist()
    kept = [*range(robot.n), *(robot.n + i for i in elastic)]
    acceleration = ca.vertcat(a, theta_a)[kept]
    J = slopes(symbols, [acceleration], state_at_rest(robot, q)[:5])[0]
    p = len(kept)
    A, B = np.zeros((2 * p, 2 * p)), np.zeros((2 * p, robot.n))
    A[:p, p:] = np.eye(p)
    A[p:] = J[:, [k + 2 * robot.n * side for side in range(2) for k in kept]]
    B[p:] = J[:, 4 * robot.n :]
    return A, B


def slopes(symbols: list[Expression], expressions: list[Expression], at: list[FloatArray]) -> list[FloatArray]:
    """Jacobians with respect to all symbols, in numbers, direction by direction: their expressions would be long."""
    f = ca.Function("f", symbols, [ca.densify(x) for x in expressions])
    forward, columns = f.forward(1), []
    values = f.call([ca.DM(x) for x in at])
    for direction in np.eye(sum(len(x) for x in at)):
        seeds = np.split(direction, np.cumsum([len(x) for x in at])[:-1])
        columns.append([np.array(y)[:, 0] for y in forward.call([*at, *values, *seeds])])
    return [np.array(x).T for x in zip(*columns)]


def directions(inputs: list[Expression], output: Expression) -> Callable[..., FloatArray]:
    """The Jacobian by the first of the inputs, in numbers, direction by direction: its expression would be long."""
    f = ca.Function("f", inputs, [ca.densify(output)])
    forward = f.forward(1)

    def jacobian(x: FloatArray, *others: float) -> FloatArray:
        y, still = f(x, *others), [0.0] * len(others)
        return np.hstack([np.array(forward(x, *others, y, along, *still)) for along in np.eye(len(x))])

    return jacobian


def mean_response(A: FloatArray, h: float) -> FloatArray:
    """∫₀ʰ e^(A s) ds/h by its series for a fraction of h, then doubled: φ(2Z) = (1 + e^Z) φ(Z)/2, e^Z = 1 + Z φ(Z)."""
    doublings = max(0, math.ceil(math.log2(max(h * float(np.linalg.norm(A, 1)), 1e-300))))
    one, Z = np.eye(len(A)), A * (h / 2**doublings)
    phi = one
    for k in range(TERMS, 1, -1):
        phi = one + Z @ phi / k
    for _ in range(doublings):
        phi, Z = phi + Z @ phi @ phi / 2, 2 * Z
    return phi


def linear_loop(robot: Robot, q: ArrayLike, gains: ArrayLike) -> Callable[[float], FloatArray]:
    """h -> the matrix (Z − 1)/h of the sampled loop x⁺ = Z x, in (q, q', ... q⁽ʳ⁻¹⁾, φ of damped springs).

    With robot and controller x' = [A x + B τ(x); u(x)] in continuous time, holding τ turns A x + B τ into its mean over
    the response of the robot alone, ∫ e^(A s) ds/h, and the controller's integrators into polynomials in h.
    """
    if rotors_behind_springs(robot):
        return extended_loop(robot, q, gains)
    n, length = robot.n, chain_length(robot)
    gains = check_gains(gains, length, n)
    symbols = [ca.SX.sym(name, n) for name in ("q", "theta", "v", "theta_v", "tau_e", "tau_e_v")]
    x, theta, v, theta_v, tau_e, tau_e_v = symbols
    reference = [sx(configuration(robot, q)), *[zeros(n)] * length]
    tracking = {"reference": reference, "gains": [sx(K) for K in gains]}
    tau, top = linearizing_control.function(robot, x, v, theta, theta_v, tau_e, tau_e_v, tracking=tracking)
    phi = deflections(robot, x, theta)
    torques = torques_on_links(robot, phi, deflections(robot, v, theta_v), tau_e, tau_e_v)
    inner = [phi[i] for i, degree in enumerate(relative_degree(robot)) if degree == 3]
    chain = ca.vertcat(x, v, *link_derivatives(robot, x, v, torques, None, None), *inner)
    elastic, held = np.flatnonzero(robot.compliant), held_torques(robot)
    kept = [n * k + i for k, joints in enumerate([range(n), elastic, range(n), elastic, *held]) for i in joints]
    F_tau, F_top, T = (J[:, kept] for J in slopes(symbols, [tau, top, chain], state_at_rest(robot, q)))
    A, B = linear_robot(robot, q)
    p = len(A)
    drift = np.hstack([A, np.zeros((p, len(T) - p))]) + B @ F_tau
    held_rate = np.zeros((n, len(T)))
    held_rate[held[1], p + len(held[0]) + np.arange(len(held[1]))] = 1.0
    first, second = (held_rate, F_top) if length == 4 else (F_top, np.zeros_like(F_top))  # rates of the torques held

    def loop(h: float) -> FloatArray:
        rows = [mean_response(A, h) @ drift, (first + h / 2 * second)[held[0]], second[held[1]]]
        return T @ np.vstack(rows) @ np.linalg.inv(T)

    return loop


def extended_loop(robot: Robot, q: ArrayLike, gains: ArrayLike) -> Callable[[float], FloatArray]:
    """`linear_loop` for the complete model of rotors, in (q, q', ... q⁽ʳ⁻¹⁾)."""
    n, length, size = robot.n, chain_length(robot), extension_size(robot)
    K = [sx(row) for row in check_gains(gains, length, n)]
    symbols = [ca.SX.sym(name, n) for name in ("q", "theta", "v", "theta_v")]
    x, theta, v, theta_v = symbols
    z, h = ca.SX.sym("z", size), ca.SX.sym("h")
    motion = extended_motion(robot, x, v, theta, theta_v, z)
    errors = [sx(configuration(robot, q)) - x, *(-y for y in motion[1:])]
    tau, rate = extended_torque(robot, [*motion, total(k * e for k, e in zip(K, errors))], z)
    rest = state_at_rest(robot, q)[:4]
    held = np.zeros(0)
    if size:
        held = extension_state(robot, *[rest[0], *np.zeros((length, n))])
    elastic = np.flatnonzero(robot.compliant)
    parts = [range(n), elastic, range(n), elastic, range(size)]
    kept = [n * k + i for k, joints in enumerate(parts) for i in joints]
    F_tau, F_rate, T = (J[:, kept] for J in slopes([*symbols, z], [tau, rate, ca.vertcat(*motion)], [*rest, held]))
    A, B = linear_robot(robot, q)
    p = len(A)
    drift = np.hstack([A, np.zeros((p, size))]) + B @ F_tau
    entering = ca.SX.sym("rate", size)
    integrated = ca.jacobian(mean_rate(robot, z, entering, h), ca.vertcat(z, entering)) if size else zeros(0, 0)
    mean = ca.Function("mean", [h], [ca.densify(integrated)])

    def loop(period: float) -> FloatArray:
        rows = [mean_response(A, period) @ drift]
        if size:
            rows.append(np.array(mean(period)) @ np.vstack([np.eye(size, p + size, p), F_rate]))
        return T @ np.vstack(rows) @ np.linalg.inv(T)

    return loop
