"""A log of a robot: what was measured and commanded, sample by sample, in SI units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..errors import InputError
from ..html import table
from ..robot import Robot
from ..types import FloatArray
from .quantities import COMMANDS, QUANTITIES


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """A log of m samples of a robot, in SI units; None for a quantity that was not logged, NaN for a lost sample.

    Args:
        robot: The robot.
        t: Times, (m,), s.
        q, v: Link positions and velocities, (m, n), rad and rad/s, or m and m/s.
        theta, theta_v: Motor positions and velocities after the reduction, (m, number of motors).
        tau_e: Torque on the links, from joint torque sensors, (m, n), Nm or N.
        tau: Motor torques after the reduction, (m, number of motors), Nm or N.
        differenced: Names of velocities that were computed from positions.
        ignored: Headers of columns that were not read.
        sensors: Whether `tau_e` was logged, per joint; if not, the motor torque stands for it.  None without `tau_e`.
        reference, reference_v: Desired positions and velocities of the links, (m, n).
        tau_d: Commanded torques, (m, number of motors), Nm or N, as the robot's controller defines them.
        current: Motor currents, (m, number of motors), A.
        headers: Headers of the columns in the file, by quantity.
        interpolated: Names of quantities that had stamps of their own in the file and were interpolated to `t`.
    """

    robot: Robot
    t: FloatArray
    q: FloatArray | None = None
    v: FloatArray | None = None
    theta: FloatArray | None = None
    theta_v: FloatArray | None = None
    tau_e: FloatArray | None = None
    tau: FloatArray | None = None
    differenced: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    sensors: tuple[bool, ...] | None = None
    reference: FloatArray | None = None
    reference_v: FloatArray | None = None
    tau_d: FloatArray | None = None
    current: FloatArray | None = None
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    interpolated: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Log of {self.robot.name}: {self._size()}; {', '.join(self.known)}>"

    def _repr_html_(self) -> str:
        rows = [(name, self._source(name), self._lost(name)) for name in self.known]
        return table(rows, ("quantity", "source", "lost samples"), caption=f"{self.robot.name}, log: {self._size()}")

    def _size(self) -> str:
        """Number of samples, and the interval of the finite times."""
        times = self.t[np.isfinite(self.t)]
        span = f" from {times[0]:.4g} to {times[-1]:.4g} s" if times.size else ""
        return f"{self.t.size} samples{span}"

    def _source(self, name: str) -> str:
        return "differences of positions" if name in self.differenced else "log"

    def _lost(self, name: str) -> int:
        """Number of samples with a number that is not finite."""
        return int(np.count_nonzero(~np.all(np.isfinite(getattr(self, name)), axis=1)))

    @property
    def known(self) -> tuple[str, ...]:
        """Names of the measured quantities that the log has: of q, v, tau_e, theta, theta_v, tau."""
        return tuple(name for name in QUANTITIES if getattr(self, name) is not None)

    @property
    def commands(self) -> tuple[str, ...]:
        """Names of the commands that the log has: of reference, reference_v, tau_d."""
        return tuple(name for name in COMMANDS if getattr(self, name) is not None)

    @property
    def period(self) -> float:
        """Median time between two samples, s."""
        steps = np.diff(self.t[np.isfinite(self.t)])
        steps = steps[steps > 0]
        if not steps.size:
            raise InputError("no sample of the log is later than the one before it; sort the samples by time")
        return float(np.median(steps))
