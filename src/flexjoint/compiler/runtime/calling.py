"""The bases of Kernel and Algorithm: the C extension where it was built, plain Python otherwise.

    KernelBase(address, shapes, ...)(q, v, a, out=tau)        # 56 ns in C, 20 to 50 µs in Python

The Python versions call machine code through ctypes, with bit-identical results.
"""

from __future__ import annotations

import contextvars
import ctypes
import math
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["COMPILER_STACK", "EXTENSION", "AlgorithmBase", "KernelBase", "inherit_vectorcall", "with_stack"]

Shape = tuple[int, ...]
STACK_RESERVE = 2**17  # bytes beside those of a kernel, for Python and ctypes
COMPILER_STACK = 2**20  # bytes that CasADi and LLVM get at least
_starting = threading.Lock()
_own = threading.local()


class PythonKernelBase:
    """`_call.KernelBase`, through ctypes."""

    def __init__(
        self,
        address: int,
        inputs: tuple[Shape, ...],
        outputs: tuple[Shape, ...],
        layers: tuple[int, ...],
        result_type: Any,
        stacked: bool,
        blocks_from: int,
        stack: int,
    ):
        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(address)
        self._output_shapes, self._layers = outputs, layers
        self._stack = stack + STACK_RESERVE

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)  # type: ignore[attr-defined]

    def _use_block(self, address: int, lanes: int, strided: bool, stack: int) -> None:
        """SIMD code gains nothing here: the call itself takes longer than a row."""

    def _run(self, *part: Any) -> int:
        """Evaluate rows of a batch; see kernel_run in _batch.h."""
        return with_stack(self._stack, lambda: self._run_here(*part))

    def _run_here(
        self,
        inputs: tuple[np.ndarray, ...],
        steps: tuple[int, ...],
        outputs: tuple[np.ndarray, ...],
        rows: int,
        first: int,
        count: int,
        finite: np.ndarray | None,
    ) -> int:
        starts = [array.ctypes.data for array in inputs]
        layers = [
            (array.ctypes.data + 8 * layer * rows * size, size)
            for array, shape, count in zip(outputs, self._output_shapes, self._layers)
            for size in [math.prod(shape) // count]
            for layer in range(count)
        ]
        bad, mask = 0, None if finite is None else finite.reshape(-1)
        for row in range(first, first + count):
            sources = (ctypes.c_void_p * len(inputs))(*(p + 8 * row * step for p, step in zip(starts, steps)))
            targets = [p + 8 * row * size for p, size in layers]
            status = self._function(sources, (ctypes.c_void_p * len(targets))(*targets))
            if mask is not None:
                mask[row] = not status
            if status:
                bad += 1
                for target, (_, size) in zip(targets, layers):
                    (ctypes.c_double * size).from_address(target)[:] = [math.nan] * size
        return bad


class PythonAlgorithmBase:
    """`_call.AlgorithmBase`, without the memory of the last kernel."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)  # type: ignore[attr-defined]

    def _remember(self, robot: Any, kernel: Any) -> None:
        pass

    def _remember_keywords(self, robot: Any, kernel: Any, arrays: Any, constants: Any) -> None:
        pass


def _unchanged(cls: type) -> type:
    return cls


def _stack_left() -> int | None:
    """What new threads get; of the main thread nothing is known, which has megabytes."""
    if threading.current_thread() is threading.main_thread() or getattr(_own, "large", False):
        return None
    with _starting:
        size = threading.stack_size()  # which sets it to 0
        threading.stack_size(size)
    return size or None


def with_stack(bytes: int, work: Callable[[], Any]) -> Any:
    """What `work` returns; in a thread of its own if this one's stack has fewer bytes left.

    No lock may be held that `work` takes.
    """
    left = stack_left()
    if left is None or left >= bytes:
        return work()
    from concurrent.futures import ThreadPoolExecutor

    def there() -> Any:
        _own.large = True
        return work()

    with _starting:  # the size is one for all threads
        before = threading.stack_size(-(-2 * bytes // 2**16) * 2**16)
        try:
            executor = ThreadPoolExecutor(1, thread_name_prefix="flexjoint")
            found = executor.submit(contextvars.copy_context().run, there)  # it starts the thread
        finally:
            threading.stack_size(before)
    with executor:
        return found.result()


EXTENSION = False
KernelBase: Any = PythonKernelBase
AlgorithmBase: Any = PythonAlgorithmBase
inherit_vectorcall: Any = _unchanged
stack_left: Any = _stack_left
if not os.environ.get("FLEXJOINT_NO_EXTENSION"):
    try:
        from ._call import (  # type: ignore[import-not-found, no-redef]
            AlgorithmBase,
            KernelBase,
            inherit_vectorcall,
            stack_left,
        )

        EXTENSION = True
    except ImportError:
        pass
