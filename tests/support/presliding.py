"""A series elastic bench whose dry friction is LuGre's or Dahl's: bristles bend before the motor slides.

    F = σ₀ z + σ₁ z' + σ₂ v,     z' = v − σ₀ |v| z/g(v),     g(v) = F_c + (F_s − F_c) exp(−(v/v_s)²)

Integrated by the midpoint rule in plain Python, with the bristles by their exponential: nothing of it is flexjoint's.
"""

from __future__ import annotations

import math


class PreslidingBench:
    """The bench of `identification.py`: a motor, a spring and an arm under gravity.

    Args:
        K, D, B: Stiffness, spring damping, motor inertia.
        viscous, coulomb: σ₂ and F_c.
        static, stribeck: F_s and v_s; by default F_c: no Stribeck effect, Dahl's friction if σ₁ is 0.
        bristles, damping: σ₀ in Nm/rad and σ₁ in Nm s/rad.
        step: Longest step of the integration, s.
    """

    def __init__(self, K, D, B, viscous, coulomb, static=None, stribeck=0.1, bristles=5e3, damping=0.0, step=5e-5):
        self.K, self.D, self.B, self.viscous, self.coulomb = K, D, B, viscous, coulomb
        self.rise, self.stribeck = (coulomb if static is None else static) - coulomb, stribeck
        self.bristles, self.damping, self.step = bristles, damping, step
        self.J, self.weight = 0.02 + 2 * (0.25**2 + 0.02**2), (2 * 9.81 * 0.25, 2 * 9.81 * 0.02)

    def place(self, q, theta):
        """Start there, at rest."""
        self.state = float(q[0]), float(theta[0]), 0.0, 0.0, 0.0

    def positions(self):
        """Link and motor position."""
        return self.state[:1], self.state[1:2]

    def advance(self, tau, period):
        """Hold a torque for a period."""
        steps = math.ceil(period / self.step - 1e-9)
        h, tau = period / steps, float(tau[0])
        q, theta, v, w, z = self.state
        for _ in range(steps):
            a, b = self.accelerations(q, theta, v, w, z, tau)
            middle = v + 0.5 * h * a, w + 0.5 * h * b
            a, b = self.accelerations(q + 0.5 * h * v, theta + 0.5 * h * w, *middle, self.bent(z, w, 0.5 * h), tau)
            q, theta, z = q + h * middle[0], theta + h * middle[1], self.bent(z, middle[1], h)
            v, w = v + h * a, w + h * b
        self.state = q, theta, v, w, z

    def level(self, w):
        """g(v)."""
        return self.coulomb + self.rise * math.exp(-((w / self.stribeck) ** 2))

    def bent(self, z, w, h):
        """Bristles after h s at a constant speed."""
        g = self.level(w)
        end = math.copysign(g / self.bristles, w)
        return end + (z - end) * math.exp(-self.bristles * abs(w) / g * h)

    def accelerations(self, q, theta, v, w, z, tau):
        """Of arm and motor."""
        spring = self.K * (theta - q) + self.D * (w - v)
        gravity = self.weight[0] * math.cos(q) - self.weight[1] * math.sin(q)
        rate = w - self.bristles * abs(w) * z / self.level(w)
        friction = self.bristles * z + self.damping * rate + self.viscous * w
        return (spring - gravity) / self.J, (tau - spring - friction) / self.B
