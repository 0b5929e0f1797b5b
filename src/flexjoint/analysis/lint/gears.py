"""Signs of gear ratios."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...errors import listed
from ...findings import Finding
from ...robot import Robot


def gear_findings(robot: Robot) -> Iterator[Finding]:
    """Joints whose motors turn the other way than those of the other joints."""
    ratios = robot.gear_ratios
    backward = [joint.name for joint, ratio in zip(robot.joints, ratios) if ratio < 0]
    if backward and np.any(ratios > 0):
        yield Finding(
            "note",
            "gears",
            backward[0],
            f"the motor of joint {listed(backward)} turns against its joint, others turn with theirs",
            "check the sign of the gear ratio against the encoder",
        )
