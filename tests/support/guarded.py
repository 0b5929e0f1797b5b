"""Kernels called with arrays that end, or begin, at a page that nobody may touch, and whose arguments are read-only.

Run as a program, it calls many kernels in many ways and prints how many calls there were: one byte read or written
beyond an array ends it with a segmentation fault.  With arguments, `read after` and so on, it shows that it does.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import mmap
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flexjoint as fj
from flexjoint.compiler.runtime.kernel import Kernel
from flexjoint.simulation.closed_loop import ClosedLoop
from flexjoint.simulation.loop_kernel import Blocking, loop_kernel

PAGE = mmap.PAGESIZE
NOTHING, READ = 0, 1  # PROT_NONE, PROT_READ
ROWS = [(), (1,), (3,), (64,), (67,), (2, 35), (0,)]  # fewer than a register has lanes, whole blocks, and what is left
_kept: list[Any] = []


def guarded(shape: tuple[int, ...], side: str, dtype: Any = float) -> np.ndarray:
    """An array whose last byte is followed by a forbidden page, or whose first one comes after one."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    body = -(-max(size, 1) // PAGE) * PAGE
    memory = mmap.mmap(-1, body + 2 * PAGE)
    _kept.append(memory)
    start = address(memory)
    protect(start, PAGE, NOTHING)
    protect(start + PAGE + body, PAGE, NOTHING)
    offset = PAGE + (body - size if side == "after" else 0)
    return np.frombuffer(memory, dtype, math.prod(shape), offset).reshape(shape)


def address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def protect(start: int, size: int, how: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(size), how) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")


def read_only(values: np.ndarray, side: str) -> np.ndarray:
    """Such an array with these values, in memory that cannot be written."""
    array = guarded(values.shape, side)
    array[...] = values
    first = array.ctypes.data // PAGE * PAGE
    protect(first, -(-max(array.ctypes.data + array.nbytes - first, 1) // PAGE) * PAGE, READ)
    return array


def apart(shape: tuple[int, ...], batch: tuple[int, ...], side: str) -> np.ndarray:
    """An output whose rows have gaps between them, none after the last one."""
    rows, size = math.prod(batch), math.prod(shape)
    memory = guarded((max(rows * (size + 3) - 3, 0),), side)
    inner = [8 * math.prod(shape[k + 1 :]) for k in range(len(shape))]
    outer = [8 * (size + 3) * math.prod(batch[k + 1 :]) for k in range(len(batch))]
    return np.lib.stride_tricks.as_strided(memory, (*batch, *shape), (*outer, *inner))


def kernels() -> Iterator[Kernel]:
    """Of each kind of code: packed values, pieces, loops, groups, stacks, several results, free parameters."""
    rigid, elastic = fj.random_robot(3, 1, name="rigid"), fj.random_robot(2, 1, elastic=1.0, name="elastic")
    long = fj.random_robot(8, 2, name="long")
    yield fj.compile(fj.inverse_dynamics, elastic)
    yield fj.compile(fj.inverse_dynamics, rigid, wrenches={"link3": 1}, free=("link1.mass", "*.com"))
    yield fj.compile(fj.torque_derivatives, rigid, 4, order=1)
    yield fj.compile(fj.forward_kinematics, rigid)
    yield fj.compile(fj.kinetic_energy, rigid)
    yield fj.compile(fj.gravity_torque, rigid, derivatives=[("tau", "q"), ("tau", "link2.mass")])
    yield fj.compile(fj.mass_matrix, long)
    closed = loop_kernel(ClosedLoop(elastic, fj.control.MotorPD(elastic, [5.0, 1.0]), 1e-3), Blocking(5, 2.0))
    yield closed.kernel
    if closed.precomputation:
        yield closed.precomputation


def exercise(kernel: Kernel) -> int:
    """Calls it in all ways; the results are those of ordinary arrays."""
    rng, count = np.random.default_rng(0), 0
    plain = kernel.result.layers == (None,) * len(kernel.outputs)
    for batch, side, shared in itertools.product(ROWS, ("after", "before"), (False, True)):
        alone = {0} if shared and batch and len(kernel.inputs) > 1 else set()
        shapes = [(*(() if k in alone else batch), *array.shape) for k, array in enumerate(kernel.inputs)]
        values = [rng.normal(scale=0.1, size=shape) for shape in shapes]
        arrays = [read_only(x, side) for x in values]
        expected = outcome(kernel, values)
        outputs = kernel.result.shapes(kernel.outputs, batch)
        ways: list[dict[str, Any]] = [{}, {"out": [guarded(shape, side) for shape in outputs]}]
        if batch:
            finite = guarded(batch, side, bool)
            ways.append({"out": [guarded(shape, side) for shape in outputs], "finite": finite, "threads": 2})
        if batch and plain:
            ways.append({"out": [apart(array.shape, batch, side) for array in kernel.outputs]})
        for way in ways:
            if "out" in way:
                way["out"] = tuple(way["out"]) if kernel.result.type else way["out"][0]
            found = outcome(kernel, arrays, **way)
            assert all(map(same, found, expected)), (kernel.name, batch, side, list(way))
            count += 1
    return count


def outcome(kernel: Kernel, arrays: list[np.ndarray], **way: Any) -> list[Any]:
    try:
        found = kernel(*arrays, **way)
    except fj.NonFiniteError as error:
        return [str(error)]
    return list(found) if kernel.result.type else [found]


def same(x: Any, y: Any) -> bool:
    return x == y if isinstance(x, str) else np.array_equal(x, y, equal_nan=True)


def one_beyond(what: str, side: str) -> None:
    """The machine code itself, with an address that is off by one double."""
    kernel = fj.compile(fj.gravity_torque, fj.random_robot(3, 1, name="rigid"))
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(kernel._code.address)
    pair = [guarded((3,), side).ctypes.data for _ in range(2)]
    call: Callable[[], Any] = lambda: function(*((ctypes.c_void_p * 1)(x) for x in pair))  # noqa: E731
    call()
    print("within", flush=True)
    pair[["read", "write"].index(what)] += 8 if side == "after" else -8
    call()
    print("beyond", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one_beyond(*sys.argv[1:])
    else:
        print(sum(exercise(kernel) for kernel in kernels()))
