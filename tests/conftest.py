"""Tests compile what they test: no kernel of an earlier run is used; within a run all tests share one cache."""

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile

import pytest

from support.errors import WORST

if "PYTEST_XDIST_WORKER" not in os.environ:  # workers inherit the cache of the process that starts them
    os.environ["FLEXJOINT_CACHE"] = tempfile.mkdtemp(prefix="flexjoint-tests-")
    atexit.register(shutil.rmtree, os.environ["FLEXJOINT_CACHE"], ignore_errors=True)

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # workers have a core each: further threads would only wait
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # without bytecode every Python that a test starts takes 0.4 s more
sys.dont_write_bytecode = False
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background jobs ignore it; tests interrupt themselves
    signal.signal(signal.SIGINT, signal.default_int_handler)
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
