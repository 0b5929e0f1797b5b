"""Marks of test cases."""

import pytest


def some_long(values, *long):
    """Return the cases of a test, those called `long` with the marker `long`.

    Cases are called as the keys of a dict, the `name` of a robot, or the value itself.
    """
    cases = values if isinstance(values, dict) else {str(getattr(x, "name", x)): x for x in values}
    return [
        pytest.param(*(x if isinstance(x, tuple) else (x,)), id=name, marks=[pytest.mark.long] * (name in long))
        for name, x in cases.items()
    ]


def long(*values):
    """Return a case of a test with the marker `long`."""
    return pytest.param(*values, marks=pytest.mark.long)
