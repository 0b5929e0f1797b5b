"""Passivity-based tracking of rigid robots  [DeLuca sec. II-B].

    τ = M a_r + C v_r + g + K_P e + K_D e',   v_r = v_d + Λ e,   e = q_d − q

The law is one kernel, `passivity_torque`.  It measures link positions and velocities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import compile
from ..checks import positive_numbers
from ..compiler.runtime.kernel import Kernel
from ..robot import Robot
from ..types import FloatArray, Signal, Stack
from .base import RIGID_MODEL, Controller, Gain, JointState, LawResult, Registration, checked_robot
from .laws.passivity import passivity_torque

BANDWIDTH = Gain("LAMBDA", "1/s", "bandwidth of the position error")
DAMPING = Gain("K_D", "Nm s/rad | N s/m", "feedback of the velocity error")


class RigidState(NamedTuple):
    """Measured state of a rigid robot.

    Args:
        q: Link positions (..., n), rad or m.
        v: Link velocities (..., n), rad/s or m/s.
    """

    q: Signal
    v: Signal


@dataclass(frozen=True, eq=False, repr=False)
class PassivityControl(Controller):
    """Passivity-based control of a rigid robot, to track a trajectory.

    The measurement may be a `RigidState` or a `JointState`: the law reads q and v.

    Args:
        robot: The model, rigid; `robot.rigid()` neglects the springs of an elastic robot.
        bandwidth: Λ, 1/s, a positive number or one per joint (n,).
        damping: K_D, Nm s/rad or N s/m, a positive number or one per joint (n,).
        stiffness: K_P, Nm/rad or N/m, a positive number or one per joint (n,).  By default Λ K_D.
        variant: Factorization of the Coriolis matrix as in `modified_newton_euler`; "christoffel" by default.

    Raises:
        InputError: A joint is elastic, or a number is not positive.

    Example:
        >>> import flexjoint as fj
        >>> fj.control.PassivityControl(fj.load("hua_3r").rigid(), bandwidth=20.0, damping=40.0)
        PassivityControl('hua_3r', LAMBDA=20, K_P=800, K_D=40)
    """

    robot: Robot
    bandwidth: ArrayLike = field(compare=False)
    damping: ArrayLike = field(compare=False)
    stiffness: ArrayLike | None = field(default=None, compare=False)
    variant: str = "christoffel"
    gains: FloatArray = field(init=False)  # [Λ, K_P, K_D]
    kernel: Kernel = field(init=False, compare=False)
    contains_friction: ClassVar[bool] = True
    registration: ClassVar[Registration] = Registration(
        "passivity_control",
        "passivity-based tracking",
        RIGID_MODEL,
        (BANDWIDTH, DAMPING, Gain("K_P", "Nm/rad | N/m", "feedback of the position error; LAMBDA K_D if left out")),
        optional=1,
    )

    def __post_init__(self) -> None:
        n = checked_robot(self).n
        bandwidth, damping = (
            positive_numbers("PassivityControl", x, getattr(self, x), n) for x in ("bandwidth", "damping")
        )
        given = bandwidth * damping if self.stiffness is None else self.stiffness
        stiffness = positive_numbers("PassivityControl", "stiffness", given, n)
        own = {"bandwidth": bandwidth, "damping": damping, "stiffness": stiffness}
        own["gains"] = np.stack([bandwidth, stiffness, damping])
        own["kernel"] = compile(passivity_torque, self.robot, variant=self.variant)
        for name, value in own.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_numbers(cls, robot: Robot, numbers: Sequence[float], period: float) -> Self:
        bandwidth, damping, *stiffness = numbers
        return cls(robot.rigid(), bandwidth, damping, stiffness[0] if stiffness else None)

    @property
    def gain_names(self) -> list[str]:
        return ["LAMBDA", "K_P", "K_D"]

    @property
    def order(self) -> int:
        return 2

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState | RigidState) -> LawResult:
        q, v = measurement.q, measurement.v
        return state, passivity_torque.function(self.robot, q, v, *reference, *gains, variant=self.variant)

    def __call__(
        self, state: Sequence[Any], reference: Sequence[Any], measurement: JointState | RigidState
    ) -> tuple[Any, FloatArray]:
        return state, self.kernel(measurement.q, measurement.v, *self.stack(reference), *self.gains)
