"""Deflections by integration of (19): order of the step, drift with and without control, other joints beside."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from identities.test_variable_stiffness import message, with_drives

VSA = fj.load("vsa_3r")
MIXED = with_drives(fj.random_robot(4, 23, prismatic=0.0), ["unequal", "rigid", "lever", "spring"])


def references(robot):
    """[q, ... q''''] and [σ, σ', σ''] as functions of time, with period 1 s."""
    n, omega = robot.n, 2 * np.pi
    size, mean = np.linspace(0.3, -0.2, n), 900.0 if robot is VSA else 1000.0

    def wave(t, k):
        return omega**k * np.sin(omega * t + k * np.pi / 2)

    def at(t):
        q = [size * wave(t, k) for k in range(5)]
        sigma = [np.full(n, mean * (k == 0) + 60.0 * wave(t + 0.1, k)) for k in range(3)]
        return q, sigma

    return at


def solved(robot, at, t):
    q, sigma = at(t)
    return fj.motor_motion(robot, *q, stiffness=sigma)


def integrated(robot, at, times, gain, push=0.0):
    """The results at all times after the first; the start may be pushed off (14)."""
    kernel = fj.compile(fj.dynamics.integrated_motor_motion, robot, stiffness=3)
    q, sigma = at(times[0])
    start = solved(robot, at, times[0])
    tau = fj.torque_derivatives(robot.without_drives(), *q[:4], order=1)
    state = [start.deflection + push, *tau, sigma[0], sigma[1]]
    found = []
    for now, before in zip(times[1:], times):
        q, sigma = at(now)
        one = kernel(*state, np.array(now - before), np.array(gain), *q, *sigma)
        state = [one.deflection, one.tau_e, one.tau_e_v, *sigma[:2]]
        found.append(one)
    return found


def miss(robot, at, times, found):
    """Largest error of the deflections of joints with two motors at each time."""
    chosen = [k for k, i in enumerate(robot.motor_joints) if robot.variable_stiffness[i]]
    return np.array(
        [np.max(abs(x.deflection - solved(robot, at, t).deflection)[chosen]) for x, t in zip(found, times[1:])]
    )


@pytest.mark.parametrize("robot", [VSA, MIXED], ids=["equal springs", "every kind"])
def test_order_and_drift(robot):
    """Without control the error falls with h⁴ and a push stays; with control a push decays like e^(−λt)."""
    at = references(robot)
    errors = [miss(robot, at, t := np.linspace(0.0, 0.2, m + 1), integrated(robot, at, t, 0.0))[-1] for m in (50, 100)]
    assert 12.0 < errors[0] / errors[1] < 20.0 and errors[1] < 1e-6
    times, push = np.linspace(0.0, 0.2, 201), 1e-4
    free, kept = (miss(robot, at, times, integrated(robot, at, times, gain, push)) for gain in (0.0, 50.0))
    assert free[-1] > 0.2 * push
    expected = push * np.exp(-50.0 * times[1:])
    assert np.all(kept < 3 * expected + 1e-8) and kept[-1] < 1e-8
    everything = integrated(robot, at, times[:3], 50.0)[-1]
    for ours, theirs in zip(everything[:8], solved(robot, at, times[2])):
        assert np.allclose(ours, theirs, rtol=1e-6, atol=1e-6 * np.max(abs(theirs)))


def test_drift_stays_bounded():
    """50 periods: bare integration loses its way further and further, with control the error does not grow."""
    at, times = references(VSA), np.arange(0.0, 50.0, 0.01)
    free, kept = (
        np.array([np.max(abs(x.stiffness_drift)) for x in integrated(VSA, at, times, g)]) for g in (0.0, 20.0)
    )
    third = len(times) // 3
    assert free[-third:].max() > 1.5 * free[:third].max() and free.max() > 10 * kept.max()
    assert kept[-third:].max() < 1.01 * kept[:third].max()


def test_integration_against_scipy():
    """(19) as an ordinary differential equation with the law of the springs written out."""
    at, K, c = references(VSA), 400.0, 2000.0
    q = [ca.SX.sym("q", 3) for _ in range(4)]
    rates = ca.Function("rates", q, fj.torque_derivatives(VSA, *q, order=1))

    def flow(t, phi):
        motion, sigma = at(t)
        one, two = np.split(phi, 2)
        tau_e_v = np.array(rates(*motion[:4])[1])[:, 0]
        A = np.array([[K + 3 * c * one**2, K + 3 * c * two**2], [6 * c * one, 6 * c * two]])
        return np.linalg.solve(np.moveaxis(A, 2, 0), np.stack([tau_e_v, sigma[1]], 1)[..., None])[..., 0].T.ravel()

    times = np.linspace(0.0, 0.3, 301)
    start = solved(VSA, at, 0.0).deflection + 1e-3
    expected = solve_ivp(flow, (0.0, 0.3), start, "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    found = integrated(VSA, at, times, 0.0, push=1e-3)[-1]
    assert np.max(abs(found.deflection - expected)) < 1e-9


def test_refusals():
    at = references(VSA)
    q, sigma = at(0.0)
    zeros = np.zeros(3)
    state = [np.zeros(6), zeros, zeros, sigma[0], sigma[1], np.array(1e-3), np.array(0.0)]
    call = fj.dynamics.integrated_motor_motion
    assert "singular" in message(call, VSA, *state, *q, stiffness=sigma)
    lwr = fj.load("kuka_lwr")
    text = message(call, lwr, *[np.zeros(7)] * 5, np.array(0.0), np.array(0.0), *np.zeros((5, 7)))
    assert "no joint has variable stiffness; use motor_motion" in text
