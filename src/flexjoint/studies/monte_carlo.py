"""Tracking errors of a controller on robots it does not know exactly: samples in batches, on all cores.

Sample k is the same run, to the bit, whatever else is computed with it: alone, in a batch, on any number of threads, or
after an interruption.  Blocks of samples are handed to threads whole; finished ones are in a folder, if one is given,
and are not computed again.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..checks import positive, whole
from ..control.base import Controller, JointState, innermost
from ..control.open_loop import OpenLoop
from ..errors import FlexjointWarning, InputError
from ..robot import Robot
from ..simulation.arguments import NOMINAL, checked_period, periods
from ..simulation.closed_loop import ClosedLoop
from ..simulation.equilibrium import resting
from ..simulation.initial_state import given_state
from ..simulation.law_digests import DigestedContact
from ..simulation.reference import Reference
from ..simulation.result import Simulation
from ..simulation.simulate import reference_size, simulate
from ..simulation.step_limit import StepLimits, step_limits, too_long
from .identity import described
from .settings import settings_of
from .store import Store, differences
from .variation import Variations

ROWS = (8, 64)  # samples of a block: enough for the lanes of registers, not too many to lose
MEMORY = 2**27  # bytes of a block's histories
NOWHERE = Store(None, {})
LEVELS = (0.5, 0.9, 0.95, 0.99, 1.0)
POSES = 5  # along the reference at which a step must be short enough
ARRAYS = ("parameters", "largest", "rms", "final", "ended", "joint", "longest_step", "stiff_joint")


@dataclass(frozen=True, eq=False)
class MonteCarlo:
    """Samples, a row each: their parameters by `names`, and of each joint the error |q − q_d| of the links.

    `largest` is over the whole run, `rms` its root mean square, `final` at the end.  Of a run that diverged, `joint`
    is the first to leave all bounds (else -1) and `ended` when, s; its errors are those until then.

    Where the `step` of the integrator, s, is too long for a sample, `longest_step` is the longest that is stable (else
    inf) and `stiff_joint` the joint that is too stiff for it (else -1): its errors are not those of the robot.
    """

    robot: Robot
    names: tuple[str, ...]
    samples: np.ndarray  # their numbers
    parameters: np.ndarray
    largest: np.ndarray
    rms: np.ndarray
    final: np.ndarray
    ended: np.ndarray
    joint: np.ndarray
    longest_step: np.ndarray
    stiff_joint: np.ndarray
    wanted: int  # samples asked for
    step: float  # of the integrator, s
    limit: float | None = None  # of the largest error

    @property
    def complete(self) -> bool:
        """Whether all samples were run; not so after an interruption."""
        return len(self.samples) == self.wanted

    @property
    def diverged(self) -> np.ndarray:
        """Runs that left all bounds, for whatever reason."""
        return self.joint >= 0

    @property
    def integrator_failed(self) -> np.ndarray:
        """Runs whose step is too long for their parameters: nothing is known about the control of these robots."""
        return self.stiff_joint >= 0

    @property
    def control_failed(self) -> np.ndarray:
        """Runs that diverged, or whose error went beyond the limit, and not by the integrator."""
        beyond = False if self.limit is None else np.max(self.largest, axis=1) > self.limit
        return (self.diverged | beyond) & ~self.integrator_failed

    @property
    def failed(self) -> np.ndarray:
        """Runs whose control failed or whose integrator failed."""
        return self.control_failed | self.integrator_failed

    def quantiles(self, levels: Any = LEVELS, of: str = "largest") -> np.ndarray:
        """Of the largest, "rms" or "final" error of each joint: (levels, n).

        Runs that diverged, or whose integrator failed, count as infinite.
        """
        unknown = self.diverged | self.integrator_failed
        errors = np.where(unknown[:, None], np.inf, getattr(self, of))
        return np.quantile(errors, np.asarray(levels, dtype=float), axis=0, method="inverted_cdf")


def monte_carlo(
    robot: Robot,
    controller: Any,
    reference: Any,
    duration: float | None = None,
    *,
    samples: int,
    vary: Mapping[str, str],
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    limit: float | None = None,
    threads: int | None = None,
    progress: Callable[[int], Any] = lambda samples: None,
    **options: Any,
) -> MonteCarlo:
    """Run a controller on `samples` robots whose parameters vary, as {"*.drive.stiffness": "10%", "payload": "0..3"}.

    The controller knows the nominal robot.  Every run begins where `simulate` begins with that; `options` are those of
    `simulate`.  With a `folder`, Ctrl-C keeps the blocks that are finished, and the same call goes on from there, also
    with more samples; without, it keeps them in the result.  A run fails if it diverges or an error exceeds `limit`.
    `progress` is called with the number of samples each time some are done.

    A folder of another study is refused: other code or data of a law, another robot, other options.  Samples for which
    the integrator's step is too long are told apart, in `integrator_failed` and by a warning.
    """
    if isinstance(innermost(controller), OpenLoop):
        raise InputError("monte_carlo: OpenLoop follows no motion, so there is no error to speak of")
    whole("monte_carlo", "samples", samples, least=1)
    seed = int(whole("monte_carlo", "seed", seed, least=0))
    if limit is not None:
        positive("monte_carlo", "limit", limit)
    for name, remedy in (("free", "say so in vary"), ("gains", "give them to the controller"), ("row", "leave it out")):
        if name in options:
            raise InputError(f"monte_carlo has no option {name}; {remedy}")
    if isinstance(options.get("start"), Simulation):
        raise InputError("monte_carlo: start must be a JointState, such as simulation.last")
    threads = cores() if threads is None else whole("monte_carlo", "threads", threads, least=1)
    variations = Variations.of(robot, vary)
    wanted, period, steps = planned(robot, controller, reference, duration, options.get("period"))
    about = (variations, robot, controller, wanted, period, steps, vary, seed, options)
    store = Store(folder, {} if folder is None else settings_of(*about))
    rows = block_rows(steps, 2 * robot.n + 3 * robot.motor_count)
    setup, poses = plant_of(variations, controller, period, options), poses_of(variations, controller, wanted, options)
    limits = partial(step_limits, setup, variations.names, poses=poses)
    each = (variations, controller, reference, duration, seed, limits)
    run = partial(run_block, *each, store)
    found = dict(known(store, samples, rows))
    left = [(first, min(first + rows, samples)) for first in range(0, samples, rows) if first not in found]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* diverged; joint .*", UserWarning)  # the result says so
        try:
            progress(sum(len(x["joint"]) for x in found.values()))
            if left:
                check_known(store, found, partial(run_block, *each, NOWHERE, options={**options, "check": False}))
            before = look_of(controller)
            for first, last in left[:1]:  # the first compiles, and checks the period
                found[first] = run(first, last, options | {"check": options.get("check", True) and NOMINAL})
                progress(last - first)
            warn_of_changes(before, look_of(controller))
            in_threads(run, left[1:], {**options, "check": False}, threads, found, progress)
        except KeyboardInterrupt:
            pass  # what is found is kept
    blocks = sorted(found.items())
    numbers = [np.arange(first, first + len(x["joint"])) for first, x in blocks]
    merged = {name: np.concatenate([x[name] for _, x in blocks]) for name in ARRAYS} if blocks else nothing(variations)
    of = np.concatenate(numbers) if blocks else np.empty(0, dtype=int)
    step = period / setup.substeps
    study = MonteCarlo(variations.robot, variations.names, of, **merged, wanted=samples, step=step, limit=limit)
    if np.any(study.integrator_failed):
        found_limits = StepLimits(study.longest_step, study.stiff_joint)
        message = f"{robot.name}: {too_long(setup, found_limits)}; these runs do not show the robot"
        warnings.warn(message, FlexjointWarning, stacklevel=2)
    return study


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(
    run: Callable[..., dict[str, np.ndarray]],
    blocks: list[tuple[int, int]],
    options: Mapping[str, Any],
    threads: int,
    found: dict[int, dict[str, np.ndarray]],
    progress: Callable[[int], Any],
) -> None:
    """All blocks; at Ctrl-C those that have begun are finished, and no others."""
    with ThreadPoolExecutor(threads, thread_name_prefix="flexjoint") as pool:
        futures = {pool.submit(run, first, last, options): first for first, last in blocks}
        try:
            for done in as_completed(futures):
                progress(len(done.result()["joint"]))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            found |= {first: x.result() for x, first in futures.items() if not x.cancelled() and not x.exception()}


def run_block(
    variations: Variations,
    controller: Any,
    reference: Any,
    duration: Any,
    seed: int,
    limits: Callable[[np.ndarray], StepLimits],
    store: Store,
    first: int,
    last: int,
    options: Mapping[str, Any],
) -> dict[str, np.ndarray]:
    """Samples first, ..., last − 1: simulated, summed up and stored."""
    values = variations.draw(seed, first, last)
    sample: dict[str, Any] = {"free": variations.free(values), "seed": seed, "row": np.arange(first, last)}
    run = simulate(variations.robot, controller, reference, duration, **sample, **options)
    longest, stiff = limits(values)
    errors = np.abs(run.error)
    place = np.asarray(run.periods, dtype=int)[:, None, None]
    block = {
        "parameters": values,
        "largest": np.nanmax(errors, axis=1),
        "rms": np.sqrt(np.nanmean(errors**2, axis=1)),
        "final": np.take_along_axis(errors, place, axis=1)[:, 0],
        "ended": run.ended,
        "joint": run.joint,
        "longest_step": longest,
        "stiff_joint": stiff,
    }
    store.save(first, block)
    return block


def known(store: Store, samples: int, rows: int) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """Blocks that are there already."""
    for first in range(0, samples, rows):
        block = store.load(first, min(rows, samples - first))
        if block is not None:
            yield first, block


def check_known(
    store: Store, found: Mapping[int, Mapping[str, np.ndarray]], run: Callable[[int, int], Mapping[str, np.ndarray]]
) -> None:
    """Run one block again that was there already: it must come out the same, or a law depends on what no setting says.

    That may be a file, a clock, random numbers, or a library that rounds otherwise on another processor.
    """
    for first, old in list(found.items())[:1]:
        new = run(first, first + len(old["joint"]))
        for name in ARRAYS:
            differs = (old[name] != new[name]) & ~(np.isnan(old[name]) & np.isnan(new[name]))
            if np.any(differs):
                place = tuple(int(x) for x in np.argwhere(differs)[0])
                raise InputError(
                    f"{store.folder}: sample {first + place[0]} comes out otherwise now: {name} was "
                    f"{old[name][place].item()!r}, now it is {new[name][place].item()!r}; the law depends on something "
                    "that is not in its settings, such as a file, a clock, random numbers or the processor; give "
                    "another folder"
                )


def look_of(controller: Any) -> Any:
    """A law in Python as it is now; None where that cannot be said, or where nothing can change."""
    if isinstance(controller, Controller):
        return None
    try:
        return described(controller, "controller")
    except InputError:
        return None


def warn_of_changes(before: Any, after: Any) -> None:
    """A law that remembers something outside its state makes samples depend on what ran before them."""
    names = [name for name, _ in differences(before, after, "controller") if not name.endswith(".digest")]
    if names and before is not None and after is not None:
        message = (
            f"monte_carlo: {names[0].replace('.data.', '.')[:200]} changed while samples ran, which may then depend on "
            "those before them; what the law remembers belongs in the state that it takes and returns"
        )
        warnings.warn(message, FlexjointWarning, stacklevel=3)


def nothing(variations: Variations) -> dict[str, np.ndarray]:
    """An interruption before the first block."""
    widths = {"parameters": len(variations.names), **dict.fromkeys(("largest", "rms", "final"), variations.robot.n)}
    return {name: np.empty((0, widths[name]) if name in widths else 0) for name in ARRAYS}


def block_rows(steps: int, numbers: int) -> int:
    """As many as the memory holds of so many numbers a period."""
    least, most = ROWS
    return int(np.clip(MEMORY // (steps * numbers * 8), least, most)) // least * least


def planned(robot: Robot, controller: Any, reference: Any, duration: Any, period: Any) -> tuple[Reference, float, int]:
    """The reference, the period and how many periods a run has, as `simulate` takes them."""
    wanted, period = Reference.of(reference, *reference_size(robot, controller)), checked_period(controller, period)
    return wanted, period, periods(duration, wanted.duration, period, 0)


def plant_of(variations: Variations, controller: Any, period: float, options: Mapping[str, Any]) -> ClosedLoop:
    """The robot, its surroundings and its integrator, without what lies between it and the law."""
    names, contact = ("integrator", "substeps", "hold"), options.get("contact")
    law = controller if isinstance(controller, Controller) else OpenLoop(variations.robot)
    known = DigestedContact(variations.robot, contact) if callable(contact) else None
    return ClosedLoop(variations.robot, law, period, **{x: options[x] for x in names if x in options}, contact=known)


def poses_of(variations: Variations, controller: Any, wanted: Reference, options: Mapping[str, Any]) -> JointState:
    """Where the robot rests along its reference, or stands at the start that is given: states (poses, ...)."""
    robot, start = variations.robot, options.get("start")
    if start is not None:
        return JointState(*(x.reshape(-1, x.shape[-1])[:1] for x in given_state(start, robot)))
    times = np.linspace(0.0, wanted.duration or 0.0, POSES)
    goals = np.unique([wanted(t)[0] for t in times], axis=0)
    return JointState(*map(np.stack, zip(*(resting(robot, controller, goal) for goal in goals))))
