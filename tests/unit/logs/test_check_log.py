"""Checks of logs: torques of Pinocchio with friction and noise, then each mistake that people make."""

from dataclasses import replace

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.logs import Log, check_log

pin = pytest.importorskip("pinocchio")

COUNT, H = 4000, 2e-3
STEP = 2 * np.pi / 2**19  # of an encoder


def motion(robot, seed):
    """Positions, velocities and accelerations of sines around the middle of the joints' ranges."""
    random, t = np.random.default_rng(seed), H * np.arange(COUNT)[:, None]
    middle = [(x.lower + x.upper) / 2 if np.isfinite(x.lower) else 0.3 for x in robot.joint_limits]
    q, v, a = np.tile(middle, (COUNT, 1)), np.zeros((COUNT, robot.n)), np.zeros((COUNT, robot.n))
    for k in range(3):
        w, phase, size = random.uniform(0.5, 3.0, robot.n), random.uniform(0, 6, robot.n), 0.4 / (k + 1)
        q += size * np.sin(w * t + phase)
        v += size * w * np.cos(w * t + phase)
        a -= size * w * w * np.sin(w * t + phase)
    return t[:, 0], q, v, a


@pytest.fixture(scope="module")
def good():
    """A log of the Panda: encoders of 19 bits, noise, friction; torques by Pinocchio."""
    robot = fj.load("panda")
    t, q, v, a = motion(robot, 0)
    model = fj.formats.to_pinocchio(robot.without_drives().without_friction())
    data = model.createData()
    tau = np.array([pin.rnea(model, data, *row) for row in zip(q, v, a)])
    inertia = np.array([joint.drive.motors[0].inertia for joint in robot.joints])
    stiffness = np.array([joint.drive.stiffness for joint in robot.joints])
    random = np.random.default_rng(1)
    friction = 0.5 * np.tanh(v / 0.02) + 0.5 * v
    return Log(
        robot,
        t,
        q=STEP * np.round(q / STEP),
        v=v + 0.005 * random.normal(size=v.shape),
        theta=STEP * np.round((q + tau / stiffness) / STEP),
        tau_e=tau + 0.05 * random.normal(size=v.shape),
        tau=tau + inertia * a + friction + 0.05 * random.normal(size=v.shape),
        sensors=(True,) * 7,
    )


def only(log, level, rule, *words):
    """The only finding of a level is of this rule and has these words."""
    found = [x for x in check_log(log) if x.level == level]
    assert [x.rule for x in found] == [rule], found
    for word in words:
        assert word in str(found[0]), found[0]


def test_nothing_is_found_in_a_good_log(good):
    assert check_log(good) == ()
    assert check_log(replace(good, tau_e=None, sensors=None)) == ()
    with pytest.raises(fj.InputError, match=r"check_log: log is .*; give a Log"):
        check_log("log.csv")


@pytest.mark.parametrize("quantity", ["tau", "tau_e"])
def test_joints_in_another_order(good, quantity):
    other = {"tau": "tau_e", "tau_e": "tau"}[quantity]
    log = replace(good, theta=None, **{other: None})
    order = [0, 2, 1, 3, 4, 6, 5]
    names = [good.robot.joints[i].name for i in order]
    mixed = {name: getattr(log, name)[:, order] for name in ("q", "v", quantity)}
    only(replace(log, **mixed), "error", "order", "all columns are in another order, such as " + ", ".join(names))
    torques = replace(log, **{quantity: getattr(log, quantity)[:, order]})
    only(torques, "error", "order", f"the columns of {quantity} are in another order than those of q", ", ".join(names))


def test_reversed_order_of_many_joints():
    robot = fj.random_robot(8, 5, prismatic=0.0)
    t, q, v, a = motion(robot, 3)
    model = fj.formats.to_pinocchio(robot.without_drives())
    data = model.createData()
    tau = np.array([pin.rnea(model, data, *row) for row in zip(q, v, a)])
    assert check_log(Log(robot, t, q=q, v=v, tau=tau)) == ()
    log = Log(robot, t, q=q[:, ::-1], v=v[:, ::-1], tau=tau[:, ::-1])
    only(log, "error", "order", ", ".join(joint.name for joint in robot.joints[::-1]))


def test_signs(good):
    log, turned = replace(good, tau_e=None, theta=None), np.where(np.arange(7) == 3, -1.0, 1.0)
    only(replace(log, tau=turned * log.tau), "error", "signs", "tau of panda_joint4 has the opposite sign")
    both = replace(log, q=turned * log.q, v=turned * log.v, tau=turned * log.tau)
    assert "q and tau of panda_joint4" in next(x.reason for x in check_log(both) if x.rule == "signs")
    only(replace(log, v=turned * log.v), "error", "velocities", "v of panda_joint4 has the opposite sign")


