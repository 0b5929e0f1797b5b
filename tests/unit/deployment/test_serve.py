"""A robot over UDP: lock step against `simulate`, packets that are no commands, losses, faults, the C++ controller."""

import json
import shutil
import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from flexjoint.deployment.packets import GREETING, command_packet, read_command, read_state, state_packet

EXAMPLE = Path(__file__).parents[3] / "examples" / "udp_controller" / "controller.cpp"
PERIOD = 1e-3
GOAL = 0.3


@pytest.fixture(scope="module")
def robot():
    return fj.load("hua_3r")


@pytest.fixture(scope="module")
def law(robot):
    return fj.control.MotorPD(robot, [500.0, 50.0])


def answer(robot, law, port, count, before=()):
    """A controller in Python that answers states until one has the number count − 1."""
    n, m = robot.n, robot.motor_count
    component = fj.deployment.online_loop(law, period=PERIOD, limits=False)
    component.kernel  # noqa: B018  compiled before it greets
    state, known = component.start(), {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel, suppress(ConnectionRefusedError):
        channel.settimeout(3.0)
        channel.connect(("127.0.0.1", port))
        channel.send(command_packet(GREETING, np.zeros(m)))
        for data in before:
            channel.send(data)
        while count - 1 not in known:
            k, t, x = read_state(channel.recv(65536), n, m)
            if k not in known:
                seen = {"t": t, "theta": x[2 * n : 2 * n + m], "theta_v": x[2 * n + m : 2 * n + 2 * m]}
                state, found = component.step(state, seen | {"reference": np.full((1, n), GOAL)})
                known[k] = found["tau"]
            channel.send(command_packet(k, known[k]))
        for _ in range(20):  # the last answer may be lost
            channel.send(command_packet(count - 1, known[count - 1]))


def served(robot, law, count, before=(), **options):
    """What `serve` returns, with a controller beside it."""
    threads = []

    def ready(host, port):
        last = count - options.get("delay", 0)
        threads.append(threading.Thread(target=answer, args=(robot, law, port, last, before)))
        threads[0].start()

    found = fj.deployment.serve(robot, count * PERIOD, record=True, ready=ready, **options)
    threads[0].join()
    return found


@pytest.fixture(scope="module")
def simulated(robot, law):
    return fj.simulate(
        robot, law, np.full(3, GOAL), 0.3, period=PERIOD, start=fj.simulation.at_rest(robot, np.zeros(3))
    )


def test_lock_step_is_the_simulation(robot, law, simulated):
    found = served(robot, law, 300, lock_step=True)
    assert found.periods == 300 and not found.replayed + found.malformed + found.foreign
    columns = np.concatenate([simulated.q, simulated.v, simulated.theta, simulated.theta_v], axis=1)
    assert np.array_equal(found.history[:, :12], columns[:300])
    assert np.array_equal(found.torques, simulated.tau[:300])


def test_lost_packets_are_sent_again_in_lock_step(robot, law, simulated):
    found = served(robot, law, 8, lock_step=True, loss=0.2, seed=1)
    assert found.lost > 0 and np.array_equal(found.torques, simulated.tau[:8])


def test_a_failing_motor_and_late_states(robot, law):
    fault = fj.deployment.MotorFault(1, 0.5, 0.05)
    found = served(robot, law, 100, lock_step=True, faults=[fault])
    healthy = served(robot, law, 100, lock_step=True)
    assert np.array_equal(found.torques[:50], healthy.torques[:50])
    assert found.torques[50, 1] == 0.5 * healthy.torques[50, 1]
    late = served(robot, law, 20, lock_step=True, delay=2)
    assert np.array_equal(late.torques[0], late.torques[1]) and np.array_equal(late.torques[1], late.torques[2])


def test_real_time_runs_and_counts(robot, law):
    found = served(robot, law, 50)
    assert found.periods == 50 and found.lateness.shape == (50,) and np.all(found.lateness >= 0)
    assert found.held + found.released <= 50


def test_other_packets_are_ignored_and_counted(robot, law, simulated):
    """10⁶ of them: tests/wire.py."""
    good = command_packet(0, np.zeros(3))
    flipped = bytearray(good)
    flipped[20] ^= 1
    bad = [b"", b"FJC1", good[:-1], good + b"\0", bytes(flipped), state_packet(0, 0.0, np.zeros(15), 3, 3)]
    bad += [
        command_packet(0, np.array([0.0, np.nan, 0.0])),
        command_packet(0, np.full(3, 1e12)),
        command_packet(0, np.zeros(4)),
    ]
    replayed = [command_packet(k, np.zeros(3)) for k in (7, 99)]
    found = served(robot, law, 30, before=[*bad, *replayed], lock_step=True)
    assert found.malformed == len(bad) and found.replayed >= len(replayed)
    assert np.array_equal(found.torques, simulated.tau[:30])


def test_foreign_packets_do_nothing(robot, law, simulated):
    stop = threading.Event()

    def disturb(port):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
            k = 0
            while not stop.wait(0.002):
                channel.sendto(command_packet(k, np.full(3, 50.0)), ("127.0.0.1", port))
                k += 1

    threads = []

    def ready(host, port):
        threads.append(threading.Thread(target=answer, args=(robot, law, port, 60)))
        threads.append(threading.Thread(target=disturb, args=(port,)))
        for thread in threads:
            thread.start()

    try:
        found = fj.deployment.serve(robot, 60 * PERIOD, lock_step=True, record=True, ready=ready)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert np.array_equal(found.torques, simulated.tau[:60])
    assert found.foreign + found.replayed > 0


def test_a_controller_that_goes_silent_ends_lock_step_with_a_warning(robot, law, monkeypatch):
    monkeypatch.setattr("flexjoint.deployment.served_robot.SILENCE", 0.1)
    ports = []

    def ready(host, port):
        ports.append(threading.Thread(target=answer, args=(robot, law, port, 3)))
        ports[0].start()

    with pytest.warns(fj.FlexjointWarning, match="no controller has answered state 3 for 0.1 s"):
        found = fj.deployment.serve(robot, 10 * PERIOD, lock_step=True, ready=ready)
    ports[0].join()
    assert found.periods == 3


def test_motors_of_rigid_coupled_joints_are_where_their_transmission_puts_them():
    """θ = T q with T = [[1, 1], [1, −1]], not q."""
    wrist = fj.drives.CoupledTransmission(("link1_joint", "link2_joint"), [[1.0, 1.0], [1.0, -1.0]])
    robot = fj.random_robot(2, 3, prismatic=0.0).replace(transmissions=[wrist])
    found = fj.deployment.serve(robot, 0.0, q=[0.3, 0.1])
    np.testing.assert_allclose(found.state["theta"], [0.4, 0.2], rtol=1e-15)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_packets_round_trip(count):
    tau = np.random.default_rng(0).normal(size=count)
    found = read_command(command_packet(5, tau), count)
    assert found.sequence == 5 and np.array_equal(found.tau, tau)
    numbers = np.arange(3.0 * count + 2 * count)
    k, t, x = read_state(state_packet(6, 0.25, numbers, count, count), count, count)
    assert (k, t) == (6, 0.25) and np.array_equal(x, numbers)


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
def test_the_controller_in_cpp_drives_it(robot, law, simulated, tmp_path):
    """From the export, over the wire, in lock step: the bits of the simulation."""
    component = fj.deployment.online_loop(law, period=PERIOD, limits=False)
    fj.deployment.export_component(component, tmp_path, "law")
    subprocess.run(["make", "-s", "law.o"], cwd=tmp_path, check=True)
    strict = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-O2"]
    subprocess.run(["g++", *strict, "-I.", EXAMPLE, "law.o", "-o", "controller", "-lm"], cwd=tmp_path, check=True)
    running = []

    def ready(host, port):
        words = [tmp_path / "controller", str(port), "300", str(GOAL)]
        running.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))

    found = fj.deployment.serve(robot, 0.3, lock_step=True, record=True, ready=ready)
    assert running[0].communicate(timeout=10)[0] == "300 states answered, 1 with flags\n"
    assert np.array_equal(found.torques, simulated.tau[:300])


def test_the_command_reports(tmp_path):
    done = CliRunner().invoke(app, ["serve", "hua_3r", "--duration", "0", "--fault", "joint2=0.5@1", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["periods"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--udp", "here"], "--udp is 'here'"),
        (["--udp", "nowhere:5"], "give an address"),
        (["--udp", "127.0.0.1:70000"], "port"),
        (["--loss", "1"], "loss"),
        (["--fault", "joint9=0.5"], "no motor 'joint9'"),
        (["--fault", "joint1=half"], "MOTOR=SHARE"),
        (["--delay", "-1"], "delay"),
        (["--rate", "0"], "rate"),
        (["--duration", "-1"], "duration"),
    ],
)
def test_bad_options_are_named(words, message):
    done = CliRunner().invoke(app, ["serve", "hua_3r", "--duration", "0", *words])
    assert done.exit_code == 2 and message in done.output
