"""A kernel is used for a law only if it was made from the same expressions."""

from __future__ import annotations

import numpy as np

import flexjoint as fj
from flexjoint.simulation.closed_loop import ClosedLoop
from flexjoint.simulation.law_digests import DigestedContact, LawDigest, code_of
from flexjoint.simulation.loop_kernel import loop_kernel

ROBOT = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, name="arm")
LINK = ROBOT.links[-1].name
FACTOR = 1.0


class Law(fj.control.Controller):
    order = 0

    def __init__(self, gain=50.0):
        self.robot, self.gains = ROBOT, np.full((1, 2), gain)

    def law(self, gains, state, reference, measurement):
        return (), FACTOR * gains[0] * (reference[0] - measurement.theta)


def push(t, state):
    return {LINK: [FACTOR * (1 + state.q[0]), 0, 0, 0, 0, 0]}


def run(law=None, contact=None):
    return fj.simulate(ROBOT, law or Law(), [0.1, 0.2], 0.02, period=1e-3, check=False, contact=contact).q


def test_a_global_that_changes_is_another_law(monkeypatch):
    law = Law()
    before = run(law), run(contact=push)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert not np.array_equal(run(law), before[0]) and not np.array_equal(run(contact=push), before[1])
    monkeypatch.setitem(globals(), "FACTOR", 1.0)
    assert np.array_equal(run(law), before[0]) and np.array_equal(run(contact=push), before[1])


def test_the_same_law_has_one_kernel():
    run(Law(), push)
    count = loop_kernel.cache_info().misses
    run(Law(60.0), lambda t, state: push(t, state))
    assert loop_kernel.cache_info().misses == count
    assert DigestedContact(ROBOT, push) == DigestedContact(ROBOT, lambda t, state: push(t, state)) != push


def test_only_code_of_flexjoint_has_a_place_on_disk():
    assert isinstance(code_of(Law()), LawDigest) and ClosedLoop(ROBOT, Law(), 1e-3).key is None
    assert isinstance(code_of(fj.simulation.FaultyActuators(Law(), period=1e-3)), LawDigest)
    own = fj.control.FeedforwardPD(ROBOT, [1.0, 1.0])
    assert ClosedLoop(ROBOT, own, 1e-3).key
    assert ClosedLoop(ROBOT, own, 1e-3, contact=DigestedContact(ROBOT, push)).key is None


def test_thresholds_count_to_the_last_digit():
    """Arrays within a dictionary too, whose repr has eight digits."""
    residual = fj.observers.JointTorqueResidual(ROBOT, 50.0, 50.0)
    one, other = (fj.observers.Detector(residual, {"link": np.array([x, 2.0])}) for x in (1.0, 1.0 + 1e-12))
    assert code_of(one) != code_of(other)
