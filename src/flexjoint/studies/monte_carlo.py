"""Monte-Carlo study: tracking errors of a controller on robots whose parameters it does not know exactly.

Sample k is bit-identical alone, in a batch, on any number of threads, processes and machines, and after an
interruption.  With a folder, finished blocks are stored and not computed again.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import positive, whole
from ..control.base import Controller, innermost
from ..control.open_loop import OpenLoop
from ..errors import FlexjointWarning, InputError, Interrupted
from ..html import table
from ..robot import Robot
from ..simulation.result import Simulation
from ..simulation.step_limit import StepLimits, too_long
from ..tables import quantity
from ..types import FloatArray
from .block_files import Block
from .block_run import BlockRun, cores, merged
from .block_size import block_size
from .identity import described
from .reading import store_robot
from .store import Store, differences
from .study_columns import arrays_of, stacked
from .study_plan import StudyPlan
from .study_progress import StudyProgress
from .study_settings import study_settings
from .tasks import DIVERGED
from .worst_histories import write_worst

if TYPE_CHECKING:
    from concurrent.futures import Executor

LEVELS = (0.5, 0.9, 0.95, 0.99, 1.0)


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
        plan: What `sample` runs again; None for a study that was read from a store.
        stored: Number of finished samples of a study with `collect=False`, whose arrays are empty; else None.
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
    plan: StudyPlan | None = None
    stored: int | None = None

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
        if self.stored is not None:
            return f"{self.stored} samples, in their store"
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
        return f"; median of the largest error {quantity(errors[i], unit)} at {self.robot.joints[i].name}"

    @property
    def complete(self) -> bool:
        """Whether all samples were run; False after an interruption."""
        return (len(self.samples) if self.stored is None else self.stored) == self.wanted

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

    def sample(self, number: int) -> Simulation:
        """One sample simulated again with its whole history; bit-identical to the run of the study.

        Args:
            number: Of the sample; it need not be among those of the study.

        Raises:
            InputError: The study was read from a store, which does not have the controller.
        """
        whole("sample", "number", number, least=0)
        if self.plan is None:
            raise InputError(
                "sample: a study that was read from a store has no controller; call monte_carlo with the arguments of "
                "the study and its folder, which computes nothing again, and take the sample from its result"
            )
        return self.plan.sample(int(number))

    def worst(self, count: int = 1) -> np.ndarray:
        """Numbers of the samples with the largest errors, the worst first; runs that diverged come before all others.

        Args:
            count: How many, at most.

        Runs whose integrator failed are left out: their errors are not those of the robot.
        """
        size = np.where(self.diverged, np.inf, np.max(self.largest, axis=1, initial=0.0))
        order = np.lexsort((self.samples, -size))
        return self.samples[order[~self.integrator_failed[order]][:count]]


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
    executor: Executor | None = None,
    threads: int | None = None,
    block: int | None = None,
    collect: bool = True,
    keep_worst: int = 0,
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
        folder: Store of finished samples, a folder or a URL of fsspec such as s3://bucket/study; the same call resumes
            from there, also with more samples, and several at once share the work.  By default none.
        limit: Largest error above which a run fails, rad or m; by default only divergence is a failure.
        executor: Where blocks are computed: any executor of `concurrent.futures`, `local_cluster(2)`,
            `cluster("tcp://...")`; by default threads of this process.
        threads: Number of threads without an executor; default all cores.
        block: Samples per block, which is a task and a file; default about a second's work, fewer for small studies.
        collect: False returns a study without arrays, so that memory does not grow with the number of samples; they are
            in the folder.  Default True.
        keep_worst: Number of samples, the worst ones, whose histories are written to the folder; default 0.
        progress: Called with the number of samples after each block; by default nothing.
        options: Further options of `simulate`, such as period, sensors or contact.

    Returns:
        A MonteCarlo.

    Raises:
        InputError: An option is out of range, or the folder holds samples of another study (another robot, controller,
            reference or option).
        Interrupted: Ctrl-C, a KeyboardInterrupt; its `partial` is the MonteCarlo of the finished samples.
        ClusterError: The scheduler or the workers of an executor are lost.
        OSError: The folder cannot be written to, or its disk is full.  What is stored stays.

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
    plan = study_plan("monte_carlo", robot, controller, reference, duration, vary, seed, options)
    whole("monte_carlo", "samples", samples, least=1)
    whole("monte_carlo", "keep_worst", keep_worst, least=0)
    if limit is not None:
        positive("monte_carlo", "limit", limit)
    if folder is None and (keep_worst or not collect):
        raise InputError("monte_carlo: keep_worst and collect=False need a folder")
    if keep_worst and not collect:
        raise InputError("monte_carlo: keep_worst needs the samples; leave out collect=False")
    if executor is not None and threads is not None:
        raise InputError("monte_carlo: threads and executor exclude each other; leave one out")
    threads = cores() if threads is None else whole("monte_carlo", "threads", threads, least=1)
    size = block_size(plan.loop, samples) if block is None else whole("monte_carlo", "block", block, least=1)
    layout = {"block": size, "kind": "monte_carlo", "columns": plan.units}
    layout |= {"names": plan.variations.names, "step": plan.loop.step}
    store = Store(folder, {} if folder is None else study_settings(plan), layout)
    store_robot(plan.loop.robot, store.place)
    found: dict[int, Block] = {}
    before = description_of(controller)
    counted = StudyProgress(f"simulating {samples} samples of {robot.name}", samples, progress)
    run = BlockRun(
        *(plan, samples, store, found.__setitem__ if collect else lambda first, block: None, counted),
        check=options.get("check", True),
        after_first=lambda: warn_of_changes(before, description_of(controller)),
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", DIVERGED, UserWarning)  # the result has it
        interrupted = run.until_interrupted(executor, threads)
    columns = merged(found, plan.units)
    study = study_of(plan.loop.robot, plan.variations.names, columns, samples, plan.loop.step, limit, plan)
    if interrupted:
        raise Interrupted(study if collect else replace(study, stored=counted.samples))
    if not collect:
        return replace(study, stored=counted.samples)
    if keep_worst and store.place is not None:
        write_worst(study, keep_worst, store.place)
    if np.any(study.integrator_failed):
        stiff = too_long(plan.loop.plant, StepLimits(study.longest_step, study.stiff_joint))
        message = f"{robot.name}: {stiff}; the errors of these runs are not those of the robot"
        warnings.warn(message, FlexjointWarning, stacklevel=2)
    return study


def study_plan(
    owner: str,
    robot: Robot,
    controller: Any,
    reference: Any,
    duration: float | None,
    vary: Mapping[str, str],
    seed: int,
    options: Mapping[str, Any],
) -> StudyPlan:
    """The plan of a study, with checked arguments of a function called `owner`."""
    if isinstance(innermost(controller), OpenLoop):
        raise InputError(f"{owner}: OpenLoop follows no reference, so there is no tracking error")
    seed = int(whole(owner, "seed", seed, least=0))
    for name, remedy in (("free", "use vary="), ("gains", "give them to the controller"), ("row", "leave it out")):
        if name in options:
            raise InputError(f"{owner} has no option {name}; {remedy}")
    if isinstance(options.get("start"), Simulation):
        raise InputError(f"{owner}: start must be a JointState, such as simulation.last")
    return StudyPlan(robot, controller, reference, duration, vary, seed, options)


def study_of(
    robot: Robot,
    names: tuple[str, ...],
    columns: Block,
    wanted: int,
    step: float,
    limit: float | None = None,
    plan: StudyPlan | None = None,
) -> MonteCarlo:
    """A study from the columns of its table."""
    parameters = stacked([columns[name] for name in names])
    numbers = columns["sample"].astype(int)
    arrays: dict[str, Any] = arrays_of(robot, columns)
    return MonteCarlo(robot, names, numbers, parameters, **arrays, wanted=wanted, step=step, limit=limit, plan=plan)


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
