"""The robot that is simulated: links, springs and motors under motor torques and contact.

Rigid, elastic and damped joints in any mix, with Spong's model of the rotors  [EJNEA (4)], the complete one  [Hua (31)]
or joints of variable stiffness  [VSANEA (5)].  Integrators see its free coordinates alone, the links and the motors
behind springs; the motor of a rigid joint turns with its link.  Motors are in the order of `Robot.motor_joints`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..compiler.ir.program import Array
from ..compiler.ir.scan import mapped
from ..compiler.ir.trace import declared
from ..control.base import Controller, JointState
from ..dynamics.drivetrain.transmission import determined_rates, of_joints, transmitted, transmitted_rates
from ..dynamics.forward import accelerations
from ..errors import InputError, quoted, shown
from ..observers.base import Measurement
from ..robot import Robot
from ..spatial import ca, zeros
from ..types import Expression, Scalar
from .moving_base import sampled_motion
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
        base: Motion of the base (9, 1), ω₀, ω₀' and a₀, at the beginning, the middle and the end of a step; by default
            at rest.
        damping: What is asked of dampers that can be commanded (n, 1); by default nothing.

    Example:
        >>> import flexjoint as fj
        >>> fj.simulation.Plant(fj.load("kuka_lwr")).behind
        [0, 1, 2, 3, 4, 5, 6]
    """

    robot: Robot
    contact: Contact | None = None
    stops: LinkTorque | None = None
    base: Sequence[Expression] = ()
    damping: Expression | None = None

    def acceleration(self, t: Scalar, state: JointState, tau: Expression, *more: Expression) -> Expression:
        """Second derivatives of the free coordinates under the motor torques tau (motors,), in its `surroundings`."""
        base, damping = (more, None) if self.damping is None else (more[:-1], more[-1])
        wrenches = {link: [w] for link, w in self.touched(t, state).items()} if self.contact else None
        push = self.stops.torque(self.robot, state.q, state.v) if self.stops else None
        moved = sampled_motion(*base) if base else None
        return self.free(*accelerations(self.robot, *state, tau, wrenches, moved, damping, push))

    def surroundings(self, stage: int) -> Sequence[Expression]:
        """For `acceleration` at a stage of a step: motion of the base unless it is at rest, damping if commanded."""
        return *self.base[stage : stage + 1], *([] if self.damping is None else [self.damping])

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
        return of_joints(self.robot, transmitted(self.robot, *state)[1], tau)

    def measurement(self, state: JointState, tau: Expression) -> Measurement:
        """What perfect sensors measure under motor torques tau; torque rates are 0 where the state does not tell."""
        return Measurement(*state, self.torques_on_links(state, tau), transmitted_rates(self.robot, *state))

    def seen(self, controller: Controller, state: JointState) -> JointState | Measurement:
        """What a controller sees of a state without sensors in between; of the motors' torques nothing."""
        return self.measurement(state, zeros(self.robot.motor_count)) if controller.torque_sensors else state

    @property
    def behind(self) -> list[int]:
        """The numbers of the motors behind springs."""
        return list(self.robot.motors_behind_springs)

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


def check_torque_rates(owner: str, robot: Robot, controller: Controller) -> None:
    """Refuse a law that reads torque rates in continuous time where the state does not determine them."""
    known = determined_rates(robot)
    if controller.torque_sensors and not all(known):
        joint = robot.joints[known.index(False)]
        raise InputError(
            f"{owner}: joint '{joint.name}' is rigid or its spring is damped, so the state does not determine the "
            "torque rate that the controller reads in continuous time; use simulate with hold=True"
        )
