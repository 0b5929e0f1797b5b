"""Inverse dynamics with damped springs, τ_e = K φ + D φ': a filter with one state a damped joint.

The links ask for τ_e(t); the deflection follows from D φ' = τ_e − K φ, and the motor from

    θ' = q' + φ',   θ'' = q'' + φ'',   φ'' = (τ_e' − K φ')/D,

so the relative degree falls from 4 to 3.  The state is φ' rather than φ, which is the same thing, φ = (τ_e − D φ')/K:
from φ the rounding of τ_e would enter φ'' with K/D², from φ' that of τ_e' enters with 1/D.  A step is exact for the
torque that runs between two samples as the cubic with their values and rates: stable for every step, of fourth order
in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...algorithm.api import algorithm, compile
from ...algorithm.signals import flatten_groups
from ...errors import InputError
from ...robot import Joint, Robot
from ...spatial import ca
from ...springs import LinearSpring
from ..inverse import check_derivatives, motor_side, motors, needed_order, transmitted_torque
from ..recursion.bodies import refuse_spinning_rotors
from .deflection import spring_motion

TERMS = 17  # of the exponential's series: all that is above rounding where |z| < 1


class DampedMotion(NamedTuple):
    """A MotorMotion with the rates of deflection and torque; (deflection_v, tau_e, tau_e_v) is the filter's state."""

    theta: Any
    theta_v: Any
    theta_a: Any
    tau_e: Any
    deflection: Any
    tau: Any
    deflection_v: Any
    tau_e_v: Any


@algorithm(DampedMotion, arrays=lambda robot, **_: 5 + max(3, needed_order(robot)))
def damped_inverse_dynamics(
    robot: Robot, deflection_v, tau_e, tau_e_v, h, q, v, a, jerk, *higher, wrenches=None, base=None
):
    """Motor torque and motion, h seconds after the sample at which the state was (deflection_v, tau_e, tau_e_v).

    The state is in the result, ready for the next sample.  With h = 0 only `deflection_v` counts: zeros start at rest
    equilibrium, φ = τ_e/K.  Joints without damping may be among the others, rigid or elastic (which need q'''' too);
    their entries of the state are not used.
    """
    refuse_spinning_rotors("damped_inverse_dynamics", robot, "enters the equations of links below it")
    q = [q, v, a, jerk, *higher]
    check_derivatives("damped_inverse_dynamics", robot, q)
    tau = transmitted_torque(robot, q, max(1, needed_order(robot) - 2), wrenches, base)
    phi = []
    for i, joint in enumerate(robot.joints):
        now = [x[i] for x in tau]
        if robot.damped[i]:
            K, D = linear_stiffness(joint), joint.drive.damping  # type: ignore[union-attr]
            rate = stepped_rate(K, D, h, deflection_v[i], (tau_e[i], tau_e_v[i]), (now[0], now[1]))
            phi.append([(now[0] - D * rate) / K, rate, (now[1] - K * rate) / D])
        else:
            phi.append(spring_motion(joint, now))
    return DampedMotion(*motor_side(motors(robot), q, tau[0], phi), ca.vertcat(*[jet[1] for jet in phi]), tau[1])


def stepped_rate(K: float, D: float, h: Any, rate: Any, before: tuple[Any, Any], after: tuple[Any, Any]) -> Any:
    """φ' a time h later, D φ'' + K φ' = τ_e', from (τ_e, τ_e') at both ends.

    With s the fraction of the step τ_e' = r₀ + r₁ s + r₂ s², and φ' = e⁻ᶻ φ₀' + (g₁ r₀ + g₂ r₁ + 2 g₃ r₂)/K, z = h K/D.
    """
    (tau0, d0), (tau1, d1) = before, after
    mean = ca.if_else(h == 0, 0, (tau1 - tau0) / h)
    r0, r1, r2 = d0, 6 * mean - 4 * d0 - 2 * d1, 3 * (d0 + d1 - 2 * mean)
    z = (K / D) * h
    g1, g2, g3 = weights(z)
    return ca.exp(-z) * rate + (g1 * r0 + g2 * r1 + 2 * g3 * r2) / K


