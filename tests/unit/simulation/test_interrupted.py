"""Ctrl-C ends a batch on threads within a second."""

from __future__ import annotations

import subprocess
import sys
import time

SCRIPT = """
import os, signal, threading
import numpy as np
import flexjoint as fj

signal.signal(signal.SIGINT, signal.default_int_handler)
robot = fj.load("hua_3r")
controller = fj.control.MotorPD(robot, [2000.0, 100.0])
motion = fj.trajectory.RestToRest(np.zeros(3), np.full(3, 0.1), 5.0)
gains = np.tile(controller.gains, (64, 1, 1))
fj.simulate(robot, controller, motion, 0.1, gains=gains, threads=2)
def interrupt():
    print("interrupted", flush=True)
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(1.0, interrupt).start()
fj.simulate(robot, controller, motion, 600.0, gains=gains, threads=2)  # tens of seconds
"""


def test_threads_stop_within_a_second():
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "interrupted\n"
    start = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0 and "KeyboardInterrupt" in errors
    assert time.monotonic() - start < 3.0  # 1 s on a quiet machine
