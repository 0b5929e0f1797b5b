"""Stability margins of a loop that is cut at one motor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..control.base import Controller
from ..errors import InputError
from ..robot import Robot
from ..types import ComplexArray, FloatArray
from .linear_model import LinearModel
from .linearization import linearize

POINTS = 1500  # frequencies of the search for crossovers
BESIDE = np.geomspace(1e-7, 0.3, 60)  # relative distances from a pole where more of them lie: resonances are narrow
HALVINGS = 100
BRANCH = 1e-6  # relative to |L|: a change of sign with more at its end is a jump at a pole, not a crossing


class Margins(NamedTuple):
    """How far a stable loop is from instability, at one motor with all other loops closed.

    Attributes:
        gain: Factor > 1 on the torque of this motor at which the loop becomes unstable; infinite if there is none.
        least_gain: Factor < 1 below which it becomes unstable; 0 if there is none.
        phase: Least additional phase lag at which it becomes unstable, rad; infinite without a gain crossover.
        delay: Least additional dead time at which it becomes unstable, s; infinite without a gain crossover.
        modulus: Least distance of L(iω) from −1, at least 0.5 in a robust loop.
        gain_crossovers: Frequencies at which |L| = 1, rad/s.
        phase_crossovers: Frequencies at which L is real and negative, rad/s.
        stable: Whether the closed loop is stable; the margins mean nothing otherwise.
    """

    gain: float
    least_gain: float
    phase: float
    delay: float
    modulus: float
    gain_crossovers: FloatArray
    phase_crossovers: FloatArray
    stable: bool


class LoopGain(NamedTuple):
    """The loop gain L at one motor: minus the response of the law's torque to a unit torque of this motor.

    Attributes:
        opened: Linear model of the loop cut at the motor.
        closed: Linear model of the closed loop.
        motor: Name of the motor.
    """

    opened: LinearModel
    closed: LinearModel
    motor: str

    def __call__(self, omega: ArrayLike) -> ComplexArray:
        """L(iω) at frequencies (...,), rad/s; the loop is unstable if it encircles −1."""
        return -self.opened.response(omega, f"tau.{self.motor}", f"command.{self.motor}")[..., 0, 0]

    def frequencies(self) -> FloatArray:
        """Frequencies that show the loop gain, rad/s: logarithmic, and denser beside the poles."""
        poles = np.concatenate([self.opened.frequencies, self.closed.frequencies])
        return sweep(poles, self.opened.period)

    def margins(self) -> Margins:
        """Stability margins.

        Example:
            >>> import flexjoint as fj
            >>> robot = fj.load("hua_3r")
            >>> law = fj.control.MotorPD(robot, [500.0, 50.0])
            >>> loop = fj.analysis.loop_gain(robot, [0.2, 0.5, -0.4], law, "joint3")
            >>> loop.margins().stable
            True
        """
        omega = self.frequencies()
        L = self(omega)
        gain_at = crossings(lambda w: np.log(np.abs(self(w))), omega, np.log(np.abs(L)))
        phase_at = np.concatenate([self.ends(), crossings(lambda w: self(w).imag, omega, L.imag)])
        at = self(phase_at)
        phase_at, at = phase_at[real := (np.abs(at.imag) < BRANCH * np.abs(at)) & (at.real < 0)], at[real]
        factors, lags = 1 / np.abs(at), np.mod(math.pi + np.angle(self(gain_at)), 2 * math.pi)
        least = min((min(x, 2 * math.pi - x) for x in lags), default=math.inf)
        return Margins(
            gain=float(min(factors[factors > 1], default=math.inf)),
            least_gain=float(max(factors[factors < 1], default=0.0)),
            phase=float(least),
            delay=float(min(lags / gain_at, default=math.inf)),
            modulus=self.modulus(omega, L),
            gain_crossovers=gain_at,
            phase_crossovers=phase_at,
            stable=self.closed.stable,
        )

    def ends(self) -> FloatArray:
        """Frequencies at which L is real: 0 unless it is that of a pole, and half the sampling rate."""
        fast = [math.pi / self.opened.period] if self.opened.period else []
        return np.array(fast if self.opened.integrates else [0.0, *fast])

    def modulus(self, omega: FloatArray, L: ComplexArray) -> float:
        """Least |1 + L|: the least of the samples, refined between its neighbours."""
        from scipy.optimize import minimize_scalar

        k = int(np.argmin(np.abs(1 + L)))
        ends = omega[max(k - 1, 0)], omega[min(k + 1, len(omega) - 1)]
        refined = minimize_scalar(lambda w: abs(1 + complex(self(w))), bounds=ends, method="bounded")
        return float(min(refined.fun, abs(1 + L[k])))


def loop_gain(
    robot: Robot, state: ArrayLike, controller: Controller, motor: str, period: float | None = None
) -> LoopGain:
    """The loop gain of a controlled robot at one motor, all other loops closed.

    Args:
        robot: Any robot that can be simulated.
        state: The reference at which the loop rests, one number per column of the reference, rad or m.
        controller: A controller without estimator and sensors.
        motor: Name of the motor at which the loop is cut.
        period: Sampling period of the controller, s; by default the law acts continuously.

    Returns:
        A LoopGain; its `margins()` are the stability margins.

    Raises:
        InputError: There is no such motor, or as in `linearize`.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> law = fj.control.MotorPD(robot, [500.0, 50.0])
        >>> loop = fj.analysis.loop_gain(robot, [0.2, 0.5, -0.4], law, "joint3", period=1e-3)
        >>> bool(abs(loop(10.0)) > 1)
        True
    """
    if controller is None:
        raise InputError("loop_gain: there is no loop without a controller; give one of fj.control")
    opened = linearize(robot, state, controller=controller, period=period, open_at=motor)
    return LoopGain(opened, linearize(robot, state, controller=controller, period=period), motor)


def sweep(poles: FloatArray, period: float = 0.0) -> FloatArray:
    """Frequencies from a hundredth of the slowest pole to a hundred times the fastest, or to π/period of a loop."""
    there = poles[poles > 1e-6 * np.max(poles, initial=0.0)]
    low, high = (0.01 * there.min(), 100 * there.max()) if there.size else (0.01, 100.0)
    if period:
        high = 0.9999 * math.pi / period
    near = (there[:, None] * np.concatenate([1 - BESIDE, 1 + BESIDE])).ravel()
    found = np.concatenate([np.geomspace(min(low, 0.1 * high), high, POINTS), near])
    return np.unique(found[(found > 0) & (found <= high)])


def crossings(f: Callable[[FloatArray], FloatArray], x: FloatArray, y: FloatArray) -> FloatArray:
    """Where f changes its sign between the samples y = f(x), by bisection."""
    at = np.flatnonzero(np.sign(y[:-1]) * np.sign(y[1:]) < 0)
    low, high, before = x[at], x[at + 1], np.sign(y[at])
    for _ in range(HALVINGS if at.size else 0):
        middle = (low + high) / 2
        left = np.sign(f(middle)) == before
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    return (low + high) / 2
