"""The linear equations of an implicit step: springs and friction, which make a robot stiff, added to its inertia.

With κ = (h/2) (D + (h/2) K) of the springs, d = (h/2) (∂friction/∂v + (h/2) K_p) of friction and parallel springs, and
the rotors' couplings S of the complete model,

    [[M + κ + d, S − κ], [Sᵀ − κ, B + κ + d_m]] Δ = [[M, S], [Sᵀ, B]] r.

Motors are eliminated one by one: of the force left to it, each passes the share κ/(B + κ + d_m) on to its link, and
−S/(B + κ + d_m) to the joints that move its carrier.  In Spong's model the zeros of M stay.  K has the slope of
hysteresis too.  Where motors feel each other, in coupled transmissions and levers, the whole matrix is factorized.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..drives import AntagonisticDrive, ElasticDrive, Motor, VariableStiffnessDrive
from ..drives.backlash import DeadZone
from ..dynamics.drivetrain.friction import Loads, friction, link_friction
from ..dynamics.drivetrain.load_friction import load_friction
from ..dynamics.drivetrain.passive import parallel_stiffness
from ..dynamics.drivetrain.transmission import commanded_damping, hysteresis, motors, transmitted
from ..dynamics.inertia import mass_matrix
from ..dynamics.recursion.bodies import lump_fixed, rotors
from ..dynamics.recursion.composite_bodies import Rows, coupling, factorize, link_mass_matrix, solve, with_couplings
from ..dynamics.recursion.definiteness import check_inertia
from ..robot import Robot
from ..spatial import ca, is_zero, sx, zeros
from ..springs import Spring
from ..types import Expression, Scalar
from .plant import Plant, PlantState

LEAST = 1e-12  # of κ over the motor's inertia: it must not vanish within a gap, where nothing holds the motor


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


def stiff_solver(plant: Plant, state: PlantState, h: Scalar) -> Callable[[Expression], Expression]:
    """r -> (1 − h/2 ∂f/∂w − h²/4 ∂f/∂x)⁻¹ r with the derivatives of springs and friction alone."""
    robot, half = plant.robot, h / 2
    if motors_feel_each_other(robot):
        return whole_solver(plant, state, half)
    _, at_links = transmitted(robot, *state.joints, plant.damping, plant.of_all_joints(state.z))
    slope = elementwise_slopes(lambda v: rubbing(robot, v, at_links), state.v)
    eliminated = motors_behind(plant, state, half)
    M, parents = with_places_for(eliminated, *link_mass_matrix(robot, state.q))
    check_inertia(robot, [M[i][i] for i in range(robot.n)])
    stiff = [dict(row) for row in M]
    if robot.parallel_springs:
        slope += half * parallel_stiffness(robot, state.q)
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


def motors_feel_each_other(robot: Robot) -> bool:
    """Whether springs act between more than one motor and one link."""
    drives = [joint.drive for joint in robot.joints]
    return bool(robot.transmissions) or any(
        isinstance(x, VariableStiffnessDrive) and not isinstance(x, AntagonisticDrive) for x in drives
    )


def whole_solver(plant: Plant, state: PlantState, half: Scalar) -> Callable[[Expression], Expression]:
    """The same over links and motors at once, with the slopes of springs and dampers by differentiation."""
    robot = plant.robot
    x, w, g = (ca.SX.sym(name, y.numel()) for name, y in zip("xwg", (*plant.coordinates(state), plant.gears(state))))
    now = plant.state(x, w, g)
    on_motors, on_links = transmitted(robot, *now.joints, plant.damping, plant.of_all_joints(now.z))
    springs = plant.free(on_links, ca.vertcat(*(-x for x in on_motors)))
    loads, at_links = transmitted(robot, *state.joints, plant.damping, plant.of_all_joints(state.z))
    rubbed = plant.free(rubbing(robot, now.v, at_links), zeros(robot.motor_count))
    slopes = ca.jacobian(rubbed - springs, w) - half * ca.jacobian(springs, x)
    if robot.hysteretic:
        slopes -= half * ca.jacobian(springs, g) @ ca.jacobian(plant.gear_rates(g, w), w)
    A = half * ca.substitute(slopes, ca.vertcat(x, w, g), ca.vertcat(*plant.coordinates(state), plant.gears(state)))
    own = half * plant.free(zeros(robot.n), friction_slopes(motors(robot), state.theta_v, loads))
    if robot.parallel_springs:
        own[: robot.n] += half * half * parallel_stiffness(robot, state.q)
    if plant.stops:
        own[: robot.n] += stop_slopes(plant, state, half)
    mass = mass_matrix.function(robot, state.q, motors=True)
    A = mass + A + ca.diag(own)
    entries = [(i, j, A[i, j]) for i in range(A.shape[0]) for j in range(i + 1) if not is_zero(A[i, j])]
    stiff, parents = with_couplings([{} for _ in range(A.shape[0])], entries)
    check_inertia(robot, [mass[i, i] for i in range(robot.n)])
    factors = factorize(stiff, parents)
    return lambda r: solve(factors, parents, mass @ r)


def motors_behind(plant: Plant, state: PlantState, half: Scalar) -> list[Eliminated]:
    """The motors behind springs, in the order of the free coordinates."""
    robot, found = plant.robot, []
    behind = {k: transmission(robot, k) for k in plant.behind}
    all_motors = [behind[k].motor if k in behind else Motor(0.0) for k in range(robot.motor_count)]
    loads, _ = transmitted(robot, *state.joints, plant.damping, plant.of_all_joints(state.z))
    slope, couplings = friction_slopes(all_motors, state.theta_v, loads), spinning(robot, state.q)
    for k, (i, motor, spring, damping) in behind.items():
        kappa = half * (damping + commanded(plant, i) + half * spring.gradients(state.theta[k] - state.q[i])[0])
        if i in robot.hysteretic:
            kappa = kappa + half * half * hysteresis_slope(plant, state, i)
        if isinstance(spring, DeadZone):
            kappa = ca.fmax(kappa, LEAST * motor.inertia)
        whole, S = motor.inertia + kappa + half * slope[k], couplings.get(k, {})
        found.append(Eliminated(i, motor.inertia, kappa, S, kappa / whole, {a: s / whole for a, s in S.items()}))
    return found


def hysteresis_slope(plant: Plant, state: PlantState, i: int) -> Scalar:
    """dτ_h/dφ of the hysteresis of a joint, T ∂z'/∂φ'."""
    law, phi_v = hysteresis(plant.robot.joints[i]), ca.SX.sym("phi_v")
    assert state.z is not None
    slope = law.torque * ca.jacobian(law.rate(state.z[plant.robot.hysteretic.index(i)], phi_v), phi_v)
    return ca.substitute(slope, phi_v, state.theta_v[i] - state.v[i])


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
    assert isinstance(drive, ElasticDrive | AntagonisticDrive)
    springs = drive.springs if isinstance(drive, AntagonisticDrive) else (drive.spring,)
    place = 0 if k < robot.n else 1
    return Transmission(i, drive.motors[place], springs[place], drive.damping)


def spinning(robot: Robot, q: Expression) -> dict[int, dict[int, Scalar]]:
    """Columns of S of the rotors behind springs; none in Spong's model."""
    behind = [rotor for rotor in rotors(robot) if rotor.elastic]
    tree = lump_fixed(robot) if behind else []
    return {rotor.coordinate: coupling(tree, q, rotor) for rotor in behind}


