"""The robot that is simulated: links, springs and motors under motor torques and contact.

Rigid, elastic and damped joints in any mix, with Spong's model of the rotors  [EJNEA (4)], the complete one  [Hua (31)]
or joints of variable stiffness  [VSANEA (5)].  Integrators see its free coordinates alone, the links and the motors
behind springs; the motor of a rigid joint turns with its link.  Motors are in the order of `Robot.motor_joints`.
Gears with hysteresis have a state of their own (`drives/hysteresis.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from ..compiler.ir.program import Array
from ..compiler.ir.scan import mapped
from ..compiler.ir.trace import declared
from ..control.base import Controller, JointState, Signal, state_arrays
from ..drives import ElasticDrive
from ..dynamics.drivetrain.coupling import undeflected
from ..dynamics.drivetrain.transmission import (
    determined_rates,
    hysteresis,
    of_joints,
    of_motors,
    spring_deflections,
    spring_loads_of,
    transmitted_rates,
)
from ..dynamics.forward import accelerations
from ..errors import InputError, quoted, shown
from ..observers.base import Measurement
from ..robot import Robot
from ..spatial import ca, is_zero, zeros
from ..types import Expression, Scalar
from .moving_base import sampled_motion
from .python_laws import traced

COMPONENTS = ("f_x", "f_y", "f_z", "m_x", "m_y", "m_z")
Contact = Callable[[Scalar, JointState], Mapping[str, Expression]]  # (t, state) -> wrenches (6,) on links, in SX


class PlantState(NamedTuple):
    """The state of the simulated robot: joints, and gears with hysteresis.

    Args:
        q, v, theta, theta_v: As of a JointState.
        z: Torque of each hysteresis relative to its greatest one, (..., h), in the order of `robot.hysteretic`; None
            without hysteresis.
        dissipated: Energy dissipated by each hysteresis, (..., h), in J; None without hysteresis.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.simulation.PlantState(*np.zeros((4, 7))).joints.q.shape
        (7,)
    """

    q: Signal
    v: Signal
    theta: Signal
    theta_v: Signal
    z: Signal | None = None
    dissipated: Signal | None = None

    @property
    def joints(self) -> JointState:
        """Positions and velocities of links and motors: what contacts and controllers see."""
        return JointState(*self[:4])


def plant_arrays(robot: Robot) -> PlantState:
    """The fields of a PlantState as arrays of a kernel."""
    joints, h = state_arrays(robot), len(robot.hysteretic)
    labels = tuple(robot.joints[i].name for i in robot.hysteretic)
    return PlantState(*joints, *(Array(name, (h,), unit, labels) for name, unit in GEAR_UNITS.items() if h))


GEAR_UNITS = {"z": "1", "dissipated": "J"}  # the fields that a PlantState adds to a JointState


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
        damping: Commanded damping of the joints (n, 1); by default none.
        stiffest: Whether each hysteresis is replaced by a spring with its greatest stiffness, to bound the steps of
            integrators; by default False.

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
    stiffest: bool = False

    def acceleration(self, t: Scalar, state: PlantState, tau: Expression, *more: Expression) -> Expression:
        """Second derivatives of the free coordinates under the motor torques tau (motors,), in its `surroundings`."""
        base, damping = (more, None) if self.damping is None else (more[:-1], more[-1])
        wrenches = {link: [w] for link, w in self.touched(t, state.joints).items()} if self.contact else None
        push = self.stops.torque(self.robot, state.q, state.v) if self.stops else None
        moved = sampled_motion(*base) if base else None
        z = self.steepest(state.joints) if self.stiffest else self.of_all_joints(state.z)
        return self.free(*accelerations(self.robot, *state.joints, tau, wrenches, moved, damping, push, z))

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

    def joint_torques(self, state: PlantState, tau: Expression) -> Expression:
        """The torque τ_e of each spring, its damping and its hysteresis on its link (n,), as torque sensors measure it.

        At a rigid joint it is the motor's.  Where a transmission couples joints, it is that of the spring itself.
        """
        return of_joints(self.robot, spring_loads_of(self.robot, *state.joints, z=self.of_all_joints(state.z))[1], tau)

    def measurement(self, state: PlantState, tau: Expression) -> Measurement:
        """What perfect sensors measure under motor torques tau; torque rates are 0 where the state does not tell."""
        rates = transmitted_rates(self.robot, *state.joints, z=self.of_all_joints(state.z))
        return Measurement(*state.joints, self.joint_torques(state, tau), rates)

    def seen(self, controller: Controller, state: PlantState) -> JointState | Measurement:
        """What a controller sees of a state without sensors in between; of the motors' torques nothing."""
        return self.measurement(state, zeros(self.robot.motor_count)) if controller.torque_sensors else state.joints

    # Gears ------------------------------------------------------------------------------------------------

    def of_all_joints(self, x: Expression | None) -> Expression | None:
        """Numbers of the gears with hysteresis as numbers of all joints (n,), 0 elsewhere; None if there are none."""
        if x is None:
            return None
        place = {i: x[k] for k, i in enumerate(self.robot.hysteretic)}
        return ca.vertcat(*(place.get(i, 0.0) for i in range(self.robot.n)))

    def steepest(self, state: JointState) -> Expression:
        """z of each joint (n,) as if its hysteresis were a spring of its greatest slope."""
        laws = [hysteresis(self.robot.joints[i]) for i in self.robot.hysteretic]
        phi = spring_deflections(self.robot, state.q, state.theta)
        slopes = [law.steepest / law.torque for law in laws]
        return self.of_all_joints(ca.vertcat(*(x * phi[i] for x, i in zip(slopes, self.robot.hysteretic))))

    def gear_rates(self, z: Expression, w: Expression) -> Expression:
        """z' and the power that is lost of each hysteresis (2h,), from z and the velocities w of the free coordinates.

        What follows the h numbers of `z` is ignored.
        """
        laws = [hysteresis(self.robot.joints[i]) for i in self.robot.hysteretic]
        rates = spring_deflections(self.robot, w[: self.robot.n], w[self.places])
        pairs = [(law, z[k], rates[i]) for k, (law, i) in enumerate(zip(laws, self.robot.hysteretic))]
        slipping = [(law.rate(*now), law.dissipation(*now)) for law, *now in pairs]
        return ca.vertcat(*(rate for rate, _ in slipping), *(power for _, power in slipping))

    def recorded(self, state: PlantState) -> list[Expression]:
        """What is recorded of gears with losses, as `gear_columns` says: z, torques and lost energies of all joints."""
        columns = gear_columns(self.robot)
        if not columns:
            return []
        z, lost = self.of_all_joints(state.z), self.of_all_joints(state.dissipated)
        still = state.joints._replace(v=0 * state.v, theta_v=0 * state.theta_v)
        springs = spring_loads_of(self.robot, *still)[1]
        if z is None:
            return [springs]
        torques = [hysteresis(self.robot.joints[i]).torque * z[i] for i in self.robot.hysteretic]
        return [springs, z, self.of_all_joints(ca.vertcat(*torques)), lost]

    # Free coordinates -------------------------------------------------------------------------------------

    @property
    def behind(self) -> list[int]:
        """The numbers of the motors behind springs."""
        return list(self.robot.motors_behind_springs)

    @property
    def places(self) -> list[int]:
        """The place of each motor among the free coordinates; at a rigid joint that of the link, in a group of one."""
        place = {k: self.robot.n + p for p, k in enumerate(self.behind)}
        return [place.get(k, i) for k, i in enumerate(self.robot.motor_joints)]

    def free(self, link: Expression, motor: Expression) -> Expression:
        """The free coordinates: all links, then the motors behind springs."""
        return ca.vertcat(link, *(motor[k] for k in self.behind))

    def coordinates(self, state: PlantState) -> tuple[Expression, Expression]:
        """Free coordinates and their velocities."""
        return self.free(state.q, state.theta), self.free(state.v, state.theta_v)

    def state(self, x: Expression, w: Expression, gears: Expression | None = None) -> PlantState:
        """The state from the free coordinates, their velocities, and z and lost energies of the gears (2h,)."""
        n, places, h = self.robot.n, self.places, len(self.robot.hysteretic)
        own = () if gears is None or not h else (gears[:h], gears[h:])
        theta, theta_v = x[places], w[places]
        if self.robot.transmissions:
            theta, theta_v = (of_motors(self.robot, y[places], undeflected(self.robot, y[:n])) for y in (x, w))
        return PlantState(x[:n], w[:n], theta, theta_v, *own)

    def gears(self, state: PlantState) -> Expression:
        """z and lost energies of the gears with hysteresis (2h,)."""
        return zeros(0) if state.z is None or state.dissipated is None else ca.vertcat(state.z, state.dissipated)


def closed_gaps(robot: Robot) -> Robot:
    """The robot without backlash: the teeth of its gears touch, so that it is as stiff as it gets."""
    drives: list[Any] = [joint.drive for joint in robot.joints]
    if is_zero([getattr(drive, "backlash", 0.0) for drive in drives]):
        return robot
    return robot.with_drives([replace(x, backlash=0.0) if isinstance(x, ElasticDrive) else x for x in drives])


def gear_columns(robot: Robot) -> dict[str, int]:
    """What is recorded of gears with losses, with the number of columns: nothing of robots without."""
    if not any(robot.gear_losses):
        return {}
    own = ("hysteresis", "hysteresis_torque", "dissipated") if robot.hysteretic else ()
    return dict.fromkeys(("spring_torque", *own), robot.n)


def check_torque_rates(owner: str, robot: Robot, controller: Controller) -> None:
    """Refuse a law that reads torque rates in continuous time where the state does not determine them."""
    known = determined_rates(robot)
    if controller.torque_sensors and not all(known):
        joint = robot.joints[known.index(False)]
        raise InputError(
            f"{owner}: joint '{joint.name}' is rigid or its spring is damped, so the state does not determine the "
            "torque rate that the controller reads in continuous time; use simulate with hold=True"
        )
