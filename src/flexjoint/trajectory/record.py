"""Recorded motions of a robot: their noise, the torque it makes, and the cutoff that leaves the smallest error."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..checks import positive
from ..dynamics.along import Motion
from ..dynamics.requirements import lossless_gears, require
from ..errors import InputError, listed, shown
from ..robot import Robot, numeric
from ..types import FloatArray
from .base import require_smoothness
from .filter_trial import FilterError, edge_of, filter_trial, scale, smallest
from .noise_level import NoiseLevel, RecordOutlier, noise_level
from .samples import Samples

FEWEST = 24  # samples that tell something about noise
NOISY = 0.2  # share of the torque of the motion from which noise is refused
MOST_NAMED = 3  # outliers in a message


@dataclass(frozen=True, eq=False)
class RecordAssessment:
    """Noise of a recorded motion and torque errors by cutoff: the result of `assess_record`.

    Args:
        robot: the robot.
        record: the motion as recorded, through every sample.
        level: noise level, encoder steps, outliers and gaps.
        unfiltered: (motors,), root mean square of the torque that the noise causes without a filter, in Nm or N.
        trials: errors of all cutoffs that were tried, the highest first.
        best: the error of the proposed cutoff, or of the one given.
    """

    robot: Robot
    record: Samples
    level: NoiseLevel
    unfiltered: FloatArray
    trials: tuple[FilterError, ...] = field(repr=False)
    best: FilterError

    def __repr__(self) -> str:
        state = "noisy" if self.noisy else "clean"
        return (
            f"<RecordAssessment of {self.robot.name}: {state}, noise up to {self.level.sigma.max():.3g}, "
            f"{len(self.level.outliers)} outliers; cutoff {self.cutoff:g} Hz>"
        )

    @property
    def cutoff(self) -> float:
        """The proposed cutoff, in Hz."""
        return self.best.cutoff

    @property
    def edge(self) -> float:
        """Time from both ends of the record within which derivatives fade and errors are not stated, in s."""
        return edge_of(self.cutoff, self.record.duration)

    @property
    def shares(self) -> FloatArray:
        """(motors,), torque of the unfiltered noise relative to that of the motion."""
        with np.errstate(all="ignore"):
            return self.unfiltered / scale(self.best.torque)

    @property
    def noisy(self) -> bool:
        """Whether noise or outliers make more than a fifth of a torque: such a record is refused without a cutoff."""
        return bool(np.any(self.shares > NOISY)) or bool(self.level.outliers)

    @cached_property
    def filtered(self) -> Samples:
        """The record without its outliers, filtered at the proposed cutoff."""
        kept = np.setdiff1d(np.arange(len(self.record.times)), [x.sample for x in self.level.outliers])
        times, positions = self.record.times[kept], self.record.positions[kept]
        return replace(self.record, times=times, positions=positions, cutoff=self.cutoff)

    @property
    def trouble(self) -> str:
        """What is wrong with the record, as the beginning of a message."""
        parts = []
        k = int(self.shares.argmax())
        if self.shares[k] > NOISY:
            i = self.robot.motor_joints[k]
            j = int(np.argmax(self.level.sigma)) if not self.level.sigma[i] else i
            unit, force = self.robot.joints[j].kind.unit("rad | m"), self.robot.motor_kinds[k].unit("Nm | N")
            step = self.level.step[j]
            steps = f", an encoder with steps of {step:.3g} {unit}" if step else ""
            made = f"{self.unfiltered[k]:.2g} {force}" if np.isfinite(self.unfiltered[k]) else "an infeasible amount"
            parts.append(
                f"the recorded positions of joint '{self.robot.joints[j].name:.200}' have noise of "
                f"{self.level.sigma[j]:.2g} {unit} (standard deviation{steps}), which makes {made} "
                f"of torque of motor '{self.robot.motor_names[k]:.200}', beside {self.best.torque[k]:.3g} "
                f"{force} of the motion (root mean squares)"
            )
        if self.level.outliers:
            parts.append(named_outliers(self.robot, self.level.outliers))
        return "; ".join(parts)


def assess_record(
    robot: Robot, record: Samples, stiffness: Motion | ArrayLike | None = None, cutoff: float | None = None
) -> RecordAssessment:
    """Noise level of a recorded motion, the torque it causes, a proposed cutoff, and the torque error at that cutoff.

    Noise is assumed white.  Motion below the noise floor is not part of the error.

    Args:
        robot: the robot that moved.
        record: its recorded motion; its own cutoff is ignored.
        stiffness: of joints of variable stiffness: a trajectory, or constant numbers, in Nm/rad or N/m; by default the
            middle of the feasible range at the first sample.
        cutoff: cutoff to assess, in Hz; by default the one with the smallest error.

    Returns:
        A RecordAssessment; its `filtered` is the filtered motion.

    Raises:
        InputError: `record` is not a Samples, does not fit the robot, or is too short.

    Example:
        >>> import numpy as np
        >>> import flexjoint as fj
        >>> robot, t = fj.load("hua_3r"), np.arange(0.0, 3.0, 2e-3)
        >>> noise = 1e-4 * np.random.default_rng(0).normal(size=(t.size, 3))
        >>> record = fj.trajectory.Samples(t, 0.3 * np.sin(2 * t)[:, None] + noise)
        >>> found = fj.trajectory.assess_record(robot, record)
        >>> found.noisy, bool(np.all(found.best.total < 0.01 * found.best.torque))
        (True, True)
    """
    owner = "assess_record"
    if not isinstance(record, Samples):
        raise InputError(f"{owner}: record is {shown(record)}; give fj.trajectory.Samples(times, positions)")
    require(owner, numeric(owner, robot), lossless_gears)
    require_smoothness(record, robot=robot)
    level = noise_level(record.times, record.positions)
    trial = filter_trial(robot, record, level, stiffness)
    if len(trial.times) < FEWEST:
        raise InputError(f"{owner}: {len(trial.times)} samples are too few to measure noise; give {FEWEST} or more")
    unfiltered, _ = trial.without_filter()
    if cutoff is None:
        trials = trial.search(unfiltered)
    else:
        trials = (trial.error(positive(owner, "cutoff", cutoff, ", in Hz")),)
    whole = record if record.cutoff is None else replace(record, cutoff=None)
    return RecordAssessment(robot, whole, level, unfiltered, trials, smallest(trials))


def require_clean(robot: Robot, record: Samples, stiffness: Motion | ArrayLike | None = None, file: str = "") -> None:
    """Refuse a record whose noise makes more than a fifth of a torque; a clean one takes some milliseconds.

    Args:
        robot: the robot that moved.
        record: its recorded motion; one with a cutoff, or with cutoff="off", passes.
        stiffness: as for `assess_record`.
        file: name of its file, for the message; by default it is made in Python.

    Raises:
        InputError: the record is noisy; the message names noise, torque, and what to type.
    """
    if record.cutoff is not None or len(record.times) < FEWEST:
        return
    level = noise_level(record.times, record.positions)
    trial = filter_trial(robot, record, level, stiffness)
    if not level.outliers:
        noise, torque = trial.without_filter()
        if np.all(noise < NOISY * scale(torque)) or not np.any(level.sigma):
            return
    found = assess_record(robot, record, stiffness)
    if found.noisy:
        left = int(np.argmax(found.best.total / scale(found.best.torque)))
        unit = robot.motor_kinds[left].unit("Nm | N")
        typed = f'{{kind = "samples", file = "{file}", cutoff = "auto"}}' if file else f"cutoff={found.cutoff:g}"
        accepted = 'cutoff = "off"' if file else 'cutoff="off"'
        raise InputError(
            f"{robot.name:.200}: {found.trouble}; type {typed} to filter at {found.cutoff:g} Hz, which leaves a torque "
            f"error of {found.best.total[left]:.2g} {unit} at motor '{robot.motor_names[left]:.200}'; or {accepted} to "
            "keep all"
        )


def named_outliers(robot: Robot, outliers: tuple[RecordOutlier, ...]) -> str:
    """Outliers in a message."""
    some = [
        f"sample {x.sample + 1} of joint '{robot.joints[x.joint].name:.80}' (t = {x.t:.6g} s) is {x.value:.5g}, "
        f"{abs(x.distance):.2g} {robot.joints[x.joint].kind.unit('rad | m')} from its neighbours"
        for x in outliers[:MOST_NAMED]
    ]
    more = [f"{len(outliers) - MOST_NAMED} more"] if len(outliers) > MOST_NAMED else []
    return listed([*some, *more])
