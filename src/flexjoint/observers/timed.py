"""Observers of samples with real time stamps: any time may pass between two of them, and any sample may be missing.

`law` is called every `period`, as all observers are; `kernel` also takes the time that has passed, and `run` a log.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.ir.scan import mapped, scan
from ..compiler.ir.trace import check_count
from ..compiler.runtime.kernel import Kernel
from ..errors import NOT_NUMBERS, InputError
from ..robot import Robot
from ..spatial import ca, sx
from .base import Measurement, Observer, measurement_sizes
from .stamps import judged_stamps

BLOCK = 64  # samples a call of the kernel for logs


class TimedObserver(Observer):
    """An observer with one array as its state, whose law knows how much time has passed."""

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """The fields of a Measurement that it needs."""

    @property
    @abstractmethod
    def channels(self) -> dict[str, int]:
        """The outputs that are estimates, and how many numbers each has."""

    @property
    def idle(self) -> dict[str, np.ndarray]:
        """Entries of channels that are zero by design, (size,) bool; nothing has to be watched there."""
        return {}

    @property
    def reads_torque(self) -> bool:
        """Whether it depends on the motor torques."""
        return True

    @abstractmethod
    def step(self, state: Any, h: Any, measurement: Measurement, torque: Any) -> tuple[Any, dict[str, Any]]:
        """(state, outputs) in SX, h seconds after the sample before; `torque` is what the motors gave in between."""

    def checked_step(self, state: Any, h: Any, measurement: Measurement, torque: Any) -> tuple[Any, dict[str, Any]]:
        """The step on copies of its arguments, which it may write into; what it returns has the sizes it declares."""
        found = self.step(*mapped((state, h, measurement, torque), ca.SX))
        owner = f"{type(self).__name__}.step"
        check_count(owner, "its result", ("state", "outputs"), found)
        (after,), outputs = self.as_declared(owner, [Array("state", self.memory)], ([found[0]], found[1]))
        return after, outputs

    def law(self, state: Sequence[Any], measurement: Measurement, torque: Any) -> tuple[Sequence[Any], Mapping]:
        after, found = self.checked_step(state[0], sx(self.period), measurement, torque)
        return (after,), found

    @property
    def blank(self) -> tuple[np.ndarray]:
        """The state before any sample."""
        return (np.zeros(self.memory[0]),)

    def start(self, measurement: Measurement) -> tuple[tuple, dict[str, Any]]:
        """State and outputs at the first sample, of a robot that rests or moves."""
        return self(self.blank, measurement, np.zeros(self.robot.motor_count))

    def __repr__(self) -> str:
        """All that it is made of, in full."""
        own = ", ".join(f"{x.name}={plainly(getattr(self, x.name))!r}" for x in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({own})"

    # Kernels with time ------------------------------------------------------------------------------------------------

    @cached_property
    def kernel(self) -> Kernel:
        """(state, elapsed, what it `reads`, in order, torque) -> (state, *outputs): a sample, so many s after the last.

        With `out=` it allocates nothing.
        """
        states, outputs = Array("state", self.memory), [Array(name, (size,)) for name, size in self.outputs.items()]

        def update(state: Any, h: Any, *arrays: Any) -> list[tuple[Array, Any]]:
            after, found = self.checked_step(state, h, self.sensed(arrays[:-1]), arrays[-1])
            return [(states, after), *((array, found[array.name]) for array in outputs)]

        inputs = [states, Array("elapsed", (), "s"), *self.arrays]
        return kernel_of(f"{type(self).__name__} of {self.robot.name}", inputs, update, self._key("sample"))

    @cached_property
    def arrays(self) -> list[Array]:
        """What a sample consists of, time apart."""
        sizes = dict(zip(Measurement._fields, measurement_sizes(self.robot)))
        return [*(Array(name, (sizes[name],)) for name in self.reads), Array("torque", (self.robot.motor_count,))]

    def sensed(self, columns: Sequence[Any]) -> Measurement:
        return Measurement(**{**dict.fromkeys(Measurement._fields), **dict(zip(self.reads, columns))})

    @cached_property
    def _log_kernel(self) -> Kernel:
        """BLOCK samples at once: (state, samples) -> (history, state)."""
        states, edges = Array("state", self.memory), np.cumsum([0, 1, *(x.size for x in self.arrays)]).tolist()
        width = sum(self.outputs.values())

        def update(state: Any, samples: Any) -> list[tuple[Array, Any]]:
            def one(carry: Any, sample: Any) -> tuple[Any, Any]:
                h, *columns, torque = ca.vertsplit(sample, edges)
                after, found = self.checked_step(carry, h, self.sensed(columns), torque)
                return after, ca.vertcat(*(found[name] for name in self.outputs))

            last, ys = scan(one, state, [samples[k, :].T for k in range(BLOCK)])
            return [(Array("history", (BLOCK, width)), ca.horzcat(*ys).T), (states, last)]

        inputs = [states, Array("samples", (BLOCK, edges[-1]))]
        return kernel_of(f"{type(self).__name__} of {self.robot.name} along a log", inputs, update, self._key("log"))

    def _key(self, kernel: str) -> str | None:
        """What names a kernel on disk; only code of flexjoint's own, which the cache knows, has one."""
        return f"{kernel} {self!r}" if is_own(self) else None

    def run(
        self, t: Any, measurement: Measurement, torque: Any, *, held: bool = True, threads: int = 1
    ) -> dict[str, np.ndarray]:
        """Over a log, or several: times (..., m) in s, fields of `measurement` (..., m, size), torque (..., m, motors).

        Row k of `torque` acts from t[k] on, as in a Simulation; with `held=False` it was measured at t[k], and between
        two samples its mean counts.  Fields that the residual does not read may be None.  Outputs are (..., m, size).
        """
        t = np.asarray(t, dtype=float)
        if not t.ndim or not t.shape[-1]:
            raise InputError(f"{type(self).__name__}: the times of a log have shape {t.shape}; give (..., m), m > 0")
        columns = [self.checked(array, x) for array, x in zip(self.arrays, [*self.fields(measurement), torque])]
        samples = broadcast([elapsed(t, self.period)[..., None], *columns])
        batch = samples[0].shape[:-1]
        m, width = batch[-1], sum(self.outputs.values())
        found, state = np.empty((*batch, width)), self.blank[0]
        for first in range(0, m, BLOCK):
            last = min(first + BLOCK, m)
            block = np.full((*batch[:-1], BLOCK, 1 + sum(x.size for x in self.arrays)), np.nan)
            parts = [*(x[..., first:last, :] for x in samples[:-1]), given(samples[-1], first, last, held)]
            block[..., : last - first, :] = np.concatenate(parts, -1)
            history, state = self._log_kernel(state, block, threads=threads)
            found[..., first:last, :] = history[..., : last - first, :]
        edges = np.cumsum(list(self.outputs.values()))[:-1]
        return dict(zip(self.outputs, np.split(found, edges, axis=-1)))

    def fields(self, measurement: Measurement) -> list[Any]:
        return [getattr(measurement, name) for name in self.reads]

    def checked(self, array: Array, x: Any) -> np.ndarray:
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


