"""Philox inside a kernel: published answers, NumPy's integers, and what its normal numbers are like."""

import casadi as ca
import numpy as np
import pytest
from scipy import stats

from flexjoint.algorithm.compile import kernel_of
from flexjoint.compiler.ir.program import Array
from flexjoint.simulation.noise import Stream, normals, philox
from support.noise import by_integers

KNOWN = [  # Random123's known answers: counter, key, words
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text):
    return np.array([int(x, 16) for x in text.split()], dtype=np.uint64)


@pytest.fixture(scope="module")
def kernel():
    inputs = [Array("counter", (4,)), Array("key", (2,))]
    return kernel_of(
        "philox", inputs, lambda c, k: [(Array("words", (4,)), ca.vertcat(*philox(c.elements(), k.elements())))]
    )


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_known_answers(kernel, counter, key, answer):
    found = kernel(words(counter).astype(float), words(key).astype(float))[0]
    assert np.array_equal(found, words(answer))


def test_without_a_kernel():
    """In plain SX, where there is no exclusive or."""
    counter, key, answer = map(words, KNOWN[2])
    found = philox([ca.SX(float(x)) for x in counter], [ca.SX(float(x)) for x in key])
    assert [float(x) for x in found] == answer.tolist()


def test_many_counters(kernel):
    rng = np.random.default_rng(0)
    counter, key = rng.integers(0, 2**32, (500, 4)), rng.integers(0, 2**32, 2).astype(np.uint64)
    assert np.array_equal(kernel(counter.astype(float), key.astype(float))[0], by_integers(counter, key))


def test_normal_numbers():
    """Mean, deviation, shape and independence of channels, steps and rows; by the counter that is documented."""

    def function(seed, row, step):
        found = normals(Stream(seed, row), step, [0, 1, 2, 3, 6])
        return [(Array("x", (5,)), ca.vertcat(*found.values()))]

    draw = kernel_of("normals", [Array(name, ()) for name in ("seed", "row", "step")], function)
    seed = 3 * 2**32 + 7
    step, row = (x.ravel().astype(float) for x in np.meshgrid(np.arange(200.0), np.arange(50.0)))
    x = draw(float(seed), row, step)[0]
    assert stats.kstest(x.ravel(), "norm").pvalue > 0.01
    assert np.max(np.abs(np.corrcoef(x.T) - np.eye(5))) < 0.04
    series = x.reshape(50, 200, 5)
    assert abs(np.mean(series[:, 1:] * series[:, :-1])) < 0.02
    assert abs(np.mean(series[1:] * series[:-1])) < 0.02
    counter = np.stack([row, step, np.ones_like(row), 0 * row], -1).astype(np.uint64)
    w = by_integers(counter, np.array([7, 3], dtype=np.uint64)).astype(float)
    wanted = np.sqrt(-2 * np.log((w[:, 2] + 0.5) / 2**32)) * np.cos(2 * np.pi * w[:, 3] / 2**32)
    assert np.allclose(x[:, 4], wanted, rtol=1e-12, atol=1e-12)
