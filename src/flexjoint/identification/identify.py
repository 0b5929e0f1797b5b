"""From logs to numbers of a drivetrain: choice of what is estimated, estimation, tests and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..checks import number, positive
from ..drives import ElasticDrive
from ..errors import InputError, listed, shown
from ..logs import Log
from ..progress import activity
from ..robot import Robot, numeric
from ..types import FloatArray
from .doubts import doubts
from .equations import Equations
from .estimates import Estimate, natural, natural_prior
from .friction_start import friction_start
from .gear_losses import gear_losses
from .identifiability import with_verdicts
from .laws import first_laws, first_springs, with_cubic, with_directions, with_stribeck
from .least_squares import MOST_ITERATIONS, Fit, fit
from .output_error import output_error
from .parameters import FRICTIONS, LINKS, Unknowns, check_robot, unknowns
from .recordings import Recording, recordings
from .residuals import ResidualTest, Score, residual_tests, scores
from .result import Identification
from .signals import Signals
from .spring_shapes import LAWS

MOTION = 0.999  # share of the velocity's power below the highest frequency of the motion
MARGIN = 1.5  # passband of the instruments over that frequency
STILL = 1e-9  # rad/s or m/s: slower is no motion
METHODS = ("least_squares", "output_error")
ROUGH = 7  # iterations that show which joints need static friction


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
    validate: Log | Sequence[Log] = (),
) -> Identification:
    """Stiffness, damping, motor inertia, friction and link parameters of a robot from its logs, with deviations.

    Linear least squares over all equations of the drivetrain, in the frequency domain, weighted by the spectrum of the
    residuals, with instruments against the bias by noise and feedback.  Every number has a standard deviation and a
    verdict; where the logs do not tell, the reason says what would.

    Args:
        robot: The robot, with prior values; its joints are rigid or elastic.
        logs: One or several logs of it: q, and theta of elastic joints; tau of the motors, tau_e of torque sensors.
        links: What is estimated of the links: "base", their base parameters; "payload", ten parameters of a body held
            by the tool; "known", nothing.  By default "auto": base if tau is logged, else known.
        friction: Of the motors: "viscous"; "coulomb", with Coulomb friction; "stribeck", with static friction too; the
            last two also with "_by_direction", with numbers of their own for motion backward.  By default "auto":
            coulomb, and more at joints whose residuals ask for it.
        spring: Law of the springs: "linear", "cubic" or "piecewise".  By default "auto": that of the robot, and cubic
            at joints whose residuals ask for a spring that stiffens.
        held: Whether a sample of tau is held until the next one, as a command is; False if it was measured at its time.
            By default True.
        delay: Delay of the positions against tau, s; by default None, estimated.
        bandwidth: Highest frequency that is fitted, Hz; by default 1/20 of the sampling rate, at most 50 Hz.
        method: "least_squares"; or "output_error", which goes on from there: a simulation under the logged tau explains
            the encoders, with deviations near the smallest possible.  By default least_squares.
        validate: Logs that are not used, to test the prediction of the motor torque; by default none.

    Returns:
        An Identification.

    Raises:
        InputError: A log lacks what is needed, or the robot has drives that cannot be identified.

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
    if bandwidth is not None:
        positive("identify", "bandwidth", bandwidth, ", in Hz")
    if delay is not None:
        number("identify", "delay", delay)
    notes: list[str] = []
    check_logs(robot, given, notes)
    with activity(f"preparing the logs of {robot.name}"):
        parts = [x for log in given for x in recordings(log, bandwidth)]
    motors = all(x.tau is not None for x in parts)
    sensors = all(x.tau_e is not None for x in parts)
    chosen = ("base" if motors else "known") if links == "auto" else links
    if chosen != "known" and not (motors or sensors):
        raise InputError(
            f"identify: links is {chosen!r}, but no torque is logged; the link equations are homogeneous in inertias, "
            "stiffness and damping: log tau or tau_e, or take links='known'"
        )
    measured = [Signals(robot, x, chosen) for x in parts]
    smooth = [Signals(robot, x, chosen, motion_band(x), "q" if x.reference is None else "reference") for x in parts]
    laws, springs = first_laws(robot, friction), first_springs(robot, spring, given, notes)

    def tried(before: Found | None, iterations: int = MOST_ITERATIONS) -> Found:
        what = unknowns(robot, laws, chosen, motors, sensors, motors and delay is None, springs)
        return estimated(measured, smooth, what, held, delay or 0.0, before, iterations)

    found = tried(None, ROUGH if friction == "auto" and motors else MOST_ITERATIONS)
    if friction == "auto" and motors:
        laws = with_stribeck(laws, found.asked)
        found = tried(found)
    worn = gear_losses(robot, parts, chosen, given)
    notes += map(str, worn)
    asked, gaps = found.asked, {x.joint for x in worn}  # a gap looks like a spring that stiffens
    bent = [x for x in asked if x.joint not in gaps]
    wider = with_directions(laws, asked, friction), with_cubic(springs, bent, spring)
    if wider != (laws, springs):
        laws, springs = wider
        found = tried(found)
    what = found.equations[0].unknowns
    result = found.fit
    tests, found_scores = residual_tests(result.channels), scores(found.equations, result)
    if method == "output_error":
        simulated = output_error(robot, parts, what, result, held, delay or 0.0)
        result = replace(result, **simulated.of_fit)
        notes += simulated.notes
    covariance = inflated(what, result, tests)
    values, spread = natural(what, result.values, covariance)
    estimates = [
        Estimate(
            x.name,
            x.kind,
            x.joint if x.joint >= 0 and x.kind not in ("base", "payload") else -1,
            x.unit,
            float(v),
            float(s),
            natural_prior(x, what),
        )
        for x, v, s in zip(what.parameters, values, np.sqrt(np.maximum(np.diag(spread), 0.0)))
    ]
    estimates = with_verdicts(robot, estimates, spread, given)
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
        tuple(found_scores),
        tuple(notes),
        parts[0].bandwidth,
        condition(result, what),
        origin,
        result,
        tuple(found.equations),
        doubts(robot, parts, estimates, tests),
        validation(robot, what, result, unused, held, delay or 0.0, bandwidth) if unused and motors else {},
        tuple(worn),
    )


