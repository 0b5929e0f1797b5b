"""Calls with keywords that are done without Python: which are, that results are those of the kernel, and refusals."""

import gc
import sys
import threading
from typing import NamedTuple

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.algorithm.algorithm import Algorithm, algorithm
from flexjoint.compiler.runtime import calling

pytestmark = pytest.mark.skipif(not calling.EXTENSION, reason="needs the C extension")


class Shifted(NamedTuple):
    y: float
    z: float


@algorithm("q")
def gathered(robot, q, *, stiffness=None, wrenches=None, base=None, warm_start=None, scale=1, side="left", twice=False):
    """A linear function of everything that a call can give, with another weight for each array."""
    total, weight = (-q if side == "right" else q) * (scale + 2 * twice), 10.0
    single = [] if warm_start is None else [warm_start]
    for stack in (stiffness, *(wrenches or {}).values(), *(base or {}).values(), single):
        for x in stack or ():
            total, weight = total + weight * x[: robot.n], weight + 1.0
    return total


ROBOT = fj.random_robot(2, 1, name="robot")
OTHER = fj.random_robot(2, 2, name="other")
RNG = np.random.default_rng(0)
Q, S, W, B = RNG.normal(size=2), RNG.normal(size=(3, 2)), RNG.normal(size=(2, 6)), RNG.normal(size=(2, 3))
MANY, SS = RNG.normal(size=(40, 2)), RNG.normal(size=(3, 40, 2))


@pytest.fixture
def without_python(monkeypatch):
    """Called once with its keywords, then with a `_call` that fails."""

    def run(*args, **keywords):
        expected = gathered(*args, **keywords)
        with monkeypatch.context() as patch:
            patch.setattr(Algorithm, "_call", lambda *_, **__: pytest.fail("this call went through Python"))
            found = gathered(*args, **keywords)
        assert np.array_equal(found, expected)
        return found

    return run


def through_python(*args, **keywords):
    return Algorithm._call(gathered, *args, **keywords)


