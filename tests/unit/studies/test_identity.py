"""Two laws have one digest if and only if they compute the same, in every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import types
from pathlib import Path

import laws_of_a_user as user
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.studies.identity import described, digest_of

MAKERS = sorted(user.MAKERS)


def digest(item):
    return digest_of(item, "controller")


@pytest.fixture(scope="module")
def elsewhere():
    """Digests in another process, whose sets have another order."""
    script = (
        "import json, laws_of_a_user as user; from flexjoint.studies.identity import digest_of;"
        "print(json.dumps({k: digest_of(f(3.0), 'controller') for k, f in user.MAKERS.items()}))"
    )
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(fj.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", MAKERS)
def test_same_code_and_data_in_another_process(name, elsewhere):
    assert digest(user.MAKERS[name](3.0)) == elsewhere[name]


@pytest.mark.parametrize("name", MAKERS)
def test_other_data_is_another_law(name):
    assert digest(user.MAKERS[name](3.0)) == digest(user.MAKERS[name](3.0))
    assert digest(user.MAKERS[name](3.0)) != digest(user.MAKERS[name](4.0))


@pytest.mark.parametrize("name", ["closure", "instance", "dataclass", "slots", "bound method", "recursive"])
def test_a_call_changes_nothing(name):
    law, still = user.MAKERS[name](3.0), np.zeros(2)
    before = digest(law)
    law(0.0, (), [still], fj.JointState(still, still, still, still))
    assert digest(law) == before


def test_a_global_counts(monkeypatch):
    before = digest(user.closure(3.0))
    monkeypatch.setattr(user, "GAIN", 4.0)
    assert digest(user.closure(3.0)) != before


def test_only_globals_that_are_used_count(monkeypatch):
    before = digest(user.recursive(3.0))
    monkeypatch.setattr(user, "GAIN", 4.0)
    assert digest(user.recursive(3.0)) == before


def module_of(source, name="laws_of_another_user"):
    module = types.ModuleType(name)
    exec(compile(source, f"{name}.py", "exec"), vars(module))
    return module


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("return x + 1.0", "return x + 2.0"),
        ("return x + 1.0", "return x - 1.0"),
        ("return [y * 2.0 for y in x]", "return [y * 3.0 for y in x]"),
        ("return (lambda y: y + 1.0)(x)", "return (lambda y: y + 2.0)(x)"),
        ("return np.sin(x)", "return np.cos(x)"),
        ("import math; return math.sin(x)", "import math; return math.cos(x)"),
        ("return x in {1, 2, 3}", "return x in {1, 2, 4}"),
    ],
)
def test_other_code_is_another_law(one, other):
    laws = [module_of(f"import numpy as np\ndef law(x):\n    {body}\n").law for body in (one, one, other)]
    assert digest(laws[0]) == digest(laws[1]) != digest(laws[2])


def test_comments_and_lines_do_not_count():
    one = module_of("def law(x):\n    return x\n")
    other = module_of("# a comment\n\n\ndef law(x):\n    # why\n    return x\n", "laws_of_another_user")
    assert digest(one.law) == digest(other.law)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("class Law:\n    gain = 1.0", "class Law:\n    gain = 2.0"),
        ("class Law:\n    def f(self): return 1", "class Law:\n    def f(self): return 2"),
        ("class B:\n    k = 1\nclass Law(B): pass", "class B:\n    k = 2\nclass Law(B): pass"),
        (
            "class Law:\n    @property\n    def f(self): return 1",
            "class Law:\n    @property\n    def f(self): return 2",
        ),
        (
            "class Law:\n    @staticmethod\n    def f(): return 1",
            "class Law:\n    @staticmethod\n    def f(): return 2",
        ),
    ],
)
def test_the_class_of_an_instance_counts(one, other):
    laws = [module_of(source).Law() for source in (one, one, other)]
    assert digest(laws[0]) == digest(laws[1]) != digest(laws[2])


def test_names_in_a_module_of_the_user_count(monkeypatch):
    gains = module_of("K = 1.0\nUNUSED = 1.0", "gains_of_a_user")
    monkeypatch.setitem(sys.modules, "gains_of_a_user", gains)
    outside = module_of("import gains_of_a_user\ndef law(x):\n    return gains_of_a_user.K * x\n").law
    inside = module_of("def law(x):\n    from gains_of_a_user import K\n    return K * x\n").law
    before = [digest(outside), digest(inside)]
    gains.UNUSED = 2.0
    assert [digest(outside), digest(inside)] == before
    gains.K = 2.0
    assert digest(outside) != before[0] and digest(inside) != before[1]
    whole = module_of("import gains_of_a_user\ndef law(x):\n    return x(gains_of_a_user)\n").law
    with pytest.raises(fj.InputError, match="uses the module 'gains_of_a_user' as a whole"):
        digest(whole)


def test_arrays_count_by_content_type_and_shape():
    x = np.arange(4000.0)
    other = x.copy()
    other[2000] = np.nextafter(2000.0, 3000.0)  # no repr shows this
    digests = [digest(y) for y in (x, other, x.reshape(2, -1), x.astype(np.float32), x[::2])]
    assert len(set(digests)) == 5 and digest(x.copy()) == digests[0]
    assert digest(np.arange(8000.0)[::2]) == digest(np.ascontiguousarray(np.arange(8000.0)[::2]))


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (1, True), ("1", 1), ((1, 2), [1, 2]), ((1, (2, 3)), ((1, 2), 3)), ("ab", b"ab"), (0.0, -0.0)],
)
def test_kinds_are_told_apart(one, other):
    assert digest(one) != digest(other)


def test_what_is_shown_says_which_part_is_another():
    one, other = (described(user.closure(x), "controller") for x in (3.0, 4.0))
    assert one["name"] == "laws_of_a_user.closure.<locals>.law" and one["code"] == other["code"]
    assert one["data"]["GAIN"] == 3.0 and one["data"]["helper"] != other["data"]["helper"]
    assert described(user.Slotted(3.0), "controller")["data"] == {"gain": 3.0}
    json.dumps(described(user.Data(user.Pair(np.nan, np.inf), more={"x": np.nan}), "controller"), allow_nan=False)


def test_a_declared_identity_takes_the_place_of_everything():
    law = user.Plain(3.0)
    law.lock = threading.Lock()
    with pytest.raises(fj.InputError, match=r"controller\.lock is a _thread\.lock, which cannot be identified; give"):
        digest(law)
    law.identity = "plain, gain 3"
    before = digest(law)
    law.gain = 4.0
    assert digest(law) == before
    law.identity = "plain, gain 4"
    assert digest(law) != before

    def function(x):
        return x

    function.identity = "identity"
    assert described(function, "controller")["identity"] == "identity"


def test_what_cannot_be_identified_is_refused(tmp_path):
    with open(tmp_path / "gains.txt", "w") as file:
        captured = user.Data(user.Pair(1.0, 1.0), law=file)
        with pytest.raises(fj.InputError, match=r"controller\.law is a _io\.TextIOWrapper, .*run without a folder"):
            digest(captured)
    for body in ("open('gains.txt').read()", "eval('1 + 1')", "globals()['GAIN']"):
        law = module_of(f"def law(x):\n    return {body}\n").law
        with pytest.raises(fj.InputError, match=r"law calls \w+\(\), and what that reads cannot be identified"):
            digest(law)
    with pytest.raises(fj.InputError, match=r"ufunc '.*' of unknown code"):
        digest(np.frompyfunc(lambda x: x, 1, 1))
    with pytest.raises(fj.InputError, match="is the module 'laws_of_a_user' as a whole"):
        digest(user.Data(user.Pair(1.0, 1.0), law=user))
    deep = []
    for _ in range(10**5):
        deep = [deep]
    with pytest.raises(fj.InputError, match="nested too deeply"):
        digest(deep)
