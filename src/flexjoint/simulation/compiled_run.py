"""A run under a controller of flexjoint's: robot, law and the loop over time are one kernel, called block by block."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ..compiler.runtime.kernel import BLOCKS_FROM, side_by_side, stopped
from ..progress import Progress
from ..types import FloatArray
from .arguments import Run
from .closed_loop import LoopInputs, LoopState, input_arrays
from .loop_kernel import BATCH, SINGLE, Blocking, CompiledLoop, loop_kernel
from .records import flatten, unflatten
from .result import RunOutput

CHUNK = 2000  # periods whose reference is sampled at once, about: few enough for the cache


def blocking_for(batch: tuple[int, ...]) -> Blocking:
    """How a run with these leading dimensions is cut into blocks."""
    return BATCH if math.prod(batch) >= BLOCKS_FROM else SINGLE


class Part(NamedTuple):
    """Rows of a batch: what the kernel takes at first, without a reference, and where the history goes."""

    inputs: LoopInputs
    history: FloatArray


class Ended(NamedTuple):
    """How a part ended: after how many periods, in which state, and what it followed (periods, width)."""

    periods: int
    state: LoopState
    goals: FloatArray


class Table(NamedTuple):
    """The reference of some blocks: goals (periods, width), and what the kernel takes of it (periods, ...)."""

    goals: FloatArray
    precomputed: FloatArray


def compiled_run(run: Run) -> RunOutput:
    """All blocks in one thread, or the rows of a batch in several threads, each of which runs all blocks."""
    compiled, m = loop_kernel(run.loop, blocking_for(run.batch)), len(run.times)
    history = np.empty((*run.batch, m + compiled.periods, sum(run.loop.columns.values())))
    parts = [Part(first_inputs(run), history)]
    if run.threads > 1 and run.batch:
        parts = divided(compiled, parts[0], run.threads)
    tables: Iterable[Table] = reference_tables(run, compiled)
    if len(parts) > 1:
        tables = list(tables)  # once for all threads
    progress = Progress(f"simulating {run.loop.robot.name}", m)

    def work(part: Part) -> Ended:
        return run_blocks(run, compiled, tables, part, progress.reached if part is parts[0] else lambda _: None)

    ended = side_by_side(work, parts)
    longest, last = max(ended, key=lambda part: part.periods), ended[0].state
    if len(ended) > 1:
        arrays = zip(*(flatten(part.state) for part in ended))
        last = unflatten(last, [np.concatenate(x).reshape(*run.batch, *x[0].shape[1:]) for x in arrays])
    m = min(longest.periods, m)
    instruments = tuple(flatten(last.instruments))
    return RunOutput(history[..., :m, :], tuple(last.memory), instruments, last.done, last.joint, longest.goals[:m])


def first_inputs(run: Run) -> LoopInputs:
    """What the kernel takes at first, without a reference."""
    initial, joint = run.initial, run.loop.robot.n
    around = [np.asarray(x, dtype=float) for x in (*initial.memory, *initial.instruments, initial.begin, joint)]
    state = unflatten(input_arrays(run.loop, 1).state, [*flatten(initial.state), *around])
    return LoopInputs(state, np.array(run.until), None, run.parameters)


def run_blocks(
    run: Run, compiled: CompiledLoop, tables: Iterable[Table], part: Part, report: Callable[[int], None]
) -> Ended:
    """Block after block, until the end or until no row runs any more."""
    kernel, block, n = compiled.kernel, compiled.periods, run.loop.robot.n
    state, until, parameters = flatten(part.inputs.state), part.inputs.until, flatten(part.inputs.parameters)
    batch, place = part.history.shape[:-2], 0
    goals = np.empty((part.history.shape[-2], run.loop.controller.width))
    shapes = kernel.result.shapes(kernel.outputs, batch)[1:]
    buffers = [[np.empty(shape) for shape in shapes] for _ in range(2)]  # in turn: a block reads the last one's

    def ended() -> Ended:
        return Ended(place, unflatten(part.inputs.state, state), goals)

    for table in tables:
        goals[place : place + len(table.goals)] = table.goals
        for first in range(0, len(table.goals), block):
            after, history = buffers[0], part.history[..., place : place + block, :]
            kernel(*state, until, table.precomputed[first : first + block], *parameters, out=(history, *after))
            place, state = place + block, after
            buffers.reverse()
            joint = after[-1]
            if stopped() or ((joint < n).all() if batch else joint.item() < n):
                return ended()
        report(place)
    return ended()


def divided(compiled: CompiledLoop, whole: Part, threads: int) -> list[Part]:
    """As many parts of a batch as threads, in whole vector registers."""
    kernel, batch = compiled.kernel, whole.history.shape[:-2]
    rows, before = math.prod(batch), len(flatten((whole.inputs.state, whole.inputs.until)))
    arrays = [*kernel.inputs[:before], *kernel.inputs[before + 1 :]]  # without the reference
    given = zip(flatten(whole.inputs), arrays)
    flat = [np.broadcast_to(x, (*batch, *array.shape)).reshape(rows, *array.shape) for x, array in given]
    lanes = kernel.ready_for(rows)
    size = -(-rows // (threads * lanes)) * lanes
    history = whole.history.reshape(rows, *whole.history.shape[-2:])
    cuts = [slice(first, first + size) for first in range(0, rows, size)]
    return [Part(unflatten(whole.inputs, [np.ascontiguousarray(x[cut]) for x in flat]), history[cut]) for cut in cuts]


def reference_tables(run: Run, compiled: CompiledLoop) -> Iterator[Table]:
    """One table after another; the last block is filled up with periods in which nothing happens."""
    chunk, t = CHUNK // compiled.periods * compiled.periods, run.times
    for first in range(0, len(t), chunk):
        times = t[first : first + chunk]
        times = np.append(times, np.full(-len(times) % compiled.periods, times[-1]))
        stages = times[:, None] + run.loop.period * np.array(run.loop.stages)
        table = run.reference(np.minimum(stages, t[-1]))
        goals = table[:, 0, 0] if run.reference.times[0] == 0 else run.reference.goal(times)
        if run.base:
            table = np.concatenate([table.reshape(len(times), -1), run.base_samples(times)], axis=1)
        yield Table(goals, compiled.precomputed(np.ascontiguousarray(table)))
