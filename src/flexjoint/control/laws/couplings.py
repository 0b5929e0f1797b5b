"""The controller of [Hua sec. IV] with all couplings of motors and links, and on a moving base.

At elastic joints (39) contains S θ'' + C_1 θ', and so (49) contains θ'''' of other motors, which no measurement and no
single equation gives.  With e_τ = K e_θ at elastic joints and 0 at rigid ones, the closed loop

    M σ_q' + C σ_q + K_Dq σ_q = e_τ                                                                        [Hua (40)]
    B (e_θ'' + Λ_θ e_θ' + σ_q') + K_Dθ (e_θ' + Λ_θ e_θ + σ_q) + K e_θ = 0                                  [Hua (50)]

does not contain S.  (e_τ, e_τ') therefore gives, at q and q', all derivatives of q in the closed loop; the inverse
dynamics of that motion, which solves its link equations from the tips to the base, gives θ, θ', and the motor torque.
The two numbers per elastic joint are those for which θ and θ' are the measured ones,

    Φ(e_τ, e_τ') = (θ, θ'),

by Newton's method.  Where ∂Φ is regular the loop stays on that motion: differentiated along the robot's motion the
equation says that e_τ' and e_τ'' are those of (50).  So V₂' is that of (52), for any gains.  Without couplings Φ is
known, K Φ = constant − e_τ, and all eigenvalues of K ∂Φ are −1.  Couplings move them, the more the larger the gains; at
states where one is zero the controller does not exist (`MixedInverseDynamics.check_reference`).

The couplings cost derivatives: q to order 4 + 2d, d the longest chain of motors in link equations (`coupling_depth`).

On a moving base its motion enters the inverse dynamics alone: (40) keeps M and C of the base at rest.  Friction of
motors, and friction at joints that depends on the load, are compensated at the measured state, which makes their
terms of V₂' zero.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb, inf
from typing import Any, NamedTuple

import numpy as np

from ...compiler.ir.scan import Tree, dense, elements, fresh, scan
from ...drives import ElasticDrive
from ...dynamics.drivetrain.elimination import eliminated
from ...dynamics.drivetrain.friction import link_friction
from ...dynamics.drivetrain.orders import derivative_orders, find_cycle, link_equations
from ...dynamics.drivetrain.passive import passive_torque
from ...dynamics.drivetrain.rotors import motor_inertias
from ...dynamics.drivetrain.transmission import of_joints
from ...dynamics.inertia import mass_matrix
from ...dynamics.inverse import undamped_motion
from ...dynamics.loads import Base
from ...dynamics.recursion.bodies import moving_bodies
from ...dynamics.recursion.composite_bodies import factorize, link_mass_matrix, solve
from ...dynamics.recursion.definiteness import check_inertia
from ...dynamics.recursion.regressor import ROBOTS_KEPT
from ...robot import Robot
from ...spatial import TaylorSeries, ca, sx, total, zeros
from ...springs import LinearSpring
from ...types import Expression, Stack
from .passivity import load_torque

DEEPEST = 2  # couplings that are followed: q to order 8
STEPS = 10  # of Newton's method; 2R need 4 to 6, 3R at depth 2 up to 10, from errors of 1 rad
REACHED = 1e-6, 1e-4  # of θ, rad or m, and θ', per second: farther away the torque is NaN


class State(NamedTuple):
    """Of links and motors."""

    q: Expression
    v: Expression
    theta: Expression
    theta_v: Expression


class Loop(NamedTuple):
    """A robot, its state, its reference [q_d, q_d', ...], the diagonals of the gains, (link, [w, w', ...]) of the known
    wrenches with absolute derivatives, and the motion of the base."""

    robot: Robot
    state: State
    reference: Stack
    gains: Stack
    wrenches: tuple[tuple[str, Stack], ...] = ()
    base: Base = None


@lru_cache(ROBOTS_KEPT)
def coupling_depth(robot: Robot, moving_base: bool = False) -> float:
    """d: the inverse dynamics needs q to order 4 + 2d; 0 if no link equation of an elastic joint contains a motor, ∞ if
    they contain each other's in a cycle."""
    equations = link_equations(robot, moving_base)
    if find_cycle(equations, robot.compliant):
        return inf
    return max(0, derivative_orders(robot, moving_base).motion - 3) // 2


