"""Resonance and antiresonance of each joint from its motor alone.

With the link as one inertia J behind the spring, and its weight as a spring k_g around the pose, the motor needs

    τ = B θ'' + d θ' + F_c tanh(θ'/v_c) + τ_1 + H(s) θ,     H = (K + D s)(J s² + k_g) / (J s² + D s + K + k_g)

The motor stands still at the antiresonance √(K/J), although it is driven; the resonance is at √(K/J + K/B).  Their
distance gives K: this is the only way to a stiffness without a link encoder.  It needs motion near both, such as a
chirp of one joint while the others hold.  H has a memory, so a log is faded in and out over all of its length: behind
short tapers what the link did before would bias K by 0.4 % in 20 s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..drives import ElasticDrive, friction_law
from ..dynamics import mass_matrix
from ..errors import InputError, listed
from ..logs import Log
from ..robot import Robot, numeric
from ..types import FloatArray
from .least_squares import density
from .parameters import check_robot
from .recordings import ComplexArray, Recording, recordings

REACH = 2.5  # bandwidth over the resonance that the robot states
SEEN = 0.03  # relative deviation of a stiffness up to which the resonance counts as seen
PASSES = 6  # of weighting
ABOVE = 30.0  # power of the motion near the resonance over that of the encoder's noise
SMALLEST = 0.3  # Hz: lower frequencies are left out, drift and windows dominate there


@dataclass(frozen=True)
class Resonance:
    """Resonance and antiresonance of a joint.

    Args:
        joint: Name of the joint.
        antiresonance, resonance: √(K/J)/2π and √(K/J + K/B)/2π, Hz.
        antiresonance_deviation, resonance_deviation: Their standard deviations, Hz.
        stiffness, stiffness_deviation: K, Nm/rad or N/m.
        link_inertia: J that moves with the joint, kg m² or kg.
        motor_inertia: B, kg m² or kg.
        seen: Whether the log shows them.
        reason: What would help, if not.
        frequencies: Of the response, Hz, (m,).
        response: Measured θ''/τ behind friction, (m,).
        model: Fitted θ''/τ, (m,).
    """

    joint: str
    antiresonance: float
    resonance: float
    antiresonance_deviation: float
    resonance_deviation: float
    stiffness: float
    stiffness_deviation: float
    link_inertia: float
    motor_inertia: float
    seen: bool
    reason: str
    frequencies: FloatArray
    response: FloatArray
    model: FloatArray


def find_resonances(
    robot: Robot, logs: Log | Sequence[Log], *, bandwidth: float | None = None, held: bool = True
) -> list[Resonance]:
    """Resonance, antiresonance and stiffness of each elastic joint, from motor positions and torques alone.

    Args:
        robot: The robot, with prior values.
        logs: One or several logs with theta and tau; q is not used.
        bandwidth: Highest frequency that is fitted, Hz; by default 2.5 times the resonance that the robot states.
        held: Whether a sample of tau is held until the next one; by default True.

    Returns:
        One Resonance per elastic joint.

    Raises:
        InputError: A log lacks theta or tau, or is sampled too slowly.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("kuka_lwr")
        >>> fj.identification.find_resonances(robot, fj.logs.read_log("chirp.csv", robot))  # doctest: +SKIP
    """
    check_robot(numeric("find_resonances", robot))
    if not (given := [logs] if isinstance(logs, Log) else list(logs)):
        raise InputError("find_resonances: logs is empty; give at least one Log")
    for log in given:
        if log.theta is None or log.tau is None:
            missing = [name for name in ("theta", "tau") if getattr(log, name) is None]
            raise InputError(f"find_resonances: a log has no {listed(missing)}; the response of a motor needs both")
    return [
        joint_resonance(robot, given, i, bandwidth, held)
        for i, joint in enumerate(robot.joints)
        if isinstance(joint.drive, ElasticDrive)
    ]


def joint_resonance(robot: Robot, logs: Sequence[Log], i: int, bandwidth: float | None, held: bool) -> Resonance:
    """The resonance of one joint."""
    from scipy.optimize import least_squares

    drive = robot.joints[i].drive
    assert isinstance(drive, ElasticDrive)
    pose = np.nanmean(logs[0].theta, axis=0)  # type: ignore[arg-type]
    J = float(mass_matrix(robot.without_drives(), pose)[i, i])
    K, B = float(drive.law.curve(0.0).stiffness), drive.motor.inertia
    highest = 0.12 / max(log.period for log in logs)
    expected = math.sqrt(K / J + K / B) / (2 * math.pi)
    band = min(REACH * expected, highest) if bandwidth is None else bandwidth
    whole = [x for log in logs for x in recordings(replace(log, q=log.theta, reference=None, tau_e=None), band)]
    parts = [replace(x, windows=np.repeat(np.hanning(x.count)[:, None], robot.n, axis=1)) for x in whole]
    law = friction_law(drive.motor)
    v_c = law.velocity or 0.02
    signals = [Response.of(x, i, held, v_c) for x in parts]
    start = np.array(
        [math.log(K), math.log(max(drive.damping, 1e-3 * K / (2 * math.pi * expected))), math.log(J), math.log(B)]
    )
    start = np.concatenate([start, [law.viscous, law.coulomb, 0.0, 0.0, 0.0]])
    scale = np.array([1, 1, 1, 1, 1, 1, 1, max(1.0, 0.01 * K), 1])
    x, weights = np.zeros(9), [np.full(len(s.s), 1 / np.sqrt(np.mean(np.abs(s.torque) ** 2))) for s in signals]

    def errors(x: FloatArray) -> FloatArray:
        found = [w * s.residual(start + scale * x) for s, w in zip(signals, weights)]
        return np.concatenate([y for z in found for y in (z.real, z.imag)]) * math.sqrt(2)

    bound = np.array([5.0, 8.0, 5.0, 5.0, np.inf, np.inf, np.inf, np.inf, np.inf])
    for _ in range(PASSES):
        solution = least_squares(errors, x, bounds=(-bound, bound), x_scale="jac")
        x = solution.x
        v_c *= math.exp(float(np.clip(x[8] / max(abs(start[5] + x[5]), 1e-9), -0.7, 0.7)))
        x[8] = 0.0
        signals = [Response.of(part, i, held, v_c) for part in parts]
        weights = [
            1 / np.sqrt(np.real(density(s.residual(start + scale * x)[:, None], np.zeros((2 * len(s.s), 1)))[:, 0, 0]))
            for s in signals
        ]
    solution = least_squares(errors, x, bounds=(-bound, bound), x_scale="jac")
    values = start + scale * solution.x
    normal = solution.jac.T @ solution.jac
    diagonal = 1 / np.sqrt(np.maximum(np.diag(normal), 1e-300))
    covariance = np.linalg.pinv(normal * diagonal[:, None] * diagonal, rcond=1e-12) * diagonal[:, None] * diagonal
    grown = max(x.spread(i) for x in parts)  # by the taper
    return summary(robot.joints[i].name, values, grown * covariance[:4, :4], signals[0], band)


def summary(name: str, values: FloatArray, covariance: FloatArray, signals: Response, band: float) -> Resonance:
    """The result of a fit; the covariance is that of the logarithms of K, D, J and B."""
    K, _, J, B = np.exp(values[:4]).tolist()
    low, high = (math.sqrt(x) / (2 * math.pi) for x in (K / J, K / J + K / B))
    slopes = np.array([[1, 0, 0, 0], [0.5, 0, -0.5, 0], [0.5, 0, -0.5 * B / (J + B), -0.5 * J / (J + B)]])
    share, low_share, high_share = np.sqrt(np.maximum(np.diag(slopes @ covariance @ slopes.T), 0.0)).tolist()
    f = np.imag(signals.s) / (2 * math.pi)
    near = (f > 0.8 * low) & (f < 1.2 * high)
    strength = float(np.median(np.abs(signals.theta[near]) ** 2)) if np.any(near) else 0.0
    seen = share < SEEN and high < band and strength > ABOVE * signals.floor
    reason = ""
    if not seen:
        reason = (
            f"the motion excites no resonance; log a chirp of '{name}' alone, from {0.5 * low:.2g} to {2 * high:.2g} Hz"
        )
    plain = signals.torque - signals.friction(values)
    acceleration = signals.s**2 * signals.theta
    model = signals.s**2 / (B * signals.s**2 + signals.link(values))
    response = np.abs(smoothed_ratio(acceleration, plain))
    deviations = low_share * low, high_share * high
    return Resonance(name, low, high, *deviations, K, share * K, J, B, seen, reason, f, response, np.abs(model))


def smoothed_ratio(y: ComplexArray, x: ComplexArray, width: int = 5) -> ComplexArray:
    """Frequency response from x to y, averaged over some frequencies."""
    kernel = np.ones(2 * width + 1)
    cross, power = (np.convolve(z, kernel, "same") for z in (y * x.conj(), np.abs(x) ** 2))
    return np.asarray(cross / np.maximum(power, 1e-300), dtype=complex)


@dataclass(frozen=True, eq=False)
class Response:
    """Spectra of a motor: s = iω, torque, position, dry friction per unit and by ln v_c, a constant; encoder noise."""

    s: ComplexArray
    torque: ComplexArray
    theta: ComplexArray
    dry: ComplexArray
    dry_slope: ComplexArray
    one: ComplexArray
    floor: float

    @classmethod
    def of(cls, recording: Recording, i: int, held: bool, v_c: float) -> Response:
        """Of joint i in a recording."""
        assert recording.theta is not None and recording.tau is not None
        theta, v, _ = (x[:, i] for x in recording.motion("theta"))
        torque = recording.tau[:, i : i + 1]
        torque = recording.filtered(recording.held(torque, 0.0) if held else torque)
        t = np.tanh(v / v_c)
        dry = recording.filtered(np.stack([t, v / v_c * (t * t - 1)], axis=1))
        signals = np.column_stack([torque, theta - theta.mean(), dry, np.ones_like(v)])
        spectra = recording.spectrum(signals, joint=i)
        kept = recording.frequencies >= SMALLEST
        force, position, dry, slope, one = spectra[kept].T
        s = np.asarray(2j * np.pi * recording.frequencies[kept], dtype=complex)
        return cls(s, force, position, dry, slope, one, encoder_noise(recording, i))

    def link(self, values: FloatArray) -> ComplexArray:
        """H: torque per motor position that spring and link take."""
        K, D, J = np.exp(values[:3]).tolist()
        s, weight = self.s, values[7]
        return (K + D * s) * (J * s**2 + weight) / (J * s**2 + D * s + K + weight)

    def friction(self, values: FloatArray) -> ComplexArray:
        """Torque of friction and offset."""
        dry = values[5] * self.dry + values[8] * self.dry_slope
        return values[4] * self.s * self.theta + dry + values[6] * self.one

    def residual(self, values: FloatArray) -> ComplexArray:
        """Torque that the model does not explain."""
        moving = (math.exp(values[3]) * self.s**2 + self.link(values)) * self.theta
        return moving + self.friction(values) - self.torque


def encoder_noise(recording: Recording, i: int) -> float:
    """Power density of the noise of a motor encoder, from the highest frequencies."""
    assert recording.theta is not None
    steps = np.diff(recording.theta[:, i], 2)
    top = np.abs(np.fft.rfft(steps * np.hanning(len(steps)))) ** 2
    f = np.linspace(0.0, 0.5, len(top))
    kept = f > 0.35
    gain = (2 * np.sin(np.pi * f[kept])) ** 4  # of the second difference
    return float(np.median(top[kept] / gain) * recording.period / (0.375 * recording.count))
