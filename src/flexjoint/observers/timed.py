"""Observers of samples with time stamps: the time between two samples may vary, and samples may be missing.

`law` runs once per `period`, as for every observer.  `kernel` also takes the elapsed time, and `run` a whole log.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.ir.scan import mapped, scan
from ..compiler.ir.trace import check_count
from ..compiler.runtime.kernel import Kernel
from ..errors import NOT_NUMBERS, InputError
from ..reprs import short_repr
from ..robot import Robot
from ..spatial import ca, sx
from ..types import Expression, FloatArray, Stack
from .base import Measurement, Observer, ObserverResult, measurement_sizes
from .stamps import classify_stamps

StepResult: TypeAlias = tuple[Expression, dict[str, Expression]]  # the next state, and the outputs

BLOCK = 64  # samples per call of the kernel for logs


class TimedObserver(Observer):
    """An observer whose state is one array and whose law takes the elapsed time.

    Attributes:
        causes: What a large value of each channel points to, in words, by channel.
    """

    causes: ClassVar[Mapping[str, str]] = {}

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """The fields of a Measurement that it needs."""

    @property
    @abstractmethod
    def channels(self) -> dict[str, int]:
        """The outputs that are estimates, and the size of each."""

    @property
    def always_zero(self) -> dict[str, np.ndarray]:
        """Entries of channels that are zero by design, bool (size,) by channel: they need no threshold."""
        return {}

    @property
    def reads_torque(self) -> bool:
        """Whether it depends on the motor torques."""
        return True

    @abstractmethod
    def step(self, state: Expression, h: Expression, measurement: Measurement, torque: Expression) -> StepResult:
        """The law, in SX, h seconds after the sample before.

        Args:
            state: Column of the size `memory`.
            h: Time since the sample before, s.
            measurement: Columns of the fields in `reads`; the others are None.
            torque: Mean motor torque (m, 1) since the sample before, Nm or N.

        Returns:
            The next state, and the outputs by name.
        """

    def checked_step(
        self, state: Expression, h: Expression, measurement: Measurement, torque: Expression
    ) -> StepResult:
        """`step` on copies of its arguments, which it may write into, with the sizes of its results checked."""
        found = self.step(*mapped((state, h, measurement, torque), ca.SX))
        owner = f"{type(self).__name__}.step"
        check_count(owner, "its result", ("state", "outputs"), found)
        (after,), outputs = self.as_declared(owner, [Array("state", self.memory)], ([found[0]], found[1]))
        return after, outputs

    def law(self, state: Stack, measurement: Measurement, torque: Expression) -> ObserverResult:
        after, found = self.checked_step(state[0], sx(self.period), measurement, torque)
        return (after,), found

    @property
    def initial_state(self) -> tuple[FloatArray]:
        """The state before the first sample."""
        return (np.zeros(self.memory[0]),)

    def start(self, measurement: Measurement) -> tuple[tuple[FloatArray, ...], dict[str, FloatArray]]:
        """State and outputs at the first sample; the robot may already be moving."""
        return self(self.initial_state, measurement, np.zeros(self.robot.motor_count))

    def __repr__(self) -> str:
        own = {x.name: getattr(self, x.name) for x in fields(self) if x.repr}  # type: ignore[arg-type]
        parts = [x.name if isinstance(x, Robot) else x for x in own.values() if isinstance(x, Robot | Observer)]
        return short_repr(self, *parts, **{k: x for k, x in own.items() if not isinstance(x, Robot | Observer)})

    # Kernels with time ------------------------------------------------------------------------------------------------

    @cached_property
    def kernel(self) -> Kernel:
        """Kernel of one sample: (state, elapsed, *fields of `reads`, torque) -> (state, *outputs).

        `elapsed` is the time in s since the sample before.  With `out=` it allocates nothing.
        """
        states, outputs = Array("state", self.memory), [Array(name, (size,)) for name, size in self.outputs.items()]

        def update(state: Expression, h: Expression, *arrays: Expression) -> list[tuple[Array, Expression]]:
            after, found = self.checked_step(state, h, self.as_measurement(arrays[:-1]), arrays[-1])
            return [(states, after), *((array, found[array.name]) for array in outputs)]

        inputs = [states, Array("elapsed", (), "s"), *self.sample_arrays]
        return kernel_of(f"{type(self).__name__} of {self.robot.name}", inputs, update, self._key("sample"))

    @cached_property
    def sample_arrays(self) -> list[Array]:
        """The arrays of one sample, without its time: the fields of `reads`, then the torque."""
        sizes = dict(zip(Measurement._fields, measurement_sizes(self.robot)))
        return [*(Array(name, (sizes[name],)) for name in self.reads), Array("torque", (self.robot.motor_count,))]

    def as_measurement(self, columns: Sequence[Expression]) -> Measurement:
        """A Measurement with these columns in the fields of `reads`, None elsewhere."""
        return Measurement(**{**dict.fromkeys(Measurement._fields), **dict(zip(self.reads, columns))})

    @cached_property
    def _log_kernel(self) -> Kernel:
        """Kernel of BLOCK samples: (state, samples) -> (history, state)."""
        states, edges = Array("state", self.memory), np.cumsum([0, 1, *(x.size for x in self.sample_arrays)]).tolist()
        width = sum(self.outputs.values())

        def update(state: Expression, samples: Expression) -> list[tuple[Array, Expression]]:
            def one(carry: Expression, sample: Expression) -> tuple[Expression, Expression]:
                h, *columns, torque = ca.vertsplit(sample, edges)
                after, found = self.checked_step(carry, h, self.as_measurement(columns), torque)
                return after, ca.vertcat(*(found[name] for name in self.outputs))

            last, ys = scan(one, state, [samples[k, :].T for k in range(BLOCK)])
            return [(Array("history", (BLOCK, width)), ca.horzcat(*ys).T), (states, last)]

        inputs = [states, Array("samples", (BLOCK, edges[-1]))]
        return kernel_of(f"{type(self).__name__} of {self.robot.name} along a log", inputs, update, self._key("log"))

    def _key(self, kernel: str) -> str | None:
        """The name of a kernel on disk; None for observers defined outside flexjoint, whose code the cache ignores."""
        return f"{kernel} {_identity(self)}" if _is_own(self) else None

    def run(
        self, t: ArrayLike, measurement: Measurement, torque: ArrayLike | None, *, held: bool = True, threads: int = 1
    ) -> dict[str, FloatArray]:
        """Outputs along a log, or along several logs of the same length.

        Args:
            t: Times (..., m) of the m samples, s.  Wrong or missing stamps are handled: see `stamps.py`.
            measurement: Fields (..., m, size); those that the observer does not read may be None.
            torque: Motor torques (..., m, motors), Nm or N.
            held: Whether row k of `torque` is commanded at t[k] and held, as in a Simulation and by default.  With
                False it is measured at t[k], and the mean of two rows acts between two samples.
            threads: Number of threads for several logs; 1 by default.

        Returns:
            The outputs (..., m, size) by name.

        Raises:
            InputError: An array is missing or has a wrong shape.
        """
        t = np.asarray(t, dtype=float)
        if not t.ndim or not t.shape[-1]:
            raise InputError(f"{type(self).__name__}: the times of a log have shape {t.shape}; give (..., m), m > 0")
        given = [*self.read_fields(measurement), torque]
        columns = [self._checked(array, x) for array, x in zip(self.sample_arrays, given)]
        samples = broadcast([elapsed_times(t, self.period)[..., None], *columns])
        batch = samples[0].shape[:-1]
        m, width = batch[-1], sum(self.outputs.values())
        found, state = np.empty((*batch, width)), self.initial_state[0]
        for first in range(0, m, BLOCK):
            last = min(first + BLOCK, m)
            block = np.full((*batch[:-1], BLOCK, 1 + sum(x.size for x in self.sample_arrays)), np.nan)
            parts = [*(x[..., first:last, :] for x in samples[:-1]), torque_before(samples[-1], first, last, held)]
            block[..., : last - first, :] = np.concatenate(parts, -1)
            history, state = self._log_kernel(state, block, threads=threads)
            found[..., first:last, :] = history[..., : last - first, :]
        edges = np.cumsum(list(self.outputs.values()))[:-1]
        return dict(zip(self.outputs, np.split(found, edges, axis=-1)))

    def read_fields(self, measurement: Measurement) -> list[Any]:
        """The fields of a measurement that it reads, in the order of `reads`."""
        return [getattr(measurement, name) for name in self.reads]

    def _checked(self, array: Array, x: ArrayLike | None) -> FloatArray:
        try:
            found = np.asarray(x, dtype=float)
        except NOT_NUMBERS:
            found = np.empty(())
        if found.ndim < 2 or found.shape[-1:] != array.shape:
            raise InputError(
                f"{type(self).__name__}: {array.name} of a log must be (..., m, {array.shape[0]}) numbers, not "
                f"{'missing' if x is None else found.shape}"
            )
        return found


def of_inner(name: str) -> property:
    """The attribute that the inner observer has."""
    return property(lambda self: getattr(self.inner, name))


class ObserverWrapper(TimedObserver):
    """An observer that adds outputs to those of another one, `inner`, from the same samples."""

    @property
    @abstractmethod
    def inner(self) -> TimedObserver:
        """The inner observer."""

    robot: Any = of_inner("robot")
    period: Any = of_inner("period")
    reads: Any = of_inner("reads")
    channels: Any = of_inner("channels")
    causes: ClassVar[Any] = of_inner("causes")
    always_zero: Any = of_inner("always_zero")
    reads_torque: Any = of_inner("reads_torque")

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the parts of the state: that of the inner observer, then its own."""

    @property
    def memory(self) -> tuple[int, ...]:
        return (sum(self.sizes),)


