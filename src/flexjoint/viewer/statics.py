"""Motor positions that hold a robot at rest: the ghost shows them while no motion is played."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite
from ..dynamics.drivetrain.orders import stiffness_order
from ..dynamics.drivetrain.stiffness_range import feasible_stiffness
from ..dynamics.inverse import motor_motion, needed_order
from ..dynamics.links import static_torque
from ..dynamics.recursion.kinematics import jacobian
from ..errors import FlexjointError, InputError
from ..robot import Robot
from ..types import FloatArray


class Statics:
    """Positions of motors at rest under gravity, parallel springs and a force on the tool.

    Args:
        robot: Any robot; damping, hysteresis and backlash do not act at rest.
        stiffness: Of the joints with variable stiffness, a number or one each, Nm/rad or N/m; default between the least
            and the greatest that they can have under the torque.
    """

    def __init__(self, robot: Robot, stiffness: FloatArray | float | None = None) -> None:
        self.model = robot.without_spring_damping().without_gear_losses()
        self.elastic = any(robot.compliant)
        gravity = np.array(robot.gravity, dtype=float)
        size = float(np.linalg.norm(gravity))
        self.down = gravity / size if size else np.array([0.0, 0.0, -1.0])
        self.greatest_load = float(f"{max(sum(link.mass for link in robot.links) * (size or 10.0), 1e-3):.1g}")
        self.order = needed_order(self.model)
        self.stiffness = stiffness

    def wrench(self, load: float) -> FloatArray:
        """The wrench (6,) of a load in N along gravity on the tool, base coordinates."""
        return np.concatenate([load * self.down, np.zeros(3)])

    def theta(self, q: FloatArray, load: float = 0.0) -> FloatArray | None:
        """Positions of the motors, (motors,); None where the springs cannot hold the links.

        Args:
            q: Positions of the links, (n,), rad or m.
            load: Force on the tool along gravity, N; default 0.
        """
        if not self.elastic:
            return None
        still = np.zeros((self.order, self.model.n))
        stack = [self.wrench(load), *np.zeros((2, 6))][: max(1, self.order - 1)]
        try:
            sigma = None
            if any(self.model.variable_stiffness):
                sigma = [self._stiffness(q, load), *np.zeros((stiffness_order(self.model), self.model.n))]
            found = motor_motion(self.model, q, *still, stiffness=sigma, wrenches={self.model.tool: stack}).theta
        except FlexjointError:
            return None
        return np.asarray(found) if np.all(np.isfinite(found)) else None

    def _stiffness(self, q: FloatArray, load: float) -> FloatArray:
        """Stiffness per joint, (n,): the given one, else the middle of what the joints can have under this torque."""
        chosen, given = np.asarray(self.model.variable_stiffness), self.stiffness
        if given is not None:
            values = np.zeros(self.model.n)
            values[chosen] = given
            return values
        J = np.asarray(jacobian(self.model, q))
        lower, upper = feasible_stiffness(self.model, static_torque(self.model, q) - self.wrench(load) @ J)
        most = np.where(np.isfinite(upper), upper, 2.0 * np.asarray(lower))
        return np.where(chosen, np.sqrt(np.asarray(lower) * most), 0.0)


def configuration(robot: Robot, q: ArrayLike | None) -> FloatArray:
    """q as an array (n,); by default 0, or the middle of the limits where 0 lies outside."""
    if q is None:
        limits = robot.joint_limits
        return np.array([0.0 if x.lower <= 0 <= x.upper else (x.lower + x.upper) / 2 for x in limits])
    at = finite("view", "q", q)
    if at.shape != (robot.n,):
        raise InputError(f"view: q has shape {at.shape}; it must be ({robot.n},)")
    return at
