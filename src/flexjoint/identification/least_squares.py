"""Weighted least squares with instruments in the frequency domain.

    Σ_f Z(f)ᴴ Λ(f)⁻¹ r(f; p) + P (p − p_0) = 0,     Λ the spectral density of the residuals, smoothed over f

Noise of encoders and torques makes residuals whose spectrum is far from flat (B θ'' amplifies it by ω²): weighting by
Λ⁻¹, estimated from the residuals and iterated, uses every frequency as far as it can be trusted.  Plain least squares
is biased, since the deflection θ − q has noise and feedback correlates it with the torque.  The instruments Z are the
columns of the same equations along a motion without that noise: the reference if it is logged, else the measured motion
behind a low-pass at its own highest frequency, with the deflection that the links' torque requires.

Covariances use Λ, so autocorrelated residuals are accounted for.  Residuals at the frequencies of the motion that
exceed those of their neighbours reveal a wrong model (`residuals.py`); deviations grow with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..progress import Progress
from ..types import FloatArray
from .equations import Equations, JointEquations
from .parameters import Unknowns
from .recordings import ComplexArray, Recording

SMOOTHING = 60  # frequencies on either side over which spectral densities are averaged
MOST_ITERATIONS = 30
CONVERGED = 1e-2  # of a standard deviation
NEARLY = 0.2  # of a standard deviation: from such a step on, weights and instruments stay
LARGEST_STEP = 0.7  # of the logarithm of a velocity, per iteration; halved where steps change their sign


@dataclass(frozen=True, eq=False)
class Channel:
    """Whitened residuals of one equation of a joint in one recording, real and imaginary parts.

    Args:
        joint: Number of the joint.
        name: Name of the equation.
        residual: (2 frequencies,), unit variance if the model is right.
        leverage: How much each of them has to do with the parameters, 0 to 1.
        rms: Of the residual itself within the bandwidth, Nm or N.
    """

    joint: int
    name: str
    residual: FloatArray
    leverage: FloatArray
    rms: float


@dataclass(frozen=True, eq=False)
class Whitened:
    """Equations of a joint divided by the square root of the spectral density, stacked over channels; all real.

    Args:
        equations: The equations themselves.
        columns, instruments: (2 frequencies, channels, columns).
        residual: (2 frequencies, channels).
        weight: Square root of the weights, (frequencies, channels, channels).
        resolution: Distance of frequencies, Hz.
        spread: Growth of variances by the weights of the samples, see `Recording.spread`.
    """

    equations: JointEquations
    columns: FloatArray
    instruments: FloatArray
    residual: FloatArray
    weight: ComplexArray
    resolution: float
    spread: float

    def leverage(self, inverse: FloatArray) -> FloatArray:
        """Share of each residual that the parameters could explain, 0 to 1, (2 frequencies, channels).

        Args:
            inverse: Inverse of the normal matrix of all parameters.
        """
        k = np.array(self.equations.places)
        own = inverse[np.ix_(k, k)]
        return np.clip(np.sum((self.columns @ own) * self.instruments, axis=-1), 0.0, 1.0)

    def turned(self, x: ComplexArray) -> FloatArray:
        """Spectra (frequencies, channels, ...) in units of the residuals' deviation, real and imaginary parts."""
        return in_deviations(self.weight, x)