class ExactTorque(NamedTuple):
    """Motor torque, and the errors e_τ and e_τ' of the torques behind springs, 0 at rigid joints; (n,) each."""

    tau: Expression
    error: Expression
    error_v: Expression


def exact_torque(loop: Loop) -> ExactTorque:
    """The torque of [Hua (39), (49)], NaN where Newton's method does not reach the measured θ and θ'."""
    robot, state = loop.robot, loop.state
    errors = torque_errors(loop)
    moved = undamped_motion(robot, motion(loop, errors), None, dict(loop.wrenches), loop.base, None)
    at_state = sx(1.0)
    for x, y, far in zip(moved[:2], (state.theta, state.theta_v), REACHED):
        for i in elastic_joints(robot):
            at_state = ca.logic_and(at_state, ca.fabs(x[i] - y[i]) <= far)
    return ExactTorque(ca.if_else(at_state, moved.tau, np.nan), *per_joint(robot, errors))


# The closed loop ----------------------------------------------------------------------------------------------------


def motion(loop: Loop, errors: Expression) -> Stack:
    """[q, q', ... q⁽ʳ⁾] of the closed loop through q, q' and (e_τ, e_τ') of the elastic joints."""
    robot, (q, v, *_), (K_P, K_D, motor_K_P, motor_K_D) = loop.robot, loop.state, loop.gains
    n, q_d, Lambda, motor_Lambda = robot.n, loop.reference, K_P / K_D, motor_K_P / motor_K_D
    K, B = stiffness(robot), of_joints(robot, motor_inertias(robot), sx([1.0] * robot.n))
    M, parents = link_mass_matrix(robot, q, tree=moving_bodies(robot))
    check_inertia(robot, [M[i][i] for i in range(n)])
    factors, forces = factorize(M, parents), load_side(robot)
    e = per_joint(robot, errors)
    links, sigma = [q, v], [q_d[1] + Lambda * (q_d[0] - q) - v]
    masses: list[Expression] = []
    for k in range(motion_order(robot, loop.base) - 1):
        bias = forces.next(links[k], links[k + 1], sigma[k])
        masses.append(ca.reshape(bias[n:], n, n))
        if k >= 2:  # (50) differentiated k − 2 times
            motors = motor_K_D * (e[k - 1] / K + motor_Lambda * e[k - 2] / K + sigma[k - 2]) + e[k - 2]
            e.append(of_joints(robot, -motor_Lambda * e[k - 1] - K * sigma[k - 1] - K / B * motors, zeros(n)))
        # M σ⁽ᵏ⁺¹⁾ = e_τ⁽ᵏ⁾ − (C σ + K_D σ + friction)⁽ᵏ⁾ − Σ C(k, l) M⁽ˡ⁾ σ⁽ᵏ⁺¹⁻ˡ⁾ over l > 0              [Hua (40)]
        moved = total([comb(k, l) * masses[l] @ sigma[k + 1 - l] for l in range(1, k + 1)] or [zeros(n)])
        sigma.append(solve(factors, parents, e[k] - bias[:n] - K_D * sigma[k] - moved))
        links.append(q_d[k + 2] + Lambda * (q_d[k + 1] - links[k + 1]) - sigma[k + 1])
    return links


def motion_order(robot: Robot, base: Any = None) -> int:
    """The highest derivative of q in the inverse dynamics, and so of the reference in the controller."""
    return derivative_orders(robot, base is not None).motion


def load_side(robot: Robot) -> TaylorSeries:
    """C σ + f(q' + σ) − f(q') and, below, the columns of M, as functions of q, q' and σ."""
    n, still = robot.n, robot.replace(gravity=(0.0, 0.0, 0.0))
    q, v, sigma = (ca.SX.sym("x", n) for _ in range(3))
    coriolis = load_torque(still, moving_bodies(still), q, v, sigma, zeros(n)) - passive_torque(robot, [q, sigma], 0)[0]
    rubbed = link_friction(robot, [v + sigma], 0)[0] - link_friction(robot, [v], 0)[0]
    return TaylorSeries([q, v, sigma], ca.vertcat(coriolis + rubbed, ca.vec(mass_matrix.function(robot, q))))


