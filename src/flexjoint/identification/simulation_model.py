"""Accelerations of a robot as functions of its unknown parameters, with all derivatives, from kernels.

    links:   M(q, π) q'' + c(q, q', π) = τ_s            τ_s = K φ + D φ' + τ_0,   φ = θ − q
    motors:  B θ'' + F(θ') + τ_s + τ_1 = τ

A rigid joint has B and F beside M.  Both together are r(x, x'', τ, p) = 0, linear in x'' with the mass matrix W⁻¹ of
links and motors; derivatives follow from those of r at the x'' found, ∂x'' = −W ∂r.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..drives import ElasticDrive
from ..dynamics import base_regressor, inverse_dynamics, regressor
from ..dynamics.drivetrain.passive import joint_passive_torque
from ..robot import Robot
from ..spatial import ca, is_zero, zeros
from ..types import Expression, FloatArray, Scalar
from .parameters import Unknowns

SPRING = ("stiffness", "cubic", "damping", "spring")  # kinds of parameters that act on links, too


class Slopes(NamedTuple):
    """Accelerations of all coordinates, and their derivatives; a row per simulation.

    Args:
        a: Accelerations, (rows, N).
        by_state: By positions and velocities, (rows, N, 2N).
        by_parameters: By the parameters, (rows, N, P).
        by_torques: By the motor torques and by further torques on the links, (rows, N, 2n).
    """

    a: FloatArray
    by_state: FloatArray
    by_parameters: FloatArray
    by_torques: FloatArray


class Outputs(NamedTuple):
    """What the instruments see, and its derivatives.

    Args:
        y: q, θ behind springs, and joint torques if there are sensors, (rows, outputs).
        by_state: (rows, outputs, 2N).
        by_parameters: (rows, outputs, P).
    """

    y: FloatArray
    by_state: FloatArray
    by_parameters: FloatArray


@dataclass(frozen=True, eq=False)
class SimulationModel:
    """The equations of motion of a robot with unknown parameters.

    The coordinates are all links, then the motors behind springs.

    Args:
        robot: The robot, with its prior values.
        unknowns: Its parameters.
        sensors: Whether joint torques are among the outputs.
    """

    robot: Robot
    unknowns: Unknowns
    sensors: bool = False

    @cached_property
    def elastic(self) -> list[int]:
        """Joints with springs."""
        return [i for i, joint in enumerate(self.robot.joints) if isinstance(joint.drive, ElasticDrive)]

    @property
    def size(self) -> int:
        """Number of coordinates, N."""
        return self.robot.n + len(self.elastic)

    # Equations ------------------------------------------------------------------------------------------------------

    def residual(self, x: Expression, a: Expression, tau: Expression, push: Expression, p: Expression) -> Expression:
        """The equations of motion (N,) in SX, zero if they hold.

        Args:
            x: Positions and velocities, (2N,).
            a: Accelerations, (N,).
            tau: Motor torques, (n,).
            push: Further torques on the links, (n,).
            p: The parameters.
        """
        n, N = self.robot.n, self.size
        pi = ca.vertcat(zeros(0), *(p[k] for k in self.unknowns.bodies))
        links = self.link_torque(x[:n], x[N : N + n], a[:n], pi) - push
        motors = []
        for i in range(n):
            spring, friction, _ = self.drive_laws(i, x, p)
            k = self.unknowns.at(i, "inertia")
            place = self.coordinate(i)
            motor = (0.0 if k is None else p[k] * a[place]) + friction - tau[i]
            if i in self.elastic:
                links[i] -= spring
                motors.append(motor + spring)
            else:
                links[i] += motor
        return ca.vertcat(links, *motors)

    def coordinate(self, i: int) -> int:
        """Place of the motor of joint i among the coordinates: that of the link if the joint is rigid."""
        return self.robot.n + self.elastic.index(i) if i in self.elastic else i

    def link_torque(self, q: Expression, v: Expression, a: Expression, pi: Expression) -> Expression:
        """r(q, q', q'', π) in SX: what the links and the joints themselves require."""
        bare = self.robot.without_drives()
        if self.unknowns.links == "base":
            passive = joint_passive_torque(bare, [q, v], 0)[0]
            return base_regressor(self.robot, q, v, v, a) @ pi + passive
        whole = inverse_dynamics(bare, q, v, a)
        if self.unknowns.links == "known":
            return whole
        place = 10 * self.robot.link_index(None)
        return whole + regressor(self.robot, q, v, v, a)[:, place : place + 10] @ pi

    def drive_laws(self, i: int, x: Expression, p: Expression) -> tuple[Scalar, Scalar, Scalar]:
        """Torque of the spring, friction with the zero of the motor torque, and sensed torque of joint i, in SX."""
        at, N, place = self.unknowns.at, self.size, self.coordinate(i)
        phi, phi_v, w = x[place] - x[i], x[N + place] - x[N + i], x[N + place]

        def value(kind: str) -> Scalar:
            k = at(i, kind)
            return 0.0 if k is None else p[k]

        spring: Scalar = 0.0
        if i in self.elastic:
            law = self.unknowns.springs[i]
            shapes = law.shapes(phi - value("spring_zero"), ca.fmax)
            spring = value("spring_offset") + value("damping") * phi_v
            spring += sum(value(kind) * x for kind, x in zip(law.kinds, shapes))
        friction = value("torque_offset") + friction_torque(
            w, value, at(i, "coulomb") is not None, at(i, "coulomb_backward") is not None
        )
        sensed = spring + value("sensor_offset") + (value("sensor_damping") - value("damping")) * phi_v
        return spring, friction, sensed if at(i, "sensor_scale") is None else sensed / value("sensor_scale")

    # Kernels --------------------------------------------------------------------------------------------------------

    @cached_property
    def key(self) -> str:
        """What distinguishes the kernels of a model."""
        names = [(x.name, x.kind, x.joint) for x in self.unknowns.parameters]
        return f"{self.robot.digest} {self.unknowns.links} {names} {self.unknowns.springs} {self.sensors}"

    def _kernel(self, name: str, inputs: dict[str, tuple[int, ...]], function: Callable[..., Any]) -> Kernel:
        """The kernel of a function of SX that returns matrices by name."""
        key = f"{name} {self.key}"

        def outputs(*given: Expression) -> list[tuple[Array, Expression]]:
            found = function(*given)
            return [(Array(x, y.shape if y.shape[1] > 1 else y.shape[:1]), ca.densify(y)) for x, y in found.items()]

        arrays = [Array(x, shape) for x, shape in inputs.items()]
        return kernel_of(f"{name} of {self.robot.name}", arrays, outputs, key, loops=False)

    @cached_property
    def _sizes(self) -> dict[str, tuple[int, ...]]:
        return {"x": (2 * self.size,), "tau": (self.robot.n,), "p": (len(self.unknowns.parameters),)}

    @cached_property
    def _motion(self) -> Kernel:
        """(x, τ, p) -> accelerations, inverse mass matrix of links and motors."""

        def function(x: Expression, tau: Expression, p: Expression) -> dict[str, Expression]:
            a = ca.SX.sym("a", self.size)
            r = self.residual(x, a, tau, zeros(self.robot.n), p)
            inverse = inverted(ca.jacobian(r, a))
            return {"a": -inverse @ ca.substitute(r, a, zeros(self.size)), "inverse": ca.densify(inverse)}

        return self._kernel("simulated motion", self._sizes, function)

    @cached_property
    def _mass(self) -> Kernel:
        """(x, p) -> mass matrix of links and motors."""

        def function(x: Expression, p: Expression) -> dict[str, Expression]:
            a, none = ca.SX.sym("a", self.size), zeros(self.robot.n)
            return {"mass": ca.jacobian(self.residual(x, a, none, none, p), a)}

        return self._kernel("mass matrix of the simulation", {key: self._sizes[key] for key in ("x", "p")}, function)

    @cached_property
    def _entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows and columns of the derivatives by (x, p, τ, push) that are not zero."""
        N, n, parameters = self.size, self.robot.n, self.unknowns.parameters
        push = 2 * N + len(parameters) + n
        own: dict[int, list[int]] = {i: [] for i in range(n)}  # columns of each joint's drive
        shared = [*range(2 * N), *range(push, push + n)]  # columns of all links
        for k, x in enumerate(parameters):
            if x.kind in ("base", "payload"):
                shared.append(2 * N + k)
            elif x.joint >= 0:
                own[x.joint].append(2 * N + k)
                if x.joint not in self.elastic or x.kind.startswith(SPRING):
                    shared.append(2 * N + k)
        shared += [push - n + i for i in range(n) if i not in self.elastic]
        pairs = [(row, column) for row in range(n) for column in shared]
        for i in self.elastic:
            motor = self.coordinate(i)
            columns = [i, motor, N + i, N + motor, *own[i], push - n + i]
            pairs += [(motor, column) for column in columns]
        rows, columns = np.array(pairs, dtype=np.int64).T
        return rows, columns

    @cached_property
    def _slopes(self) -> Kernel:
        """(x, τ, p, accelerations, inverse mass matrix) -> derivatives of the accelerations that are not zero."""
        N, n = self.size, self.robot.n

        def function(
            x: Expression, tau: Expression, p: Expression, a: Expression, inverse: Expression
        ) -> dict[str, Expression]:
            push = ca.SX.sym("push", n)
            r = self.residual(x, a, tau, push, p)
            W = ca.diagcat(inverse[:n, :n], ca.diag(ca.diag(inverse)[n:]))
            slopes = -W @ ca.jacobian(r, ca.vertcat(x, p, tau, push))
            return {"slopes": ca.vertcat(*(slopes[i, j] for i, j in zip(*(x.tolist() for x in self._entries))))}

        return self._kernel("slopes of the simulated motion", {**self._sizes, "a": (N,), "inverse": (N, N)}, function)

    @cached_property
    def _sensed(self) -> Kernel:
        """(x, p) -> what the torque sensors see, and its derivatives."""

        def function(x: Expression, p: Expression) -> dict[str, Expression]:
            y = ca.vertcat(*(self.drive_laws(i, x, p)[2] for i in self.elastic))
            return {"y": y, "by state": ca.jacobian(y, x), "by parameters": ca.jacobian(y, p)}

        return self._kernel("sensed torques", {key: self._sizes[key] for key in ("x", "p")}, function)

    # Numbers --------------------------------------------------------------------------------------------------------

    def slopes(self, x: FloatArray, tau: FloatArray, p: FloatArray) -> Slopes:
        """Accelerations and their derivatives.

        Args:
            x: Positions and velocities, (rows, 2N).
            tau: Motor torques, (rows, n).
            p: Values of the parameters.
        """
        a, inverse = self._motion(x, tau, p)
        N, n = self.size, self.robot.n
        whole = np.zeros((len(x), N, 2 * N + len(p) + 2 * n))
        (whole[:, self._entries[0], self._entries[1]],) = self._slopes(x, tau, p, a, inverse)
        return Slopes(a, whole[:, :, : 2 * N], whole[:, :, 2 * N : -2 * n], whole[:, :, -2 * n :])

    def accelerations(self, x: FloatArray, tau: FloatArray, p: FloatArray) -> FloatArray:
        """Those of all coordinates, (rows, N), without derivatives."""
        return np.asarray(self._motion(x, tau, p)[0])

    def mass_matrices(self, x: FloatArray, p: FloatArray) -> FloatArray:
        """Those of links and motors, (rows, N, N); they depend on the positions in x (rows, 2N) only."""
        return np.asarray(self._mass(x, p)[0])

    def readings(self, x: FloatArray, p: FloatArray) -> FloatArray:
        """What the instruments see of states (rows, 2N), (rows, outputs)."""
        positions = x[:, : self.size]
        return np.concatenate([positions, self._sensed(x, p)[0]], axis=1) if self.sensors else positions

    def outputs(self, x: FloatArray, p: FloatArray) -> Outputs:
        """What the instruments see of states (rows, 2N)."""
        N = self.size
        positions = x[:, :N], np.broadcast_to(np.eye(N, 2 * N), (len(x), N, 2 * N)), np.zeros((len(x), N, len(p)))
        if not self.sensors:
            return Outputs(*positions)
        return Outputs(*(np.concatenate(pair, axis=1) for pair in zip(positions, self._sensed(x, p))))

    def seen(self, x: FloatArray, Z: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the instruments see of states (rows, 2N), and its derivatives by the parameters.

        Args:
            x: Positions and velocities, (rows, 2N).
            Z: Their derivatives by the parameters, (rows, 2N, P).
            p: Values of the parameters.
        """
        N = self.size
        if not self.sensors:
            return x[:, :N], Z[:, :N]
        y, by_state, by_parameters = self._sensed(x, p)
        whole = np.concatenate([Z[:, :N], by_state @ Z + by_parameters], axis=1)
        return np.concatenate([x[:, :N], y], axis=1), whole


def inverted(M: Expression) -> Expression:
    """Inverse of a symmetric positive definite matrix in SX, by elimination without pivots; zeros stay zeros."""
    size = M.shape[0]
    rows = [[M[i, j] for j in range(size)] + [ca.SX(float(i == j)) for j in range(size)] for i in range(size)]
    for k in range(size):
        rows[k] = [x / rows[k][k] if not is_zero(x) else x for x in rows[k]]
        for i in range(size):
            factor = rows[i][k]
            if i != k and not is_zero(factor):
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k])]
    return ca.vertcat(*(ca.horzcat(*row[size:]) for row in rows))


def friction_torque(w: Scalar, value: Callable[[str], Scalar], dry: bool, backward: bool) -> Scalar:
    """F(w) in SX (docs/friction.md), from values by kind.

    Args:
        w: Velocity of the motor.
        value: Of a parameter, 0 if it is not estimated.
        dry: Whether there is dry friction.
        backward: Whether the law for w < 0 is another one.
    """
    if not dry:
        return value("viscous") * w
    t = ca.tanh(w / ca.exp(value("log_velocity")))
    fall = ca.exp(-((w / ca.exp(value("log_stribeck"))) ** 2))

    def side(suffix: str) -> Scalar:
        level = value(f"coulomb{suffix}") + value(f"rise{suffix}") * fall
        return value(f"viscous{suffix}") * w + level * t

    if not backward:
        return side("")
    return (1 + t) / 2 * side("") + (1 - t) / 2 * side("_backward")
