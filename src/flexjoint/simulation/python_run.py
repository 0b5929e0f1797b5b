"""A run under a controller written in Python: the plant is a kernel, called once per period.

A period of the 7R takes 3 µs beyond the law itself, 5 µs with sensors (benchmarks/rows.py): all arrays are made
before the loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..control.base import JointState
from ..progress import Progress
from ..robot import Robot
from ..types import FloatArray
from .arguments import Run
from .closed_loop import LoopState, input_arrays
from .compiled_run import CHUNK
from .loop_kernel import PYTHON, loop_kernel
from .python_laws import state_and_torque
from .records import flatten, unflatten
from .result import RunOutput

Law = Callable[[float, Any, FloatArray, JointState], Any]  # (t, state, reference, measurement) -> (state, torque)


class Buffers(NamedTuple):
    """The state of the loop in arrays that the kernel reads in one period and writes in the next one.

    Args:
        measured: Views of what the controller sees of it.
    """

    arrays: list[FloatArray]
    state: LoopState
    measured: JointState


def python_run(run: Run, law: Law) -> RunOutput:
    """Period after period, until the end or until no row runs any more.

    The law gets copies: what it writes into them changes neither the robot nor the reference, and what it keeps of them
    does not change later.
    """
    robot, batch, m = run.loop.robot, run.batch, len(run.times)
    kernel = loop_kernel(run.loop, PYTHON).kernel
    options = {"threads": run.threads} if run.threads > 1 and batch else {}  # the keyword alone takes 24 µs
    now, then = first_buffers(run), empty_buffers(run)
    torque = np.empty((*batch, 1, 1, 1, robot.motor_count))  # one period, stage and derivative of an open loop
    command, parameters = torque.reshape(*batch, robot.motor_count), contiguous_parameters(run)
    until, after = np.array(run.until), run.initial.memory
    history = np.empty((*batch, m, sum(run.loop.columns.values())))
    rows = np.moveaxis(history[..., None, :], -3, 0)  # a view (..., 1, columns) per period
    goals, progress = np.empty((m, robot.n)), Progress(f"simulating {robot.name}", m)
    done = 0
    for k, (t, stack) in enumerate(samples(run, goals, progress)):
        q, v, theta, theta_v = now.measured
        measurement = JointState(q.copy(), v.copy(), theta.copy(), theta_v.copy())
        memory, returned = after, law(t, after, stack, measurement)
        after, command[...] = checked(returned, robot, command, now.state.joint, t)
        kernel(*now.arrays, until, torque, *parameters, out=(rows[k], *then.arrays), **options)
        now, then, done = then, now, k + 1
        joint = now.state.joint
        if (joint < robot.n).all() if batch else joint.item() < robot.n:
            break
    last, instruments = now.state, tuple(flatten(now.state.instruments))
    # At the end no period follows: the memory is that before the last call.
    return RunOutput(history[..., :done, :], memory, instruments, last.done, last.joint, goals[:done])


def checked(returned: Any, robot: Robot, command: FloatArray, joint: FloatArray, t: float) -> tuple[Any, FloatArray]:
    """State and torque that a law returned; the usual case, an array without NaN, is decided quickly."""
    if type(returned) is tuple and len(returned) == 2:
        tau = returned[1]
        if type(tau) is np.ndarray and tau.dtype == np.float64 and tau.shape == command.shape:
            numbers = tau.ravel()
            if not math.isnan(numbers.dot(numbers)):
                return returned
    return state_and_torque(returned, robot, joint, t, command.shape)


def first_buffers(run: Run) -> Buffers:
    """The state in which the run begins, for every row of its batch."""
    buffers, initial = empty_buffers(run), run.initial
    for array, x in zip(buffers.arrays, (*initial.state, *initial.instruments, initial.begin, run.loop.robot.n)):
        array[...] = x
    return buffers


def empty_buffers(run: Run) -> Buffers:
    like = input_arrays(run.loop, PYTHON.periods).state
    arrays = [np.empty((*run.batch, *array.shape)) for array in flatten(like)]
    state = unflatten(like, arrays)
    return Buffers(arrays, state, run.loop.instrumentation.seen(run.loop.robot, state.instruments, state.state))


def contiguous_parameters(run: Run) -> list[FloatArray]:
    """The numbers of the run; those that differ from row to row, for every row."""
    arrays = flatten(input_arrays(run.loop, PYTHON.periods).parameters)
    pairs = list(zip(flatten(run.parameters), arrays))
    shapes = [array.shape if x.shape == array.shape else (*run.batch, *array.shape) for x, array in pairs]
    return [np.array(np.broadcast_to(x, shape), order="C") for (x, _), shape in zip(pairs, shapes)]


def samples(run: Run, goals: FloatArray, progress: Progress) -> Iterator[tuple[float, FloatArray]]:
    """The times and the references (order + 1, n) of all periods; `goals` (m, n) receives what is followed."""
    for first in range(0, len(run.times), CHUNK):
        part = slice(first, first + CHUNK)
        table = np.array(run.reference(run.times[part]))  # the law's own: it may write into it
        goals[part] = table[:, 0]
        yield from zip(run.times[part].tolist(), table)
        progress.reached(first + CHUNK)