# Arguments ----------------------------------------------------------------------------------------------------------


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


def check_logs(robot: Robot, logs: Sequence[Log], notes: list[str]) -> None:
    """Refuse logs without what is needed, and note what they do not show."""
    for log in logs:
        if log.robot.n != robot.n:
            raise InputError(f"identify: a log has {log.robot.n} joints and {robot.name} {robot.n}")
        if log.q is None:
            raise InputError(
                f"identify: a log has no link positions q{', only theta' if log.theta is not None else ''}; stiffness "
                "needs both q and theta, or the frequency response of the motor: fj.identification.find_resonances"
            )
        known = log.q[np.all(np.isfinite(log.q), axis=1)]
        if not len(known):
            raise InputError("identify: every sample of q in a log has a number that is not finite")
        if not np.any(np.std(known, axis=0) > STILL):
            raise InputError("identify: the robot does not move in a log; give one with motion")
    springs = [joint.name for joint in robot.joints if isinstance(joint.drive, ElasticDrive)]
    if springs and any(log.theta is None for log in logs):
        raise InputError(
            f"identify: a log has no motor positions theta, which the springs of {listed(springs)} need; log them, or "
            "identify robot.rigid()"
        )
    if any(log.tau is None for log in logs):
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
        if not any(np.nanstd(log.q[:, i]) > 1e-4 for log in logs if log.q is not None)
    ]
    if still:
        notes.append(f"joints that hardly move: {listed(still)}; log motions of theirs")


# Estimation ---------------------------------------------------------------------------------------------------------


