"""From a log to detections: choice of the residual, thresholds, alarms, and intervals without a residual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import positive
from ..errors import InputError, shown, warn
from ..html import table
from ..logs import Log, check_log
from ..logs.quantities import labels
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
from ..observers.stamps import Stamps, classify_stamps
from ..observers.timed import TimedObserver
from ..results.columns import Column
from ..robot import Robot
from ..types import FloatArray
from .calibration import check_detectable, check_plausible, learn_thresholds, needs, smallest_detectable
from .outliers import (
    DeadEncoder,
    Outlier,
    bridged_torques,
    dead_encoders,
    describe_outliers,
    find_outliers,
    stretches,
    without_outliers,
)

MOTOR_FASTER = 3.0  # cutoff of the spring torque estimated from motors, relative to that of the link residual
TOGETHER = 0.1  # s; alarms closer than this are one detection


class Event(NamedTuple):
    """An alarm of one residual.

    Args:
        channel: Name of the residual: residual, link or motor.
        entry: Joint or motor.
        begin, end: Times, s.
        peak: Largest residual since it exceeded the threshold, Nm or N, with its sign.
        first, last: Samples of the log.
    """

    channel: str
    entry: int
    begin: float
    end: float
    peak: float
    first: int
    last: int


class Detection(NamedTuple):
    """Alarms that overlap or nearly overlap.

    Args:
        begin, end: Times, s.
        events: The alarms, in the order in which they began.
    """

    begin: float
    end: float
    events: tuple[Event, ...]


class Peak(NamedTuple):
    """The largest residual of all joints and motors.

    Args:
        channel: Name of the residual.
        entry: Joint or motor.
        t: Time, s.
        value: The residual, Nm or N, with its sign.
    """

    channel: str
    entry: int
    t: float
    value: float


class Blindness(NamedTuple):
    """An interval without a residual.

    Args:
        begin, end: Times of the last usable sample before it and the first after it, s.
        samples: Number of samples between them.
        why: Status of these samples.
        first, last: The usable samples at both ends.
        seconds: Duration, s, without changes of the clock.
    """

    begin: float
    end: float
    samples: int
    why: str
    first: int
    last: int
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class DetectionReport:
    """Collisions and faults found in a log, with the residuals.

    Args:
        log: The log of m samples.
        residual: The observer that computed the residuals.
        thresholds: Alarm threshold per joint or motor, (size,), by channel, Nm or N.
        outputs: Residuals and alarms, (m, size), by name, and the status of each sample, (m, 1).
        outliers: Impossible numbers of the log, which were left out.
        calibration_outliers: Those of the fault-free part from which thresholds were learnt.
        smallest: Smallest torque per joint or motor that raises an alarm if it acts for 0.1 s, (size,), by channel.
    """

    log: Log
    residual: TimedObserver
    thresholds: Mapping[str, FloatArray]
    outputs: Mapping[str, FloatArray]
    outliers: tuple[Outlier, ...] = ()
    calibration_outliers: tuple[Outlier, ...] = ()
    smallest: Mapping[str, FloatArray] = field(default_factory=dict)

    def __repr__(self) -> str:
        count, top = len(self.detections), self.largest()
        blind = sum(x.seconds for x in self.blind)
        where = f"{self.label(top.channel, top.entry)} at {top.t:.3f} s"
        return (
            f"<DetectionReport of {self.robot.name}: {count} detection{'s' * (count != 1)} "
            f"in {self.log.t.size} samples; "
            f"largest residual {top.value:.3g} {self.unit(top.channel, top.entry)}, {where}; blind for {blind:.3g} s>"
        )

    def _repr_html_(self) -> str:
        rows = []
        for x in self.detections:
            top, names = self.largest(x), dict.fromkeys(self.label(event.channel, event.entry) for event in x.events)
            peak = f"{top.value:.3g} {self.unit(top.channel, top.entry)}"
            kinds = dict.fromkeys(event.channel for event in x.events)
            rows.append((f"{x.begin:.3f}", f"{x.end:.3f}", ", ".join(kinds), ", ".join(names), peak))
        header = ("from, s", "to, s", "residual", "joint or motor", "largest residual")
        return table(rows, header, caption=repr(self)[1:-1])

    @property
    def robot(self) -> Robot:
        """The robot of the log."""
        return self.log.robot

    @cached_property
    def stamps(self) -> Stamps:
        """Which time stamps are used, and where the clock was set."""
        return classify_stamps(self.log.t)

    @cached_property
    def t(self) -> FloatArray:
        """Times of the samples, (m,), s; a missing or wrong stamp is replaced by the last good one, or the first."""
        last, first = self.stamps.last(), int(np.argmax(self.stamps.kept))
        return self.log.t[np.where(last < 0, first, last)]

    @cached_property
    def running(self) -> FloatArray:
        """Times of the samples without changes of the clock, (m,), s."""
        back = np.where(self.stamps.clock_set[1:], self.t[:-1] + self.log.period - self.t[1:], 0.0)
        return self.t + np.concatenate([[0.0], np.cumsum(back)])

    @property
    def clock_changes(self) -> list[tuple[float, float]]:
        """Times before and after each change of the clock, s."""
        return [(float(self.t[k - 1]), float(self.t[k])) for k in np.flatnonzero(self.stamps.clock_set).tolist()]

    @property
    def status(self) -> np.ndarray:
        """Status of each sample as a number, (m,); see `Status`."""
        return self.outputs["status"][:, 0].astype(int)

    @cached_property
    def events(self) -> list[Event]:
        """Alarms in the order in which they began."""
        t, found = self.t, []
        for name, level in self.thresholds.items():
            alarms = self.outputs[f"{name}_alarm"] > 0
            for i in range(alarms.shape[1]):
                r = self.outputs[name][:, i]
                low = np.concatenate([[-1], np.flatnonzero(np.abs(r) <= level[i])])
                for first, last in stretches(alarms[:, i]):
                    rise = int(low[np.searchsorted(low, first) - 1]) + 1  # the alarm is confirmed later
                    peak = r[rise : last + 1]
                    largest = float(peak[np.argmax(np.abs(peak))])
                    found.append(Event(name, i, float(t[first]), float(t[last]), largest, first, last))
        return sorted(found, key=lambda event: event.first)

    @property
    def detections(self) -> list[Detection]:
        """Alarms joined where less than 0.1 s lies between them."""
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
        """The largest residual of a detection, or by default of the whole log.

        Args:
            detection: One of `detections`; default None.

        Returns:
            A Peak.
        """
        first, last = 0, self.log.t.size - 1
        if detection is not None:
            first, last = min(x.first for x in detection.events), max(x.last for x in detection.events)
        found = Peak(next(iter(self.thresholds)), 0, float(self.t[first]), 0.0)
        for name in self.thresholds:
            r = self.outputs[name][first : last + 1]
            k, i = (int(x) for x in np.unravel_index(np.argmax(np.abs(r)), r.shape))
            if abs(r[k, i]) > abs(found.value):
                found = Peak(name, i, float(self.t[first + k]), float(r[k, i]))
        for event in detection.events if detection is not None else ():  # the largest may precede the confirmed alarm
            if abs(event.peak) > abs(found.value):
                found = Peak(event.channel, event.entry, event.begin, event.peak)
        return found

    @property
    def blind(self) -> list[Blindness]:
        """Intervals without a residual, except the first sample, which has none by definition."""
        t, status = self.t, self.status
        unseen = status > Status.SATURATED
        unseen[0] &= status[0] != Status.FIRST
        wrong = np.array([x.sample for x in self.outliers], dtype=int)
        found = []
        for first, last in stretches(unseen):
            known = {Status(x).name.lower() for x in status[first : last + 1].tolist()}
            known |= {"outlier"} if np.any((wrong >= first - 1) & (wrong <= last)) else set()
            known |= {"clock set back"} if np.any(self.stamps.clock_set[first : last + 1]) else set()
            begin, end = max(first - 1, 0), min(last + 1, len(t) - 1)
            found.append(
                Blindness(
                    begin=float(t[begin]),
                    end=float(t[end]),
                    samples=last - first + 1,
                    why=", ".join(sorted(known)),
                    first=begin,
                    last=end,
                    seconds=float(self.running[end] - self.running[begin]),
                )
            )
        return found

    @cached_property
    def dead_encoders(self) -> tuple[DeadEncoder, ...]:
        """Encoders that repeat one number while their joint moves, or an unexplained torque acts on it."""
        alarms = np.zeros((self.log.t.size, self.robot.n), dtype=bool)
        for event in self.events:
            motor = event.channel == "motor"
            alarms[event.first : event.last + 1, self.robot.motor_joints[event.entry] if motor else event.entry] = True
        return dead_encoders(self.log, alarms)

    def cause(self, event: Event) -> str:
        """Probable cause of an alarm."""
        usual = self.residual.causes.get(event.channel, event.channel)
        for x in self.dead_encoders:
            if x.first <= event.last and event.first <= x.last:
                return f"dead encoder {x.quantity} of {labels(self.robot, x.quantity)[x.entry]}, or {usual}"
        return usual

    def struck(self, detection: Detection) -> list[str]:
        """Links that were struck in a collision; the struck link is one of these or lies beyond it."""
        felt = np.zeros(self.robot.n, dtype=bool)
        felt[[event.entry for event in detection.events if event.channel != "motor"]] = True
        return struck_links(self.robot, felt)

    def label(self, channel: str, entry: int) -> str:
        """Name of the joint or motor of a residual."""
        robot = self.robot
        return robot.motor_names[entry] if channel == "motor" else robot.joints[entry].name

    def columns(self) -> list[Column]:
        """Columns of a file: t, each residual with its alarm, and the status."""
        found = [Column("t", "s", self.log.t)]
        for name in self.thresholds:
            for i in range(self.outputs[name].shape[1]):
                label = self.label(name, i)
                found.append(Column(f"{name}.{label}", self.unit(name, i), self.outputs[name][:, i]))
                found.append(Column(f"{name}_alarm.{label}", "1", self.outputs[f"{name}_alarm"][:, i]))
        return [*found, Column("status", "1", self.outputs["status"][:, 0])]

    def arrays(self) -> dict[str, Any]:
        """Arrays by name: times, outputs, thresholds, and the names of joints and motors."""
        names = {"joints": [joint.name for joint in self.robot.joints], "motors": self.robot.motor_names}
        levels = {f"{name}_threshold": x for name, x in self.thresholds.items()}
        return {"t": self.log.t, **self.outputs, **levels, **{x: np.array(y) for x, y in names.items()}}

    def unit(self, channel: str, entry: int) -> str:
        """Unit of a residual, Nm or N."""
        return self.robot.motor_kinds[entry].unit("Nm | N")  # first motors have the order of the joints


def detect(
    log: Log,
    *,
    thresholds: ArrayLike | Mapping[str, ArrayLike] | None = None,
    quiet: tuple[float, float] | None = None,
    calibration: Log | None = None,
    per_hour: float = 1.0,
    cutoff: float = 30.0,
    confirmation: float = 0.0,
    held: bool = True,
    residual: str = "best",
    detectable: float | None = None,
) -> DetectionReport:
    """Collisions and actuator faults in a log.

    Give thresholds in one of three ways: `thresholds`, `quiet` or `calibration`.

    Args:
        log: A log, such as `read_log` returns it.
        thresholds: Alarm threshold for every residual, in Nm or N: a number, an array, or one of them by channel.
        quiet: Begin and end of a fault-free part of the log, s; thresholds are learnt from it.
        calibration: Another, fault-free log of the same robot; thresholds are learnt from it.
        per_hour: False alarms per hour that noise may raise with learnt thresholds; default 1.
        cutoff: Of the filters of the residuals, rad/s; default 30.
        confirmation: Time for which a residual must exceed its threshold, s; default 0.
        held: Whether row k of tau was commanded at t[k] and held (default) or measured at t[k].
        residual: "best", the one with the most information that the columns allow (default), or "link", the link
            residual from joint torque sensors.
        detectable: Torque on any joint that must be detected if it acts for 0.1 s, Nm or N; a warning names joints that
            need more.  By default 25 % of the effort limits of the robot.

    Returns:
        A DetectionReport.

    Raises:
        InputError: Columns or thresholds are missing, or no plausible threshold can be learnt.

    A learnt threshold is the largest of three: the level for `per_hour` false alarms by noise, a multiple (1.2 or
    more) of the largest fault-free residual, and 0.1 % of the joint's largest torque.  It is refused above half of the
    torque that the joint can give.  Impossible numbers in a log, and outliers of the fault-free part, are left out,
    with a warning; a part with more than 6 % of outliers, or too short for `per_hour`, is refused.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("kuka_lwr")
        >>> log = fj.detection.read_log("log.csv", robot)  # doctest: +SKIP
        >>> quiet = fj.detection.read_log("calibration.csv", robot)  # doctest: +SKIP
        >>> fj.detection.detect(log, calibration=quiet).detections  # doctest: +SKIP
    """
    if not isinstance(log, Log):
        raise InputError(f"detect: log is {shown(log)}; give a Log, such as read_log(path, robot)")
    chosen = residual_of(log, cutoff, residual)
    given = [x is not None for x in (thresholds, quiet, calibration)]
    if sum(given) != 1:
        raise InputError(
            "detect: thresholds are needed: give numbers, or quiet=(begin, end), a fault-free part of the log, or "
            "calibration=, another fault-free log" + (", and only one of them" if sum(given) > 1 else "")
        )
    largest = None if detectable is None else positive("detect", "detectable", detectable)
    outliers = find_outliers(log)
    watched = without_outliers(log, outliers)
    warn_of_errors("the log", watched)
    if calibration is not None:
        warn_of_errors("the calibration", without_outliers(calibration, find_outliers(calibration)))
    if outliers:
        warn(f"detect: {describe_outliers(outliers, log.robot, log.t.size)}")
    bad: tuple[Outlier, ...] = ()
    if thresholds is None:
        source = watched if calibration is None else calibration
        if source.robot != log.robot:
            raise InputError(f"detect: the calibration is a log of {source.robot.name}, not of {log.robot.name}")
        if missing := [x for x in needs(chosen) if x not in source.known]:
            raise InputError(f"detect: the calibration has no {', '.join(missing)}; log the same columns in both logs")
        levels: Mapping[str, FloatArray]
        levels, bad = learn_thresholds(chosen, source, watched, quiet, per_hour, lambda x, y: run(x, y, held))
    else:
        each = thresholds if isinstance(thresholds, Mapping) else dict.fromkeys(chosen.channels, thresholds)
        levels = Detector(chosen, each).thresholds
        check_plausible(levels, (watched,), "given")
    detector = Detector(chosen, levels, confirmation=confirmation)
    smallest = smallest_detectable(chosen, detector.thresholds, confirmation)
    check_detectable(smallest, log.robot, largest)
    report = DetectionReport(log, chosen, detector.thresholds, run(detector, watched, held), outliers, bad, smallest)
    for encoder in report.dead_encoders:
        warn(f"detect: {encoder.text(log)}")
    return report


def warn_of_errors(name: str, log: Log) -> None:
    """Warn of wrong units, signs, orders of joints and empty columns; a robot may be watched while it stands still."""
    for finding in check_log(log, delays=False):
        if finding.level == "error" and finding.rule != "motion":
            warn(f"detect: {name}: {finding.reason}; {finding.fix}")


def residual_of(log: Log, cutoff: float, wanted: str = "best") -> TimedObserver:
    """The residual with the most information that the columns of a log allow.

    Rigid robot: generalized momentum.  With springs: links and motors, from joint torque sensors if logged, else from
    deflections; links only, if only motors were logged or if motors were not logged.
    """
    robot, period, known = log.robot, log.period, log.known
    if wanted not in ("best", "link"):
        raise InputError(f"detect: residual is {wanted!r}; it must be 'best' or 'link'")
    sensed = all(x in known for x in ("q", "v", "tau_e"))
    if wanted == "link":
        require(log, ("q", "v", "tau_e"), "for the link residual")
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
    """Link residual from joint torque sensors; the motor of a rigid joint lies before its sensor, so it is left out."""
    robot = log.robot
    sensors = log.sensors or (True,) * robot.n
    drives = [
        None if sensor and not elastic else joint.drive
        for joint, elastic, sensor in zip(robot.joints, robot.compliant, sensors)
    ]
    return LinkResidual(robot.with_drives(drives), cutoff, log.period, longest(log.period))


def longest(period: float) -> float:
    """Longest gap that is bridged, s."""
    return max(5 * period, 0.02)


def require(log: Log, needed: tuple[str, ...], what: str) -> None:
    """Raise InputError if the log lacks a quantity."""
    if missing := [name for name in needed if name not in log.known]:
        raise InputError(
            f"detect: the log {what} needs {', '.join(needed)}; {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing, there are {', '.join(log.known)}"
        )


def run(observer: TimedObserver, log: Log, held: bool) -> dict[str, FloatArray]:
    """Outputs of an observer along a log, by name."""
    tau = np.zeros((log.t.size, observer.robot.motor_count))
    arrays = {name: getattr(log, name) for name in ("q", "v", "theta", "theta_v", "tau_e")}
    if observer.reads_torque and log.tau is not None:
        tau = bridged_torques(log.t, log.tau, log.period, round(longest(log.period) / log.period), held)
        lost, name = ~np.all(np.isfinite(log.tau), axis=1), observer.reads[0]
        arrays[name] = np.where(lost[:, None], np.nan, arrays[name])  # reported as lost, whether bridged or not
    return observer.run(log.t, Measurement(**arrays), tau, held=held)
