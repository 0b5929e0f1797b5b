"""Tests of the C extension with the address and undefined-behaviour sanitizers of the C compiler.

    python -m support.sanitized                  the tests of the extension
    python -m support.sanitized -c "..."         any Python program

Builds `_call.c` in a temporary copy of the package and runs Python there with the sanitizer's library loaded before
all others.  Memory comes from malloc, so that every array has its own guards; what is not freed at exit is not counted,
since Python itself leaves much.  An error ends the run with a report.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
TESTED = (
    "tests/unit/compiler/runtime/test_call_memory.py",
    "tests/unit/compiler/runtime/test_guard_pages.py",
    "tests/unit/compiler/runtime/test_kernel_memory.py",
    "tests/unit/compiler/runtime/test_keyword_calls.py",
    "tests/backends/test_batches.py",
)
FLAGS = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def compiler() -> str | None:
    """GCC, whose sanitizers can be loaded into a program that was built without them."""
    found = shutil.which(os.environ.get("CC", "gcc"))
    return found if found and library(found, "libasan.so") else None


def library(cc: str, name: str) -> str | None:
    done = subprocess.run([cc, f"-print-file-name={name}"], capture_output=True, text=True, check=False)
    path = done.stdout.strip()
    return path if os.path.isabs(path) else None


def environment(cc: str, folder: Path) -> dict[str, str]:
    """Builds the extension in a copy of the package, and says how Python finds it."""
    source = folder / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info"))
    place = source / "flexjoint" / "compiler" / "runtime"
    include = [f"-I{path}" for path in (sysconfig.get_path("include"), np.get_include())]
    target = place / f"_call{sysconfig.get_config_var('EXT_SUFFIX')}"
    define = "-DNPY_NO_DEPRECATED_API=NPY_2_0_API_VERSION"
    subprocess.run(
        [cc, *FLAGS, "-fPIC", "-shared", *include, define, str(place / "_call.c"), "-o", str(target)], check=True
    )
    preloaded = [library(cc, name) for name in ("libasan.so", "libubsan.so", "libstdc++.so.6")]
    return {
        **os.environ,
        "LD_PRELOAD": " ".join(path for path in preloaded if path),
        "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0:handle_segv=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join([str(source), str(ROOT / "tests")]),
        "FLEXJOINT_NO_EXTENSION": "",
    }


@contextmanager
def built() -> Iterator[dict[str, str]]:
    """The environment of a Python with the extension, which is built once for all runs."""
    cc = compiler()
    assert cc is not None, "needs GCC and its address sanitizer"
    with tempfile.TemporaryDirectory() as folder:
        yield environment(cc, Path(folder))


def run(env: dict[str, str], *arguments: str, **keywords: Any) -> subprocess.CompletedProcess:
    """Python with these arguments, in the root of the repository."""
    return subprocess.run([sys.executable, *arguments], env=env, cwd=ROOT, check=False, **keywords)


if __name__ == "__main__":
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTED]
    with built() as made:
        sys.exit(run(made, *(sys.argv[1:] or tests)).returncode)
