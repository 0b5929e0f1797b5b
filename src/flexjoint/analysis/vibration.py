"""Residual vibration after a stop, measured: frequency, damping and amplitude per mode; settling time.

The links after the stop are a constant and damped oscillations, y(t) = Σ cₖ exp(sₖ t).  The poles are those of the
shift between the two halves of the signal subspace of their Hankel matrix, common to all joints  [Roy]; the amplitudes
follow by least squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import number
from ..control.base import Controller
from ..dynamics.held_modes import VibrationMode, held_modes, mode
from ..dynamics.recursion.kinematics import forward_kinematics
from ..errors import InputError, shown
from ..robot import Robot, a_robot
from ..trajectory.noise_level import noise_level
from ..types import ComplexArray, FloatArray
from .linearization import linearize

SETTLED = 0.02  # of the largest distance from the end that was moved before the stop
LEAST_SAMPLES = 24
MOST_SAMPLES = 1500  # of the fit: a longer record is thinned, or cut
ROWS = 200  # of the Hankel matrix
MOST_POLES = 40
ABOVE_NOISE = 3.0  # noise levels: a smaller singular value is noise
ROUNDING = 1e-9  # of the largest singular value: a smaller one is rounding
LEAST_PERIODS = 0.75  # of an oscillation within the record
NEGLIGIBLE = 1e-3  # of the largest amplitude: modes with less at every joint are left out
HEAVY = 0.9  # damping ratio above which nothing oscillates


class MeasuredMode(NamedTuple):
    """A mode of vibration as measured.

    Args:
        frequency: natural frequency, in Hz.
        damping: damping ratio.
        amplitude: (n,), amplitude of the links at the stop, in rad or m.
        tool: amplitude of the tool at the stop, in m.
    """

    frequency: float
    damping: float
    amplitude: FloatArray
    tool: float


@dataclass(frozen=True, eq=False, repr=False)
class ResidualVibration:
    """Vibration of a robot after a stop: the result of `residual_vibration`.

    Args:
        robot: the robot.
        start: time of the stop, in s.
        modes: the modes, the largest amplitude first.
        final: (n,), final positions of the links, in rad or m.
        largest: (n,), largest distance of the links from their final positions after the stop, in rad or m.
        tool: the same of the tool, in m.
        settling: time from the stop until all links stay within the tolerance, in s; infinite if they do not.
        tolerance: (n,), distance from the end that counts as settled, in rad or m.
        misfit: fraction of the vibration that the modes do not explain.
    """

    robot: Robot
    start: float
    modes: tuple[MeasuredMode, ...]
    final: FloatArray
    largest: FloatArray
    tool: float
    settling: float
    tolerance: FloatArray = field(repr=False)
    misfit: float

    def __repr__(self) -> str:
        first = f"; {self.modes[0].frequency:.4g} Hz, damping {self.modes[0].damping:.3g}" if self.modes else ""
        return (
            f"<ResidualVibration of {self.robot.name} after {self.start:g} s: {len(self.modes)} modes, tool "
            f"{1e3 * self.tool:.3g} mm, settled after {self.settling:.4g} s{first}>"
        )


def residual_vibration(
    run: Any, start: float | None = None, tolerance: ArrayLike | None = None, end: ArrayLike | None = None
) -> ResidualVibration:
    """Amplitude, frequency and damping of the vibration after a stop, and the settling time.

    Args:
        run: one run of `simulate`, or a log with link positions (`fj.logs.read_log`).
        start: time of the stop, in s; by default when the reference of the run comes to rest.
        tolerance: distance from the end that counts as settled, one number or one per joint, in rad or m; by default
            2 % of the way before the stop, at least 1e-6.
        end: (n,), final positions of the links, in rad or m; by default fitted.

    Returns:
        A ResidualVibration.

    Raises:
        InputError: `run` is a batch or has no positions, diverged, `start` is missing or outside, or the record after
            the stop is too short.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> law = fj.control.MotorPD(robot, [5000.0, 500.0])
        >>> move = fj.trajectory.RestToRest([0.0] * 3, [0.5] * 3, 0.4)
        >>> found = fj.analysis.residual_vibration(fj.simulate(robot, law, move, 1.4))
        >>> found.start
        0.4
    """
    robot, t, q = positions_of(run)
    begin = stop_time(run) if start is None else number("residual_vibration", "start", start)
    after = t >= begin - 1e-9
    if np.count_nonzero(after) < LEAST_SAMPLES:
        raise InputError(
            f"residual_vibration: {np.count_nonzero(after)} samples after the stop at {begin:g} s, until {t[-1]:g} s; "
            f"give {LEAST_SAMPLES} or more: simulate longer (duration=...), or an earlier start"
        )
    times, links = t[after], q[after]
    tool = tool_positions(robot, links)
    found = fitted(times - begin, links, tool)
    final = found.final if end is None else np.broadcast_to(np.asarray(end, dtype=float), (robot.n,))
    distance = np.abs(links - final)
    moved = np.abs(q[~after] - final).max(axis=0, initial=0.0)
    given = np.maximum(SETTLED * moved, 1e-6) if tolerance is None else np.asarray(tolerance, dtype=float)
    limit = np.broadcast_to(given, (robot.n,))
    outside = np.flatnonzero(np.any(distance > limit, axis=1))
    settling = 0.0 if not outside.size else math.inf
    if outside.size and outside[-1] + 1 < times.size:
        settling = float(times[outside[-1] + 1] - begin)
    away = float(np.sqrt(np.sum((tool - found.final_tool) ** 2, axis=1)).max())
    return ResidualVibration(
        robot, begin, found.modes, final, distance.max(axis=0), away, settling, np.array(limit), found.misfit
    )


def vibration_modes(
    robot: Robot, q: ArrayLike, controller: Controller | None = None, period: float | None = None, stiffness: Any = None
) -> tuple[VibrationMode, ...]:
    """Modes of vibration at a pose: while motors are held, or under a controller.

    Under stiff position control the motors hardly move, and the modes are close to those with held motors.  Under
    softer control the motors move and add damping: give the controller.

    Args:
        robot: the robot.
        q: the pose (n,), in rad or m; under a controller the reference at which the loop rests.
        controller: controller of the loop, without estimator; by default the motors are held.
        period: sampling period of the controller, in s; by default it acts continuously.
        stiffness: of joints of variable stiffness while motors are held, in Nm/rad or N/m.

    Returns:
        VibrationModes that oscillate, with damping ratios below 0.9, the slowest first; under a controller without
        shapes.

    Raises:
        InputError: as for `held_modes` and `linearize`, or the loop is unstable.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> law = fj.control.MotorPD(robot, [5000.0, 500.0])
        >>> len(fj.analysis.vibration_modes(robot, [0.5] * 3, law)) > 0
        True
    """
    if controller is None:
        return held_modes(robot, q, stiffness)
    model = linearize(a_robot("vibration_modes", robot), q, controller=controller, period=period)
    if not model.stable:
        raise InputError("vibration_modes: the loop is unstable there; change the gains")
    found = [mode(x) for x in model.poles if x.imag > 0]
    return tuple(x for x in found if x.damping < HEAVY)


# Reading a run ------------------------------------------------------------------------------------------------------


def positions_of(run: Any) -> tuple[Robot, FloatArray, FloatArray]:
    """Robot, times (m,) and link positions (m, n) of a run or a log."""
    robot, t, q = (getattr(run, name, None) for name in ("robot", "t", "q"))
    if not isinstance(robot, Robot) or t is None:
        raise InputError(f"residual_vibration: run is {shown(run)}; give a result of simulate or read_log")
    if q is None:
        raise InputError(
            "residual_vibration: the log has no link positions q; the motors do not tell how links vibrate"
        )
    if np.ndim(q) != 2:
        raise InputError("residual_vibration: run is a batch; give one run")
    if not np.all(np.isfinite(q)):
        raise InputError("residual_vibration: a position is not finite: the run diverged, or samples are lost")
    return robot, np.asarray(t), np.asarray(q)


def stop_time(run: Any) -> float:
    """When the reference of a run comes to rest, in s."""
    reference = getattr(run, "reference", None)
    if reference is None:
        raise InputError("residual_vibration: a log does not tell when the robot was to stop; give start")
    moving = np.flatnonzero(np.any(reference != reference[-1], axis=1))
    return float(run.t[moving[-1] + 1]) if moving.size else float(run.t[0])


def tool_positions(robot: Robot, q: FloatArray) -> FloatArray:
    """Positions of the tool, (m, 3), in m."""
    return np.asarray(forward_kinematics(robot, q, link=robot.tool).position)


# Fit ----------------------------------------------------------------------------------------------------------------


class Fit(NamedTuple):
    """Modes, where links and tool end, and the share that is not explained."""

    modes: tuple[MeasuredMode, ...]
    final: FloatArray
    final_tool: FloatArray
    misfit: float


def fitted(t: FloatArray, links: FloatArray, tool: FloatArray) -> Fit:
    """Damped oscillations through the positions after the stop; t counts from there."""
    even = np.linspace(t[0], t[-1], t.size)
    h = float(even[1] - even[0])
    n = links.shape[1]
    y = np.column_stack([np.interp(even, t, x) for x in np.column_stack([links, tool]).T])
    step = stride(y[:, :n], h)
    y, even = y[::step][:MOST_SAMPLES], even[::step][:MOST_SAMPLES]
    poles = common_poles(y[:, :n], h * step, noise_level(t, links).sigma)
    shapes = np.exp(np.outer(even, poles))
    basis = np.column_stack([np.ones(len(even)), shapes.real, shapes.imag])
    size = np.sqrt(np.sum(basis**2, axis=0))
    size = np.where(size > 0, size, 1.0)  # the sine of a real pole is 0
    weights = np.linalg.lstsq(basis / size, y, rcond=1e-12)[0] / size[:, None]
    constant, cosines, sines = weights[0], weights[1 : 1 + len(poles)], weights[1 + len(poles) :]
    amplitude = np.hypot(cosines, sines)
    left, all_of_it = (float(np.sum((y - x)[:, :n] ** 2)) for x in (basis @ weights, constant))
    misfit = math.sqrt(left / all_of_it) if all_of_it > 0 else 0.0
    of_tool = np.sqrt(np.sum(amplitude[:, n:] ** 2, axis=1))
    modes = [
        MeasuredMode(abs(pole) / (2 * math.pi), -pole.real / abs(pole), amplitude[k, :n], float(of_tool[k]))
        for k, pole in enumerate(poles)
        if oscillates(pole, even[-1])
    ]
    modes.sort(key=lambda x: -float(x.amplitude.max()))
    kept = [x for x in modes if x.amplitude.max() > NEGLIGIBLE * modes[0].amplitude.max()]
    return Fit(tuple(kept), constant[:n], constant[n:], misfit)


def stride(y: FloatArray, h: float) -> int:
    """Every which sample is needed: a long record is thinned as far as its fastest vibration allows."""
    if len(y) <= MOST_SAMPLES:
        return 1
    spectrum = np.abs(np.fft.rfft(np.hanning(len(y))[:, None] * (y - y.mean(axis=0)), axis=0)).max(axis=1)
    fastest = np.flatnonzero(spectrum > NEGLIGIBLE * spectrum.max())[-1] / (len(y) * h)
    return max(1, min(int(1 / (4 * fastest * h)), math.ceil(len(y) / MOST_SAMPLES)))


def oscillates(pole: complex, duration: float) -> bool:
    """Whether a pole is an oscillation that the record shows."""
    return pole.imag * duration / (2 * math.pi) > LEAST_PERIODS and abs(pole.real) < HEAVY * abs(pole)


def common_poles(y: FloatArray, h: float, noise: FloatArray) -> ComplexArray:
    """Poles s with Im s ≥ 0, 1/s, that all columns of y share, without s = 0."""
    y = y - y.mean(axis=0)
    rows = min(ROWS, len(y) // 2)
    H = np.hstack([np.lib.stride_tricks.sliding_window_view(x, len(y) - rows + 1) for x in y.T])
    U, sizes, _ = np.linalg.svd(H, full_matrices=False)
    floor = ABOVE_NOISE * float(np.sqrt(np.mean(noise**2))) * math.sqrt(max(H.shape))
    count = min(int(np.count_nonzero(sizes > max(floor, ROUNDING * sizes[0]))), MOST_POLES, rows - 2)
    if not count or not sizes[0] > 0:
        return np.zeros(0, dtype=complex)
    U = U[:, :count]
    z = np.linalg.eigvals(np.linalg.lstsq(U[:-1], U[1:], rcond=None)[0])
    z = z[np.abs(z) > 1e-6]
    s = np.log(z.astype(complex)) / h
    s = s[(s.imag >= 0) & (s.real * h * len(y) < 3.0)]  # growing ones are noise
    return s[np.abs(s) * h * len(y) > 0.1]
