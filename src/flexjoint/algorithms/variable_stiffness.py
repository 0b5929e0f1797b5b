"""Robots whose joints have two motors, which set motion and stiffness: inverse dynamics, feedback linearization and
forward dynamics, mixed with rigid and elastic joints at will  [VSANEA].

The torque on the links and its two derivatives come from the same recursion as for elastic joints.  Each joint then
gives its deflections  [(14), `antagonism.py`] and, with one matrix A = (σ_1 σ_2; ζ_1 ζ_2), their derivatives

    A φ' = (τ_e', σ'),   A φ'' = (τ_e'' − ζ_1 φ_1'² − ζ_2 φ_2'², σ'' − η_1 φ_1'² − η_2 φ_2'²).

The paper solves the second system for θ'' = φ'' + q'', which is the same; its dots are lost in (21) and (22).

Arrays belong to motor 1 or motor 2 of all joints.  A rigid or an elastic joint has its motor, and its spring, in the
first; its entries of the second are 0 in results and ignored in arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..api import algorithm
from ..drives import AntagonisticDrive
from ..errors import InputError
from ..robot import Joint, Robot
from ..spatial import Jet, ca, is_zero, zeros
from .antagonism import Pair, feasible_stiffness, pair_at, pairs_for, regular
from .articulated_body import joint_accelerations
from .elastic import motor_side, motors, spring_motion, transmitted_torque, warn_of_friction
from .feedback_linearization import linearized
from .friction import friction
from .newton_euler import torque_derivatives
from .transmission import deflection_acceleration, spring_torque

NEXT_TO = 1e-6  # of a stiffness: so close to the least, the determinant may be what is too small


class MotorTorques(NamedTuple):
    """Torques of the first and of the second motor of each joint."""

    tau_1: Any
    tau_2: Any


class VariableStiffnessMotion(NamedTuple):
    """Deflections and their rates, motion of the motors, torques of the springs, torque on the links and its
    derivatives, motor torques."""

    phi_1: Any
    phi_2: Any
    phi_1_v: Any
    phi_2_v: Any
    theta_1: Any
    theta_2: Any
    theta_1_v: Any
    theta_2_v: Any
    theta_1_a: Any
    theta_2_a: Any
    tau_e_1: Any
    tau_e_2: Any
    tau_e: Any
    tau_e_v: Any
    tau_e_a: Any
    tau_1: Any
    tau_2: Any


class VariableStiffnessAccelerations(NamedTuple):
    """q'' of the links, θ'' of both motors."""

    a: Any
    theta_1_a: Any
    theta_2_a: Any


class Side(NamedTuple):
    """What one motor of each joint has behind it: torque on the link, [φ, φ', φ''] of the spring."""

    tau: Any
    phi: Jet


# Inverse dynamics -----------------------------------------------------------------------------------------------------


def unreachable(robot: Robot, q: Any, v: Any, a: Any, *rest: Any, wrenches: Any = None, base: Any = None) -> str | None:
    """Which joint cannot have its stiffness at the torque of the motion, and which it could have."""
    sigma = rest[2]
    (tau_e,) = torque_derivatives(robot, q, v, a, wrenches=wrenches, base=base)
    lower, upper = feasible_stiffness(robot, tau_e)
    for i in np.flatnonzero(robot.antagonistic):
        joint = robot.joints[i]
        unit = "N/m" if joint.kind == "prismatic" else "Nm/rad"
        asked = f"joint '{joint.name}' cannot have the stiffness {sigma[i]:g} {unit} with {tau_e[i]:g} on its link"
        if np.isnan(lower[i]):
            return f"{asked}: its springs do not bear that; ask for less torque"
        if not lower[i] < sigma[i] <= upper[i]:
            return f"{asked}: it reaches from {lower[i]:g} to {upper[i]:g}"
        if sigma[i] - lower[i] < NEXT_TO * sigma[i]:
            return (
                f"{asked}: that is only {sigma[i] - lower[i]:.1e} above the least, {lower[i]:g}, where motion and "
                "stiffness cannot be set apart (the decoupling matrix is singular); keep away from it"
            )
    return None


@algorithm(MotorTorques, packs=True, explain=unreachable)
def variable_stiffness_inverse_dynamics(
    robot: Robot, q, v, a, jerk, snap, sigma, sigma_v, sigma_a, *, wrenches=None, base=None
):
    """Torques of both motors for a motion [q, ... q''''] of the links and the stiffness [σ, σ', σ''] of their joints.

    `wrenches` and `base` as in `torque_derivatives`, with two derivatives.  Stiffnesses are ignored at joints that
    cannot change theirs.  A stiffness beyond reach is an error that names the joint and what it reaches; in a batch its
    row is NaN.
    """
    name = "variable_stiffness_inverse_dynamics"
    found = motion(name, robot, [q, v, a, jerk, snap], [sigma, sigma_v, sigma_a], wrenches, base)
    return MotorTorques(found.tau_1, found.tau_2)


@algorithm(VariableStiffnessMotion, packs=True, explain=unreachable)
def variable_stiffness_motion(robot: Robot, q, v, a, jerk, snap, sigma, sigma_v, sigma_a, *, wrenches=None, base=None):
    """How both motors must move, and all that is found on the way.

    The arguments are those of `variable_stiffness_inverse_dynamics`.
    """
    name = "variable_stiffness_motion"
    return motion(name, robot, [q, v, a, jerk, snap], [sigma, sigma_v, sigma_a], wrenches, base)


def motion(
    name: str, robot: Robot, q: Sequence[Any], sigma: Sequence[Any], wrenches: Any, base: Any
) -> VariableStiffnessMotion:
    refuse_damping(name, robot)
    warn_of_friction(robot)
    tau_e = transmitted_torque(robot, q, 2, wrenches, base)  # [VSANEA (58)-(60)]
    chosen = [i for i, antagonistic in enumerate(robot.antagonistic) if antagonistic]
    drives: list[Any] = [robot.joints[i].drive for i in chosen]
    pairs = dict(zip(chosen, pairs_for(drives, [tau_e[0][i] for i in chosen], [sigma[0][i] for i in chosen])))
    jets = [
        pair_motion(pairs[i], [x[i] for x in tau_e], [x[i] for x in sigma])
        if i in pairs
        else [spring_motion(joint, [x[i] for x in tau_e]), [0.0] * 3]
        for i, joint in enumerate(robot.joints)
    ]
    one, two = sides(tau_e[0], pairs, jets)
    first, second = (behind(robot, q, k, side) for k, side in enumerate((one, two)))
    return VariableStiffnessMotion(
        one.phi[0], two.phi[0], one.phi[1], two.phi[1],
        first.theta, second.theta, first.theta_v, second.theta_v, first.theta_a, second.theta_a,
        one.tau, two.tau, tau_e[0], tau_e[1], tau_e[2], first.tau, second.tau,
    )  # fmt: skip


def pair_motion(pair: Pair, tau_e: Jet, sigma: Jet) -> list[Jet]:
    """[φ, φ', φ''] of both springs from the jets of torque and stiffness."""
    rates = pair.solve(tau_e[1], sigma[1])  # A φ' = (τ_e', σ')  [VSANEA (19), (68)]
    return pair_acceleration(pair, *rates, tau_e[2], sigma[2])


def pair_acceleration(pair: Pair, phi_1_v: Any, phi_2_v: Any, tau_e_a: Any, sigma_a: Any) -> list[Jet]:
    one, two = pair.one, pair.two
    beta_1 = tau_e_a - one.zeta * phi_1_v**2 - two.zeta * phi_2_v**2  # [VSANEA (21), (70)] less σ q''
    beta_2 = sigma_a - one.eta * phi_1_v**2 - two.eta * phi_2_v**2  # [VSANEA (22), (71)] less ζ q''
    phi_1_a, phi_2_a = pair.solve(beta_1, beta_2)  # [VSANEA (23), (72)]
    return [[pair.phi_1, phi_1_v, phi_1_a], [pair.phi_2, phi_2_v, phi_2_a]]


def sides(tau_e: Any, pairs: dict[int, Pair], jets: Sequence[Sequence[Jet]]) -> tuple[Side, Side]:
    """Both motors' sides from the springs of each joint; a joint with one motor has all of its torque in the first."""
    n = len(jets)
    tau = [[pairs[i].one.tau, pairs[i].two.tau] if i in pairs else [tau_e[i], 0.0] for i in range(n)]
    one, two = (
        Side(ca.vertcat(*[x[k] for x in tau]), [ca.vertcat(*[jet[k][order] for jet in jets]) for order in range(3)])
        for k in range(2)
    )
    return one, two


def behind(robot: Robot, q: Sequence[Any], k: int, side: Side) -> Any:
    """Motion and torque of motor k, 0 without one: θ = q + φ, τ = τ_k + B θ'' + friction  [VSANEA (69), (73), (74)]."""
    jets = [[x[i] for x in side.phi] for i in range(robot.n)]
    there = ca.vertcat(*[k == 0 or chosen for chosen in robot.antagonistic])
    return motor_side(motors(robot, k), [there * x for x in q], side.tau, jets)


# Feedback linearization -----------------------------------------------------------------------------------------------


def singular(robot: Robot, q: Any, v: Any, phi_1: Any, phi_2: Any, *rest: Any, **groups: Any) -> str | None:
    """Which joint cannot have motion and stiffness set apart where it is."""
    for i, joint in enumerate(robot.joints):
        if isinstance(joint.drive, AntagonisticDrive):
            det = float(regular(pair_at(joint.drive, ca.SX(phi_1[i]), ca.SX(phi_2[i]))).det)
            if np.isnan(det):
                return (
                    f"the springs of joint '{joint.name}' cannot set motion and stiffness apart at the deflections "
                    f"{phi_1[i]:g} and {phi_2[i]:g} (the decoupling matrix is singular, or a law undefined); draw the "
                    "motors apart"
                )
    return None


@algorithm(MotorTorques, explain=singular)
def variable_stiffness_linearization(
    robot: Robot, q, v, phi_1, phi_2, phi_1_v, phi_2_v, command, stiffness_command, *, wrenches=None, base=None
):
    """Motor torques that bring about q'''' = command and σ'' = stiffness_command  [VSANEA sec. III-C].

    The state is q, q' and the deflections of the springs with their rates: no equation is solved but linear ones.  An
    elastic joint has its deflection in `phi_1`; of rigid joints there must be none.
    """
    name = "variable_stiffness_linearization"
    refuse_damping(name, robot)
    require_springs(name, robot)
    pairs = {
        i: regular(pair_at(joint.drive, phi_1[i], phi_2[i]))
        for i, joint in enumerate(robot.joints)
        if isinstance(joint.drive, AntagonisticDrive)
    }
    springs = [
        [pairs[i].one.tau + pairs[i].two.tau, pairs[i].one.sigma * phi_1_v[i] + pairs[i].two.sigma * phi_2_v[i]]
        if i in pairs
        else spring_torque(joint, phi_1[i], phi_1_v[i])
        for i, joint in enumerate(robot.joints)
    ]
    known = [ca.vertcat(*x) for x in zip(*springs)]  # τ_e, τ_e'  [VSANEA (6), (17)]
    moved, tau_e = linearized(robot, q, v, known, lambda _: command, wrenches, base)  # [VSANEA (34), (35)]
    jets = []
    for i, joint in enumerate(robot.joints):
        if i in pairs:
            jets.append(pair_acceleration(pairs[i], phi_1_v[i], phi_2_v[i], tau_e[2][i], stiffness_command[i]))
        else:
            phi_1_a = deflection_acceleration(joint, phi_1[i], phi_1_v[i], [x[i] for x in tau_e])
            jets.append([[phi_1[i], phi_1_v[i], phi_1_a], [0.0] * 3])
    return MotorTorques(*(behind(robot, moved, k, side).tau for k, side in enumerate(sides(tau_e[0], pairs, jets))))


# Forward dynamics -----------------------------------------------------------------------------------------------------


@algorithm(VariableStiffnessAccelerations)
def variable_stiffness_forward_dynamics(
    robot: Robot, q, theta_1, theta_2, v, theta_1_v, theta_2_v, tau_1, tau_2, *, wrenches=None, base=None
):
    """Accelerations of links and motors from their positions, velocities and the motor torques  [VSANEA (5)].

    At a rigid joint `theta_1` and `theta_1_v` are ignored and θ_1'' = q''.  `wrenches` and `base` as in
    `torque_derivatives`.
    """
    return accelerations(robot, q, (theta_1, theta_2), v, (theta_1_v, theta_2_v), (tau_1, tau_2), wrenches, base)


def accelerations(
    robot: Robot,
    q: Any,
    theta: Sequence[Any],
    v: Any,
    theta_v: Sequence[Any],
    tau: Sequence[Any],
    wrenches: Any,
    base: Any,
    push: Any = None,
) -> VariableStiffnessAccelerations:
    """The same, pairs for both motors, with a further torque on the links if there is one."""
    phi = [(theta[k] - q, theta_v[k] - v) for k in (0, 1)]
    springs = [
        ca.vertcat(*[torque_of(joint, k, *(x[i] for x in phi[k])) for i, joint in enumerate(robot.joints)])
        for k in (0, 1)
    ]
    both = springs[0] + springs[1]
    driving = ca.vertcat(*[(both if elastic else tau[0])[i] for i, elastic in enumerate(robot.elastic)])
    a = joint_accelerations(robot, q, v, driving if push is None else driving + push, wrenches, base)
    theta_a = []
    for k, held in enumerate((a, zeros(robot.n))):  # by joints without springs, or without a second motor
        side = motors(robot, k)
        # B θ'' = τ − τ_k − friction  [VSANEA (5b), (5c)]
        rest = tau[k] - springs[k] - friction(side, [theta_v[k]], 0)[0]
        turning = [elastic and not is_zero(motor.inertia) for elastic, motor in zip(robot.elastic, side)]
        theta_a.append(ca.vertcat(*[rest[i] / side[i].inertia if x else held[i] for i, x in enumerate(turning)]))
    return VariableStiffnessAccelerations(a, *theta_a)


def torque_of(joint: Joint, k: int, phi: Any, phi_v: Any) -> Any:
    """Of the spring of motor k on the link."""
    if isinstance(joint.drive, AntagonisticDrive):
        return joint.drive.springs[k].torque(phi) + joint.drive.damping * phi_v
    return spring_torque(joint, phi, phi_v)[0] if k == 0 else 0.0


# Checks -------------------------------------------------------------------------------------------------------------


def refuse_damping(name: str, robot: Robot) -> None:
    for joint, damped in zip(robot.joints, robot.damped):
        if damped:
            raise InputError(
                f"{name}: the springs of joint '{joint.name}' are damped, so that the motor torques depend on the past "
                "of the motion; set its damping to 0, or go forwards with variable_stiffness_forward_dynamics"
            )


def require_springs(name: str, robot: Robot) -> None:
    for joint, elastic in zip(robot.joints, robot.elastic):
        if not elastic:
            raise InputError(
                f"{name}: joint '{joint.name}' is rigid and answers its motor after two derivatives, the others after "
                "four; give it an ElasticDrive or an AntagonisticDrive"
            )
