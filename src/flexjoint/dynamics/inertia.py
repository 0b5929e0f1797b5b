"""Mass matrix of the links, or of links and motors, and its rate.

    links            M(q), with rigidly coupled motors M + S_r + S_rᵀ + B_r                          [EJNEA (1)], [Hua]
    motors=True      [[M, S], [Sᵀ, B]] over the links and the motors behind springs, in this order    [Hua (30), (31)]

In Spong's model S is zero.  Computed by composite bodies (`recursion/composite_bodies.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..algorithm.algorithm import algorithm
from ..algorithm.form import Form, FormOf
from ..algorithm.signals import Signal
from ..robot import Robot
from ..spatial import TimeDerivatives, ca
from ..types import Expression
from .drivetrain.rotors import motor_inertias, rotor_coupling
from .recursion.composite_bodies import full_matrix, link_mass_matrix


def square_form(name: str, unit: str, inputs: str, further: str = "") -> FormOf:
    """A matrix over the links, or with `motors` over links and motors; then it may take further arrays."""

    def form(robot: Robot, options: Mapping[str, Any]) -> Form:
        if not options["motors"]:
            return Form(tuple(inputs.split()), name, {name: Signal(("n", "n"), unit)})
        over_all = {name: Signal(("coordinates", "coordinates"), unit)}
        return Form((*inputs.split(), *further.split()), name, over_all, "with motors=True")

    return form


@algorithm(square_form("mass_matrix", "kg m² | kg", "q"))
def mass_matrix(robot: Robot, q: Expression, *, motors: bool = False) -> Expression:
    """M(q), the mass matrix of the links; with `motors` that over links and motors.

    M contains the motors of rigid drives.  In the complete model the links contain the rotors they carry.

    Args:
        q: Position of the links, (..., n).
        motors: False for the links; True for [[M, S], [Sᵀ, B]] over (q, θ), θ of the motors behind springs in the order
            of `robot.motor_names`.

    Returns:
        (..., n, n), or with `motors` (..., n + m, n + m) for m motors behind springs, kg m² or kg.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> robot = fj.load("kuka_lwr")
        >>> fj.mass_matrix(robot, np.zeros(7)).shape, fj.mass_matrix(robot, np.zeros(7), motors=True).shape
        ((7, 7), (14, 14))
    """
    M = full_matrix(link_mass_matrix(robot, q)[0])
    behind = list(robot.motors_behind_springs)
    if not motors or not behind:
        return M
    S = rotor_coupling.function(robot, q)[:, behind]
    B = ca.diag(motor_inertias(robot)[behind])
    return ca.vertcat(ca.horzcat(M, S), ca.horzcat(S.T, B))


@algorithm(square_form("mass_matrix_rate", "kg m²/s | kg/s", "q v"))
def mass_matrix_rate(robot: Robot, q: Expression, v: Expression, *, motors: bool = False) -> Expression:
    """Time derivative of the mass matrix along a motion, Ṁ = C + Cᵀ  [DeLuca (4)].

    The mass matrix differentiated: a third of the operations of C + Cᵀ on the LWR, as many on long chains.

    Args:
        q, v: Position and velocity of the links, (..., n).
        motors: As in `mass_matrix`, False by default.

    Returns:
        A matrix of the shape of `mass_matrix`, kg m²/s or kg/s.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.mass_matrix_rate(fj.load("kuka_lwr"), *np.ones((2, 7))).shape
        (7, 7)
    """
    return TimeDerivatives(lambda x: mass_matrix.function(robot, x[0], motors=motors), 1, (2, robot.n))(1, [q, v])
