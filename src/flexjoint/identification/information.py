"""What a motion tells about the parameters: the regressor of links, friction and motors along it.

Columns are the base parameters of the links and, per joint, viscous friction, Coulomb friction and the inertia of the
motor, without those that depend on the others (the motor inertia of the first joint and the inertia of its link are one
parameter).  Rows are divided by the torque of their joint, so that every joint counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..dynamics import base_parameters, base_regressor, inverse_dynamics
from ..robot import Robot
from ..types import FloatArray

COULOMB_VELOCITY = 0.05  # rad/s or m/s, over which Coulomb friction changes its sign
DEPENDENT = 1e-7  # of its size: a column that differs less from a combination of others is one
SAMPLES = 300  # of random motions that decide about dependence and sizes
STEP = 1e-6  # of finite differences, relative to the sizes of positions, velocities and accelerations


@dataclass(frozen=True)
class Information:
    """The regressor of a robot's joint torques as a function of its motion.

    Args:
        robot: The robot.
        sizes: Usual sizes of positions, velocities and accelerations, (3, n), rad or m, per s and s².
    """

    robot: Robot
    sizes: FloatArray

    @cached_property
    def links(self) -> Robot:
        """The robot as its links alone."""
        return self.robot.without_drives().without_friction().with_fidelity("spong")

    @cached_property
    def random_motion(self) -> FloatArray:
        """Random positions, velocities and accelerations, (3, samples, n)."""
        return np.random.default_rng(0).normal(size=(3, SAMPLES, self.robot.n)) * self.sizes[:, None]

    @cached_property
    def torques(self) -> FloatArray:
        """Usual torque per joint, (n,), Nm or N: that of random motions, with the motors' inertia."""
        q, v, a = self.random_motion
        found = np.sqrt(np.mean(np.square(inverse_dynamics(self.links, q, v, a)), axis=0))
        return np.maximum(found, 1e-3 * max(float(np.max(found)), 1e-9))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        joints = [joint.name for joint in self.robot.joints]
        own = [f"{joint}.{what}" for what in ("viscous", "coulomb", "motor_inertia") for joint in joints]
        every = [*base_parameters(self.links).names, *own]
        return tuple(every[k] for k in self.kept)

    def all_columns(self, q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """All columns at samples, (m, n, columns), each row divided by the torque of its joint."""
        links = np.asarray(base_regressor(self.links, q, v, v, a))
        n = self.robot.n
        own = np.zeros((*q.shape, 3 * n))
        for k, x in enumerate((v, np.tanh(v / COULOMB_VELOCITY), a)):
            own[..., range(n), range(k * n, (k + 1) * n)] = x
        return np.concatenate([links, own], axis=-1) / self.torques[:, None]

    @cached_property
    def kept(self) -> list[int]:
        """Columns that do not depend on the ones before them."""
        matrix = self.all_columns(*self.random_motion).reshape(SAMPLES * self.robot.n, -1)
        basis: list[FloatArray] = []
        found = []
        for k, column in enumerate(matrix.T):
            size = float(np.sqrt(np.sum(column * column)))
            rest = column / size if size > 0 else column
            for _ in range(2):
                for b in basis:
                    rest = rest - b * np.sum(b * rest)
            left = float(np.sqrt(np.sum(rest * rest)))
            if left > DEPENDENT:
                basis.append(rest / left)
                found.append(k)
        return found

    @cached_property
    def scales(self) -> FloatArray:
        """Usual size of the independent columns, (columns,): that of random motions."""
        return np.sqrt(np.mean(np.square(self.all_columns(*self.random_motion)[..., self.kept]), axis=(0, 1)))

    def regressor(self, q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """Independent columns at samples, (m, n, columns), each divided by its usual size."""
        return self.all_columns(q, v, a)[..., self.kept] / self.scales

    def condition(self, q: FloatArray, v: FloatArray, a: FloatArray) -> float:
        """Condition number of the regressor of a motion, with columns of length 1."""
        matrix = self.regressor(q, v, a).reshape(q.shape[0] * q.shape[1], -1)
        sizes = np.sqrt(np.sum(matrix * matrix, axis=0))
        if not np.all(sizes > 0):
            return np.inf
        values = np.linalg.svd(matrix / sizes, compute_uv=False)
        return float(values[0] / values[-1]) if values[-1] > 0 else np.inf

    def log_det(self, motion: FloatArray) -> tuple[float, FloatArray]:
        """−log det(WᵀW)/columns of the regressor W of a motion (3, m, n), and its gradient, (3, m, n).

        The smaller it is, the smaller the volume of the parameters' confidence region.  Derivatives of the regressor
        are differences, one joint at a time.
        """
        q, v, a = motion
        m, n = q.shape
        w = self.regressor(q, v, a)
        flat = w.reshape(m * n, -1)
        count = flat.shape[1]
        gram = flat.T @ flat
        gram[range(count), range(count)] += 1e-12 * np.trace(gram)
        value = -np.linalg.slogdet(gram)[1] / count
        leverage = (flat @ np.linalg.inv(gram)).reshape(w.shape)
        steps = STEP * self.sizes  # (3, n)
        moved = np.repeat(motion[:, None], 3 * n, axis=1)  # (3, changes, m, n)
        for k in range(3):
            for j in range(n):
                moved[k, k * n + j, :, j] += steps[k, j]
        change = self.regressor(*moved.reshape(3, -1, n)).reshape(3 * n, m, n, count) - w
        slope = np.einsum("cmik,mik->cm", change, leverage) / steps.reshape(-1)[:, None]
        return value, -2 / count * slope.reshape(3, n, m).transpose(0, 2, 1)
