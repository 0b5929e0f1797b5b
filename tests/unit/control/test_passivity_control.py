"""Passivity-based and adaptive controllers: what they pass on, what they refuse, and that they track."""

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.simulation.closed_loop import ClosedLoop
from support.errors import relative_error

ROBOT = fj.random_robot(2, 7, prismatic=0.0, friction=True, name="arm")
COUNT = len(fj.base_parameters(ROBOT).names)
STACK = np.random.default_rng(0).normal(size=(5, 2))
MEASURED = fj.control.RigidState(*STACK[3:])


def adaptive(**changes):
    given = {"bandwidth": 5.0, "damping": 10.0, "adaptation": 1.0, "period": 1e-3}
    return fj.control.AdaptiveControl(ROBOT, **{**given, **changes})


def test_passivity_control_is_its_kernel():
    controller = fj.control.PassivityControl(ROBOT, 5.0, [10.0, 20.0])
    state, tau = controller(None, STACK[:3], MEASURED)
    gains = (np.full(2, 5.0), np.array([50.0, 100.0]), np.array([10.0, 20.0]))
    assert state is None
    assert np.array_equal(tau, fj.control.laws.passivity_torque(ROBOT, *MEASURED, *STACK[:3], *gains))
    assert np.array_equal(controller(None, STACK, MEASURED)[1], tau), "further derivatives are not used"
    other = fj.control.PassivityControl(ROBOT, 5.0, [10.0, 20.0], stiffness=1.0)(None, STACK[:3], MEASURED)[1]
    assert relative_error(other, tau) > 1e-3


def test_adaptive_control_integrates_its_estimate():
    controller = adaptive()
    start = controller.start()
    assert np.array_equal(start.estimate, np.zeros(COUNT))
    state, tau = controller(start, STACK[:3], MEASURED)
    gains = (np.full(2, 5.0), np.full(2, 10.0), np.ones(COUNT))
    expected, rate = fj.control.laws.adaptive_torque(ROBOT, *MEASURED, *STACK[:3], *gains, start.estimate)
    assert np.array_equal(tau, expected)
    assert np.array_equal(state.estimate, 1e-3 * rate)
    assert np.array_equal(controller.start(ROBOT).estimate, fj.base_parameters(ROBOT).of(ROBOT))


def track(controller, state, steps=3000, h=1e-3):
    """Largest error in the last third of a motion; the torque is held, the robot takes one Euler step a sample."""
    q, v = np.array([0.3, -0.2]), np.zeros(2)
    errors = []
    for k in range(steps):
        t, phase = k * h, np.arange(2)
        motion = [np.sin(2 * t + phase), 2 * np.cos(2 * t + phase), -4 * np.sin(2 * t + phase)]
        state, tau = controller(state, motion, fj.control.RigidState(q, v))
        v = v + h * fj.forward_dynamics(ROBOT, q, v, tau)
        q = q + h * v
        errors.append(np.max(np.abs(motion[0] - q)))
    return max(errors[-steps // 3 :])


def test_learning_replaces_knowledge():
    """Knowing nothing and learning tracks better than knowing nothing; the known model is best."""
    learning = track(adaptive(adaptation=0.5), adaptive().start())
    ignorant = track(adaptive(adaptation=1e-12), adaptive().start())
    knowing = track(fj.control.PassivityControl(ROBOT, 5.0, 10.0), None)
    assert knowing < learning < ignorant / 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fj.control.PassivityControl("arm", 1.0, 1.0), "PassivityControl: robot must be a Robot, not str"),
        (lambda: fj.control.PassivityControl(ROBOT, 0.0, 1.0), "bandwidth is 0.0; every number must be positive"),
        (lambda: fj.control.PassivityControl(ROBOT, 1.0, [1.0, np.nan]), "damping is .* positive and finite"),
        (
            lambda: fj.control.PassivityControl(ROBOT, 1.0, 1.0, stiffness=[1.0] * 3),
            r"stiffness has shape \(3,\); give .*\(2,\)",
        ),
        (
            lambda: fj.control.PassivityControl(ROBOT, "fast", 1.0),
            "bandwidth must be a number or 2 numbers, not 'fast'",
        ),
        (lambda: fj.control.PassivityControl(ROBOT, 1.0, 1.0, variant="0000"), "choose one of christoffel"),
        (lambda: fj.control.PassivityControl(fj.load("kuka_lwr"), 1.0, 1.0), "is elastic"),
        (lambda: adaptive(period=0.0), "period is 0.0; it must be a positive number"),
        (lambda: adaptive(period=[1.0]), "it must be a positive number"),
        (lambda: adaptive(period="fast"), "period is 'fast'; it must be a positive number"),
        (lambda: adaptive(adaptation=-1.0), "adaptation is -1.0; every number must be positive"),
        (lambda: adaptive(adaptation=[1.0, 2.0]), r"adaptation has shape \(2,\)"),
        (
            lambda: adaptive()(adaptive().start(), STACK[:2], MEASURED),
            "the reference has 1 derivatives, the law needs 2",
        ),
    ],
)
def test_wrong_input(make, message):
    with pytest.raises(fj.InputError, match=message):
        make()