CALLS = {
    "list": {"stiffness": list(S)},
    "tuple": {"stiffness": tuple(S)},
    "array": {"stiffness": S},
    "of one": {"stiffness": S[:1]},
    "mapping": {"wrenches": {"link2": [W[0]], "link1": (W[0], W[1])}},
    "mapping of arrays": {"wrenches": {"link2": W}},
    "empty mapping": {"wrenches": {}},
    "base": {"base": {"omega": [B[0]], "acceleration": [B[1]]}},
    "single": {"warm_start": Q},
    "all": {"warm_start": Q, "base": {"omega": [B[0]]}, "stiffness": list(S), "wrenches": {"link1": [W[0]]}},
    "option": {"scale": 1000},
    "options": {"side": "right", "twice": True, "scale": 3},
    "array and option": {"stiffness": S, "side": "right"},
    "None": {"stiffness": None, "wrenches": {"link1": [W[1]]}},
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_without_python(name, without_python):
    keywords = CALLS[name]
    found = without_python(ROBOT, Q, **keywords)
    out = np.empty(2)
    assert without_python(ROBOT, Q, **keywords, out=out) is out
    assert np.array_equal(found, through_python(ROBOT, Q, **keywords))
    assert np.array_equal(found, without_python(ROBOT, Q, **dict(reversed(keywords.items()))))


def test_batches_without_python(without_python):
    for stack in (list(SS), SS, list(S)):
        found = without_python(ROBOT, MANY, stiffness=stack)
        rows = [gathered(ROBOT, MANY[k], stiffness=[x if x.ndim == 1 else x[k] for x in stack]) for k in range(40)]
        assert np.array_equal(found, rows)
    assert without_python(ROBOT, Q, stiffness=SS).shape == (40, 2)


def test_names_that_are_other_objects(without_python):
    name, key, side = ("".join(x) for x in (["wren", "ches"], ["li", "nk1"], ["ri", "ght"]))
    gathered(ROBOT, Q, wrenches={"link1": [W[0]]}, side="right")
    without_python(ROBOT, Q, **{name: {key: [W[0]]}, "side": side})


def test_a_name_that_comes_twice():
    """Keys of a mapping may differ although their letters are the same; such a call is refused."""

    class Name(str):
        def __eq__(self, other):
            return self is other

        def __hash__(self):
            return id(self)

    gathered(ROBOT, Q, stiffness=S, warm_start=Q)
    with pytest.raises(fj.InputError, match="no keyword stiffness"):
        gathered(ROBOT, Q, **{"stiffness": S, Name("stiffness"): S})


LIKE = {"stiffness": list(S), "wrenches": {"link1": [W[0]], "link2": [W[1]]}, "side": "right", "scale": 2}
UNLIKE = {  # calls that differ from the one before
    "shorter": {"stiffness": S[:2]},
    "longer": {"stiffness": [*S, S[0]]},
    "other order": {"wrenches": {"link2": [W[1]], "link1": [W[0]]}},
    "other link": {"wrenches": {"link1": [W[0]], "tool": [W[1]]}},
    "other option": {"side": "left"},
    "other number": {"scale": 3},
    "no array": {"stiffness": None},
    "further": {"warm_start": Q},
    "numbers": {"stiffness": S.tolist()},
    "strided": {"stiffness": np.repeat(S, 2, axis=1)[:, ::2]},
    "integers": {"stiffness": S.astype(int)},
    "read-only": {"stiffness": np.broadcast_to(S[0], (3, 2))},
    "named tuple": {"wrenches": Shifted([W[0]], [W[1]])},
}


@pytest.mark.parametrize("name", UNLIKE)
def test_calls_unlike_the_last(name):
    gathered(ROBOT, Q, **LIKE)
    keywords = LIKE | UNLIKE[name]
    found = gathered(ROBOT, Q, **keywords)
    assert np.array_equal(found, through_python(ROBOT, Q, **keywords))
    order = [*(keywords["stiffness"] if keywords["stiffness"] is not None else [])]
    mapping = keywords["wrenches"]
    order += [x for stack in (mapping._asdict() if hasattr(mapping, "_asdict") else mapping).values() for x in stack]
    order += [keywords["warm_start"]] if "warm_start" in keywords else []
    sign = -1 if keywords["side"] == "right" else 1
    expected = sign * Q * keywords["scale"] + sum((10.0 + k) * np.asarray(x)[:2] for k, x in enumerate(order))
    assert found == pytest.approx(expected, rel=1e-14)


REFUSED = {
    "shape": ({"stiffness": np.ones((3, 3))}, r"stiffness\[0\].*shape"),
    "member": ({"stiffness": [S[0], S[1], np.ones(3)]}, r"stiffness\[2\].*shape"),
    "flat": ({"stiffness": Q}, "stiffness must be a stack"),
    "scalars": ({"stiffness": [1.0, 2.0, 3.0]}, "stiffness must be a stack"),
    "empty": ({"stiffness": []}, "stiffness must be a stack"),
    "text": ({"stiffness": ["a", "b", "c"]}, "stiffness"),
    "list for mapping": ({"wrenches": [W[0], W[1]]}, "wrenches must map names"),
    "option": ({"scale": True}, "scale must be an integer"),
    "unknown": ({"speed": 1}, "no keyword speed"),
    "batches": ({"stiffness": [SS[0], SS[1, :7], S[0]]}, "do not broadcast"),
    "out": ({"out": np.empty(3)}, "out must be"),
    "read-only out": ({"out": np.broadcast_to(np.zeros(1), (2,))}, "out is read-only"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_those_of_python(name):
    keywords, message = REFUSED[name]
    gathered(ROBOT, Q, **LIKE)
    with pytest.raises(fj.InputError, match=message) as error:
        gathered(ROBOT, Q, **(LIKE | keywords))
    with pytest.raises(fj.InputError) as same:
        through_python(ROBOT, Q, **(LIKE | keywords))
    assert str(same.value) == str(error.value)


def test_another_robot_and_expressions():
    keywords = {"stiffness": list(S)}
    gathered(ROBOT, Q, **keywords)
    with pytest.raises(fj.InputError, match="the first argument is the robot"):
        gathered(None, Q, **keywords)
    assert np.array_equal(gathered(OTHER, Q, **keywords), gathered(ROBOT, Q, **keywords))
    x = ca.SX.sym("x", 2)
    assert isinstance(gathered(ROBOT, Q, stiffness=[x, S[1], S[2]]), ca.SX)
    assert isinstance(gathered(ROBOT, x, **keywords), ca.SX)


def test_results_may_overlap_arguments():
    """out= may be a keyword array: it is written when the result is known."""
    stack = S.copy()
    expected = gathered(ROBOT, Q, stiffness=S)
    gathered(ROBOT, Q, stiffness=stack, out=stack[1])
    assert np.array_equal(stack[1], expected) and np.array_equal(stack[[0, 2]], S[[0, 2]])


def test_results_that_are_not_finite():
    with pytest.raises(fj.NonFiniteError, match=r"stiffness\[1\]\[0\] .*is nan"):
        gathered(ROBOT, Q, stiffness=[S[0], np.array([np.nan, 1.0]), S[2]])


@pytest.mark.usefixtures("frozen_heap")
@pytest.mark.parametrize("stack", [list(S), tuple(S), S])
def test_references_are_given_back(stack):
    keywords = {"stiffness": stack, "wrenches": {"link1": [W[0]]}, "side": "right"}
    held = [Q, stack, stack[0], keywords["wrenches"], keywords["wrenches"]["link1"][0]]
    bad = [keywords | {"stiffness": [S[0], S[1], None]}, keywords | {"wrenches": {"link1": [W[0]], "link2": []}}]
    gathered(ROBOT, Q, **keywords)
    gc.collect()
    before = [sys.getrefcount(x) for x in held]
    for _ in range(50):
        gathered(ROBOT, Q, **keywords)
        for wrong in bad:
            with pytest.raises(fj.InputError):
                gathered(ROBOT, Q, **wrong)
    gc.collect()
    assert [sys.getrefcount(x) for x in held] == before


def test_a_list_that_changes_while_a_batch_runs():
    """The arrays of a call live until it is done, whatever becomes of the list that held them."""
    rows = np.zeros((200_000, 2))
    stack, done = [np.ones_like(rows) for _ in range(3)], threading.Event()

    def change():
        while not done.is_set():
            stack[0], stack[1], stack[2] = (np.ones_like(rows) for _ in range(3))

    thread = threading.Thread(target=change)
    gathered(ROBOT, rows, stiffness=stack)
    thread.start()
    try:
        assert all(np.all(gathered(ROBOT, rows, stiffness=stack) == 33.0) for _ in range(20))
    finally:
        done.set()
        thread.join()


def test_a_finalizer_may_call_the_algorithm():
    """What is remembered changes as a whole before the robot remembered before dies."""
    found = []

    class Robot:
        def __del__(self):
            found.append((gathered(ROBOT, Q, stiffness=S), gathered(ROBOT, Q)))

    expected = gathered(ROBOT, Q, stiffness=S), gathered(ROBOT, Q)
    gathered._remember_keywords(Robot(), fj.compile(gathered, ROBOT, stiffness=3), (("stiffness", 3),), ())
    gathered._remember(Robot(), fj.compile(gathered, ROBOT))
    gathered(ROBOT, Q, stiffness=S)
    gathered(ROBOT, Q)
    assert len(found) == 2 and all(np.array_equal(x, expected) for x in found)


@pytest.mark.parametrize(
    "arrays, constants",
    [
        ([], ()), ((), []), (("stiffness",), ()), ((("stiffness", "3"),), ()), ((("stiffness", -1),), ()),
        ((("stiffness", 2**70),), ()), ((("stiffness", 2000),), ()), ((("wrenches", (("link1", None),)),), ()),
        (((3, 3),), ()), ((("stiffness", 9),), ()), ((), (("side",),)),
    ],
)  # fmt: skip
def test_what_cannot_be_remembered(arrays, constants):
    kernel = fj.compile(gathered, ROBOT, stiffness=3)
    with pytest.raises(ValueError, match="keywords are remembered as"):
        gathered._remember_keywords(ROBOT, kernel, arrays, constants)


def test_more_arrays_than_the_fast_path_takes():
    stack = [np.full(2, 0.1)] * 70
    for _ in range(2):
        assert gathered(ROBOT, Q, stiffness=stack) == pytest.approx(Q + 0.1 * sum(range(10, 80)))
