"""Friction compensation: torque against the formula, steady errors and limit cycles against closed forms."""

import math

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.control import FrictionCompensation, JointState, ObservedFrictionCompensation
from papers.rigid_runs import Turning
from support.warned import said

MOTOR = {"viscous_friction": 1.5, "coulomb_friction": 3.0, "coulomb_velocity": 0.05}
LINK = {"viscous_friction": [0.5, 0.0, 2.0], "coulomb_friction": [0.0, 1.0, 0.3], "coulomb_velocity": [0.0, 0.1, 0.2]}


def friction(D, F, v_c, v):
    return D * v + (F * np.tanh(v / v_c) if F else 0.0)


def mixed():
    """Three joints, the last elastic, with friction of links and motors."""
    drives = [*[fj.RigidDrive(fj.Motor(0.3, **MOTOR))] * 2, fj.ElasticDrive(500.0, fj.Motor(0.3, **MOTOR))]
    bodies = {"mass": 2.0, "com": [-0.1, 0.02, 0.0], "inertia": 0.02 * np.eye(3)}
    return fj.from_dh("mixed", [1.5, 0.0, 0.3], [0.3, 0.3, 0.2], [0.2, 0.0, 0.0], drives=drives, **bodies, **LINK)


def expected_friction(v, theta_v):
    link = [friction(*(LINK[key][i] for key in LINK), v[i]) for i in range(3)]
    motor = [friction(*MOTOR.values(), theta_v[i] if i == 2 else v[i]) for i in range(3)]
    return np.add(link, motor)


@pytest.mark.parametrize("velocity", ["desired", "measured"])
def test_torque(velocity):
    robot, share = mixed(), np.array([1.0, 0.5, 0.9])
    law = fj.control.MotorPD(robot, [200.0, 20.0])
    compensated = FrictionCompensation(law, velocity, share)
    assert (law.order, compensated.order) == (0, 1 if velocity == "desired" else 0)
    q, v, theta, theta_v, q_d, v_d = 0.3 * np.random.default_rng(0).normal(size=(6, 3))
    measurement = JointState(q, v, theta, theta_v)
    _, tau = compensated((), [q_d, v_d], measurement)
    f = expected_friction(v_d, v_d) if velocity == "desired" else expected_friction(v, theta_v)
    np.testing.assert_allclose(tau - law((), [q_d], measurement)[1], share * f, rtol=0, atol=1e-12)


def test_another_coulomb_velocity():
    robot = mixed()
    compensated = FrictionCompensation(fj.control.MotorPD(robot, [0.0, 0.0]), coulomb_velocity=10.0)
    plain = robot.without_friction()
    v = np.full(3, 0.2)
    _, tau = compensated((), [0 * v, v], JointState(*np.zeros((4, 3))))
    _, still = compensated((), [0 * v, 0 * v], JointState(*np.zeros((4, 3))))
    D, F = (np.array(LINK[key]) + MOTOR[key] for key in ("viscous_friction", "coulomb_friction"))
    np.testing.assert_allclose(tau - still, D * v + F * np.tanh(v / 10.0), rtol=0, atol=1e-12)
    assert not any(joint.viscous_friction or joint.drive.motor.coulomb_friction for joint in plain.joints)


# In closed loop -----------------------------------------------------------------------------------------------------

J, SPEED = 0.5, 0.8


def one_joint(drive):
    """A wheel with the inertia J about a vertical axis."""
    return fj.from_dh("wheel", [0.0], [0.0], [0.0], mass=1.0, inertia=J * np.eye(3), drives=[drive])


def steady_error(robot, law):
    motion = Turning(np.zeros(1), SPEED, 4.0)
    q, v = motion(0.0, order=1)
    run = fj.simulate(robot, law, motion, period=1e-3, start=JointState(q, v, q, v))
    return run.error[-1, 0]


def test_desired_velocity_removes_the_steady_error():
    """Without compensation (J + B) K_0 e = f at a constant speed; with it nothing is left."""
    robot = one_joint(fj.RigidDrive(fj.Motor(0.2, **MOTOR)))
    K_0, K_1 = fj.control.gains_from_poles([-8.0, -8.0])
    law = fj.control.ComputedTorque(robot.without_friction(), [K_0, K_1])
    f = friction(*MOTOR.values(), SPEED)
    assert abs(steady_error(robot, law)) == pytest.approx(f / ((J + 0.2) * K_0), rel=1e-6)
    for velocity in ("desired", "measured"):
        compensated = FrictionCompensation(law, velocity, model=robot)
        assert abs(steady_error(robot, compensated)) < 1e-9
        half = FrictionCompensation(law, velocity, 0.5, robot)
        wanted = 0.5 * f / ((J + 0.2) * K_0)
        assert abs(steady_error(robot, half)) == pytest.approx(wanted, rel=1e-5 if velocity == "desired" else 1e-2)


