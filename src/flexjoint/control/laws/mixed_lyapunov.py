"""The Lyapunov function of `mixed_torque` and its rate  [Hua (51), (52)], to watch along a motion.

    V₂  = ½ σ_qᵀM σ_q + e_qᵀΛ_q K_Dq e_q + ½ σ_θᵀB σ_θ + ½ e_θᵀK e_θ
    V₂' = −e_q'ᵀK_Dq e_q' − e_qᵀΛ_q K_Dq Λ_q e_q − σ_θᵀK_Dθ σ_θ − e_θᵀK Λ_θ e_θ
          − σ_qᵀ[f(v_r) − f(q')] − σ_θᵀ[f(θ_r') − f(θ')]

The last two terms are those of friction f, which the paper's proof leaves out.  Where couplings of motors and links are
exact, or the base moves, motor friction and friction that depends on the load are zero in them (`couplings.py`).  The
rate is that of a robot under `mixed_torque` that knows all wrenches, unless couplings are neglected.
"""

from __future__ import annotations

from typing import NamedTuple

from ...algorithm.algorithm import algorithm
from ...dynamics.drivetrain.friction import link_friction, motor_friction
from ...dynamics.drivetrain.load_friction import load_friction
from ...dynamics.drivetrain.rotors import motor_inertias
from ...dynamics.drivetrain.transmission import of_joints
from ...dynamics.inertia import mass_matrix
from ...dynamics.loads import Base, Wrenches
from ...robot import Robot
from ...spatial import ca, zeros
from ...types import Expression, FloatArray, Stack
from .couplings import stiffness
from .mixed import (
    AUTOMATIC,
    by_search,
    following_couplings,
    law_of,
    mixed_torque,
    sliding,
)


class MixedLyapunov(NamedTuple):
    """V₂ (...,), J, and its rate under the law (...,), W."""

    lyapunov: Expression | FloatArray
    lyapunov_rate: Expression | FloatArray


@algorithm(MixedLyapunov, requires=following_couplings)
def mixed_lyapunov(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    *,
    tracking: dict[str, Stack] | None = None,
    wrenches: Wrenches = None,
    base: Base = None,
    couplings: str = AUTOMATIC,
) -> MixedLyapunov:
    """Lyapunov function of `mixed_torque`, and its rate along the closed loop  [Hua (51), (52)].

    Args:
        q, v, theta, theta_v, tracking, wrenches, base, couplings: As in `mixed_torque`.

    Returns:
        MixedLyapunov(lyapunov, lyapunov_rate), (...,) each, in J and W.

    Raises:
        InputError: For springs that are damped, not linear or of variable stiffness.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> tracking = {"reference": [*np.zeros((5, 3))], "gains": [np.full(3, x) for x in (400.0, 40.0, 40.0, 8.0)]}
        >>> state = fj.simulation.at_rest(fj.load("hua_3r"), [0.1, 0.2, 0.3])
        >>> found = fj.control.laws.mixed_lyapunov(fj.load("hua_3r"), *state, tracking=tracking)
        >>> bool(found.lyapunov > 0 > found.lyapunov_rate)
        True
    """
    law, searched = law_of(robot, tracking, None), by_search(robot, couplings, base is not None)
    options = {"tracking": tracking, "wrenches": wrenches, "base": base, "couplings": couplings}
    _, theta_d, theta_d_v = mixed_torque.function(robot, q, v, theta, theta_v, **options)
    e, e_v = law.reference[0] - q, law.reference[1] - v
    v_r, _, sigma = sliding([q, v], law.reference, law.K_P, law.K_D)

    def behind(x: Expression) -> Expression:
        """Of motors behind springs; zero at rigid joints."""
        return of_joints(robot, x, zeros(robot.n))

    K, B, Lambda = behind(stiffness(robot)), behind(motor_inertias(robot)), law.motor_K_P / law.motor_K_D
    e_m = behind(theta_d - theta)
    theta_r_v = theta_d_v + Lambda * e_m + sigma  # [Hua (45)]
    sigma_m = behind(theta_r_v - theta_v)
    M = mass_matrix.function(robot, q)
    V = ca.dot(sigma, M @ sigma) / 2 + ca.dot(e, law.K_P * e)  # [Hua (41)]
    V = V + ca.dot(sigma_m, B * sigma_m) / 2 + ca.dot(e_m, K * e_m) / 2  # [Hua (51)]
    loss = ca.dot(e_v, law.K_D * e_v) + ca.dot(e, law.K_P / law.K_D * law.K_P * e)
    loss = loss + ca.dot(sigma_m, law.motor_K_D * sigma_m) + ca.dot(e_m, K * Lambda * e_m)  # [Hua (52)]
    loads = K * (theta - q)
    rubbed = link_friction(robot, [v_r], 0)[0] - link_friction(robot, [v], 0)[0]
    rubbed_m = zeros(robot.n)
    if not searched:
        rubbed = rubbed + load_friction(robot, [v_r], [loads])[0] - load_friction(robot, [v], [loads])[0]
        rubbed_m = behind(motor_friction(robot, theta_r_v, loads) - motor_friction(robot, theta_v, loads))
    return MixedLyapunov(V, -(loss + ca.dot(sigma, rubbed) + ca.dot(sigma_m, rubbed_m)))
