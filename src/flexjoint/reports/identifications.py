"""An identification in a report: drives, links, tests of the residuals, what the logs do not show, and the figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from ..identification.estimates import IDENTIFIED, Estimate, with_deviation
from ..identification.result import Identification
from ..plots.identifications import plot_identification
from ..tables import Table
from .content import Content, content_of

NUMBERS = ("value", "prior", "rms residual", "misfit")


@content_of.register
def identification_content(found: Identification) -> Content:
    """What a report shows of an Identification."""
    drives = [x for x in found.estimates if x.joint >= 0]
    bodies = [x for x in found.estimates if x.joint < 0]
    shown: list[str | Table] = [*summary(found), estimate_table("drives", drives)]
    if bodies:
        shown.append(estimate_table("links and delay", bodies))
    if found.tests:
        shown.append(test_table(found))
    if unsure := [f"{x.name}: {x.reason}" for x in found.estimates if x.verdict != IDENTIFIED]:
        shown += ["", "not identified:", *unsure]
    caption = (
        "Torque of each joint: measured and predicted, the residual, and the autocorrelation of whitened residuals."
    )
    return Content(
        f"Identification of {found.prior.name}",
        shown,
        {caption: partial(plot_identification, found)},
        found.prior,
        {"bandwidth, Hz": found.bandwidth, "condition of the equations": f"{found.condition:.3g}"},
    )


def summary(found: Identification) -> list[str]:
    """Lines about the logs, the fit and its tests."""
    count = sum(x.verdict == IDENTIFIED for x in found.estimates)
    lines = [
        f"{found.prior.name}: {found.origin.partition(', ')[2]}, fitted up to {found.bandwidth:g} Hz; "
        f"{count} of {len(found.estimates)} parameters identified, condition {found.condition:.3g}",
        *found.notes,
        *found.doubts,
    ]
    names = [joint.name for joint in found.prior.joints]
    lines += [f"wrong model at {names[x.joint]}: {x.finding}" for x in found.failed]
    lines += [
        f"the residuals of {names[x.joint]} ask for {x.what} ({abs(x.deviations):.1f} deviations)"
        for x in found.scores
        if x.asked
    ]
    if found.passed:
        lines.append(f"residuals{'' if found.tests else ' of the simulation'}: like noise at all joints")
    if found.validation:
        errors = ", ".join(f"{name} {100 * x:.2g} %" for name, x in found.validation.items())
        lines.append(f"torque error in logs that were not used: {errors}")
    return lines


def estimate_table(title: str, estimates: Sequence[Estimate]) -> Table:
    """One row per number."""
    rows = [
        [
            x.name,
            with_deviation(x.value, x.deviation),
            x.unit,
            "-" if math.isnan(x.prior) else f"{x.prior:.6g}",
            x.verdict,
        ]
        for x in estimates
    ]
    return Table(["parameter", "value", "unit", "prior", "verdict"], rows, title, numbers=NUMBERS)


def test_table(found: Identification) -> Table:
    """One row per equation of each joint."""
    joints = found.prior.joints
    rows = [
        [
            joints[x.joint].name,
            x.equation,
            f"{x.rms:.3g} {'Nm' if joints[x.joint].kind.angular else 'N'}",
            f"{x.misfit:.2f}",
            "yes" if x.passed else "no",
        ]
        for x in found.tests
    ]
    note = "misfit: strength of the residual at the frequencies of the motion over that between them; 1 is noise"
    return Table(["joint", "equation", "rms residual", "misfit", "like noise"], rows, "residuals", note, NUMBERS)
