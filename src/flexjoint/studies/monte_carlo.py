"""Monte-Carlo study: tracking errors of a controller on robots whose parameters it does not know exactly.

Sample k is bit-identical alone, in a batch, on any number of threads and after an interruption.  Each thread computes
whole blocks of samples.  With a folder, finished blocks are stored and not computed again.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import positive, whole
from ..control.base import Controller, innermost
from ..control.open_loop import OpenLoop
from ..errors import FlexjointWarning, InputError
from ..html import table
from ..robot import Robot
from ..simulation.arguments import NOMINAL
from ..simulation.result import Simulation
from ..simulation.simulate import simulate
from ..simulation.step_limit import StepLimits, step_limits, too_long
from ..types import FloatArray
from .error_summary import error_summary
from .identity import described
from .store import Store, differences
from .study_plan import StudyPlan
from .study_settings import study_settings
from .variation import Variations

ROWS = (8, 64)  # samples per block: enough to fill vector registers, few enough to lose
MEMORY = 2**27  # bytes per block
NOWHERE = Store(None, {})
LEVELS = (0.5, 0.9, 0.95, 0.99, 1.0)
ARRAYS = ("parameters", "largest", "rms", "final", "ended", "joint", "longest_step", "stiff_joint")
Block = dict[str, np.ndarray]  # the arrays of some samples by name


@dataclass(frozen=True, eq=False, repr=False)
class MonteCarlo:
    """Samples of a Monte-Carlo study, one row per sample; errors are |q − q_d| of the links, rad or m.

    Args:
        robot: The robot whose parameters vary, with the payload as its last link if it varies.
        names: Paths of the varied parameters.
        samples: Numbers of the samples, (s,).
        parameters: Drawn parameters, (s, number of names), in their units.
        largest, rms, final: Largest, root-mean-square and last error per joint, (s, n); of a run that diverged, until
            then.
        ended: Time at which each run ended, (s,), s.
        joint: First joint that diverged, (s,); -1 if none did.
        longest_step: Longest stable step, (s,), s, where the step of the integrator is too long; else infinite.
        stiff_joint: Joint that is too stiff for the step, (s,), else -1; the errors of such a run are not the robot's.
        wanted: Number of samples asked for.
        step: Of the integrator, s.
        limit: Error above which a run fails, rad or m; None for no limit.
    """

    robot: Robot
    names: tuple[str, ...]
    samples: np.ndarray
    parameters: FloatArray
    largest: FloatArray
    rms: FloatArray
    final: FloatArray
    ended: FloatArray
    joint: np.ndarray
    longest_step: FloatArray
    stiff_joint: np.ndarray
    wanted: int
    step: float
    limit: float | None = None

    def __repr__(self) -> str:
        return f"<MonteCarlo of {self.robot.name}: {self.counts}{self._worst()}>"

    def _repr_html_(self) -> str:
        rows: list[list[str]] = []
        if self.samples.size:
            levels = self.quantiles()
            rows = [[joint.name, *(f"{x:.3g}" for x in levels[:, i])] for i, joint in enumerate(self.robot.joints)]
        header = ["joint", *(f"{100 * x:g} %" for x in LEVELS)]
        caption = f"{self.robot.name}: {self.counts}; quantiles of the largest error, rad or m"
        return table(rows, header, caption=caption)

    @property
    def counts(self) -> str:
        """Text with the number of samples, of failures, and of runs whose step is too long."""
        count, stiff = self.samples.size, int(self.integrator_failed.sum())
        text = f"{count} sample{'s' * (count != 1)}, {int(self.control_failed.sum())} failed"
        return f"{text}, step too long for {stiff}" if stiff else text

    def _worst(self) -> str:
        """The median of the largest error at the worst joint."""
        if not self.samples.size:
            return ""
        errors = self.quantiles([0.5])[0]
        i = int(errors.argmax())
        unit = self.robot.joints[i].kind.unit("rad | m")
        return f"; median of the largest error {errors[i]:.3g} {unit} at {self.robot.joints[i].name}"

    @property
    def complete(self) -> bool:
        """Whether all samples were run; False after an interruption."""
        return len(self.samples) == self.wanted

    @property
    def diverged(self) -> np.ndarray:
        """Mask of the runs that diverged, (s,), for whatever reason."""
        return self.joint >= 0

    @property
    def integrator_failed(self) -> np.ndarray:
        """Mask of the runs whose step is too long for their parameters, (s,); they tell nothing about the control."""
        return self.stiff_joint >= 0

    @property
    def control_failed(self) -> np.ndarray:
        """Mask of the other runs that diverged or whose error exceeded the limit, (s,)."""
        beyond = False if self.limit is None else np.max(self.largest, axis=1) > self.limit
        return (self.diverged | beyond) & ~self.integrator_failed

    @property
    def failed(self) -> np.ndarray:
        """Mask of the runs whose control or integrator failed, (s,)."""
        return self.control_failed | self.integrator_failed

    def quantiles(self, levels: ArrayLike = LEVELS, of: str = "largest") -> FloatArray:
        """Quantiles of an error per joint, (number of levels, n), rad or m.

        Args:
            levels: Probabilities; default 0.5, 0.9, 0.95, 0.99 and 1.
            of: "largest" (default), "rms" or "final".

        Runs that diverged, or whose integrator failed, count as infinite errors.
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
    """Tracking errors of a controller on many robots whose parameters are drawn at random.

    Args:
        robot: The nominal robot, which the controller knows.
        controller: A Controller, or a function in Python, as for `simulate`.
        reference: A Trajectory or a constant, as for `simulate`.
        duration: Of a run, s; default that of the reference.
        samples: Number of robots.
        vary: Variation by path or pattern of parameters: "10%" is normal with that standard deviation, "-20%..20%" and
            "0..3" are uniform; `payload` is a point mass at the tool: {"*.drive.stiffness": "10%", "payload": "0..3"}.
        seed: Of the samples; default 0.  Sample k depends on the seed and on k only.
        folder: For finished samples; the same call resumes from there, also with more samples.  By default none.
        limit: Largest error above which a run fails, rad or m; by default only divergence is a failure.
        threads: Number of threads; default all cores.
        progress: Called with the number of samples after each block; by default nothing.
        options: Further options of `simulate`, such as period, sensors or contact.

    Returns:
        A MonteCarlo.  After Ctrl-C it has the samples that were finished.

    Raises:
        InputError: An option is out of range, or the folder holds samples of another study (another robot, controller,
            reference or option).

    Every run starts where `simulate` starts with the nominal robot.  Runs whose step is too long for the stiffness that
    was drawn are marked in `integrator_failed`, with a warning.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> law = fj.control.FeedforwardPD(robot, [400.0, 40.0])
        >>> motion = fj.trajectory.RestToRest([0.0] * 3, [0.4, -0.3, 0.2], 0.05)
        >>> fj.studies.monte_carlo(robot, law, motion, samples=8, vary={"payload": "0..1"}).samples.size
        8
    """
    if isinstance(innermost(controller), OpenLoop):
        raise InputError("monte_carlo: OpenLoop follows no reference, so there is no tracking error")
    whole("monte_carlo", "samples", samples, least=1)
    seed = int(whole("monte_carlo", "seed", seed, least=0))
    if limit is not None:
        positive("monte_carlo", "limit", limit)
    for name, remedy in (("free", "use vary="), ("gains", "give them to the controller"), ("row", "leave it out")):
        if name in options:
            raise InputError(f"monte_carlo has no option {name}; {remedy}")
    if isinstance(options.get("start"), Simulation):
        raise InputError("monte_carlo: start must be a JointState, such as simulation.last")
    threads = cores() if threads is None else whole("monte_carlo", "threads", threads, least=1)
    plan = StudyPlan.of(robot, controller, reference, duration, vary, seed, options)
    store = Store(folder, {} if folder is None else study_settings(plan))
    rows = block_rows(plan.steps, 2 * robot.n + 3 * robot.motor_count)
    plant, variations = plan.plant(), plan.variations
    limits = partial(step_limits, plant, variations.names, poses=plan.poses())
    run = partial(run_block, plan, limits, store)
    found = dict(stored_blocks(store, samples, rows))
    left = [(first, min(first + rows, samples)) for first in range(0, samples, rows) if first not in found]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* diverged; joint .*", UserWarning)  # the result has it
        try:
            progress(sum(len(x["joint"]) for x in found.values()))
            if left:
                again = partial(run_block, plan, limits, NOWHERE, options={**options, "check": False})
                check_reproduced(store, found, again)
            before = description_of(controller)
            for first, last in left[:1]:  # compiles, and checks the period
                found[first] = run(first, last, options | {"check": options.get("check", True) and NOMINAL})
                progress(last - first)
            warn_of_changes(before, description_of(controller))
            in_threads(run, left[1:], {**options, "check": False}, threads, found, progress)
        except KeyboardInterrupt:
            pass  # the finished blocks are kept
    blocks = sorted(found.items())
    numbers = [np.arange(first, first + len(x["joint"])) for first, x in blocks]
    merged = (
        {name: np.concatenate([x[name] for _, x in blocks]) for name in ARRAYS} if blocks else no_samples(variations)
    )
    of = np.concatenate(numbers) if blocks else np.empty(0, dtype=int)
    step = plan.period / plant.substeps
    study = MonteCarlo(variations.robot, variations.names, of, **merged, wanted=samples, step=step, limit=limit)
    if np.any(study.integrator_failed):
        found_limits = StepLimits(study.longest_step, study.stiff_joint)
        message = f"{robot.name}: {too_long(plant, found_limits)}; the errors of these runs are not those of the robot"
        warnings.warn(message, FlexjointWarning, stacklevel=2)
    return study


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(
    run: Callable[..., Block],
    blocks: list[tuple[int, int]],
    options: Mapping[str, Any],
    threads: int,
    found: dict[int, Block],
    progress: Callable[[int], Any],
) -> None:
    """Run blocks on threads and add them to `found`; after Ctrl-C only blocks that have started are finished."""
    from concurrent.futures import ThreadPoolExecutor, as_completed  # 8 ms of every import if it stood above

    with ThreadPoolExecutor(threads, thread_name_prefix="flexjoint") as pool:
        futures = {pool.submit(run, first, last, options): first for first, last in blocks}
        try:
            for done in as_completed(futures):
                progress(len(done.result()["joint"]))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            found |= {first: x.result() for x, first in futures.items() if not x.cancelled() and not x.exception()}


