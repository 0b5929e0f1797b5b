"""Python programs in processes of their own, which need not import NumPy, SciPy, CasADi, LLVM and matplotlib again.

A server imports these once and forks for each program.  flexjoint is not among them: every program imports it anew, so
that an import which a page or an example forgets is missed.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import traceback
import types
from pathlib import Path
from typing import Any, NamedTuple

IMPORTED = (
    *("numpy", "casadi", "llvmlite.binding", "matplotlib.figure", "matplotlib.backends.backend_agg"),
    *("scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.optimize", "scipy.stats", "scipy.sparse"),
)
LONGEST = 300.0  # s


class Ended(NamedTuple):
    """A program that has ended: exit code, None if it took too long, and what it printed."""

    returncode: int | None
    stdout: str
    stderr: str


def run_forked(code: str, folder: Path, *arguments: str, name: str = "<page>") -> Ended:
    """Run a program.

    Args:
        code: The program.
        folder: Its current folder.
        arguments: Its `sys.argv[1:]`.
        name: Its file, for tracebacks and `__file__`.
    """
    context: Any = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTED))
    with tempfile.TemporaryDirectory() as place:
        streams = [os.path.join(place, x) for x in ("stdout", "stderr")]
        given = (code, str(folder), [name, *arguments], streams, dict(os.environ))
        process = context.Process(target=program, args=given)
        process.start()
        process.join(LONGEST)
        code_of = process.exitcode
        if code_of is None:
            process.kill()
        return Ended(code_of, *(Path(x).read_text(encoding="utf-8") for x in streams))


def program(code: str, folder: str, arguments: list[str], streams: list[str], environment: dict[str, str]) -> None:
    """The program itself, in its process: as `python -c` or `python FILE` runs it."""
    for number, path in zip((1, 2), streams):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    main = types.ModuleType("__main__")
    main.__file__, sys.argv, sys.modules["__main__"] = arguments[0], arguments, main
    try:
        exec(compile(code, arguments[0], "exec"), main.__dict__)
    except SystemExit:
        raise
    except BaseException:
        traceback.print_exc()
        sys.exit(1)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
