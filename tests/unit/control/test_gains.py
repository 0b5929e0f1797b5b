"""Gains from poles."""

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.control.gains import check_gains


def test_gains_of_known_polynomials():
    assert np.allclose(fj.control.gains_from_poles([-10] * 4), [10_000, 4000, 600, 40], rtol=1e-15)  # (s + 10)⁴
    assert np.allclose(fj.control.gains_from_poles([-1, -2, -3]), [6, 11, 6], rtol=1e-15)
    assert np.allclose(fj.control.gains_from_poles([-1 + 2j, -1 - 2j]), [5, 2], rtol=1e-15)


def test_each_joint_may_have_its_own_poles():
    poles = [[-1, -2, -3, -4], [-5 + 1j, -5 - 1j, -6 - 2j, -6 + 2j]]
    gains = fj.control.gains_from_poles(poles)
    assert gains.shape == (4, 2)
    for column, row in zip(gains.T, poles, strict=True):
        found = np.roots([1, *column[::-1]])
        assert np.allclose(np.sort_complex(found), np.sort_complex(row), rtol=1e-9)


@pytest.mark.parametrize(
    ("poles", "message"),
    [
        ([-10, -10, 0, -10], r"pole 0 is not in the left half plane"),
        ([-10, 2 + 3j, 2 - 3j, -10], r"pole 2\+3i is not in the left"),
        ([-1, -2, -1 + 2j], r"pole -1\+2i lacks its conjugate -1-2i"),
        ([-1 - 2j, -2], r"pole -1-2i lacks its conjugate -1\+2i"),
        ([-1 + 2j, -1 - 2.1j], r"pole -1\+2i lacks its conjugate"),
        ([-1, np.nan], "not finite"),
        ([-np.inf, -1], "not finite"),
        ([], r"shape \(0,\)"),
        (-1, r"shape \(\)"),
        ("fast", "must be numbers"),
        ([[-1, -2], [-1, 3]], "pole 3 is not"),
    ],
)
def test_bad_poles_are_named(poles, message):
    with pytest.raises(fj.InputError, match=message):
        fj.control.gains_from_poles(poles)


def test_gains_for_all_joints_or_each():
    assert np.array_equal(check_gains([6, 11, 6], 3, 2), [[6, 6], [11, 11], [6, 6]])
    each = fj.control.gains_from_poles([[-1, -2], [-3, -4]])
    assert np.array_equal(check_gains(each, 2, 2), each)


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ([1, 2, 3], r"shape \(3,\); chains of 4"),
        (np.ones((4, 3)), r"need \(4,\) or \(4, 2\)"),
        ([1, 1, 1, np.inf], "finite"),
        ("fast", r"gains must be numbers \(4,\) or \(4, 2\), not 'fast'"),
        ([[1e4, 1e4], [4e3, 4e3], [600, 600], [40, 300]], "joint 2 put a pole at .*: not stable"),
    ],
)
def test_bad_gains_are_named(gains, message):
    with pytest.raises(fj.InputError, match=message):
        check_gains(gains, 4, 2)
