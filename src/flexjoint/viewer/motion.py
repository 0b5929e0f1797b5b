"""A recorded or planned motion as viewers show it: from a run, a log, a detection report or a trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite
from ..detection import DetectionReport
from ..dynamics.along import inverse_dynamics_along
from ..errors import InputError, shown
from ..logs import Log
from ..observers.contact import external_wrench
from ..robot import Robot
from ..simulation.moving_base import BASE_POSE
from ..simulation.result import Simulation
from ..trajectory.base import Trajectory
from ..types import FloatArray
from .motor_positions import undeflected_links

MOST_SAMPLES = 4000  # of a motion; more are thinned
MOST_RUNS = 9  # side by side
RESIDUALS = ("link", "residual")  # channels of observers that are torques on the links, one per joint


@dataclass(frozen=True, eq=False)
class Motion:
    """Samples of a motion, at most 4000; None for what is not known.

    Args:
        robot: The robot that moves.
        title: Name of the motion, for people.
        t: Increasing times, (m,), s.
        q: Positions of the links, (m, n), rad or m.
        theta: Positions of the motors after the reduction, (m, motors).
        tau: Motor torques, (m, motors), Nm or N.
        reference: What the controller followed, (m, n).
        residual: Torques on the links that the model does not explain, (m, n), Nm or N.
        threshold: Of the residual, one number per joint, (n,), Nm or N.
        base: Pose of a moving base: x, y, z in m, roll, pitch, yaw in rad, (m, 6).
        wrenches: Forces and moments on links by name, (m, 6), base coordinates, N and Nm.
        notes: What was left out or chosen, a sentence each.
    """

    robot: Robot
    title: str
    t: FloatArray
    q: FloatArray
    theta: FloatArray | None = None
    tau: FloatArray | None = None
    reference: FloatArray | None = None
    residual: FloatArray | None = None
    threshold: FloatArray | None = None
    base: FloatArray | None = None
    wrenches: Mapping[str, FloatArray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @cached_property
    def motors(self) -> FloatArray | None:
        """Positions of the links at which no spring would be deflected, (m, n); None without elastic joints."""
        if self.theta is None or not any(self.robot.compliant):
            return None
        return undeflected_links(self.robot, self.theta)

    @cached_property
    def deflection(self) -> FloatArray | None:
        """Undeflected minus actual positions of the links, (m, n); None without elastic joints."""
        return None if self.motors is None else self.motors - self.q

    @cached_property
    def contact(self) -> FloatArray | None:
        """The smallest wrench on the tool that explains the residual, (m, 6); None without a residual."""
        if self.residual is None:
            return None
        return external_wrench(self.robot, self.q, np.nan_to_num(self.residual)).wrench

    def exceeds(self, k: int) -> bool:
        """Whether a residual of sample k is above its threshold; True where there is no threshold."""
        if self.residual is None or self.threshold is None:
            return True
        return bool(np.any(np.abs(self.residual[k]) > self.threshold))

    @property
    def duration(self) -> float:
        """From the first to the last sample, s."""
        return float(self.t[-1] - self.t[0])

    def rows(self, chosen: Any) -> Motion:
        """Chosen samples."""
        arrays = ("t", "q", "theta", "tau", "reference", "residual", "base")
        found: dict[str, Any] = {name: None if (x := getattr(self, name)) is None else x[chosen] for name in arrays}
        return replace(self, **found, wrenches={link: x[chosen] for link, x in self.wrenches.items()})


def motions_of(robot: Robot, source: Any) -> list[Motion]:
    """Motions of a run, a batch of runs, a log, a detection report, a trajectory, or a list of these.

    Raises:
        InputError: It is none of these, belongs to a robot with other joints, or there are more than nine.
    """
    if isinstance(source, Motion):
        found = [source]
    elif isinstance(source, Simulation):
        found = runs(source)
    elif isinstance(source, DetectionReport):
        found = [with_residual(of_log(source.log), source)]
    elif isinstance(source, Log):
        found = [of_log(source)]
    elif isinstance(source, Trajectory):
        found = [of_trajectory(robot, source)]
    elif isinstance(source, list | tuple):
        found = [motion for x in source for motion in motions_of(robot, x)]
    else:
        raise InputError(
            f"view: motion is {shown(source)}; give a run of simulate, a log, a detection report, a trajectory, or a "
            "list of them; fj.viewer.read_motion reads files"
        )
    if len(found) > MOST_RUNS:
        raise InputError(f"view: {len(found)} runs; at most {MOST_RUNS} stand side by side: choose some")
    for motion in found:
        if motion.q.shape[1] != robot.n:
            raise InputError(f"view: {motion.title} has {motion.q.shape[1]} joints and the robot {robot.n}")
    return found


def runs(run: Simulation) -> list[Motion]:
    """The motions of a run or of a batch; a run that diverged is shown until then."""
    batch = run.q.shape[:-2]
    count = int(np.prod(batch, dtype=int))
    if count > MOST_RUNS:
        raise InputError(f"view: the batch has {count} runs; at most {MOST_RUNS} stand side by side: choose some")
    law = str(run.provenance.get("controller", "run"))
    residuals = [name for name in run.more if name.rpartition(".")[2] in RESIDUALS]
    found = []
    for place in np.ndindex(batch):
        residual = run.more[residuals[0]][place] if residuals else None
        motion = Motion(
            *(run.robot, f"{law}, run {place}" if place else law, run.t, run.q[place], run.theta[place]),
            *(run.tau[place], run.reference[:, : run.robot.n], residual),
            base=run.more[BASE_POSE][place] if BASE_POSE in run.more else None,
        )
        found.append(cleaned(motion))
    return found


def of_log(log: Log, title: str = "log", **more: Any) -> Motion:
    """The motion in a log; `more` are further arrays of a Motion."""
    if log.q is None and log.theta is None:
        raise InputError("view: the log has neither q nor theta; there is no position to show")
    if log.q is None:
        links = undeflected_links(log.robot, np.asarray(log.theta))
        note = ("the log has no link positions: the links are shown where the motors are",)
        return cleaned(Motion(log.robot, title, log.t, links, None, log.tau, log.reference, notes=note, **more))
    return cleaned(Motion(log.robot, title, log.t, log.q, log.theta, log.tau, log.reference, **more))


def with_residual(motion: Motion, report: DetectionReport) -> Motion:
    """The motion of a report's log with its residual."""
    name = next((x for x in RESIDUALS if x in report.outputs), None)
    if name is None:
        return replace(motion, notes=(*motion.notes, "the residual is none of the links: it has no arrows"))
    kept = np.searchsorted(report.log.t, motion.t) if np.all(np.diff(report.log.t) > 0) else None
    if kept is None:
        return replace(motion, notes=(*motion.notes, "the times of the log do not increase: residual not shown"))
    return replace(motion, residual=report.outputs[name][kept])


