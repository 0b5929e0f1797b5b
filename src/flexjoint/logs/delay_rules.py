"""Delays between channels that are worth a correction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..findings import Finding
from .delays import estimate_delays
from .log import Log

WORTH = 0.25  # of a sampling period
CERTAIN = 4.0  # deviations


def delay_findings(log: Log) -> Iterator[Finding]:
    """Channels whose median delay is certain and more than a quarter of a sampling period."""
    found = estimate_delays(log)
    for quantity, relative_to in dict.fromkeys((x.quantity, x.relative_to) for x in found):
        each = [x for x in found if (x.quantity, x.relative_to) == (quantity, relative_to)]
        delay, deviation = (float(np.median([getattr(x, key) for x in each])) for key in ("seconds", "deviation"))
        if abs(delay) > max(WORTH * log.period, CERTAIN * deviation):
            late = "later" if delay > 0 else "earlier"
            yield Finding(
                "note",
                "delays",
                "",
                f"{quantity} is {1e3 * abs(delay):.3g} ± {1e3 * deviation:.1g} ms {late} than {relative_to}",
                f"fj.logs.without_delays(log, {{'{quantity}': {delay:.4g}}}) corrects it",
            )
