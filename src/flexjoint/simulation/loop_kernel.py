"""The closed loop as a kernel, with the loop over time inside."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import NamedTuple

from ..algorithm.compile import program_of
from ..algorithm.derivatives import in_a_tuple
from ..compiler.ir.program import Array, Program
from ..compiler.passes.loop_distribution import PRECOMPUTED, Distributed, distribute_loop
from ..compiler.pipeline import cached
from ..compiler.runtime.kernel import Kernel, Result
from ..types import Expression, FloatArray
from .closed_loop import ClosedLoop, input_arrays, output_arrays, periods_in_turn
from .records import flatten, unflatten


class Blocking(NamedTuple):
    """How a run is cut into calls of its kernel.

    Args:
        periods: Periods per call.
        least: Operations that a number must save to be computed from the reference before the loop.
    """

    periods: int
    least: float


SINGLE = Blocking(200, 30.0)  # rows one by one: a call takes 1 µs, and a run waits for the robot, not for the law
BATCH = Blocking(50, 2.0)  # as many rows as a register has lanes: longer calls outgrow the cache
PYTHON = Blocking(1, math.inf)  # the torque comes from outside


class CompiledLoop(NamedTuple):
    """The kernel of some periods, and the kernel that computes what it takes from their references, if there is one."""

    precomputation: Kernel | None
    kernel: Kernel

    @property
    def periods(self) -> int:
        """Periods per call."""
        return self.kernel.outputs[0].shape[0]

    def precomputed(self, references: FloatArray) -> FloatArray:
        """What the kernel takes of references (..., stages, rows, width)."""
        return self.precomputation(references) if self.precomputation else references


@lru_cache(maxsize=64)
def loop_kernel(loop: ClosedLoop, blocking: Blocking) -> CompiledLoop:
    """The kernel from `LoopInputs` to `LoopOutputs`; it may take references that were `precomputed`."""
    inputs, outputs = input_arrays(loop, blocking.periods), output_arrays(loop, blocking.periods)

    def function(*arrays: Expression) -> list[tuple[Array, Expression]]:
        found = periods_in_turn(loop, unflatten(inputs, arrays), blocking.periods)
        return list(zip(flatten(outputs), flatten(found)))

    @cache
    def programs() -> Distributed:
        whole = program_of(f"simulation of {loop.robot.name}", flatten(inputs), function)
        return distribute_loop(whole, "reference", blocking.least)

    def traced(part: str) -> tuple[Program, Result]:
        program = getattr(programs(), part)
        return program, Result([None] * len(program.outputs), in_a_tuple if part == "second" else None)

    key = f"{loop.key} {blocking!r}" if loop.key else None
    kernel = cached(key, lambda: traced("second"), in_a_tuple)
    if all(array.name != PRECOMPUTED for array in kernel.inputs):
        return CompiledLoop(None, kernel)
    return CompiledLoop(cached(key and f"{key} precomputation", lambda: traced("first")), kernel)
