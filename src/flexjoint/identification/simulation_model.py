"""Accelerations of a robot as functions of its unknown parameters, with all derivatives, from kernels.

    links:   M(q, π) q'' + c(q, q', π) = τ_s            τ_s = K φ + D φ' + τ_0,   φ = θ − q
    motors:  B θ'' + F(θ') + τ_s + τ_1 = τ

A rigid joint has B and F beside M.  The derivatives of q'' follow from those of the inverse dynamics r = M q'' + c at
the q'' found, ∂q'' = −M⁻¹ ∂r; the regressor is ∂r/∂π.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..drives import ElasticDrive
from ..dynamics import base_regressor, inverse_dynamics, regressor
from ..dynamics.drivetrain.passive import joint_passive_torque
from ..robot import Robot
from ..spatial import ca, sx, zeros
from ..types import Expression, FloatArray, Scalar
from .parameters import Unknowns


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

    @cached_property
    def rigid(self) -> list[int]:
        """Joints without."""
        return [i for i in range(self.robot.n) if i not in self.elastic]

    @property
    def size(self) -> int:
        """Number of coordinates, N."""
        return self.robot.n + len(self.elastic)

    # Kernels --------------------------------------------------------------------------------------------------------

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

    @cached_property
    def _key(self) -> str:
        names = [(x.name, x.kind, x.joint) for x in self.unknowns.parameters]
        return f"{self.robot.digest} {self.unknowns.links} {names} {self.unknowns.springs} {self.sensors}"

    @cached_property
    def _links(self) -> Kernel:
        """(q, v, π) -> M, c."""
        n, count = self.robot.n, len(self.unknowns.bodies)

        def function(q: Expression, v: Expression, pi: Expression) -> list[tuple[Array, Expression]]:
            a = ca.SX.sym("a", n)
            r = self.link_torque(q, v, a, pi)
            M = ca.jacobian(r, a)
            c = ca.substitute(r, a, zeros(n))
            return [(Array("M", (n, n)), ca.densify(M)), (Array("c", (n,)), ca.densify(c))]

        inputs = [Array("q", (n,)), Array("v", (n,)), Array("pi", (count,))]
        return kernel_of(f"links of {self.robot.name}", inputs, function, f"identified links {self._key}", loops=False)

    @cached_property
    def _link_slopes(self) -> Kernel:
        """(q, v, a, π) -> derivatives of r by q, v and π."""
        n, count = self.robot.n, len(self.unknowns.bodies)

        def function(q: Expression, v: Expression, a: Expression, pi: Expression) -> list[tuple[Array, Expression]]:
            r = self.link_torque(q, v, a, pi)
            sizes = (("q", q, n), ("v", v, n), ("pi", pi, count))
            return [(Array(f"dr/d{name}", (n, k)), ca.densify(ca.jacobian(r, x))) for name, x, k in sizes]

        inputs = [*(Array(name, (n,)) for name in "qva"), Array("pi", (count,))]
        name = f"slopes of the links of {self.robot.name}"
        return kernel_of(name, inputs, function, f"identified link slopes {self._key}", loops=False)

    @cached_property
    def _drives(self) -> Kernel:
        """(φ, φ', motor velocities, p) -> spring torque, friction, sensed torque of each joint with their derivatives,
        and motor inertias with their place."""
        n, count = self.robot.n, len(self.unknowns.parameters)

        def function(
            phi: Expression, phi_v: Expression, w: Expression, p: Expression
        ) -> list[tuple[Array, Expression]]:
            laws = [self.drive_laws(i, phi[i], phi_v[i], w[i], p) for i in range(n)]
            spring, friction, sensed = (ca.vertcat(*(sx(x) for x in column)) for column in zip(*laws))
            found = []
            for name, law in (("spring", spring), ("friction", friction), ("sensed", sensed)):
                found.append((Array(name, (n,)), ca.densify(law)))
                for by, x, k in (("phi", phi, n), ("phi_v", phi_v, n), ("w", w, n), ("p", p, count)):
                    found.append((Array(f"d{name}/d{by}", (n, k)), ca.densify(ca.jacobian(law, x))))
            return found

        inputs = [*(Array(name, (n,)) for name in ("phi", "phi_v", "w")), Array("p", (count,))]
        name = f"drives of {self.robot.name}"
        return kernel_of(name, inputs, function, f"identified drives {self._key}", loops=False)

    def drive_laws(self, i: int, phi: Scalar, phi_v: Scalar, w: Scalar, p: Expression) -> tuple[Scalar, Scalar, Scalar]:
        """Torque of the spring, friction with the zero of the motor torque, and sensed torque of joint i, in SX."""
        at = self.unknowns.at

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
        sensed = spring + value("sensor_offset")
        return spring, friction, sensed if at(i, "sensor_scale") is None else sensed / value("sensor_scale")

    # Numbers --------------------------------------------------------------------------------------------------------

    def slopes(self, x: FloatArray, tau: FloatArray, p: FloatArray) -> Slopes:
        """Accelerations and their derivatives.

        Args:
            x: Positions and velocities, (rows, 2N).
            tau: Motor torques, (rows, n).
            p: Values of the parameters.
        """
        n, N, e, r = self.robot.n, self.size, self.elastic, self.rigid
        q, theta, v, w = x[:, :n], x[:, n:N], x[:, N : N + n], x[:, N + n :]
        drives = self._driven(q, theta, v, w, p)
        pi = p[self.unknowns.bodies]
        M, c = self._links(q, v, pi)
        inertia, places = self._inertias(p)
        M = M + np.diag(np.where(np.isin(np.arange(n), r), inertia, 0.0))
        pushed = np.where(np.isin(np.arange(n), e), drives.spring, tau - drives.friction)
        inverse = np.linalg.inv(M)
        a = (inverse @ (pushed - c)[..., None])[..., 0]
        motor = (tau - drives.friction - drives.spring)[:, e] / inertia[e]
        by_q, by_v, by_pi = self._link_slopes(q, v, np.ascontiguousarray(a), pi)

        rows, P = len(x), len(p)
        state, parameters = np.zeros((rows, N, 2 * N)), np.zeros((rows, N, P))
        torques = np.zeros((rows, N, 2 * n))
        link_state, link_p = np.zeros((rows, n, 2 * N)), np.zeros((rows, n, P))
        link_state[:, :, :n], link_state[:, :, N : N + n] = -by_q, -by_v
        link_p[:, :, self.unknowns.bodies] = -by_pi
        spring = np.zeros((rows, n, 2 * N))  # derivatives of the springs' torques by the state
        for k, i in enumerate(e):
            for column, sign in ((n + k, 1.0), (i, -1.0)):
                spring[:, i, column] = sign * drives.spring_phi[:, i]
                spring[:, i, N + column] = sign * drives.spring_phi_v[:, i]
        link_state[:, e] += spring[:, e]
        link_p[:, e] += drives.spring_p[:, e]
        for i in r:
            link_state[:, i, N + i] -= drives.friction_w[:, i]
            link_p[:, i] -= drives.friction_p[:, i]
            if places[i] is not None:
                link_p[:, i, places[i]] -= a[:, i]
        state[:, :n], parameters[:, :n] = inverse @ link_state, inverse @ link_p
        torques[:, :n, r], torques[:, :n, n:] = inverse[:, :, r], inverse
        for k, i in enumerate(e):
            state[:, n + k] = -spring[:, i] / inertia[i]
            state[:, n + k, N + n + k] -= drives.friction_w[:, i] / inertia[i]
            parameters[:, n + k] = -(drives.spring_p[:, i] + drives.friction_p[:, i]) / inertia[i]
            if places[i] is not None:
                parameters[:, n + k, places[i]] -= motor[:, k] / inertia[i]
            torques[:, n + k, i] = 1 / inertia[i]
        return Slopes(np.concatenate([a, motor], axis=1), state, parameters, torques)

    def outputs(self, x: FloatArray, p: FloatArray) -> Outputs:
        """What the instruments see of states (rows, 2N)."""
        n, N, e = self.robot.n, self.size, self.elastic
        H = np.broadcast_to(np.eye(N, 2 * N), (len(x), N, 2 * N))
        if not self.sensors:
            return Outputs(x[:, :N], H, np.zeros((len(x), N, len(p))))
        drives = self._driven(x[:, :n], x[:, n:N], x[:, N : N + n], x[:, N + n :], p)
        slopes = np.zeros((len(x), len(e), 2 * N))
        for k, i in enumerate(e):
            for column, sign in ((n + k, 1.0), (i, -1.0)):
                slopes[:, k, column] = sign * drives.sensed_phi[:, i]
                slopes[:, k, N + column] = sign * drives.sensed_phi_v[:, i]
        by_p = np.concatenate([np.zeros((len(x), N, len(p))), drives.sensed_p[:, e]], axis=1)
        y = np.concatenate([x[:, :N], drives.sensed[:, e]], axis=1)
        return Outputs(y, np.concatenate([H, slopes], axis=1), by_p)

    def _inertias(self, p: FloatArray) -> tuple[FloatArray, list[int | None]]:
        """Motor inertias of all joints, and their places among the parameters."""
        places = [self.unknowns.at(i, "inertia") for i in range(self.robot.n)]
        return np.array([0.0 if k is None else p[k] for k in places]), places

    def _driven(self, q: FloatArray, theta: FloatArray, v: FloatArray, w: FloatArray, p: FloatArray) -> Driven:
        """Laws of the drives; motors of rigid joints turn with their links."""
        e = self.elastic
        motor, motor_v = q.copy(), v.copy()
        motor[:, e], motor_v[:, e] = theta, w
        found = self._drives(motor - q, motor_v - v, motor_v, p)
        laws = [found[5 * k : 5 * k + 5] for k in range(3)]
        diagonal = [[law[0], *(np.diagonal(x, axis1=1, axis2=2) for x in law[1:4]), law[4]] for law in laws]
        (s, s_phi, s_phi_v, _, s_p), (f, _, _, f_w, f_p), (m, m_phi, m_phi_v, _, m_p) = diagonal
        return Driven(s, s_phi, s_phi_v, s_p, f, f_w, f_p, m, m_phi, m_phi_v, m_p)


class Driven(NamedTuple):
    """Torques of springs, of friction with the zero of the motor torque, and of sensors, and their derivatives.

    All (rows, n), and by the parameters (rows, n, P).
    """

    spring: FloatArray
    spring_phi: FloatArray
    spring_phi_v: FloatArray
    spring_p: FloatArray
    friction: FloatArray
    friction_w: FloatArray
    friction_p: FloatArray
    sensed: FloatArray
    sensed_phi: FloatArray
    sensed_phi_v: FloatArray
    sensed_p: FloatArray


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
