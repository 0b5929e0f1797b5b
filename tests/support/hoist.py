"""A hoist: a load on a spring behind a motor, whose error at rest under motor PD control is known in closed form."""

from __future__ import annotations

import numpy as np

import flexjoint as fj

G, MASS, STIFFNESS, K_P = 9.81, 2.0, 4000.0, 3000.0
GOAL = [0.3]


def hoist():
    drive = fj.ElasticDrive(STIFFNESS, fj.Motor(1.0), damping=20.0)
    link = fj.Link("load", fj.Joint("rope", "prismatic", drive=drive), mass=MASS, inertia=0.02 * np.eye(3))
    return fj.Robot("hoist", (link,), gravity=[0.0, 0.0, -G])


def hoist_law(robot, proportional=K_P, derivative=140.0):
    return fj.control.MotorPD(robot, [proportional, derivative])


def sag(mass, stiffness, proportional=K_P):
    """q_d − q at rest: the controller knows MASS and STIFFNESS, the hoist has others."""
    return G * (mass / stiffness - MASS / STIFFNESS + (mass - MASS) / proportional)


def sag_of(run):
    """The figure of merit: q_d − q at the end."""
    return run.error[:, -1, 0]


def sag_indices(masses, stiffnesses):
    """First-order and total indices of `sag` for uniform mass and stiffness: a product of independent inputs, X Y."""
    (a, b), (c, d) = masses, stiffnesses
    x, var_x = (a + b) / 2, (b - a) ** 2 / 12
    inverse = np.log(d / c) / (d - c)
    y, var_y = G / K_P + G * inverse, G**2 * (1 / (c * d) - inverse**2)
    both = var_x * var_y
    total = var_x * y**2 + var_y * x**2 + both
    first = np.array([var_x * y**2, var_y * x**2]) / total
    return first, first + both / total
