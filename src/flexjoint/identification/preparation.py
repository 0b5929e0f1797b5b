"""From logs to recordings: arguments, checks before anything is estimated, samples that do not count."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from ..drives import ElasticDrive
from ..errors import InputError, listed, shown
from ..logs import Log, check_log
from ..logs.header_words import shortened
from ..robot import Robot
from .recordings import Recording, fitted_bandwidth, recordings
from .sample_weights import smooth_windows, unsaturated, without_spikes

STILL = 1e-9  # rad/s or m/s: slower is no motion
UNUSED = ("velocities",)  # rules about columns that the estimation does not read


def as_logs(name: str, logs: object) -> list[Log]:
    """Logs as a list."""
    found = [logs] if isinstance(logs, Log) else logs
    if not isinstance(found, list | tuple) or not all(isinstance(x, Log) for x in found):
        raise InputError(f"identify: {name} is {shown(logs)}; give what fj.logs.read_log returns, or a list of it")
    return list(found)


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a word that is none of the choices."""
    if value not in choices:
        raise InputError(f"identify: {name} is {shown(value)}; it must be one of {listed(choices)}")


def check_columns(robot: Robot, logs: Sequence[Log], notes: list[str], controlled: bool = False) -> None:
    """Refuse logs without what is needed, and note what they do not show."""
    for log in logs:
        if log.robot.n != robot.n:
            raise InputError(f"identify: a log has {log.robot.n} joints and {robot.name} {robot.n}")
        if log.q is None:
            raise InputError(
                f"identify: a log has no link positions q{', only theta' if log.theta is not None else ''}; stiffness "
                "needs both q and theta, or the frequency response of the motor: flexjoint resonances (in Python "
                f"fj.identification.find_resonances){other_names('q', log)}"
            )
        known = log.q[np.all(np.isfinite(log.q), axis=1)]
        if not len(known):
            raise InputError("identify: every sample of q in a log has a number that is not finite")
        if not np.any(np.std(known, axis=0) > STILL):
            raise InputError("identify: the robot does not move in a log; give one with motion")
    if unread := dict.fromkeys(header for log in logs for header in log.ignored):
        notes.append(f"ignored columns: {shortened([*unread])}")
    springs = [joint.name for joint in robot.joints if isinstance(joint.drive, ElasticDrive)]
    if springs and any(log.theta is None for log in logs):
        raise InputError(
            f"identify: a log has no motor positions theta, which the springs of {listed(springs)} need; log them, or "
            f"identify robot.rigid(){other_names('theta', *logs)}"
        )
    if any(log.tau is None for log in logs) and not controlled:
        notes.append(
            "no motor torque tau in the logs: motor inertia and friction cannot be estimated; stiffness and damping "
            + (
                "are scaled by the torque sensors"
                if all(log.tau_e is not None for log in logs)
                else "are relative to the inertias of the links, which are taken as known"
            )
        )
    still = [
        joint.name
        for i, joint in enumerate(robot.joints)
        if not any(np.std(x[np.isfinite(x)]) > 1e-4 for log in logs if log.q is not None for x in [log.q[:, i]])
    ]
    if still:
        notes.append(f"joints that hardly move: {listed(still)}; log motions of theirs")


def other_names(what: str, *logs: Log) -> str:
    """How to read a quantity under another name, with the columns that were not read; empty if there are none."""
    unread = shortened([*dict.fromkeys(header for log in logs for header in log.ignored)])
    return f". Ignored columns are {unread}: to read one of them say --columns {what}=NAME" if unread else ""


def check_contents(robot: Robot, logs: Sequence[Log], notes: list[str]) -> list[str]:
    """Doubts about the columns by `check_log`, compared with this robot; further findings become notes.

    Raises:
        InputError: Units, signs or the order of the joints are wrong, or a column has no information.
    """
    doubts = []
    for log in logs:
        for found in check_log(dataclasses.replace(log, robot=robot)):
            text = f"{found.reason}; {found.fix}" if found.fix else found.reason
            if found.level == "error" and found.rule not in UNUSED:
                raise InputError(f"identify: {text}; or estimate all the same: check=False (--no-check)")
            if found.rule == "saturation":
                doubts.append(f"{found.reason}; these samples do not count, {found.fix}")
            elif found.level != "note":
                notes.append(f"of the log: {text}")
    return list(dict.fromkeys(doubts))


def prepared(logs: Sequence[Log], bandwidth: float | None, notes: list[str]) -> list[Recording]:
    """The usable parts of all logs; spikes are left out, and saturated samples do not count.

    Args:
        logs: Logs with q.
        bandwidth: Highest frequency to fit, Hz; None for the default.
        notes: Gets a sentence about what was left out.
    """
    found = []
    for log in logs:
        clean, said = without_spikes(log)
        notes += [said] if said else []
        kept, band = unsaturated(log), fitted_bandwidth(log, bandwidth)
        windows = None if kept.all() else smooth_windows(kept, log.period, band)
        found += recordings(clean, bandwidth, windows)
    return found
