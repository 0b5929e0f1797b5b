"""Every stage from SX expressions to a callable, in the order in which they run.

    SX  --trace-->  Program  --lower-->  LLVM IR  --machine_code-->  object code  --Kernel-->  arrays

`trace`, `lower` and `machine_code` list every pass, one per line, with the reason for it.  `compile` makes a Kernel of
a Program; `cached` first looks in the cache on disk, so that the second run of a program neither traces nor compiles.

    program = trace("square", [(Array("x", ()), x)], [(Array("y", ()), x * x)])
    compile(program)(3.0)         # 9.0
"""

from __future__ import annotations

import copyreg
import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..errors import InputError, noted_warnings, warn
from ..progress import activity
from ..types import Expression
from .ir.packing import Definition as Pack
from .ir.program import LANES, Array, Program
from .ir.scan import Definition, Operation
from .ir.trace import record
from .llvm import jit, outlining
from .llvm.control_word import BODY, guarded
from .llvm.kernel_ir import kernel_ir
from .llvm.loop_buffers import copied_elements
from .passes.dead_code import trim_loops, without_dead_code
from .passes.finite_check import with_finite_check
from .passes.fusion import fuse
from .passes.reciprocals import share_reciprocals
from .passes.scheduling import by_critical_path, in_recursion_order
from .passes.unpacking import unpacked, with_positive_zeros
from .runtime import cache
from .runtime.calling import COMPILER_STACK, with_stack
from .runtime.description import Description
from .runtime.kernel import MAX_ARRAYS, Explanation, Kernel, Result, ResultType

SHORT = 1000  # values; longer SIMD code lacks registers, and the critical path costs it 5 to 35 %


# The stages ------------------------------------------------------------------------------------------------------


def trace(
    name: str,
    inputs: Sequence[tuple[Array, Expression]],
    outputs: Sequence[tuple[Array, Expression]],
    definitions: Mapping[int, Definition | Operation] | None = None,
    known: Sequence[tuple[Expression, float]] = (),
    packs: Sequence[Pack] = (),
) -> Program:
    """The Program that computes the SX expressions `outputs` from the SX symbols `inputs`; see `ir.trace.record`."""
    program = record(name, inputs, outputs, definitions or {}, known, packs)  # one operation per CasADi instruction
    program = optimise(program)  # the same results in fewer operations
    if not program.packs:
        return program
    plain = unpacked(program)  # one value per lane: what batches, C and the interpreter execute
    plain, packed = map(with_positive_zeros, (plain, program))  # the sign of a zero is all in which the two differ
    return replace(in_recursion_order(plain), packed=packed)  # half as many values alive as lane after lane


def optimise(program: Program) -> Program:
    """The passes that every backend shares."""
    program = program.with_loop_bodies(optimise)  # from the innermost loop outwards
    program = trim_loops(program)  # loops compute only what a result needs
    program = without_dead_code(program)  # ... and so does the rest
    program = share_reciprocals(program)  # a division costs ten products
    return fuse(program)  # multiply-adds: a quarter of the time, and the same bits in every backend


def lower(program: Program, rows: int = 1, symbol: str = "kernel") -> str:
    """LLVM IR that evaluates one row, or as many rows as a vector register has lanes."""
    if rows == 1 and program.packed and jit.simd_lanes() >= len(LANES):
        program = program.packed  # derivatives in the lanes of one register: 30 % less time for the elastic 7R
    program = schedule(program, rows)  # fewer values alive, or fewer that wait
    program = with_finite_check(program, copied_elements(program))  # the status word: which rows are finite
    return kernel_ir(program, rows, symbol)  # SLP bundles in code for one row, outlined functions, one line per value


def schedule(program: Program, rows: int) -> Program:
    """The same operations in the order that suits the code."""
    if program.packs or (rows == 1 and len(program.code) <= outlining.WHOLE):
        return in_recursion_order(program)  # registers are scarce: 7 to 10 % less time
    if rows > 1 and len(program.code) <= SHORT:
        return by_critical_path(program)  # independent operations are scarce: 25 % less time for the rigid 7R
    return program  # CasADi's order by depth: 10 % less time in outlined functions


