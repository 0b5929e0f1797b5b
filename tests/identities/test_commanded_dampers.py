"""Inverse dynamics with dampers that are commanded: constant ones, and ones that change from sample to sample."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from identities.test_variable_stiffness import message

VSA = fj.load("vsa_3r")
ABLE = VSA.with_drives([replace(x.drive, greatest_damping=30.0) for x in VSA.joints])
MOTION = fj.trajectory.RestToRest(np.zeros(3), [0.5, 0.3, -0.4], 0.5)
STIFFNESS = fj.trajectory.RestToRest(np.full(3, 900.0), np.full(3, 1100.0), 0.5, 2)
K, C = 400.0, 2000.0


def along(kernel, times, more=lambda t: ()):
    """Results at all times; the first is rest equilibrium."""
    state, found = [np.zeros(6), np.zeros(3), np.zeros(3)], []
    rest = fj.motor_motion(VSA, *MOTION(0.0), stiffness=STIFFNESS(0.0)[:3])
    phi, state[1], before = rest.deflection, rest.tau_e, times[0]
    for t in times[1:]:
        order = 4 if more(before) else 3  # the robot is damped by command alone
        now = kernel(*state, np.array(t - before), *MOTION(t)[: order + 1], *STIFFNESS(t)[:3], phi, *more(before))
        state, phi, before = [now.deflection_v, now.tau_e, now.tau_e_v], now.deflection, t
        found.append(now)
    return found


@pytest.fixture(scope="module")
def commanded():
    return fj.compile(fj.inverse_dynamics_step, ABLE, stiffness=3, warm_start=True, damping=True)


def test_a_constant_command_is_a_constant_damping(commanded):
    """... and one beyond the greatest damping is that."""
    times = np.linspace(0.0, 0.1, 21)
    for asked, given in ((6.0, 6.0), (99.0, 30.0)):
        always = VSA.with_drives([replace(x.drive, damping=given) for x in VSA.joints])
        expected = along(fj.compile(fj.inverse_dynamics_step, always, stiffness=3, warm_start=True), times)
        found = along(commanded, times, lambda _, asked=asked: (np.full(3, asked),))
        for name in ("deflection", "deflection_v", "theta_a", "tau"):
            ours, theirs = (np.array([getattr(x, name) for x in y]) for y in (found, expected))
            assert np.allclose(ours, theirs, rtol=1e-8, atol=1e-9 * np.max(abs(theirs))), name


def asked(t):
    """From 20 to 4 Nm s/rad and back, in steps at t = 0.1 s and 0.2 s."""
    return np.array([20.0, 18.0, 16.0]) if not 0.0999 < t < 0.1999 else np.array([4.0, 5.0, 6.0])


def test_a_command_that_jumps_against_scipy(commanded):
    """D (φ_1' + φ_2') = τ_e − T and σ(φ) = σ(t) as a differential equation, the springs written out."""
    torque = fj.compile(fj.torque_derivatives, VSA, order=0)

    def flow(t, phi, D):
        one, two = np.split(phi, 2)
        T = K * phi + C * phi**3
        rate = (torque(*MOTION(t)[:3])[0] - T[:3] - T[3:]) / D
        b = 6 * C * one, 6 * C * two
        sigma_v, det = STIFFNESS(t)[1], b[1] - b[0]
        return np.concatenate([(b[1] * rate - sigma_v) / det, (sigma_v - b[0] * rate) / det])

    phi = fj.motor_motion(VSA, *MOTION(0.0), stiffness=STIFFNESS(0.0)[:3]).deflection
    for start in (0.0, 0.1, 0.2):
        done = solve_ivp(flow, (start, start + 0.1), phi, "DOP853", args=(asked(start),), rtol=1e-11, atol=1e-13)
        phi = done.y[:, -1]
    errors = []
    for steps in (150, 300):
        found = along(commanded, np.linspace(0.0, 0.3, steps + 1), lambda t: (asked(t),))[-1]
        errors.append(np.max(abs(found.deflection - phi)))
    assert errors[1] < 1e-8 and errors[0] / errors[1] > 8
    rate = flow(0.3, phi, asked(0.25))
    assert np.allclose(found.deflection_v, rate, rtol=1e-5, atol=1e-7)


def test_a_damper_must_damp():
    q, sigma = MOTION(0.0)[:5], STIFFNESS(0.0)[:3]
    rest = fj.motor_motion(VSA, *q, stiffness=sigma)
    state = [np.zeros(6), rest.tau_e, np.zeros(3), np.array(1e-3)]
    options = {"stiffness": sigma, "warm_start": rest.deflection}
    text = message(fj.inverse_dynamics_step, ABLE, *state, *q, damping=np.array([1.0, 0.0, 1.0]), **options)
    assert "damping is 0 at joint 'joint2'; give a positive number" in text
    text = message(fj.inverse_dynamics_step, VSA, *state, *q, damping=np.ones(3), **options)
    assert "no joint of 'vsa_3r' has a damper that can be commanded; leave damping= out" in text
