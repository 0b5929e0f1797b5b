"""Reports of long work, by the logger of the package."""

from __future__ import annotations

import logging

import numpy as np

import flexjoint as fj
from flexjoint import progress


def test_an_activity_is_reported_with_its_end(caplog):
    with caplog.at_level(logging.INFO, logger=progress.LOGGER), progress.activity("compiling arm"):
        assert caplog.messages == ["compiling arm"]
    assert caplog.messages[1].startswith("compiling arm: ") and caplog.messages[1].endswith(" s")


def test_progress_once_per_second(caplog, monkeypatch):
    clock = iter([0.0, 0.4, 1.1, 1.3, 2.2])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with caplog.at_level(logging.INFO, logger=progress.LOGGER):
        found = progress.Progress("simulating arm", 200)
        for step in (10, 50, 60, 210):
            found.reached(step)
    assert caplog.messages == ["simulating arm: 25 %", "simulating arm: 100 %"]


def test_compilation_is_reported(caplog, monkeypatch, tmp_path):
    """Once: a kernel from the disk is neither traced nor compiled."""
    monkeypatch.setenv("FLEXJOINT_CACHE", str(tmp_path))
    robot = fj.random_robot(1, 3, name="reported")
    law = fj.control.MotorPD(robot, [10.0, 1.0])
    with caplog.at_level(logging.INFO, logger=progress.LOGGER):
        fj.simulate(robot, law, np.zeros(1), 0.01, start=fj.JointState(*np.zeros((4, 1))), check=False)
    begun = [x for x in caplog.messages if not x.endswith(" s")]
    assert begun == ["tracing simulation of reported", "compiling simulation of reported"]
