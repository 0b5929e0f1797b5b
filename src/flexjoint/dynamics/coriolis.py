"""Coriolis and centrifugal forces: the matrix C, C(q, v) v_a with two velocities, Cᵀv; of links, or links and motors.

[DeLuca (2)-(4), (7), (16)-(20)]; the recursions are in `recursion/coriolis.py` and `recursion/coriolis_columns.py`.
With motors=True over (q, θ) and the inertias [[M, S], [Sᵀ, B]] of [Hoepler] and [Hua]: matrices have the links first,
then the motors behind springs, as in `mass_matrix`.  The kinetic energy does not depend on θ, so the motors' part of
Cᵀ(q', θ') = ∂T/∂(q, θ) is zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..algorithm.algorithm import algorithm
from ..algorithm.form import Form, FormOf
from ..algorithm.signals import ON_LINKS
from ..robot import Robot
from ..spatial import sx, zeros
from ..types import Expression
from .drivetrain.load_friction import supplied_torque
from .drivetrain.passive import passive_torque
from .drivetrain.transmission import of_motors
from .energy import LinksAndMotors, links_and_motors
from .inertia import square_form
from .recursion.bodies import rigid_motor_torque
from .recursion.coriolis import TwoSpeeds, energy_gradient, two_velocity_forces
from .recursion.coriolis_columns import whole_matrix
from .recursion.energy import spins

TORQUE = "Nm | N"


def torque_form(plain: str, with_motors: str) -> FormOf:
    """Torques on the links, or on links and motors."""

    def form(robot: Robot, options: Mapping[str, Any]) -> Form:
        if options["motors"]:
            return Form(tuple(with_motors.split()), LinksAndMotors, links_and_motors(TORQUE), "with motors=True")
        return Form(tuple(plain.split()), "tau", ON_LINKS)

    return form


@algorithm("tau", signals=ON_LINKS)
def modified_newton_euler(
    robot: Robot, q: Expression, v: Expression, v_a: Expression, a: Expression, *, variant: str = "christoffel"
) -> Expression:
    """NE*(q, v, v_a, a) = M a + C(q, v) v_a + g + D v_a − parallel springs in one sweep  [DeLuca (16)-(20)].

    With v_a = v it is the torque of inverse dynamics on the link side (`torque_derivatives`).

    Args:
        q, v, a: Position, velocity and acceleration of the links, (..., n).
        v_a: A second velocity, (..., n).
        variant: The factorization of C: "christoffel" (default), or the paper's "0001" or "1110"; for all three Ṁ − 2C
            is skew.

    Returns:
        (..., n), Nm or N.
    """
    tau = two_velocity_forces(robot, q, TwoSpeeds(v, v_a, a), sx(robot.gravity), variant).links
    needed = tau + rigid_motor_torque(robot, a) + passive_torque(robot, [q, v_a], 0)[0]
    return supplied_torque(robot, [v_a], [needed])[0]


@algorithm(torque_form("q v v_a", "q v theta_v v_a theta_v_a"))
def coriolis_product(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta_v: Expression,
    v_a: Expression,
    theta_v_a: Expression,
    *,
    motors: bool = False,
    variant: str = "christoffel",
) -> Expression | LinksAndMotors:
    """C(q, v) v_a in one sweep, without computing C; takes (robot, q, v, v_a), or with `motors` all five arrays.

    Christoffel's C is symmetric in v and v_a, and C_0001(v) v_a = C_1110(v_a) v.

    Args:
        q, v: Position and velocity of the links, (..., n).
        v_a: A second velocity of the links, (..., n).
        theta_v, theta_v_a: Only with `motors`: both velocities of the motors, (..., motors); ignored at rigid joints.
        motors: False by default.
        variant: As in `modified_newton_euler`.

    Returns:
        Torques (..., n); with `motors` LinksAndMotors(links, motors), Nm or N.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.coriolis_product(fj.load("kuka_lwr"), *np.ones((3, 7))).shape
        (7,)
    """
    still, behind = zeros(robot.n), zeros(robot.motor_count)
    spinning = TwoSpeeds(theta_v, theta_v_a, behind) if motors else None
    found = two_velocity_forces(robot, q, TwoSpeeds(v, v_a, still), zeros(3), variant, spinning)
    if not motors:
        return found.links
    return LinksAndMotors(found.links, of_motors(robot, found.motors, still))


@algorithm(torque_form("q v", "q v theta_v"))
def coriolis_transpose_product(
    robot: Robot, q: Expression, v: Expression, theta_v: Expression, *, motors: bool = False
) -> Expression | LinksAndMotors:
    """C(q, v)ᵀ v = Ṁ v − c = ∂T/∂q in one velocity and one momentum sweep; the same for every C with Ṁ = C + Cᵀ.

    (Cᵀv)_i = (V_i × s_i)·h_i with the velocity V_i of link i, the axis s_i of its joint and the momentum h_i of all
    that the joint carries.  The transposes of the other fourteen recursions of [DeLuca] differ; the three admissible
    ones agree for the product with v only.

    Args:
        q, v: Position and velocity of the links, (..., n).
        theta_v: Only with `motors`: velocity of the motors, (..., motors); ignored at rigid joints.
        motors: False by default.

    Returns:
        Torques (..., n); with `motors` LinksAndMotors(links, motors), whose motors are zero.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.coriolis_transpose_product(fj.load("kuka_lwr"), *np.ones((2, 7))).shape
        (7,)
    """
    links = energy_gradient(robot, q, v, spins(robot, v, theta_v))
    return LinksAndMotors(links, zeros(robot.motor_count)) if motors else links


@algorithm(square_form("coriolis_matrix", "kg m²/s | kg/s", "q v", "theta_v"))
def coriolis_matrix(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta_v: Expression,
    *,
    motors: bool = False,
    variant: str = "christoffel",
) -> Expression:
    """C(q, v) with C v = c and Ṁ = C + Cᵀ  [DeLuca (2), (4), (19)]; with `motors` C(q, v, θ') over links and motors.

    Args:
        q, v: Position and velocity of the links, (..., n).
        theta_v: Only with `motors`: velocity of the motors, (..., motors); ignored at rigid joints.
        motors: As in `mass_matrix`, False by default.
        variant: As in `modified_newton_euler`.

    Returns:
        A matrix of the shape of `mass_matrix`, kg m²/s or kg/s.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.coriolis_matrix(fj.load("kuka_lwr"), *np.ones((2, 7))).shape
        (7, 7)
    """
    place = {k: robot.n + m for m, k in enumerate(robot.motors_behind_springs)}
    spinning = spins(robot, v, theta_v)
    rows = [place[x.rotor.coordinate] if x.rotor.elastic else x.rotor.coordinate for x in spinning]
    return whole_matrix(robot, q, v, spinning, rows, variant, robot.n + (len(place) if motors else 0))