def test_joints_with_little_torque(good):
    """Joints 2 and 4 carry most of the torque: without them nothing else would be seen."""
    log = replace(good, tau_e=None, theta=None)
    turned = np.array([1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0])
    only(replace(log, tau=turned * log.tau), "error", "signs", "tau of panda_joint6 has the opposite sign")
    order = [2, 1, 4, 3, 0, 5, 6]
    only(replace(log, tau=log.tau[:, order]), "error", "order", "the columns of tau", "on average over the joints")


def test_units(good):
    log = replace(good, tau_e=None, theta=None)
    only(replace(log, q=np.rad2deg(log.q), v=np.rad2deg(log.v)), "error", "units", "looks like degrees")
    small = replace(log, q=0.1 * log.q, v=0.1 * log.v)  # a motion within the limits even in degrees
    swapped = replace(small, v=np.rad2deg(small.v))
    only(swapped, "error", "velocities", "v of panda_joint1, ", "57.3 times", "velocities are in deg/s")
    only(replace(log, t=1e3 * log.t), "error", "velocities", "1e+03 times", "the time is in ms", "--time-unit ms")
    only(replace(log, tau=log.tau / 100), "error", "units", "0.01 times", "it is a current, or before the reduction")
    only(replace(log, tau=1e3 * log.tau), "error", "units", "it is in mNm")
    geared = fj.load("panda").with_drives(
        [replace(x.drive, motor=replace(x.drive.motor, gear_ratio=100.0)) for x in good.robot.joints]
    )
    only(replace(log, robot=geared, tau=log.tau / 100), "error", "units", "before the reduction; multiply")


def test_unlimited_joints_in_degrees_are_found_by_gravity():
    robot = fj.random_robot(4, 2, prismatic=0.0)
    t, q, v, a = motion(robot, 3)
    model = fj.formats.to_pinocchio(robot.without_drives())
    data = model.createData()
    tau = np.array([pin.rnea(model, data, *row) for row in zip(q, v, a)])
    small = Log(robot, t, q=q, v=v, tau=tau)
    assert check_log(small) == ()
    only(replace(small, q=np.deg2rad(q), v=np.deg2rad(v)), "error", "units", "degrees converted to radians twice")


def test_velocities_that_are_something_else(good):
    log = replace(good, v=np.roll(good.v, 2, axis=1))
    found = [x for x in check_log(log) if x.rule == "velocities"]
    assert found and all(x.level == "error" and "is not the derivative of q" in x.reason for x in found)
    assert check_log(replace(log, v=None)) == ()


def test_saturated_torques(good):
    top = 0.6 * np.max(np.abs(good.tau[:, 1]))
    log = replace(good, tau=np.where(np.arange(7) == 1, np.clip(good.tau, -top, top), good.tau))
    count = np.count_nonzero(np.abs(log.tau[:, 1]) == top)
    only(log, "warning", "saturation", f"panda_joint2 ({count} samples at ", f"{top:.4g}"[:4])


def test_smooth_and_held_torques_are_not_saturated(good):
    rounded = replace(good, tau=np.round(good.tau, 1), tau_e=None)  # a current sensor of 0.1 Nm
    smooth = replace(good, tau=np.round(good.tau[0] + 5 * np.sin(0.3 * good.t)[:, None], 1), tau_e=None)
    held = replace(good, tau=np.repeat(good.tau[::20], 20, axis=0), tau_e=None)  # commanded at 25 Hz
    for log in (rounded, smooth, held):
        assert not [x for x in check_log(log) if x.rule == "saturation"]


def test_constant_logs(good):
    still = replace(good, q=0 * good.q + 1.0, theta=0 * good.q + 1.0, v=0 * good.v, tau_e=None, tau=0 * good.tau + 2.0)
    only(still, "error", "motion", "no joint moves: q is constant at panda_joint1")
    stuck = replace(good, tau=0 * good.tau + 2.0, tau_e=None)
    only(stuck, "error", "motion", "tau of panda_joint1, ", "never changes, though the joints move")
    one = replace(good, q=np.where(np.arange(7) == 2, 0.5, good.q), v=None, theta=None, tau=None, tau_e=None)
    only(one, "warning", "motion", "panda_joint3 stand still")
    only(Log(good.robot, good.t, tau=good.tau), "error", "motion", "the log has neither q nor theta")


