"""The closed loop of `fj.simulate` written in Python over Pinocchio: the peer of the simulation benchmarks.

Plant: `pin.aba` in the stages of Runge-Kutta, springs and motors in NumPy.  Feedback linearization: accelerations from
`aba`, the jerk from `crba` and a directional difference of `rnea`, the second derivative of the torque from a second
difference; motor PD: gravity from `computeGeneralizedGravity`.  Arrays are made before the loop.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

import flexjoint as fj

from .peers import pinocchio

FIRST, SECOND = 1e-6, 1e-4  # s; of the differences


class Loop:
    """Robot and law; `roll` follows references (m, order + 1, n) and returns q after each period."""

    def __init__(self, robot: fj.Robot, gains: np.ndarray, period: float):
        self.model, self.data = pinocchio(robot.without_drives())
        self.K = np.array([joint.drive.stiffness for joint in robot.joints])
        self.B = np.array([joint.drive.motor.inertia for joint in robot.joints])
        self.gains, self.h, self.n = gains, period, robot.n

    def feedback_linearization(self, q, v, theta, theta_v, reference) -> np.ndarray:
        model, data, K0, e = self.model, self.data, self.gains, SECOND
        tau_e, tau_e_v = self.K * (theta - q), self.K * (theta_v - v)
        a = pin.aba(model, data, q, v, tau_e).copy()
        M = pin.crba(model, data, q)
        ahead = pin.rnea(model, data, q + FIRST * v, v + FIRST * a, a).copy()
        behind = pin.rnea(model, data, q - FIRST * v, v - FIRST * a, a)
        jerk = np.linalg.solve(M, tau_e_v - (ahead - behind) / (2 * FIRST))
        d = reference
        snap = d[4] + K0[3] * (d[3] - jerk) + K0[2] * (d[2] - a) + K0[1] * (d[1] - v) + K0[0] * (d[0] - q)
        second = -2 * tau_e
        for s in (e, -e):
            x = q + s * (v + s / 2 * (a + s / 3 * (jerk + s / 4 * snap)))
            second = second + pin.rnea(
                model, data, x, v + s * (a + s / 2 * (jerk + s / 3 * snap)), a + s * (jerk + s / 2 * snap)
            )
        return tau_e + self.B * (a + second / e**2 / self.K)

    def motor_pd(self, q, v, theta, theta_v, reference) -> np.ndarray:
        g = pin.computeGeneralizedGravity(self.model, self.data, reference[0])
        return self.gains[0] * (reference[0] + g / self.K - theta) - self.gains[1] * theta_v + g

    def acceleration(self, x, tau, out) -> None:
        tau_e = self.K * (x[1] - x[0])
        out[0], out[1] = x[2], x[3]
        out[2] = pin.aba(self.model, self.data, x[0], x[2], tau_e)
        out[3] = (tau - tau_e) / self.B

    def roll(self, law: Callable, start: fj.JointState, references: np.ndarray) -> np.ndarray:
        x, h = np.array([start.q, start.theta, start.v, start.theta_v]), self.h
        k1, k2, k3, k4 = np.empty((4, *x.shape))
        history = np.empty((len(references), self.n))
        for k, reference in enumerate(references):
            tau = law(x[0], x[2], x[1], x[3], reference)
            self.acceleration(x, tau, k1)
            self.acceleration(x + h / 2 * k1, tau, k2)
            self.acceleration(x + h / 2 * k2, tau, k3)
            self.acceleration(x + h * k3, tau, k4)
            x += h / 6 * (k1 + 2 * (k2 + k3) + k4)
            history[k] = x[0]
        return history
