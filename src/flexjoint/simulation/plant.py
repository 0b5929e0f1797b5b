"""The robot that is simulated: links, springs and motors under motor torques and contact.

Rigid, elastic and damped joints in any mix, with Spong's model of the rotors  [EJNEA (4)], the complete one  [Hua (31)]
or joints of variable stiffness  [VSANEA (5)].  Integrators see its free coordinates alone, the links and the motors
behind springs; the motor of a rigid joint turns with its link.  Motors are in the order of `Robot.motor_joints`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from ..compiler.ir.program import Array
from ..compiler.ir.scan import mapped
from ..compiler.ir.trace import declared
from ..control.base import JointState
from ..dynamics import forward as elastic_forward
from ..dynamics.drivetrain import variable_stiffness_forward
from ..errors import InputError, quoted, shown
from ..robot import Robot
from ..spatial import ca, zeros
from ..types import Expression, Scalar
from .python_laws import traced

COMPONENTS = ("f_x", "f_y", "f_z", "m_x", "m_y", "m_z")
Contact = Callable[[Scalar, JointState], Mapping[str, Expression]]  # (t, state) -> wrenches (6,) on links, in SX


class LinkTorque(Protocol):
    """A further torque on the links, such as that of end stops."""

    def torque(self, robot: Robot, q: Expression, v: Expression) -> Expression: ...


@dataclass(frozen=True)
class Plant:
    """The equations of motion of a robot and its surroundings, in SX.

    Args:
        robot: The robot.
        contact: A function (t, state) -> {link name: wrench (6,)} in SX, as for `simulate`; by default none.
        stops: End stops at the position limits; by default none.

    Example:
        >>> import flexjoint as fj
        >>> fj.Plant(fj.load("kuka_lwr")).behind
        [0, 1, 2, 3, 4, 5, 6]
    """

    robot: Robot
    contact: Contact | None = None
    stops: LinkTorque | None = None

    def acceleration(self, t: Scalar, state: JointState, tau: Expression) -> Expression:
        """Second derivatives of the free coordinates under the motor torques tau (motors,)."""
        wrenches = {link: [w] for link, w in self.touched(t, state).items()} if self.contact else None
        q, v, theta, theta_v = state
        push = self.stops.torque(self.robot, q, v) if self.stops else None
        if any(self.robot.antagonistic):
            motors = [self.both(x) for x in (theta, theta_v, tau)]
            found = variable_stiffness_forward.accelerations(
                self.robot, q, motors[0], v, motors[1], motors[2], zeros(self.robot.n), wrenches, None, push
            )
            second = found.theta_2_a[list(self.robot.motor_joints[self.robot.n :])]
            return self.free(found.a, ca.vertcat(found.theta_1_a, second))
        return self.free(*elastic_forward.accelerations(self.robot, q, theta, v, theta_v, tau, wrenches, None, push))

    def touched(self, t: Scalar, state: JointState) -> dict[str, Expression]:
        """The wrenches of the surroundings by link, checked."""
        with traced("contact"):
            found = self.contact(*mapped((t, state), ca.SX)) if self.contact else {}  # copies, which it may write into
        if not isinstance(found, Mapping):
            raise InputError(f"simulate: contact gave {shown(found)}; it must return wrenches by the names of links")
        arrays = {link: Array(f"the wrench on '{quoted(link)}'", (6,), "N, Nm", COMPONENTS) for link in found}
        return {link: declared("simulate: contact", arrays[link], w) for link, w in found.items()}

    def torques_on_links(self, state: JointState, tau: Expression) -> Expression:
        """The torque of each spring on its link (n,); at a rigid joint the motor's."""
        q, v, theta, theta_v = state
        still = zeros(self.robot.n)
        _, springs = variable_stiffness_forward.transmitted(
            self.robot, q, self.both(theta), v, self.both(theta_v), still
        )
        return ca.vertcat(*[(springs if elastic else tau)[i] for i, elastic in enumerate(self.robot.elastic)])

    def both(self, x: Expression) -> tuple[Expression, Expression]:
        """A quantity of the motors (motors,) as that of the first and of the second motors (n,), zero without one."""
        n, second = self.robot.n, zeros(self.robot.n)
        for k, i in enumerate(self.robot.motor_joints[n:]):
            second[i] = x[n + k]
        return x[:n], second

    @property
    def behind(self) -> list[int]:
        """The numbers of the motors behind springs."""
        return [k for k, i in enumerate(self.robot.motor_joints) if self.robot.elastic[i]]

    @property
    def places(self) -> list[int]:
        """The place of each motor among the free coordinates; at a rigid joint that of the link."""
        place = {k: self.robot.n + p for p, k in enumerate(self.behind)}
        return [place.get(k, i) for k, i in enumerate(self.robot.motor_joints)]

    def free(self, link: Expression, motor: Expression) -> Expression:
        """The free coordinates: all links, then the motors behind springs."""
        return ca.vertcat(link, *(motor[k] for k in self.behind))

    def coordinates(self, state: JointState) -> tuple[Expression, Expression]:
        """Free coordinates and their velocities."""
        return self.free(state.q, state.theta), self.free(state.v, state.theta_v)

    def state(self, x: Expression, w: Expression) -> JointState:
        """The state from the free coordinates and their velocities."""
        n, places = self.robot.n, self.places
        return JointState(x[:n], w[:n], x[places], w[places])
