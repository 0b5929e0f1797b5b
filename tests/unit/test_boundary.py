"""Wrong kinds of arguments are named at the public functions; right calls and exceptions of user code are untouched."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.boundary import explained
from fuzz.calls import fuzz


def test_calls_with_wrong_kinds_of_arguments():
    """Below 0.7 % here; `python tests/fuzz/calls.py --count 200000` counts over more calls."""
    places: Counter[str] = fuzz(1000, seed=1)
    assert sum(places.values()) < 7, places


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda robot: robot.carrier("a"), r"Robot.carrier: link must be an integer, got str 'a'"),
        (lambda robot: robot.with_sources(3), "sources"),
        (lambda robot: fj.robot.parents_first(["a"]), "parents_first: links must be a sequence of Link, got list"),
        (lambda robot: fj.drives.friction_law("a"), "friction_law: item must be a Rubbing, got str 'a'"),
    ],
)
def test_the_argument_is_named(call, message):
    with pytest.raises(fj.FlexjointError, match=message):
        call(fj.load("hua_3r"))


def test_exceptions_of_user_functions_pass():
    def law(t, state, reference, measurement):
        return state, {}["missing"]

    robot = fj.load("hua_3r")
    with pytest.raises(KeyError, match="missing"):
        fj.simulate(robot, law, fj.trajectory.RestToRest(np.zeros(3), np.ones(3), 1.0), 0.01)


def test_a_right_call_is_the_function_itself():
    def function(a: int, b: str = "x") -> tuple[int, str]:
        if a < 0:
            raise ZeroDivisionError
        return a, b

    wrapped = explained(function)
    assert wrapped(3, b="y") == (3, "y") and wrapped.__name__ == "function"
    with pytest.raises(TypeError, match="missing 1 required"):
        wrapped()
    with pytest.raises(ZeroDivisionError):
        wrapped(-1)
    assert pickle.loads(pickle.dumps(fj.load)) is fj.load is fj.formats.load
