"""Residual vibration in a report: modes, amplitudes, settling time."""

from __future__ import annotations

import numpy as np

from ..analysis.vibration import ResidualVibration
from ..plots.figures import shown_units
from ..tables import Table
from .content import Content, content_of


@content_of.register
def vibration_content(found: ResidualVibration) -> Content:
    """What a report shows of a ResidualVibration."""
    settled = f"settled after {found.settling:.4g} s" if np.isfinite(found.settling) else "not settled at the end"
    text = f"vibration after the stop at {found.start:g} s: tool {1e3 * found.tool:.3g} mm, {settled}"
    return Content(
        f"Residual vibration of {found.robot.name}",
        [text, vibration_table(found)] if found.modes else [f"{text}; no oscillation"],
        {},
        found.robot,
        {"stop, s": found.start, "share not explained by modes": found.misfit},
    )


def vibration_table(found: ResidualVibration) -> Table:
    """Modes, the largest first: frequency, damping, the joint that moves most, the tool."""
    rows, (units, factors) = [], shown_units(found.robot)
    for mode in found.modes:
        i = int(np.argmax(mode.amplitude))
        size = f"{factors[i] * mode.amplitude[i]:.3g} {units[i]}"
        name = found.robot.joints[i].name
        rows.append([f"{mode.frequency:.4g} Hz", f"{mode.damping:.3g}", name, size, f"{1e3 * mode.tool:.3g} mm"])
    headings = ["mode", "damping ratio", "most at", "amplitude", "tool"]
    return Table(headings, rows, numbers=["mode", "damping ratio", "amplitude", "tool"])
