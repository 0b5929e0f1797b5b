"""Residuals one sample at a time, along logs, and with samples that cannot be used; alarms."""

import dataclasses

import numpy as np
import pytest

import flexjoint as fj

ARM = fj.random_robot(2, 7, prismatic=0.0)
ELASTIC = fj.random_robot(2, 7, prismatic=0.0, elastic=1.0)
CUTOFF = 40.0
H = 1e-3
GOOD, SATURATED, FIRST, GAP, INVALID, STALE = map(int, list(fj.observers.Status)[:6])


def limited(robot, effort):
    links = [
        dataclasses.replace(x, joint=dataclasses.replace(x.joint, limits=fj.Limits(effort=effort))) for x in robot.links
    ]
    return robot.replace(links=tuple(links))


def at_rest(robot, u, count, t=None):
    """A log of a robot that is held where it is against u: (times, measurement, torque from each time on)."""
    q = np.tile([0.3, -0.5], (count, 1))
    tau = fj.gravity_torque(robot, q) - u
    t = H * np.arange(count) if t is None else t
    still = np.zeros_like(q)
    return t, fj.observers.Measurement(q, still, q, still, still, still), tau


RESIDUAL = fj.observers.MomentumResidual(ARM, CUTOFF)
U = np.array([2.0, -3.0])


def test_a_constant_force_is_filtered_exactly_whatever_the_times():
    rng = np.random.default_rng(0)
    t = 5.0 + np.cumsum(rng.uniform(1e-4, 0.04, 100))
    found = RESIDUAL.run(*at_rest(ARM, U, 100, t))["residual"]
    assert np.allclose(found, (1 - np.exp(-CUTOFF * (t - t[0])))[:, None] * U, rtol=0, atol=1e-12)


def test_one_sample_at_a_time_is_the_same_as_a_log():
    t, measurement, tau = at_rest(ARM, U, 70)
    wanted = RESIDUAL.run(t, measurement, tau)
    first = fj.observers.Measurement(*(x[0] for x in measurement))
    state, outputs = RESIDUAL.start(first)
    timed = state[0].copy()
    for k in range(1, len(t)):
        now = fj.observers.Measurement(*(x[k] for x in measurement))
        state, outputs = RESIDUAL(state, now, tau[k - 1])
        timed, residual, *_ = RESIDUAL.kernel(timed, t[k] - t[k - 1], now.q, now.v, tau[k - 1])
        assert np.allclose(outputs["residual"], wanted["residual"][k], rtol=1e-12)
        assert np.array_equal(residual, wanted["residual"][k])


def test_the_kernel_allocates_nothing():
    """The arrays it is given are those it returns."""
    _, measurement, tau = at_rest(ARM, U, 1)
    out = (np.empty(RESIDUAL.memory), np.empty(2), np.empty(1), np.empty(1))
    found = RESIDUAL.kernel(RESIDUAL.initial_state[0], H, measurement.q[0], measurement.v[0], tau[0], out=out)
    assert all(x is y for x, y in zip(found, out))


def test_many_logs_at_once():
    logs = [at_rest(ARM, k * U, 70) for k in range(3)]
    t, tau = logs[0][0], np.stack([x[2] for x in logs])
    found = RESIDUAL.run(t, logs[0][1], tau)["residual"]
    for k, log in enumerate(logs):
        assert np.array_equal(found[k], RESIDUAL.run(*log)["residual"])


def changed(log, row, **arrays):
    """A log with other values in a row."""
    t, measurement, tau = log[0].copy(), fj.observers.Measurement(*(x.copy() for x in log[1])), log[2].copy()
    for name, value in arrays.items():
        {"t": t, "tau": tau, **measurement._asdict()}[name][row] = value
    return t, measurement, tau


def statuses(found):
    return found["status"][:, 0].tolist()


@pytest.mark.parametrize("name", ["q", "v"])
def test_a_sensor_without_a_number(name):
    """The residual stays, says that it is blind and since when, and then has missed nothing."""
    log = at_rest(ARM, U, 40)
    wanted = RESIDUAL.run(*log)
    found = RESIDUAL.run(*changed(log, slice(20, 25), **{name: np.nan}))
    assert statuses(found) == [FIRST] + [GOOD] * 19 + [INVALID] * 5 + [GOOD] * 15
    assert np.array_equal(found["residual"][20:25], np.tile(found["residual"][19], (5, 1)))
    assert np.allclose(found["blind"][18:27, 0], [0, 0, H, 2 * H, 3 * H, 4 * H, 5 * H, 0, 0], atol=1e-15)
    assert np.allclose(found["residual"][25:], wanted["residual"][25:], rtol=1e-12)