def run_block(
    plan: StudyPlan,
    limits: Callable[[FloatArray], StepLimits],
    store: Store,
    first: int,
    last: int,
    options: Mapping[str, Any],
) -> Block:
    """Samples first, ..., last − 1: simulated, summarized and stored."""
    variations = plan.variations
    values = variations.draw(plan.seed, first, last)
    sample: dict[str, Any] = {"free": variations.free(values), "seed": plan.seed, "row": np.arange(first, last)}
    run = simulate(variations.robot, plan.controller, plan.reference, plan.duration, **sample, **options)
    longest, stiff = limits(values)
    block = {"parameters": values, **error_summary(run), "longest_step": longest, "stiff_joint": stiff}
    store.save(first, block)
    return block


def stored_blocks(store: Store, samples: int, rows: int) -> Iterator[tuple[int, Block]]:
    """First sample and content of the blocks that are stored already."""
    for first in range(0, samples, rows):
        block = store.load(first, min(rows, samples - first))
        if block is not None:
            yield first, block


def check_reproduced(store: Store, found: Mapping[int, Block], run: Callable[[int, int], Block]) -> None:
    """Run one stored block again and raise InputError if a bit differs: the controller depends on something unknown.

    That may be a file, a clock, random numbers, or a library that rounds differently on another processor.
    """
    for first, old in list(found.items())[:1]:
        new = run(first, first + len(old["joint"]))
        for name in ARRAYS:
            differs = (old[name] != new[name]) & ~(np.isnan(old[name]) & np.isnan(new[name]))
            if np.any(differs):
                place = tuple(int(x) for x in np.argwhere(differs)[0])
                raise InputError(
                    f"{store.folder}: sample {first + place[0]} is not reproduced: {name} was "
                    f"{old[name][place].item()!r}, now it is {new[name][place].item()!r}; the controller depends on "
                    "something that is not in its settings, such as a file, a clock, random numbers or the processor; "
                    "give another folder"
                )


