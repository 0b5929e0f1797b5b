"""A run under a controller written in Python: the plant is a kernel, called once per period.

A period of the 7R takes 3 µs beyond the law itself, 5 µs with sensors (benchmarks/rows.py): all arrays are made
before the loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..control.base import JointState, joint_state
from ..observers.base import Measurement
from ..progress import Progress
from ..types import FloatArray
from .arguments import Run
from .closed_loop import LoopState, input_arrays
from .compiled_run import CHUNK
from .loop_kernel import PYTHON, loop_kernel
from .python_laws import reads_torques, refuse_nan, state_and_torque
from .records import flatten, unflatten
from .result import RunOutput

DOUBLE = np.dtype(np.float64)
Law = Callable[[float, Any, FloatArray, Any], Any]  # (t, state, reference, measurement) -> (state, torque)


class Buffers(NamedTuple):
    """The state of the loop in arrays that the kernel reads in one period and writes in the next one.

    Args:
        state: The state of the loop.
        arrays: Its arrays, in the kernel's order.
        arguments: All that the kernel takes while it reads them.
        measured: Views of what the controller sees of the state.
    """

    state: LoopState
    arrays: tuple[FloatArray, ...]
    arguments: tuple[FloatArray, ...]
    measured: JointState | Measurement


def python_run(run: Run, law: Law) -> RunOutput:
    """Period after period, until the end or until no row runs any more.

    The law gets copies: what it writes into them changes neither the robot nor the reference, and what it keeps of them
    does not change later.
    """
    robot, batch, m = run.loop.robot, run.batch, len(run.times)
    kernel: Callable[..., Any] = loop_kernel(run.loop, PYTHON).kernel
    if run.threads > 1 and batch:
        kernel = partial(kernel, threads=run.threads)  # not otherwise: the keyword alone takes 24 µs
    # One period, stage and derivative of an open loop; then the samples of a moving base.
    torque = np.empty((*batch, *input_arrays(run.loop, PYTHON.periods).reference.shape))
    numbers, given = torque.reshape(-1), torque.reshape(*batch, -1)
    command, base = given[..., : robot.motor_count], given[..., robot.motor_count :]
    torques = reads_torques(law)
    now, then = first_buffers(run, torque, torques), empty_buffers(run, torque, torques)
    history, goals = np.empty((*batch, m, sum(run.loop.columns.values()))), np.empty((m, robot.n))
    shape, after, done = command.shape, run.initial.memory, 0
    kind: Any = type(now.measured)
    for t, stack, moved, row in samples(run, goals, history):
        if run.base:
            base[...] = moved
        measurement = kind._make([x.copy() for x in now.measured])
        memory, returned = after, law(t, after, stack, measurement)
        after, command[...] = returned if plain(returned, shape) else state_and_torque(returned, robot, t, shape)
        if math.isnan(numbers.dot(numbers)):
            refuse_nan(command, robot, now.state.joint, t)
        kernel(*now.arguments, out=(row, *then.arrays))
        now, then, done = then, now, done + 1
        joint = now.state.joint
        if (joint < robot.n).all() if batch else joint.item() < robot.n:
            break
    last, instruments = now.state, tuple(flatten(now.state.instruments))
    # At the end no period follows: the memory is that before the last call.
    return RunOutput(history[..., :done, :], memory, instruments, last.done, last.joint, goals[:done])


def plain(returned: Any, shape: tuple[int, ...]) -> bool:
    """Whether a law returned (state, array of this shape), as most do: then nothing is left to check but NaN."""
    if type(returned) is not tuple or len(returned) != 2:
        return False
    tau = returned[1]
    return type(tau) is np.ndarray and tau.dtype is DOUBLE and tau.shape == shape


def first_buffers(run: Run, torque: FloatArray, torques: bool) -> Buffers:
    """The state in which the run begins, for every row of its batch."""
    buffers, initial = empty_buffers(run, torque, torques), run.initial
    first = (*flatten(initial.state), *initial.instruments, initial.begin, run.loop.robot.n)
    for array, x in zip(buffers.arrays, first):
        array[...] = x
    return buffers


def empty_buffers(run: Run, torque: FloatArray, torques: bool) -> Buffers:
    """Arrays for a state of the loop.

    Args:
        torque: What the kernel takes as reference.
        torques: Whether the law reads torque sensors.
    """
    like = input_arrays(run.loop, PYTHON.periods).state
    arrays = tuple(np.empty((*run.batch, *array.shape)) for array in flatten(like))
    state = unflatten(like, arrays)
    arguments = (*arrays, np.array(run.until), torque, *contiguous_parameters(run))
    measured = run.loop.instrumentation.seen(run.loop.robot, state.instruments, state.state.joints)
    return Buffers(state, arrays, arguments, measured if torques else joint_state(measured))


def contiguous_parameters(run: Run) -> list[FloatArray]:
    """The numbers of the run; those that differ from row to row, for every row."""
    arrays = flatten(input_arrays(run.loop, PYTHON.periods).parameters)
    pairs = list(zip(flatten(run.parameters), arrays))
    shapes = [array.shape if x.shape == array.shape else (*run.batch, *array.shape) for x, array in pairs]
    return [np.array(np.broadcast_to(x, shape), order="C") for (x, _), shape in zip(pairs, shapes)]


def samples(
    run: Run, goals: FloatArray, history: FloatArray
) -> Iterator[tuple[float, FloatArray, FloatArray, FloatArray]]:
    """The time, the reference (order + 1, n), the samples of a moving base and the place in the history
    (..., 1, columns) of every period.

    `goals` (m, n) receives what is followed.
    """
    progress, rows = (
        Progress(f"simulating {run.loop.robot.name}", len(goals)),
        np.moveaxis(history[..., None, :], -3, 0),
    )
    for first in range(0, len(goals), CHUNK):
        part = slice(first, first + CHUNK)
        table = np.array(run.reference(run.times[part]))  # the law's own: it may write into it
        goals[part] = table[:, 0]
        yield from zip(run.times[part].tolist(), table, run.base_samples(run.times[part]), rows[part])
        progress.reached(first + CHUNK)
