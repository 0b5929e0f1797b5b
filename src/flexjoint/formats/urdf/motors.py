"""Motors and springs of a URDF as drives: transmissions, Franka's K and D, differentials."""

from __future__ import annotations

from collections.abc import Iterable

from ...drives import CoupledTransmission, Drive, ElasticDrive, Motor, RigidDrive
from ...errors import RobotError
from ...robot import Robot
from ..report import Note
from ..tree.records import JointData
from .elements import ActuatorData, DifferentialData


def drive_of(data: JointData, motor: ActuatorData | None, coulomb_velocity: float, note: Note) -> Drive | None:
    """The drive of a joint from its transmission and from Franka's K and D."""
    K, D, element = data.stiffness, data.spring_damping, data.element.first("dynamics") or data.element
    ratio, rotor = (motor.reduction, motor.rotor_inertia) if motor is not None else (None, None)
    if motor is not None and ratio is not None and not abs(ratio) > 0:
        note(motor.element, f"reduction of '{data.name}'", "0: not used", "suspicious")
        ratio = None
    if motor is not None and rotor is not None and rotor < 0:
        note(motor.element, f"motor inertia of '{data.name}'", f"{rotor:g} is negative: not used", "suspicious")
        rotor = None
    inertia = (1.0 if ratio is None else ratio * ratio) * (rotor or 0.0)
    if K is not None and K > 0 and inertia > 0:
        over = coulomb_velocity if data.friction else 0.0
        motor_side = Motor(inertia, coulomb_friction=data.friction, coulomb_velocity=over, gear_ratio=ratio)
        return ElasticDrive(K, motor_side, max(D or 0.0, 0.0))
    for key, value in (("K", K), ("D", D)):
        if value:
            reason = f"{value:g}, stiffness and damping of an elastic joint: not used, as there is no motor inertia"
            note(element, f"<dynamics {key}> of '{data.name}'", f"{reason}; a drive file gives all three", "unused")
    return None if ratio is None and rotor is None else RigidDrive(Motor(inertia, gear_ratio=ratio))


def with_differentials(robot: Robot, differentials: Iterable[DifferentialData], place: str, note: Note) -> Robot:
    """The robot with the differentials whose motor inertias are given as coupled transmissions; others are reported.

    θ_1 = n_1 (k_1 q_1 + k_2 q_2), θ_2 = n_2 (k_1 q_1 − k_2 q_2), so that after the reductions n the matrix is
    [[k_1, k_2], [k_1, −k_2]].
    """
    free = [joint.name for joint in robot.joints]
    motors: dict[str, RigidDrive] = {}
    groups = []
    for x in differentials:
        inertias = [motor.rotor_inertia or 0.0 for motor in x.actuators]
        ratios = [motor.reduction or 1.0 for motor in x.actuators]
        usable = all(inertia > 0 for inertia in inertias) and x.joints[0] != x.joints[1]
        if not usable or not set(x.joints) <= set(free) - motors.keys():
            why = "its joints do not move or are driven twice" if usable else "has no motor inertias"
            reason = f"couples two joints, but {why}: torques are those of the joints"
            note(x.element, f"<transmission> '{x.element.attributes.get('name', '')}'", reason, "unused")
            continue
        for name, inertia, n in zip(x.joints, inertias, ratios):
            motors[name] = RigidDrive(Motor(n * n * inertia, gear_ratio=n))
        k1, k2 = x.joint_reductions
        groups.append(CoupledTransmission(x.joints, [[k1, k2], [k1, -k2]]))
    if not groups:
        return robot
    drives = [motors.get(joint.name, joint.drive) for joint in robot.joints]
    try:
        return robot.with_drives(drives).replace(transmissions=tuple(groups), rotors_in_links=False)
    except RobotError as error:
        raise RobotError(f"{place}: {error}") from None
