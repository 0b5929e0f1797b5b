"""From a log to detections: the residual its columns allow, thresholds from a part without faults, alarms, and where
nothing could be told."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..errors import FlexjointWarning, InputError, shown
from ..observers import (
    Detector,
    JointTorqueResidual,
    LinkResidual,
    Measurement,
    MomentumResidual,
    MotorEncoderResidual,
    Status,
)
from ..observers.contact import struck_links
from ..observers.stamps import Stamps, judged_stamps
from ..observers.timed import TimedObserver
from ..results.columns import Column
from ..robot import Robot
from .calibration import check_plausible, learnt
from .logs import Log
from .outliers import Outlier, impossible, said, without

MOTOR_FASTER = 3.0  # how much faster the springs' torque is estimated from motors than the links' residual follows
TOGETHER = 0.1  # s; alarms with less between them are one detection


class Event(NamedTuple):
    """An alarm of one residual: when it began and ended, s, the largest residual since it rose; its samples."""

    channel: str
    entry: int
    begin: float
    end: float
    peak: float
    first: int
    last: int


class Detection(NamedTuple):
    """Alarms that overlap, or nearly so, in the order in which they began."""

    begin: float
    end: float
    events: tuple[Event, ...]


class Peak(NamedTuple):
    """The largest residual of all joints, Nm or N, and when, s."""

    channel: str
    entry: int
    t: float
    value: float


class Blindness(NamedTuple):
    """From the last sample that could be used, s, to the next one, and what became of those between.

    `first` and `last` are the samples at the two ends, `seconds` is how long it took, whatever the clock was set to.
    """

    begin: float
    end: float
    samples: int
    why: str
    first: int
    last: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Detections:
    """What a detector told along a log: `outputs` by name, (m, size), and what follows from them.

    `outliers` are the numbers of the log that cannot be and were left out, `calibration_outliers` those of the part
    without faults from which thresholds were learnt.
    """

    log: Log
    residual: TimedObserver
    thresholds: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    outliers: tuple[Outlier, ...] = ()
    calibration_outliers: tuple[Outlier, ...] = ()

    @property
    def robot(self) -> Robot:
        return self.log.robot

    @cached_property
    def stamps(self) -> Stamps:
        return judged_stamps(self.log.t)

    @cached_property
    def t(self) -> np.ndarray:
        """Times of the samples, s; where a stamp is missing or wrong, the one before, or the first there is."""
        last, first = self.stamps.last(), int(np.argmax(self.stamps.kept))
        return self.log.t[np.where(last < 0, first, last)]

    @cached_property
    def running(self) -> np.ndarray:
        """The same as if the clock had never been set."""
        back = np.where(self.stamps.anew[1:], self.t[:-1] + self.log.period - self.t[1:], 0.0)
        return self.t + np.concatenate([[0.0], np.cumsum(back)])

    @property
    def clock_changes(self) -> list[tuple[float, float]]:
        """Times, s, at which the clock was set back, and what it was set to."""
        return [(float(self.t[k - 1]), float(self.t[k])) for k in np.flatnonzero(self.stamps.anew).tolist()]

    @property
    def status(self) -> np.ndarray:
        return self.outputs["status"][:, 0].astype(int)

    @cached_property
    def events(self) -> list[Event]:
        """In the order in which they began."""
        t, found = self.t, []
        for name, level in self.thresholds.items():
            alarms = self.outputs[f"{name}_alarm"] > 0
            for i in range(alarms.shape[1]):
                r = self.outputs[name][:, i]
                low = np.concatenate([[-1], np.flatnonzero(np.abs(r) <= level[i])])
                for first, last in stretches(alarms[:, i]):
                    rise = int(low[np.searchsorted(low, first) - 1]) + 1  # before it was confirmed
                    peak = r[rise : last + 1]
                    largest = float(peak[np.argmax(np.abs(peak))])
                    found.append(Event(name, i, float(t[first]), float(t[last]), largest, first, last))
        return sorted(found, key=lambda event: event.first)

    @property
    def detections(self) -> list[Detection]:
        """Events put together that less than TOGETHER seconds part."""
        groups: list[list[Event]] = []
        end = 0
        for event in self.events:
            if groups and self.running[event.first] <= self.running[end] + TOGETHER:
                groups[-1].append(event)
                end = max(end, event.last)
            else:
                groups.append([event])
                end = event.last
        return [
            Detection(float(self.t[group[0].first]), float(self.t[max(x.last for x in group)]), tuple(group))
            for group in groups
        ]

    def largest(self, detection: Detection | None = None) -> Peak:
        """The largest residual of all joints and motors that are watched: of a detection, or of the whole log."""
        first, last = 0, self.log.t.size - 1
        if detection is not None:
            first, last = min(x.first for x in detection.events), max(x.last for x in detection.events)
        found = Peak(next(iter(self.thresholds)), 0, float(self.t[first]), 0.0)
        for name in self.thresholds:
            r = self.outputs[name][first : last + 1]
            k, i = (int(x) for x in np.unravel_index(np.argmax(np.abs(r)), r.shape))
            if abs(r[k, i]) > abs(found.value):
                found = Peak(name, i, float(self.t[first + k]), float(r[k, i]))
        for event in detection.events if detection is not None else ():  # before they were confirmed
            if abs(event.peak) > abs(found.value):
                found = Peak(event.channel, event.entry, event.begin, event.peak)
        return found

    @property
    def blind(self) -> list[Blindness]:
        """Where the residual did not see, the first sample apart, which nothing precedes."""
        t, status = self.t, self.status
        unseen = status > Status.SATURATED
        unseen[0] &= status[0] != Status.FIRST
        wrong = np.array([x.sample for x in self.outliers], dtype=int)
        found = []
        for first, last in stretches(unseen):
            known = {Status(x).name.lower() for x in status[first : last + 1].tolist()}
            known |= {"outlier"} if np.any((wrong >= first - 1) & (wrong <= last)) else set()
            known |= {"clock set back"} if np.any(self.stamps.anew[first : last + 1]) else set()
            begin, end = max(first - 1, 0), min(last + 1, len(t) - 1)
            times = float(t[begin]), float(t[end]), last - first + 1, ", ".join(sorted(known))
            found.append(Blindness(*times, begin, end, float(self.running[end] - self.running[begin])))
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
    residual: str = "best",
) -> Detections:
    """Run a detector over a log.

    The residual is the best that the columns allow, or with `residual="link"` that of the links from joint torque
    sensors (`residual_of`), with filters of `cutoff` rad/s.  `thresholds` is a number for all joints, or numbers by
    channel.  Or they come from what is known to be without faults: the times `quiet` = (begin, end) of the log, or
    another log, `calibration`.  They are then such that noise alone raises at most `per_hour` false alarms, and no
    smaller than MARGIN times the largest residual there, as errors of the model are no noise, nor than LEAST of the
    joint's largest torque.  Where all of these are zero nothing can be learnt, and numbers must be given; where one is
    larger than MOST of what the joint can give, it is refused.

    Numbers in a log that cannot be (`outliers.py`) are left out, with a warning that names them.

    `held`: row k of tau was commanded at t[k] and held; else it was measured.
    """
    if not isinstance(log, Log):
        raise InputError(f"detect: log is {shown(log)}; give a Log, such as read_log(path, robot)")
    chosen = residual_of(log, cutoff, residual)
    given = [x is not None for x in (thresholds, quiet, calibration)]
    if sum(given) != 1:
        raise InputError(
            "detect: thresholds are needed: give numbers, or quiet=(begin, end), a part of the log without faults, or "
            "another log without faults, calibration" + (", and only one of them" if sum(given) > 1 else "")
        )
    outliers = impossible(log)
    watched = without(log, outliers)
    if outliers:
        warnings.warn(f"detect: {said(outliers, log.robot, log.t.size)}", FlexjointWarning, stacklevel=2)
    bad: tuple[Outlier, ...] = ()
    if thresholds is None:
        source = watched if calibration is None else calibration
        if source.robot != log.robot:
            raise InputError(f"detect: the calibration is a log of {source.robot.name}, not of {log.robot.name}")
        if missing := [x for x in needs(chosen) if x not in source.known]:
            raise InputError(f"detect: the calibration has no {', '.join(missing)}; log the same as in what is watched")
        thresholds, bad = learnt(chosen, source, watched, quiet, per_hour, lambda x, y: run(x, y, held))
    else:
        if not isinstance(thresholds, Mapping):
            thresholds = dict.fromkeys(chosen.channels, thresholds)
        thresholds = Detector(chosen, thresholds).thresholds
        check_plausible(thresholds, (watched,), "given")
    detector = Detector(chosen, thresholds, confirmation=confirmation)
    return Detections(log, chosen, detector.thresholds, run(detector, watched, held), outliers, bad)


def residual_of(log: Log, cutoff: float, wanted: str = "best") -> Any:
    """The residual that a log allows.

    Of a rigid robot that of its momentum.  With springs those of links and motors, from torque sensors if they were
    logged, else from deflections; of the links alone where nothing but the motors was logged, and, with torque sensors,
    where the motors were not.
    """
    robot, period, known = log.robot, log.period, log.known
    if wanted not in ("best", "link"):
        raise InputError(f"detect: residual is {wanted!r}; it must be 'best' or 'link'")
    sensed = all(x in known for x in ("q", "v", "tau_e"))
    if wanted == "link":
        require(log, ("q", "v", "tau_e"), "for the residual of the links")
        return link_residual(log, cutoff)
    if "tau" not in known:
        if sensed:
            return link_residual(log, cutoff)
        raise InputError(
            f"detect: the motor torques tau are not in the log, which has {', '.join(known)}; give tau, or q, v and "
            "tau_e (tau_J) of joint torque sensors"
        )
    if not any(robot.compliant):
        require(log, ("q", "v", "tau"), "of a rigid robot")
        return MomentumResidual(robot, cutoff, period, longest(period))
    if "q" not in known and "theta" in known:
        return MotorEncoderResidual(robot, cutoff, MOTOR_FASTER * cutoff, period, longest(period))
    whole = [x for x in ("q", "v", "theta_v") if x not in known]
    if not whole and "tau_e" in known and not any(robot.variable_stiffness):
        return JointTorqueResidual(robot, cutoff, cutoff, period, longest(period), True)
    if sensed and (whole or "theta" not in known):
        return link_residual(log, cutoff)
    require(log, ("q", "v", "theta", "theta_v", "tau"), "of a robot with springs, without torque sensors tau_e,")
    return JointTorqueResidual(robot, cutoff, cutoff, period, longest(period), False)


def link_residual(log: Log, cutoff: float) -> LinkResidual:
    """From joint torque sensors: a motor that turns with its link, before its sensor, is no part of the link."""
    robot = log.robot
    sensors = log.sensors or (True,) * robot.n
    drives = [
        None if sensor and not elastic else joint.drive
        for joint, elastic, sensor in zip(robot.joints, robot.compliant, sensors)
    ]
    return LinkResidual(robot.with_drives(drives), cutoff, log.period, longest(log.period))


def needs(residual: TimedObserver) -> tuple[str, ...]:
    """The quantities of a log that it depends on."""
    return (*residual.reads, *["tau"] * residual.reads_torque)


def longest(period: float) -> float:
    """Which gaps are bridged: a few samples."""
    return max(5 * period, 0.02)


def require(log: Log, needed: tuple[str, ...], what: str) -> None:
    if missing := [name for name in needed if name not in log.known]:
        raise InputError(
            f"detect: the log {what} needs {', '.join(needed)}; {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing, there are {', '.join(log.known)}"
        )


def run(observer: TimedObserver, log: Log, held: bool) -> dict[str, np.ndarray]:
    still = np.broadcast_to(0.0, (log.t.size, observer.robot.motor_count))
    tau = log.tau if observer.reads_torque else still
    return observer.run(log.t, Measurement(log.q, log.v, log.theta, log.theta_v, log.tau_e), tau, held=held)


def stretches(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return [(int(first), int(last) - 1) for first, last in edges.reshape(-1, 2)]
