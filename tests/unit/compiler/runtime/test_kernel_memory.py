"""The memory of kernels when robots die and threads meet: the answer belongs to the robot that was asked for."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.algorithm import algorithm as api

Q = np.array([0.3])


def pendulum(mass):
    """Angle from the horizontal, mass one metre away: gravity torque m g cos q."""
    joint = fj.Joint("hinge", rotation=[[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    return fj.Robot("pendulum", (fj.Link("rod", joint, mass=mass, com=(1.0, 0.0, 0.0), inertia=0.1 * np.eye(3)),))


def torque(mass):
    return pytest.approx(mass * 9.81 * np.cos(0.3), rel=1e-13)


@pytest.fixture
def forgetful(monkeypatch):
    """An algorithm of its own that keeps one kernel."""
    monkeypatch.setattr(api, "KERNELS_KEPT", 1)
    return fj.algorithm.Algorithm(fj.gravity_torque.__wrapped__, "tau")


@pytest.mark.usefixtures("frozen_heap")
def test_a_call_from_a_robots_finalizer(forgetful):
    """The old robot dies while the new one takes its place: robot and kernel must change together."""
    light, heavy = pendulum(1.0), pendulum(5.0)
    assert forgetful(light, Q)[0] == torque(1.0)
    answers = []
    weakref.finalize(light, lambda: answers.append(forgetful(heavy, Q)[0]))
    del light
    gc.collect()
    assert forgetful(heavy, Q)[0] == torque(5.0)
    gc.collect()
    assert answers == [torque(5.0)]


def test_threads_that_push_out_each_others_kernels(forgetful):
    robots = [pendulum(1.0 + k) for k in range(3)]
    failures = []

    def work(k):
        try:
            for i in range(50):
                mass = 1.0 + (i + k) % 3
                if forgetful(robots[(i + k) % 3], Q)[0] != torque(mass):
                    failures.append((k, i))
        except Exception as error:
            failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []
