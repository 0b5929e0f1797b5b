"""Sweep: tracking errors over a grid or a list of robots, controllers, trajectories, gains, sensors, parameters."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import whole
from ..errors import InputError, Interrupted
from ..html import table
from ..results.columns import Column
from ..robot import Robot
from ..simulation.result import Simulation
from .block_files import Block
from .block_run import BlockRun, cores, merged
from .block_size import block_size
from .store import Store
from .study_progress import StudyProgress
from .study_settings import sweep_settings
from .sweep_plan import POINT, SweepPlan
from .tasks import DIVERGED

if TYPE_CHECKING:
    from concurrent.futures import Executor

SHOWN = 20  # rows in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class SweepTable:
    """A table with one row per point; `sweep["largest"]` is a column.

    Args:
        axes: Names of the axes, which are columns too: numbers, or labels of robots, controllers and the like.
        table: Columns by name, (number of points,) each: `point`, the axes; `largest`, `rms` and `final`, the errors
            |q − q_d| of the worst joint; `largest.joint1`, ..., per joint (NaN where a robot has no such joint);
            `ended`, s; `diverged` and `integrator_failed`, the name of the joint or ""; `longest_step`, s.
        units: Units by name.
        wanted: Number of points asked for.
        plan: What `point` runs again; None for a sweep that was read from a store.
    """

    axes: tuple[str, ...]
    table: Block
    units: dict[str, str]
    wanted: int
    plan: SweepPlan | None = None

    def __repr__(self) -> str:
        return f"<SweepTable over {', '.join(self.axes)}: {len(self)} points, {np.count_nonzero(self.failed)} failed>"

    def __len__(self) -> int:
        return int(self.table[POINT].size)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.table:
            raise InputError(f"sweep: there is no column '{name}'; there are {', '.join(self.table)}")
        return self.table[name]

    def _repr_html_(self) -> str:
        names = [POINT, *self.axes, "largest", "rms", "final", "diverged"]
        rows = [[text(self.table[name][k]) for name in names] for k in range(min(len(self), SHOWN))]
        return table(rows, names, caption=f"{len(self)} points; errors of the worst joint, rad or m")

    @property
    def complete(self) -> bool:
        """Whether all points were run; False after an interruption."""
        return len(self) == self.wanted

    @property
    def failed(self) -> np.ndarray:
        """Mask of the points that diverged or whose step is too long, (number of points,)."""
        return (self.table["diverged"] != "") | (self.table["integrator_failed"] != "")

    def best(self, of: str = "largest") -> dict[str, Any]:
        """The row with the smallest value of a column among the points that did not fail.

        Args:
            of: Name of the column; default "largest".

        Raises:
            InputError: Every point failed.
        """
        if not len(self) or np.all(self.failed):
            raise InputError("sweep: every point failed, so that none is the best")
        row = int(np.argmin(np.where(self.failed, np.inf, self[of])))
        return {name: x[row].item() for name, x in self.table.items()}

    def point(self, number: int) -> Simulation:
        """One point simulated again with its whole history; bit-identical to the run of the sweep.

        Args:
            number: Of the point, as in the column `point`.

        Raises:
            InputError: There is no such point, or the sweep was read from a store, which has no controllers.
        """
        whole("point", "number", number, least=0)
        if self.plan is None:
            raise InputError("point: a sweep that was read from a store has no controllers; call sweep with its folder")
        if number >= self.plan.count:
            raise InputError(f"point: there is no point {number}; the last is {self.plan.count - 1}")
        return self.plan.point(int(number))

    def columns(self) -> list[Column]:
        """Columns of a file, for `fj.results.write_table`."""
        return [Column(name, self.units[name], x) for name, x in self.table.items()]

    def arrays(self) -> Block:
        """The columns by name."""
        return dict(self.table)


def text(value: Any) -> str:
    """A cell of a table."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def sweep(
    robot: Robot,
    controller: Any,
    reference: Any,
    duration: float | None = None,
    *,
    over: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    folder: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    threads: int | None = None,
    block: int | None = None,
    progress: Callable[[int], Any] = lambda points: None,
    **options: Any,
) -> SweepTable:
    """Tracking errors over all combinations of some values, or over a list of points, as a table.

    Args:
        robot, controller, reference, duration: As for `simulate`; an axis of that name replaces them.
        over: Values by axis, as lists, or as mappings from labels to values: all combinations are run.  Or a list of
            points, each with the same axes: [{"robot": a, "controller": law_a}, {"robot": b, "controller": law_b}].
            An axis is an argument or option of `simulate` (robot, controller, reference, sensors, period, ...), `gains`
            (number of gains, n), one gain such as "gains.K_P", `seed`, or a parameter of the robot by path or pattern,
            such as "link3.mass", "*.drive.stiffness" or "payload".
        folder: Store of finished points, a folder or a URL of fsspec; the same call resumes from there.  By default
            none.
        executor: Where blocks of points are computed, as for `monte_carlo`; by default threads of this process.
        threads: Number of threads without an executor; default all cores.
        block: Points per block; default about a second's work, fewer for small sweeps.
        progress: Called with the number of points after each block; by default nothing.
        options: Further options of `simulate`.

    Returns:
        A SweepTable, rows in the order of the axes, those that need another kernel first.  A point that diverges, or
        whose step is too long, is a row like the others.

    Raises:
        InputError: An axis is unknown, a value does not fit, or the folder holds something else.
        Interrupted: Ctrl-C, a KeyboardInterrupt; its `partial` is the SweepTable of the finished points.
        ClusterError: The scheduler or the workers of an executor are lost.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> law = fj.control.FeedforwardPD(robot, [400.0, 40.0])
        >>> motion = fj.trajectory.RestToRest([0.0] * 3, [0.4, -0.3, 0.2], 0.05)
        >>> found = fj.studies.sweep(robot, law, motion, over={"gains.K_P": [200, 400, 800], "payload": [0, 1]})
        >>> len(found), found.best("rms")["gains.K_P"]
        (6, 800.0)
    """
    if "check" in options:
        raise InputError("sweep has no option check: points that diverge, or whose step is too long, are rows")
    plan = SweepPlan(robot, controller, reference, duration, over, options)
    plan.check()
    if executor is not None and threads is not None:
        raise InputError("sweep: threads and executor exclude each other; leave one out")
    threads = cores() if threads is None else whole("sweep", "threads", threads, least=1)
    usual = block_size(plan.loop_of(plan.at(0)), plan.count)
    size = usual if block is None else whole("sweep", "block", block, least=1)
    layout = {"block": size, "kind": "sweep", "columns": plan.units, "axes": plan.axes}
    store = Store(folder, {} if folder is None else sweep_settings(plan), layout)
    found: dict[int, Block] = {}
    counted = StudyProgress(f"simulating {plan.count} points", plan.count, progress)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", DIVERGED, UserWarning)  # the result has it
        run = BlockRun(plan, plan.count, store, found.__setitem__, counted)
        interrupted = run.until_interrupted(executor, threads)
    table = SweepTable(plan.axes, merged(found, plan.units), plan.units, plan.count, plan)
    if interrupted:
        raise Interrupted(table)
    return table
