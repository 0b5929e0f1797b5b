"""No kernel reads or writes a byte beyond its arrays: they lie between pages that nobody may touch."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.marks import long, some_long

TESTS = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSEGV") or sys.platform == "win32", reason="needs mprotect")


def run(*arguments, **environment):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]), **environment}
    command = [sys.executable, "-m", "support.guarded", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("path", some_long({"extension": "", "ctypes": "1"}, "ctypes"))
def test_calls_between_guard_pages(path):
    """Inputs, outputs, parameters and masks; single calls, batches with rows left over, threads, rows with gaps."""
    found = run(FLEXJOINT_NO_EXTENSION=path)
    assert found.returncode == 0, (found.returncode, found.stderr[-2000:])
    assert int(found.stdout) > 500


@pytest.mark.parametrize(
    ("what", "side"),
    [("read", "after"), long("read", "before"), long("write", "after"), ("write", "before")],
)
def test_the_guards_fire(what, side):
    """Code that is given an address off by one double ends with a segmentation fault."""
    found = run(what, side)
    assert found.stdout.split() == ["within"]
    assert found.returncode == -signal.SIGSEGV
