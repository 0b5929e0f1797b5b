"""Signs in a fit that columns of a log are in other units, of another sign, of another joint or of another clock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..robot import Robot
from .estimates import Estimate
from .recordings import Recording
from .residuals import ResidualTest

UNEXPLAINED = 0.2  # root mean square of the residual over that of the torque
LATE = 10.0  # sampling periods: a longer delay is hardly one


def doubts(
    robot: Robot, parts: Sequence[Recording], estimates: Sequence[Estimate], tests: Sequence[ResidualTest]
) -> tuple[str, ...]:
    """Sentences, one per doubt.

    Args:
        robot: The robot.
        parts: The recordings.
        estimates: What was found.
        tests: Of the residuals.
    """
    found = []
    for i, joint in enumerate(robot.joints):
        torques = [x.tau[:, i] for x in parts if x.tau is not None]
        if not torques:
            continue
        whole = np.concatenate(torques)
        own = [x for x in tests if x.joint == i and x.equation in ("motor", "rigid")]
        if own and own[0].rms > UNEXPLAINED * float(np.std(whole)):
            found.append(
                f"the model explains tau of {joint.name} badly, the residual is "
                f"{100 * own[0].rms / np.std(whole):.2g} % of it: are units, signs and the order of the joints right?"
            )
    found += [
        f"{x.name} is not positive ({x.value:.3g} {x.unit}): are units and signs of tau, theta and q right?"
        for x in estimates
        if x.kind in ("inertia", "stiffness") and x.value < -3 * x.deviation
    ]
    found += [
        f"the positions seem to come {x.value:.3g} s after tau, many samples: are all columns of one clock?"
        for x in estimates
        if x.kind == "delay" and abs(x.value) > LATE * parts[0].period and abs(x.value) > 5 * x.deviation
    ]
    return tuple(found)
