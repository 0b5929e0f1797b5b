"""Natural frequencies of the joint springs, against the rate of a controller."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...errors import FlexjointError
from ...file_limits import skipped
from ...findings import Finding
from ...robot import Robot
from ...tables import interval
from ...types import FloatArray
from ..eigenfrequencies import joint_eigenfrequencies

SAMPLES_PER_PERIOD = 2  # below, a controller takes an oscillation for a slower one
CONFIGURATIONS = 50


def resonance_findings(robot: Robot, rate: float | None) -> Iterator[Finding]:
    """The range of the natural frequencies over the workspace, and whether a control rate is too low for them."""
    if not any(robot.elastic):
        return
    if reason := skipped("checked_joints", robot.n):
        yield Finding("note", "resonances", "", reason)
        return
    try:
        found = joint_eigenfrequencies(robot, workspace(robot)) / (2 * math.pi)
    except (FlexjointError, np.linalg.LinAlgError) as error:
        yield Finding("note", "resonances", "", f"no natural frequencies of the springs: {error}")
        return
    low, high = float(found.min()), float(found.max())
    text = f"the joint springs oscillate at {interval(low, high, 'Hz')}"
    if rate is not None and high * SAMPLES_PER_PERIOD > rate:
        yield Finding(
            "warning",
            "resonances",
            "",
            f"{text}; a controller at {rate:g} Hz samples the fastest {rate / high:.2g} times per period, and takes it "
            "for a slower one",
            f"control at {SAMPLES_PER_PERIOD * high:.3g} Hz or more, or check stiffness and motor inertia",
        )
    else:
        samples = f"; {rate / high:.3g} samples per period of the fastest" if rate is not None else ""
        yield Finding("note", "resonances", "", text + samples)


def workspace(robot: Robot) -> FloatArray:
    """Configurations (50, n) within the limits; ±π or ±0.5 m where there are none."""
    ends = [math.pi if joint.kind.angular else 0.5 for joint in robot.joints]
    lower = np.array([max(x.limits.lower, -end) for x, end in zip(robot.joints, ends)])
    upper = np.array([min(x.limits.upper, end) for x, end in zip(robot.joints, ends)])
    shares = np.random.default_rng(0).random((CONFIGURATIONS, robot.n))
    return lower + shares * np.maximum(upper - lower, 0.0)