def test_a_position_that_no_encoder_can_mean():
    """Beyond the range of sine and cosine: as good as none, and the state stays finite."""
    found = RESIDUAL.run(*changed(at_rest(ARM, U, 40), 20, q=1e12))
    assert statuses(found) == [FIRST] + [GOOD] * 19 + [INVALID] + [GOOD] * 19


def test_a_sensor_that_is_not_there_is_not_missed():
    """Torque sensors at rigid joints."""
    robot = fj.random_robot(2, 7, prismatic=0.0, elastic=0.5)
    t, measurement, tau = at_rest(robot, U, 10)
    tau_e = np.where(robot.compliant, fj.gravity_torque(robot, measurement.q), np.nan)
    found = fj.observers.JointTorqueResidual(robot, CUTOFF, CUTOFF).run(t, measurement._replace(tau_e=tau_e), tau)
    assert statuses(found) == [FIRST] + [GOOD] * 9


@pytest.mark.parametrize("name", ["theta", "theta_v"])
def test_motor_encoders_that_fail(name):
    residual = fj.observers.MotorEncoderResidual(ELASTIC, CUTOFF, 500.0)
    t, measurement, tau = at_rest(ELASTIC, 0.0, 60)
    stiffness = np.array([x.drive.stiffness for x in ELASTIC.joints])
    log = (t, measurement._replace(theta=measurement.q + tau / stiffness), tau)
    found = residual.run(*changed(log, slice(30, 33), **{name: np.nan}))
    settling = [int(fj.observers.Status.SETTLING)] * 14
    assert statuses(found) == [FIRST, *settling, FIRST, *[GOOD] * 14, *[INVALID] * 3, *[GOOD] * 27]
    assert np.max(np.abs(found["link"])) < 1e-9
    assert np.allclose(found["q"][20:], measurement.q[20:], atol=1e-12)
    assert np.allclose(found["blind"][28:35, 0], [0, 0, H, 2 * H, 3 * H, 0, 0])


def test_a_torque_that_the_spring_cannot_have():
    """Then the link is nowhere: told, and settled anew afterwards."""
    soft = fj.ElasticDrive(fj.springs.ExponentialSpring(100.0, 10.0), fj.Motor(1.0))  # more than −10 Nm
    robot = fj.random_robot(1, 2, prismatic=0.0).with_drives([soft]).with_gravity([0, 0, 0])
    still, tau = np.zeros((60, 1)), np.zeros((60, 1))
    tau[30:40] = -300.0
    found = fj.observers.MotorEncoderResidual(robot, CUTOFF, 500.0).run(
        H * np.arange(60), fj.observers.Measurement(None, None, still, still, None), tau
    )
    told, settling = statuses(found), int(fj.observers.Status.SETTLING)
    assert told[29:34] == [GOOD, GOOD, INVALID, INVALID, INVALID]
    assert told[-1] == settling
    assert all(np.all(np.isfinite(x)) for x in found.values())
    assert found["blind"][35, 0] == pytest.approx(5 * H)


