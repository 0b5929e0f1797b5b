"""Blocks of a study as tasks for other processes: a function, the study as bytes, and two numbers.

A task carries robot, controller, reference and options as data (2 kB for a 7R arm under feedforward PD), so that any
worker can run it at any time.  A worker unpickles a study once, takes its kernel from its own cache or compiles it, and
refuses other versions of flexjoint and of the libraries that results depend on.
"""

from __future__ import annotations

import pickle
import socket
import sys
import warnings
import zlib
from contextlib import ExitStack
from functools import lru_cache
from typing import Any, Protocol

from ..compiler.runtime.cache import sources
from ..errors import ClusterError, InputError, quoted
from .block_files import Block

LIBRARIES = ("numpy", "casadi", "llvmlite")
DIVERGED = ".* diverged; joint .*"  # a warning of `simulate`; the table of samples has it


class Study(Protocol):
    """What can be run in blocks."""

    def run(self, first: int, last: int, check: bool | str = False) -> Block:
        """Columns of samples first, ..., last − 1, as a pure function of the study and these numbers."""


def packed(study: Study) -> bytes:
    """A study as bytes.

    Raises:
        InputError: A part cannot be sent to another process.
    """
    with casadi_context("global_pickle_context"):
        try:
            content = dumps(study)
        except Exception as error:  # of a user's object
            raise InputError(
                f"the study cannot be sent to other processes: {quoted(error)}; controllers, contacts and observers "
                "must be made of data and functions, without open files or locks; or leave out executor="
            ) from None
    return zlib.compress(pickle.dumps((versions(), content)))


def dumps(study: Study) -> bytes:
    """Pickled by cloudpickle where Dask has installed it: it takes functions of a script or a notebook too."""
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(study)
    return bytes(cloudpickle.dumps(study))


@lru_cache(maxsize=4)
def unpacked(content: bytes) -> Study:
    """The study, once per process.

    Raises:
        ClusterError: This process has other versions, and would compute other bits.
    """
    known, study = pickle.loads(zlib.decompress(content))
    own = versions()
    differing = [f"{name} {own[name]}, the client has {x}" for name, x in known.items() if own[name] != x]
    if differing:
        where = f"the worker on {socket.gethostname()} ({sys.executable})"
        raise ClusterError(f"{where} has {'; '.join(differing)}; install the same packages on all machines")
    with casadi_context("global_unpickle_context"):
        return pickle.loads(study)


def run_task(content: bytes, first: int, last: int) -> Block:
    """The task itself: a block of a packed study."""
    warnings.filterwarnings("ignore", DIVERGED, UserWarning)
    return unpacked(content).run(first, last)


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions that results depend on."""
    from importlib.metadata import version

    return {"flexjoint": f"{version('flexjoint')} {sources()[:16]}", **{name: version(name) for name in LIBRARIES}}


def casadi_context(name: str) -> Any:
    """CasADi's context in which expressions can be pickled; nothing for older versions."""
    import casadi

    return getattr(casadi, name, ExitStack)()
