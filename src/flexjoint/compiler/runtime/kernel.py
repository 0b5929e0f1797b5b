"""A Kernel: a compiled Program, called with NumPy arrays.

    kernel(q, v, a)            -> tau
    kernel(q, v, a, out=tau)   -> tau, nothing allocated

Each argument is (..., *shape) with the shape its Array declares; leading dimensions broadcast and make a batch, which
runs in the lanes of vector registers and, with `threads=`, on several cores, with bit-identical results.  A single
evaluation whose result is not finite raises NonFiniteError, which names the input.  In a batch only the rows concerned
are NaN, and the boolean array `finite=` is False for them.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import combinations
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from ...errors import InputError, NonFiniteError
from ..ir.elementary import SIN_RANGE
from ..ir.program import Array, Program
from ..llvm import jit
from .calling import COMPILER_STACK, KernelBase, inherit_vectorcall, with_stack
from .description import Description

MAX_ARRAYS = 1024  # each way; also in _call.c
MAX_DIMENSIONS = 64  # NumPy's; also in _call.c
BLOCKS_FROM = 64  # rows; for fewer, compiling code for vector registers does not pay
ResultType = Callable[..., Any] | None  # called with the arrays of a result, such as a NamedTuple; None: one array
Explanation = Callable[[Sequence[np.ndarray]], str | None]  # why a result is not finite, from the arrays of a call
_compiling = threading.RLock()


class Result:
    """How the outputs of a Program become the value of a call.

    - `layers`: per result array, the number of outputs that are stacked in it along its first axis, such as one per
      order of derivative; None for a plain array
    - `type`: called with the arrays if there are several, such as a NamedTuple; None returns the only array
    """

    def __init__(self, layers: Sequence[int | None], type: ResultType = None):
        self.layers = tuple(layers)
        self.type = type

    def shapes(self, outputs: Sequence[Array], batch: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
        """The shapes of the result arrays of a batch."""
        shapes, k = [], 0
        for layers in self.layers:
            shape = (*batch, *outputs[k].shape)
            shapes.append(shape if layers is None else (layers, *shape))
            k += layers or 1
        return shapes

    def arrays(self, value: Any) -> list[np.ndarray]:
        """The outputs of the Program in the value of a call, one array per layer of a stack."""
        results = [value] if self.type is None else list(value)
        pairs = zip(self.layers, results)
        return [array for layers, x in pairs for array in ([x] if layers is None else list(x))]


class CodeSource(Protocol):
    """Supplies machine code to a kernel: that for several rows at the first batch."""

    key: str | None  # names the kernel in the cache

    @property
    def program(self) -> Program: ...

    @property
    def ir(self) -> str: ...

    def code(self, rows: int, description: Description) -> jit.MachineCode: ...


@inherit_vectorcall
class Kernel(KernelBase):
    """Compiled code of one Program for one processor; `compiler.pipeline.compile` makes it.

    - `description`: names, shapes and units of inputs and outputs, and what error messages need
    - `code`: machine code for one row
    - `source`: supplies the code for several rows, and the Program
    - `result`: how the outputs become the value of a call
    - `compile_time`: seconds that LLVM took; 0 if the code came from the cache
    - `nominal`: values of the free parameters, the last inputs, in the robot itself
    - `explain`: why a result of finite inputs is not finite

    Example:
        >>> import flexjoint as fj
        >>> kernel = fj.compile(fj.gravity_torque, fj.load("kuka_lwr"))
        >>> [array.name for array in kernel.inputs]
        ['q']
    """

    def __init__(
        self,
        description: Description,
        code: jit.MachineCode,
        source: CodeSource,
        result: Result,
        compile_time: float,
        nominal: tuple[np.ndarray, ...],
        explain: Explanation | None,
    ):
        self.description = description
        self.result = result
        self.compile_time = compile_time
        self.nominal = nominal
        self._code = code
        self._source = source
        self._explain = explain
        self._block: jit.MachineCode | None = None
        super().__init__(
            code.address,
            tuple(array.shape for array in self.inputs),
            tuple(result.shapes(self.outputs)),
            tuple(layers or 1 for layers in result.layers),
            result.type,
            any(layers is not None for layers in result.layers),
            BLOCKS_FROM,
            code.stack,
        )

    @property
    def program(self) -> Program:
        """The Program; a kernel from the cache traces it when it is asked for."""
        return self._source.program

    @property
    def key(self) -> str | None:
        """The name of the kernel in the cache; None if it is not kept there."""
        return self._source.key

    @property
    def name(self) -> str:
        return self.description.name

    @property
    def inputs(self) -> tuple[Array, ...]:
        return self.description.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        return self.description.outputs

    @property
    def operations(self) -> int:
        """Additions and multiplications of one evaluation."""
        return self.description.operations

    @property
    def code_size(self) -> int:
        """Bytes of the object file."""
        return len(self._code.object_code)

    @cached_property
    def ir(self) -> str:
        """LLVM IR of the code for one row."""
        return self._source.ir

    @cached_property
    def assembly(self) -> str:
        """Assembly of the code for one row."""
        return jit.assembly(self.ir)

    def describe(self) -> str:
        """What goes in and comes out, by name, shape, unit and order, and what it costs: for people to read."""
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.program.counts.items()))
        lines = [f"{self.name}: {self.operations} additions and multiplications, {self.code_size} bytes of object code"]
        for side, arrays in (("in", self.inputs), ("out", self.outputs)):
            for array in arrays:
                order = ", ".join(array.labels) or "row by row"
                lines.append(f"  {side:<4}{array.name:<16}{shown(array.shape) or '1':<8}{array.unit:<20}{order}")
        return "\n".join([*lines, f"  operations: {counts}"])

    def __repr__(self) -> str:
        arguments = ", ".join(f"{a.name}{list(a.shape)}" for a in self.inputs)
        return f"<Kernel {self.name}({arguments}), {self.operations} operations>"

    # Calls that are not one sample in float64 arrays ----------------------------------------------------

    def _call(self, *args: Any, out: Any = None, finite: Any = None, threads: int = 1, **unknown: Any) -> Any:
        if unknown:
            known = "its arrays by position, out=, finite= and threads="
            raise InputError(f"{self.name} takes {known}, not {', '.join(unknown)}")
        arrays = self._checked(args)
        batch = self._batch(arrays)
        shapes = self.result.shapes(self.outputs, batch)
        given = [x for x in (*args, *arrays) if isinstance(x, np.ndarray)]  # as they came, and as they are read
        results, targets = self._targets(out, shapes, given)
        rows = math.prod(batch)
        inputs, steps = zip(*(spread(x, array, batch) for x, array in zip(arrays, self.inputs))) if arrays else ((), ())
        mask = self._mask(finite, batch, [*results, *given])
        bad = self._run_parts((inputs, steps, tuple(targets), rows), rows, mask, threads)
        if finite is not None and finite is not mask:
            finite[...] = mask
        failed = bad > 0 and not batch
        for result, target in zip(results, targets):
            # Arguments are not lost to an evaluation that failed.
            if result is not target and not (failed and any(np.may_share_memory(result, x) for x in given)):
                result[...] = target
        if failed:
            self._raise_non_finite(tuple(arrays))
        return results[0] if self.result.type is None else self.result.type(*results)

    def _mask(self, finite: Any, batch: tuple[int, ...], others: Sequence[np.ndarray]) -> np.ndarray | None:
        if finite is None:
            return None
        if type(finite) is not np.ndarray or finite.dtype != bool or finite.shape != batch:
            raise InputError(f"{self.name}: finite must be a boolean array of shape {batch}")
        if not finite.flags.writeable:
            raise InputError(f"{self.name}: finite is read-only")
        if overlaps_itself(finite) or any(np.may_share_memory(finite, x) for x in others):
            raise InputError(f"{self.name}: finite overlaps itself, an argument or out; give an array of its own")
        return finite if finite.flags.carray else np.empty(batch, dtype=bool)

    def _run_parts(self, arrays: tuple, rows: int, mask: np.ndarray | None, threads: int) -> int:
        """The rows of a batch, split among threads in whole blocks."""
        if not isinstance(threads, Integral) or threads < 1:
            raise InputError(f"{self.name}: threads is {threads!r}, it must be a positive integer")
        lanes = self.ready_for(rows)
        part = -(-rows // (int(threads) * lanes)) * lanes
        starts = range(0, rows, max(part, 1))
        if len(starts) <= 1:
            return self._run(*arrays, 0, rows, mask)
        return sum(side_by_side(lambda first: self._run(*arrays, first, min(part, rows - first), mask), starts))

    def ready_for(self, rows: int) -> int:
        """How many rows of such a batch run at once; the code for them is compiled if it is not there yet."""
        if rows < BLOCKS_FROM:
            return 1
        lanes = jit.simd_lanes()
        if self._block is None:
            with_stack(COMPILER_STACK, lambda: self._compile_block(lanes))
        return lanes

    def _compile_block(self, lanes: int) -> None:
        """Have code for `lanes` rows at once; made once, whichever thread asks first."""
        with _compiling:
            if self._block is None:
                self._block = self._source.code(lanes, self.description)
                self._use_block(self._block.address, lanes, self.description.strided, self._block.stack)

    def _checked(self, args: tuple) -> list[np.ndarray]:
        name = self.name
        if len(args) != len(self.inputs):
            wanted = ", ".join(array.name for array in self.inputs)
            raise InputError(f"{name} takes {len(self.inputs)} arrays ({wanted}), {len(args)} were given")
        return [as_floats(x, array, name) for x, array in zip(args, self.inputs)]

    def _batch(self, arrays: list[np.ndarray]) -> tuple[int, ...]:
        leading = [x.shape[: x.ndim - len(array.shape)] for x, array in zip(arrays, self.inputs)]
        batch = broadcast(leading)
        if batch is None:
            shown = ", ".join(f"{array.name}: {shape}" for array, shape in zip(self.inputs, leading))
            raise InputError(f"{self.name}: the batch shapes do not broadcast ({shown})")
        for shape in (*(array.shape for array in self.inputs), *self.result.shapes(self.outputs)):
            if len(batch) + len(shape) > MAX_DIMENSIONS:
                most = f"arrays have {MAX_DIMENSIONS}, and {len(shape)} of them are taken"
                raise InputError(f"{self.name}: the batch has {len(batch)} dimensions; {most}")
            if 8 * math.prod(batch) * math.prod(shape) > sys.maxsize:
                raise InputError(f"{self.name}: a batch of shape {batch} is more than memory can hold")
        return batch

    def _targets(self, out: Any, shapes: list[tuple[int, ...]], arrays: list[np.ndarray]) -> tuple[list, list]:
        """The arrays to return, and contiguous ones to write to, the same wherever possible."""
        if out is None:
            results = [np.empty(shape) for shape in shapes]
            return results, results
        if self.result.type is not None and not isinstance(out, tuple | list):
            raise InputError(f"{self.name}: out must be {len(shapes)} arrays, not {type(out).__name__}")
        results = [out] if self.result.type is None else list(out)
        if len(results) != len(shapes):
            raise InputError(f"{self.name}: out must be {len(shapes)} arrays, not {len(results)}")
        for result, shape in zip(results, shapes):
            if type(result) is not np.ndarray or result.dtype != np.float64 or result.shape != shape:
                what = f"{result.dtype} {result.shape}" if isinstance(result, np.ndarray) else type(result).__name__
                raise InputError(f"{self.name}: out must be a float64 array of shape {shape}, not {what}")
            if not result.flags.writeable:
                raise InputError(f"{self.name}: out is read-only")
            if overlaps_itself(result):
                what = f"elements of out share memory (strides {result.strides})"
                raise InputError(f"{self.name}: {what}; give an array such as np.empty({shape})")
        if any(np.may_share_memory(x, y) for x, y in combinations(results, 2)):
            raise InputError(f"{self.name}: the arrays in out overlap; give {len(shapes)} separate ones")
        plain = [x.flags.carray and not any(np.may_share_memory(x, y) for y in arrays) for x in results]
        return results, [x if ok else np.empty(x.shape) for x, ok in zip(results, plain)]

    def _raise_non_finite(self, args: tuple) -> None:
        """Say which input made the result infinite or NaN."""
        name = self.name
        arrays = self._checked(args)
        for x, array in zip(arrays, self.inputs):
            bad = np.flatnonzero(~np.isfinite(x))
            if bad.size:
                raise NonFiniteError(f"{name} is not finite because {element(array, bad[0])} is {x.flat[bad[0]]}")
        for k, e in self.description.angles:
            if abs(arrays[k].flat[e]) > SIN_RANGE:
                where = f"{element(self.inputs[k], e)} is {arrays[k].flat[e]:g} rad"
                raise NonFiniteError(f"{name} is not finite because {where}: sine and cosine reach to {SIN_RANGE:g}")
        for k, e in self.description.divisors:
            if arrays[k].flat[e] == 0:
                where = element(self.inputs[k], e)
                raise NonFiniteError(f"{name} is not finite because {where} is 0, and it divides by that")
        if self._explain and (reason := self._explain(arrays)):
            raise NonFiniteError(f"{name} is not finite because {reason}")
        sizes = [(float(np.max(np.abs(x), initial=0.0)), k) for k, x in enumerate(arrays)]
        size, k = max(sizes, default=(0.0, 0))
        where = element(self.inputs[k], int(np.argmax(np.abs(arrays[k])))) if arrays else "no input"
        raise NonFiniteError(
            f"{name} is not finite although its inputs are: it divided by zero or overflowed; the largest input "
            f"is {where}, {size:g}"
        )


_side = threading.local()


def side_by_side(work: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    """What work makes of each part, each in a thread of its own; after Ctrl-C `stopped()` tells them to end."""
    if len(parts) == 1:
        return [work(part) for part in parts]
    event = threading.Event()

    def begin(part: Any) -> Any:
        _side.event = event
        return work(part)

    futures = [pool(len(parts)).submit(begin, part) for part in parts]
    try:
        return [future.result() for future in futures]
    finally:
        event.set()


def stopped() -> bool:
    """Whether the results of this thread's work are not wanted any more."""
    return getattr(_side, "event", None) is not None and _side.event.is_set()


