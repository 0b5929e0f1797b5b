"""Torques along a motion that are right for their input, which is probably not what was meant.

Recorded positions have noise.  Differentiated four times, as elastic joints need it, 1e-4 rad of it at 1 kHz makes
torques of 1e8 Nm.  At the times of the record noise alternates and motion does not, so the fourth difference of the
torques, over √70, is the standard deviation of noise in them and next to nothing of a motion that is sampled well.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import warn
from ..robot import Robot
from ..trajectory import Samples, Trajectory

MOST = 8192  # samples of a record that are looked at
ENDS = 6  # samples at both ends that are not: splines end there
NOISY = 0.2  # of the torque: noise from here on is spoken of
ROUNDING = 1e-9  # of the largest torque: less is no noise
HUGE = 1e150  # Nm
FOURTH = 70.0**0.5  # standard deviation of the fourth difference of white noise


def warn_of_noise(robot: Robot, trajectory: Trajectory, torque: Callable[[np.ndarray], np.ndarray]) -> None:
    """A record whose noise makes a good part of the torque; `torque(t)` is (m, n)."""
    if not isinstance(trajectory, Samples) or len(trajectory.times) < 2 * ENDS + 8:
        return
    t = (trajectory.times - trajectory.first_time)[:MOST]
    tau = torque(t)[ENDS:-ENDS]
    if not np.abs(tau).max(initial=0.0) < HUGE:
        return  # not finite, or it would not be when squared: other checks speak of it
    noise = np.sqrt(np.mean(np.diff(tau, 4, axis=0) ** 2, axis=0)) / FOURTH
    size = np.sqrt(np.mean(tau**2, axis=0))
    noise = np.minimum(noise, size)  # that of derivatives alternates more than white noise, by up to 1.8
    share = np.where(noise > ROUNDING * size.max(), noise / np.where(size > 0, size, 1.0), 0.0)
    if share.max() > NOISY:
        i = int(np.where(share > NOISY, noise, 0.0).argmax())
        unit = "N" if robot.joints[i].kind == "prismatic" else "Nm"
        filtered = "a lower cutoff" if trajectory.cutoff else "a cutoff"
        warn(
            f"{robot.name:.200}: of the torque of joint '{robot.joints[i].name:.200}', {size[i]:.3g} {unit} root mean "
            f"square, about {noise[i]:.3g} {unit} is noise or jumps of the recorded positions, differentiated "
            f"{trajectory.order} times; give the samples {filtered}, such as "
            f'{{kind = "samples", file = "...", cutoff = {cutoff(trajectory):.2g}}} (Hz)'
        )


def cutoff(trajectory: Samples) -> float:
    """A frequency to begin with: a fiftieth of the sampling rate, or half of what was tried."""
    rate = (len(trajectory.times) - 1) / trajectory.duration
    return trajectory.cutoff / 2 if trajectory.cutoff else max(rate / 50, 1 / trajectory.duration)


def warn_of_massless(robot: Robot) -> None:
    """Joints that carry no mass: their torque is that of their motor alone, or zero."""
    mass = [link.mass for link in robot.links]
    for i in range(len(mass) - 1, -1, -1):
        if robot.parents[i] >= 0:
            mass[robot.parents[i]] += mass[i]
    free = [link for link, x in zip(robot.links, mass) if link.joint.moves and not x]
    if free:
        names = ", ".join(f"'{link.joint.name:.200}'" for link in free[:4]) + (", ..." if len(free) > 4 else "")
        warn(
            f"{robot.name:.200}: nothing beyond the joints {names} has a mass, so their torque is that of their motors "
            f"alone, or zero; give link '{free[-1].name:.200}' a mass, centre of mass and inertia",
        )
