"""The linear equations of an implicit step: springs and friction, which make a robot stiff, added to its inertia.

With κ = (h/2) (D + (h/2) K) of the springs, d = (h/2) ∂friction/∂v and the rotors' couplings S of the complete model,

    [[M + κ + d, S − κ], [Sᵀ − κ, B + κ + d_m]] Δ = [[M, S], [Sᵀ, B]] r.

Motors are eliminated one by one: of the force left to it, each passes the share κ/(B + κ + d_m) on to its link, and
−S/(B + κ + d_m) to the joints that move its carrier.  In Spong's model the zeros of M stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..control.base import JointState
from ..drives import AntagonisticDrive, ElasticDrive, Motor, VariableStiffnessDrive
from ..dynamics.drivetrain.friction import friction, rigid_motors
from ..dynamics.drivetrain.transmission import commanded_damping
from ..dynamics.recursion.bodies import lump_fixed, rotors
from ..dynamics.recursion.composite_bodies import Rows, coupling, factorize, link_mass_matrix, solve
from ..dynamics.recursion.definiteness import check_inertia
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, sx, zeros
from ..springs import Spring
from ..types import Expression, Scalar
from .plant import Plant


class Transmission(NamedTuple):
    """A motor behind a spring, and its joint."""

    joint: int
    motor: Motor
    spring: Spring
    damping: Scalar


class Eliminated(NamedTuple):
    """A motor: joint, inertia, κ, couplings S, and the shares of its force on its link and on the joints before it."""

    joint: int
    B: Scalar
    kappa: Scalar
    S: dict[int, Scalar]
    share: Scalar
    leaning: dict[int, Scalar]


def stiff_solver(plant: Plant, state: JointState, h: Scalar) -> Callable[[Expression], Expression]:
    """r -> (1 − h/2 ∂f/∂w − h²/4 ∂f/∂x)⁻¹ r with the derivatives of springs and friction alone."""
    robot, half = plant.robot, h / 2
    slope = friction_slopes(robot.joints, state.v) + friction_slopes(rigid_motors(robot), state.v)
    eliminated = motors_behind(plant, state, half)
    M, parents = with_places_for(eliminated, *link_mass_matrix(robot, state.q))
    check_inertia(robot, [M[i][i] for i in range(robot.n)])
    stiff = [dict(row) for row in M]
    for i in range(robot.n):
        stiff[i][i] = M[i][i] + half * slope[i]
    if plant.stops:
        pressed = stop_slopes(plant, state, half)
        for i in range(robot.n):
            stiff[i][i] = stiff[i][i] + pressed[i]
    for i, _, kappa, S, share, leaning in eliminated:
        stiff[i][i] = stiff[i][i] + kappa * (1 - share)
        for a, s in S.items():
            stiff[max(i, a)][min(i, a)] += (2 if a == i else 1) * share * s
            for b in range(a + 1):
                if b in leaning:
                    stiff[a][b] -= s * leaning[b]
    factors = factorize(stiff, parents)

    def solved(r: Expression) -> Expression:
        force, left = times(M, r, robot.n), []
        for p, motor in enumerate(eliminated, robot.n):
            left.append(motor.B * r[p])
            for a, s in motor.S.items():
                left[-1] = left[-1] + s * r[a]
                force[a] = force[a] + s * r[p]
        for rest, motor in zip(left, eliminated):
            force[motor.joint] = force[motor.joint] + motor.share * rest
            for a, lean in motor.leaning.items():
                force[a] = force[a] - lean * rest
        links = solve(factors, parents, ca.vertcat(*force))
        moved = []
        for rest, motor in zip(left, eliminated):
            moved.append(motor.share * (links[motor.joint] + rest / motor.kappa))
            for a, lean in motor.leaning.items():
                moved[-1] = moved[-1] - lean * links[a]
        return ca.vertcat(links, *moved)

    return solved


def motors_behind(plant: Plant, state: JointState, half: Scalar) -> list[Eliminated]:
    """The motors behind springs, in the order of the free coordinates."""
    robot, found = plant.robot, []
    behind = {k: transmission(robot, k) for k in plant.behind}
    all_motors = [behind[k].motor if k in behind else Motor(0.0) for k in range(robot.motor_count)]
    slope, couplings = friction_slopes(all_motors, state.theta_v), spinning(robot, state.q)
    for k, (i, motor, spring, damping) in behind.items():
        kappa = half * (damping + commanded(plant, i) + half * spring.gradients(state.theta[k] - state.q[i])[0])
        whole, S = motor.inertia + kappa + half * slope[k], couplings.get(k, {})
        found.append(Eliminated(i, motor.inertia, kappa, S, kappa / whole, {a: s / whole for a, s in S.items()}))
    return found


def commanded(plant: Plant, i: int) -> Scalar:
    """What the commanded damper of a joint gives; 0 without one."""
    drive = plant.robot.joints[i].drive
    if plant.damping is None or not isinstance(drive, VariableStiffnessDrive):
        return 0.0
    return commanded_damping(drive, plant.damping[i])


def transmission(robot: Robot, k: int) -> Transmission:
    """Motor k, in the order of `Robot.motor_joints`, and the spring it is behind."""
    i = robot.motor_joints[k]
    drive = robot.joints[i].drive
    if not isinstance(drive, ElasticDrive | AntagonisticDrive):
        raise InputError(
            f"midpoint: the motors of joint '{robot.joints[i].name}' feel each other through its transmission, which "
            "the implicit step does not know; use runge_kutta or euler"
        )
    springs = drive.springs if isinstance(drive, AntagonisticDrive) else (drive.spring,)
    place = 0 if k < robot.n else 1
    return Transmission(i, drive.motors[place], springs[place], drive.damping)


def spinning(robot: Robot, q: Expression) -> dict[int, dict[int, Scalar]]:
    """Columns of S of the rotors behind springs; none in Spong's model."""
    behind = [rotor for rotor in rotors(robot) if rotor.elastic]
    tree = lump_fixed(robot) if behind else []
    return {rotor.coordinate: coupling(tree, q, rotor) for rotor in behind}


