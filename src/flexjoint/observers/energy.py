"""The energy residual: the power of external forces, one number for the whole robot  [Haddadin sec. IV].

The energy E = T + U of links and parallel springs changes by the work of motors and the springs behind them, less the
friction losses.  The rest is the power u = vᵀτ_ext of external forces.  It does not show a force on a robot at rest,
or one that does no work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..checks import positive
from ..dynamics.drivetrain.coupling import on_links
from ..dynamics.drivetrain.friction import link_friction
from ..dynamics.drivetrain.load_friction import remaining_torque
from ..dynamics.drivetrain.passive import parallel_energy
from ..dynamics.energy import gravity_energy, kinetic_energy
from ..dynamics.requirements import require, spong_rotors
from ..robot import Robot
from ..spatial import ca
from ..types import Expression
from .base import Measurement
from .momentum import MAX_GAP
from .residual import Balance, Residual, check_residual


@dataclass(frozen=True, eq=False, repr=False)
class EnergyResidual(Residual):
    """The power of external forces, filtered: r' = K (vᵀτ_ext − r).

    It reads q and v, and tau_e if a joint is elastic.  Outputs: `power` (1,), W; `status`, see `Status`; `blind`, the
    time in s since the last new residual.

    Args:
        robot: The model.
        cutoff: K, rad/s.
        period: Time between two calls, s; 1e-3 by default.
        max_gap: Longest time between two samples that is bridged, s; 0.05 by default.

    Raises:
        InputError: A number is not positive, or rotors couple to other links.

    Example:
        >>> import flexjoint as fj
        >>> fj.observers.EnergyResidual(fj.load("hua_3r"), cutoff=30.0).reads
        ('q', 'v', 'tau_e')
    """

    robot: Robot
    cutoff: float
    period: float = 1e-3
    max_gap: float = MAX_GAP
    causes: ClassVar[Mapping[str, str]] = {"power": "collision, load or actuator"}

    def __post_init__(self) -> None:
        check_residual(self)
        positive("EnergyResidual", "cutoff", self.cutoff)
        require("EnergyResidual", self.robot, spong_rotors("exchanges energy with the links"))

    @property
    def reads(self) -> tuple[str, ...]:
        return ("q", "v", *["tau_e"] * any(self.robot.compliant))

    @property
    def channels(self) -> dict[str, int]:
        return {"power": 1}

    @property
    def position_count(self) -> int:
        return self.robot.n

    def balance(self, measurement: Measurement) -> Balance:
        robot, (q, v, *_) = self.robot, measurement
        energy = kinetic_energy.function(robot, q, v) + gravity_energy.function(robot, q) + parallel_energy(robot, q)
        springs = [measurement.tau_e[i] if elastic else 0.0 for i, elastic in enumerate(robot.compliant)]
        left = remaining_torque(robot, [v], [on_links(robot, ca.vertcat(*springs))])[0]
        return Balance(energy, ca.dot(v, left - link_friction(robot, [v], 0)[0]), q)

    def motor_input(self, torque: Expression) -> Expression:
        rigid = [0.0 if elastic else torque[i] for i, elastic in enumerate(self.robot.compliant)]
        return on_links(self.robot, ca.vertcat(*rigid))

    def unknown_input(self, h: Expression, before: Balance, now: Balance, impulse: Expression) -> Expression:
        work = ca.dot(self.motor_input(impulse) / h, now.position - before.position)
        return (now.p - before.p - work) / h - (before.rate + now.rate) / 2
