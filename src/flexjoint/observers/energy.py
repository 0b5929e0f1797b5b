"""The residual of energy: one number for the whole robot  [Haddadin sec. IV].

The energy E = T + U of the links changes by what motors and springs do, less what friction takes; what is missing is
the power u = vᵀτ_ext of forces from outside.  A robot at rest feels nothing by it, nor a force that does no work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import positive
from ..dynamics.drivetrain.friction import link_friction
from ..dynamics.energy import gravity_energy, kinetic_energy
from ..dynamics.requirements import require, spong_rotors
from ..robot import Robot
from ..spatial import ca
from .base import Measurement
from .momentum import LONGEST
from .residual import Balance, Residual, checked_residual


@dataclass(frozen=True, eq=False, repr=False)
class EnergyResidual(Residual):
    """r' = K (vᵀτ_ext − r), with K the `cutoff` in rad/s.

    Joints with springs need joint torque sensors.  Outputs: `power` (1,) in W, `status`, `blind`.
    """

    robot: Robot
    cutoff: float
    period: float = 1e-3
    longest: float = LONGEST

    def __post_init__(self) -> None:
        checked_residual(self)
        positive("EnergyResidual", "cutoff", self.cutoff)
        require("EnergyResidual", self.robot, spong_rotors("exchanges energy with the links"))

    @property
    def reads(self) -> tuple[str, ...]:
        return ("q", "v", *["tau_e"] * any(self.robot.compliant))

    @property
    def channels(self) -> dict[str, int]:
        return {"power": 1}

    @property
    def gain(self) -> np.ndarray:
        return np.array([self.cutoff])

    @property
    def places(self) -> int:
        return self.robot.n

    def balance(self, measurement: Measurement) -> Balance:
        robot, (q, v, *_) = self.robot, measurement
        energy = kinetic_energy.function(robot, q, v) + gravity_energy.function(robot, q)
        pulling = [measurement.tau_e[i] if elastic else 0.0 for i, elastic in enumerate(robot.compliant)]
        return Balance(energy, ca.dot(v, ca.vertcat(*pulling) - link_friction(robot, [v], 0)[0]), q)

    def driving(self, torque: Any) -> Any:
        return ca.vertcat(*[0.0 if elastic else torque[i] for i, elastic in enumerate(self.robot.compliant)])

    def force(self, h: Any, before: Balance, now: Balance, impulse: Any) -> Any:
        work = ca.dot(self.driving(impulse) / h, now.place - before.place)
        return (now.p - before.p - work) / h - (before.rate + now.rate) / 2
