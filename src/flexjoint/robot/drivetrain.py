"""Questions about the motors, springs and gears of a robot."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from ..drives import CoupledTransmission, ElasticDrive, VariableStiffnessDrive
from ..spatial import is_zero
from ..types import FloatArray
from .joints import JointKind
from .joints.prismatic import Prismatic
from .mimics import MovingJoint
from .parts import BASE
from .structure import Structure


class Drivetrain(Structure):
    """What follows from the drives of a robot, per joint in the order of q and per motor."""

    transmissions: tuple[CoupledTransmission, ...]

    @cached_property
    def compliant(self) -> tuple[bool, ...]:
        """For each moving joint whether a spring of any kind is between motor and link."""
        return tuple(isinstance(joint.drive, ElasticDrive | VariableStiffnessDrive) for joint in self.joints)

    @cached_property
    def elastic(self) -> tuple[bool, ...]:
        """For each moving joint whether its drive is an ElasticDrive: one motor behind one spring."""
        return tuple(isinstance(joint.drive, ElasticDrive) for joint in self.joints)

    @cached_property
    def variable_stiffness(self) -> tuple[bool, ...]:
        """For each moving joint whether two motors set its position and its stiffness."""
        return tuple(isinstance(joint.drive, VariableStiffnessDrive) for joint in self.joints)

    @cached_property
    def motor_joints(self) -> tuple[int, ...]:
        """For each motor the index of its joint: the first motor of every joint, then the second motors.

        Joints of variable stiffness have a second motor.  Arrays over the motors (theta, theta_v, tau) have this order.
        """
        return (*range(self.n), *(i for i, two in enumerate(self.variable_stiffness) if two))

    @property
    def motor_count(self) -> int:
        """How many motors there are, a joint driven directly counted as having one."""
        return len(self.motor_joints)

    @cached_property
    def motors_behind_springs(self) -> tuple[int, ...]:
        """Indices of the motors whose positions θ are coordinates of their own; elsewhere θ = q, or T q in a group."""
        return tuple(k for k, i in enumerate(self.motor_joints) if self.compliant[i])

    @cached_property
    def transmission_joints(self) -> tuple[tuple[int, ...], ...]:
        """Indices in q of the joints of each of the `transmissions`."""
        place = {joint.name: i for i, joint in enumerate(self.joints)}
        return tuple(tuple(place[name] for name in group.joints) for group in self.transmissions)

    @property
    def motor_names(self) -> tuple[str, ...]:
        """Names of the motors in the order of `motor_joints`: their joint's, with ".second" after it."""
        names = [self.joints[i].name for i in self.motor_joints]
        return (*names[: self.n], *(f"{name}.second" for name in names[self.n :]))

    @property
    def motor_kinds(self) -> tuple[JointKind, ...]:
        """Kind per motor: that of its joint, but prismatic for a second motor that slides by itself."""
        joints = [self.joints[i] for i in self.motor_joints]
        return tuple(Prismatic() if own else joint.kind for joint, own in zip(joints, self._sliding))

    @property
    def motor_efforts(self) -> tuple[float, ...]:
        """Greatest torque per motor: the lesser of its own limit and the effort of its joint.

        The effort of a joint does not bound a second motor that slides by itself.
        """
        return self._motor_bounds("torque", "effort")

    @property
    def motor_torque_rates(self) -> tuple[float, ...]:
        """Greatest rate of the commanded torque per motor, as `motor_efforts`."""
        return self._motor_bounds("torque_rate", "torque_rate")

    def _motor_bounds(self, of_motor: str, of_joint: str) -> tuple[float, ...]:
        """The lesser of a limit of each motor and one of its joint."""
        joints = [self.joints[i] for i in self.motor_joints]
        motors = [x.drive.motors[k >= self.n] if x.drive else None for k, x in enumerate(joints)]
        own = [getattr(motor.limits, of_motor) if motor else math.inf for motor in motors]
        bounds = [getattr(joint.limits, of_joint) for joint in joints]
        return tuple(x if alone else min(x, bound) for x, bound, alone in zip(own, bounds, self._sliding))

    @property
    def _sliding(self) -> list[bool]:
        """Whether a motor slides by itself, per motor."""
        drives = [self.joints[i].drive for i in self.motor_joints]
        return [k >= self.n and getattr(drive, "slides", False) for k, drive in enumerate(drives)]

    @cached_property
    def gear_ratios(self) -> FloatArray:
        """η of the motor per moving joint: its shaft turns by η θ and delivers τ/η.  NaN where it is not known."""
        drives = [joint.drive for joint in self.joints]
        known = [drive.motors[0].gear_ratio if drive else None for drive in drives]
        ratios = np.array([math.nan if x is None else x for x in known])
        ratios.flags.writeable = False
        return ratios

    def carrier(self, link: int, k: int = 0) -> int:
        """Index of the link that carries the k-th motor of a link's joint, −1 for the base."""
        drive = self.links[link].joint.drive
        name = drive.motors[k].carrier if drive else None
        if name is None:
            return self.parents[link]
        return -1 if name == BASE else self.link_index(name)

    @cached_property
    def damped(self) -> tuple[bool, ...]:
        """For each moving joint whether its springs are damped."""
        drives = [joint.drive for joint in self.joints]
        springy = ElasticDrive | VariableStiffnessDrive
        return tuple(isinstance(drive, springy) and not is_zero(drive.damping) for drive in drives)

    @cached_property
    def hysteretic(self) -> tuple[int, ...]:
        """Indices of the moving joints whose gears have hysteresis: each has a state z of its own in a simulation."""
        drives = [joint.drive for joint in self.joints]
        return tuple(i for i, drive in enumerate(drives) if isinstance(drive, ElasticDrive) and drive.hysteresis)

    @cached_property
    def gear_losses(self) -> tuple[bool, ...]:
        """For each moving joint whether its gear has hysteresis or backlash."""
        gaps = [getattr(joint.drive, "backlash", 0.0) for joint in self.joints]
        return tuple(i in self.hysteretic or not is_zero(gap) for i, gap in enumerate(gaps))

    @cached_property
    def parallel_springs(self) -> tuple[MovingJoint, ...]:
        """The moving joints with a spring between their links and the parents of these, followers among them."""
        return tuple(x for x in self.moving_joints if x.joint.parallel_spring is not None)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Paths of the numbers that are CasADi symbols; none unless the robot comes from `with_symbols`."""
        return ()