# The errors ---------------------------------------------------------------------------------------------------------


def torque_errors(loop: Loop) -> Expression:
    """(e_τ, e_τ') of the elastic joints, one below the other.

    The last step is taken outside the loop, where the matrix is a constant: it carries the derivatives.
    """
    count = 2 * len(elastic_joints(loop.robot))
    if coupling_depth(loop.robot, loop.base is not None) == 0:  # K Φ = constant − e_τ, and that differentiated
        errors = zeros(count)
        for _ in range(2):
            errors = errors + mismatch(loop, errors)
        return errors
    equation, along_each = Equation(loop), [sx(row.tolist()) for row in np.eye(count)]

    def newton(carried: Tree, _: tuple[()]) -> tuple[Tree, tuple[()]]:
        errors, _, loop = carried
        _, slopes = scan(lambda _, along: (zeros(0), equation.tangent(errors, loop, along)), zeros(0), along_each)
        J = ca.horzcat(*slopes)
        return (errors - ca.solve(J, equation(errors, loop)), J, loop), ()

    start = zeros(count), ca.SX.eye(count), loop
    (errors, J, _), _ = scan(newton, dense(start), [()] * STEPS, opaque=True)
    return errors - ca.solve(J, equation(errors, loop))


class Equation:
    """K (Φ(e_τ, e_τ') − (θ, θ')) of the elastic joints, and its derivatives; made once for all steps."""

    def __init__(self, loop: Loop) -> None:
        count = 2 * len(elastic_joints(loop.robot))
        errors, along, symbols = ca.SX.sym("e", count), ca.SX.sym("along", count), fresh(dense(loop))
        value = mismatch(symbols, errors)
        tangent = ca.jtimes(value, errors, along)
        own = [errors, *elements(symbols)]
        self.others = [x for x in ca.symvar(value) if not ca.depends_on(x, ca.vertcat(*own))]
        self.value = ca.Function("value", [*own, *self.others], [ca.densify(value)])
        self.slope = ca.Function("slope", [*own, *self.others, along], [ca.densify(tangent)])

    def __call__(self, errors: Any, loop: Tree) -> Any:
        return self.value(errors, *elements(dense(loop)), *self.others)

    def tangent(self, errors: Any, loop: Tree, along: Any) -> Any:
        return self.slope(errors, *elements(dense(loop)), *self.others, along)


def mismatch(loop: Loop, errors: Expression) -> Expression:
    """K (θ − measured θ) and K (θ' − measured θ') of the elastic joints on the motion through these errors."""
    robot, state = loop.robot, loop.state
    links, K, at = motion(loop, errors), stiffness(robot), elastic_joints(robot)
    phi = eliminated(robot, links, dict(loop.wrenches), loop.base).deflections if robot.fidelity == "complete" else None
    if phi is None:
        moved = undamped_motion(robot, links, None, dict(loop.wrenches), loop.base, None)[:2]
    else:
        moved = tuple(links[k] + ca.vertcat(*[jet[k] for jet in phi]) for k in range(2))
    return ca.vertcat(*[(K * (x - y))[at] for x, y in zip(moved, (state.theta, state.theta_v))])


def per_joint(robot: Robot, errors: Expression) -> list[Expression]:
    """[e_τ, e_τ'] of all joints, 0 at rigid ones."""
    at, found = elastic_joints(robot), [zeros(robot.n), zeros(robot.n)]
    for k, i in enumerate(at):
        found[0][i], found[1][i] = errors[k], errors[len(at) + k]
    return found


def elastic_joints(robot: Robot) -> list[int]:
    return [i for i, elastic in enumerate(robot.compliant) if elastic]


def stiffness(robot: Robot) -> Expression:
    """K of the springs, one at rigid joints."""
    springs = [joint.drive.spring if isinstance(joint.drive, ElasticDrive) else None for joint in robot.joints]
    return sx([spring.stiffness if isinstance(spring, LinearSpring) else 1.0 for spring in springs])