def test_elastic_joint():
    """The motor lags by f/K_P; compensated, it does not.  Friction of the link leaves the deflection f/K."""
    K, K_P = 400.0, 300.0
    f = friction(*MOTOR.values(), SPEED)
    drive = fj.ElasticDrive(K, fj.Motor(0.2, **MOTOR))
    behind = one_joint(drive)
    law = fj.control.FeedforwardPD(behind.without_friction(), [K_P, 20.0])
    assert abs(steady_error(behind, law)) == pytest.approx(f / K_P, rel=1e-4)
    assert abs(steady_error(behind, FrictionCompensation(law, model=behind))) < 1e-6
    link = fj.from_dh(
        "wheel", [0.0], [0.0], [0.0], mass=1.0, inertia=J * np.eye(3), drives=[fj.ElasticDrive(K, fj.Motor(0.2))],
        viscous_friction=[2.0],
    )  # fmt: skip
    compensated = FrictionCompensation(law, model=link)
    assert abs(steady_error(link, compensated)) == pytest.approx(2.0 * SPEED / K, rel=1e-4)


def test_over_compensation_oscillates():
    """The describing function 4 F/(π V) of the surplus F = (s − 1) F_c meets the damping at the amplitude V.

    The torque held over a period h lags by h/2 and takes K_P h/2 from the damping K_D.
    """
    motor = fj.Motor(0.2, coulomb_friction=3.0, coulomb_velocity=1e-3)
    robot = one_joint(fj.RigidDrive(motor))
    law = fj.control.MotorPD(robot, [400.0, 2.0])
    start = JointState(*np.array([[0.1], [0.0], [0.1], [0.0]]))

    def final_speed(share):
        run = fj.simulate(robot, FrictionCompensation(law, "measured", share), [0.0], 6.0, start=start, check=False)
        return np.abs(run.v[-500:]).max()

    notes = said(lambda: FrictionCompensation(law, "measured", 1.5))
    assert len(notes) == 1 and "limit cycles" in notes[0] and "joint1" in notes[0]
    with pytest.warns(fj.FlexjointWarning, match="limit cycles"):
        assert final_speed(1.5) == pytest.approx(4 * 1.5 / (math.pi * (2.0 - 400.0 * 5e-4)), rel=0.01)
    assert final_speed(0.8) < 1e-3
    assert said(lambda: FrictionCompensation(law, "desired", 1.5)) == []


def test_a_batch_of_shares():
    robot = mixed()
    law = FrictionCompensation(fj.control.MotorPD(robot, [200.0, 20.0]), "measured")
    shares = np.array([0.0, 0.7])
    gains = np.repeat(law.gains[None], 2, axis=0)
    gains[:, -1] = shares[:, None]
    many = fj.simulate(robot, law, [0.1, 0.2, 0.3], 0.05, gains=gains, start=fj.simulation.at_rest(robot, np.zeros(3)))
    for row, share in enumerate(shares):
        alone = FrictionCompensation(law.controller, "measured", share)
        one = fj.simulate(robot, alone, [0.1, 0.2, 0.3], 0.05, start=fj.simulation.at_rest(robot, np.zeros(3)))
        assert np.array_equal(many.q[row], one.q)


# With an observer in place of a model -------------------------------------------------------------------------------


def test_observed_friction():
    """With f̂' = K (f − f̂) the error obeys e'' + K_1 e' + K_0 e = f e^(−K t)/(J + B): in closed form for constant f."""
    robot = one_joint(fj.RigidDrive(fj.Motor(0.2, coulomb_friction=3.0, coulomb_velocity=0.01)))
    K_0, K_1 = fj.control.gains_from_poles([-8.0, -12.0])
    K = 5.0
    observer = fj.observers.FrictionObserver(robot, K, sensors=False)
    law = ObservedFrictionCompensation(fj.control.ComputedTorque(robot.without_friction(), [K_0, K_1]), observer)
    motion = Turning(np.zeros(1), SPEED, 3.0)
    q, v = motion(0.0, order=1)
    run = fj.simulate(robot, law, motion, start=JointState(q, v, q, v))
    rates = np.array([-K, -8.0, -12.0])
    scale = 3.0 / 0.7 / (K**2 - K_1 * K + K_0)
    free = np.linalg.solve([[1.0, 1.0], rates[1:]], [-1.0, K])  # e(0) = e'(0) = 0
    expected = scale * (np.array([1.0, *free]) @ np.exp(np.outer(rates, run.t)))
    assert np.abs(np.abs(run.error[:, 0]) - expected).max() < 0.01 * expected.max()
    assert abs(run.error[-1, 0]) < 1e-6


