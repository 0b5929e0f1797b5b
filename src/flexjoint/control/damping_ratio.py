"""Damping of joints whose dampers can be commanded: a law around another one that keeps a damping ratio.

With its motors at rest, joint i of variable stiffness oscillates as M_ii q'' + (1 + c) D q' + σ q = 0.  The damping

    D = 2 ζ √(σ M_ii) / (1 + c)

gives it the ratio ζ, in every configuration and at every stiffness; c is 1 where both motors are damped against the
link.  The constant damping of the drive is part of D: the law commands the rest.  Dampers take energy out whatever the
law inside does, which does not know them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..checks import positive_numbers
from ..drives import VariableStiffnessDrive
from ..dynamics.drivetrain.damped_variable_stiffness import commanded_damper
from ..dynamics.drivetrain.transmission import second_motors, spring_deflections
from ..dynamics.recursion.composite_bodies import link_mass_matrix
from ..errors import InputError
from ..reprs import short_repr
from ..spatial import ca
from ..types import Expression, FloatArray, Stack
from .base import Controller, ControllerWrapper, LawResult


@dataclass(frozen=True, eq=False, repr=False)
class DampingRatio(ControllerWrapper):
    """A controller that also commands dampers, so that each joint has the desired damping ratio.

    A joint has such a damper if its drive has a `greatest_damping`.  `Simulation.more["damping"]` records the command,
    (..., m, n), Nm s/rad or N s/m; the damper limits it to 0 ... `greatest_damping`.

    Args:
        controller: The controller of the motors.
        ratio: ζ, positive, one number or one per joint; 1 by default, critical damping.

    Raises:
        InputError: No drive has dampers that can be commanded, or the ratio is not positive.

    Example:
        >>> import dataclasses, flexjoint as fj
        >>> robot = fj.load("vsa_3r")
        >>> able = robot.with_drives([dataclasses.replace(x.drive, greatest_damping=50.0) for x in robot.joints])
        >>> fj.control.DampingRatio(fj.control.OpenLoop(able), 0.7).commands_damping
        True
    """

    controller: Controller
    ratio: Any = 1.0

    def __post_init__(self) -> None:
        self.check_controller()
        if not any(commanded_damper(joint.drive) for joint in self.robot.joints):
            raise InputError(
                f"DampingRatio: no joint of '{self.robot.name}' has a damper that can be commanded; give its drive a "
                "greatest_damping"
            )
        ratio = tuple(positive_numbers("DampingRatio", "ratio", self.ratio, self.robot.n).tolist())
        object.__setattr__(self, "ratio", ratio)

    @property
    def gains(self) -> FloatArray:  # type: ignore[override]
        return self.controller.gains

    @property
    def gain_names(self) -> list[str]:
        return self.controller.gain_names

    @property
    def period(self) -> float:
        return self.controller.period  # type: ignore[attr-defined]

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: Any) -> LawResult:
        return self.controller.law(gains, state, reference, measurement)

    @property
    def commands_damping(self) -> bool:
        return True

    def damper_command(self, measurement: Any) -> Expression:
        robot, second = self.robot, second_motors(self.robot)
        q, theta = measurement.q, measurement.theta
        phi, M = spring_deflections(robot, q, theta), link_mass_matrix(robot, q)[0]
        found = []
        for i, (joint, zeta) in enumerate(zip(robot.joints, self.ratio)):
            drive = joint.drive
            if isinstance(drive, VariableStiffnessDrive) and commanded_damper(drive):
                sigma = ca.fmax(drive.at(phi[i], phi[second[i]]).sigma, 0)
                wanted = 2 * zeta / (1 + drive.c) * ca.sqrt(sigma * M[i][i])
                found.append(ca.fmax(wanted - drive.damping, 0))
            else:
                found.append(ca.SX(0))
        return ca.vertcat(*found)

    def __repr__(self) -> str:
        return short_repr(self, self.controller, ratio=self.ratio)