def test_nan_from_a_sensor():
    measured = fj.control.RigidState([np.nan, 0.0], [0.0, 0.0])
    for controller, state in ((fj.control.PassivityControl(ROBOT, 1.0, 1.0), None), (adaptive(), adaptive().start())):
        with pytest.raises(fj.NonFiniteError, match="q"):
            controller(state, STACK[:3], measured)


def test_passivity_control_in_the_compiled_loop():
    """The loop in one kernel is the same loop with the law called from Python; other gains need no other kernel."""
    trajectory = fj.trajectory.RestToRest([0.0, 0.1], [0.5, -0.3], 0.1)
    law = fj.control.PassivityControl(ROBOT, 5.0, [10.0, 20.0])
    start = fj.JointState(*np.array([[0.05, 0.0], [0.0, 0.1], [0.05, 0.0], [0.0, 0.1]]))
    compiled = fj.simulate(ROBOT, law, trajectory, period=1e-3, start=start)
    called = fj.simulate(ROBOT, lambda t, *x: law(*x), trajectory, period=1e-3, start=start)
    assert np.max(np.abs(compiled.q - called.q)) < 1e-13
    stiff = fj.control.PassivityControl(ROBOT, 5.0, 30.0, stiffness=900.0)
    assert ClosedLoop(ROBOT, law, 1e-3) == ClosedLoop(ROBOT, stiff, 1e-3)
    assert ClosedLoop(ROBOT, law, 1e-3) != ClosedLoop(
        ROBOT, fj.control.PassivityControl(ROBOT, 5.0, 10.0, variant="0001"), 1e-3
    )
    assert np.max(np.abs(fj.simulate(ROBOT, stiff, trajectory, period=1e-3, start=start).q - compiled.q)) > 1e-3


def test_the_lyapunov_function_of_passivity_control_falls_as_theory_says():
    """V = ½ sᵀM s + ½ eᵀ(K_P + Λ K_D) e, V' = −e'ᵀK_D e' − eᵀΛ K_P e − sᵀD s  [DeLuca sec. II-B]."""
    robot = fj.random_robot(2, 7, prismatic=0.0)
    Lambda, K_P, K_D = 5.0, 60.0, 10.0
    law = fj.control.PassivityControl(robot, Lambda, K_D, K_P)
    motion = fj.trajectory.Sinusoid([0.4, 0.3], [2.0, 3.0])
    start = fj.JointState(*np.array([[0.4, -0.5], [1.0, 0.0], [0.4, -0.5], [1.0, 0.0]]))
    run = fj.simulate(robot, law, motion, 2.0, start=start, hold=False, period=5e-4, check=False)
    q_d, v_d = motion(run.t, 1)
    e, de = q_d - run.q, v_d - run.v
    s = de + Lambda * e
    V = 0.5 * np.einsum("ki,kij,kj->k", s, fj.mass_matrix(robot, run.q), s) + 0.5 * (K_P + Lambda * K_D) * np.sum(
        e**2, -1
    )
    assert np.max(np.diff(V)) < 1e-12 * V[0]
    power = K_D * np.sum(de**2, -1) + Lambda * K_P * np.sum(e**2, -1)
    spent = np.sum(power[1:] + power[:-1]) / 2 * 5e-4
    assert V[0] - V[-1] == pytest.approx(spent, rel=1e-3)
    assert V[-1] < 1e-6 * V[0]


def test_adaptive_control_in_the_compiled_loop():
    """The loop in one kernel learns what the law called from Python learns, from nothing or from a prior."""
    trajectory = fj.trajectory.RestToRest([0.0, 0.1], [0.5, -0.3], 0.5)
    for prior in (None, ROBOT):
        law = adaptive(adaptation=0.05, prior=prior)
        compiled = fj.simulate(ROBOT, law, trajectory, start=fj.JointState(*np.zeros((4, 2))), check=False)

        def called(t, state, reference, measurement, law=law):
            return law(law.start() if state == () else state, reference, measurement)

        wanted = fj.simulate(ROBOT, called, trajectory, start=fj.JointState(*np.zeros((4, 2))), check=False)
        assert np.max(np.abs(compiled.q - wanted.q)) < 1e-12
        assert np.allclose(compiled.memory[0], wanted.memory.estimate, rtol=1e-10, atol=1e-14)
        assert np.max(np.abs(compiled.memory[0] - law.start().estimate)) > 1e-4
    assert ClosedLoop(ROBOT, law, 1e-3) == ClosedLoop(ROBOT, adaptive(adaptation=2.0), 1e-3)
