"""A motion of a robot whose limits are compared at any speed: s > 1 faster than given, s < 1 slower."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite
from ..drives import ElasticDrive, RigidDrive
from ..drives.friction import friction_law
from ..dynamics.along import Motion, inverse_dynamics_along, stiffness_at
from ..dynamics.inverse import MotorMotion, motor_motion, needed_order
from ..dynamics.requirements import lossless_gears, require
from ..errors import InputError
from ..robot import Robot, a_robot, numeric
from ..springs import LinearSpring
from ..types import FloatArray
from .base import Trajectory, a_trajectory, require_smoothness
from .limits import LimitedQuantity, limited_quantities, limited_values
from .record import require_clean
from .samples import Samples

SAMPLES = 1001
MONOMIALS = {"velocity": 1, "acceleration": 2, "jerk": 3}  # powers of s


@dataclass(frozen=True)
class LimitedMotion:
    """A motion of a robot whose limits are compared at any speed.

    Args:
        robot: the robot.
        trajectory: motion of the links.
        limited: the limits that count, by name.
        stiffness: of joints of variable stiffness; None without.
        loads: keyword arguments of `inverse_dynamics_along`: a constant wrench.
    """

    robot: Robot
    trajectory: Trajectory
    limited: dict[str, LimitedQuantity]
    stiffness: Motion | FloatArray | None
    loads: dict[str, Any]

    @property
    def order(self) -> int:
        """Highest derivative of q that a limit depends on."""
        jerk = 3 if "jerk" in self.limited and self.trajectory.smoothness >= 2 else 2
        return max(jerk, needed_order(self.robot), 3 if any(self.robot.damped) else 2)

    @property
    def has_drives(self) -> bool:
        """Whether a limit of a motor or spring counts."""
        return not set(self.limited) <= {"position", *MONOMIALS}

    def values(self, t: FloatArray, s: float = 1.0, stack: FloatArray | None = None) -> dict[str, FloatArray]:
        """The limited quantities at times t (m,) of the motion as given, while it runs s times as fast."""
        stack = self.stack(t) if stack is None else stack
        faster = scaled(stack, s)
        motion = self.motors(t, stack, np.array([s])) if self.has_drives else None
        alone = None if motion is None else MotorMotion(*(x[0] for x in motion))
        return self.compared(faster, alone)

    def compared(self, stack: FloatArray, motion: MotorMotion | None) -> dict[str, FloatArray]:
        """The limited quantities of samples; a jerk is infinite where the motion has none."""
        found = limited_values(self.limited, stack, motion)
        if "jerk" in self.limited and self.trajectory.smoothness < 2:  # the acceleration jumps
            moves = np.abs(stack[1]).max(axis=0) > 0
            found["jerk"] = np.tile(np.where(moves, math.inf, 0.0), (stack.shape[1], 1))
        return found

    def stack(self, t: FloatArray) -> FloatArray:
        """[q, q', ...] at times t (m,), (order + 1, m, n)."""
        return self.trajectory(t, order=self.order)

    def motors(self, t: FloatArray, stack: FloatArray, speeds: FloatArray) -> MotorMotion:
        """Motion of the motors at the samples of a stack, at several speeds: arrays (speeds, m, motors)."""
        if any(self.robot.damped):
            parts = [
                inverse_dynamics_along(
                    self.robot, self.trajectory.scaled(1 / s), t / s, self.stiffness_at(s), **self.loads
                )
                for s in speeds
            ]
            return MotorMotion(*(np.stack(x) for x in zip(*parts)))
        factors = speeds ** np.arange(len(stack))[:, None]
        rows = (factors[:, :, None, None] * stack[:, None]).reshape(len(stack), -1, self.robot.n)
        sigma = None
        if self.stiffness is not None:
            given = self.stiffness_stack(t)
            sigma = (factors[: len(given), :, None, None] * given[:, None]).reshape(len(given), -1, self.robot.n)
        found = motor_motion(self.robot, *rows, stiffness=sigma, **self.loads)
        return MotorMotion(*(x.reshape(len(speeds), t.size, -1) for x in found))

    def stiffness_stack(self, t: FloatArray) -> FloatArray:
        """[σ, σ', σ'', ...] of all joints at times t, (3 or more, m, n)."""
        return stiffness_at(self.robot, self.stiffness, t)  # type: ignore[arg-type]

    def stiffness_at(self, s: float) -> Any:
        """The stiffness of the motion that runs s times as fast."""
        if not callable(self.stiffness):
            return self.stiffness
        return partial(faster_motion, self.stiffness, s)

    @property
    def is_polynomial(self) -> bool:
        """Whether all quantities are polynomials in s."""
        joints = [joint for link in self.robot.links if (joint := link.joint).moves]
        drives = [joint.drive for joint in joints if joint.drive is not None]
        if not all(isinstance(x, ElasticDrive | RigidDrive) for x in drives):
            return False
        springs = [x for x in drives if isinstance(x, ElasticDrive)]
        if any(x.damping or not isinstance(x.spring, LinearSpring) for x in springs):
            return False
        motors = [motor for drive in drives for motor in drive.motors]
        laws = [*map(friction_law, joints), *map(friction_law, motors)]
        return not any(law.level or law.loaded or law.backward for law in laws)


def faster_motion(motion: Any, s: float, t: FloatArray, order: int = 2) -> FloatArray:
    """A motion that runs s times as fast."""
    return scaled(np.asarray(motion(np.asarray(t) * s, order=order), dtype=float), s)


def scaled(stack: FloatArray, s: float) -> FloatArray:
    """[q, s q', s² q'', ...]."""
    return stack * (s ** np.arange(len(stack)))[:, None, None]


def limited_motion(
    owner: str,
    robot: Robot,
    trajectory: Trajectory,
    stiffness: Motion | ArrayLike | None,
    wrench: Sequence[float] | None,
) -> LimitedMotion:
    """The motion with all limits of the robot; `owner` begins messages about wrong arguments."""
    require(owner, numeric(owner, a_robot(owner, robot)), lossless_gears)
    require_smoothness(a_trajectory(owner, trajectory), robot=robot)
    if any(robot.variable_stiffness) and stiffness is None:
        raise InputError(f"{owner}: {robot.name} has joints with variable stiffness; give their stiffness")
    used: Any = stiffness if any(robot.variable_stiffness) else None
    if isinstance(trajectory, Samples):
        require_clean(robot, trajectory, used)
    return LimitedMotion(robot, trajectory, limited_quantities(robot), used, on_the_tool(owner, robot, wrench))


def on_the_tool(owner: str, robot: Robot, wrench: Sequence[float] | None) -> dict[str, Any]:
    """Keyword argument of an algorithm for a constant wrench on the tool; empty without one."""
    if wrench is None:
        return {}
    given = finite(owner, "wrench", wrench)
    if given.shape != (6,):
        raise InputError(f"wrench has shape {given.shape}; it must be (6,): force in N and moment in Nm")
    return {"wrenches": {robot.tool: [given, np.zeros(6), np.zeros(6)]}}


def sample_grid(trajectory: Trajectory, samples: int) -> FloatArray:
    """An odd number of even times from start to end, (m,), s."""
    if not math.isfinite(trajectory.duration):
        raise InputError("the trajectory does not end; give its duration")
    return np.linspace(0.0, trajectory.duration, samples + 1 - samples % 2)
