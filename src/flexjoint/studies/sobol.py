"""Sobol indices of a study: which uncertain parameter decides a figure of merit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import whole
from ..errors import InputError, Interrupted
from ..html import table
from ..results.columns import Column
from ..robot import Robot
from ..types import FloatArray
from .error_summary import merit_text
from .experiment import Evaluation, Experiment, Progress, slices
from .intervals import CONFIDENCE, share
from .merit import FAILED
from .sobol_estimators import PickFreeze, base_samples, estimate, mixed_rows

OWNER = "sobol_indices"


@dataclass(frozen=True, eq=False, repr=False)
class SobolIndices:
    """Sobol indices of a figure of merit, one per varied number or per variation.

    Args:
        robot: The robot whose parameters vary.
        of: The figure of merit.
        unit: Its unit, "" without one.
        names: Paths of the varied numbers, or the entries of `vary` if they are grouped.
        first: First-order indices (d,): share of the variance that the number explains alone.
        total: Total indices (d,): with all interactions.
        first_interval, total_interval: Confidence intervals (d, 2).
        confidence: Of the intervals.
        mean, variance: Of the figure of merit.
        samples: Number of base samples that were run.
        wanted: Number of base samples asked for.
        runs: Number of simulations.
    """

    robot: Robot
    of: str
    unit: str
    names: tuple[str, ...]
    first: FloatArray
    total: FloatArray
    first_interval: FloatArray
    total_interval: FloatArray
    confidence: float
    mean: float
    variance: float
    samples: int
    wanted: int
    runs: int

    def __repr__(self) -> str:
        k = int(self.total.argmax())
        most = f"{self.names[k]} has a total index of {self.total[k]:.3g}"
        return f"<SobolIndices of the {merit_text(self.of)}, {self.runs} runs: {most}>"

    def _repr_html_(self) -> str:
        rows = [[x, *(f"{y[k]:.3f}" for y in (self.first, self.total))] for k, x in enumerate(self.names)]
        return table(rows, ["parameter", "first order", "total"], caption=f"Sobol indices of {self.of}")

    @property
    def complete(self) -> bool:
        """Whether all base samples were run; False after an interruption."""
        return self.samples == self.wanted

    @property
    def interactions(self) -> float:
        """Share of the variance that no number explains alone, and noise of sensors."""
        return float(1 - self.first.sum())

    def columns(self) -> list[Column]:
        """Columns of a file: one row per parameter."""
        found = [Column("parameter", "", np.array(self.names))]
        for name in ("first", "total"):
            ends = getattr(self, f"{name}_interval")
            found += [Column(name, "", getattr(self, name)), *(Column(f"{name}_{x}", "", ends[:, k]) for k, x in ENDS)]
        return found

    def arrays(self) -> dict[str, Any]:
        """The columns by name."""
        return {column.name: column.values for column in self.columns()}


ENDS = ((0, "low"), (1, "high"))


def sobol_indices(
    robot: Robot,
    controller: Any,
    reference: Any,
    duration: float | None = None,
    *,
    samples: int,
    vary: Mapping[str, str],
    of: Any = "largest",
    limit: float | None = None,
    grouped: bool = False,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    threads: int | None = None,
    progress: Progress = lambda runs: None,
    **options: Any,
) -> SobolIndices:
    """First-order and total Sobol indices of a figure of merit over the variations of a study.

    Args:
        robot: The nominal robot, which the controller knows.
        controller: A Controller, or a function in Python, as for `simulate`.
        reference: A Trajectory or a constant, as for `simulate`.
        duration: Of a run, s; default that of the reference.
        samples: Number of base samples N, a power of two; there are N (d + 2) runs for d indices.
        vary: Variation by path or pattern of parameters, as for `monte_carlo`; all numbers are independent.
        of: Figure of merit: "largest" (default), "rms" or "final": this error, the largest over the joints;
            "largest.joint1" and so on: of one joint; "failed": whether a run diverged or exceeded `limit`; or a
            function from a Simulation, a batch of runs, to one number per run.
        limit: Error above which a run fails, rad or m; default none.
        grouped: Whether all numbers of an entry of `vary` share one index; by default each number has its own.
        seed: Of base samples, bootstrap and noise; default 0.
        confidence: Of the intervals; default 0.95.
        threads: Number of threads; default all cores.
        progress: Called with the number of runs after each batch; by default nothing.
        options: Further options of `simulate`, such as period, sensors or contact.

    Returns:
        SobolIndices.  After Ctrl-C they are those of the base samples that were finished.

    Raises:
        InputError: An argument is out of range; a run diverged, so that there is no variance (take of="failed"); the
            step is too long for a run; or the figure of merit does not vary.

    Noise of sensors is one more input, without an index of its own: the indices then add up to less than 1.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> law = fj.control.FeedforwardPD(robot, [400.0, 40.0])
        >>> motion = fj.trajectory.RestToRest([0.0] * 3, [0.4, -0.3, 0.2], 0.05)
        >>> vary = {"link1.mass": "10%", "payload": "0..1"}
        >>> fj.studies.sobol_indices(robot, law, motion, samples=16, vary=vary).runs
        64
    """
    count = whole(OWNER, "samples", samples, least=8, largest=2**24)
    if count & (count - 1):
        below = 1 << (count.bit_length() - 1)
        raise InputError(f"{OWNER}: samples is {count}; give a power of two, such as {below} or {2 * below}")
    confidence = share(OWNER, "confidence", confidence)
    experiment = Experiment.of(
        OWNER, robot, controller, reference, duration,
        vary=vary, of=of, limit=limit, seed=seed, threads=threads, options=options,
    )  # fmt: skip
    variations = experiment.plan.variations
    names, groups = indexed(experiment, list(vary), grouped)
    d, parts = len(experiment.names), []
    rows = 1 << max((experiment.rows // (len(groups) + 2)).bit_length() - 1, 0)  # parts of a Sobol sequence
    interrupted = False
    try:
        for part in slices(count, rows):
            a, b = base_samples(d, seed, part.start, part.stop)
            u = np.concatenate([a[:, None], b[:, None], mixed_rows(a, b, groups)], axis=1)
            values = variations.values(u.reshape(-1, d))
            noise = np.repeat(np.arange(part.start, part.stop), len(groups) + 2)
            found = experiment.run(values, noise, check=part.start == 0, progress=progress)
            refuse_unusable(experiment, found)
            parts.append(found.merit.reshape(len(a), -1))
    except KeyboardInterrupt:
        if not parts:
            raise
        interrupted = True
    f = np.concatenate(parts)
    x = estimate(PickFreeze(f[:, 0], f[:, 1], f[:, 2:]), confidence, seed)
    merit, shares = experiment.merit, (x.first, x.total, x.first_interval, x.total_interval)
    counts = (len(f), count, f.size)
    indices = SobolIndices(
        variations.robot, merit.name, merit.unit, names, *shares, confidence, x.mean, x.variance, *counts
    )
    if interrupted:
        raise Interrupted(indices)
    return indices


def indexed(experiment: Experiment, entries: list[str], grouped: bool) -> tuple[tuple[str, ...], list[list[int]]]:
    """Names that have an index, and the columns of the numbers that belong to each."""
    if not grouped:
        return experiment.names, [[k] for k in range(len(experiment.names))]
    ends = np.cumsum([x.value.size for x in experiment.plan.variations.parameters])
    return tuple(entries), [x.tolist() for x in np.split(np.arange(ends[-1]), ends[:-1])]


def refuse_unusable(experiment: Experiment, found: Evaluation) -> None:
    """Refuse runs that have no figure of merit: those whose step is too long, and those that diverged."""
    if np.any(found.unknown):
        raise InputError(f"{OWNER}: {experiment.too_long(found)}")
    lost = ~np.isfinite(found.merit)
    if np.any(lost):
        joint = experiment.plan.variations.robot.joints[int(found.joint[lost][0])].name
        raise InputError(
            f"{OWNER}: {np.count_nonzero(lost)} of {lost.size} runs diverged, first at joint '{joint}', so "
            f"{experiment.merit.name} has no variance; narrow the variations, or take of={FAILED!r}, the failures"
        )