def _is_own(observer: Any) -> bool:
    """Whether an observer and those inside it are defined in flexjoint."""
    parts = [getattr(observer, x.name) for x in fields(observer)]
    own = type(observer).__module__.startswith("flexjoint.")
    return own and all(_is_own(part) for part in parts if isinstance(part, Observer))


def _identity(value: Any) -> Any:
    """Everything that determines the code of an observer, with all digits."""
    if isinstance(value, Mapping):
        return {name: _identity(x) for name, x in value.items()}
    if isinstance(value, Robot):
        return value.digest
    if isinstance(value, Observer):
        own = {x.name: _identity(getattr(value, x.name)) for x in fields(value)}  # type: ignore[arg-type]
        return f"{type(value).__qualname__} {own!r}"
    return value.tolist() if isinstance(value, np.ndarray) else value


def elapsed_times(t: FloatArray, first: float) -> FloatArray:
    """Time (..., m) in s since the last stamp that can be trusted; `first` at the first sample, NaN where unknown."""
    steps = np.diff(t, axis=-1)
    if not np.all((steps > 0) & (steps < np.inf)):
        rows = [classify_stamps(row).elapsed(row)[1:] for row in t.reshape(-1, t.shape[-1])]
        steps = np.reshape(rows, steps.shape)
    return np.concatenate([np.full((*t.shape[:-1], 1), first), steps], -1)


def torque_before(tau: FloatArray, first: int, last: int, held: bool) -> FloatArray:
    """Mean torque between each of the samples `first` to `last` and the sample before; zero before sample 0."""
    before = np.zeros((*tau.shape[:-2], last - first, tau.shape[-1]))
    begin = max(first, 1)
    rows = before[..., begin - first :, :]
    rows[...] = tau[..., begin - 1 : last - 1, :]
    if not held:
        rows[...] = (rows + tau[..., begin:last, :]) / 2
    return before


def broadcast(columns: Sequence[FloatArray]) -> list[FloatArray]:
    """The arrays with the same leading dimensions."""
    try:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in columns))
    except ValueError:
        raise InputError(f"the arrays of a log do not have the same length: {[x.shape for x in columns]}") from None
    return [np.broadcast_to(x, (*batch, x.shape[-1])) for x in columns]
