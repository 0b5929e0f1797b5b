"""Feedforward at mid-period: the exact discretization of one joint, every controller, delays, exported C."""

import shutil

import numpy as np
import pytest
from scipy.linalg import expm

import flexjoint as fj
from flexjoint.control import MidPeriod
from support.components import compiled_outputs, exported, python_outputs

M, B, K, GAINS = 1.3, 0.4, 300.0, (200.0, 25.0)
AMPLITUDE, OMEGA = 0.5, 2 * np.pi
TIME = 1.0


def one_joint():
    """A wheel with the inertia M about a vertical axis."""
    drive = fj.ElasticDrive(K, fj.Motor(B))
    return fj.from_dh("wheel", [0.0], [0.0], [0.0], mass=1.0, inertia=M * np.eye(3), drives=[drive])


def on_reference(t):
    """q, θ, q', θ' and the torque of q = A sin ωt at times (m,): θ = q + M q''/K, τ = B θ'' + M q''."""
    q, v = AMPLITUDE * np.sin(OMEGA * t), AMPLITUDE * OMEGA * np.cos(OMEGA * t)
    stretch = 1 - M * OMEGA**2 / K
    return np.stack([q, stretch * q, v, stretch * v]), -(OMEGA**2) * (B * stretch + M) * q


def exact_error(h, lead, actuators=0, sensors=0):
    """Link errors of held torques, from the matrix exponential; delays of actuators and sensors in periods."""
    A = np.zeros((5, 5))
    A[0, 2] = A[1, 3] = 1.0
    A[2, :2], A[3, :2], A[3, 4] = [-K / M, K / M], [K / B, -K / B], 1 / B
    step = expm(A * h)
    t = h * np.arange(round(TIME / h) + 1)
    seen = np.maximum(t - (sensors * h if lead else 0.0), 0.0)
    feedforward = on_reference(t + (h / 2 + actuators * h if lead else 0.0))[1]
    expected, x = on_reference(seen)[0], on_reference(np.zeros(1))[0][:, 0]
    errors, commands, states = [], [], []
    for k in range(len(t)):
        states.append(x)
        errors.append(on_reference(t[k : k + 1])[0][0, 0] - x[0])
        error = expected[:, k] - states[max(k - sensors, 0)]
        commands.append(feedforward[k] + GAINS[0] * error[1] + GAINS[1] * error[3])
        x = step[:4] @ np.append(x, commands[max(k - actuators, 0)])
    return np.array(errors)


def simulated_error(h, lead, actuators=0, sensors=0):
    robot = one_joint()
    law = fj.control.FeedforwardPD(robot, GAINS)
    if lead:
        law = MidPeriod(law, h, actuator_delay=actuators * h, sensor_delay=sensors * h)
    options = {"actuators": fj.simulation.Actuators(np.inf, delay=actuators)} if actuators else {}
    options |= {"sensors": fj.simulation.Sensors(delay=sensors)} if sensors else {}
    start = fj.JointState(*on_reference(np.zeros(1))[0][[0, 2, 1, 3]])
    motion = fj.trajectory.Sinusoid([AMPLITUDE], OMEGA / (2 * np.pi), duration=TIME)
    run = fj.simulate(robot, law, motion, period=h, substeps=20, start=start, **options)
    np.testing.assert_array_equal(run.reference, motion(run.t, 0)[0])
    return run.error[:, 0]


