"""A few calls of every kind under the address and undefined-behaviour sanitizers; `make test-asan` runs more."""

import sys
import textwrap

import pytest

from support import sanitized

absent = not sys.platform.startswith("linux") or sanitized.compiler() is None
pytestmark = [pytest.mark.long, pytest.mark.skipif(absent, reason="needs GCC and its address sanitizer")]
CALLS = """
    import numpy as np, flexjoint as fj
    from flexjoint.compiler.runtime import calling

    assert calling.EXTENSION
    robot = fj.random_robot(2, 1)
    kernel = fj.compile(fj.inverse_dynamics, robot)
    one, many = np.ones((3, 2)), np.ones((3, 70, 2))
    expected = kernel(*one)
    for arrays in (one, many, many[:, :3], [many[0], one[1], one[2]], many[:, :0]):
        assert np.all(kernel(*arrays) == expected)
    wide = np.zeros((140, 5))
    kernel(*many, out=wide[::2, 1:3], finite=np.empty(70, dtype=bool), threads=2)
    assert np.all(wide[::2, 1:3] == expected)
    for bad in (np.full((3, 2), np.nan), one.tolist() + [[]], one[:, :1]):
        try:
            kernel(*bad)
        except fj.FlexjointError:
            pass
    wrench = {"link2": [np.ones(6)]}
    for w in (wrench, wrench, {"link2": np.ones((1, 6))}, {"link2": np.ones((1, 70, 6))}, {"link2": (np.ones(6),)}):
        fj.inverse_dynamics(robot, *one, wrenches=w)
    for w in ({"link2": [np.ones(5)]}, {"link2": [1.0]}, {"link2": []}, [np.ones(6)]):
        try:
            fj.inverse_dynamics(robot, *one, wrenches=w)
        except fj.FlexjointError:
            pass
    print("done", flush=True)
    if {beyond}:  # an argument that claims more memory than it has
        short = np.lib.stride_tricks.as_strided(np.ones(1), (2,), (8,))
        kernel(short, many[1], many[2])
"""


@pytest.fixture(scope="module")
def python():
    def run(beyond):
        program = textwrap.dedent(CALLS.replace("{beyond}", str(beyond)))
        return sanitized.run(env, "-c", program, capture_output=True, text=True)

    with sanitized.built() as env:
        yield run


def test_calls_under_the_sanitizers(python):
    found = python(beyond=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "done\n", "")


def test_the_sanitizer_fires(python):
    found = python(beyond=True)
    assert found.returncode != 0 and found.stdout == "done\n"
    assert "heap-buffer-overflow" in found.stderr and "run_rows" in found.stderr
