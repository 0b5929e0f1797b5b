"""Tests of the residuals: is the model right?

    misfit: residuals at the frequencies of the motion over those of their neighbours, and residuals of a motor near its
            reversals over those elsewhere; 1 if the model is right.
    score:  how strongly the residuals ask for something that the model lacks: Stribeck friction, friction that differs
            by direction, a spring that stiffens, a payload; deviations from zero.

The misfit weighs each frequency by its leverage, the share of its residual that the parameters could explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..types import FloatArray
from .equations import Equations
from .least_squares import Channel, Fit
from .parameters import BY_DIRECTION
from .recordings import ComplexArray
from .sample_weights import slow_samples

MISFIT = 2.0  # above, with such a probability, a model is called wrong
PROBABILITY = 1e-4
ROUNDING = 1e-5  # share of the torque below which a residual is no sign of a wrong model
SIGNIFICANT = 0.01  # probability from which deviations grow with the misfit
STRONGER = 1.5  # power near reversals over that elsewhere that counts; right models reach 1.26 in 60 s
FEWEST = 4.0  # degrees of freedom of the residual near reversals
REVERSALS = "reversals"
STRIBECK = "Stribeck friction"
STICTION = "stiction"  # friction that depends on more than the velocity, such as the acceleration
ASKED = 6.0  # deviations of a score
DIRECTION, STIFFENING = "viscous friction that differs by direction", "a spring that stiffens"


@dataclass(frozen=True)
class ResidualTest:
    """How well one equation of a joint holds.

    Args:
        joint: Number of the joint.
        equation: link, motor, sensor or rigid; or reversals, of the motor.
        rms: Root mean square of the residual within the bandwidth, Nm or N.
        misfit: Power at the frequencies of the motion over that expected from their neighbours; or near reversals over
            that elsewhere.
        probability: That a right model has such a misfit, or a larger one.
        share: Of the torque of the joint that the residual is, root mean squares.
    """

    joint: int
    equation: str
    rms: float
    misfit: float
    probability: float
    share: float = 1.0

    @property
    def passed(self) -> bool:
        """Whether the residual looks like noise, or is rounding of a simulation without noise."""
        return self.misfit < MISFIT or self.probability > PROBABILITY or self.share < ROUNDING

    @property
    def significant(self) -> bool:
        """Whether deviations grow with the misfit."""
        return self.probability < SIGNIFICANT and (self.equation != REVERSALS or self.misfit > STRONGER)

    @property
    def finding(self) -> str:
        """What the misfit says."""
        if self.equation == REVERSALS:
            return f"the motor residual is {self.misfit:.2g} times as strong near reversals as elsewhere"
        times = f"{self.misfit:.2g} times as strong at the frequencies of the motion as between them"
        return f"the {self.equation} residual is {times}"


@dataclass(frozen=True)
class Score:
    """How strongly the residuals ask for something that the model lacks.

    Args:
        joint: Number of the joint; −1 for all.
        what: What is missing.
        deviations: The score, in standard deviations.
    """

    joint: int
    what: str
    deviations: float

    @property
    def asked(self) -> bool:
        """Whether it is significant."""
        return abs(self.deviations) > ASKED


def residual_tests(channels: Sequence[Channel]) -> list[ResidualTest]:
    """One test per equation of each joint, over all recordings."""
    from scipy.special import gammaincc

    found = []
    for key in dict.fromkeys((x.joint, x.name) for x in channels):
        own = [x for x in channels if (x.joint, x.name) == key]
        leverage = np.concatenate([x.leverage for x in own])
        square = np.concatenate([x.residual for x in own]) ** 2 / np.maximum(1 - leverage, 0.1)
        total, squares = float(leverage.sum()), float(np.sum(leverage**2))
        misfit = float(np.sum(leverage * square) / total) if total > 0 else 1.0
        freedom = total**2 / squares if squares > 0 else 1.0
        rms = float(np.sqrt(np.mean([x.rms**2 for x in own])))
        found.append(ResidualTest(*key, rms, misfit, float(gammaincc(freedom / 2, misfit * freedom / 2))))
    return found


def reversal_tests(measured: Sequence[Equations], result: Fit) -> list[ResidualTest]:
    """One test per motor: is its residual stronger near reversals than elsewhere?

    Noise does not know about reversals; friction that depends on more than the velocity leaves its errors there.  They
    need not look like any law, nor change from one part of the log to another, to be noticed.
    """
    from scipy.special import fdtrc

    found = []
    per = len(result.white) // len(measured)
    for rows in zip(*(result.white[k * per : (k + 1) * per] for k in range(len(measured)))):
        equations = rows[0].equations
        name = next((x for x in ("motor", "rigid") if x in equations.channels), None)
        if name is None:
            continue
        row = equations.channels.index(name)
        white, plain, slow, freedom = [], [], [], 0.0
        for whole, x in zip(measured, rows):
            recording, half = whole.recording, len(x.residual) // 2
            counted = recording.whole(equations.joint)
            signal = recording.signal(x.residual[:half, row] + 1j * x.residual[half:, row])
            white.append(signal[counted] / np.sqrt(recording.count))
            plain.append(recording.signal(x.equations.residual[:, row])[counted])
            slow.append(slow_samples(whole.signals.motor[1][counted, equations.joint]))
            freedom += 2 * recording.bandwidth * recording.period * np.sum(counted)
        near = np.concatenate(slow)
        share = float(np.mean(near)) if near.size else 0.0
        if min(share, 1 - share) * freedom < FEWEST:
            continue
        power = np.concatenate(white) ** 2
        misfit = float(np.mean(power[near]) / np.mean(power[~near]))
        rms = float(np.sqrt(np.mean(np.concatenate(plain)[near] ** 2)))
        probability = float(fdtrc(share * freedom, (1 - share) * freedom, misfit))
        found.append(ResidualTest(equations.joint, REVERSALS, rms, misfit, probability))
    return found


def with_shares(tests: Sequence[ResidualTest], measured: Sequence[Equations], result: Fit) -> list[ResidualTest]:
    """Tests with the share of the torque: that of the motors, or of the links where it is not logged."""
    squares = np.full(measured[0].robot.n, 1e-300)
    for x in measured:
        if x.recording.tau is not None:
            squares += np.mean(x.recording.tau**2, axis=0)
        else:
            span = x.recording.count * x.recording.period
            squares += 2 * np.sum(np.abs(x.link_torque(result.values)) ** 2, axis=0) / span
    sizes = np.sqrt(squares / len(measured))
    return [replace(x, share=x.rms / float(sizes[x.joint])) for x in tests]


def scores(measured: Sequence[Equations], result: Fit) -> list[Score]:
    """Scores of what each joint's model lacks."""
    found: list[Score] = []
    robot = measured[0].robot
    for i in range(robot.n):
        columns = [extra_columns(x, i, result) for x in measured]
        for what in dict.fromkeys(name for own in columns for name in own):
            found.append(Score(i, what, result.score(i, [own.get(what) for own in columns])))
    return found