def estimated(
    measured: Sequence[Signals],
    smooth: Sequence[Signals],
    what: Unknowns,
    held: bool,
    delay: float,
    before: Found | None = None,
    iterations: int = MOST_ITERATIONS,
) -> Found:
    """The fit, and the equations along the measured motion.

    Args:
        measured, smooth: Each recording along the measured motion, and along one without noise.
        what: What is estimated.
        held, delay: See `identify`.
        before: An estimation of fewer parameters, where this one begins; by default none.
        iterations: The most that are made.
    """
    with activity(f"identifying {measured[0].robot.name}"):
        equations, others = ([Equations(x, what, held, delay) for x in signals] for signals in (measured, smooth))
        start = what.priors if before is None else before.carried(what)
        start = friction_start(equations, start)
        return Found(fit(equations, others, what, start, iterations), equations)


class Found(NamedTuple):
    """A fit, and the equations along the measured motion."""

    fit: Fit
    equations: list[Equations]

    @property
    def asked(self) -> list[Score]:
        """What the residuals ask for."""
        return [x for x in scores(self.equations, self.fit) if x.asked]

    def carried(self, what: Unknowns) -> FloatArray:
        """Values for other parameters: those of the same name stay."""
        known = dict(zip([x.name for x in self.equations[0].unknowns.parameters], self.fit.values))
        return np.array([known.get(x.name, x.prior) for x in what.parameters])


def motion_band(recording: Recording) -> float:
    """Frequency that contains the motion, Hz: passband of the instruments."""
    v = recording.motion("q")[1]
    power = np.cumsum(np.abs(recording.spectrum(v)) ** 2, axis=0)
    places = np.argmax(power >= MOTION * power[-1], axis=0)
    return float(np.clip(MARGIN * recording.frequencies[places].max(), 1.0, 2 * recording.bandwidth))


def inflated(what: Unknowns, result: Fit, tests: Sequence[ResidualTest]) -> FloatArray:
    """Covariance, larger where the residuals show that the model of a joint is wrong."""
    worst = {
        i: max([x.misfit for x in tests if x.joint == i and x.probability < 0.01], default=1.0)
        for i in {x.joint for x in tests}
    }
    overall = max(1.0, float(np.mean([*worst.values(), 1.0])))
    factor = np.sqrt(
        [
            max(1.0, worst.get(x.joint, overall) if x.kind not in ("base", "payload", "delay") else overall)
            for x in what.parameters
        ]
    )
    return result.covariance * factor[:, None] * factor


def condition(result: Fit, what: Unknowns) -> float:
    """Condition number of the equations with columns of equal length, without priors."""
    prior = np.array([1 / x.deviation**2 for x in what.parameters])
    normal = np.linalg.inv(result.inverse) - np.diag(prior)
    scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(normal)), 1e-300))
    return float(np.sqrt(np.linalg.cond(normal * scale[:, None] * scale)))


def validation(
    robot: Robot, what: Unknowns, result: Fit, logs: Sequence[Log], held: bool, delay: float, bandwidth: float | None
) -> dict[str, float]:
    """Error of the motor torque predicted for unused logs, relative to the torque, both root mean squares, by joint."""
    squares = np.zeros((2, robot.n))
    for log in logs:
        for part in recordings(log, bandwidth):
            if part.tau is None:
                continue
            equations = Equations(Signals(robot, part, what.links), what, held, delay)
            for i in range(robot.n):
                if names := equations.channels(i):
                    row = names.index("motor" if "motor" in names else "rigid")
                    residual = equations.joint(i, result.values).residual[:, row]
                    torque = part.spectrum(part.tau[:, i] - part.tau[:, i].mean())
                    squares[:, i] += [np.sum(np.abs(residual) ** 2), np.sum(np.abs(torque) ** 2)]
    return {x.name: float(np.sqrt(a / b)) for x, a, b in zip(robot.joints, *squares) if b > 0}
