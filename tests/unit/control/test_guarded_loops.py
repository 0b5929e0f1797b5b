"""Residuals, alarms and reactions inside the compiled loop of a simulation."""

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.spatial import ca

H = 1e-3
ARM = fj.random_robot(2, 7, prismatic=0.0, elastic=0.5)
REST = np.array([0.3, -0.5])
LAW = fj.control.MotorPD(ARM, [200.0, 20.0])
HIT = 0.2  # s


WRENCH = np.array([20.0, 20.0, 20.0, 5.0, 5.0, 5.0])


def push(t, state):
    """A wrench on the last link, from HIT on for 50 ms."""
    during = ca.logic_and(t >= HIT - H / 2, t < HIT + 0.05 - H / 2)
    return {ARM.tool: ca.if_else(during, 1.0, 0.0) * ca.SX(WRENCH)}


RESIDUAL = fj.observers.JointTorqueResidual(ARM, 60.0, 60.0, sensors=False)
DETECTOR = fj.observers.Detector(RESIDUAL, {"link": 0.5, "motor": 0.5})


def simulated(controller, **options):
    return fj.simulate(ARM, controller, REST, 0.6, period=H, check=False, contact=push, **options)


def test_in_the_loop_as_along_the_log():
    run = simulated(LAW, observers={"watch": DETECTOR})
    measurement = fj.observers.Measurement(run.q, run.v, run.theta, run.theta_v, None)
    wanted = DETECTOR.run(run.t, measurement, run.tau)
    for name in DETECTOR.outputs:
        assert np.allclose(run.more[f"watch.{name}"], wanted[name], rtol=1e-9, atol=1e-9), name
    J = fj.jacobian(ARM, run.q[int(HIT / H)])
    expected = J.T @ WRENCH
    assert np.max(np.abs(run.more["watch.link"][int(HIT / H) + 50] / expected - (1 - np.exp(-3)))) < 0.1
    assert np.max(np.abs(run.more["watch.motor"])) < 0.01 * np.max(np.abs(expected))
    alarm = np.flatnonzero(np.any(run.more["watch.link_alarm"], axis=-1))[0]
    assert HIT / H < alarm < HIT / H + 10


@pytest.mark.parametrize(
    "reaction",
    [fj.control.Stop(ARM, 30.0), fj.control.ZeroGravity(ARM), fj.control.Reflex(ARM, 1.0, 1.0)],
    ids=lambda x: type(x).__name__,
)
def test_reactions_take_over_at_the_alarm(reaction):
    guarded = fj.control.Guarded(LAW, DETECTOR, reaction)
    run = simulated(guarded)
    free = simulated(LAW)
    wanted = DETECTOR.run(run.t, fj.observers.Measurement(run.q, run.v, run.theta, run.theta_v, None), run.tau)
    alarm = np.flatnonzero(np.any(wanted["link_alarm"], axis=-1))[0]
    assert np.allclose(run.tau[:alarm], free.tau[:alarm], rtol=1e-12)
    g, r = fj.gravity_torque(ARM, run.q), wanted["link"]
    late = {
        "Stop": g - 30.0 * run.theta_v,
        "ZeroGravity": g,
        "Reflex": g + r - 1.0 * run.theta_v,
    }[type(reaction).__name__]
    assert np.allclose(run.tau[alarm:], late[alarm:], rtol=1e-6, atol=1e-9)
    assert run.memory[-1] == 1


def test_without_a_latch_control_comes_back():
    run = simulated(fj.control.Guarded(LAW, DETECTOR, fj.control.ZeroGravity(ARM), latched=False))
    g = fj.gravity_torque(ARM, run.q)
    floating = np.all(np.abs(run.tau - g) < 1e-9, axis=-1)
    assert np.any(floating[220:250]) and not np.any(floating[-50:])


def test_a_blind_detector_is_an_alarm():
    numb = fj.observers.Detector(RESIDUAL, {"link": 1e6})
    guarded = fj.control.Guarded(LAW, numb, fj.control.ZeroGravity(ARM), patience=0.0105)
    state, measurement = guarded.start([REST]), fj.JointState(REST, np.zeros(2), REST, np.zeros(2))
    torques = []
    for k in range(30):
        if k >= 10:
            measurement = measurement._replace(theta_v=np.full(2, 1e301))  # what no sensor can mean
        state, tau = guarded(state, [REST + 0.1], measurement)
        torques.append(tau)
    zero = np.all(np.isclose(torques, fj.gravity_torque(ARM, REST)), axis=-1)
    assert zero.tolist() == [False] * 20 + [True] * 10


@pytest.mark.long
def test_a_guard_with_torque_sensors():
    """Perfect torque sensors tell the detector what positions and an exact model do; biased ones raise an alarm."""
    sensed = fj.observers.Detector(fj.observers.JointTorqueResidual(ARM, 60.0, 60.0), dict(DETECTOR.thresholds))
    runs = [
        simulated(fj.control.Guarded(LAW, detector, fj.control.ZeroGravity(ARM))) for detector in (DETECTOR, sensed)
    ]
    assert runs[0].memory[-1] == runs[1].memory[-1] == 1
    assert np.allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-9)
    guarded = fj.control.Guarded(LAW, sensed, fj.control.ZeroGravity(ARM))
    assert guarded.torque_sensors
    biased = fj.simulation.Sensors(torque_bias=1.0)
    calm, alarmed = (fj.simulate(ARM, guarded, REST, 0.1, period=H, check=False, sensors=x) for x in (None, biased))
    assert (calm.memory[-1], alarmed.memory[-1]) == (0, 1)


