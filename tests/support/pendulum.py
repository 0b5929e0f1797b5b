"""A pendulum in closed form, (m l² + I) q'' + m g l cos q = τ_e, and one with an elastic joint along a motion."""

import numpy as np

import flexjoint as fj

MASS, LEVER, INERTIA, GRAVITY = 2.0, 0.3, 0.05, 9.81
STIFFNESS, MOTOR = 400.0, 0.7
MOTION = fj.trajectory.RestToRest([0.2], [1.4], 1.0)


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


def hinged(drive):
    return pendulum(drive, joint_names=["hinge, left"])


ELASTIC = hinged(fj.ElasticDrive(STIFFNESS, fj.Motor(MOTOR)))


def closed_form(t):
    """θ, θ − q and τ of the pendulum: J q'' + m g l cos q = τ_e = K (θ − q), B θ'' + τ_e = τ."""
    q, v, a, _, snap = MOTION(t)[..., 0]
    J, load = INERTIA + MASS * LEVER**2, MASS * GRAVITY * LEVER
    tau_e = J * a + load * np.cos(q)
    tau_e_a = J * snap - load * (np.cos(q) * v**2 + np.sin(q) * a)
    rigid = (J + MOTOR) * a + load * np.cos(q)
    return q + tau_e / STIFFNESS, tau_e / STIFFNESS, tau_e + MOTOR * (a + tau_e_a / STIFFNESS), rigid
