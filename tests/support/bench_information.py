"""Cramér-Rao bound of the parameters of the bench, from a simulator of its own.

The motor torque is measured with noise, so it is a known input with process noise; link and motor encoders are noisy
measurements.  Along the true motion, the information filter of state and parameters gives the bound: no unbiased
estimator that knows nothing of the controller has smaller deviations.
"""

from __future__ import annotations

import numpy as np

GRAVITY = 9.81
NAMES = {  # parameter of the simulator, by the name of its estimate
    "hinge.drive.stiffness": "K",
    "hinge.drive.damping": "D",
    "hinge.drive.deflection_offset": "phi_0",
    "hinge.drive.motor.inertia": "B",
    "hinge.drive.torque_offset": "tau_1",
    "hinge.drive.motor.friction.viscous": "d",
    "hinge.drive.motor.friction.coulomb": "F_c",
    "hinge.drive.motor.friction.velocity": "v_c",
    "hinge.drive.motor.friction.static": "F_s",
    "hinge.drive.motor.friction.stribeck_velocity": "v_s",
    "hinge.h_x": "h_x",
    "hinge.h_y": "h_y",
    "hinge.I_zz": "I",
}


def acceleration(x, u, p):
    """x = (q, q', θ, θ'), a row each; gravity acts along −z of the base, the axis of the hinge is −y."""
    q, v, theta, w = x
    spring = p["K"] * (theta - q - p["phi_0"]) + p["D"] * (w - v)
    weight = GRAVITY * (p["h_x"] * np.cos(q) - p["h_y"] * np.sin(q))
    level = p["F_c"] + (p["F_s"] - p["F_c"]) * np.exp(-((w / p["v_s"]) ** 2))
    friction = p["d"] * w + level * np.tanh(w / p["v_c"])
    return np.stack([v, (spring - weight) / p["I"], w, (u - p["tau_1"] - friction - spring) / p["B"]])


def stepped(x, u, p, h, substeps=4):
    """One period by Runge-Kutta steps."""
    s = h / substeps
    for _ in range(substeps):
        a = acceleration(x, u, p)
        b = acceleration(x + s / 2 * a, u, p)
        c = acceleration(x + s / 2 * b, u, p)
        d = acceleration(x + s * c, u, p)
        x = x + s / 6 * (a + 2 * b + 2 * c + d)
    return x


def bound(states, torques, parameters, h, position_noise, torque_noise):
    """Deviations of all parameters, by the names of their estimates.

    states: (m, 4), the true motion; torques: (m,), held for a period each; parameters: true values by name
    """
    names = [*NAMES.values()]
    scale = np.array([abs(parameters[name]) or 1e-2 for name in names])
    x, u = states[:-1].T, torques[:-1]
    base = stepped(x, u, parameters, h)
    F = np.empty((len(u), 4, 4 + len(names)))
    for i in range(4):
        e = 1e-6 * np.eye(4)[i][:, None]
        F[:, :, i] = ((stepped(x + e, u, parameters, h) - stepped(x - e, u, parameters, h)) / 2e-6).T
    for j, name in enumerate(names):
        e = 1e-5 * scale[j]
        ahead, behind = ({**parameters, name: parameters[name] + s * e} for s in (1, -1))
        F[:, :, 4 + j] = ((stepped(x, u, ahead, h) - stepped(x, u, behind, h)) / (2 * e) * scale[j]).T
    G = ((stepped(x, u + 1e-4, parameters, h) - stepped(x, u - 1e-4, parameters, h)) / 2e-4).T
    assert np.abs(base - states[1:].T).max() < 1e-6  # the same motion as that of the simulation
    size = 4 + len(names)
    P = np.diag([1e-2, 1.0, 1e-2, 1.0, *[100.0] * len(names)])
    H = np.zeros((2, size))
    H[0, 0] = H[1, 2] = 1.0
    R = position_noise**2 * np.eye(2)
    A = np.eye(size)
    for k in range(len(u)):
        S = H @ P @ H.T + R
        gain = P @ H.T @ np.linalg.inv(S)
        P = P - gain @ S @ gain.T
        A[:4] = F[k]
        P = A @ P @ A.T
        P[:4, :4] += torque_noise**2 * np.outer(G[k], G[k])
        P = (P + P.T) / 2
    return dict(zip(NAMES, scale * np.sqrt(np.diag(P)[4:])))