def extra_columns(equations: Equations, i: int, result: Fit) -> dict[str, dict[str, ComplexArray]]:
    """Spectra, by equation, of what the model of a joint lacks."""
    unknowns, recording = equations.unknowns, equations.recording
    channels = equations.channels(i)
    found: dict[str, dict[str, ComplexArray]] = {}
    row = "motor" if "motor" in channels else "rigid" if "rigid" in channels else None
    v: FloatArray = equations.signals.motor[1][:, i]
    if row is not None:
        fast = np.sqrt(np.mean(v**2))
        if not unknowns.friction[i].endswith(BY_DIRECTION):
            found[DIRECTION] = {row: recording.spectrum(np.abs(v), joint=i)}
        if unknowns.friction[i] != "viscous":
            for share in (0.1, 0.3):
                stuck = equations.signals.motor[2][:, i] * np.exp(-((v / (share * fast)) ** 2))
                found[f"{STICTION} below {share:g} of the rms speed"] = {row: recording.spectrum(stuck, joint=i)}
        if not unknowns.friction[i].startswith("stribeck"):
            for share in (0.05, 0.2, 0.6):
                speed = share * fast
                shape = np.exp(-((v / speed) ** 2)) * np.tanh(v / (0.2 * speed))
                found[f"{STRIBECK} below {share:g} of the rms speed"] = {row: recording.spectrum(shape, joint=i)}
    if unknowns.links == "known" and ("link" in channels or row == "rigid"):
        whole = equations.signals.known_spectrum[:, i]
        found["links of other masses, such as a payload"] = {"link" if "link" in channels else "rigid": whole}
    if "link" in channels and not unknowns.springs[i].bent:
        torque = equations.link_torque(result.values)[:, i]  # the deflection itself may be noise
        cube = recording.spectrum(recording.signal(torque) ** 3, joint=i)
        found[STIFFENING] = {name: cube if name != "link" else -cube for name in channels}
    return found
