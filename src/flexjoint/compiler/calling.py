"""The bases of Kernel and Algorithm: the C extension where it was built, plain Python otherwise.

The Python versions call machine code through ctypes: the same results, tens of microseconds slower a call.
"""

from __future__ import annotations

import ctypes
import math
import os
from typing import Any

import numpy as np

__all__ = ["EXTENSION", "AlgorithmBase", "KernelBase", "inherit_vectorcall"]

Shape = tuple[int, ...]


class PythonKernelBase:
    """What `_call.KernelBase` does, through ctypes."""

    def __init__(
        self,
        address: int,
        inputs: tuple[Shape, ...],
        outputs: tuple[Shape, ...],
        layers: tuple[int, ...],
        result_type: Any,
        stacked: bool,
        blocks_from: int,
    ):
        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(address)
        self._output_shapes, self._layers = outputs, layers

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)  # type: ignore[attr-defined]

    def _use_block(self, address: int, lanes: int, groups: int, apart: bool) -> None:
        """Blocks gain nothing here: the call itself takes longer than a row."""

    def _run(
        self,
        inputs: tuple[np.ndarray, ...],
        steps: tuple[int, ...],
        outputs: tuple[np.ndarray, ...],
        rows: int,
        first: int,
        count: int,
        finite: np.ndarray | None,
    ) -> int:
        """Evaluate rows of a batch; see kernel_run in _call.c."""
        starts = [array.ctypes.data for array in inputs]
        layers = [
            (array.ctypes.data + 8 * layer * rows * size, size)
            for array, shape, count in zip(outputs, self._output_shapes, self._layers)
            for size in [math.prod(shape) // count]
            for layer in range(count)
        ]
        bad = 0
        for row in range(first, first + count):
            sources = (ctypes.c_void_p * len(inputs))(*(p + 8 * row * step for p, step in zip(starts, steps)))
            targets = [p + 8 * row * size for p, size in layers]
            status = self._function(sources, (ctypes.c_void_p * len(targets))(*targets))
            if finite is not None:
                finite.flat[row] = not status
            if status:
                bad += 1
                for target, (_, size) in zip(targets, layers):
                    (ctypes.c_double * size).from_address(target)[:] = [math.nan] * size
        return bad


class PythonAlgorithmBase:
    """What `_call.AlgorithmBase` does, without the memory of the last kernel."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)  # type: ignore[attr-defined]

    def _remember(self, robot: Any, kernel: Any) -> None:
        pass


def _unchanged(cls: type) -> type:
    return cls


EXTENSION = False
KernelBase: Any = PythonKernelBase
AlgorithmBase: Any = PythonAlgorithmBase
inherit_vectorcall: Any = _unchanged
if not os.environ.get("FLEXJOINT_NO_EXTENSION"):
    try:
        from ._call import AlgorithmBase, KernelBase, inherit_vectorcall  # type: ignore[import-not-found,no-redef,unused-ignore]

        EXTENSION = True
    except ImportError:
        pass
