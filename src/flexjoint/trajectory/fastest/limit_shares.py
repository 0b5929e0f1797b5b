"""All limits of a robot as one CasADi function of a motion of its links: shares, which are at most 1 in size."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...algorithm.casadi_function import casadi_function
from ...dynamics.inverse import MotorMotion, motor_motion, needed_order
from ...robot import Robot
from ...spatial import ca
from ..limited_motion import MONOMIALS, LimitedMotion
from ..limits import RMS, limited_quantities, limited_values
from ..scaled_limits import finite_columns


class LimitShares(NamedTuple):
    """Shares of limits at one instant.

    Attributes:
        function: from [q; q'; ...], a column of (order + 1) n numbers, to the shares of all limits except of positions
            and means, and to the torques of motors with a limited mean, as shares of it.
        order: highest derivative of q.
        n: number of joints.
    """

    function: Any
    order: int
    n: int


def planned_order(robot: Robot) -> int:
    """Highest derivative of q that a limit depends on; all lower ones are continuous, and vanish at the ends."""
    return max(needed_order(robot), 3 if "jerk" in limited_quantities(robot) else 2)


def limit_shares(motion: LimitedMotion) -> LimitShares:
    """The function of the robot of a motion, with the loads of the motion; springs must be undamped."""
    robot, limited, order = motion.robot, motion.limited, planned_order(motion.robot)
    stack = [ca.SX.sym(f"q{k}", robot.n) for k in range(order + 1)]
    motors = None
    if motion.has_drives:
        wrenches = motion.loads.get("wrenches", {})
        keywords: dict[str, Any] = {"wrenches": {link: len(x) for link, x in wrenches.items()}} if wrenches else {}
        function = casadi_function(motor_motion, robot, needed_order(robot) + 1, **keywords)
        loads = [w for x in wrenches.values() for w in x]
        motors = MotorMotion(*function(*stack[: needed_order(robot) + 1], *loads))
    values = limited_values(limited, stack, motors)  # type: ignore[arg-type]
    shares, means = [], []
    for name, quantity in limited.items():
        for i in map(int, finite_columns(quantity)):
            if name == RMS:
                means.append(values["torque"][i] / quantity.upper[i])
            elif name != "position":
                shares.append(values[name][i] / quantity.upper[i])
    outputs = [ca.vertcat(ca.SX(0, 1), *x) for x in (shares, means)]  # columns, empty ones too
    return LimitShares(ca.Function("shares", [ca.vertcat(*stack)], outputs), order, robot.n)


def bounds_acceleration(motion: LimitedMotion) -> bool:
    """Whether a limit keeps accelerations finite: limits of speeds alone do not."""
    return bool(set(motion.limited) - {"position", "velocity", "motor speed"})


def unlimited_joints(motion: LimitedMotion) -> list[str]:
    """Joints without any limit of their motion, motor or spring, except of position."""
    robot, found = motion.robot, set[int]()
    for name, quantity in motion.limited.items():
        if name != "position":
            columns = map(int, finite_columns(quantity))
            found |= set(columns if name in MONOMIALS else (robot.motor_joints[i] for i in columns))
    return [joint.name for i, joint in enumerate(robot.joints) if i not in found]