def description_of(controller: Any) -> Any:
    """A controller written in Python as it is now; None if it cannot be described or cannot change."""
    if isinstance(controller, Controller):
        return None
    try:
        return described(controller, "controller")
    except InputError:
        return None


def warn_of_changes(before: Any, after: Any) -> None:
    """Warn if a controller written in Python has changed: its samples then depend on earlier ones."""
    names = [name for name, _ in differences(before, after, "controller") if not name.endswith(".digest")]
    if names and before is not None and after is not None:
        message = (
            f"monte_carlo: {names[0].replace('.data.', '.')[:200]} changed while samples ran, so a sample may depend "
            "on those before it; what the controller remembers belongs in the state that it takes and returns"
        )
        warnings.warn(message, FlexjointWarning, stacklevel=3)


def no_samples(variations: Variations) -> Block:
    """Empty arrays, for an interruption before the first block is finished."""
    widths = {"parameters": len(variations.names), **dict.fromkeys(("largest", "rms", "final"), variations.robot.n)}
    return {name: np.empty((0, widths[name]) if name in widths else 0) for name in ARRAYS}


def block_rows(steps: int, numbers: int) -> int:
    """Samples per block that fit into memory, for runs of `steps` periods with `numbers` numbers per period."""
    least, most = ROWS
    return int(np.clip(MEMORY // (steps * numbers * 8), least, most)) // least * least
