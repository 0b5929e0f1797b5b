"""What the samples of a study say: outcomes, failure probability and quantiles, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..html import table
from ..results.columns import Column
from .intervals import (
    CONFIDENCE,
    ProbabilityEstimate,
    QuantileEstimate,
    level_text,
    probability_interval,
    quantile_interval,
)
from .sample_columns import CONTROL_FAILED, INTEGRATOR_FAILED, OUTCOMES, SampleColumns

LEVELS = (0.5, 0.9, 0.95, 0.99)


def outcomes(study: Any, limit: float | None = None) -> np.ndarray:
    """What became of each sample, (s,): "passed", "control failed" or "integrator failed".

    Args:
        study: What `monte_carlo` returns, or a table of samples: see `quantiles`.
        limit: Error above which a sample fails, rad or m; default that of the study, else only divergence fails.

    Integrator failed: the step is too long for the parameters of this sample, by the stability limit of its linearized
    robot; its errors are not those of the robot.  Control failed: the step is short enough, and the run diverged or
    exceeded the limit.  `confirm_outcomes` decides by simulating again with shorter steps.
    """
    return SampleColumns.of(study, limit).outcomes


def failure_probability(study: Any, limit: float | None = None, confidence: float = CONFIDENCE) -> ProbabilityEstimate:
    """Probability that control fails, with an interval that holds for every number of samples (Clopper-Pearson).

    Args:
        study: What `monte_carlo` or `confirm_outcomes` returns, or a table of samples: see `quantiles`.
        limit: Error above which a sample fails, rad or m; default that of the study, else only divergence fails.
        confidence: Of the interval; default 0.95.

    Returns:
        A ProbabilityEstimate.  Samples whose integrator failed say nothing about the control: the lower end counts them
        as passed, the upper end as failed.

    Raises:
        InputError: The study has no sample, or an argument is out of range.

    >>> print(failure_probability({"diverged": ["", "", "joint1", ""] * 50}))
    25 % (50 of 200): 19.2 % to 31.6 % with 95 % confidence
    """
    found = SampleColumns.of(study, limit).outcomes
    failures, unknown = (int(np.count_nonzero(found == x)) for x in (CONTROL_FAILED, INTEGRATOR_FAILED))
    return probability_interval(failures, found.size, confidence, unknown)


def quantiles(
    study: Any, of: str = "largest", levels: float | Sequence[float] = LEVELS, confidence: float = CONFIDENCE
) -> list[QuantileEstimate]:
    """Quantiles of a figure of merit, each with a confidence interval that holds for every distribution.

    Args:
        study: What `monte_carlo` returns, or a table of samples: a mapping, or a DataFrame of pandas or polars, with
            the columns `largest.JOINT`, `diverged`, ... that `SampleTable` writes.
        of: "largest" (default), "rms" or "final": this error, the largest over the joints; "largest.joint1" and so on:
            of one joint; or any other column of numbers.
        levels: Probabilities above 0 and below 1; default 0.5, 0.9, 0.95 and 0.99.
        confidence: Of each interval; default 0.95.

    Returns:
        A QuantileEstimate per level.  Runs that diverged have an infinite error; runs whose integrator failed are
        unknown: the lower end of an interval counts them as small, the estimate and the upper end as infinite.

    Raises:
        InputError: There is no such figure of merit, or an argument is out of range.

    >>> median, = quantiles({"largest.joint1": [0.1 * k for k in range(100)]}, levels=0.5)
    >>> round(median.low, 1), round(median.high, 1)
    (3.9, 6.0)
    """
    samples = SampleColumns.of(study)
    unknown, values = samples.outcomes == INTEGRATOR_FAILED, samples.merit(of)
    wanted = np.atleast_1d(np.asarray(levels, dtype=float)).tolist()
    return [quantile_interval(values, level, confidence, unknown) for level in wanted]


@dataclass(frozen=True)
class StudySummary:
    """Outcomes, failure probability and quantiles of a study.

    Args:
        samples: Number of samples.
        outcomes: Number of samples by outcome.
        failures: Probability that control fails.
        quantiles: Quantiles of each figure of merit by its name.
        units: Unit of each figure of merit by its name, "" if it is not known.
        limit: Error above which a sample fails, rad or m; None for no limit.
    """

    samples: int
    outcomes: dict[str, int]
    failures: ProbabilityEstimate
    quantiles: dict[str, list[QuantileEstimate]]
    units: dict[str, str]
    limit: float | None

    def __repr__(self) -> str:
        return f"<StudySummary of {self.samples} samples: {self.failures}>"

    def _repr_html_(self) -> str:
        rows = [[of, level_text(x.level), *(f"{y:.4g}" for y in x[1:4])] for of, x in self.rows]
        return table(rows, ["of", "level", "quantile", "low", "high"], caption=f"failures: {self.failures}")

    @property
    def rows(self) -> list[tuple[str, QuantileEstimate]]:
        """Every quantile with the name of its figure of merit."""
        return [(of, x) for of, found in self.quantiles.items() for x in found]

    def columns(self) -> list[Column]:
        """Columns of a file: one row per quantile."""
        names, found = zip(*self.rows)
        numbers = {"level": 0, "quantile": 1, "low": 2, "high": 3, "confidence": 4}
        units = Column("unit", "", np.array([self.units[x] for x in names]))
        return [Column("of", "", np.array(names)), units] + [
            Column(name, "", np.array([x[k] for x in found])) for name, k in numbers.items()
        ]

    def arrays(self) -> dict[str, Any]:
        """The columns by name."""
        return {column.name: column.values for column in self.columns()}


def summarize(
    study: Any,
    of: str | Sequence[str] | None = None,
    levels: Sequence[float] = LEVELS,
    *,
    limit: float | None = None,
    confidence: float = CONFIDENCE,
) -> StudySummary:
    """Outcomes, failure probability and quantiles of a study, with confidence intervals.

    Args:
        study: What `monte_carlo` or `confirm_outcomes` returns, or a table of samples: see `quantiles`.
        of: Figures of merit, one or several, see `quantiles`; default the largest error of each joint.
        levels: Of the quantiles; default 0.5, 0.9, 0.95 and 0.99.
        limit: Error above which a sample fails, rad or m; default that of the study, else only divergence fails.
        confidence: Of every interval; default 0.95.

    Returns:
        A StudySummary.

    Raises:
        InputError: There is no such figure of merit, or an argument is out of range.
    """
    samples = SampleColumns.of(study, limit)
    chosen = samples.errors("largest") if of is None else [of] if isinstance(of, str) else [*of]
    found = samples.outcomes
    counts = {outcome: int(np.count_nonzero(found == outcome)) for outcome in OUTCOMES}
    failures = failure_probability(samples, confidence=confidence)
    per_figure = {x: quantiles(samples, x, levels, confidence) for x in chosen}
    units = {x: samples.unit(x) for x in chosen}
    return StudySummary(len(samples), counts, failures, per_figure, units, samples.limit)