def machine_code(program: Program, rows: int = 1) -> bytes:
    """Object code for this processor."""
    ir = lower(program, rows, BODY)
    ir = guarded(ir, rows)  # flush-to-zero and rounding modes of other libraries do not reach a kernel
    return jit.compile_object(ir)  # LLVM combines instructions, selects them and allocates registers


# Kernels ---------------------------------------------------------------------------------------------------------


class PipelineSource:
    """A `CodeSource`: supplies code from the cache, else from the Program, which is traced when it is needed.

    `key` names the kernel in the cache; None keeps it out of the cache.
    """

    def __init__(self, key: str | None, trace: Callable[[], Program]):
        self.key = key
        self._trace = trace

    @cached_property
    def program(self) -> Program:
        """The Program; traced at the first use, if the code came from the cache."""
        return self._trace()

    @property
    def ir(self) -> str:
        """LLVM IR for one row."""
        return lower(self.program)

    def stored(self, rows: int) -> tuple[Description, jit.MachineCode] | None:
        """What the cache holds for so many rows at once."""

        def used(entry: cache.Entry) -> tuple[Description, jit.MachineCode]:
            return Description.from_json(entry.description), jit.load_object(entry.object_code)

        return cache.load(self._cache_key(rows), used) if self.key else None

    def compiled(self, rows: int, description: Description) -> jit.MachineCode:
        """Newly compiled code, stored in the cache with its description."""
        with activity(f"compiling {description.name}" + (" for batches" if rows > 1 else "")):
            object_code = machine_code(self.program, rows)
        if self.key:
            cache.store(self._cache_key(rows), cache.Entry(description._asdict(), object_code))
        return jit.load_object(object_code)

    def code(self, rows: int, description: Description) -> jit.MachineCode:
        """Code that evaluates so many rows at once."""
        found = self.stored(rows)
        return found[1] if found else self.compiled(rows, description)

    def _cache_key(self, rows: int) -> str:
        return cache.key_of(self.key, rows, jit.processor())


def compile(program: Program, result: Result | None = None) -> Kernel:
    """The Kernel of a Program; by default it returns one array, or the first output if there are several."""
    return cached(None, lambda: (program, result or Result([None] * len(program.outputs))))


def cached(
    key: str | None,
    trace: Callable[[], tuple[Program, Result]],
    type: ResultType = None,
    nominal: tuple[np.ndarray, ...] = (),
    explain: Explanation | None = None,
) -> Kernel:
    """The Kernel that the cache holds under `key`, else that of the Program which `trace` returns.

    A hit neither traces nor imports CasADi.

    - `key`: names everything that the code depends on, beside flexjoint, CasADi, LLVM and the processor; None to keep
      the kernel out of the cache
    - `trace`: returns the Program and how its outputs become the value of a call
    - `type`: the type of that value, None for one array
    - `nominal`: values of the free parameters, the last inputs, in the robot itself
    - `explain`: called with the arrays of a call; says why a result is not finite though all inputs are
    """

    def build() -> Kernel:
        source = PipelineSource(key, lambda: trace()[0])
        if stored := source.stored(1):
            description, code = stored
            for message in description.warnings:
                warn(message)
            return Kernel(description, code, source, Result(description.layers, type), 0.0, nominal, explain)
        with noted_warnings() as warnings:
            source.program, result = trace()
        description = Description.of(source.program, result.layers, warnings)
        if max(len(description.inputs), len(description.outputs)) > MAX_ARRAYS:
            what = f"{description.name} has more than {MAX_ARRAYS} arrays in or out"
            raise InputError(f"{what}; ask for fewer derivatives")
        started = time.perf_counter()
        code = source.compiled(1, description)
        return Kernel(description, code, source, result, time.perf_counter() - started, nominal, explain)

    with garbage_collection_paused():
        return with_stack(COMPILER_STACK, build)


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Nothing is collected meanwhile: a Program is many small tuples without cycles, and looking for cycles among them
    takes a tenth of the time of a cold closed loop (benchmarks/cold_start.py)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _rebuilt(program: Program, result: Result, nominal: tuple[np.ndarray, ...]) -> Kernel:
    return cached(None, lambda: (program, result), nominal=nominal)


# A pickled kernel is its Program, compiled anew for the processor where it is unpickled.
copyreg.pickle(Kernel, lambda kernel: (_rebuilt, (kernel.program, kernel.result, kernel.nominal)))
