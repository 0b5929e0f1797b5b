"""Robots whose joints have two motors, which set motion and stiffness: inverse dynamics and feedback linearization,
mixed with rigid and elastic joints at will  [VSANEA].

The torque on the links and its two derivatives come from the same recursion as for elastic joints.  Each joint then
gives its deflections  [(14), `settings.py`] and, with one matrix A = ∂(τ_e, σ)/∂φ, their derivatives

    A φ' = (τ_e', σ'),   A φ'' = (τ_e'', σ'') − φ'ᵀ ∂²(τ_e, σ)/∂φ² φ',

for antagonistic springs A = (σ_1 σ_2; ζ_1 ζ_2) and (ζ_1 φ_1'² + ζ_2 φ_2'², η_1 φ_1'² + η_2 φ_2'²) on the right.  The
paper solves the second system for θ'' = φ'' + q'', which is the same; its dots are lost in (21) and (22).

Joints whose drives differ in numbers alone are computed four at a time, in vector registers: a call of the 7R takes
0.62 µs, one joint after the other 0.79.

Arrays belong to motor 1 or motor 2 of all joints.  A rigid or an elastic joint has its motor, and its spring, in the
first; its entries of the second are 0 in results and ignored in arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...algorithm.api import algorithm
from ...compiler.ir import packing
from ...compiler.ir.scan import from_loops
from ...drives import Motor, VariableStiffnessDrive
from ...drives.variable import Setting
from ...errors import InputError
from ...robot import Joint, Robot
from ...spatial import ca, zeros
from ...types import Jet
from ..inverse import MotorMotion, motor_side, motors, spring_motion, transmitted_torque, warn_of_friction
from ..linearization import linearized
from ..links import torque_derivatives
from .feasibility import infeasible
from .packed_drives import alike, merged
from .settings import FOLLOW, ClosedForm, closed_form, closed_setting, regular, settings_for
from .transmission import deflection_acceleration, spring_torque


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


# Inverse dynamics -----------------------------------------------------------------------------------------------------


def unreachable(
    robot: Robot, q: Any, v: Any, a: Any, *rest: Any, wrenches: Any = None, base: Any = None, phi0: Any = None
) -> str | None:
    """Which joint cannot have its stiffness at the torque of the motion, and which it could have."""
    (tau_e,) = torque_derivatives(robot, q, v, a, wrenches=wrenches, base=base)
    reason = infeasible(robot, tau_e, rest[2])
    if reason is None and phi0 is not None:
        return f"{FOLLOW} steps from phi0 do not lead to the deflections; give closer ones, or none"
    return reason


@algorithm(MotorTorques, packs=True, explain=unreachable)
def variable_stiffness_inverse_dynamics(
    robot: Robot, q, v, a, jerk, snap, sigma, sigma_v, sigma_a, *, wrenches=None, base=None, phi0=None
):
    """Torques of both motors for a motion [q, ... q''''] of the links and the stiffness [σ, σ', σ''] of their joints.

    `wrenches` and `base` as in `torque_derivatives`, with two derivatives.  Stiffnesses are ignored at joints that
    cannot change theirs.  A stiffness beyond reach is an error that names the joint and what it reaches; in a batch its
    row is NaN.  `phi0` = {"phi": [phi_1, phi_2]} are deflections of a moment before: where there is no closed form, a
    few Newton steps from there take the place of the search (`deflection_steps`), and lead to the same branch.
    """
    name = "variable_stiffness_inverse_dynamics"
    found = motion(name, robot, [q, v, a, jerk, snap], [sigma, sigma_v, sigma_a], wrenches, base, phi0)
    return MotorTorques(found.tau_1, found.tau_2)


@algorithm(VariableStiffnessMotion, packs=True, explain=unreachable)
def variable_stiffness_motion(
    robot: Robot, q, v, a, jerk, snap, sigma, sigma_v, sigma_a, *, wrenches=None, base=None, phi0=None
):
    """How both motors must move, and all that is found on the way.

    The arguments are those of `variable_stiffness_inverse_dynamics`.
    """
    name = "variable_stiffness_motion"
    return motion(name, robot, [q, v, a, jerk, snap], [sigma, sigma_v, sigma_a], wrenches, base, phi0)


def motion(
    name: str, robot: Robot, q: Sequence[Any], sigma: Sequence[Any], wrenches: Any, base: Any, phi0: Any
) -> VariableStiffnessMotion:
    refuse_damping(name, robot)
    warn_of_friction(robot)
    tau_e = transmitted_torque(robot, q, 2, wrenches, base)  # [VSANEA (58)-(60)]

    def jets(i: int) -> list[Jet]:
        return [[x[i] for x in stack] for stack in (q[:3], tau_e, sigma)]

    found: dict[int, VariableStiffnessMotion] = {}
    packs = packing.allowed() and not from_loops(ca.vertcat(*tau_e))
    for form, joints in packs_of_joints(robot) if packs else ():
        lanes = [joints[min(k, len(joints) - 1)] for k in range(packing.WIDTH)]
        drive = merged([robot.joints[i].drive for i in lanes])
        given = [[packing.pack(*x) for x in zip(*stacks)] for stacks in zip(*map(jets, lanes))]
        setting = closed_setting(form, drive, given[1][0], given[2][0])
        packed = two_motor_motion(drive, setting, *given)
        found |= {i: VariableStiffnessMotion(*(packing.lane(x, k) for x in packed)) for k, i in enumerate(joints)}
    rest = [i for i, chosen in enumerate(robot.antagonistic) if chosen and i not in found]
    drives: list[Any] = [robot.joints[i].drive for i in rest]
    guess = None if phi0 is None else [tuple(x[i] for x in deflections_in(name, phi0)) for i in rest]
    for i, setting in zip(rest, settings_for(drives, [tau_e[0][i] for i in rest], [sigma[0][i] for i in rest], guess)):
        found[i] = two_motor_motion(robot.joints[i].drive, setting, *jets(i))
    for i, joint in enumerate(robot.joints):
        if i not in found:
            found[i] = one_motor_motion(joint, motors(robot)[i], *jets(i)[:2])
    return VariableStiffnessMotion(*(ca.vertcat(*x) for x in zip(*(found[i] for i in range(robot.n)))))


def packs_of_joints(robot: Robot) -> list[tuple[ClosedForm, list[int]]]:
    """Joints whose drives differ in numbers alone and have a closed form, two to four together."""
    groups: dict[tuple[ClosedForm, Any], list[int]] = {}
    for i, joint in enumerate(robot.joints):
        if isinstance(joint.drive, VariableStiffnessDrive) and (form := closed_form(joint.drive)):
            groups.setdefault((form, alike(joint.drive)), []).append(i)
    parts = [
        (form, group[k : k + packing.WIDTH])
        for (form, _), group in groups.items()
        for k in range(0, len(group), packing.WIDTH)
    ]
    return [(form, part) for form, part in parts if len(part) > 1]


def two_motor_motion(drive: Any, setting: Setting, q: Jet, tau_e: Jet, sigma: Jet) -> VariableStiffnessMotion:
    """Of one joint, from [q, q', q''] and the jets of torque and stiffness."""
    rates = setting.solve(tau_e[1], sigma[1])  # A φ' = (τ_e', σ')  [VSANEA (19), (68)]
    one, two = deflection_jets(setting, rates, tau_e[2], sigma[2])
    first, second = both_motors(drive, setting, q, one, two)
    return VariableStiffnessMotion(
        one[0], two[0], one[1], two[1],
        first.theta, second.theta, first.theta_v, second.theta_v, first.theta_a, second.theta_a,
        setting.tau_1, setting.tau_2, tau_e[0], tau_e[1], tau_e[2], first.tau, second.tau,
    )  # fmt: skip


def both_motors(drive: VariableStiffnessDrive, setting: Setting, q: Jet, one: Jet, two: Jet) -> list[MotorMotion]:
    """θ = q + φ, τ = τ_k + B θ'' + friction  [VSANEA (69), (73), (74)]."""
    sides = (drive.motor_1, q, setting.tau_1, one), (drive.motor_2, [drive.c * x for x in q], setting.tau_2, two)
    return [motor_side([motor], of, tau, [phi]) for motor, of, tau, phi in sides]


def one_motor_motion(joint: Joint, motor: Motor, q: Jet, tau_e: Jet) -> VariableStiffnessMotion:
    """Of a joint with one motor, behind a spring or not."""
    phi = spring_motion(joint, tau_e)
    side = motor_side([motor], q, tau_e[0], [phi])
    none = zeros(1)
    return VariableStiffnessMotion(
        phi[0], none, phi[1], none, side.theta, none, side.theta_v, none, side.theta_a, none,
        tau_e[0], none, tau_e[0], tau_e[1], tau_e[2], side.tau, none,
    )  # fmt: skip


def deflection_jets(setting: Setting, rates: Sequence[Any], tau_e_a: Any, sigma_a: Any) -> tuple[Jet, Jet]:
    """[φ, φ', φ''] of both motors."""
    bent = setting.bent(*rates)
    # [VSANEA (21)-(23), (70)-(72)], less A q''
    phi_1_a, phi_2_a = setting.solve(tau_e_a - bent[0], sigma_a - bent[1])
    return [setting.phi_1, rates[0], phi_1_a], [setting.phi_2, rates[1], phi_2_a]


def deflections_in(name: str, phi0: Any) -> Sequence[Any]:
    if set(phi0) != {"phi"} or len(phi0["phi"]) != 2:
        raise InputError(f"{name}: phi0 is {{'phi': [phi_1, phi_2]}}, the deflections of both springs to start from")
    return phi0["phi"]


# Feedback linearization -----------------------------------------------------------------------------------------------


def singular(robot: Robot, q: Any, v: Any, phi_1: Any, phi_2: Any, *rest: Any, **groups: Any) -> str | None:
    """Which joint cannot have motion and stiffness set apart where it is."""
    for i, joint in enumerate(robot.joints):
        if isinstance(joint.drive, VariableStiffnessDrive):
            det = float(regular(joint.drive, joint.drive.at(ca.SX(phi_1[i]), ca.SX(phi_2[i]))).det)
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
    drives = {i: joint.drive for i, joint in enumerate(robot.joints) if isinstance(joint.drive, VariableStiffnessDrive)}
    settings = {i: regular(drive, drive.at(phi_1[i], phi_2[i])) for i, drive in drives.items()}
    springs = [
        [settings[i].tau_e, ca.mtimes(settings[i].A[0], ca.vertcat(phi_1_v[i], phi_2_v[i]))]
        if i in settings
        else spring_torque(joint, phi_1[i], phi_1_v[i])
        for i, joint in enumerate(robot.joints)
    ]
    known = [ca.vertcat(*x) for x in zip(*springs)]  # τ_e, τ_e'  [VSANEA (6), (17)]
    moved, tau_e = linearized(robot, q, v, known, lambda _: command, wrenches, base)  # [VSANEA (34), (35)]
    torques = []
    for i, joint in enumerate(robot.joints):
        q_i = [x[i] for x in moved[:3]]
        if i in settings:
            one, two = deflection_jets(settings[i], [phi_1_v[i], phi_2_v[i]], tau_e[2][i], stiffness_command[i])
            torques.append([side.tau for side in both_motors(drives[i], settings[i], q_i, one, two)])
        else:
            phi_1_a = deflection_acceleration(joint, phi_1[i], phi_1_v[i], [x[i] for x in tau_e])
            jet = [phi_1[i], phi_1_v[i], phi_1_a]
            torques.append([motor_side([motors(robot)[i]], q_i, tau_e[0][i], [jet]).tau, zeros(1)])
    return MotorTorques(*(ca.vertcat(*x) for x in zip(*torques)))


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