def of_trajectory(robot: Robot, trajectory: Trajectory, stiffness: Any = None, title: str = "trajectory") -> Motion:
    """A trajectory with the motors that it needs."""
    count = int(np.clip(round(1000 * trajectory.duration) + 1, 2, MOST_SAMPLES))
    t = np.linspace(0.0, trajectory.duration, count)
    notes = ("motors without hysteresis and backlash",) if any(robot.gear_losses) else ()
    found = inverse_dynamics_along(robot.without_gear_losses() if notes else robot, trajectory, t, stiffness)
    return Motion(robot, title, t, trajectory(t, order=0)[0], found.theta, found.tau, notes=notes)


def cleaned(motion: Motion) -> Motion:
    """Samples with finite positions at increasing times, thinned to the most that are shown."""
    usable = np.isfinite(motion.t) & np.all(np.isfinite(motion.q), axis=1)
    if motion.theta is not None:
        usable &= np.all(np.isfinite(motion.theta), axis=1)
    latest = np.maximum.accumulate(np.where(usable, motion.t, -np.inf))
    usable[1:] &= motion.t[1:] > latest[:-1]
    chosen = np.flatnonzero(usable)
    if chosen.size < 2:
        raise InputError(f"view: {motion.title} has fewer than two samples with finite positions at increasing times")
    notes = motion.notes
    if lost := usable.size - chosen.size:
        notes = (*notes, f"{lost} of {usable.size} samples without finite positions or out of order are not shown")
    if chosen.size > MOST_SAMPLES:
        step = -(-chosen.size // MOST_SAMPLES)
        notes = (*notes, f"1 of {step} samples is shown")
        chosen = chosen[::step]
    return replace(motion.rows(chosen), notes=notes)


def with_wrenches(motion: Motion, wrenches: Mapping[str, ArrayLike]) -> Motion:
    """The motion with known wrenches on links, each (6,) or one per sample, (m, 6), after thinning."""
    found = {}
    for link, given in wrenches.items():
        motion.robot.link_index(link)
        array = finite("view", f"the wrench on '{link}'", given)
        if array.shape not in ((6,), (len(motion.t), 6)):
            raise InputError(f"view: the wrench on '{link}' has shape {array.shape}; give (6,) or ({len(motion.t)}, 6)")
        found[link] = np.broadcast_to(array, (len(motion.t), 6))
    return replace(motion, wrenches=found)