class Wrapped(TimedObserver):
    """An observer that adds to what another one, `inner`, finds in the same samples."""

    @property
    @abstractmethod
    def inner(self) -> TimedObserver:
        """The other one."""

    @property
    def robot(self) -> Robot:  # type: ignore[override]
        return self.inner.robot

    @property
    def period(self) -> float:  # type: ignore[override]
        return self.inner.period

    @property
    def reads(self) -> tuple[str, ...]:
        return self.inner.reads

    @property
    def channels(self) -> dict[str, int]:
        return self.inner.channels

    @property
    def idle(self) -> dict[str, np.ndarray]:
        return self.inner.idle

    @property
    def reads_torque(self) -> bool:
        return self.inner.reads_torque

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """Of the parts of the state: that of the other one, then its own."""

    @property
    def memory(self) -> tuple[int, ...]:
        return (sum(self.sizes),)


def is_own(observer: Any) -> bool:
    """Whether an observer, and those that it is made of, are flexjoint's."""
    parts = [getattr(observer, x.name) for x in fields(observer)]
    own = type(observer).__module__.startswith("flexjoint.")
    return own and all(is_own(part) for part in parts if isinstance(part, Observer))


def plainly(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: plainly(x) for name, x in value.items()}
    if isinstance(value, Robot):
        return f"{value.name} {value.digest}"
    return value.tolist() if isinstance(value, np.ndarray) else value


def elapsed(t: np.ndarray, first: float) -> np.ndarray:
    """Seconds since the last stamp before that can be trusted, for each of the times (..., m); NaN where unknown."""
    steps = np.diff(t, axis=-1)
    if not np.all((steps > 0) & (steps < np.inf)):
        rows = [judged_stamps(row).elapsed(row)[1:] for row in t.reshape(-1, t.shape[-1])]
        steps = np.reshape(rows, steps.shape)
    return np.concatenate([np.full((*t.shape[:-1], 1), first), steps], -1)


def given(tau: np.ndarray, first: int, last: int, held: bool) -> np.ndarray:
    """The torques between each of these samples and the one before; zero before the first of all."""
    before = np.zeros((*tau.shape[:-2], last - first, tau.shape[-1]))
    begin = max(first, 1)
    rows = before[..., begin - first :, :]
    rows[...] = tau[..., begin - 1 : last - 1, :]
    if not held:
        rows[...] = (rows + tau[..., begin:last, :]) / 2
    return before


def broadcast(columns: Sequence[np.ndarray]) -> list[np.ndarray]:
    """With the same leading dimensions."""
    try:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in columns))
    except ValueError:
        raise InputError(f"the arrays of a log do not have the same length: {[x.shape for x in columns]}") from None
    return [np.broadcast_to(x, (*batch, x.shape[-1])) for x in columns]
