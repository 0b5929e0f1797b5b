"""What coupled transmissions must fulfil; a RobotError names the group by its joints otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..checks import is_number
from ..drives import CoupledTransmission, VariableStiffnessDrive
from ..errors import InputError, RobotError, listed, shown
from ..numerics.linear import product, solve

if TYPE_CHECKING:
    from .model import Robot

SIDES = ("motor", "joint")
WORST_CONDITION = 1e6  # of T, in the row-sum norm of |T⁻¹||T|: torques would lose more than six of their sixteen digits


def check_transmissions(robot: Robot) -> None:
    """Refuse groups of wrong joints or drives, and matrices that are not invertible."""
    if not isinstance(robot.transmissions, tuple):
        raise RobotError(
            f"{robot.name}: the transmissions are {shown(robot.transmissions)}: give a list of "
            "drives.CoupledTransmission(joints, matrix)"
        )
    taken: set[str] = set()
    for group in robot.transmissions:
        if not isinstance(group, CoupledTransmission):
            raise RobotError(
                f"{robot.name}: one of the transmissions is {shown(group)}: give drives.CoupledTransmission(joints, "
                "matrix)"
            )
        check_joints(robot, group)
        for name in group.joints:
            if name in taken:
                raise RobotError(f"joint '{name}' is in two coupled transmissions: join them to one, with one matrix")
            taken.add(name)
        if group.springs not in SIDES:
            raise RobotError(f"the springs of {called(group)} are at {shown(group.springs)}: choose 'motor' or 'joint'")
        check_matrix(group)
        check_drives(robot, group)


def called(group: CoupledTransmission) -> str:
    """A group in a message."""
    names = listed(f"'{name}'" for name in group.joints)
    return f"the transmission of {names}"


def check_joints(robot: Robot, group: CoupledTransmission) -> None:
    """Refuse names that are not those of independent moving joints, each once."""
    if isinstance(group.joints, str) or not isinstance(group.joints, tuple) or not group.joints:
        raise RobotError(f"the joints of a transmission are {shown(group.joints)}: give a list of names of joints")
    joints = {link.joint.name: link.joint for link in robot.links}
    moving = {joint.name for joint in robot.joints}
    for name in group.joints:
        if not isinstance(name, str) or name not in joints:
            known = listed(joint.name for joint in robot.joints)
            raise RobotError(f"a transmission has the unknown joint {shown(name)}; the moving joints are: {known}")
        if not joints[name].moves:
            raise RobotError(f"joint '{name}' is fixed, but in a transmission: leave it out")
        if name not in moving:
            raise RobotError(f"joint '{name}' follows another joint, but is in a transmission: give the leader instead")
    if len(set(group.joints)) < len(group.joints):
        raise RobotError(f"{called(group)} has a joint twice: name each once")


def check_matrix(group: CoupledTransmission) -> None:
    """Refuse a matrix of a wrong shape, that is not finite, or whose inverse is lost in rounding."""
    T, n = group.matrix, len(group.joints)
    rows = isinstance(T, tuple) and all(isinstance(row, tuple) and all(map(is_number, row)) for row in T)
    if not rows or len(T) != n or any(len(row) != n for row in T):
        raise RobotError(
            f"the matrix of {called(group)} is {shown(T)}: give {n} x {n} numbers, a row per motor and a column per "
            "joint"
        )
    if not np.all(np.isfinite(T)):
        raise RobotError(f"the matrix of {called(group)} is {shown(T)}: every number must be finite")
    try:
        condition = float(np.max(np.sum(product(np.abs(solve(T, np.eye(n))), np.abs(T)), axis=1)))
    except InputError:
        condition = np.inf
    if not condition <= WORST_CONDITION:
        raise RobotError(
            f"the matrix of {called(group)} cannot be inverted (its condition number is {condition:.3g}, at most "
            f"{WORST_CONDITION:g} is taken): {shown(T)}; the motors must move the joints independently"
        )


def check_drives(robot: Robot, group: CoupledTransmission) -> None:
    """Refuse joints of variable stiffness, and rigid joints beside elastic ones."""
    joints = {joint.name: (joint, springy) for joint, springy in zip(robot.joints, robot.compliant)}
    for name in group.joints:
        if isinstance(joints[name][0].drive, VariableStiffnessDrive):
            raise RobotError(
                f"joint '{name}' has variable stiffness, but is in {called(group)}: give it an ElasticDrive or a "
                "RigidDrive"
            )
    if len({joints[name][1] for name in group.joints}) > 1:
        with_spring, without = ([f"'{x}'" for x in group.joints if joints[x][1] is kind] for kind in (True, False))
        raise RobotError(
            f"{called(group)} has springs at {listed(with_spring)} but none at {listed(without)}: give all its joints "
            "an ElasticDrive, or all a RigidDrive"
        )
