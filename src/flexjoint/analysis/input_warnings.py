"""Warnings about input that is valid but probably not meant: noisy recorded positions, links without mass.

Elastic joints need the fourth derivative of the positions, and 1e-4 rad of noise at 1 kHz becomes 1e8 Nm of torque.
Noise alternates from sample to sample and motion does not.  So the fourth difference of the torques at the recorded
times, divided by √70, is the standard deviation of their noise; a well-sampled motion hardly contributes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import warn
from ..robot import Robot
from ..trajectory import Samples, Trajectory
from ..types import FloatArray

MOST = 8192  # samples of a record that are checked
ENDS = 6  # samples at both ends that are not checked: splines are less accurate there
NOISY = 0.2  # share of the torque from which noise is reported
ROUNDING = 1e-9  # share of the largest torque below which noise is rounding
HUGE = 1e150  # Nm; the square of a larger torque overflows
FOURTH = 70.0**0.5  # standard deviation of the fourth difference of white noise with standard deviation 1


def warn_of_noise(robot: Robot, trajectory: Trajectory, torque: Callable[[FloatArray], FloatArray]) -> None:
    """Warn if noise that passes the filter of a record is a large share of the motor torque.

    `torque(t)` gives it, (m, n).  A record without a filter is checked by `require_clean`.
    """
    if not isinstance(trajectory, Samples) or trajectory.cutoff in (None, "off"):
        return
    if len(trajectory.times) < 2 * ENDS + 8:
        return
    t = (trajectory.times - trajectory.first_time)[:MOST]
    tau = torque(t)[ENDS:-ENDS]
    if not np.abs(tau).max(initial=0.0) < HUGE:
        return  # another check reports it
    noise = np.sqrt(np.mean(np.diff(tau, 4, axis=0) ** 2, axis=0)) / FOURTH
    size = np.sqrt(np.mean(tau**2, axis=0))
    noise = np.minimum(noise, size)  # noise of derivatives alternates up to 1.8 times as much as white noise
    share = np.where(noise > ROUNDING * size.max(), noise / np.where(size > 0, size, 1.0), 0.0)
    if share.max() > NOISY:
        i = int(np.where(share > NOISY, noise, 0.0).argmax())
        unit = robot.joints[i].kind.unit("Nm | N")
        warn(
            f"{robot.name:.200}: the torque of joint '{robot.joints[i].name:.200}' is {size[i]:.3g} {unit} (root mean "
            f"square), about {noise[i]:.3g} {unit} of it noise or jumps of the recorded positions, differentiated "
            f"{trajectory.order} times; give the samples a cutoff lower than {trajectory.cutoff:g} Hz, such as the one "
            "of fj.trajectory.assess_record"
        )


def warn_of_massless(robot: Robot) -> None:
    """Warn of joints that carry no mass: their torque is that of their motor only, or zero."""
    mass = [link.mass for link in robot.links]
    for i in range(len(mass) - 1, -1, -1):
        if robot.parents[i] >= 0:
            mass[robot.parents[i]] += mass[i]
    free = [link for link, x in zip(robot.links, mass) if link.joint.moves and not x]
    if free:
        names = ", ".join(f"'{link.joint.name:.200}'" for link in free[:4]) + (", ..." if len(free) > 4 else "")
        warn(
            f"{robot.name:.200}: no link beyond the joints {names} has a mass, so their torque is that of their motors "
            f"only, or zero; give link '{free[-1].name:.200}' a mass, centre of mass and inertia",
        )
