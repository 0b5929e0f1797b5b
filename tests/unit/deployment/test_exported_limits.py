"""Exported controllers keep the limits of torque, torque rate and samples; `serve` and FMUs too."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.deployment import Flag, online_loop
from flexjoint.deployment.packets import GREETING, command_packet, read_state

PERIOD, RATE = 1e-3, 1000.0
READY = np.array([0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0])


def with_rate(robot, rate=RATE):
    """The robot with a limit of the torque rate at every joint."""

    def limited(link):
        return replace(link, joint=replace(link.joint, limits=replace(link.joint.limits, torque_rate=rate)))

    return robot.replace(links=[limited(x) if x.joint.drive else x for x in robot.links])


@pytest.fixture(scope="module")
def panda():
    return with_rate(fj.load("panda"))


@pytest.fixture(scope="module")
def loop(panda):
    return online_loop(fj.control.FeedforwardPD(panda, [600.0, 50.0]), period=PERIOD)


def hostile_steps(loop, panda, count, seed):
    """Torques, flags and whether a sample is impossible, of steps with absurd samples and references."""
    rng, state, rows = np.random.default_rng(seed), loop.start(), []
    absurd = np.array([1e25, -1e25, 30.0, -7.0, np.nan, np.inf, 1e6])
    shape = next(x.shape for x in loop.inputs if x.name == "reference")
    for k in range(count):
        theta, theta_v, reference = READY + 1e-3 * np.sin(0.01 * k), np.full(7, 1e-5), np.zeros(shape)
        reference[0] = READY
        for array, likely in ((theta, 0.1), (theta_v, 0.1), (reference, 0.2)):
            if rng.random() < likely:
                array.flat[rng.integers(array.size)] = rng.choice(absurd)
        given = {"t": k * PERIOD, "theta": theta, "theta_v": theta_v, "reference": reference}
        state, found = loop.step(state, given)
        bad = not (np.abs(theta) < 4).all() or not (np.abs(theta_v) < 6).all()
        rows.append((found["tau"], int(found["flags"]), bad))
    return [np.array(x) for x in zip(*rows)]


@pytest.mark.parametrize("count", [3000, pytest.param(200_000, marks=pytest.mark.long)])
def test_hostile_samples_cannot_exceed_the_limits(loop, panda, count):
    tau, flags, bad = hostile_steps(loop, panda, count, seed=count)
    efforts = np.array(panda.motor_efforts)
    assert np.isfinite(tau).all() and (np.abs(tau) <= efforts).all()
    steps = np.abs(np.diff(tau, axis=0, prepend=0.0))
    assert steps.max() <= RATE * PERIOD * (1 + 1e-9)
    assert np.all(flags[bad] & (Flag.INVALID | Flag.IMPLAUSIBLE)) and not np.any(flags[~bad] & Flag.IMPLAUSIBLE)
    at_limit = (steps > RATE * PERIOD * (1 - 1e-9)).any(axis=1)
    assert np.all(flags[at_limit] & Flag.LIMITED)


def test_one_absurd_encoder_sample_keeps_the_torque(loop):
    state, reference = loop.start(), np.zeros((5, 7))
    reference[0] = READY
    given = {"theta": READY, "theta_v": np.zeros(7), "reference": reference}
    for k in range(200):
        state, before = loop.step(state, given | {"t": k * PERIOD})
    state, found = loop.step(state, given | {"t": 0.2, "theta": READY + 1e25 * (np.arange(7) == 2)})
    assert Flag(int(found["flags"])) == Flag.INVALID | Flag.IMPLAUSIBLE | Flag.HELD
    assert np.array_equal(found["tau"], before["tau"])
    state, found = loop.step(state, given | {"t": 0.201})
    assert int(found["flags"]) == 0 and state[[x.name for x in loop.state].index("refused")] == 1


def test_the_torque_of_a_silent_robot_falls_at_the_limit_of_its_rate(loop):
    state, reference = loop.start(), np.zeros((5, 7))
    reference[0] = READY
    given = {"theta": READY, "theta_v": np.zeros(7), "reference": reference}
    for k in range(200):
        state, found = loop.step(state, given | {"t": k * PERIOD})
    last, torques = found["tau"], []
    for k in range(60):
        state, found = loop.step(state, given | {"t": 0.2 + k * PERIOD, "theta": np.full(7, np.nan)})
        torques.append(found["tau"])
    expected = np.sign(last) * np.maximum(np.abs(last) - RATE * PERIOD * np.maximum(np.arange(60) - 9, 0)[:, None], 0)
    np.testing.assert_allclose(torques, expected, atol=1e-9)


def test_the_bits_are_those_of_a_simulation_with_the_same_limits(panda):
    """A step of the reference drives torque and rate into their limits."""
    law = fj.control.MotorPD(panda, [600.0, 50.0])
    goal, start = READY + 0.04, fj.simulation.at_rest(panda, READY)
    limits = fj.simulation.Actuators()
    run = fj.simulate(panda, law, goal, 0.1, period=PERIOD, start=start, actuators=limits, check=False)
    loop = online_loop(law, period=PERIOD)
    state = list(loop.start())
    state[[x.name for x in loop.state].index("tau_before")] = run.tau[0]
    limited = 0
    for k, t in enumerate(run.t):
        given = {"t": t, "theta": run.theta[k], "theta_v": run.theta_v[k], "reference": goal[None]}
        state, found = loop.step(state, given)
        assert np.array_equal(found["tau"], run.tau[k]), k
        limited += bool(int(found["flags"]) & Flag.LIMITED)
    assert limited > 10


def test_actuators_limit_the_rate(panda):
    """Against a loop in NumPy, with a delay."""
    law = fj.control.MotorPD(panda, [600.0, 50.0])
    actuators = fj.simulation.Actuators(effort=30.0, delay=1, torque_rate=500.0)
    start = fj.simulation.at_rest(panda, READY)
    run = fj.simulate(panda, law, READY + 0.2, 0.1, period=PERIOD, start=start, actuators=actuators, check=False)
    _, command = law((), [READY + 0.2], fj.JointState(run.q, run.v, run.theta, run.theta_v))
    command = np.concatenate([command[:1], command[:-1]])
    before = np.clip(command[0], -30.0, 30.0)
    for k, tau in enumerate(run.tau):
        before = np.clip(np.clip(command[k], -30.0, 30.0), before - 0.5, before + 0.5)
        np.testing.assert_allclose(tau, before, atol=1e-9)


def test_a_robot_without_torque_limits_is_refused():
    robot = fj.load("hua_3r")
    law = fj.control.MotorPD(robot, [500.0, 50.0])
    with pytest.raises(fj.InputError, match=r"no torque limit at joint1, joint2, joint3: give limits.effort"):
        online_loop(law, period=PERIOD)


def test_torque_rates_in_files(tmp_path):
    robot = with_rate(fj.load("hua_3r"))
    fj.write_robot(robot, tmp_path / "arm.toml")
    assert fj.load(tmp_path / "arm.toml").motor_torque_rates == (RATE,) * 3
    with pytest.raises(fj.RobotError, match="torque_rate"):
        with_rate(robot, -1.0)


# On the wire ----------------------------------------------------------------------------------------------------------


def beside(robot, duration, controller, **options):
    """What `serve` returns, with `controller(port)` in a thread."""
    threads = []

    def ready(host, port):
        threads.append(threading.Thread(target=controller, args=(port,)))
        threads[0].start()

    found = fj.deployment.serve(robot, duration, ready=ready, record=True, **options)
    threads[0].join()
    return found


def connected(port):
    channel = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    channel.settimeout(0.5)
    channel.connect(("127.0.0.1", port))
    channel.send(command_packet(GREETING, np.zeros(7)))
    return channel


def test_the_served_robot_keeps_its_limits(panda):
    def controller(port):
        with connected(port) as channel:
            for _ in range(50):
                k, _, _ = read_state(channel.recv(65536), 7, 7)
                channel.send(command_packet(k, np.full(7, 1e6)))

    found = beside(panda, 0.05, controller, lock_step=True, q=READY)
    assert found.limited == 50 and (found.torques <= np.array(panda.motor_efforts)).all()
    assert np.abs(np.diff(found.torques, axis=0)).max() <= RATE * PERIOD * (1 + 1e-9)


def test_a_restarted_controller_gets_in_again_and_a_flood_delays_nothing(panda):
    answered = []

    def controller(port):
        first = connected(port)
        flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        flood.connect(("127.0.0.1", port))
        for _ in range(20_000):
            flood.send(b"x" * 60)
        first.close()
        time.sleep(1.2)  # no command for more than a second
        with connected(port) as second:
            for _ in range(20):
                k, _, _ = read_state(second.recv(65536), 7, 7)
                second.send(command_packet(k, np.zeros(7)))
                answered.append(k)
        flood.close()

    found = beside(panda, 2.5, controller, q=READY)
    assert len(answered) == 20 and found.foreign > 1000
