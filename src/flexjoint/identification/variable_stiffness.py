"""Spring laws of joints of variable stiffness, from logs of both motors, the link and torques.

The torque of each motor shows its part of the transmission by itself, so the links need not be known: see
`transmission_equations.py`.  Weights, instruments and covariances are those of `least_squares.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..checks import number, positive
from ..errors import InputError, listed
from ..logs import Log
from ..progress import activity
from ..robot import Robot, numeric
from ..types import FloatArray
from .assessment import condition
from .least_squares import fit
from .model_search import motion_band
from .parameters import Unknowns
from .preparation import as_logs, check_choice, check_contents
from .recordings import Recording, recordings
from .residuals import residual_tests
from .sample_weights import without_spikes
from .transmission_equations import TransmissionEquations
from .transmission_parameters import motor_place, unknown_numbers
from .transmission_result import VariableStiffnessIdentification, judged
from .transmission_start import transmission_start

NAME = "identify_variable_stiffness"
FRICTIONS = ("viscous", "coulomb", "stribeck")


def identify_variable_stiffness(
    robot: Robot,
    logs: Log | Sequence[Log],
    *,
    friction: str = "coulomb",
    held: bool = True,
    delay: float = 0.0,
    bandwidth: float | None = None,
    validate: Log | Sequence[Log] = (),
    check: bool = True,
) -> VariableStiffnessIdentification:
    """Spring laws, motor inertias and friction of joints of variable stiffness from logs, with deviations.

    The zeros of the encoders are taken as known: a deflection that is read wrongly by a constant is another law of the
    same form for many springs.

    Args:
        robot: The robot, with prior values; its rigid and elastic joints are left as they are.
        logs: One or several logs of it: q, theta and tau of both motors; tau_e of torque sensors is used if logged.
        friction: Of the motors: "viscous", "coulomb" or "stribeck".  By default coulomb.
        held: Whether a sample of tau is held until the next one; False if it was measured at its time.  By default
            True.
        delay: Delay of the positions against tau, s; by default 0.
        bandwidth: Highest frequency that is fitted, Hz; by default 1/20 of the sampling rate, at most 50 Hz.
        validate: Logs that are not used, to test the prediction of the motor torques; by default none.
        check: Whether logs with wrong units, signs or orders of joints are refused (`fj.logs.check_log`); by default
            True.

    Returns:
        A VariableStiffnessIdentification.

    Raises:
        InputError: No joint has variable stiffness, or a log lacks q, theta or tau or is not what it should be.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("vsa_3r")
        >>> log = fj.logs.read_log("log.csv", robot)  # doctest: +SKIP
        >>> fj.identification.identify_variable_stiffness(robot, log)["joint1.drive.spring_1.cubic"]  # doctest: +SKIP
    """
    given, unused = as_logs("logs", logs), as_logs("validate", validate)
    if not any(numeric(NAME, robot).variable_stiffness):
        raise InputError(f"{NAME}: {robot.name} has no joint of variable stiffness; use fj.identification.identify")
    check_choice("friction", friction, FRICTIONS)
    number(NAME, "delay", delay)
    if bandwidth is not None:
        positive(NAME, "bandwidth", bandwidth, ", in Hz")
    if not given:
        raise InputError(f"{NAME}: give at least one log")
    for log in (*given, *unused):
        if log.robot.n != robot.n:
            raise InputError(f"{NAME}: a log has {log.robot.n} joints and {robot.name} {robot.n}")
        lacking = [name for name in ("q", "theta", "tau") if getattr(log, name) is None]
        if lacking:
            raise InputError(
                f"{NAME}: a log has no {listed(lacking)}; the law of each spring is seen in the torque of its motor, "
                "at its deflection theta − q"
            )
    notes: list[str] = []
    if others := [x.name for x, two in zip(robot.joints, robot.variable_stiffness) if not two]:
        notes.append(f"joints without two motors are left as they are: {listed(others)}")
    with activity(f"checking the logs of {robot.name}"):
        doubts = check_contents(robot, [*given, *unused], notes) if check else []
    parts: list[Recording] = []
    for log in given:
        clean, said = without_spikes(log)
        notes += [said] if said else []
        parts += recordings(clean, bandwidth)
    what = unknown_numbers(robot, friction, all(x.tau_e is not None for x in parts))
    with activity(f"identifying {robot.name}"):
        measured, smooth = (
            [TransmissionEquations(robot, x, what, held, delay, band(x)) for x in parts]
            for band in (lambda _: None, motion_band)
        )
        found = fit(measured, smooth, what, transmission_start(measured, what))  # type: ignore[arg-type]
    if not found.converged:
        notes.append("the iteration did not converge; the values are those of its last step")
    tests = residual_tests(found.channels)
    reached = [[x.reach(i) for x in measured] for i in range(robot.n)]
    estimates, covariance = judged(robot, what, found, tests, reached)
    return VariableStiffnessIdentification(
        robot,
        tuple(estimates),
        covariance,
        tuple(tests),
        (),
        tuple(notes),
        parts[0].bandwidth,
        condition(found, what),
        f"flexjoint identify, {len(given)} log{'s' * (len(given) > 1)}, {sum(x.count * x.period for x in parts):.4g} s",
        found,
        tuple(measured),  # type: ignore[arg-type]
        tuple(doubts),
        validation(robot, what, found.values, [x for y in unused for x in recordings(y, bandwidth)], held, delay),
    )


def validation(
    robot: Robot, what: Unknowns, values: FloatArray, parts: Sequence[Recording], held: bool, delay: float
) -> dict[str, float]:
    """Error of the torque predicted for unused logs, relative to the torque, both root mean squares, by motor."""
    squares = np.zeros((2, len(robot.motor_names)))
    for part in parts:
        equations = TransmissionEquations(robot, part, what, held, delay)
        assert part.tau is not None
        for i in range(robot.n):
            for k in range(2 if equations.channels(i) else 0):
                place = motor_place(robot, i, k)
                residual = equations.joint(i, values).residual[:, k]
                torque = part.spectrum(part.tau[:, place] - part.tau[:, place].mean())
                squares[:, place] += [np.sum(np.abs(residual) ** 2), np.sum(np.abs(torque) ** 2)]
    return {name: float(np.sqrt(a / b)) for name, a, b in zip(robot.motor_names, *squares) if b > 0}
