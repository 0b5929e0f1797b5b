"""Warnings of motions that exceed limits of a robot, or look like degrees: joint, time, value, limit and remedy."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.trajectory.limits import limited_quantities, violations_of, warn_of_limits
from flexjoint.trajectory.unit_warnings import warn_of_units
from support.warned import said, with_limits

T = np.linspace(0.0, 1.0, 11)


def robot(n=2, **limits):
    """A chain of turning joints without drives, all with these limits."""
    return with_limits(fj.random_robot(n, 4, prismatic=0.0, name="limited"), **limits)


def warned(limited, what, values):
    """What is said of values at the times T."""
    found = violations_of(limited, limited_quantities(limited), T, values)
    return said(lambda: warn_of_limits(limited, {what: found}))


def column(values, other=0.0):
    return np.column_stack([np.full(11, other), values])


def test_each_quantity_names_joint_times_value_and_limit():
    limited = robot(lower=-0.5, upper=1.0, velocity=2.0, effort=30.0)
    name = limited.joints[1].name
    hill = column(1.5 * np.sin(np.pi * T))
    (message,) = warned(limited, "the motion", {"position": hill})
    assert "limited: the motion exceeds position limits of the robot" in message
    assert f"joint '{name}' reaches 1.5 rad at t = 0.5 s (limit 1 rad, first exceeded at t = 0.3 s)" in message
    assert "limits.upper" in message
    (message,) = warned(limited, "the motion", {"position": -hill})
    assert "reaches -1.5 rad at t = 0.5 s (limit -0.5 rad, first exceeded at t = 0.2 s)" in message
    (message,) = warned(limited, "the motion", {"velocity": -2 * hill})
    assert "velocity limits" in message and "reaches -3 rad/s at t = 0.5 s (limit -2 rad/s" in message
    (message,) = warned(limited, "the run", {"torque": 7100 / 1.5 * hill})
    assert "torque limits" in message and "7100 Nm" in message and "limits.effort" in message


def test_what_meets_a_limit_and_what_has_none_passes():
    at = robot(lower=-0.5, upper=1.0, velocity=2.0, effort=30.0)
    on = column(np.full(11, 1.0 + 1e-12))
    values = {"position": on, "velocity": 2 * on, "torque": np.nan * on}
    assert warned(at, "x", values) == []
    assert warned(robot(), "x", dict.fromkeys(values, 1000000000.0 * on)) == []


def test_many_joints_are_one_warning_and_rows_of_a_batch_too():
    limited = robot(5, upper=1.0)
    (message,) = warned(limited, "the motion", {"position": np.full((11, 5), 2.0)})
    assert message.count("reaches") == 3 and "and 2 more joints" in message
    batch = np.zeros((3, 11, 5))
    batch[1, 7, 2] = 4.0
    (message,) = warned(limited, "the run", {"position": batch})
    assert f"joint '{limited.joints[2].name}' reaches 4 rad at t = 0.7 s" in message


def test_a_goal_in_degrees():
    """goal = 90 asked for 1e7 Nm in silence."""
    plain = robot()
    text = '{kind = "rest_to_rest", goal = 90, duration = 60}'
    (message,) = said(lambda: fj.trajectory.load_trajectory(text, plain))
    assert f"limited: joint '{plain.joints[0].name}' moves to 90 rad, 14.3 turns, at t = 60 s" in message
    assert "goal_deg" in message and "np.deg2rad" in message
    assert said(lambda: fj.trajectory.load_trajectory(text.replace("goal", "goal_deg"), plain)) == []
    assert said(lambda: fj.trajectory.load_trajectory(text, robot(lower=-100.5, upper=100.5))) == []


def test_a_trajectory_is_spoken_of_once():
    plain, motion = robot(), fj.trajectory.RestToRest([0, 0], [0, 180], 60.0)
    assert len(said(lambda: warn_of_units(plain, motion))) == 1
    assert said(lambda: warn_of_units(plain, motion)) == []
    assert len(said(lambda: warn_of_units(plain, np.array([0.0, 90.0])))) == 1


def test_a_trajectory_without_a_hash_will_do():
    @dataclass(frozen=True)
    class Still(fj.trajectory.Trajectory):
        place: np.ndarray
        n: int = 2
        duration: float = 1.0
        smoothness: float = math.inf

        def derivatives(self, t, order):
            stack = np.zeros((order + 1, *t.shape, 2))
            stack[0] = self.place
            return stack

        def remedy(self, order):
            return ""

    still = Still(np.array([50.0, 0.0]))
    assert len(said(lambda: warn_of_units(robot(), still))) == 1
    assert said(lambda: warn_of_units(robot(), still)) == []


def test_a_joint_that_spins():
    plain, spin = robot(), fj.trajectory.Sinusoid([1.0, 0.0], 20.0)
    (message,) = said(lambda: warn_of_units(plain, spin))
    assert "moves at 125.7 rad/s" in message and "take longer" in message
    assert said(lambda: warn_of_units(robot(velocity=200.5), fj.trajectory.Sinusoid([1.0, 0.0], 20.0))) == []


def test_ordinary_motions_are_silent():
    for motion in (
        fj.trajectory.RestToRest([0, 0], [math.pi, -2 * math.pi], 1.0),
        fj.trajectory.Sinusoid([1.0, 0.2], [1.0, 5.0]),
        fj.trajectory.FilteredStep.settled([0, 0], [1, 1], 0.5),
    ):
        assert said(lambda motion=motion: warn_of_units(robot(), motion)) == []


def test_a_run_names_what_its_reference_and_its_torques_exceed():
    limited = robot(lower=-0.5, upper=0.5, velocity=0.2, effort=1.0)
    law = fj.control.ComputedTorque(limited, fj.control.gains_from_poles([-20.0, -20.0]))
    motion = fj.trajectory.RestToRest([0.0, 0.0], [0.0, 0.6], 0.1)
    position, velocity, torque = said(lambda: fj.simulate(limited, law, motion))
    assert "the reference exceeds position limits" in position and "reaches 0.6 rad at t = 0.1 s" in position
    assert "the reference exceeds velocity limits" in velocity
    assert "the run exceeds torque limits" in torque
    assert said(lambda: fj.simulate(limited, law, motion, check=False)) == []
    kept = said(lambda: fj.simulate(limited, law, motion, actuators=fj.simulation.Actuators()))
    assert not any("torque limits" in x for x in kept)
    assert any("moves to 90 rad" in x for x in said(lambda: fj.simulate(robot(), law, [0.0, 90.0], 0.01)))
    start = fj.JointState(*([0.0, 90.0], [0.0, 0.0]) * 2)
    assert any("moves to 90 rad" in x for x in said(lambda: fj.simulate(robot(), law, [0.0, 0.0], 0.01, start=start)))


def test_what_simulate_refuses():
    plain = robot()
    law, link = fj.control.ComputedTorque(plain, fj.control.gains_from_poles([-20.0, -20.0])), plain.links[1].name
    with pytest.raises(fj.InputError, match=r"the duration, 0\.0001 s, is shorter than one period, 0\.001 s"):
        fj.simulate(plain, law, [0.0, 0.0], 1e-4)
    with pytest.raises(fj.InputError, match=rf"free: {link}\.mass would be -2; it cannot be negative"):
        fj.simulate(plain, law, [0.0, 0.0], 0.01, free={f"{link}.mass": [1.0, -2.0]})
    with pytest.raises(fj.InputError, match=rf"changes: {link}\.mass would be -2; it cannot be negative"):
        fj.simulate(plain, law, [0.0, 0.0], 0.01, changes={f"{link}.mass": (0.005, -2.0)})
