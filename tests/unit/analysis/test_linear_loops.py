"""Linear models under a controller: closed forms, python-control, SciPy, and small deviations in simulations."""

from __future__ import annotations

from dataclasses import replace

import control
import numpy as np
import pytest
from scipy.signal import cont2discrete

import flexjoint as fj
from flexjoint.analysis import linearize, loop_gain

ROBOT = fj.load("hua_3r")  # two rigid joints, one elastic
Q = np.array([0.2, 0.5, -0.4])
PD = fj.control.MotorPD(ROBOT, [500.0, 50.0])


def by_hand(q, K_P, K_D):
    """Matrices of the closed loop under motor PD, from those of the robot: τ = K_P (θ_d − θ) − K_D θ'."""
    model = linearize(ROBOT, q)
    places = [model.states.index(x) for x in ("q.joint1", "q.joint2", "theta.joint3")]
    rates = [model.states.index(x) for x in ("v.joint1", "v.joint2", "theta_v.joint3")]
    K = np.zeros((3, len(model.states)))
    K[range(3), places], K[range(3), rates] = K_P, K_D
    return model, K


def test_motor_pd_is_a_state_feedback():
    model, K = by_hand(Q, 500.0, 50.0)
    closed = linearize(ROBOT, Q, controller=PD)
    assert np.allclose(closed.A, model.A - model.B @ K, rtol=1e-12, atol=1e-12 * np.abs(model.A).max())
    assert closed.stable and not model.stable
    _, B, C, D = closed.system("reference.joint1", ["q.joint1", "command.joint1", "error.joint1"])
    assert np.allclose(B[:, 0], model.B @ [500.0, 0, 0], rtol=1e-12)
    assert np.allclose(C[1], -K[0], rtol=1e-12) and np.allclose(D[:, 0], [0, 500.0, 1.0])


def test_sampled_motor_pd_against_scipy():
    model, K = by_hand(Q, 500.0, 50.0)
    h = 2e-3
    Phi, Gamma, *_ = cont2discrete((model.A, model.B, model.C, model.D), h)
    sampled = linearize(ROBOT, Q, controller=PD, period=h)
    assert np.allclose(sampled.A, Phi - Gamma @ K, rtol=1e-10, atol=1e-12)
    assert sampled.period == h and sampled.to_control().dt == h
    assert np.allclose(np.exp(h * sampled.poles.real).max(), np.abs(np.linalg.eigvals(Phi - Gamma @ K)).max())


def test_python_control_gives_the_same_responses():
    omega = np.geomspace(0.1, 300, 40)
    for period in (None, 1e-3):
        model = linearize(ROBOT, Q, controller=PD, period=period)
        system = model.to_control("load.joint2", ["q.joint3", "tau_e.joint3"])
        wanted = np.asarray(system(np.exp(1j * omega * period) if period else 1j * omega))[:, 0, :].T
        found = model.response(omega, "load.joint2", ["q.joint3", "tau_e.joint3"])[:, :, 0]
        assert np.allclose(found, wanted, rtol=1e-9)
    t = np.linspace(0, 0.5, 51)
    model = linearize(ROBOT, Q, controller=PD)
    wanted = control.step_response(model.to_control("reference.joint3", "q.joint3"), t).outputs
    assert np.allclose(model.step(t, "reference.joint3", "q.joint3")[:, 0, 0], np.ravel(wanted), atol=1e-6)


LINEARIZING = fj.control.FeedbackLinearization(ROBOT, [1e4, 4e3, 600.0, 40.0], period=1e-3)


@pytest.mark.parametrize("law", [pytest.param(PD, id="motor PD"), pytest.param(LINEARIZING, id="law with a memory")])
def test_a_small_step_in_a_simulation(law):
    """The sampled model follows the simulation of a small step, of the robot and its controller with all they have."""
    h, small, periods = 1e-3, 1e-6, 60
    model = linearize(ROBOT, Q, controller=law, period=h)
    goal = Q + small * np.array([0.0, 0.0, 1.0])
    still = fj.trajectory.RestToRest(goal, goal, periods * h)
    before = law.start([Q, *[0 * Q] * law.order])
    run = fj.simulate(ROBOT, law, still, start=fj.simulation.at_rest(ROBOT, Q), period=h, substeps=8)
    found = model.step(h * np.arange(periods + 1), "reference.joint3", "q.*")[:, :, 0]
    if before:  # the memory of the run begins at the goal
        kick = np.concatenate([np.ravel(x) for x in law.start([goal, *[0 * Q] * law.order])])
        x = np.append(np.zeros(8), (kick - np.concatenate([np.ravel(y) for y in before])) / small)
        for k in range(periods + 1):
            found[k] += x[:3]
            x = model.A @ x
    assert np.allclose((run.q - Q) / small, found, atol=2e-4 * np.abs(found).max())


