"""From a log to detections: the residual its columns allow, thresholds from a part without faults, alarms, and where
nothing could be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import NOT_NUMBERS, InputError, shown
from ..observers import Detector, JointTorqueResidual, Measurement, MomentumResidual, MotorEncoderResidual, Status
from ..observers.contact import struck_links
from ..observers.thresholds import false_alarm_thresholds, spread_of_log
from ..observers.timed import TimedObserver
from ..robot import Robot
from .logs import Log
from .table import Column

MARGIN = 1.2  # of the largest residual seen without faults: a threshold is no smaller than that
LEAST = 1e-3  # of the largest motor torque in the log: nor smaller than that
MOTOR_FASTER = 3.0  # how much faster the springs' torque is estimated from motors than the links' residual follows
TOGETHER = 0.1  # s; alarms with less between them are one detection


class Event(NamedTuple):
    """An alarm of one residual: when it began and ended, s, and the largest residual in between."""

    channel: str
    entry: int
    begin: float
    end: float
    peak: float


class Detection(NamedTuple):
    """Alarms that overlap, or nearly so, in the order in which they began."""

    begin: float
    end: float
    events: tuple[Event, ...]


class Blindness(NamedTuple):
    """From the last sample that could be used, s, to the next one, and what became of those between."""

    begin: float
    end: float
    samples: int
    why: str


@dataclass(frozen=True, eq=False)
class Detections:
    """What a detector told along a log: `outputs` by name, (m, size), and what follows from them."""

    log: Log
    residual: TimedObserver
    thresholds: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]

    @property
    def robot(self) -> Robot:
        return self.log.robot

    @property
    def t(self) -> np.ndarray:
        """Times of the samples, s; where a stamp is missing, the one before, or the first there is."""
        known = np.isfinite(self.log.t)
        before = np.maximum.accumulate(np.where(known, np.arange(known.size), -1))
        return self.log.t[np.where(before < 0, np.argmax(known), before)]

    @property
    def status(self) -> np.ndarray:
        return self.outputs["status"][:, 0].astype(int)

    @property
    def events(self) -> list[Event]:
        """In the order in which they began."""
        t, found = self.t, []
        for name in self.thresholds:
            alarms = self.outputs[f"{name}_alarm"] > 0
            for i in range(alarms.shape[1]):
                for first, last in stretches(alarms[:, i]):
                    peak = self.outputs[name][first : last + 1, i]
                    largest = float(peak[np.argmax(np.abs(peak))])
                    found.append(Event(name, i, float(t[first]), float(t[last]), largest))
        return sorted(found, key=lambda event: event.begin)

    @property
    def detections(self) -> list[Detection]:
        """Events put together that less than TOGETHER seconds part."""
        found: list[Detection] = []
        for event in self.events:
            if found and event.begin <= found[-1].end + TOGETHER:
                last = found.pop()
                found.append(Detection(last.begin, max(last.end, event.end), (*last.events, event)))
            else:
                found.append(Detection(event.begin, event.end, (event,)))
        return found

    @property
    def blind(self) -> list[Blindness]:
        """Where the residual did not see, the first sample apart, which nothing precedes."""
        t, status = self.t, self.status
        unseen = status > Status.SATURATED
        unseen[0] &= status[0] != Status.FIRST
        found = []
        for first, last in stretches(unseen):
            known = sorted({Status(x).name.lower() for x in status[first : last + 1].tolist()})
            begin, end = t[max(first - 1, 0)], t[min(last + 1, len(t) - 1)]
            found.append(Blindness(float(begin), float(end), last - first + 1, ", ".join(known)))
        return found

    def struck(self, detection: Detection) -> list[str]:
        """Where links were hit, if that is what it was: these, or links that they carry."""
        felt = np.zeros(self.robot.n, dtype=bool)
        felt[[event.entry for event in detection.events if event.channel != "motor"]] = True
        return struck_links(self.robot, felt)

    def label(self, channel: str, entry: int) -> str:
        """The joint or motor of a residual's entry."""
        robot = self.robot
        return robot.motor_names[entry] if channel == "motor" else robot.joints[entry].name

    def columns(self) -> list[Column]:
        """t, each residual with its alarm, and the status of each sample."""
        found = [Column("t", "s", self.log.t)]
        for name in self.thresholds:
            for i in range(self.outputs[name].shape[1]):
                label = self.label(name, i)
                found.append(Column(f"{name}.{label}", self.unit(name, i), self.outputs[name][:, i]))
                found.append(Column(f"{name}_alarm.{label}", "1", self.outputs[f"{name}_alarm"][:, i]))
        return [*found, Column("status", "1", self.outputs["status"][:, 0])]

    def arrays(self) -> dict[str, Any]:
        """All outputs by name, times and thresholds, with the names of joints and motors."""
        names = {"joints": [joint.name for joint in self.robot.joints], "motors": self.robot.motor_names}
        levels = {f"{name}_threshold": x for name, x in self.thresholds.items()}
        return {"t": self.log.t, **self.outputs, **levels, **{x: np.array(y) for x, y in names.items()}}

    def unit(self, channel: str, entry: int) -> str:
        return "Nm" if self.robot.motor_kinds[entry] == "revolute" else "N"  # those of joints are the first


