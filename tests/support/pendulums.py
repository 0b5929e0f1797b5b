"""Two pendulums on springs side by side, simulated without flexjoint: motors follow a given motion, links swing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import flexjoint as fj

K, D = np.array([300.0, 500.0]), np.array([0.3, 0.2])  # Nm/rad, Nm s/rad
MASS, ARM, INERTIA = np.array([2.0, 1.5]), np.array([0.3, 0.2]), np.array([0.02, 0.03])
GRAVITY = 9.81
FREQUENCIES = 2 * np.pi * np.array([[0.31, 0.43], [0.97, 1.31], [2.2, 1.9]])
PHASES = np.array([[0.0, 1.0], [2.0, 0.5], [1.0, 3.0]])


class Swing(NamedTuple):
    """Times (m,), positions of links and motors and torques of the springs, (m, 2)."""

    t: np.ndarray
    q: np.ndarray
    theta: np.ndarray
    tau_e: np.ndarray


def motors(t):
    """Positions and velocities of the motors at times (m,), (m, 2)."""
    angle = np.multiply.outer(t, FREQUENCIES) + PHASES
    return 0.2 * np.sin(angle).sum(axis=-2), 0.2 * (FREQUENCIES * np.cos(angle)).sum(axis=-2)


def swing(duration=8.0, period=1e-3):
    """Simulate by Runge-Kutta: (I + m l²) q'' = K (θ − q) + D (θ' − q') − m g l cos q."""
    count = round(duration / period) + 1
    t = period * np.arange(count)
    J, weight = INERTIA + MASS * ARM**2, MASS * GRAVITY * ARM
    theta, rate = motors(0.5 * period * np.arange(2 * count))

    def slope(x, k):
        spring = K * (theta[k] - x[0]) + D * (rate[k] - x[1])
        return np.array([x[1], (spring - weight * np.cos(x[0])) / J])

    x, found = np.array([theta[0] - weight / K, rate[0]]), np.empty((count, 2, 2))
    for k in range(count):
        found[k] = x
        a = slope(x, 2 * k)
        b = slope(x + 0.5 * period * a, 2 * k + 1)
        c = slope(x + 0.5 * period * b, 2 * k + 1)
        d = slope(x + period * c, min(2 * k + 2, 2 * count - 1))
        x = x + period / 6 * (a + 2 * b + 2 * c + d)
    q, v = found[:, 0], found[:, 1]
    return Swing(t, q, theta[::2], K * (theta[::2] - q) + D * (rate[::2] - v))


def pendulums(stiffness=(400.0, 400.0), lower=-3.0, upper=3.0):
    """The robot as its user knows it: both links on the base, axes horizontal."""
    rotation = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    limits = fj.Limits(lower=lower, upper=upper)
    links = [
        fj.Link(
            f"link{k + 1}",
            fj.Joint(
                f"joint{k + 1}", rotation=rotation, limits=limits, drive=fj.ElasticDrive(stiffness[k], fj.Motor(0.1))
            ),
            mass=MASS[k],
            com=(ARM[k], 0.0, 0.0),
            inertia=INERTIA[k] * np.eye(3),
        )
        for k in range(2)
    ]
    return fj.Robot("pendulums", tuple(links))
