"""Tests compile what they test: no kernel of an earlier run is used; within a run all tests share one cache.

Cases of `long_cases.txt` get the marker `long`.
"""

import atexit
import gc
import os
import shutil
import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from support.errors import WORST

LONG_CASES = Path(__file__).with_name("long_cases.txt")

if "PYTEST_XDIST_WORKER" not in os.environ:  # workers inherit the cache of the process that starts them
    os.environ["FLEXJOINT_CACHE"] = tempfile.mkdtemp(prefix="flexjoint-tests-")
    atexit.register(shutil.rmtree, os.environ["FLEXJOINT_CACHE"], ignore_errors=True)

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # workers have a core each: further threads would only wait
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # without bytecode every Python that a test starts takes 0.4 s more
sys.dont_write_bytecode = False
gc.set_threshold(100_000, 50, 100)  # a worker keeps millions of objects: Python would go through them again and again


@pytest.fixture
def frozen_heap():
    """`gc.collect` goes through the objects of the test alone: through all that a worker keeps it takes a second."""
    gc.freeze()
    yield
    gc.unfreeze()


def pytest_addoption(parser):
    parser.addoption("--worst", action="store_true", help="print the largest relative error each test met (without -n)")


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--worst"):
        for test, error in sorted(WORST.items()):
            terminalreporter.write_line(f"{error:.1e}  {test}")


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(config, items):
    by_file = {}
    for line in LONG_CASES.read_text().splitlines():
        if line and not line.startswith("#"):
            by_file.setdefault(line.split("::")[0], []).append(line)
    collected, found = set(), set()
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        collected.add(file := name.split("::")[0])
        matching = [x for x in by_file.get(file, ()) if fnmatchcase(name, x.replace("[", "[[]"))]
        found.update(matching)
        if matching:
            item.add_marker(pytest.mark.long)
    if [Path(x).resolve() for x in config.args] != [LONG_CASES.parent.resolve()]:
        return  # a part of the tests
    absent = {x for x in by_file if not (LONG_CASES.parent / x).exists()}
    if unused := [x for file in by_file.keys() & (collected | absent) for x in by_file[file] if x not in found]:
        raise pytest.UsageError(f"long_cases.txt: no test is called {unused}")