@pytest.mark.parametrize("delays", [(0, 0), (1, 0), (0, 1), (2, 1)])
def test_one_joint_against_its_exact_discretization(delays):
    """The error of a held torque falls with h, at mid-period with h²."""
    largest = []
    for h in (4e-3, 2e-3):
        for lead in (False, True):
            exact = exact_error(h, lead, *delays)
            np.testing.assert_allclose(simulated_error(h, lead, *delays), exact, rtol=0, atol=2e-9)
            largest.append(np.abs(exact[len(exact) // 2 :]).max())  # without the first commands of delayed actuators
    plain, middle, finer_plain, finer_middle = largest
    assert 1.8 < plain / finer_plain < 2.2 and 3.6 < middle / finer_middle < 4.4
    assert plain / middle > 20


def two_joints():
    """A rigid and an elastic joint in general position."""
    drives = [fj.RigidDrive(fj.Motor(0.1)), fj.ElasticDrive(400.0, fj.Motor(0.1))]
    return fj.random_robot(2, 7, prismatic=0.0).with_drives(drives)


POLES = fj.control.gains_from_poles([-20.0] * 2)
CONTROLLERS = {
    "computed torque": lambda robot, h: fj.control.ComputedTorque(robot.rigid(), POLES),
    "passivity": lambda robot, h: fj.control.PassivityControl(robot.rigid(), 20.0, 10.0),
    "adaptive": lambda robot, h: fj.control.AdaptiveControl.from_numbers(robot.rigid(), [20.0, 10.0, 0.01], h),
    "feedforward": lambda robot, h: fj.control.FeedforwardPD(robot, [200.0, 20.0]),
    "mixed": lambda robot, h: fj.control.MixedInverseDynamics(robot, [200.0, 20.0, 200.0, 20.0]),
    "linearization": lambda robot, h: fj.control.FeedbackLinearization(
        robot.with_drives([robot.joints[1].drive] * 2), fj.control.gains_from_poles([-100.0] * 4), h
    ),
}


@pytest.mark.parametrize("name", CONTROLLERS)
def test_every_controller_that_follows_a_motion(name):
    motion, largest = fj.trajectory.RestToRest([0.1, -0.2], [0.9, 0.7], duration=0.6), []
    for h in (1e-3, 5e-4):
        law = CONTROLLERS[name](two_joints(), h)
        for controller in (law, MidPeriod(law, h)):
            run = fj.simulate(law.robot, controller, motion, period=h, substeps=4, check=False)
            largest.append(np.abs(run.error).max())
    plain, middle, _, finer = largest
    assert plain / middle > 10 and middle / finer > 3.4


def test_wrenches_and_a_moving_base():
    robot = two_joints()
    motion = fj.trajectory.RestToRest([0.1, -0.2], [0.9, 0.7], duration=0.6)
    base = fj.trajectory.RestToRest(np.zeros(6), [0.1, 0.0, 0.2, 0.3, 0.1, -0.2], duration=0.6)
    known = fj.control.FeedforwardPD(robot, [200.0, 20.0], wrenches={"link2": [3.0, 0.0, -5.0, 0, 0, 0]}, base=True)
    rest = fj.motor_motion(robot, *motion(0.0, 4), wrenches={"link2": np.eye(3)[:, :1] * known.wrenches["link2"]})
    start, push = fj.JointState(*motion(0.0, 1), rest.theta, rest.theta_v), known.wrenches["link2"]
    options = {"base": base, "contact": lambda t, state: {"link2": np.array(push)}, "start": start, "substeps": 4}
    plain, middle = (
        np.abs(fj.simulate(robot, law, motion, **options).error).max() for law in (known, MidPeriod(known, 1e-3))
    )
    assert plain / middle > 20


def test_torques_friction_and_goals():
    robot = one_joint()
    torque = fj.trajectory.Sinusoid([2.0], 1.0)
    run = fj.simulate(robot, MidPeriod(fj.control.OpenLoop(robot), 1e-3), torque, 0.1)
    np.testing.assert_array_equal(run.tau, torque(run.t + 5e-4, 0)[0])
    motor = fj.Motor(B, viscous_friction=2.0, coulomb_friction=1.0, coulomb_velocity=0.5)
    rubbing = robot.rigid().with_drives([fj.RigidDrive(motor)])
    inner = MidPeriod(fj.control.PassivityControl(rubbing.without_friction(), 20.0, 40.0), 1e-3)
    motion, found = fj.trajectory.RestToRest([0.0], [0.5], duration=0.5), []
    for law in (inner.controller, inner):
        compensated = fj.control.FrictionCompensation(law, "desired", model=rubbing)
        found.append(np.abs(fj.simulate(rubbing, compensated, motion, substeps=4, period=1e-3).error).max())
    assert found[0] / found[1] > 20
    law = fj.control.FeedforwardPD(robot, GAINS)
    start, both = fj.simulation.at_rest(robot, [0.0]), (law, MidPeriod(law, 1e-3))
    still = [fj.simulate(robot, x, [0.3], 0.1, start=start) for x in both]
    np.testing.assert_allclose(still[0].q, still[1].q, rtol=0, atol=1e-14)
    t = np.linspace(0.0, 0.5, 501)
    recorded = fj.trajectory.Samples(t, motion(t, 0)[0])  # which has no values after its end
    assert fj.simulate(robot, MidPeriod(law, 1e-3), recorded, check=False).t[-1] == 0.5


def test_linear_models_are_those_of_the_controller():
    robot = one_joint()
    law = fj.control.FeedforwardPD(robot, GAINS)
    inner, outer = (fj.analysis.linearize(robot, [0.1], controller=x, period=1e-3) for x in (law, MidPeriod(law, 1e-3)))
    np.testing.assert_allclose(outer.A, inner.A, rtol=0, atol=1e-12)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_exported_c_has_the_bits_of_the_simulation(tmp_path):
    robot, h = fj.load("hua_3r"), 1e-3
    law = MidPeriod(fj.control.FeedforwardPD(robot, [500.0, 50.0]), h)
    motion = fj.trajectory.RestToRest(np.zeros(3), [0.3, 0.6, -0.9], duration=0.2)
    run = fj.simulate(robot, law, motion)
    component = fj.deployment.online_loop(law, limits=False)
    middle = np.minimum(run.t + h / 2, motion.duration)
    rows = np.concatenate([motion(middle, law.order), motion(run.t, law.order)])
    given = {"t": run.t[:, None], "reference": np.moveaxis(rows, 0, 1).reshape(len(middle), -1)}
    given |= {name: getattr(run, name) for name in ("q", "v", "theta", "theta_v")}
    inputs = np.concatenate([given[array.name] for array in component.inputs], axis=1)
    expected = python_outputs(component, inputs)
    np.testing.assert_array_equal(expected[:, :3], run.tau)
    assert compiled_outputs(exported(component, tmp_path), inputs, "gcc", "-O1").tobytes() == expected.tobytes()
    inside = fj.deployment.online_loop(law, trajectory=motion, limits=False)
    state = inside.start()
    for k, t in enumerate(run.t[:100]):
        state, outputs = inside.step(state, {"t": t, "theta": run.theta[k], "theta_v": run.theta_v[k]})
        np.testing.assert_allclose(outputs["tau"], run.tau[k], rtol=0, atol=1e-8)


def test_refusals():
    robot = one_joint()
    law = MidPeriod(fj.control.FeedforwardPD(robot, GAINS), 1e-3)
    arm, poles = fj.load("kuka_lwr"), fj.control.gains_from_poles([-100.0] * 4)
    sensed = fj.control.FeedbackLinearization(arm, poles, 1e-4, measured="theta tau_e")
    refused = {
        "regulates": lambda: MidPeriod(fj.control.MotorPD(robot, GAINS), 1e-3),
        "put MidPeriod inside": lambda: MidPeriod(law, 1e-3),
        "joint torque sensors": lambda: MidPeriod(sensed, 1e-4),
        "period is 0.001 s, that of FeedbackLinearization": lambda: MidPeriod(
            fj.control.FeedbackLinearization(arm, poles, 1e-4), 1e-3
        ),
        "actuator_delay": lambda: MidPeriod(law.controller, 1e-3, actuator_delay=-1.0),
        "two motors": lambda: MidPeriod(
            fj.control.VariableStiffnessTracking.from_numbers(fj.load("vsa_3r"), [-10.0], 1e-3), 1e-3
        ),
        "a torque that is held": lambda: fj.simulate(robot, law, [0.0], 0.1, hold=False),
        "made for 0.001 s": lambda: fj.simulate(robot, law, [0.0], 0.1, period=2e-3),
    }
    for message, call in refused.items():
        with pytest.raises(fj.InputError, match=message):
            call()
    with pytest.raises(fj.InputError, match="a torque that is held"):
        fj.simulation.reference_solution(robot, law, [0.0], 0.1)
    assert "FeedforwardPD" in repr(law) and law.gain_names == ["K_P", "K_D"]
