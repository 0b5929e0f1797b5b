"""Tables of motor torques: the closed form of a pendulum with an elastic joint, sampling, and mistakes."""

from __future__ import annotations

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.analysis import torque_table as table
from flexjoint.analysis.torque_table import motor_table, sample_times
from support.errors import relative_error
from support.pendulum import ELASTIC, MOTION, MOTOR, STIFFNESS, closed_form, hinged


@pytest.mark.parametrize("block", [7, 8192])
def test_the_table_is_the_pendulums(monkeypatch, block):
    monkeypatch.setattr(table, "BLOCK", block)
    done = []
    found = motor_table(ELASTIC, MOTION, 0.01, rigid=True, progress=done.append)
    assert found.t.tolist() == [round(0.01 * k, 2) for k in range(101)]
    assert sum(done) == 101 and max(done) <= block
    theta, deflection, tau, rigid = closed_form(found.t)
    for name, expected in {"theta": theta, "deflection": deflection, "tau": tau, "tau_rigid": rigid}.items():
        assert relative_error(found.quantities()[name][:, 0], expected) < 1e-13


def test_a_constant_wrench_on_the_tool():
    """A force along y at the tip, 0.5 m from the hinge, is borne by the spring with −0.5 cos q times it."""
    free, pushed = (motor_table(ELASTIC, MOTION, 0.01, wrench=w) for w in (None, [0.0, 30.0, 0.0, 0.0, 0.0, 0.0]))
    expected = -0.5 * 30.0 * np.cos(free.q) / STIFFNESS
    assert relative_error(pushed.deflection - free.deflection, expected) < 1e-12


def test_a_damped_spring_is_followed_through_the_whole_motion():
    """With little damping the torque is nearly that without; the deflection obeys K φ + D φ' = τ_e."""
    damping = 2.0
    found = motor_table(hinged(fj.ElasticDrive(STIFFNESS, fj.Motor(MOTOR), damping)), MOTION, 1e-3)
    _, deflection, _, _ = closed_form(found.t)
    phi = found.deflection[:, 0]
    rate = np.gradient(phi, found.t, edge_order=2)
    assert relative_error(STIFFNESS * phi + damping * rate, STIFFNESS * deflection) < 1e-5  # of differences at 1 ms
    assert relative_error(phi, deflection) > 1e-3


def test_samples_stay_within_the_motion():
    assert sample_times(1.0, 0.3).tolist() == [0.0, 0.3, 0.6, 0.9]
    assert sample_times(0.3, 0.1)[-1] == 0.3
    assert sample_times(4.0, 0.001).size == 4001


@pytest.mark.parametrize(
    ("duration", "period", "message"),
    [
        (1.0, 0.0, "positive"),
        (1.0, float("nan"), "positive"),
        (1.0, 1e-9, "at most 5,000,000 are allowed"),
        (1.0, 2.0, "longer than the motion"),
        (float("inf"), 0.1, "does not end"),
    ],
)
def test_impossible_samples_are_refused(duration, period, message):
    with pytest.raises(fj.InputError, match=message):
        sample_times(duration, period)


def test_a_motion_that_is_not_smooth_enough_is_refused():
    with pytest.raises(fj.InputError, match="not smooth enough"):
        motor_table(ELASTIC, fj.trajectory.RestToRest([0.0], [1.0], 1.0, smoothness=2))


def test_a_torque_that_is_not_finite_names_column_and_time():
    huge = fj.trajectory.RestToRest([0.0], [1e12], 1.0)  # angles beyond the range of sin and cos
    with pytest.raises(fj.NonFiniteError, match=r"theta\.hinge, left is not finite at t = "):
        motor_table(ELASTIC, huge, 0.01)
