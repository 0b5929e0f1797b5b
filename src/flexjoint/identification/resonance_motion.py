"""A small motion at one pose that shakes the springs: sines around the resonance of every elastic joint, all at once.

Each joint has LINES frequencies from below the antiresonance √(K/M), where the motor stands still, to above the
resonance √(K/M + K/B), no two joints the same.  The window (1 − cos 2πt/T)³/8 starts and ends the motion with five
vanishing derivatives; a sine times this window is a sum of seven sines, so the whole motion is a `Sinusoid`.
"""

from __future__ import annotations

import math

import numpy as np

from ..drives import ElasticDrive
from ..dynamics import mass_matrix
from ..robot import Robot
from ..trajectory import Sinusoid
from ..types import FloatArray
from .motion_limits import LimitPenalty, largest_amplitude

LINES = 5  # frequencies per joint
LEAST_PERIODS = 5  # of the slowest sine
SMALL = 1e-6  # rad or m, deflection at which stiffnesses are taken
SAMPLES = 8  # per period of the fastest sine, where limits are compared first
BELOW, ABOVE = 0.6, 1.2  # of antiresonance and resonance: the band of frequencies
WINDOW = {0: 5 / 16, 1: -15 / 64, 2: 3 / 32, 3: -1 / 64}  # of (1 − cos)³/8: the parts at k and k ± 1, 2, 3 harmonics
TORQUE_SHARE = 0.3  # of the effort of a joint, or of K·DEFLECTION, that its springs carry at most
DEFLECTION = 2e-3  # rad or m, where the effort of a joint is not limited
SAMPLES_PER_PERIOD = 10  # of a controller, at the fastest sine


def spring_bands(robot: Robot, q: FloatArray) -> dict[int, tuple[float, float]]:
    """Antiresonance and resonance of each elastic joint alone, Hz, by joint."""
    inertia = np.asarray(mass_matrix(robot.without_drives(), q))
    found = {}
    for i, joint in enumerate(robot.joints):
        if robot.elastic[i] and isinstance(joint.drive, ElasticDrive):
            stiffness = spring_stiffness(robot, i)
            antiresonance = math.sqrt(stiffness / inertia[i, i])
            motor = joint.drive.motors[0].inertia
            resonance = math.sqrt(stiffness / inertia[i, i] + stiffness / motor) if motor > 0 else antiresonance
            found[i] = (antiresonance / (2 * math.pi), resonance / (2 * math.pi))
    return found


def spring_lines(robot: Robot, q: FloatArray, duration: float, rate: float) -> tuple[dict[int, list[int]], list[str]]:
    """Harmonics of the duration by joint, and notes on joints that are left out; arguments as of `resonance_motion`."""
    notes, lines, taken = [], dict[int, list[int]](), set[int]()
    fastest, slowest = rate / SAMPLES_PER_PERIOD, LEAST_PERIODS / duration
    for i, (low, high) in spring_bands(robot, q).items():
        band = f"the springs of {robot.joints[i].name} resonate at {low:.3g} to {high:.3g} Hz"
        if BELOW * low > fastest:
            notes.append(f"{band}, too fast for a controller of {rate:g} Hz: they are not excited")
            continue
        if ABOVE * high < slowest:
            notes.append(f"{band}, too slow for {duration:.3g} s: they are not excited; give a longer duration")
            continue
        lines[i] = []
        wanted = np.geomspace(max(BELOW * low, slowest), min(ABOVE * high, fastest), LINES) * duration
        for k in np.round(wanted).astype(int).tolist():
            while k in taken:
                k += 1
            taken.add(k)
            lines[i].append(k)
    return lines, notes


def resonance_motion(
    penalty: LimitPenalty, q: FloatArray, duration: float, rate: float
) -> tuple[Sinusoid | None, list[str]]:
    """Sines around the resonances at a pose, as large as the limits allow, and notes on joints that are left out.

    Args:
        penalty: The robot's limits.
        q: The pose, (n,), rad or m.
        duration: Of the motion, s.
        rate: Of the robot's controller, Hz; sines have at least ten samples per period.
    """
    robot = penalty.robot
    lines, notes = spring_lines(robot, q, duration, rate)
    if not lines:
        return None, notes
    fast = max(k for each in lines.values() for k in each)
    t = duration * np.arange(SAMPLES * fast) / (SAMPLES * fast)
    still = np.zeros((5, t.size, robot.n))
    still[0] = q
    sizes, moving = np.zeros(robot.n), np.zeros_like(still)
    for i in lines:
        unit = np.where(np.arange(robot.n) == i, 1.0, 0.0)
        alone = sines({i: lines[i]}, unit, q, duration)(t, 4) - still
        most = torque_bound(robot, i) / (torque_per_position(robot, q, i, lines[i], duration) * LINES**0.5)
        sizes[i] = largest_amplitude(
            *(penalty, np.stack([still, alone], axis=1), most),
            lambda x, i=i, unit=unit: sines({i: lines[i]}, x * unit, q, duration),  # type: ignore[misc]
        )
        moving += sizes[i] * alone
    share = largest_amplitude(
        penalty, np.stack([still, moving], axis=1), 1.0, lambda x: sines(lines, x * sizes, q, duration)
    )
    if share * np.max(sizes) <= 0:
        return None, [*notes, "the limits leave no room for a motion at the resonances of the springs"]
    return sines(lines, share * sizes, q, duration), notes


def torque_bound(robot: Robot, i: int) -> float:
    """Largest torque that the sines of a joint may put on its spring, Nm or N."""
    return min(TORQUE_SHARE * robot.motor_efforts[i], spring_stiffness(robot, i) * DEFLECTION)


def torque_per_position(robot: Robot, q: FloatArray, i: int, lines: list[int], duration: float) -> float:
    """Inertial torque of the slowest sine of a joint per amplitude, Nm/rad or N/m."""
    inertia = float(np.asarray(mass_matrix(robot.without_drives(), q))[i, i])
    return inertia * (2 * math.pi * lines[0] / duration) ** 2


def spring_stiffness(robot: Robot, i: int) -> float:
    """Stiffness of the spring of an elastic joint near rest, Nm/rad or N/m."""
    drive = robot.joints[i].drive
    assert isinstance(drive, ElasticDrive)
    return float(drive.spring.torque(SMALL)) / SMALL


def sines(lines: dict[int, list[int]], sizes: FloatArray, q: FloatArray, duration: float) -> Sinusoid:
    """The windowed sines: harmonics by joint, the amplitude of the slowest one of each joint, with equal torques."""
    used = sorted({k + d for each in lines.values() for k in each for d in range(-3, 4)})
    cosine, sine = (np.zeros((len(used), len(q))) for _ in range(2))
    for i, each in lines.items():
        for number, k in enumerate(each):
            phase = -math.pi * number * (number - 1) / len(each)  # of Schroeder: a low peak
            for d in range(-3, 4):
                part = sizes[i] * WINDOW[abs(d)] * (each[0] / k) ** 2
                row = used.index(k + d)
                cosine[row, i] += part * math.sin(phase)
                sine[row, i] += part * math.cos(phase)
    frequency = np.array(used, dtype=float)[:, None] / duration
    return Sinusoid(np.hypot(sine, cosine), frequency, np.arctan2(cosine, sine), q, duration)