def test_lost_samples_stamps_and_gaps(good):
    q = good.q.copy()
    q[::10, 2] = np.nan
    only(replace(good, q=q), "warning", "samples", "q has lost samples", "panda_joint3: 400 of 4000")
    q[:, 4] = np.nan
    only(replace(good, q=q), "error", "samples", "q of panda_joint5 has no finite number")
    late = np.where(np.arange(COUNT) >= 3000, good.t + 0.5, good.t)
    only(replace(good, t=late), "warning", "stamps", "1 gaps; the longest is 0.502 s at 5.998 s")
    repeated = good.t.copy()
    repeated[1::10] = repeated[:-1:10]
    only(replace(good, t=repeated), "warning", "stamps", "400 of 4000 time stamps repeat")
    jitter = good.t + np.random.default_rng(0).uniform(0, 0.9 * H, COUNT)
    assert any("with a deviation of" in x.reason for x in check_log(replace(good, t=jitter)))


def test_motor_positions(good):
    before = replace(good, theta=100 * good.theta)
    found = [x for x in check_log(before) if x.rule == "motors"]
    assert len(found) == 7 and "moves 100 times as far as q" in found[0].reason and found[0].level == "error"
    copied = replace(good, theta=good.q.copy(), tau_e=None)
    only(copied, "warning", "motors", "theta equals q at panda_joint1")


@pytest.mark.parametrize("digits", [None, 6, "single"])
def test_circular_logs(good, digits):
    stiffness = np.array([8000.0, 7000.0, 6000.0, 5000.0, 4000.0, 3000.0, 2000.0])
    q = good.theta - good.tau_e / stiffness
    arrays = {"q": q, "theta": good.theta, "tau_e": good.tau_e}
    if digits == "single":
        arrays = {name: x.astype(np.float32).astype(float) for name, x in arrays.items()}
    elif digits:
        arrays = {name: np.round(x, digits) for name, x in arrays.items()}
    found = [x for x in check_log(replace(good, **arrays)) if x.rule == "circular"]
    assert len(found) == 1 and found[0].level == "warning"
    if digits is None:
        assert "with stiffnesses 8000, 7000, 6000, 5000, 4000, 3000, 2000" in found[0].reason


def test_measured_springs_are_not_circular(good):
    """Encoders of 19 bits at both sides and an exact torque sensor; and printed with six digits."""
    q = motion(good.robot, 0)[1]
    theta = q + good.tau_e / 7000.0
    for step, digits in ((STEP, 17), (STEP, 6)):
        log = replace(good, q=np.round(step * np.round(q / step), digits), theta=step * np.round(theta / step))
        assert not [x for x in check_log(log) if x.rule == "circular"]


# Delays -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [0.0, 0.0007, -0.0031, 0.0123])
def test_delays_of_velocities(good, delay):
    random, t = np.random.default_rng(2), good.t[:, None]
    w = np.array([1.0, 1.3, 1.7, 2.0, 2.3, 2.9, 3.1])
    q = np.sin(w * t) + 0.3 * np.sin(3.1 * w * t + 1.0)
    v = w * np.cos(w * (t - delay)) + 0.93 * w * np.cos(3.1 * w * (t - delay) + 1.0)
    log = Log(good.robot, good.t, q=STEP * np.round(q / STEP), v=v + 0.01 * random.normal(size=v.shape))
    found = fj.logs.estimate_delays(log)
    assert [(x.quantity, x.relative_to, x.entry) for x in found] == [("v", "q", i) for i in range(7)]
    for x in found:
        assert abs(x.seconds - delay) < 0.05 * H and abs(x.seconds - delay) < 5 * x.deviation + 2e-6
    notes = [x for x in check_log(log) if x.rule == "delays"]
    assert bool(notes) == (abs(delay) > 0.25 * H)
    if notes:
        straight = fj.logs.without_delays(log, {"v": delay})
        assert all(abs(x.seconds) < 0.05 * H for x in fj.logs.estimate_delays(straight))
    with pytest.raises(fj.InputError, match="the log has no 'tau_e'; it has q, v"):
        fj.logs.without_delays(log, {"tau_e": 0.1})
    with pytest.raises(fj.InputError, match="the delay of v is 'x'; give a number"):
        fj.logs.without_delays(log, {"v": "x"})


def test_delays_of_torque_sensors(good):
    late = 0.0015
    tau = np.column_stack([np.interp(good.t - late, good.t, x) for x in good.tau_e.T])
    found = [x for x in fj.logs.estimate_delays(replace(good, tau_e=tau)) if x.quantity == "tau_e"]
    assert found and all(abs(x.seconds - late) < 0.15 * H for x in found if x.deviation < 0.05 * H)
