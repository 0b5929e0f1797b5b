"""Damaged files of each kind, in a process of its own: errors of ours or results, in time, in little memory.

10 000 of them describe robots, as robot, URDF and drive files.  `make test-long` reads 67 000 of each kind, a million
in all (docs/testing.md).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.run import judged, place
from fuzz.targets import TARGETS, Input, Target

COUNTS = {"robot": 3400, "urdf": 3300, "drives": 3300, "mjcf": 400, "trajectory": 500, "stiffness": 500}
COUNTS |= {"samples": 300, "csv": 300, "npz": 300, "parquet": 200, "mcap": 200}
COUNTS |= {"poses": 500, "study": 200, "mesh": 300}
COUNTS |= {"work": 40}


def test_every_target_is_run():
    assert COUNTS.keys() == TARGETS.keys()
    assert COUNTS["robot"] + COUNTS["urdf"] + COUNTS["drives"] >= 10_000


@pytest.mark.parametrize(("target", "count"), COUNTS.items())
def test_damaged_files(target, count):
    command = [sys.executable, str(Path(__file__).with_name("run.py")), "--target", target, "--count", str(count)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    read, refused = (int(done.stdout.split(word)[0].split()[-1]) for word in (" read", " refused"))
    assert min(read, refused) > count / 10 and read + refused == count  # neither all good nor all bad


def test_the_fuzzer_finds_what_is_no_error_of_ours(tmp_path):
    given = Input("x", b"")
    broken = Target(lambda random: given, lambda given, folder: 1 / 0)
    end, error = judged(broken, given, tmp_path)
    assert end == "finding" and error is not None and place(error).startswith("ZeroDivisionError")