@functools.cache
def pool(threads: int) -> Any:
    """Threads that are started once."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads, thread_name_prefix="flexjoint")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)  # threads do not survive a fork


def as_floats(x: Any, array: Array, name: str) -> np.ndarray:
    """`x` as float64, its trailing shape checked."""
    try:
        given = np.asarray(x)
    except Exception:
        what = f"{array.name} is no regular array of numbers"
        raise InputError(f"{name}: {what}; it must have shape (..., {shown(array.shape)})") from None
    if given.dtype.kind not in "fiub" or given.dtype.itemsize > 8:
        raise InputError(f"{name}: {array.name} has dtype {given.dtype}; give real numbers (float64)")
    if given.ndim < len(array.shape) or given.shape[given.ndim - len(array.shape) :] != array.shape:
        raise InputError(f"{name}: {array.name} has shape {given.shape}, it must be (..., {shown(array.shape)})")
    return np.require(given, np.float64, ["C", "ALIGNED"])


def spread(x: np.ndarray, array: Array, batch: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """A contiguous array of rows and the step from row to row: 0 where the array has no batch of its own."""
    if x.ndim == len(array.shape):
        return x, 0
    return np.ascontiguousarray(np.broadcast_to(x, (*batch, *array.shape))), array.size


def broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The shape that all of them broadcast to; None if there is none.  NumPy's own stops at 32 dimensions."""
    depth = max(map(len, shapes), default=0)
    sizes = [set(size) - {1} or {1} for size in zip(*((1,) * (depth - len(shape)) + shape for shape in shapes))]
    return tuple(size.pop() for size in sizes) if all(len(size) == 1 for size in sizes) else None


def overlaps_itself(x: np.ndarray) -> bool:
    """Whether elements of an array may share memory, as those of `as_strided` views can; slices never do."""
    extent = x.itemsize
    for stride, size in sorted((abs(stride), size) for stride, size in zip(x.strides, x.shape) if size != 1):
        if stride < extent and x.size:
            return True
        extent += (size - 1) * stride
    return False


def shown(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))


def element(array: Array, index: int) -> str:
    """Name of an element: q[3], or tau[3] (joint4) where the elements have names."""
    if not array.shape:
        return array.name
    place = ", ".join(str(i) for i in np.unravel_index(index, array.shape))
    label = f" ({array.labels[index]})" if array.labels else ""
    return f"{array.name}[{place}]{label}"
