"""Settings of an experiment: numbers with range, unit and initial value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..control.base import Registration
from ..drives import ElasticDrive
from ..dynamics.drivetrain.stiffness_range import feasible_stiffness
from ..dynamics.inertia import mass_matrix
from ..dynamics.links import static_torque
from ..robot import Robot
from ..types import FloatArray

SOFTEST, STIFFEST = 0.1, 3.0  # of a spring, relative to the model
GREATEST_DAMPING = 0.5  # of a joint's own oscillation, relative to the critical one
GAIN_RANGE = 4.0  # times the first value
LONGEST = 10.0  # s
STIFFNESS, DAMPING = "drive.stiffness", "drive.damping"  # ends of paths


class Setting(NamedTuple):
    """A number of an experiment.

    Args:
        name: For `Experiment.set`: the path of a parameter of the robot, or a word such as "payload".
        label: Name for people.
        unit: Its unit; "" for a number without one.
        group: "robot", "control", "motion", "sensors", "push" or "detection".
        low, high: Ends of its range.
        value: What it is at first: that of the model.
        scale: What 100 % of it is: the stiffness of the model, or the critical damping; default 1.
    """

    name: str
    label: str
    unit: str
    group: str
    low: float
    high: float
    value: float
    scale: float = 1.0


def unit_of(robot: Robot, units: str) -> str:
    """A unit such as "Nm | N", only the part that the joints of a robot need."""
    found = dict.fromkeys(joint.kind.unit(units) for joint in robot.joints)
    return " | ".join(found)


def one_digit(value: float) -> float:
    """A positive number, rounded to one digit."""
    return float(f"{value:.1g}")


def drive_settings(robot: Robot, q: FloatArray, sigma: FloatArray) -> list[Setting]:
    """Stiffness and damping of the springs.

    Args:
        robot: The model.
        q: Configuration, (n,), at which a joint's own oscillation decides which damping is critical.
        sigma: Stiffness of joints with two motors, (n,).
    """
    found = []
    inertia = np.diag(mass_matrix(robot, q))
    for i, joint in enumerate(robot.joints):
        drive: Any = joint.drive
        if not robot.compliant[i]:
            continue
        linear = isinstance(drive, ElasticDrive) and not hasattr(drive.stiffness, "curve")
        K = float(drive.stiffness) if linear else spring_stiffness(drive, sigma[i])
        if linear:
            unit, ends = joint.kind.unit("Nm/rad | N/m"), (SOFTEST * K, STIFFEST * K)
            found.append(Setting(f"{joint.name}.{STIFFNESS}", "stiffness", unit, "robot", *ends, K, K))
        B = sum(motor.inertia for motor in drive.motors)
        m = inertia[i] * B / (inertia[i] + B)
        critical = 2 * math.sqrt(K * m)
        ends = (0.0, max(GREATEST_DAMPING * critical, drive.damping))
        unit = joint.kind.unit("Nm s/rad | N s/m")
        found.append(Setting(f"{joint.name}.{DAMPING}", "damping", unit, "robot", *ends, drive.damping, critical))
    return found


def middle_stiffness(robot: Robot, configurations: FloatArray) -> FloatArray:
    """Stiffness that joints with two motors can have at rest at all configurations (k, n), (n,); 0 at other joints."""
    torques = [static_torque(robot, q) for q in configurations]
    lower, upper = np.moveaxis(np.array([feasible_stiffness(robot, tau) for tau in torques]), 1, 0)
    least = np.max(lower, axis=0)
    most = np.min(np.where(np.isfinite(upper), upper, 4.0 * lower), axis=0)
    return np.where(robot.variable_stiffness, np.sqrt(least * np.maximum(most, least)), 0.0)


def stiffness_setting(robot: Robot, sigma: FloatArray) -> Setting:
    """The stiffness that all joints with two motors shall have; at first the middle of sigma (n,)."""
    middle = float(np.median(sigma[sigma > 0]))
    low, first, high = (float(f"{x:.2g}") for x in (middle / 3, middle, 3 * middle))
    return Setting("stiffness", "stiffness", unit_of(robot, "Nm/rad | N/m"), "motion", low, high, first)


def spring_stiffness(drive: Any, sigma: float) -> float:
    """Stiffness of a joint near rest: of an undeflected spring, or what two motors set."""
    return float(drive.spring.curve(0.0).stiffness) if isinstance(drive, ElasticDrive) else float(sigma)


def surrounding_settings(robot: Robot, q: FloatArray) -> list[Setting]:
    """Payload, push, noise and threshold, in sizes that suit the robot."""
    mass = max(sum(link.mass for link in robot.links), 1e-3)
    weight = mass * (float(np.linalg.norm(robot.gravity)) or 10.0)
    torque = one_digit(max(float(np.max(np.abs(static_torque(robot, q)), initial=0.0)), 0.05 * weight))
    effort, position, velocity = (unit_of(robot, x) for x in ("Nm | N", "rad | m", "rad/s | m/s"))
    return [
        Setting("payload", "payload", "kg", "robot", 0.0, one_digit(0.5 * mass), 0.0),
        Setting("push.force", "force", "N", "push", 0.0, one_digit(weight), 0.0),
        Setting("push.time", "begins at", "s", "push", 0.0, LONGEST, 1.0),
        Setting("push.duration", "lasts", "s", "push", 0.01, 1.0, 0.2),
        Setting("threshold", "threshold", effort, "detection", 0.0, torque, torque / 20),
        Setting("link_noise", "link position", position, "sensors", 0.0, 1e-3, 0.0),
        Setting("motor_noise", "motor position", position, "sensors", 0.0, 1e-3, 0.0),
        Setting("velocity_noise", "velocities", velocity, "sensors", 0.0, 0.1, 0.0),
        Setting("torque_noise", "joint torque", effort, "sensors", 0.0, torque / 20, 0.0),
    ]


def gain_settings(robot: Robot, law: Registration, numbers: Iterable[float], fixed: Iterable[str]) -> list[Setting]:
    """Settings of a controller; numbers in `fixed` would need another kernel and get no setting."""
    found = []
    for gain, x in zip(law.numbers, numbers):
        low, high = sorted((x / 100, GAIN_RANGE * x)) if x else (0.0, 1.0)
        if gain.name not in fixed:
            found.append(Setting(gain.name, gain.name, unit_of(robot, gain.unit), "control", low, high, float(x)))
    return found
