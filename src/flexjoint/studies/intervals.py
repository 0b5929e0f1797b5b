"""Confidence intervals that hold for every distribution: of quantiles by order statistics, of probabilities exactly.

Quantile: of n independent samples the number below the p-quantile is binomial (n, p), so two order statistics enclose
the quantile with a known probability  [David sec. 7.1].  Probability: k failures of n are binomial too; the interval of
Clopper and Pearson inverts that distribution and never covers less than it promises, also for k = 0, which is why it is
taken here and not Wilson's, whose coverage falls below for rare failures  [ClopperPearson].

Samples of which nothing is known (`unknown`) widen an interval: its lower end takes them as good, its upper end as bad.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, NamedTuple

import numpy as np

from ..checks import number, number_array, whole
from ..errors import InputError

CONFIDENCE = 0.95


class QuantileEstimate(NamedTuple):
    """A quantile with its confidence interval.

    Args:
        level: Probability of a value at or below the quantile.
        value: Estimate: the smallest sample with at least this share of samples at or below; unknown ones are infinite.
        low, high: Ends of the interval; infinite where there are too few samples for an end.
        confidence: Probability with which the interval contains the quantile, at least.
        samples, unknown: Numbers of samples, and of those among them of which nothing is known.
    """

    level: float
    value: float
    low: float
    high: float
    confidence: float
    samples: int
    unknown: int = 0


class ProbabilityEstimate(NamedTuple):
    """The probability of a failure with its confidence interval.

    Args:
        value: Share of failures among the samples that are known; NaN if none is.
        low, high: Ends of the two-sided interval.
        bound: One-sided upper bound, for "at most": without a failure close to 3 / samples at 95 %, the rule of three.
        confidence: Probability with which the interval contains the probability, at least, and the bound exceeds it.
        failures, samples, unknown: Numbers of failures, of all samples, and of those of which nothing is known.
    """

    value: float
    low: float
    high: float
    bound: float
    confidence: float
    failures: int
    samples: int
    unknown: int = 0

    def __str__(self) -> str:
        level = f"with {100 * self.confidence:g} % confidence"
        if not self.failures and not self.unknown:
            return f"no failure in {self.samples} samples: at most {percent(self.bound)} {level}"
        known = self.samples - self.unknown
        lost = f", and {self.unknown} unknown" if self.unknown else ""
        share = "unknown" if known == 0 else percent(self.value)
        return f"{share} ({self.failures} of {known}{lost}): {percent(self.low)} to {percent(self.high)} {level}"


def percent(x: float) -> str:
    """A share as text."""
    return f"{100 * x:.3g} %"


def quantile_interval(
    values: Any, level: float, confidence: float = CONFIDENCE, unknown: Any = None
) -> QuantileEstimate:
    """A quantile of a figure of merit, with its confidence interval by order statistics.

    Args:
        values: One per sample, (s,); infinite ones are values like others.
        level: Above 0 and below 1.
        confidence: Of the interval; default 0.95.
        unknown: Mask (s,) of samples whose value is not known; default none.

    Raises:
        InputError: There is no sample, a known value is NaN, or a level is out of range.

    >>> quantile_interval(range(1, 101), 0.5)[1:4]
    (50.0, 40.0, 61.0)
    """
    p, confidence = share("quantile_interval", "level", level), share("quantile_interval", "confidence", confidence)
    x = number_array("quantile_interval", "values", values).ravel()
    lost = np.zeros(x.size, dtype=bool) if unknown is None else np.asarray(unknown, dtype=bool)
    if not x.size or lost.shape != x.shape:
        raise InputError(f"quantile_interval: {x.size} values and a mask of shape {lost.shape}; give one per sample")
    if np.any(np.isnan(x[~lost])):
        raise InputError("quantile_interval: a value is NaN; mark samples whose value is not known by unknown=")
    below, above = (np.sort(np.where(lost, end, x)) for end in (-np.inf, np.inf))
    first, last = ranks(x.size, p, confidence)
    low = below[first - 1] if first else -np.inf
    high = above[last - 1] if last <= x.size else np.inf
    value = above[max(int(np.ceil(p * x.size * (1 - 1e-12))), 1) - 1]
    return QuantileEstimate(p, float(value), float(low), float(high), confidence, x.size, int(lost.sum()))


def ranks(samples: int, level: float, confidence: float) -> tuple[int, int]:
    """Ranks, from 1 on, of the order statistics that enclose a quantile; 0 and samples + 1 where there are too few."""
    from scipy.special import bdtr, bdtrc  # the binomial distribution, and what is above

    tail, places = (1 - confidence) / 2, range(samples)
    first = bisect_right(places, tail, key=lambda k: bdtr(k, samples, level))
    last = bisect_left(places, -tail, key=lambda k: -bdtrc(k, samples, level)) + 1
    return first, last


def samples_needed(level: float, confidence: float = CONFIDENCE) -> int:
    """Smallest number of samples for which the interval of a quantile has a finite upper end."""
    return int(np.ceil(np.log((1 - confidence) / 2) / np.log(level)))


def probability_interval(
    failures: int, samples: int, confidence: float = CONFIDENCE, unknown: int = 0
) -> ProbabilityEstimate:
    """The probability of a failure from its count, with the interval of Clopper and Pearson.

    Args:
        failures: Number of failures.
        samples: Number of all samples, unknown ones included.
        confidence: Of the interval; default 0.95.
        unknown: Number of samples of which nothing is known; default 0.

    Raises:
        InputError: The counts do not fit together, or the confidence is out of range.

    >>> round(probability_interval(0, 1000).bound, 5)  # the rule of three
    0.00299
    """
    owner = "probability_interval"
    n = whole(owner, "samples", samples, least=1)
    lost = whole(owner, "unknown", unknown, largest=n)
    k = whole(owner, "failures", failures, largest=n - lost)
    confidence = share(owner, "confidence", confidence)
    tail = 1 - confidence
    value = k / (n - lost) if lost < n else np.nan
    low, high = lower_end(k, n, tail / 2), upper_end(k + lost, n, tail / 2)
    return ProbabilityEstimate(value, low, high, upper_end(k + lost, n, tail), confidence, k, n, lost)


def lower_end(k: int, n: int, tail: float) -> float:
    """Probability of which k or more failures have the probability `tail`."""
    from scipy.special import betaincinv

    return float(betaincinv(k, n - k + 1, tail)) if k else 0.0


def upper_end(k: int, n: int, tail: float) -> float:
    """Probability of which k or fewer failures have the probability `tail`."""
    from scipy.special import betaincinv

    return float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0


def share(owner: str, what: str, value: Any) -> float:
    """A number above 0 and below 1."""
    wanted = "a number above 0 and below 1"
    found = number(owner, what, value, wanted)
    if not 0 < found < 1:
        raise InputError(f"{owner}: {what} is {value!r}; it must be {wanted}")
    return found


def level_text(x: float) -> str:
    """A level as text, such as 95 %."""
    return f"{100 * x:.10g} %"
