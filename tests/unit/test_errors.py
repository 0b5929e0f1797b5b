"""What messages quote of names and values from files stays short."""

from __future__ import annotations

import pytest

from flexjoint.errors import listed, quoted, shown


def test_texts_are_cut():
    assert quoted("x" * 200) == "x" * 200
    assert quoted("x" * 201) == "x" * 197 + "..."


@pytest.mark.parametrize("value", ["x" * 10**6, ["y" * 300] * 300, {f"k{i}": [i] * 99 for i in range(999)}, 10**400])
def test_values_are_cut(value):
    assert 1 < len(shown(value)) <= 200


def test_integers_that_python_does_not_write():
    assert shown([10**5000]) == "[an integer of about 5000 digits]"
    assert shown(-(10**20)) == "-100000000000000000000"


def test_lists_are_cut():
    assert listed(["a", "b"]) == "a, b"
    assert listed(["a", "b"], mark=" -> ") == "a -> b"
    assert listed([]) == "none"
    assert listed(map(str, range(1000))).endswith("38, 39 and 960 more")