def test_a_reference_moves_with_its_derivatives():
    """Computed torque of a rigid robot with its own model follows any small motion: the response is 1."""
    rigid = ROBOT.rigid()
    law = fj.control.ComputedTorque(rigid, [100.0, 20.0])
    model = linearize(rigid, Q, controller=law)
    assert np.allclose(model.response([0.5, 5.0, 50.0], "reference.*", "q.*"), np.eye(3), atol=1e-10)
    alone = model.system("reference.joint1", "q.joint1")
    wanted = 100 / (100 - 25 + 20j * 5.0)
    s = 5j
    assert np.allclose(alone[2] @ np.linalg.solve(s * np.eye(6) - alone[0], alone[1]), wanted, rtol=1e-9)


def test_margins_of_a_wheel():
    """B θ'' = τ under K_D alone, sampled: z = 1 − K_D h/B is stable up to K_D h/B = 2; with K_P closed forms of L."""
    B, K_P, K_D, h = 0.5, 40.0, 3.0, 0.01
    link = fj.Link("wheel", fj.Joint("hinge", drive=fj.RigidDrive(fj.Motor(0.2))), inertia=0.3 * np.eye(3), mass=1.0)
    wheel = fj.Robot("wheel", (link,), gravity=(0, 0, 0))
    law = fj.control.MotorPD(wheel, [K_P, K_D])
    margins = loop_gain(wheel, [0.0], law, "hinge").margins()
    # |L| = |K_P + i K_D ω|/(B ω²) = 1
    squared = (K_D**2 + np.sqrt(K_D**4 + 4 * B**2 * K_P**2)) / (2 * B**2)
    assert np.allclose(margins.gain_crossovers, np.sqrt(squared), rtol=1e-10)
    assert np.isclose(margins.phase, np.arctan2(K_D * np.sqrt(squared), K_P), rtol=1e-10)
    assert margins.gain == np.inf and margins.stable
    damped = loop_gain(wheel, [0.0], fj.control.MotorPD(wheel, [0.0, K_D]), "hinge", period=h).margins()
    assert np.isclose(damped.gain, 2 * B / (K_D * h), rtol=1e-9)


@pytest.mark.parametrize("period", [None, 4e-3])
@pytest.mark.parametrize("motor", range(3))
def test_margins_are_where_the_loop_becomes_unstable(motor, period):
    """A factor within the gain margins leaves the loop stable, one beyond does not."""
    margins = loop_gain(ROBOT, Q, PD, f"joint{motor + 1}", period).margins()
    assert margins.stable
    column = np.arange(3) == motor
    for edge, beyond in ((margins.gain, 1.001), (margins.least_gain, 0.999)):
        if edge in (np.inf, 0.0):
            continue
        for share, stable in ((edge * beyond, False), (edge / beyond, True)):
            gains = np.where(column, share, 1.0) * PD.gains
            # gravity compensation of the law is part of its torque: the factor is on the cut torque as a whole
            model = linearize(ROBOT, Q, controller=replace(PD, gains=gains), period=period)
            assert (model.poles.real.max() < 0) == stable


def test_the_loop_gain_against_python_control():
    loop = loop_gain(ROBOT, Q, PD, "joint3")
    gain, phase, _, _, crossover, _ = control.stability_margins(-loop.opened.to_control("tau.joint3", "command.joint3"))
    found = loop.margins()
    assert np.isclose(np.degrees(found.phase), phase, rtol=1e-8)
    assert np.isclose(found.gain_crossovers[0], crossover, rtol=1e-8)
    assert np.isclose(found.least_gain, gain, rtol=1e-8)


def test_bad_input_is_named():
    with pytest.raises(fj.InputError, match="there is no motor 'elbow'; there are joint1, joint2, joint3"):
        loop_gain(ROBOT, Q, PD, "elbow")
    with pytest.raises(fj.InputError, match="period and open_at belong to a controller"):
        linearize(ROBOT, Q, period=1e-3)
    with pytest.raises(fj.InputError, match="tau follows from the controller"):
        linearize(ROBOT, Q, np.zeros(3), controller=PD)
    with pytest.raises(fj.InputError, match=r"controller is 3; give one of fj\.control"):
        linearize(ROBOT, Q, controller=3)
    with pytest.raises(fj.InputError, match=r"state has shape \(2,\)"):
        linearize(ROBOT, Q[:2], controller=PD)
    with pytest.raises(fj.InputError, match="equidistant"):
        linearize(ROBOT, Q).step([0.0, 1.0, 3.0])