def with_places_for(eliminated: Sequence[Eliminated], M: Rows, parents: list[int]) -> tuple[Rows, list[int]]:
    """M with places for what the motors couple, joints of different branches too, and its elimination tree."""
    pairs = [(a, b, zeros(1)) for motor in eliminated for a in (*motor.S, motor.joint) for b in motor.S]
    return with_couplings(M, pairs, parents)


def stop_slopes(plant: Plant, state: PlantState, half: Scalar) -> Expression:
    """κ + d of the end stops, each of which depends on its own joint only."""
    assert plant.stops
    q, v = (ca.SX.sym(name, plant.robot.n) for name in "qv")
    torque, one = plant.stops.torque(plant.robot, q, v), ca.SX.ones(plant.robot.n)
    slopes = -half * (ca.jtimes(torque, v, one) + half * ca.jtimes(torque, q, one))
    return ca.substitute(slopes, ca.vertcat(q, v), ca.vertcat(state.q, state.v))


def rubbing(robot: Robot, v: Expression, loads: Expression) -> Expression:
    """All friction that acts on the links, at the torques of their transmissions."""
    return link_friction(robot, [v], 0)[0] + load_friction(robot, [v], [loads])[0]


def friction_slopes(items: Any, rates: Expression, loads: Loads) -> Expression:
    """∂F/∂v of the friction of each motor, at the torques of their springs."""
    return elementwise_slopes(lambda v: friction(items, [v], 0, loads)[0], rates)


def elementwise_slopes(function: Callable[[Expression], Expression], at: Expression) -> Expression:
    """∂f_i/∂x_i of a function whose elements each depend on one variable, at these values."""
    x = ca.SX.sym("x", at.numel())
    return ca.substitute(ca.jtimes(function(x), x, ca.SX.ones(x.shape)), x, at)


def times(M: Rows, x: Expression, n: int) -> list[Scalar]:
    """M x of a symmetric matrix that is given by its lower rows."""
    y = [sx(0.0)] * n
    for i, row in enumerate(M):
        for j, value in row.items():
            y[i] = y[i] + value * x[j]
            if j != i:
                y[j] = y[j] + value * x[i]
    return y
