"""The robot over UDP for long: a controller in C++ at 1 kHz in real time, and 10⁶ packets that are no commands.

python tests/wire.py                      # 60 s and 10⁶ packets
python tests/wire.py --seconds 5 --packets 10000
"""

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import flexjoint as fj
from flexjoint.deployment.packets import GREETING, command_packet
from flexjoint.deployment.wire import Wire

EXAMPLE = Path(__file__).parent.parent / "examples" / "udp_controller" / "controller.cpp"


def real_time(seconds):
    """Jitter and missed deadlines of the LWR under motor PD; returns whether the arm arrived."""
    robot = fj.load("kuka_lwr")
    law = fj.deployment.online_loop(fj.control.MotorPD(robot, [1000.0, 50.0]), period=1e-3, limits=False)
    periods = round(1000 * seconds)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        fj.deployment.export_component(law, folder, "law")
        subprocess.run(["make", "-s", "law.o"], cwd=folder, check=True)
        build = ["g++", "-std=c++17", "-O2", "-I.", EXAMPLE, "law.o", "-o", "controller", "-lm"]
        subprocess.run(build, cwd=folder, check=True)
        running = []

        def ready(host, port):
            words = [folder / "controller", str(port), str(periods), "0.3"]
            running.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))

        begin = time.perf_counter()
        found = fj.deployment.serve(robot, float(seconds), ready=ready)
        took = time.perf_counter() - begin
        said = running[0].communicate(timeout=10)[0].strip()
    shares = [50, 90, 99, 99.9, 100]
    jitter = ", ".join(f"{p} % {1e6 * x:.0f} µs" for p, x in zip(shares, np.percentile(found.lateness, shares)))
    print(f"{found.periods} periods in {took:.1f} s; {said}")
    print(f"end of a period after its deadline: {jitter}; by more than a period: {found.late}")
    print(f"periods without a new command: held {found.held}, released {found.released}")
    error = np.abs(found.state["q"] - 0.3).max()
    print(f"distance from the goal at the end: {error:.2e} rad")
    return error < 1e-2


def strange_packets(count):
    """All kinds of packets that are ignored, through a real socket; returns whether all were counted."""
    rng, m = np.random.default_rng(0), 7
    server, partner, stranger = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(3))
    server.bind(("127.0.0.1", 0))
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    place = server.getsockname()
    wire = Wire(server, m, 0.0, rng)
    partner.sendto(command_packet(GREETING, np.zeros(m)), place)
    assert wire.receive(1.0).sequence == GREETING
    good = command_packet(3, np.zeros(m))
    sent = {"malformed": 0, "foreign": 0}
    begin = time.perf_counter()
    for _ in range(count // 50):
        for _ in range(50):
            kind = rng.integers(5)
            if kind == 0:
                stranger.sendto(good, place)
                sent["foreign"] += 1
                continue
            data = bytearray(good)
            if kind == 1:
                data = bytearray(rng.bytes(int(rng.integers(0, 200))))
            elif kind == 2:
                data = data[: int(rng.integers(0, len(data)))]
            elif kind == 3:
                data[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
            else:
                data = bytearray(command_packet(3, np.full(m, rng.choice([np.nan, np.inf, 1e200]))))
            partner.sendto(bytes(data), place)
            sent["malformed"] += 1
        while wire.receive(0.0) is not None:
            raise AssertionError("a strange packet was taken for a command")
    counted = {"malformed": wire.found.malformed, "foreign": wire.found.foreign}
    took = time.perf_counter() - begin
    print(f"{sum(sent.values())} strange packets in {took:.1f} s: sent {sent}, counted {counted}")
    for x in (server, partner, stranger):
        x.close()
    return counted == sent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--packets", type=int, default=1_000_000)
    options = parser.parse_args()
    good = strange_packets(options.packets)
    if shutil.which("g++"):
        good = real_time(options.seconds) and good
    return not good


if __name__ == "__main__":
    sys.exit(main())
