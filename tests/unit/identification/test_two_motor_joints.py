"""Spring laws of joints of variable stiffness from logs; what a log does not show is named."""

import dataclasses

import numpy as np
import pytest

import flexjoint as fj
from support.identification import FLIPPED, NOISE, STEP, multisine

T = 1e-3 * np.arange(12000)
MOTION = multisine(0.5, 0, 12.0, count=20)
PAIRS = {
    "sinh": (fj.springs.SinhSpring(1.0, 6.7), fj.springs.SinhSpring(1.2, 6.0)),
    "mixed": (fj.springs.ExponentialSpring(5.0, 3.0), fj.springs.QuadraticSpring(22.0, -25.0)),
}


def device(one, two, inertia=0.02, viscous=0.05):
    """A link behind an antagonistic pair."""
    motor = fj.Motor(inertia, viscous_friction=viscous)
    joint = fj.Joint("hinge", rotation=FLIPPED, drive=fj.drives.AntagonisticDrive(one, two, motor, motor))
    arm = fj.Link("arm", joint, mass=0.5, com=(0.15, 0.01, 0.0), inertia=0.003 * np.eye(3))
    return fj.Robot("device", (arm,))


def log_of(robot, middle, swing, sensor=0.0, motion=MOTION):
    """A log with noisy instruments: stiffness middle (1 + swing sin) along the motion."""
    rng = np.random.default_rng(11)
    sizes = middle * swing * np.array([[0.6], [0.4]])
    sigma = fj.trajectory.Sinusoid(sizes, [[0.3], [0.7]], [[0.0], [1.0]], offset=[middle], duration=12.0)
    q = motion(T)
    found = fj.motor_motion(robot, *q[:5], stiffness=sigma(T)[:3])

    def encoded(x):
        return STEP * np.round(x / STEP + NOISE * rng.normal(size=x.shape))

    sensed = {"tau_e": found.tau_e + sensor * rng.normal(size=found.tau_e.shape)} if sensor else {}
    tau = found.tau + 0.005 * rng.normal(size=found.tau.shape)
    return fj.logs.Log(robot, T, q=encoded(q[0]), theta=encoded(found.theta), tau=tau, **sensed)


def scaled(spring, factor):
    """A law of the same form with other numbers."""
    return dataclasses.replace(spring, **{x.name: factor * getattr(spring, x.name) for x in dataclasses.fields(spring)})


@pytest.mark.parametrize("name", PAIRS)
def test_laws_of_an_antagonistic_pair_are_found(name):
    pair = PAIRS[name]
    least = fj.dynamics.feasible_stiffness(device(*pair), [1.5]).lower[0]
    log = log_of(device(*pair), 1.6 * least, 0.25)
    rough = device(scaled(pair[0], 1.4), scaled(pair[1], 0.7), 0.03, 0.02)
    one = fj.identification.identify_variable_stiffness(rough, log, friction="viscous", held=False)
    assert one.passed and one.fit.converged
    for k, spring in enumerate(pair, 1):
        for x in dataclasses.fields(spring):
            found = one[f"hinge.drive.spring_{k}.{x.name}"]
            true = getattr(spring, x.name)
            assert abs(found.value - true) < 4 * found.deviation < 0.05 * abs(true), found
            assert found.verdict == "identified"
            assert getattr(one.robot.joints[0].drive.springs[k - 1], x.name) == found.value
        inertia = one[f"hinge.drive.motor_{k}.inertia"]
        assert abs(inertia.value - 0.02) < 4 * inertia.deviation < 1e-4
    assert one.robot.joints[0].drive.motor_1.friction.viscous == pytest.approx(0.05, rel=0.01)


def test_a_lever_and_a_torque_sensor():
    motor = fj.Motor(0.02, viscous_friction=0.05)
    drive = fj.drives.LeverDrive(
        spring=2000.0, arm=0.1, least_arm=0.02, greatest_arm=0.2, motor_1=motor, motor_2=fj.Motor(1.0)
    )
    true = device(*PAIRS["sinh"]).with_drives([drive])
    log = log_of(true, 15.0, 0.3, sensor=0.01)
    rough = true.with_drives([dataclasses.replace(drive, spring=1500.0, arm=0.12)])
    one = fj.identification.identify_variable_stiffness(rough, log, friction="viscous", held=False)
    for name, value in (("spring", 2000.0), ("arm", 0.1)):
        found = one[f"hinge.drive.{name}"]
        assert abs(found.value - value) < 4 * found.deviation < 0.05 * value, found


def test_what_the_deflections_do_not_show_is_named():
    """Springs that hardly change their deflection look linear: neither stiffness at rest nor rate is seen."""
    pair = PAIRS["mixed"]
    small = multisine(0.005, 0, 12.0, offset=np.pi / 2, count=20)
    least = fj.dynamics.feasible_stiffness(device(*pair), [1.5]).lower[0]
    log = log_of(device(*pair), 1.6 * least, 1e-4, motion=small)
    one = fj.identification.identify_variable_stiffness(device(*pair), log, friction="viscous", held=False)
    rate = one["hinge.drive.spring_1.rate"]
    assert rate.verdict == "unknown"
    assert "the deflections reach only" in rate.reason
    assert "tighten the motors against each other" in rate.reason
    assert one.robot.joints[0].drive.spring_1.rate == pair[0].rate


def test_refusals():
    pair = device(*PAIRS["sinh"])
    with pytest.raises(fj.InputError, match="no joint of variable stiffness"):
        fj.identification.identify_variable_stiffness(fj.load("kuka_lwr"), [])
    blind = fj.logs.Log(pair, T, q=np.zeros((T.size, 1)), theta=np.zeros((T.size, 2)))
    with pytest.raises(fj.InputError, match="a log has no tau"):
        fj.identification.identify_variable_stiffness(pair, blind)
    with pytest.raises(fj.InputError, match="identify_variable_stiffness estimates the laws"):
        fj.identification.identify(pair, blind)
