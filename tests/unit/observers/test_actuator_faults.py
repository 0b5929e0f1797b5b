"""Faults of motors are found, isolated and named."""

import numpy as np
import pytest

import flexjoint as fj

H = 1e-3
ROBOT = fj.random_robot(3, 11, prismatic=0.0, elastic=0.7)  # joint 2 is rigid
FAULTY = 0.5  # s
MOTORS = {"elastic": ROBOT.compliant.index(True), "rigid": ROBOT.compliant.index(False)}
NOISE = 1e-4  # rad/s


def log(motor, fault, count=2000, noise=0.0):
    """Links and motors move as given, and torques make them: u of a fault is what the motor lacks from FAULTY on."""
    t = H * np.arange(count)
    rng, n = np.random.default_rng(0), ROBOT.n
    phase, w = np.arange(n) + 8.0 * t[:, None], 8.0
    q, v, a = 0.3 * np.sin(phase), 0.3 * w * np.cos(phase), -0.3 * w**2 * np.sin(phase)
    late = t >= FAULTY
    elastic = np.array(ROBOT.compliant)
    theta, theta_v, theta_a = q.copy(), v.copy(), a.copy()
    if fault == "lock":
        theta_v[late, motor] = theta_a[late, motor] = 0.0
        theta[late, motor] = theta[late.argmax(), motor]
    B = np.array([x.drive.motor.inertia if x.drive else 0.0 for x in ROBOT.joints])
    tau_e = fj.torque_derivatives(ROBOT, q, v, a)[0]  # of the links
    given = np.where(elastic, B * theta_a + tau_e, tau_e)
    command = given.copy()
    x = given[late, motor]
    if fault == "total loss":
        command[late, motor] = 3.0 + np.sin(5 * t[late])
        tau_e[late, motor] = -B[motor] * theta_a[late, motor]  # no torque at all
    elif fault == "efficiency":
        command[late, motor] = x / 0.6
    elif fault == "bias":
        command[late, motor] = x - 2.0
    else:
        command[late, motor] = x + 3.0 * np.sin(5 * t[late])
    measured = theta_v + noise * rng.normal(size=theta_v.shape)
    return t, fj.observers.Measurement(q, v, theta, measured, np.where(elastic, tau_e, 0.0)), command


RESIDUAL = fj.observers.JointTorqueResidual(ROBOT, 50.0, 50.0)
IDENTIFIER = fj.observers.FaultIdentifier(fj.observers.Detector(RESIDUAL, {"link": 0.5, "motor": 0.5}))
FAULTS = {
    "total loss": (fj.observers.Fault.TOTAL_LOSS, 1.0, 0.0),
    "efficiency": (fj.observers.Fault.EFFICIENCY, 0.4, 0.0),
    "bias": (fj.observers.Fault.BIAS, 0.0, 2.0),
    "lock": (fj.observers.Fault.LOCK, None, None),
}


@pytest.mark.parametrize("noise", [0.0, NOISE])
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_behind_springs_are_named(fault, noise):
    motor = MOTORS["elastic"]
    t, measurement, command = log(motor, fault, noise=noise)
    found = IDENTIFIER.run(t, measurement, command, held=False)
    code, loss, bias = FAULTS[fault]
    assert found["fault"][-1, motor] == code
    others = [k for k in range(ROBOT.n) if k != motor]
    assert np.all(found["fault"][:, others] == fj.observers.Fault.NONE)
    assert np.all(found["fault"][t < FAULTY] == fj.observers.Fault.NONE)
    if loss is not None:
        assert found["loss"][-1, motor] == pytest.approx(loss, abs=0.02)
        assert found["bias"][-1, motor] == pytest.approx(bias, abs=0.1)


def test_faults_of_rigid_joints():
    """The links cannot tell them from collisions, but their size is the same."""
    motor = MOTORS["rigid"]
    for fault in ("efficiency", "bias"):
        t, measurement, command = log(motor, fault)
        found = IDENTIFIER.run(t, measurement, command, held=False)
        code, loss, bias = FAULTS[fault]
        assert found["fault"][-1, motor] == code
        assert found["loss"][-1, motor] == pytest.approx(loss, abs=0.02)
        assert found["bias"][-1, motor] == pytest.approx(bias, abs=0.05)


def test_a_constant_torque_leaves_loss_and_bias_undecided():
    robot = ROBOT.rigid()
    q = np.tile([0.1, 0.2, 0.3], (600, 1))
    tau = fj.gravity_torque(robot, q) + np.array([0.0, 2.0, 0.0])
    detector = fj.observers.Detector(fj.observers.MomentumResidual(robot, 50.0), {"residual": 0.5})
    rest = fj.observers.Measurement(q, 0 * q, None, None, None)
    found = fj.observers.FaultIdentifier(detector).run(H * np.arange(600), rest, tau)
    assert found["fault"][-1].tolist() == [
        fj.observers.Fault.NONE,
        fj.observers.Fault.UNDECIDED,
        fj.observers.Fault.NONE,
    ]
    assert found["bias"][-1, 1] == pytest.approx(-2.0)


def test_what_an_identifier_cannot_use_is_refused():
    with pytest.raises(fj.InputError, match="no thresholds for motor"):
        fj.observers.FaultIdentifier(fj.observers.Detector(RESIDUAL, {"link": 1.0}))
    with pytest.raises(fj.InputError, match="must watch a MomentumResidual or a JointTorqueResidual"):
        fj.observers.FaultIdentifier(
            fj.observers.Detector(fj.observers.MotorEncoderResidual(ROBOT, 50.0, 200.0), {"link": 1.0})
        )
