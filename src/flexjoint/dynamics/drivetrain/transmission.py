"""Between motors and links, for every kind of drive: deflections of the springs and the torques they exert.

With the motors in the order of `robot.motor_names`, motor k of joint i has the deflection φ_k = θ_k − c_k q_i and feels
the torque τ_k; the link gets τ_e,i = Σ c_k τ_k.  c is 1, or 0 for a second motor that works within the transmission.
At a rigid joint θ = q by definition, and τ_e is the motor torque τ.  Where a transmission couples joints, their
springs are between T_a q and T_b⁻¹ θ (`coupling.py`), and at rigid joints θ = T q.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...drives import Drive, ElasticDrive, Hysteresis, Motor, VariableStiffnessDrive
from ...robot import Joint, Robot
from ...spatial import ca, is_zero
from ...types import Expression, Scalar
from . import coupling
from .coupling import links_at_springs, motors_at_springs
from .springs import spring_torque


def motors(robot: Robot) -> list[Motor]:
    """All motors in the order of `robot.motor_names`, one without inertia at a joint without a drive."""
    drives = [robot.joints[i].drive for i in robot.motor_joints]
    return [drive.motors[k >= robot.n] if drive else Motor(0.0) for k, drive in enumerate(drives)]


def second_motors(robot: Robot) -> dict[int, int]:
    """Index of the second motor by its joint."""
    return {i: robot.n + k for k, i in enumerate(robot.motor_joints[robot.n :])}


def spring_deflections(robot: Robot, q: Expression, theta: Expression) -> Expression:
    """φ of the spring behind each motor (motors,), from positions, or its rate from velocities.

    θ − c q with the position of the link where the motor's position counts from it; T_b⁻¹θ − T_a q in a group.
    """
    second = [getattr(robot.joints[i].drive, "c", 1) * q[i] for i in robot.motor_joints[robot.n :]]
    ends = links_at_springs(robot, q)
    return motors_at_springs(robot, theta) - (ca.vertcat(ends, *second) if second else ends)


def of_motors(robot: Robot, behind_springs: Expression, on_links: Expression) -> Expression:
    """For each motor the first entry (motors,) if it is behind a spring, else that of its link (n,)."""
    chosen = [robot.compliant[i] for i in robot.motor_joints]
    return ca.vertcat(*[behind_springs[k] if x else on_links[robot.motor_joints[k]] for k, x in enumerate(chosen)])


def of_joints(robot: Robot, compliant: Expression, rigid: Expression) -> Expression:
    """For each joint the first entry if it has a spring, else the second."""
    return ca.vertcat(*[(compliant if x else rigid)[i] for i, x in enumerate(robot.compliant)])


def transmitted(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    damping: Expression | None = None,
    z: Expression | None = None,
) -> tuple[list[Scalar], Expression]:
    """Torques that the springs exert on the motors (motors,), and on the links (n,): both 0 at rigid joints.

    `damping` (n,) is what is asked of dampers that can be commanded, `z` (n,) the state of the hysteresis, whose torque
    is left out without it.
    """
    on_motors, on_links = spring_loads_of(robot, q, v, theta, theta_v, damping, z)
    if robot.transmissions:
        return ca.vertsplit(coupling.on_motors(robot, ca.vertcat(*on_motors))), coupling.on_links(robot, on_links)
    return on_motors, on_links


def spring_loads_of(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    damping: Expression | None = None,
    z: Expression | None = None,
) -> tuple[list[Scalar], Expression]:
    """Torques of the springs (motors,), and τ_e that they exert together at each joint (n,): both 0 at rigid joints.

    Of coupled joints both are τ_e as a sensor in the spring measures it.
    """
    phi, phi_v = spring_deflections(robot, q, theta), spring_deflections(robot, v, theta_v)
    second, on_links = second_motors(robot), []
    on_motors: list[Scalar] = [0.0] * robot.motor_count
    for i, joint in enumerate(robot.joints):
        places = [i, second[i]] if i in second else [i]
        commanded = 0 if damping is None else damping[i]
        loads = spring_loads(joint, [phi[k] for k in places], [phi_v[k] for k in places], commanded)
        if z is not None and i in robot.hysteretic:
            loads = [loads[0] + hysteresis(joint).torque * z[i]]
        for k, load in zip(places, loads):
            on_motors[k] = load
        on_links.append(loads[0] + joint.drive.c * loads[1] if i in second else loads[0])  # type: ignore[union-attr]
    return on_motors, ca.vertcat(*on_links)


def determined_rates(robot: Robot) -> tuple[bool, ...]:
    """Whether the state determines the torque rate of each spring.

    At a rigid joint the torque is that of the motor; the rate at a damped spring depends on the accelerations.
    """

    def determined(drive: Drive | None) -> bool:
        if isinstance(drive, VariableStiffnessDrive):
            return bool(is_zero(drive.damping) and is_zero(drive.greatest_damping))
        return isinstance(drive, ElasticDrive) and bool(is_zero(drive.damping))

    return tuple(determined(joint.drive) for joint in robot.joints)


def transmitted_rates(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    z: Expression | None = None,
) -> Expression:
    """Rates of the torques τ_e of the springs (n,): τ_e' = k(φ) φ'  [EJNEA (8)]; 0 where the state tells none.

    Hysteresis with the state `z` (n,) adds T z'.
    """
    phi, phi_v = spring_deflections(robot, q, theta), spring_deflections(robot, v, theta_v)
    second, rates = second_motors(robot), []
    for i, (joint, determined) in enumerate(zip(robot.joints, determined_rates(robot))):
        rate: Scalar = 0.0
        if determined and isinstance(joint.drive, VariableStiffnessDrive):
            point = joint.drive.at(phi[i], phi[second[i]])
            rate = ca.mtimes(point.A[0], ca.vertcat(phi_v[i], phi_v[second[i]]))  # [VSANEA (17)]
        elif determined:
            rate = spring_torque(joint, phi[i], phi_v[i])[1]
            if z is not None and i in robot.hysteretic:
                law = hysteresis(joint)
                rate = rate + law.torque * law.rate(z[i], phi_v[i])
        rates.append(rate)
    return ca.vertcat(*rates)


def spring_loads(
    joint: Joint, phi: Sequence[Scalar], phi_v: Sequence[Scalar], commanded: Scalar = 0
) -> Sequence[Scalar]:
    """Torque that each motor of a joint feels from its spring, from deflections and their rates.

    Dampers act where φ counts from the link: D, and what is commanded, from 0 to the greatest damping of the drive.
    """
    drive = joint.drive
    if not isinstance(drive, VariableStiffnessDrive):
        return [spring_torque(joint, phi[0], phi_v[0])[0]]
    tau_1, tau_2 = drive.torques(phi[0], phi[1])
    D = drive.damping
    if not is_zero(drive.greatest_damping):
        D = D + commanded_damping(drive, commanded)
    return tau_1 + D * phi_v[0], tau_2 + drive.c * D * phi_v[1]


def hysteresis(joint: Joint) -> Hysteresis:
    """The hysteresis of a joint that has one."""
    law: Hysteresis = joint.drive.hysteresis  # type: ignore[assignment, union-attr]
    return law


def commanded_damping(drive: VariableStiffnessDrive, command: Scalar) -> Scalar:
    """What a commanded damper gives: the command, between 0 and the greatest damping of its drive."""
    return ca.fmax(ca.fmin(command, drive.greatest_damping), 0)
