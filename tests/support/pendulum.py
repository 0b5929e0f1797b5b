"""A pendulum in closed form: (m l² + I) q'' + m g l cos q = τ_e."""

import numpy as np

import flexjoint as fj

MASS, LEVER, INERTIA, GRAVITY = 2.0, 0.3, 0.05, 9.81


def pendulum(drive, **more):
    return fj.from_dh(
        "pendulum",
        alpha=[0.0],
        a=[0.5],
        d=[0.0],
        mass=[MASS],
        com=[[LEVER - 0.5, 0.0, 0.0]],
        inertia=[np.diag([INERTIA] * 3)],
        drives=[drive],
        gravity=[0.0, -GRAVITY, 0.0],
        **more,
    )