def with_places_for(eliminated: Sequence[Eliminated], M: Rows, parents: list[int]) -> tuple[Rows, list[int]]:
    """M and its tree; a single chain where a motor couples joints of different branches."""
    pairs = [(a, b) for motor in eliminated for a in (*motor.S, motor.joint) for b in motor.S]
    if all(min(a, b) in M[max(a, b)] for a, b in pairs):
        return M, parents
    return [{j: row.get(j, zeros(1)) for j in range(i + 1)} for i, row in enumerate(M)], list(range(-1, len(M) - 1))


def stop_slopes(plant: Plant, state: JointState, half: Scalar) -> Expression:
    """κ + d of the end stops, each of which depends on its own joint only."""
    assert plant.stops
    q, v = (ca.SX.sym(name, plant.robot.n) for name in "qv")
    torque, one = plant.stops.torque(plant.robot, q, v), ca.SX.ones(plant.robot.n)
    slopes = -half * (ca.jtimes(torque, v, one) + half * ca.jtimes(torque, q, one))
    return ca.substitute(slopes, ca.vertcat(q, v), ca.vertcat(state.q, state.v))


def friction_slopes(items: Any, rates: Expression) -> Expression:
    """∂/∂v of D v + F_c tanh(v/v_c) of each joint or motor."""
    v = ca.SX.sym("v", rates.numel())
    return ca.substitute(ca.jtimes(friction(items, [v], 0)[0], v, ca.SX.ones(v.shape)), v, rates)


def times(M: Rows, x: Expression, n: int) -> list[Scalar]:
    """M x of a symmetric matrix that is given by its lower rows."""
    y = [sx(0.0)] * n
    for i, row in enumerate(M):
        for j, value in row.items():
            y[i] = y[i] + value * x[j]
            if j != i:
                y[j] = y[j] + value * x[i]
    return y
