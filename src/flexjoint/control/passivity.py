"""Passivity-based tracking as a controller  [DeLuca sec. II-B]; the law is one kernel, `passivity_torque`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.compile import compile
from ..checks import positive_numbers
from ..compiler.runtime.kernel import Kernel
from ..robot import Robot
from .base import Controller, checked_robot
from .laws.passivity import passivity_torque


class RigidState(NamedTuple):
    """What is measured: positions and velocities of the links."""

    q: Any
    v: Any


@dataclass(frozen=True, eq=False)
class PassivityControl(Controller):
    """τ = M a_r + C v_r + g + K_P e + K_D e', v_r = v_d + Λ e, for gains that are numbers or one value a joint.

    `controller(state, reference, measurement)` returns (state, torque); there is no state, and of what is measured only
    q and v are used, as in a `RigidState`.  Without `stiffness` K_P = Λ K_D: K_D s is added.  A robot with springs is
    controlled as if it had none: give the law `robot.rigid()`.
    """

    robot: Robot
    bandwidth: Any = field(compare=False)  # Λ
    damping: Any = field(compare=False)  # K_D
    stiffness: Any = field(default=None, compare=False)  # K_P
    variant: str = "christoffel"
    gains: np.ndarray = field(init=False, repr=False)  # [Λ, K_P, K_D]
    kernel: Kernel = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        n = checked_robot(self).n
        for name in ("bandwidth", "damping"):
            object.__setattr__(self, name, positive_numbers(self, name, n))
        if self.stiffness is None:
            object.__setattr__(self, "stiffness", self.bandwidth * self.damping)
        object.__setattr__(self, "stiffness", positive_numbers(self, "stiffness", n))
        object.__setattr__(self, "gains", np.stack([self.bandwidth, self.stiffness, self.damping]))
        object.__setattr__(self, "kernel", compile(passivity_torque, self.robot, variant=self.variant))

    @property
    def order(self) -> int:
        return 2

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: Any) -> tuple:
        q, v = measurement.q, measurement.v
        return state, passivity_torque.function(self.robot, q, v, *reference, *gains, variant=self.variant)

    def __call__(self, state: Any, reference: Sequence[Any], measurement: Any) -> tuple[Any, np.ndarray]:
        return state, self.kernel(measurement.q, measurement.v, *self.stack(reference), *self.gains)
