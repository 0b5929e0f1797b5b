"""A residual does not drift: after ten million samples it is as exact as after a thousand."""

import numpy as np

import flexjoint as fj
from flexjoint.observers.timed import BLOCK

H = 2.0**-10  # s, exact
ROUND = 1024  # samples of a periodic motion
ROUNDS = 10_000_000 // ROUND
CUTOFF = 40.0
EPS = np.finfo(float).eps


def periodic_solution(u, fade):
    """r of r⁺ = f r + (1 − f) u over a period of u, in extended precision: r is the same after one."""
    u, f = u.astype(np.longdouble), np.longdouble(fade)
    weights = f ** np.arange(len(u))[::-1, None]
    r = np.sum(weights * (1 - f) * u, axis=0) / (1 - f ** len(u))
    found = []
    for x in u:
        r = f * r + (1 - f) * x
        found.append(r)
    return np.array(found)


def test_no_drift_over_ten_million_steps():
    """The error is less than a tenth of the round-off of one step, ε (|p|/h + |β| + |τ|), and it does not grow."""
    robot = fj.random_robot(2, 7, prismatic=0.0)
    residual = fj.observers.MomentumResidual(robot, CUTOFF)
    phase = 2 * np.pi * np.arange(ROUND)[:, None] / ROUND + np.array([0.0, 1.0])
    q, v, tau = np.sin(phase), 2 * np.pi * np.cos(phase), 30.0 * np.sin(3 * phase) + 5.0
    samples = np.concatenate([np.full((ROUND, 1), H), q, v, np.roll(tau, 1, axis=0)], axis=1)
    blocks = [np.ascontiguousarray(samples[k : k + BLOCK]) for k in range(0, ROUND, BLOCK)]
    kernel, state = residual._log_kernel, residual.initial_state[0]
    spare = [kernel(state, block) for block in blocks]
    for k in range(ROUNDS):
        for block, out in zip(blocks, spare):
            state = kernel(state, block, out=out)[1]
        if k == 1:
            early = np.concatenate([x[:, :2] for x, _ in spare])
    late = np.concatenate([x[:, :2] for x, _ in spare])

    p = fj.generalized_momentum(robot, q, v).astype(np.longdouble)
    rate = fj.coriolis_transpose_product(robot, q, v).astype(np.longdouble) - fj.gravity_torque(robot, q)
    u = (p - np.roll(p, 1, axis=0)) / H - np.roll(tau, 1, axis=0) - (rate + np.roll(rate, 1, axis=0)) / 2
    wanted = periodic_solution(u, np.exp(-np.longdouble(CUTOFF) * H))
    unit = EPS * float(np.max(np.abs(p)) / H + np.max(np.abs(rate)) + np.max(np.abs(tau)))
    assert np.max(np.abs(late - wanted)) < 0.1 * unit
    assert np.array_equal(late, early)
