"""Implicit steps of y'' = a(y, y'): against the matrix exponential, and derivatives against differences."""

import numpy as np
from scipy.linalg import expm

from flexjoint.identification.gauss_step import Stages, gauss_step


def linear(stiffness, damping, force):
    """Two masses: y'' = −K y − D y' + f, and its first-order matrix; the input is f."""
    K, D = (np.array(x, dtype=float) for x in (stiffness, damping))
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-K, -D]])

    def flow(x):
        a = x @ A[2:].T + force
        return Stages(a, np.broadcast_to(A[2:], (*x.shape[:2], 2, 4)), np.broadcast_to(np.eye(2), (*x.shape[:2], 2, 2)))

    return flow, A


def advanced(flow, x, h, count):
    """The state after count steps, and the derivatives of the last one."""
    for _ in range(count):
        step = gauss_step(flow, x, np.zeros((2, len(x), 2)), h / count)
        x = step.after
    return x, step.slopes()


def test_errors_fall_with_the_fourth_power_of_the_step():
    force = np.array([0.3, -0.2])
    flow, A = linear([[40.0, -15.0], [-15.0, 30.0]], [[0.5, 0.1], [0.1, 0.4]], force)
    x = np.array([[0.2, -0.1, 0.5, 1.0], [0.0, 0.3, -1.0, 0.2]])
    rest = np.linalg.solve(A, np.concatenate([np.zeros(2), -force]))
    exact = (x - rest) @ expm(0.4 * A).T + rest
    coarse, fine = (np.abs(advanced(flow, x, 0.4, k)[0] - exact).max() for k in (4, 8))
    assert 14 < coarse / fine < 18


def test_derivatives_are_those_of_the_exact_solution():
    flow, A = linear([[40.0, -15.0], [-15.0, 30.0]], [[0.5, 0.1], [0.1, 0.4]], np.zeros(2))
    _, (by_state, by_input) = advanced(flow, np.ones((1, 4)), 0.002, 1)
    F = expm(0.002 * A)
    G = np.linalg.solve(A, (F - np.eye(4)) @ np.eye(4)[:, 2:])
    assert np.abs(by_state[0] - F).max() < 1e-10
    assert np.abs(by_input[0] - G).max() < 1e-11


def test_a_mode_far_faster_than_the_step_stays_bounded():
    flow, _ = linear([[40.0, 0.0], [0.0, 1e10]], [[0.5, 0.0], [0.0, 1e3]], np.zeros(2))
    x = np.array([[0.2, 1e-3, 0.0, 0.0]])
    for _ in range(1000):
        x = gauss_step(flow, x, np.zeros((2, 1, 2)), 1e-3).after
    assert np.abs(x[0, :2]).max() < 0.2


def test_derivatives_of_a_step_with_dry_friction():
    """y'' = −F tanh(y'/v) + u, steep: derivatives by the state and by F against central differences."""

    def flow_of(F):
        def flow(x):
            t = np.tanh(x[..., 1:] / 0.01)
            by_state = np.concatenate([np.zeros_like(t), -F * (1 - t * t) / 0.01], axis=-1)
            return Stages(2.0 - F * t, by_state[..., None, :], -t[..., None])

        return flow

    def after(x, F):
        return gauss_step(flow_of(F), x, np.zeros((2, 1, 1)), 1e-3)

    x = np.array([[0.1, -0.004]])
    by_state, by_F = after(x, 5.0).slopes()
    e = 1e-6
    for k, step in enumerate(np.eye(2) * e):
        assert np.allclose(by_state[0, :, k], (after(x + step, 5.0).after - after(x - step, 5.0).after)[0] / (2 * e))
    assert np.allclose(by_F[0, :, 0], (after(x, 5.0 + e).after - after(x, 5.0 - e).after)[0] / (2 * e), rtol=1e-4)
