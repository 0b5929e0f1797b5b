"""Delays between channels that are worth a correction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..findings import Finding
from .delays import estimate_delays
from .log import Log

WORTH, LEAST = 0.25, 1e-4  # of a sampling period; s
CERTAIN = 4.0  # deviations


def delay_findings(log: Log) -> Iterator[Finding]:
    """Channels whose median delay is certain and more than a quarter of a sampling period."""
    found = estimate_delays(log)
    for quantity, relative_to in dict.fromkeys((x.quantity, x.relative_to) for x in found):
        each = [x for x in found if (x.quantity, x.relative_to) == (quantity, relative_to)]
        delay, deviation = (float(np.median([getattr(x, key) for x in each])) for key in ("seconds", "deviation"))
        if abs(delay) > max(WORTH * log.period, LEAST, CERTAIN * deviation):
            late = "later" if delay > 0 else "earlier"
            damped = quantity == "tau_e" and delay < 0  # by D/K
            moved = log.interpolated if quantity in log.interpolated else (quantity,)  # one recorder, one clock
            how = ",".join(f"{name}={delay:.4g}" for name in moved)
            python = ", ".join(f"'{name}': {delay:.4g}" for name in moved)
            yield Finding(
                "warning" if quantity == "theta" else "note",  # θ − q is the deflection
                "delays",
                "",
                f"{quantity} is {1e3 * abs(delay):.3g} ± {1e3 * deviation:.1g} ms {late} than {relative_to}"
                + ", as with springs that have damping" * damped,
                f"read the log with --late {how} (in Python late={{{python}}})" + " if it is not the damping" * damped,
            )
