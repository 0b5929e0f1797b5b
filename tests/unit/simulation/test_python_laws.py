"""Controllers and contacts written in Python that are not what `simulate` needs: errors that say what to write."""

from __future__ import annotations

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.formats.robot_files import parse_robot

ROBOT = parse_robot(
    b"""name = "one"
convention = "standard_dh"
[[link]]
mass = 1.0
a = 0.5
inertia = {xx = 0.1, yy = 0.1, zz = 0.1}
drive = {kind = "elastic", stiffness = 1000, motor_inertia = 1}
""",
    "one",
)
PD = fj.control.MotorPD(ROBOT, [10.0, 1.0])


def run(controller, reference=(0.1,), duration=0.005, **options):
    return fj.simulate(ROBOT, controller, reference, duration, **options)


def returning(value):
    return lambda t, state, reference, measurement: value


@pytest.mark.parametrize(
    "controller, message",
    [
        (fj.control.MotorPD, r"controller is the class MotorPD; create an instance, such as MotorPD\(robot"),
        ("motor_pd", r"controller is 'motor_pd'; give a controller such as MotorPD"),
        (None, "controller is None; give"),
        (
            lambda state, reference, measurement: (state, [0.0]),
            r"controller takes \(state, reference, measurement\); it is called with \(t, state, reference, m",
        ),
        (returning(np.zeros(1)), r"returned array\(\[0\.\]\) at t = 0 s; it must return \(state, torque\)"),
        (returning(0.0), "returned 0.0 at t = 0 s; it must return"),
        (returning(None), "returned None at t = 0 s; it must return"),
        (returning(((), 0.0)), r"torque has shape \(\) at t = 0 s; it must be \(1,\)"),
        (returning(((), [1.0, 2.0])), r"torque has shape \(2,\) at t = 0 s; it must be \(1,\)"),
        (returning(((), ["a"])), r"torque is \['a'\] at t = 0 s; give numbers"),
        (returning(((), [10**400])), "torque is .an integer of about 400 digits. at t = 0 s; give numbers"),
    ],
)
def test_controllers(controller, message):
    with pytest.raises(fj.InputError, match=message):
        run(controller)


def test_a_torque_that_is_nan_says_so():
    calls = iter([0.0, 0.0, 0.0])
    with pytest.raises(fj.NonFiniteError, match=r"torque for motor 'joint1' is NaN at t = 0\.003 s"):
        run(lambda t, state, reference, measurement: (state, [next(calls, np.nan)]))


def test_errors_of_the_law_itself_pass():
    with pytest.raises(ZeroDivisionError):
        run(lambda t, state, reference, measurement: 1 / 0)


@pytest.mark.parametrize(
    "contact, message",
    [
        (lambda t, state: {"link1": [1.0 if t > 0.5 else 0.0] * 6}, r"contact decides by `if`.* ca\.if_else\(t > 0\.5"),
        (lambda t, state: {"link1": [max(state.q[0], 0)] * 6}, "contact decides by `if`"),
        (lambda t, state: {"link1": "abcdef"}, "contact returned str for the wrench on 'link1'; it must have shape"),
        (lambda t: {}, r"contact takes \(t\); it is called with \(t, state\)"),
        ({"link1": [0.0] * 6}, r"contact is .*; give a function \(t, state\)"),
    ],
)
def test_contacts(contact, message):
    with pytest.raises(fj.InputError, match=message):
        run(PD, contact=contact)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"gains": "x"}, "gains must be real numbers, not 'x'"),
        ({"free": 5}, "free is 5; give values by path"),
        ({"free": {5: 1.0}}, "free is {5: 1.0}; give values by path"),
        ({"changes": 5}, "changes is 5; give values by path"),
        ({"duration": 1e9}, r"1e\+09 s are 1e\+12 periods of 0.001 s, at most 100,000,000"),
        ({"duration": 1e200}, r"1e\+200 s are 1e\+203 periods"),
        ({"duration": 10**400}, "duration is an integer of about 400 digits; it must be a positive number"),
        ({"period": 1e-320}, "at most 100,000,000 can be kept"),
    ],
)
def test_arguments(options, message):
    with pytest.raises(fj.InputError, match=message):
        run(PD, **options)