def in_deviations(weight: ComplexArray, x: ComplexArray) -> FloatArray:
    """Spectra times the square root of the weight, real and imaginary parts."""
    y = weight @ x
    return np.concatenate([y.real, y.imag])


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of an estimation.

    Args:
        values: Of the parameters.
        covariance: Of the values, with the prior.
        white: Whitened equations, those of all joints of the first recording first.
        inverse: Inverse of the normal matrix.
        iterations: How many were needed.
        converged: Whether the last step was small.
    """

    values: FloatArray
    covariance: FloatArray
    white: Sequence[Whitened]
    inverse: FloatArray
    iterations: int
    converged: bool

    @property
    def channels(self) -> list[Channel]:
        """Residuals and leverages by equation."""
        found = []
        for x in self.white:
            leverage = x.leverage(self.inverse)
            for a, name in enumerate(x.equations.channels):
                power = 2 * np.sum(np.abs(x.equations.residual[:, a]) ** 2) * x.resolution
                own = x.residual[:, a], leverage[:, a], float(np.sqrt(power))
                found.append(Channel(x.equations.joint, name, *own))
        return found

    def score(self, joint: int, columns: Sequence[Mapping[str, ComplexArray] | None]) -> float:
        """How strongly the residuals ask for a further column, in standard deviations.

        Args:
            joint: Number of the joint.
            columns: Per recording the spectra by equation; None without the column.
        """
        own = [x for x in self.white if x.equations.joint == joint]
        slope, variance = 0.0, 0.0
        cross, back = np.zeros(len(self.values)), np.zeros(len(self.values))
        for x, given in zip(own, columns):
            if given is None:
                continue
            signals = [
                given.get(name, np.zeros(len(x.equations.residual), dtype=complex)) for name in x.equations.channels
            ]
            e = x.turned(np.stack(signals, axis=1)[..., None])[..., 0].ravel()
            k = np.array(x.equations.places)
            slope += float(e @ x.residual.ravel())
            variance += float(e @ e)
            cross[k] += x.columns.reshape(len(e), -1).T @ e
            back[k] += x.instruments.reshape(len(e), -1).T @ e
        explained = float(cross @ self.inverse @ back)
        return slope / np.sqrt(max(variance - explained, 1e-12 * variance, 1e-300))


def fit(
    measured: Sequence[Equations],
    smooth: Sequence[Equations],
    unknowns: Unknowns,
    start: FloatArray,
    iterations: int = MOST_ITERATIONS,
) -> Fit:
    """Estimate the parameters.

    Args:
        measured: Equations of each recording along the measured motion.
        smooth: The same along a motion without noise, for instruments.
        unknowns: What is estimated.
        start: First values.
        iterations: The most that are made; by default 30.
    """
    values, P = start.copy(), np.array([1 / x.deviation**2 for x in unknowns.parameters])
    priors = unknowns.priors
    densities: list[list[ComplexArray]] = []
    others: list[list[JointEquations]] = []
    changing, white, inverse = True, list[Whitened](), np.zeros((0, 0))
    logs = np.array([x.kind.startswith("log") for x in unknowns.parameters])
    last, most = np.zeros(len(values)), np.full(len(values), LARGEST_STEP)
    progress = Progress("fitting the equations of motion", iterations)
    for iteration in range(iterations):
        parts = [equations(x, values) for x in measured]
        if changing:
            shares = iter([x.leverage(inverse) for x in white])
            densities = [[density(x.residual, next(shares, None)) for x in part] for part in parts]
            others = [instruments(x, values) for x in smooth]
        white = [
            whitened(*joint, whole.recording)
            for whole, part, other, shape in zip(measured, parts, others, densities)
            for joint in zip(part, other, shape)
        ]
        normal, score = np.diag(P), P * (values - priors)
        meat = np.diag(P)
        for x in white:
            k = np.array(x.equations.places)
            A, Z, r = (y.reshape(-1, *y.shape[2:]) for y in (x.columns, x.instruments, x.residual))
            normal[np.ix_(k, k)] += Z.T @ A
            meat[np.ix_(k, k)] += x.spread * (Z.T @ Z)
            score[k] += Z.T @ r
        inverse = inverted(normal)
        wanted = -inverse @ score
        most = np.where(logs, np.where(wanted * last < 0, most / 2, np.minimum(1.2 * most, LARGEST_STEP)), np.inf)
        step = last = bounded_step(normal, score, wanted, most if iteration > 1 else np.where(logs, 0.0, np.inf))
        covariance = inverse @ meat @ inverse.T
        values = values + step
        deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        largest = float(np.max(np.abs(step) / deviation, initial=0.0))
        progress.reached(iteration)
        if largest < CONVERGED and not changing:
            break
        changing = iteration < 4 or (changing and largest > NEARLY)
    return Fit(values, (covariance + covariance.T) / 2, white, inverse, iteration + 1, largest < CONVERGED)


def equations(whole: Equations, values: FloatArray) -> list[JointEquations]:
    """Those of all joints."""
    return [whole.joint(i, values) for i in range(whole.robot.n) if whole.channels(i)]


def instruments(whole: Equations, values: FloatArray) -> list[JointEquations]:
    """Those of all joints, with the deflections that the torque of the links requires."""
    torque = whole.link_torque(values)
    return [whole.joint(i, values, torque) for i in range(whole.robot.n) if whole.channels(i)]


def bounded_step(normal: FloatArray, score: FloatArray, step: FloatArray, most: FloatArray) -> FloatArray:
    """A step that changes no parameter by more than `most`; the others follow."""
    cut = np.abs(step) > most
    if not np.any(cut):
        return step
    found = np.where(cut, np.copysign(np.where(cut, most, 0.0), step), 0.0)
    free = ~cut
    found[free] = -inverted(normal[np.ix_(free, free)]) @ (score[free] + normal[np.ix_(free, cut)] @ found[cut])
    return found


def inverted(normal: FloatArray) -> FloatArray:
    """Inverse of a matrix whose rows have very different units."""
    scale = 1 / np.sqrt(np.abs(np.diag(normal)))
    try:
        return scale[:, None] * np.linalg.inv(normal * scale[:, None] * scale) * scale
    except np.linalg.LinAlgError:
        raise InputError(
            "the equations of motion of this log are singular; is the robot at rest in all of it?"
        ) from None


# Weights ------------------------------------------------------------------------------------------------------------


def density(residual: ComplexArray, leverage: FloatArray | None) -> ComplexArray:
    """Spectral density of residuals (frequencies, channels), (frequencies, channels, channels).

    Args:
        residual: Spectra.
        leverage: Of the real and imaginary parts, (2 frequencies, channels): the share of the noise that the parameters
            have taken up.  None for the same density at all frequencies, without correlation: in the first iteration.
    """
    m, c = residual.shape
    if leverage is None:
        power = np.mean(np.abs(residual) ** 2, axis=0)
        return np.broadcast_to(np.diag(power + 0j), (m, c, c))
    products = residual[:, :, None] * residual[:, None, :].conj()
    width = min(SMOOTHING, max(4, m // 8))
    total = np.concatenate([np.zeros((1, c, c)), np.cumsum(products, axis=0)])
    low = np.maximum(np.arange(m) - width, 0)
    high = np.minimum(np.arange(m) + width + 1, m)
    free = np.concatenate([[0.0], np.cumsum(1 - np.mean(leverage.reshape(2, m, c), axis=(0, 2)))])
    found = (total[high] - total[low]) / np.maximum(free[high] - free[low], 0.1 * (high - low))[:, None, None]
    floor = 1e-12 * np.mean(np.real(np.diagonal(found, axis1=1, axis2=2)), axis=0)
    return found + np.diag(floor + 1e-300)


def whitened(equations: JointEquations, other: JointEquations, shape: ComplexArray, recording: Recording) -> Whitened:
    """Equations and instruments in units of the residuals' deviation."""
    lower = np.linalg.inv(np.linalg.cholesky(shape))
    twice = np.full(len(shape), np.sqrt(2.0))  # each frequency stands for its negative one too
    twice[0] = 1.0
    lower = lower * twice[:, None, None]

    columns, instruments = in_deviations(lower, equations.columns), in_deviations(lower, other.columns)
    residual = in_deviations(lower, equations.residual[..., None])[..., 0]
    resolution, spread = 1 / (recording.count * recording.period), recording.spread(equations.joint)
    return Whitened(equations, columns, instruments, residual, lower, resolution, spread)