def detect(
    log: Log,
    *,
    thresholds: Any = None,
    quiet: tuple[float, float] | None = None,
    calibration: Log | None = None,
    per_hour: float = 1.0,
    cutoff: float = 30.0,
    confirmation: float = 0.0,
    held: bool = True,
) -> Detections:
    """Run a detector over a log.

    The residual is the best that the columns allow (`residual_of`), with filters of `cutoff` rad/s.  `thresholds` is a
    number for all joints, or numbers by channel.  Or they come from what is known to be without faults: the times
    `quiet` = (begin, end) of the log, or another log, `calibration`.  They are then such that noise alone raises at
    most `per_hour` false alarms, and no smaller than MARGIN times the largest residual there, as errors of the model
    are no noise, nor than LEAST of the joint's largest torque.  Where all of these are zero nothing can be learnt, and
    numbers must be given.

    `held`: row k of tau was commanded at t[k] and held; else it was measured.
    """
    if not isinstance(log, Log):
        raise InputError(f"detect: log is {shown(log)}; give a Log, such as read_log(path, robot)")
    quiet_interval(quiet)
    residual = residual_of(log, cutoff)
    given = [x is not None for x in (thresholds, quiet, calibration)]
    if sum(given) != 1:
        raise InputError(
            "detect: thresholds are needed: give numbers, or quiet=(begin, end), a part of the log without faults, or "
            "another log without faults, calibration" + (", and only one of them" if sum(given) > 1 else "")
        )
    if thresholds is None:
        thresholds = learnt(residual, log if calibration is None else calibration, quiet, per_hour, held)
    elif not isinstance(thresholds, Mapping):
        thresholds = dict.fromkeys(residual.channels, thresholds)
    detector = Detector(residual, thresholds, confirmation=confirmation)
    return Detections(log, residual, detector.thresholds, run(detector, log, held))


def residual_of(log: Log, cutoff: float) -> Any:
    """Of a rigid robot that of its momentum; with springs those of links and motors, from torque sensors if they were
    logged, else from deflections, and of the links alone where nothing but the motors was."""
    robot, period = log.robot, log.period
    if "tau" not in log.known:
        raise InputError(f"detect: the motor torques tau are not in the log, which has {', '.join(log.known)}")
    if not any(robot.elastic):
        require(log, ("q", "v"), "of a rigid robot")
        return MomentumResidual(robot, cutoff, period, longest(period))
    if "q" not in log.known and "theta" in log.known:
        return MotorEncoderResidual(robot, cutoff, MOTOR_FASTER * cutoff, period, longest(period))
    sensors = "tau_e" in log.known and not any(robot.antagonistic)
    needed = ("q", "v", "theta_v", "tau_e") if sensors else ("q", "v", "theta", "theta_v")
    require(log, needed, "of a robot with springs, without torque sensors tau_e," if not sensors else "with springs")
    return JointTorqueResidual(robot, cutoff, cutoff, period, longest(period), sensors)


def longest(period: float) -> float:
    """Which gaps are bridged: a few samples."""
    return max(5 * period, 0.02)


def require(log: Log, needed: tuple[str, ...], what: str) -> None:
    if missing := [name for name in needed if name not in log.known]:
        raise InputError(
            f"detect: the log {what} needs {', '.join(needed)} and tau; {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing, there are {', '.join(log.known)}"
        )


def run(observer: TimedObserver, log: Log, held: bool) -> dict[str, np.ndarray]:
    return observer.run(log.t, Measurement(log.q, log.v, log.theta, log.theta_v, log.tau_e), log.tau, held=held)


def quiet_interval(quiet: Any) -> tuple[float, float]:
    """Two times, the second one later; all of the log without them."""
    if quiet is None:
        return -np.inf, np.inf
    try:
        begin, end = (float(x) for x in quiet)
    except NOT_NUMBERS:
        begin, end = np.nan, np.nan
    if not begin < end:
        raise InputError(f"detect: quiet is {shown(quiet)}; give two times in s, such as (0.0, 2.5)")
    return begin, end


def learnt(
    residual: TimedObserver, log: Log, quiet: tuple[float, float] | None, per_hour: float, held: bool
) -> dict[str, np.ndarray]:
    """Thresholds from a log, or a part of it, without faults; infinite of motors that turn with their links."""
    if log.robot != residual.robot:
        raise InputError(f"detect: the calibration is a log of {log.robot.name}, not of {residual.robot.name}")
    begin, end = quiet_interval(quiet)
    kept = (log.t >= begin) & (log.t <= end)
    if np.count_nonzero(kept) < 10:
        raise InputError(f"detect: there are {np.count_nonzero(kept)} samples from {begin:g} to {end:g} s; take more")
    outputs = {name: x[kept] for name, x in run(residual, log, held).items()}
    spread = spread_of_log(residual, outputs)
    found = false_alarm_thresholds(spread, per_hour, residual.period)
    robot, torque = log.robot, LEAST * np.nanmax(np.abs(np.asarray(log.tau)), axis=0)
    for name, level in found.items():
        largest = np.abs(outputs[name]).max(axis=0)
        levels = np.maximum(level, np.maximum(MARGIN * largest, torque[: level.size]))
        if name == "motor":
            levels[[not robot.elastic[i] for i in robot.motor_joints]] = np.inf  # their residual is zero by design
        if not np.all(levels > 0):
            silent = robot.motor_names[int(np.argmin(levels))]
            raise InputError(
                f"detect: in the part without faults residual and torque of '{silent}' are zero, so that no threshold "
                "can be learnt; take one in which the robot moves, or give thresholds"
            )
        found[name] = levels
    return found


def stretches(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return [(int(first), int(last) - 1) for first, last in edges.reshape(-1, 2)]
