"""The robot that is simulated: links, springs and motors under motor torques and contact  [EJNEA (4)].

Rigid, elastic and damped joints in any mix (Spong's model).  Integrators see its free coordinates alone, the links and
the motors behind springs; the motor of a rigid joint turns with its link.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms.elastic_forward import elastic_forward_dynamics
from ..control.base import JointState
from ..robot import Robot
from ..spatial import ca

Contact = Callable[[Any, JointState], Mapping[str, Any]]  # (t, state) -> wrenches (6,) on links, in SX


@dataclass(frozen=True)
class Plant:
    """A robot, and the wrenches of its surroundings by the names of links, as functions of time and state."""

    robot: Robot
    contact: Contact | None = None

    def acceleration(self, t: Any, state: JointState, tau: Any) -> Any:
        """Second derivatives of the free coordinates."""
        wrenches = {link: [w] for link, w in self.contact(t, state).items()} if self.contact else None
        q, v, theta, theta_v = state
        a, theta_a = elastic_forward_dynamics.function(self.robot, q, theta, v, theta_v, tau, wrenches=wrenches)
        return self.free(a, theta_a)

    def free(self, link: Any, motor: Any) -> Any:
        """The free coordinates: all links, then the motors behind springs."""
        return ca.vertcat(link, *(motor[i] for i in np.flatnonzero(self.robot.elastic).tolist()))

    def coordinates(self, state: JointState) -> tuple[Any, Any]:
        """Free coordinates and their velocities."""
        return self.free(state.q, state.theta), self.free(state.v, state.theta_v)

    def state(self, x: Any, w: Any) -> JointState:
        """The state from the free coordinates and their velocities."""
        n, behind = self.robot.n, iter(range(self.robot.n, x.numel()))
        motor = [next(behind) if elastic else i for i, elastic in enumerate(self.robot.elastic)]
        return JointState(x[:n], w[:n], x[motor], w[motor])
