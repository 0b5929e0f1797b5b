"""Logs of plants of other simulators: a controller in the loop, encoders, current noise, delays, slower loggers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import flexjoint as fj

STEP = 2 * np.pi / 2**19  # rad, of the encoders


class Run(NamedTuple):
    """What happened, at the period of the controller, and the log of it.

    Args:
        t: Times, s, (m,).
        q, theta: True positions of links and motors, (m, n).
        tau: Torque of the motors from each time to the next, (m, n).
        log: What the instruments recorded.
    """

    t: np.ndarray
    q: np.ndarray
    theta: np.ndarray
    tau: np.ndarray
    log: fj.logs.Log


def recorded_run(
    plant,
    robot,
    motion,
    gains,
    *,
    rate=1000.0,
    every=1,
    lag=1,
    seed=0,
    step=STEP,
    torque_noise=0.05,
    late=0,
    reference=False,
    start=None,
    sensors=0.0,
):
    """Follow a motion by PD of the motors with gravity compensation, and log it.

    Args:
        plant: What moves: `place(q, theta)`, `positions()` and `advance(tau, period)`.
        robot: The robot that the controller knows and the log is of.
        motion: Trajectory of the links.
        gains: Proportional and derivative, (2, n).
        rate: Of the controller, Hz.
        every: The logger takes every so many samples.
        lag: Samples by which the controller sees positions late.
        seed: Of the noise.
        step: Of the encoders, rad.
        torque_noise: Of the logged torque, Nm.
        late: Samples of the controller by which logged positions are late against the torque.
        reference: Whether the reference is logged.
        start: First position; by default that of the motion.
        sensors: Noise of joint torque sensors, Nm; 0 without them.
    """
    rng = np.random.default_rng(seed)
    count = int(motion.duration * rate) + 1
    t = np.arange(count) / rate
    wanted, wanted_v = (x for x in motion.derivatives(t, 1))
    gravity = np.asarray(fj.gravity_torque(robot, wanted))
    K = np.array([x.drive.stiffness for x in robot.joints])
    plant.place(wanted[0], wanted[0] + gravity[0] / K)
    q, theta, tau = (np.empty((count, robot.n)) for _ in range(3))
    seen = np.empty((count, robot.n))
    noise = rng.normal(size=(2, count, robot.n))
    for k in range(count):
        q[k], theta[k] = plant.positions()
        seen[k] = step * np.round(theta[k] / step + 0.3 * noise[0, k])
        now, before = seen[max(k - lag, 0)], seen[max(k - lag - 1, 0)]
        aim = wanted[k] + gravity[k] / K
        tau[k] = gains[0] * (aim - now) + gains[1] * (wanted_v[k] - (now - before) * rate) + gravity[k]
        plant.advance(tau[k], 1 / rate)
    encoded = step * np.round(q / step + 0.3 * rng.normal(size=q.shape))
    shift = slice(0, count - late), slice(late, count)
    columns = {"q": encoded[shift[0]], "theta": seen[shift[0]]}
    columns["tau"] = (tau + torque_noise * noise[1])[shift[1]]
    if reference:
        columns["reference"] = wanted[shift[1]]
    if sensors:
        columns["tau_e"] = (K * (theta - q) + sensors * rng.normal(size=q.shape))[shift[0]]
    kept = slice(None, None, every)
    log = fj.logs.Log(robot, t[shift[1]][kept], **{name: x[kept] for name, x in columns.items()})
    return Run(t, q, theta, tau, log)
