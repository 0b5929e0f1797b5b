"""From logs to numbers of a drivetrain: choice of what is estimated, estimation, tests and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..checks import number, positive
from ..errors import InputError, listed
from ..logs import Log
from ..logs.circular_rules import circular_stiffness
from ..progress import activity
from ..robot import Robot, numeric
from ..types import FloatArray
from .assessment import condition, inflated, validation
from .control_loop import ControlLoop, check_loop
from .controlled_simulation import with_torques
from .doubts import doubts
from .drive_priors import PRIORS, drive_priors, mostly_from_file, prior_notes, with_priors
from .estimates import Estimate, natural, natural_prior
from .gear_losses import gear_losses
from .identifiability import with_verdicts, with_wrong_models
from .model_search import ModelSearch
from .output_error import output_error
from .parameters import FRICTIONS, LINKS, Unknowns, check_robot
from .preparation import as_logs, check_choice, check_columns, check_contents, prepared
from .result import Identification
from .spring_shapes import LAWS

METHODS = ("least_squares", "output_error")


def identify(
    robot: Robot,
    logs: Log | Sequence[Log],
    *,
    links: str = "auto",
    friction: str = "auto",
    spring: str = "auto",
    held: bool = True,
    delay: float | None = None,
    bandwidth: float | None = None,
    method: str = "least_squares",
    loop: ControlLoop | None = None,
    priors: str = "vague",
    validate: Log | Sequence[Log] = (),
    check: bool = True,
) -> Identification:
    """Stiffness, damping, motor inertia, friction and link parameters of a robot from its logs, with deviations.

    Linear least squares over all equations of the drivetrain, in the frequency domain, weighted by the spectrum of the
    residuals, with instruments against the bias by noise and feedback.  Every number has a standard deviation and a
    verdict; where the logs do not tell, the reason says what would.

    Args:
        robot: The robot, with prior values; its joints are rigid or elastic.
        logs: One or several logs of it: q, and theta of elastic joints; tau of the motors, tau_e of torque sensors.
        links: What is estimated of the links: "base", their base parameters; "payload", ten parameters of a body held
            by the tool; "known", nothing.  By default "auto": base if tau or tau_e is logged, else known.
        friction: Of the motors: "viscous"; "coulomb", with Coulomb friction; "stribeck", with static friction too; the
            last two also with "_by_direction", with numbers of their own for motion backward.  By default "auto":
            coulomb, and more at joints whose residuals ask for it.
        spring: Law of the springs: "linear", "cubic" or "piecewise".  By default "auto": that of the robot, and cubic
            at joints whose residuals ask for a spring that stiffens.
        held: Whether a sample of tau is held until the next one, as a command is; False if it was measured at its time.
            By default True; a log that has only some of the commands is recognised by its delay.
        delay: Delay of the positions against tau, s; by default None, estimated.
        bandwidth: Highest frequency that is fitted, Hz; by default 1/20 of the sampling rate, at most 50 Hz.
        method: "least_squares"; or "output_error", which goes on from there: a simulation under the logged tau explains
            the encoders, with deviations near the smallest possible.  By default least_squares.
        loop: The controller under which the logs were made, if it is known: a log without tau gets its torques, and
            output error simulates the closed loop in place of the logged tau.  By default None.
        priors: "vague": numbers of the robot file are first values only; or "drives": they enter the estimates with
            the deviations that their sources state or that their trust implies.  Verdicts remain those of the logs.  By
            default vague.
        validate: Logs that are not used, to test the prediction of the motor torque; by default none.
        check: Whether logs with wrong units, signs or orders of joints are refused (`fj.logs.check_log`); by default
            True.

    Returns:
        An Identification.

    Raises:
        InputError: A log lacks what is needed or is not what it should be, or the robot has drives that cannot be
            identified.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("kuka_lwr")
        >>> found = fj.identification.identify(robot, fj.logs.read_log("log.csv", robot))  # doctest: +SKIP
        >>> found["joint1.drive.stiffness"].deviation  # doctest: +SKIP
    """
    given, unused = as_logs("logs", logs), as_logs("validate", validate)
    check_robot(numeric("identify", robot))
    if not given:
        raise InputError("identify: give at least one log")
    check_choice("links", links, ("auto", *LINKS))
    check_choice("friction", friction, ("auto", *FRICTIONS))
    check_choice("spring", spring, ("auto", *LAWS))
    check_choice("method", method, METHODS)
    check_choice("priors", priors, PRIORS)
    if bandwidth is not None:
        positive("identify", "bandwidth", bandwidth, ", in Hz")
    if delay is not None:
        number("identify", "delay", delay)
    check_loop(robot, loop)
    notes: list[str] = []
    check_columns(robot, given, notes, loop is not None)
    with activity(f"checking the logs of {robot.name}"):
        doubted = check_contents(robot, [*given, *unused], notes) if check else []
    with activity(f"preparing the logs of {robot.name}"):
        parts = prepared(given, bandwidth, notes)
    if loop is not None:
        parts = with_torques(robot, parts, loop, notes)
    motors = all(x.tau is not None for x in parts)
    sensors = all(x.tau_e is not None for x in parts)
    if not (motors or any(robot.elastic)):
        raise InputError(
            f"identify: the joints of {robot.name} are rigid, which needs tau: log it, or read tau_e as tau"
        )
    chosen = ("base" if motors or sensors else "known") if links == "auto" else links
    if chosen != "known" and not (motors or sensors):
        raise InputError(
            f"identify: links is {chosen!r}, but no torque is logged; the link equations are homogeneous in inertias, "
            "stiffness and damping: log tau or tau_e, or take links='known'"
        )
    worn = gear_losses(robot, parts, chosen, given)
    notes += map(str, worn)
    if loop is not None and method == "output_error":
        delay = 0.0  # delays of a known loop are those of its sensors and actuators
    search = ModelSearch(robot, parts, chosen, motors, sensors, held, delay)
    circular = {i for i in range(robot.n) if robot.elastic[i] and any(circular_stiffness(x, i) for x in given)}
    straight = {x.joint for x in worn} | circular
    simulated = method == "output_error" or loop is not None
    found = search.run(friction, spring, given, straight, said := list[str](), simulated)
    while search.anchor(found):
        found = search.run(friction, spring, given, straight, said := list[str](), simulated)
    notes += said
    if search.anchored:
        names = listed(robot.joints[i].name for i in search.anchored)
        notes.append(f"the torque sensor of {names} is taken as right: motor torques hardly show its scale")
    what, parts, held = found.equations[0].unknowns, [x.recording for x in found.equations], found.equations[0].held
    result = found.fit
    tests, asked = found.tests, found.scores
    if method == "output_error":
        refined = output_error(robot, parts, what, result, held, delay or 0.0, loop)
        result = replace(result, **refined.of_fit)
        doubted += refined.doubts
        if loop is not None:  # residuals of computed torques, which have no noise, show errors of the filters
            tests, asked = [], []
    stated = drive_priors(robot, what) if priors == "drives" else np.full(len(result.values), np.inf)
    told = with_priors(result.values, inflated(what, result, tests, found.disagreement), what.priors, stated)
    result = replace(result, values=told.values)
    for i, deviation in search.anchored.items():
        told.covariance[what.place(i, "sensor_scale"), what.place(i, "sensor_scale")] = deviation**2
    values, spread = natural(what, told.values, told.covariance)
    logs_say = with_verdicts(
        robot,
        in_words(what, *natural(what, told.alone, told.alone_covariance)),
        spread,
        given,
        search.slow_left_out,
        search.anchored,
        not (motors or sensors),
    )
    estimates = [
        replace(x, verdict=y.verdict, reason="; ".join(filter(None, (mostly_from_file(share, y), y.reason))))
        for x, y, share in zip(in_words(what, values, spread), logs_say, told.shares)
    ]
    estimates = with_wrong_models(estimates, tests, result.converged)
    if priors == "drives":
        notes += prior_notes(what, told, stated, logs_say)
    if not result.converged:
        notes.append("the iteration did not converge; the values are those of its last step")
    origin = (
        f"flexjoint identify, {len(given)} log{'s' * (len(given) > 1)}, {sum(x.count * x.period for x in parts):.4g} s"
        + ", output error" * (method == "output_error")
    )
    return Identification(
        robot,
        tuple(estimates),
        spread,
        tuple(tests),
        tuple(asked),
        tuple(notes),
        parts[0].bandwidth,
        condition(result, what),
        origin,
        result,
        tuple(found.equations),
        (*doubted, *doubts(robot, parts, estimates, tests)),
        validation(robot, what, result, unused, held, delay or 0.0, bandwidth) if unused and motors else {},
        tuple(worn),
    )


def in_words(what: Unknowns, values: FloatArray, covariance: FloatArray) -> list[Estimate]:
    """Estimates of these numbers, without verdicts.

    Args:
        what: The parameters.
        values, covariance: In the words of robot files.
    """
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return [
        Estimate(x.name, x.kind, max(x.joint, -1), x.unit, float(v), float(s), natural_prior(x, what))
        for x, v, s in zip(what.parameters, values, deviations)
    ]