@pytest.mark.parametrize("sensors", [False, True])
def test_observed_friction_of_a_motor(sensors):
    """An elastic joint: the motor's friction is removed, from deflections or from torque sensors."""
    robot = one_joint(fj.ElasticDrive(400.0, fj.Motor(0.2, **MOTOR)))
    law = fj.control.FeedforwardPD(robot.without_friction(), [300.0, 20.0])
    law = ObservedFrictionCompensation(law, fj.observers.FrictionObserver(robot, 10.0, sensors=sensors))
    assert law.torque_sensors == sensors
    assert abs(steady_error(robot, law)) < 1e-5 < friction(*MOTOR.values(), SPEED) / 300.0


def test_observers_that_do_not_fit():
    robot = mixed()
    observer = fj.observers.FrictionObserver(robot, 10.0)
    law = fj.control.MotorPD(robot, [200.0, 20.0])
    rigid = fj.control.ComputedTorque(robot.rigid(), [25.0, 10.0])
    wheel = one_joint(fj.RigidDrive(fj.Motor(0.2)))
    for words, make in {
        "already": lambda: ObservedFrictionCompensation(rigid, observer),
        "different numbers": lambda: ObservedFrictionCompensation(fj.control.MotorPD(wheel, [1.0, 1.0]), observer),
        "observer is": lambda: ObservedFrictionCompensation(law, robot),
        "FrictionObserver: robot must be a Robot": lambda: fj.observers.FrictionObserver(None, 10.0),
        "FrictionObserver: cutoff is -1": lambda: fj.observers.FrictionObserver(robot, -1.0),
        "measurement is None": lambda: observer(observer.initial_state, None, np.zeros(3)),
    }.items():
        with pytest.raises(fj.InputError, match=words):
            make()
    assert "FrictionObserver" in repr(ObservedFrictionCompensation(law, observer))


# Which laws, and what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(fj.control.REGISTRY) - {"variable_stiffness_tracking"}))
def test_laws_say_whether_they_contain_friction(name):
    """The torque changes with the friction of the motors in the model, or it does not."""
    kind = fj.control.REGISTRY[name]
    robot = mixed().without_friction().with_drives([fj.ElasticDrive(500.0, fj.Motor(0.3, **MOTOR))] * 3)
    numbers = kind.registration.gains
    values = [1.0 + k for k in range(len(numbers) - kind.registration.optional)] or [-5.0]

    def torque(robot):
        law = kind.from_numbers(robot, values, 1e-3)
        rng = np.random.default_rng(0)
        reference = [ca.DM(x) for x in rng.normal(size=(law.order + 1, 3))]
        measured = JointState(*(ca.SX(x) for x in rng.normal(size=(4, 3))))
        state = [ca.SX(np.ravel(x)) for x in law.start([np.array(x).ravel() for x in reference])]
        rows = [ca.SX(x) for x in law.gains]
        _, tau = law.law(rows, state, [ca.SX(x) for x in reference], measured)
        return np.array(ca.DM(ca.evalf(tau))).ravel()

    changed = np.abs(torque(robot) - torque(robot.without_friction())).max() > 1e-6
    assert changed == kind.contains_friction


def test_what_is_refused():
    robot = mixed()
    rigid = robot.rigid()
    law = fj.control.MotorPD(robot, [200.0, 20.0])
    two_motors = fj.load("vsa_3r")
    refused = {
        "compensates the friction of its robot already": lambda: FrictionCompensation(
            fj.control.ComputedTorque(rigid, [25.0, 10.0])
        ),
        "no friction": lambda: FrictionCompensation(fj.control.MotorPD(robot.without_friction(), [200.0, 20.0])),
        "no desired velocity": lambda: FrictionCompensation(fj.control.OpenLoop(robot)),
        "velocity is 'actual'": lambda: FrictionCompensation(law, "actual"),
        "share": lambda: FrictionCompensation(law, share=-1.0),
        "coulomb_velocity": lambda: FrictionCompensation(law, coulomb_velocity=0.0),
        "3": lambda: FrictionCompensation(law, model=one_joint(fj.RigidDrive(fj.Motor(0.2, **MOTOR)))),
        "3 joints and 6 motors, the controller 3 of both": lambda: FrictionCompensation(law, model=two_motors),
        "two motors": lambda: FrictionCompensation(fj.control.OpenLoop(two_motors), "measured"),
        "controller is": lambda: FrictionCompensation(robot),
    }
    for words, make in refused.items():
        with pytest.raises(fj.InputError, match=words):
            make()
    assert FrictionCompensation(fj.control.OpenLoop(robot), "measured").order == 0
    assert "MotorPD" in repr(FrictionCompensation(law))