def test_torques_go_on_while_a_sensor_does_not():
    log = at_rest(ARM, np.sin(np.arange(40.0))[:, None] * U, 40)
    lost = RESIDUAL.run(*changed(log, slice(20, 25), q=np.nan))["residual"]
    u = log[2][19:25] - fj.gravity_torque(ARM, [0.3, -0.5])
    fade = np.exp(-CUTOFF * 6 * H)
    assert np.allclose(lost[25], fade * lost[19] - (1 - fade) * np.mean(u, axis=0), rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_torque_without_a_number_begins_anew(bad):
    """What it did is not known, so the samples before and after it are not compared."""
    found = RESIDUAL.run(*changed(at_rest(ARM, U, 40), 20, tau=bad))
    assert statuses(found) == [FIRST] + [GOOD] * 20 + [INVALID, FIRST] + [GOOD] * 17
    assert np.array_equal(found["residual"][22], found["residual"][20])
    assert np.allclose(found["blind"][20:24, 0], [0, H, 2 * H, 0], atol=1e-15)


def test_time_that_stands_still_or_runs_backwards_is_ignored():
    log = at_rest(ARM, U, 40)
    t = log[0].copy()
    t[20], t[21] = t[19], t[10]
    found = RESIDUAL.run(t, *log[1:])
    assert statuses(found)[19:23] == [GOOD, STALE, STALE, GOOD]
    assert np.allclose(found["residual"][22], RESIDUAL.run(*log)["residual"][22], rtol=1e-12)


def test_a_time_without_a_number_begins_anew():
    found = RESIDUAL.run(*changed(at_rest(ARM, U, 40), 20, t=np.nan))
    assert statuses(found)[19:23] == [GOOD, INVALID, FIRST, GOOD]
    assert found["blind"][20, 0] == pytest.approx(H)


def test_short_gaps_are_bridged_and_long_ones_told():
    t = H * np.concatenate([np.arange(20), 60 + np.arange(20), 200 + np.arange(20)])  # 41 and 121 ms
    found = RESIDUAL.run(*at_rest(ARM, U, 60, t))
    assert statuses(found) == [FIRST] + [GOOD] * 39 + [GAP] + [GOOD] * 19
    assert np.allclose(found["residual"][39], (1 - np.exp(-CUTOFF * t[39])) * U)
    assert np.array_equal(found["residual"][40], found["residual"][39])
    assert found["blind"][40, 0] == pytest.approx(0.121)


def test_torques_beyond_the_limit_count_as_the_limit():
    """A motor that is asked for more than it has looks healthy, and the status tells."""
    free = fj.gravity_torque(ARM, [0.3, -0.5])
    limit = float(np.max(np.abs(free)))
    residual = fj.observers.MomentumResidual(limited(ARM, limit), CUTOFF)
    t, measurement, tau = at_rest(ARM, 0.0, 40)
    worst = int(np.argmax(np.abs(free)))
    tau[20:, worst] *= 3.0
    found = residual.run(t, measurement, tau)
    assert statuses(found) == [FIRST] + [GOOD] * 20 + [SATURATED] * 19
    assert np.max(np.abs(found["residual"])) < 1e-12
    assert np.max(np.abs(RESIDUAL.run(t, measurement, tau)["residual"])) > 0.1 * limit


def test_torques_measured_at_the_samples():
    t, measurement, tau = at_rest(ARM, U, 40)
    tau += np.linspace(0, 1, 40)[:, None]
    between = np.concatenate([(tau[1:] + tau[:-1]) / 2, tau[-1:]])
    found = RESIDUAL.run(t, measurement, tau, held=False)["residual"]
    assert np.array_equal(found, RESIDUAL.run(t, measurement, between)["residual"])


def test_what_is_missing_in_a_log_is_named():
    t, measurement, tau = at_rest(ARM, U, 4)
    with pytest.raises(fj.InputError, match=r"MomentumResidual: v of a log must be \(..., m, 2\) numbers, not missing"):
        RESIDUAL.run(t, measurement._replace(v=None), tau)
    with pytest.raises(fj.InputError, match="torque of a log"):
        RESIDUAL.run(t, measurement, tau[:, :1])
    with pytest.raises(fj.InputError, match="do not have the same length"):
        RESIDUAL.run(t, measurement, tau[:3])


@pytest.mark.parametrize("t", [0.0, np.zeros(0)])
def test_a_log_has_times(t):
    m = np.size(t)
    with pytest.raises(fj.InputError, match="times of a log have shape"):
        RESIDUAL.run(
            t, fj.observers.Measurement(np.zeros((m, 2)), np.zeros((m, 2)), None, None, None), np.zeros((m, 2))
        )


def test_bad_numbers_are_refused():
    with pytest.raises(fj.InputError, match=r"'link1_joint' is elastic.*JointTorqueResidual"):
        fj.observers.MomentumResidual(ELASTIC, CUTOFF)
    for cutoff in (0.0, -1.0, np.nan, [1.0, 2.0, 3.0]):
        with pytest.raises(fj.InputError, match="cutoff"):
            fj.observers.MomentumResidual(ARM, cutoff)
    with pytest.raises(fj.InputError, match=r"max_gap is 0\.0; it must be a positive number"):
        fj.observers.MomentumResidual(ARM, CUTOFF, max_gap=0.0)


def test_springs_from_deflections_instead_of_sensors():
    """The same residuals, with no torque sensor but an encoder on both sides."""
    rng = np.random.default_rng(1)
    t = H * np.arange(50)
    q, theta = (np.cumsum(rng.normal(size=(50, 2)), axis=0) * 1e-3 for _ in range(2))
    v, theta_v, tau = (rng.normal(size=(50, 2)) for _ in range(3))
    tau_e = fj.dynamics.spring_torques(ELASTIC, q, v, theta, theta_v).tau_e
    one = fj.observers.JointTorqueResidual(ELASTIC, CUTOFF, 2 * CUTOFF)
    two = fj.observers.JointTorqueResidual(ELASTIC, CUTOFF, 2 * CUTOFF, sensors=False)
    assert "tau_e" in one.reads and "tau_e" not in two.reads
    first = one.run(t, fj.observers.Measurement(q, v, None, theta_v, tau_e), tau)
    second = two.run(t, fj.observers.Measurement(q, v, theta, theta_v, None), tau)
    for name in ("link", "motor"):
        assert np.allclose(first[name], second[name], rtol=1e-9, atol=1e-9)


def test_kernels_are_kept_under_names_that_say_everything():
    """... and observers of users, whose code may change, under none."""
    detector = fj.observers.Detector(RESIDUAL, {"residual": 1.0})
    others = [
        fj.observers.Detector(RESIDUAL, {"residual": 1.0 + 1e-12}),
        fj.observers.Detector(RESIDUAL, {"residual": 1.0}, release=0.71),
        fj.observers.Detector(fj.observers.MomentumResidual(ARM, CUTOFF * (1 + 1e-14)), {"residual": 1.0}),
        fj.observers.Detector(fj.observers.MomentumResidual(ARM.with_payload(1e-9), CUTOFF), {"residual": 1.0}),
    ]
    keys = {x._key("sample") for x in (detector, *others)}
    assert len(keys) == 5 and detector._key("sample") == fj.observers.Detector(RESIDUAL, {"residual": 1.0})._key(
        "sample"
    )

    @dataclasses.dataclass(frozen=True, eq=False, repr=False)
    class Own(fj.observers.MomentumResidual):
        """A user's."""

    assert fj.observers.Detector(Own(ARM, CUTOFF), {"residual": 1.0})._key("sample") is None


# Alarms ---------------------------------------------------------------------------------------------------------------


DETECTOR = fj.observers.Detector(RESIDUAL, {"residual": 1.0}, release=0.5)


def detected(u, detector=DETECTOR):
    """Alarms of joint 1 while u acts on it, and the residual."""
    count = len(u)
    found = detector.run(*at_rest(ARM, np.outer(u, [1.0, 0.0]), count))
    assert np.array_equal(found["residual"], RESIDUAL.run(*at_rest(ARM, np.outer(u, [1.0, 0.0]), count))["residual"])
    assert not np.any(found["residual_alarm"][:, 1])
    return found["residual_alarm"][:, 0], found["residual"][:, 0]


def test_alarms_have_hysteresis():
    u = np.concatenate([np.full(100, 2.0), np.full(100, 0.8), np.zeros(100)])
    alarm, r = detected(u)
    begin, end = np.flatnonzero(r > 1.0)[0], np.flatnonzero(r[150:] < 0.5)[0] + 150
    assert np.array_equal(np.flatnonzero(alarm), np.arange(begin, end))
    assert 0 < begin < 100 < 200 < end < 300


def test_alarms_wait_for_confirmation():
    alarm, r = detected(np.full(100, 2.0), fj.observers.Detector(RESIDUAL, {"residual": 1.0}, confirmation=0.0095))
    begin = np.flatnonzero(r > 1.0)[0]
    assert np.flatnonzero(alarm)[0] == begin + 9  # the tenth sample above


def test_alarms_stay_while_the_residual_is_blind():
    log = at_rest(ARM, np.outer(np.r_[np.full(60, 2.0), np.zeros(140)], [1.0, 0.0]), 200)
    found = DETECTOR.run(*changed(log, slice(50, 90), q=np.nan))
    assert np.all(found["residual_alarm"][40:90, 0] == 1)
    assert np.all(found["blind"][50:90] > 0) and found["blind"][89, 0] == pytest.approx(0.040)
    assert found["residual_alarm"][-1, 0] == 0


def test_detectors_refuse_what_they_cannot_watch():
    with pytest.raises(fj.InputError, match=r"no residual \['motor'\]; there are residual"):
        fj.observers.Detector(RESIDUAL, {"motor": 1.0})
    with pytest.raises(fj.InputError, match=r"threshold of 'residual' is \[1.0, 0.0\]; every number must be positive"):
        fj.observers.Detector(RESIDUAL, {"residual": [1.0, 0.0]})
    with pytest.raises(fj.InputError, match="release"):
        fj.observers.Detector(RESIDUAL, {"residual": 1.0}, release=2.0)