def weights(z: Any) -> tuple[Any, Any, Any]:
    """g_j = z ∫₀¹ e^(−z(1−s)) sʲ⁻¹/(j−1)! ds, that is 1 − e⁻ᶻ, 1 − g₁/z, 1/2 − g₂/z; by the series where z is small."""
    few = ca.fabs(z) < 1
    small, large = ca.if_else(few, z, 0), ca.if_else(few, 1, z)
    p3 = 1 / math.factorial(TERMS + 2)
    for i in range(TERMS + 1, 2, -1):
        p3 = 1 / math.factorial(i) - small * p3
    p2 = 1 / 2 - small * p3
    p1 = 1 - small * p2
    f1 = 1 - ca.exp(-large)
    f2 = 1 - f1 / large
    f3 = 1 / 2 - f2 / large
    g1, g2, g3 = (ca.if_else(few, z * p, f) for p, f in ((p1, f1), (p2, f2), (p3, f3)))
    return g1, g2, g3


def linear_stiffness(joint: Joint) -> float:
    spring = joint.drive.spring  # type: ignore[union-attr]
    if not isinstance(spring, LinearSpring):
        raise InputError(
            f"damped_inverse_dynamics: the damped spring of joint '{joint.name}' is {spring!r}; the exact step is that "
            "of a linear spring: give a number as stiffness, or no damping"
        )
    return spring.stiffness


def damped_motion(
    robot: Robot,
    trajectory: Callable[..., np.ndarray],
    t: Any,
    wrenches: Mapping[str, Sequence[Any]] | None = None,
    base: Any = None,
) -> DampedMotion:
    """`damped_inverse_dynamics` along a trajectory, at the increasing times t, from rest equilibrium at the first.

    `trajectory(t, order=k)` returns (k + 1, len(t), n).  The stacks of `wrenches` and `base` hold arrays over the same
    times, or single ones that last.
    """
    t = np.asarray(t, dtype=float)
    if t.ndim != 1 or not t.size or not np.all(np.isfinite(t)) or np.any(np.diff(t) <= 0):
        raise InputError("damped_motion: t must be a list of increasing, finite times")
    require_smooth(robot, trajectory)
    stack = np.asarray(trajectory(t, order=max(3, needed_order(robot))), dtype=float)
    if stack.shape[1:] != (t.size, robot.n):
        raise InputError(f"damped_motion: the trajectory gave {stack.shape}, it must be (k + 1, {t.size}, {robot.n})")
    groups, arrays = flatten_groups("damped_motion", {"wrenches": wrenches, "base": base})
    leaves = [over_time(x, t.size) for x in arrays]
    members: dict[str, Any] = {name: dict(count) for name, count in groups}
    kernel = compile(damped_inverse_dynamics, robot, len(stack) + 4, **members)
    found = DampedMotion(*(np.empty((t.size, robot.n)) for _ in DampedMotion._fields))
    state = (np.zeros(robot.n),) * 3
    for i, h in enumerate(np.diff(t, prepend=t[0])):
        # as an array h takes the fast way into the kernel, 40 times faster than as a number
        now = DampedMotion(*kernel(*state, np.asarray(h), *stack[:, i], *(x[i] for x in leaves)))
        state = (now.deflection_v, now.tau_e, now.tau_e_v)
        for row, value in zip(found, now):
            row[i] = value
    return found


def require_smooth(robot: Robot, trajectory: Any) -> None:
    """Refuse a trajectory that says of itself that it lacks derivatives; of a mere function nothing is known."""
    order, smoothness = needed_order(robot), getattr(trajectory, "smoothness", math.inf)
    if smoothness < order - 1:
        raise InputError(
            f"damped_motion: {type(trajectory).__name__} is not smooth enough: it is C^{smoothness} only; {robot.name} "
            f"needs C^{order - 1} with a bounded derivative {order}: {trajectory.remedy(order)}"
        )


def over_time(x: Any, samples: int) -> np.ndarray:
    x = np.asarray(x, dtype=float)
    if x.ndim not in (1, 2) or (x.ndim == 2 and len(x) != samples):
        raise InputError(f"damped_motion: a wrench or base motion has shape {x.shape} for {samples} times")
    return np.broadcast_to(x, (samples, x.shape[-1]))
