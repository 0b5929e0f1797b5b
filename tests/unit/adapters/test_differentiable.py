"""Libraries that are not installed."""

import sys

import pytest

import flexjoint as fj

ROBOT = fj.load("hua_3r")


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_a_missing_library_is_named(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(fj.InputError, match=rf"needs {library}, .*pip install 'flexjoint\[{library}\]'"):
        getattr(fj.adapters, f"{library}_function")(fj.gravity_torque, ROBOT)