def test_guards_refuse_what_does_not_fit():
    with pytest.raises(fj.InputError, match="different numbers of joints"):
        fj.control.Guarded(LAW, DETECTOR, fj.control.ZeroGravity(fj.random_robot(3, 1)))
    with pytest.raises(fj.InputError, match="detector is None; give a Detector"):
        fj.control.Guarded(LAW, None, fj.control.ZeroGravity(ARM))
    with pytest.raises(fj.InputError, match="damping"):
        fj.control.Stop(ARM, -1.0)


def test_one_does_not_flee_from_a_power():
    """The residual of energy is one number, in W, and says nothing of directions."""
    rigid = fj.random_robot(2, 7, prismatic=0.0)
    watch = fj.observers.Detector(fj.observers.EnergyResidual(rigid, 60.0), {"power": 1.0})
    law = fj.control.ComputedTorque(rigid, fj.control.gains_from_poles([-8.0, -8.0]))
    with pytest.raises(fj.InputError, match="Reflex needs the residual of the links, the detector has power"):
        fj.control.Guarded(law, watch, fj.control.Reflex(rigid, 1.0))
    assert fj.control.Guarded(law, watch, fj.control.Stop(rigid, 5.0)).robot is rigid


def test_the_complete_model_of_rotors():
    """Links and motors that carry each other: only the model that knows it finds nothing but the push."""
    robot = ARM.with_drives([fj.ElasticDrive(800.0, fj.Motor.from_rotor(2e-3, x)) for x in (20.0, -30.0)])
    whole = robot.with_fidelity("complete")
    run = fj.simulate(
        whole, fj.control.OpenLoop(whole), np.array([3.0, -2.0]), 0.3, period=H, contact=push, check=False, substeps=2
    )
    log = (run.t, fj.observers.Measurement(run.q, run.v, run.theta, run.theta_v, None), run.tau)
    told, spong = (fj.observers.JointTorqueResidual(x, 60.0, 60.0, sensors=False).run(*log) for x in (whole, robot))
    at = int(HIT / H)
    size = np.max(np.abs(told["link"]))
    for name in ("link", "motor"):
        nothing, something = (np.max(np.abs(x[name][:at])) for x in (told, spong))
        assert nothing < 1e-4 * size
        assert something > 100 * nothing
    assert np.max(np.abs(told["motor"])) < 2e-3 * size
    push_at_joints = fj.jacobian(whole, run.q[at]).T @ WRENCH
    assert np.allclose(told["link"][at + 30], (1 - np.exp(-1.8)) * push_at_joints, rtol=0.05)
    for kind in (fj.observers.EnergyResidual, fj.observers.MomentumResidual):
        with pytest.raises(fj.InputError, match="elastic"):
            kind(whole, 60.0)
    with pytest.raises(fj.InputError, match=r"MotorEncoderResidual: .*with_fidelity\('spong'\)"):
        fj.observers.MotorEncoderResidual(whole, 60.0, 200.0)


def test_a_lever_of_variable_stiffness():
    """Its second motor does not pull at the link, and both motors' residuals stay at zero when it is pushed."""
    lever = fj.drives.LeverDrive(4e4, 0.1, 0.05, 0.15, fj.Motor(0.3, 0.4), fj.Motor(2.0, 3.0))
    arm = fj.random_robot(1, 3, prismatic=0.0).with_drives([lever])
    w = np.array([0, 0, 0, 0, 0, 4.0])

    def hit(t, state):
        return {arm.tool: ca.if_else(t >= 0.05 - H / 8, 1.0, 0.0) * ca.SX(w)}

    residual = fj.observers.JointTorqueResidual(arm, 60.0, 60.0, H / 4, sensors=False)  # the spring swings at 100 rad/s
    start = fj.JointState(np.array([0.1]), np.zeros(1), np.array([0.12, 0.01]), np.zeros(2))
    options = {"period": H / 4, "contact": hit, "observers": {"watch": residual}, "check": False, "start": start}
    run = fj.simulate(arm, fj.control.OpenLoop(arm), np.array([2.0, -1.0]), 0.1, **options)
    u = fj.jacobian(arm, run.q[-1]).T @ w
    assert np.allclose(run.more["watch.link"][-1], (1 - np.exp(-3.0)) * u, rtol=0.02)
    assert np.max(np.abs(run.more["watch.link"][:200])) < 1e-3 * abs(u[0])
    assert np.max(np.abs(run.more["watch.motor"])) < 1e-3 * abs(u[0])
    with pytest.raises(fj.InputError, match="share a spring"):
        fj.observers.MotorEncoderResidual(arm, 60.0, 300.0)


def test_rotors_that_turn_with_their_joints():
    """A free motion of the complete model leaves no residual, and one of Spong's model does not explain it."""
    robot = ARM.with_drives([fj.RigidDrive(fj.Motor.from_rotor(2e-3, x)) for x in (20.0, -30.0)])
    whole = robot.with_fidelity("complete")
    run = fj.simulate(whole, fj.control.OpenLoop(whole), np.array([3.0, -2.0]), 0.3, period=H, check=False)
    log = (run.t, fj.observers.Measurement(run.q, run.v, None, None, None), run.tau)
    nothing, something = (
        np.max(np.abs(fj.observers.MomentumResidual(x, 60.0).run(*log)["residual"])) for x in (whole, robot)
    )
    assert nothing < 1e-4 and something > 0.05
